"""HAR: tomorrow's variance from the variance of the last day, week and month, by least squares.

A heterogeneous autoregression has four coefficients: a constant and one for each of three
averages of the past, so that a memory of weeks costs no more parameters than one of days.

Source: Corsi (2009), A simple approximate long-memory model of realized volatility, Journal of
Financial Econometrics 7(2), 174-196, equation 9, here in logarithms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: How variances of several days become one regressor.
Averaging = Literal["log of mean", "mean of logs"]

COEFFICIENTS = 4


def trailing_mean(values: Floats, window: int) -> Floats:
    """Mean of each value and the ``window - 1`` before it, shape (n,).

    NaN where the window is not whole: at the start, and wherever it holds a NaN.
    """
    if window < 1:
        raise ValueError(f"a window has at least one value, not {window}")
    means = np.full(values.shape, np.nan)
    if values.size >= window:
        # Not by running sums: a NaN or a rounding error would stay in them for ever.
        means[window - 1 :] = np.lib.stride_tricks.sliding_window_view(values, window).mean(axis=1)
    return means


def return_regressors(returns: Floats, week: int = 7, month: int = 30) -> Floats:
    """Constant, last value, and means over ``week`` and ``month`` values: shape (n, 4)."""
    return np.column_stack(
        [
            np.ones(returns.size),
            returns,
            trailing_mean(returns, week),
            trailing_mean(returns, month),
        ]
    )


def variance_regressors(
    variance: Floats, week: int = 7, month: int = 30, averaging: Averaging = "log of mean"
) -> Floats:
    """Constant, last log variance, and those of the last ``week`` and ``month``: shape (n, 4).

    Parameters
    ----------
    variance
        Positive variance of each day, NaN where it is missing, shape (n,).
    averaging
        ``log of mean`` takes the logarithm of the mean variance, ``mean of logs`` the mean of
        the logarithms.
    """
    if averaging == "mean of logs":
        return return_regressors(np.log(variance), week, month)
    return np.column_stack(
        [
            np.ones(variance.size),
            np.log(variance),
            np.log(trailing_mean(variance, week)),
            np.log(trailing_mean(variance, month)),
        ]
    )


def least_squares(design: Floats, target: Floats) -> Floats:
    """Coefficients, shape (k,), that minimise ``|target - design @ coefficients|``.

    Of several that do, the shortest.
    """
    return np.asarray(np.linalg.lstsq(design, target, rcond=None)[0], dtype=np.float64)


@dataclass(frozen=True)
class Refitted:
    """Out-of-sample forecasts; all arrays have shape (n,) and are NaN where nothing is predicted.

    Attributes
    ----------
    forecast
        Of each row's target.
    benchmark
        Mean target of the rows that the forecast was fitted on.
    residual_sd
        Standard deviation of the residuals of that fit, with n - 4 degrees of freedom.
    """

    forecast: Floats
    benchmark: Floats
    residual_sd: Floats


def refitted(
    design: Floats, target: Floats, windows: Iterable[tuple[Mask, Mask]], *, at_least: int = 30
) -> Refitted:
    """Fit on the first rows of each window and predict its second ones.

    Parameters
    ----------
    design
        Regressors, shape (n, k); a row with a NaN is neither fitted on nor predicted.
    target
        Shape (n,), NaN where unknown: such a row is predicted, but not fitted on.
    windows
        Masks (fit, predict) of shape (n,) each.
    at_least
        Windows with fewer rows to fit on predict nothing.
    """
    whole = np.isfinite(design).all(axis=1)
    known = whole & np.isfinite(target)
    found = Refitted(*(np.full(target.shape, np.nan) for _ in range(3)))
    for fit, predict in windows:
        rows, wanted = fit & known, predict & whole
        count = int(rows.sum())
        if count < max(at_least, design.shape[1] + 1):
            continue
        coefficients = least_squares(design[rows], target[rows])
        residuals = target[rows] - design[rows] @ coefficients
        found.forecast[wanted] = design[wanted] @ coefficients
        found.benchmark[wanted] = target[rows].mean()
        found.residual_sd[wanted] = np.sqrt((residuals**2).sum() / (count - design.shape[1]))
    return found


def r_squared(target: Floats, forecast: Floats, benchmark: Floats | float) -> float:
    """Out-of-sample R2, ``1 - sum (y - forecast)^2 / sum (y - benchmark)^2``, all shape (n,).

    It is 0 for the benchmark itself and negative for anything worse. The benchmark is part of
    the number: R2 against different ones must not be compared.

    Source: Campbell and Thompson (2008), Review of Financial Studies 21(4), 1509-1531, eq. 1.
    """
    return float(1 - ((target - forecast) ** 2).sum() / ((target - benchmark) ** 2).sum())
