"""Honest intervals of what prices miss: the mean calibration gap, and the reliability term.

Both add up sizes of errors, so chance adds to them and never takes away: the estimate lies
above the truth, and resamples lie above the estimate by as much again. Their percentiles miss
the truth most of the time. Here the question is turned round: for which true value would the
estimate at hand be neither too large nor too small?

Source: test inversion, Davison and Hinkley (1997), Bootstrap Methods and their Application,
section 5.5; the one-parameter family is a choice of this package.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from remeasure.stats.calibration import gap, murphy

Floats = NDArray[np.float64]

#: Halvings of the search for an end: it is found to a millionth of the estimate.
HALVINGS = 30


def gap_interval(
    moments: ArrayLike, resampled: ArrayLike, level: float = 0.95
) -> tuple[float, float]:
    """Interval of the true gap, and of the estimated one: it holds both.

    Let ``d`` be the signed distances of the bins as shares of all weight, ``e`` their errors as
    resampling shows them, centred. The true distances are taken to be ``s d`` for some
    ``s >= 0``. The ends are those ``s`` times the estimated gap ``sum |d|`` for which a share
    ``(1 - level) / 2`` of the gaps ``sum |s d + e|`` reaches the estimate from below, and from
    above. Where chance alone gives gaps as large as the estimate, the low end is 0.

    How the true distances are spread over the bins is not known, and matters: what is spread
    thinly hides behind chance. The high end is therefore the larger of two, the other one with
    ``sqrt(d^2 + var e)`` for the size of ``d``, which gives every bin a part.

    Parameters
    ----------
    moments
        Sums of each bin, shape (bins, 5), from ``calibration.bin_moments``.
    resampled
        The same of each resample, shape (resamples, bins, 5).
    level
        Confidence level.

    Returns
    -------
    low, high; the estimate itself is let in where it would stand outside, as it does where the
    gap is mostly noise. NaN when nothing carries weight.
    """

    def size(distances: Floats) -> Floats:
        return np.asarray(np.abs(distances).sum(axis=-1))

    return _inverted(moments, resampled, level, float(gap(moments)), size, power=1)


def reliability_interval(
    moments: ArrayLike, resampled: ArrayLike, level: float = 0.95
) -> tuple[float, float]:
    """The same for the reliability term, ``sum d^2 / share`` over the bins that hold anything."""
    sums = np.asarray(moments, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = sums[:, 0] / sums[:, 0].sum()
        per = np.where(share > 0, 1 / share, 0.0)

    def size(distances: Floats) -> Floats:
        return np.asarray((distances**2 * per).sum(axis=-1))

    value = float(murphy(moments).reliability)
    return _inverted(moments, resampled, level, value, size, power=2)


def signed_distances(moments: ArrayLike) -> Floats:
    """Mean price less frequency of each bin, times its share of the weight: (..., bins)."""
    sums = np.asarray(moments, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = sums[..., 0].sum(axis=-1, keepdims=True)
        return np.asarray((sums[..., 1] - sums[..., 2]) / size)


def _inverted(
    moments: ArrayLike,
    resampled: ArrayLike,
    level: float,
    estimate: float,
    size: Callable[[Floats], Floats],
    power: int,
) -> tuple[float, float]:
    """Both ends for a size that grows with the ``power`` of the scale of all distances."""
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    distance = signed_distances(moments)
    drawn = signed_distances(resampled)
    drawn = drawn[np.isfinite(drawn).all(axis=1)]
    if not np.isfinite(estimate) or drawn.shape[0] == 0:
        return float("nan"), float("nan")
    if estimate == 0:
        return 0.0, 0.0
    error = drawn - drawn.mean(axis=0)
    tail = (1 - level) / 2

    def above(scale: float) -> float:
        return float(np.mean(size(scale * distance + error) >= estimate))

    low = _crossing(lambda scale: above(scale) >= tail, 0.0, 1.0) if above(0.0) < tail else 0.0
    highs = [estimate]
    for way in (distance, np.copysign(np.hypot(distance, error.std(axis=0)), distance)):
        scale = _largest(way, error, size, estimate, tail)
        highs.append(scale**power * float(size(way)))
    return min(low**power * estimate, estimate), max(highs)


def _largest(
    way: Floats,
    error: Floats,
    size: Callable[[Floats], Floats],
    estimate: float,
    tail: float,
) -> float:
    """The scale from which on only a share ``tail`` of sizes is as small as the estimate."""

    def rare(scale: float) -> bool:
        return float(np.mean(size(scale * way + error) <= estimate)) <= tail

    top = 1.0
    while not rare(top):
        top *= 2
    return _crossing(rare, 0.0, top)


def _crossing(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition that fails at ``low`` and holds at ``high`` begins to hold."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return (low + high) / 2
