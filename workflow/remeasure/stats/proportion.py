"""Shares of successes: standard error and interval of a binomial proportion."""

from __future__ import annotations

import math

from scipy.special import ndtri


def standard_error(share: float, n: int) -> float:
    """Standard error of a share of ``n`` independent trials, ``sqrt(p (1 - p) / n)``."""
    if not 0 <= share <= 1 or n < 1:
        raise ValueError(f"need a share within 0..1 and n >= 1, not {share} and {n}")
    return math.sqrt(share * (1 - share) / n)


def wilson(successes: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Score interval of a binomial share.

    Inverts the normal test of ``|share - p| <= z sqrt(p (1 - p) / n)``, so it stays within
    0..1 and keeps its coverage near the borders, where ``share +/- z SE`` does not.

    Parameters
    ----------
    successes, n
        Number of successes and of independent trials, ``0 <= successes <= n``, ``n >= 1``.
    level
        Confidence level between 0 and 1.

    Returns
    -------
    low, high as shares.

    Source: Wilson (1927), Journal of the American Statistical Association 22, 209-212.
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"need 0 <= successes <= n and n >= 1, not {successes} of {n}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    z = float(ndtri((1 + level) / 2))
    share = successes / n
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # The borders are exact in mathematics and off by a rounding error in arithmetic.
    low = 0.0 if successes == 0 else (centre - half) / scale
    high = 1.0 if successes == n else (centre + half) / scale
    return low, high
