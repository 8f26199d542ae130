"""Sample autocorrelation of long series, its noise band and its sampling error."""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from remeasure.stats.bootstrap import draw_blocks, percentile_interval, resampled_means

Floats = NDArray[np.float64]

#: Lags that are resampled together: bounds the memory, does not change the answer.
LAGS_AT_ONCE = 32


def autocorrelation(series: ArrayLike, max_lag: int) -> Floats:
    """Sample autocorrelations of lags 0..max_lag, shape (max_lag + 1,).

    ``rho_k = sum_t (x_t - m)(x_{t+k} - m) / sum_t (x_t - m)^2`` with the mean m of the whole
    series and t running over the n - k pairs that exist: the usual estimator, slightly
    shrunk towards 0 but always positive definite.

    Parameters
    ----------
    series
        Shape (n,), finite, not constant, n > max_lag.

    Computed through a Fourier transform padded to twice the length, so in n log n steps.
    Source: Box and Jenkins (1970), Time Series Analysis, section 2.1.
    """
    x = _deviations(series, max_lag)
    size = fft.next_fast_len(2 * x.size - 1, real=True)
    spectrum = fft.rfft(x, size)
    products = fft.irfft(spectrum * spectrum.conj(), size)[: max_lag + 1]
    return np.asarray(products / products[0])


def noise_band(n: int, z: float = 1.96) -> float:
    """Half-width of the band that holds most autocorrelations of ``n`` independent values.

    ``z / sqrt(n)``, the large-sample law (Bartlett 1946). It tests independence; it is not
    the sampling error of a measured autocorrelation, for which
    :func:`resampled_autocorrelations` stands.
    """
    return z / math.sqrt(n)


def resampled_autocorrelations(
    series: ArrayLike, max_lag: int, block: int, resamples: int, rng: Generator
) -> Floats:
    """Autocorrelations of lags 1..max_lag in each resample, shape (resamples, max_lag).

    A block bootstrap of the products ``(x_t - m)(x_{t+k} - m)``: pairs are never torn apart
    at the joints of blocks, and every lag uses the same resamples. The mean is estimated
    anew in each. Holds without any law for the returns, volatility clusters included, as
    long as a block is longer than their memory.

    Parameters
    ----------
    series
        Shape (n,), finite, not constant, n > max_lag.
    block
        Length of a block, ``1 <= block <= n``.

    Source: Kuensch (1989), Annals of Statistics 17, section 2.3 (blocks of m-tuples).
    """
    x = _deviations(series, max_lag)
    starts = draw_blocks(x.size, block, resamples, rng)
    mean, square = resampled_means(np.column_stack([x, x * x]), block, starts).T
    variance = square - mean * mean
    out = np.empty((resamples, max_lag))
    for first in range(1, max_lag + 1, LAGS_AT_ONCE):
        lags = range(first, min(first + LAGS_AT_ONCE, max_lag + 1))
        products = np.zeros((x.size, len(lags)))
        for column, lag in enumerate(lags):
            products[: x.size - lag, column] = x[: x.size - lag] * x[lag:]
        means = resampled_means(products, block, starts)
        out[:, first - 1 : first - 1 + len(lags)] = (means - (mean * mean)[:, None]) / variance[
            :, None
        ]
    return out


def autocorrelation_interval(
    series: ArrayLike,
    max_lag: int,
    block: int,
    resamples: int,
    rng: Generator,
    level: float = 0.95,
) -> tuple[Floats, Floats]:
    """Percentile intervals of lags 1..max_lag: (low, high), each of shape (max_lag,)."""
    samples = resampled_autocorrelations(series, max_lag, block, resamples, rng)
    return percentile_interval(samples, level)


def _deviations(series: ArrayLike, max_lag: int) -> Floats:
    x = np.asarray(series, dtype=np.float64)
    if x.ndim != 1 or not 0 <= max_lag < x.size:
        raise ValueError(f"need one row of more than max_lag = {max_lag} values, not {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError("the series has missing or infinite values")
    if np.ptp(x) == 0:
        raise ValueError("a constant series has no autocorrelation")
    return np.asarray(x - x.mean())
