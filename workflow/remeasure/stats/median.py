"""The median of a sample, with an interval that no distribution has to be assumed for."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom


def median_interval(values: ArrayLike, level: float = 0.95) -> tuple[float, float] | None:
    """Interval of the median from order statistics.

    The number of observations below the median of a continuous law is binomial with
    probability one half, so the k-th smallest and k-th largest value hold it with a chance of
    ``1 - 2 P(B(n, 1/2) < k)``; k is the largest for which that is at least ``level``.

    Parameters
    ----------
    values
        Independent observations, shape ``(n,)``, without NaN.
    level
        Confidence level between 0 and 1.

    Returns
    -------
    low, high; None where the sample is too small for any such interval (below 6 at 95%).

    Source: Thompson (1936), Annals of Mathematical Statistics 7, 122-128.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if np.isnan(ordered).any():
        raise ValueError("values must not be NaN")
    n = ordered.size
    # P(B < k) <= (1 - level)/2 holds up to the k that ppf names, or one less.
    k = int(binom.ppf((1 - level) / 2, n, 0.5)) if n else 0
    while k > 0 and binom.cdf(k - 1, n, 0.5) > (1 - level) / 2:
        k -= 1
    return (float(ordered[k - 1]), float(ordered[n - k])) if k > 0 else None
