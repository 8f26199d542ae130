"""Average ranks and Spearman's rank correlation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def average_ranks(values: npt.ArrayLike) -> Floats:
    """Ranks from 1 to n, ties sharing the mean of their ranks.

    Parameters
    ----------
    values
        Shape ``(n,)``, without missing values.

    Raises
    ------
    ValueError
        When a value is missing (its rank is undefined) or the shape is not ``(n,)``.

    Examples
    --------
    >>> average_ranks([10.0, 30.0, 10.0]).tolist()
    [1.5, 3.0, 1.5]
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"ranks need one dimension, not {array.ndim}")
    if np.isnan(array).any():
        raise ValueError("a missing value has no rank")
    _, group, count = np.unique(array, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2.0)[group])


def correlation(x: Floats, y: Floats) -> float:
    """Pearson's correlation of two arrays of shape ``(n,)``; NaN when one is constant."""
    dx, dy = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((dx @ dx) * (dy @ dy)))
    return float(dx @ dy) / scale if scale > 0 else float("nan")


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Spearman's rank correlation: Pearson's correlation of the average ranks.

    Source: Spearman (1904), with average ranks for ties. NaN when one side is constant.

    Examples
    --------
    >>> round(spearman([1.0, 2.0, 3.0], [1.0, 8.0, 27.0]), 12)
    1.0
    """
    ranks_x, ranks_y = average_ranks(x), average_ranks(y)
    if ranks_x.shape != ranks_y.shape:
        raise ValueError(f"{ranks_x.size} values cannot be paired with {ranks_y.size}")
    return correlation(ranks_x, ranks_y)
