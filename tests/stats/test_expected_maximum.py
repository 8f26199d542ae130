"""Expected maxima against closed forms, printed tables and simulation; the deflated ratio."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from remeasure.stats.expected_maximum import (
    approximate_maximum,
    deflated_sharpe,
    exact_maximum,
    expected_best,
    kurtosis,
    maximum_sd,
    mean_block_maximum,
    skewness,
)

HOURLY = math.sqrt(8760)

#: N, z(N), exact expected maximum, as the study prints them.
PRINTED = (
    (2, 0.519755, 0.564190),
    (5, 1.192594, 1.162964),
    (6, 1.300141, 1.267206),
    (10, 1.574598, 1.538753),
    (20, 1.900708, 1.867475),
    (50, 2.276303, 2.249074),
    (100, 2.530603, 2.507594),
    (200, 2.765524, 2.746042),
    (500, 3.052528, 3.036699),
    (792, 3.188208, 3.173853),
    (1000, 3.255122, 3.241436),
    (2000, 3.447292, 3.435337),
    (5000, 3.687703, 3.677559),
    (10000, 3.860665, 3.851616),
    (20000, 4.026923, 4.018789),
)


@pytest.mark.parametrize(("n", "z", "exact"), PRINTED)
def test_printed_table(n: int, z: float, exact: float) -> None:
    assert approximate_maximum(n) == pytest.approx(z, abs=1e-6)
    assert exact_maximum(n) == pytest.approx(exact, abs=1e-6)


def test_closed_forms() -> None:
    """Few normals: the mean of the largest of 2, 3, 4 and 5 is known in closed form."""
    pi, angle = math.pi, math.acos(-1 / 3)
    for n, value in (
        (1, 0.0),
        (2, 1 / math.sqrt(pi)),
        (3, 1.5 / math.sqrt(pi)),
        (4, 3 / math.sqrt(pi) * angle / pi),
        (5, 5 / math.sqrt(pi) * (1.5 * angle / pi - 0.5)),
    ):
        assert exact_maximum(n) == pytest.approx(value, abs=1e-13)
    # The larger of two has variance 1 - 1/pi; a single number its own.
    assert maximum_sd(1) == pytest.approx(1, abs=1e-13)
    assert maximum_sd(2) == pytest.approx(math.sqrt(1 - 1 / pi), abs=1e-13)
    assert approximate_maximum(1) == -math.inf
    assert expected_best(-0.5, 0.6, 1) == -0.5
    assert expected_best(-0.5, 0.6, 10) == pytest.approx(-0.5 + 0.6 * 1.574598, abs=1e-6)


@pytest.mark.parametrize("n", [7, 792, 20_000])
def test_another_integral_of_the_same_maximum(n: int) -> None:
    """The mean as an integral over distribution functions, by adaptive quadrature."""

    def above(x: float) -> float:
        return float(-np.expm1(n * stats.norm.logcdf(x)))

    def below(x: float) -> float:
        return float(np.exp(n * stats.norm.logcdf(x)))

    mean = integrate.quad(above, 0, 12, epsabs=1e-12, limit=200)[0]
    mean -= integrate.quad(below, -12, 0, epsabs=1e-12, limit=200)[0]
    assert exact_maximum(n) == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize("n", [10, 100])
def test_simulated_maxima(n: int) -> None:
    rng = np.random.default_rng(n)
    maxima = np.concatenate([rng.standard_normal((20_000, n)).max(axis=1) for _ in range(10)])
    assert maxima.mean() == pytest.approx(exact_maximum(n), abs=0.01)
    assert maxima.std() == pytest.approx(maximum_sd(n), abs=0.01)


def test_the_formula_is_near_the_truth() -> None:
    assert approximate_maximum(2) / exact_maximum(2) == pytest.approx(0.92, abs=0.005)
    for n, *_ in PRINTED[1:]:
        assert 0.002 <= approximate_maximum(n) / exact_maximum(n) - 1 <= 0.026


def test_deflated_ratio_of_the_printed_inputs() -> None:
    inputs = 1.81 / HOURLY, 2.04 / HOURLY, 26_280
    assert deflated_sharpe(*inputs) == pytest.approx(0.3452, abs=1e-4)
    # The card's 0.3439 is an erratum: where S < S0 fat tails raise the ratio.
    assert deflated_sharpe(*inputs, 0.0, 30.0) == pytest.approx(0.3454, abs=1e-4)
    assert deflated_sharpe(inputs[0], inputs[0], 26_280, -1.0, 12.0) == 0.5
    with pytest.raises(ValueError, match="no distribution"):
        deflated_sharpe(1.0, 0.0, 100, 3.0, 1.0)


@settings(deadline=None, max_examples=60)
@given(st.floats(-3, 3), st.floats(0.01, 1), st.floats(0, 3), st.floats(3, 100))
def test_deflated_ratio_rises_with_the_ratio(
    ratio: float, more: float, luck: float, kurt: float
) -> None:
    low = deflated_sharpe(ratio / HOURLY, luck / HOURLY, 26_280, 0.0, kurt)
    high = deflated_sharpe((ratio + more) / HOURLY, luck / HOURLY, 26_280, 0.0, kurt)
    assert low < high


def test_moments_against_scipy() -> None:
    x = np.random.default_rng(1).gamma(2.0, size=1000)
    assert skewness(x) == pytest.approx(stats.skew(x), rel=1e-12)
    assert kurtosis(x) == pytest.approx(stats.kurtosis(x, fisher=False), rel=1e-12)
    assert (skewness(np.zeros(9)), kurtosis(np.zeros(9))) == (0.0, 3.0)


def test_maxima_of_blocks_by_hand() -> None:
    x = [3.0, 1.0, 2.0, 5.0, 4.0, 9.0, 7.0]
    assert mean_block_maximum(x, 1) == np.mean(x)
    assert mean_block_maximum(x, 3) == (3 + 9) / 2  # the seventh is left out
    assert mean_block_maximum(x, 7) == 9
    with pytest.raises(ValueError, match="no block of 8"):
        mean_block_maximum(x, 8)
    with pytest.raises(ValueError, match="no maximum of 0"):
        exact_maximum(0)
