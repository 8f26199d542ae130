"""Wilson's interval, against its defining equation, scipy's version and its own coverage."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm

from remeasure.stats.proportion import standard_error, wilson


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 60_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_agrees_with_scipy(case: tuple[int, int]) -> None:
    successes, n = case
    referee = binomtest(successes, n).proportion_ci(0.95, method="wilson")
    assert wilson(successes, n) == pytest.approx((referee.low, referee.high), abs=1e-12)


def test_ends_solve_the_score_equation() -> None:
    low, high = wilson(23, 51, level=0.9)
    for p in (low, high):
        assert abs(23 / 51 - p) == pytest.approx(norm.ppf(0.95) * math.sqrt(p * (1 - p) / 51))


def test_borders_are_exact() -> None:
    assert wilson(0, 18)[0] == 0
    assert wilson(18, 18)[1] == 1


@pytest.mark.parametrize("p", [0.05, 0.46, 0.5])
def test_coverage(p: float) -> None:
    # Exact coverage at n = 200: the sum of binomial probabilities whose interval holds p.
    covered = sum(
        binom.pmf(k, 200, p) for k in range(201) if wilson(k, 200)[0] <= p <= wilson(k, 200)[1]
    )
    assert covered == pytest.approx(0.95, abs=0.02)


def test_standard_error_of_the_article() -> None:
    assert 100 * standard_error(0.539, 42_142) == pytest.approx(0.2428, abs=5e-5)
    assert 100 * standard_error(0.5, 1_812) == pytest.approx(1.17, abs=5e-3)
    assert 100 * standard_error(0.5, 7_248) == pytest.approx(0.587, abs=5e-4)


@pytest.mark.parametrize(("successes", "n", "level"), [(1, 0, 0.95), (3, 2, 0.95), (1, 2, 1.0)])
def test_nonsense_is_refused(successes: int, n: int, level: float) -> None:
    with pytest.raises(ValueError, match=r"need|level"):
        wilson(successes, n, level)
    with pytest.raises(ValueError, match="share"):
        standard_error(1.5, 10)
