"""Where labels go so that they do not lie on each other."""

from __future__ import annotations

from collections.abc import Sequence


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions as little as possible (least squares) until they are ``gap`` apart.

    With the k-th smallest position at ``x_k = y_k + k gap``, being apart means
    that the ``y_k`` do not decrease, so the least-squares answer is the isotonic
    regression of ``wanted_k - k gap``: pool adjacent violators (Ayer et al. 1955).
    Clipping that answer to bounds keeps it optimal.

    Parameters
    ----------
    wanted
        Positions, in any order.
    gap
        Least distance between two of them.
    low, high
        Bounds of all positions. Where they leave too little room, the labels
        share the room evenly.

    Returns
    -------
    list of float
        New positions, in the order of ``wanted``.
    """
    count = len(wanted)
    if count == 0:
        return []
    if (count - 1) * gap > high - low:
        gap = (high - low) / max(count - 1, 1)
    order = sorted(range(count), key=lambda index: wanted[index])
    pools: list[tuple[float, int]] = []  # mean of the pool, members
    for rank, index in enumerate(order):
        mean, members = wanted[index] - rank * gap, 1
        while pools and pools[-1][0] > mean:
            other, size = pools.pop()
            mean = (mean * members + other * size) / (members + size)
            members += size
        pools.append((mean, members))
    top = high - (count - 1) * gap
    level = [min(max(mean, low), top) for mean, members in pools for _ in range(members)]
    placed = [0.0] * count
    for rank, index in enumerate(order):
        placed[index] = level[rank] + rank * gap
    return placed
