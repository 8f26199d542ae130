"""HAR against scikit-learn, the normal equations, pandas, and a process that is a HAR."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from remeasure.stats.har import (
    COEFFICIENTS,
    least_squares,
    r_squared,
    refitted,
    return_regressors,
    trailing_mean,
    variance_regressors,
)


def variances(n: int = 800, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    log = np.zeros(n)
    for index in range(1, n):
        log[index] = 0.95 * log[index - 1] + 0.3 * rng.normal()
    return np.exp(log - 7 + 0.4 * rng.normal(size=n))


def expanding(n: int, first: int, step: int) -> list[tuple[np.ndarray, np.ndarray]]:
    index = np.arange(n)
    return [
        (index < start, (index >= start) & (index < start + step))
        for start in range(first, n, step)
    ]


def test_least_squares_equals_scikit_learn_and_the_normal_equations() -> None:
    variance = variances()
    design = variance_regressors(variance)[29:-1]
    target = np.log(variance)[30:]
    coefficients = least_squares(design, target)
    assert coefficients.shape == (COEFFICIENTS,)
    other = LinearRegression().fit(design[:, 1:], target)
    np.testing.assert_allclose(coefficients, [other.intercept_, *other.coef_], rtol=0, atol=1e-9)
    normal = np.linalg.solve(design.T @ design, design.T @ target)
    np.testing.assert_allclose(coefficients, normal, rtol=0, atol=1e-9)


def test_trailing_means_equal_those_of_pandas() -> None:
    values = variances(60)
    values[20] = np.nan
    for window in (1, 7, 30):
        expected = pd.Series(values).rolling(window).mean()
        np.testing.assert_allclose(trailing_mean(values, window), expected, rtol=1e-12)
    assert np.isnan(trailing_mean(values[:3], 7)).all()
    with pytest.raises(ValueError, match="at least one"):
        trailing_mean(values, 0)


def test_regressors_by_hand() -> None:
    variance = variances(40)
    row = variance_regressors(variance)[35]
    expected = [1, np.log(variance[35])]
    expected += [np.log(variance[36 - days : 36].mean()) for days in (7, 30)]
    np.testing.assert_allclose(row, expected, rtol=1e-12)
    row = variance_regressors(variance, 5, 22, "mean of logs")[35]
    expected = [1, np.log(variance[35])]
    expected += [np.log(variance[36 - days : 36]).mean() for days in (5, 22)]
    np.testing.assert_allclose(row, expected, rtol=1e-12)
    row = return_regressors(variance)[35]
    np.testing.assert_allclose(row[1:3], [variance[35], variance[29:36].mean()], rtol=1e-12)


def test_the_benchmark_itself_explains_nothing() -> None:
    variance = variances()
    y, level = np.log(variance), np.log(variance).mean()
    assert r_squared(y, np.full(y.size, level), level) == pytest.approx(0, abs=1e-9)
    assert r_squared(y, y, level) == 1
    assert r_squared(y, y + 2 * (y - level), level) < 0


def test_log_variance_and_log_volatility_have_one_r2() -> None:
    variance = variances()
    design = np.vstack([np.full(4, np.nan), variance_regressors(variance)[:-1]])
    scores = []
    for log in (np.log(variance), np.log(np.sqrt(variance))):
        found = refitted(design, log, expanding(log.size, 200, 30))
        kept = np.isfinite(found.forecast)
        scores.append(r_squared(log[kept], found.forecast[kept], found.benchmark[kept]))
    assert scores[0] == pytest.approx(scores[1], abs=1e-12)
    assert scores[0] > 0.3


def test_planted_coefficients_come_back() -> None:
    """A process that is a HAR in logs: the fit finds its coefficients, R2 its noise."""
    rng = np.random.default_rng(3)
    planted, sd = np.array([-0.2, 0.4, 0.3, 0.25]), 0.2
    log = np.full(20_000, -4.0)
    for index in range(30, log.size):
        past = log[index - 30 : index]
        log[index] = planted @ [1, past[-1], past[-7:].mean(), past.mean()] + sd * rng.normal()
    variance = np.exp(log)
    design = np.vstack([np.full(4, np.nan), variance_regressors(variance, 7, 30, "mean of logs")])
    found = refitted(design[:-1], log, expanding(log.size, 10_000, 1000))
    fitted = least_squares(design[31:-1], log[31:])
    np.testing.assert_allclose(fitted[1:], planted[1:], atol=0.06)
    late = slice(10_000, None)
    assert found.residual_sd[late].mean() == pytest.approx(sd, rel=0.02)
    expected = 1 - sd**2 / ((log[late] - found.benchmark[late]) ** 2).mean()
    score = r_squared(log[late], found.forecast[late], found.benchmark[late])
    assert score == pytest.approx(expected, abs=0.02)


def test_forecasts_know_nothing_of_what_comes_later() -> None:
    variance = variances(400)
    whole = _forecasts(variance)
    assert np.isfinite(whole[200:]).all()
    assert np.isnan(whole[:200]).all()
    for cut in np.random.default_rng(4).integers(201, 400, 30):
        # The row after the cut is predicted from what lies before it, its target unknown.
        early = np.append(variance[:cut], np.nan)
        assert _forecasts(early)[cut] == pytest.approx(whole[cut], rel=1e-12)
        early[-1] = 1e6
        assert _forecasts(early)[cut] == pytest.approx(whole[cut], rel=1e-12)


def _forecasts(variance: np.ndarray) -> np.ndarray:
    design = np.vstack([np.full(4, np.nan), variance_regressors(variance)[:-1]])
    windows = expanding(401, 200, 30)
    size = variance.size
    masks = [(fit[:size], predict[:size]) for fit, predict in windows]
    return refitted(design, np.log(variance), masks).forecast


def test_rows_that_are_not_whole_are_neither_fitted_nor_predicted() -> None:
    variance = variances(300)
    variance[250] = np.nan
    design = np.vstack([np.full(4, np.nan), variance_regressors(variance)[:-1]])
    found = refitted(design, np.log(variance), expanding(300, 200, 30))
    # The forecast for the missing day itself exists; the thirty after it do not.
    assert np.flatnonzero(np.isnan(found.forecast[200:])).tolist() == list(range(51, 81))
    short = refitted(design, np.log(variance), expanding(300, 200, 30), at_least=10_000)
    assert np.isnan(short.forecast).all()
