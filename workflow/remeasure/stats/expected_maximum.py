"""The best of many: how high luck alone lifts it, and what is left of it after that.

Whoever tries N strategies and shows the best one shows the maximum of N draws. For normal
draws its mean is known: exactly by an integral, and nearly by a formula that is in use
because it needs quantiles only.

Source: Bailey and Lopez de Prado (2014), The deflated Sharpe ratio, Journal of Portfolio
Management 40(5), 94-107; the formula of the maximum is their equation 6.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr, ndtri

Floats = NDArray[np.float64]

#: Grid of the integrals in standard deviations. The integrand and all its derivatives vanish
#: at both ends, so the trapezoidal rule converges faster than any power of the step.
_GRID = np.arange(-40.0, 40.0, 1 / 64)


def approximate_maximum(n: int) -> float:
    """z(N): expected maximum of ``n`` independent standard normal numbers, approximately.

    ``(1 - g) Phi^-1(1 - 1/N) + g Phi^-1(1 - 1/(N e))`` with Euler's constant g. It is 8% low
    at N = 2, 0.2 to 2.6% high from N = 5 on, and minus infinity at N = 1.

    >>> round(approximate_maximum(792), 6)
    3.188208
    """
    _positive(n)
    # Phi^-1(1 - x) = -Phi^-1(x), which keeps its digits where 1 - x has none.
    g = np.euler_gamma
    return float(-(1 - g) * ndtri(1 / n) - g * ndtri(1 / (n * math.e)))


def exact_maximum(n: int) -> float:
    """Expected maximum of ``n`` independent standard normal numbers, by quadrature.

    The integral of ``x n phi(x) Phi(x)^(n - 1)``.

    >>> round(exact_maximum(2) * math.sqrt(math.pi), 12)
    1.0
    """
    return _moment(n, 1)


def maximum_sd(n: int) -> float:
    """Standard deviation of the maximum of ``n`` independent standard normal numbers."""
    return math.sqrt(_moment(n, 2) - _moment(n, 1) ** 2)


def expected_best(mean: float, sd: float, n: int) -> float:
    """``mean + sd z(N)``: what luck gives the best of ``n`` trials; ``mean`` for a single one."""
    return mean if n == 1 else mean + sd * approximate_maximum(n)


def mean_block_maximum(values: ArrayLike, n: int) -> float:
    """Mean of the maxima of the disjoint blocks of ``n`` values; a rest is left out.

    Raises
    ------
    ValueError
        When there are fewer than ``n`` values.
    """
    x = np.asarray(values, dtype=np.float64)
    blocks = x.size // n
    if blocks < 1:
        raise ValueError(f"{x.size} values hold no block of {n}")
    return float(x[: blocks * n].reshape(blocks, n).max(axis=1).mean())


def skewness(values: ArrayLike) -> float:
    """Third central moment in units of sd cubed (moments divide by n); 0 for a constant."""
    return _standardised_moment(values, 3, 0.0)


def kurtosis(values: ArrayLike) -> float:
    """Fourth central moment in units of sd to the fourth, raw: 3 for a normal law.

    Moments divide by n; 3 for a constant.
    """
    return _standardised_moment(values, 4, 3.0)


def deflated_argument(
    sharpe: float, threshold: float, bars: int, skew: float = 0.0, kurt: float = 3.0
) -> float:
    """The deflated Sharpe ratio as a normal quantile, see :func:`deflated_sharpe`."""
    variance = 1 - skew * sharpe + (kurt - 1) / 4 * sharpe**2
    if not variance > 0:
        raise ValueError(f"skewness {skew} and kurtosis {kurt} belong to no distribution")
    return (sharpe - threshold) * math.sqrt(bars - 1) / math.sqrt(variance)


def deflated_sharpe(
    sharpe: float, threshold: float, bars: int, skew: float = 0.0, kurt: float = 3.0
) -> float:
    """Probability that a Sharpe ratio exceeds what luck gives the best of as many trials.

    ``Phi((S - S0) sqrt(T - 1) / sqrt(1 - k3 S + (k4 - 1)/4 S^2))``.

    Parameters
    ----------
    sharpe, threshold
        S and S0 **a bar**, not a year: annual ratios make the result wrong by orders of
        magnitude.
    bars
        T, bars of the record.
    skew, kurt
        Skewness, and raw kurtosis (3 for a normal law), of the strategy's returns a bar.
    """
    return float(ndtr(deflated_argument(sharpe, threshold, bars, skew, kurt)))


def _moment(n: int, power: int) -> float:
    _positive(n)
    density = math.log(n) - _GRID**2 / 2 - math.log(2 * math.pi) / 2 + (n - 1) * log_ndtr(_GRID)
    return float((_GRID**power * np.exp(density)).sum() * (_GRID[1] - _GRID[0]))


def _positive(n: int) -> None:
    if n < 1:
        raise ValueError(f"there is no maximum of {n} numbers")


def _standardised_moment(values: ArrayLike, power: int, constant: float) -> float:
    x = np.asarray(values, dtype=np.float64)
    if np.ptp(x) == 0:
        return constant
    deviation = x - x.mean()
    return float((deviation**power).mean() / (deviation**2).mean() ** (power / 2))
