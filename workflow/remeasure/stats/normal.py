"""The normal law's tails: what a bell curve says about extreme observations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

HOURS_PER_YEAR = 8760


def two_sided_tail(z: float) -> float:
    """P(|Z| > z) of a standard normal Z, for z >= 0.

    Computed from the lower tail, where it keeps its relative precision:
    ``1 - (2 Phi(z) - 1)`` has no correct digit left beyond z = 8.

    >>> round(two_sided_tail(1.959963984540054), 12)
    0.05
    """
    if not z >= 0:
        raise ValueError(f"z must be non-negative, not {z}")
    return float(2 * ndtr(-z))


def expected_beyond(z: float, n: int) -> float:
    """How many of ``n`` independent standard normal observations lie beyond +/-z on average."""
    return n * two_sided_tail(z)


def waiting_years(z: float, per_year: float = HOURS_PER_YEAR) -> float:
    """Mean waiting time, in years, for an observation beyond +/-z at ``per_year`` a year.

    The mean of the geometric law, 1/p observations.
    """
    return 1 / (two_sided_tail(z) * per_year)


def bin_probabilities(edges: ArrayLike) -> NDArray[np.float64]:
    """Standard normal probability of each bin between increasing ``edges``, shape (n - 1,).

    Each bin is measured from the tail that it lies nearer to, so that the far right bins
    keep the same relative precision as their mirror images on the left.
    """
    grid = np.asarray(edges, dtype=np.float64)
    if grid.ndim != 1 or grid.size < 2 or not np.all(np.diff(grid) > 0):
        raise ValueError("edges must be one increasing row of at least two numbers")
    low, high = grid[:-1], grid[1:]
    mirrored = low + high > 0
    start = np.where(mirrored, -high, low)
    stop = np.where(mirrored, -low, high)
    return np.asarray(ndtr(stop) - ndtr(start), dtype=np.float64)
