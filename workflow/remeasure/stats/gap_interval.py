"""An honest interval of the mean calibration gap.

The gap is a sum of absolute values, so chance adds to it and never takes away: the estimate
lies above the truth, and resamples lie above the estimate by as much again. Their percentiles
miss the truth most of the time. Here the question is turned round: for which true gap would
the estimate at hand be neither too large nor too small?

Source: test inversion, Davison and Hinkley (1997), Bootstrap Methods and their Application,
section 5.5; the one-parameter family is a choice of this package.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from remeasure.stats.calibration import gap

Floats = NDArray[np.float64]

#: Halvings of the search for an end: it is found to a millionth of the gap.
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
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    distance = signed_distances(moments)
    drawn = signed_distances(resampled)
    drawn = drawn[np.isfinite(drawn).all(axis=1)]
    estimate = float(gap(moments))
    if not np.isfinite(estimate) or drawn.shape[0] == 0:
        return float("nan"), float("nan")
    if estimate == 0:
        return 0.0, 0.0
    error = drawn - drawn.mean(axis=0)
    tail = (1 - level) / 2

    def beyond(scale: float, *, above: bool) -> float:
        gaps = np.abs(scale * distance + error).sum(axis=1)
        return float(np.mean(gaps >= estimate if above else gaps <= estimate))

    low, top = 0.0, 1.0
    if beyond(0.0, above=True) < tail:
        low = _crossing(lambda scale: beyond(scale, above=True) >= tail, 0.0, 1.0)
    while beyond(top, above=False) > tail:
        top *= 2
    high = _crossing(lambda scale: beyond(scale, above=False) <= tail, 0.0, top)
    return min(low * estimate, estimate), max(high * estimate, estimate)


def signed_distances(moments: ArrayLike) -> Floats:
    """Mean price less frequency of each bin, times its share of the weight: (..., bins)."""
    sums = np.asarray(moments, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = sums[..., 0].sum(axis=-1, keepdims=True)
        return np.asarray((sums[..., 1] - sums[..., 2]) / size)


def _crossing(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition that fails at ``low`` and holds at ``high`` begins to hold."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return (low + high) / 2
