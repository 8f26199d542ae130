"""Autocorrelations, against brute force, pandas, known laws and simulated coverage."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.signal import lfilter

from remeasure.stats.autocorrelation import (
    autocorrelation,
    autocorrelation_interval,
    noise_band,
    resampled_autocorrelations,
)


def brute(x: np.ndarray, lag: int) -> float:
    """The definition, pair by pair, with exact summation of what is added."""
    mean = x.mean()
    top = sum((x[t] - mean) * (x[t + lag] - mean) for t in range(len(x) - lag))
    return float(top / sum((value - mean) ** 2 for value in x))


@settings(deadline=None, max_examples=50)
@given(
    arrays(
        np.float64,
        st.integers(4, 40),
        elements=st.floats(-10, 10, width=32),
    ).filter(lambda x: np.ptp(x) > 0.01)
)
def test_equals_the_definition(x: np.ndarray) -> None:
    rho = autocorrelation(x, 3)
    np.testing.assert_allclose(rho, [brute(x, lag) for lag in range(4)], atol=1e-10)


def test_long_series_against_direct_products() -> None:
    x = np.abs(np.random.default_rng(1).standard_t(3, size=50_000)) * 0.004
    z = x - x.mean()
    direct = [z[: z.size - lag] @ z[lag:] / (z @ z) for lag in (1, 24, 168)]
    np.testing.assert_allclose(autocorrelation(x, 168)[[1, 24, 168]], direct, atol=1e-13)


def test_close_to_pandas() -> None:
    # pandas correlates the two overlapping halves with their own means: equal up to k / n.
    x = lfilter([1.0], [1.0, -0.6], np.random.default_rng(2).normal(size=20_000))
    referee = [pd.Series(x).autocorr(lag) for lag in (1, 5, 50)]
    np.testing.assert_allclose(autocorrelation(x, 50)[[1, 5, 50]], referee, atol=2e-3)


def test_ar1_decays_geometrically() -> None:
    x = lfilter([1.0], [1.0, -0.8], np.random.default_rng(3).normal(size=200_000))
    np.testing.assert_allclose(autocorrelation(x, 6), 0.8 ** np.arange(7), atol=0.015)


def test_a_day_night_cycle_shows_at_multiples_of_24() -> None:
    x = np.cos(2 * np.pi * np.arange(24_000) / 24)
    rho = autocorrelation(x, 72)
    assert rho[[24, 48, 72]] == pytest.approx([1, 1, 1], abs=0.01)
    assert rho[[12, 36, 60]] == pytest.approx([-1, -1, -1], abs=0.01)


def test_noise_band_holds_noise() -> None:
    rho = autocorrelation(np.random.default_rng(4).normal(size=20_000), 1000)[1:]
    assert np.mean(np.abs(rho) < noise_band(20_000)) == pytest.approx(0.95, abs=0.025)
    assert noise_band(51_057) == pytest.approx(0.00867, abs=5e-6)


def test_resampled_statistic_equals_brute_force() -> None:
    """Each resample: the estimator on pairs that are drawn with their block, means included."""
    rng = np.random.default_rng(5)
    x = rng.normal(1.0, 1.0, 60)
    samples = resampled_autocorrelations(x, 40, 7, 4, np.random.default_rng(9))
    starts = np.random.default_rng(9).integers(0, 60, size=(4, 9), dtype=np.int64)
    for row, sample in zip(starts, samples, strict=True):
        drawn = [(first + step) % 60 for first in row for step in range(7)]
        for lag in (1, 13, 40):
            mean = np.mean(x[drawn])
            # A pair whose second member does not exist counts as zero deviations from the
            # mean of the whole series, as in the estimator itself.
            z = x - x.mean()
            pairs = np.mean([z[t] * z[t + lag] if t + lag < 60 else 0.0 for t in drawn])
            expected = (pairs - (mean - x.mean()) ** 2) / np.var(x[drawn])
            assert sample[lag - 1] == pytest.approx(expected, abs=1e-12)


def test_interval_covers_a_known_autocorrelation() -> None:
    """Volatility clusters: returns without correlation whose squares have a long memory.

    The noise band of independent values is too narrow there; the block bootstrap is not.
    """
    rng = np.random.default_rng(6)
    inside = outside_band = 0
    series, n = 150, 3000
    for _index in range(series):
        log_vol = lfilter([1.0], [1.0, -0.95], rng.normal(scale=0.25, size=n + 200))[200:]
        x = np.exp(log_vol) * rng.normal(size=n)
        low, high = autocorrelation_interval(x, 1, 60, 200, rng)
        inside += bool(low[0] <= 0 <= high[0])
        outside_band += abs(autocorrelation(x, 1)[1]) > noise_band(n)
    assert 0.88 <= inside / series <= 1.0
    assert outside_band / series > 0.12


def test_interval_shapes_and_seed() -> None:
    x = np.random.default_rng(7).normal(size=500)
    low, high = autocorrelation_interval(x, 70, 24, 100, np.random.default_rng(1))
    again = autocorrelation_interval(x, 70, 24, 100, np.random.default_rng(1))
    assert low.shape == high.shape == (70,)
    assert (low < high).all()
    np.testing.assert_array_equal([low, high], again)


@pytest.mark.parametrize(
    ("series", "message"),
    [
        (np.zeros(10), "constant"),
        (np.array([1.0, np.nan, 2.0, 3.0]), "missing"),
        (np.arange(3.0), "max_lag"),
        (np.zeros((4, 4)), "max_lag"),
    ],
)
def test_bad_series_are_refused(series: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        autocorrelation(series, 3)
