"""The Sharpe ratio, and how long a record must be before it says anything."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

DAYS_PER_YEAR = 365


def sharpe(returns: ArrayLike, periods_per_year: float) -> float:
    """Annualised Sharpe ratio, ``mean / sd * sqrt(periods_per_year)``, sd with n - 1.

    Parameters
    ----------
    returns
        Returns a period, shape (n,), n >= 2, in excess of whatever they are compared with.
    periods_per_year
        8,760 for hours, 365 for days.

    A strategy whose return never changes (one that never trades) has no risk to divide by:
    its ratio is defined as 0.
    """
    x = np.asarray(returns, dtype=np.float64)
    if x.ndim != 1 or x.size < 2:
        raise ValueError(f"need one row of at least two returns, not shape {x.shape}")
    if np.ptp(x) == 0:
        return 0.0
    return float(x.mean() / x.std(ddof=1) * math.sqrt(periods_per_year))


def standard_error(days: float) -> float:
    """Standard error of an annualised Sharpe ratio estimated from ``days`` days.

    ``sqrt(365 / days)``: the large-sample formula ``sqrt((1 + S^2 / 2) / n)`` a period for
    independent returns, annualised, with the term in S^2 left out (S a period is small).

    Source: Lo (2002), Financial Analysts Journal 58(4), 36-52.
    """
    if not days > 0:
        raise ValueError(f"days must be positive, not {days}")
    return math.sqrt(DAYS_PER_YEAR / days)


def sharpe_needed(days: float, z: float = 1.96) -> float:
    """Annualised Sharpe ratio that stands ``z`` standard errors above zero after ``days``."""
    return z * standard_error(days)


def days_needed(ratio: float, z: float = 1.96) -> float:
    """Days until an annualised Sharpe ratio stands ``z`` standard errors above zero.

    ``365 (z / ratio)^2``. More decisions a day do not shorten it: only calendar time counts.
    """
    if ratio == 0:
        return math.inf
    return DAYS_PER_YEAR * (z / ratio) ** 2
