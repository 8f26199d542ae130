"""The interval of a median: against the binomial law summed by hand, and by its coverage."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from remeasure.stats.median import median_interval


@pytest.mark.parametrize("n", [1, 5, 6, 7, 8, 9, 20, 25, 101])
def test_it_is_the_narrowest_pair_of_order_statistics_that_is_wide_enough(n: int) -> None:
    def missed(k: int) -> float:
        return float(2 * sum(comb(n, i) for i in range(k)) / 2**n)

    widest = [k for k in range(1, n // 2 + 1) if missed(k) <= 0.05]
    interval = median_interval(np.arange(1.0, n + 1))
    if not widest:
        assert interval is None
    else:
        assert interval == (max(widest), n + 1 - max(widest))


def test_it_holds_the_median_of_a_skewed_law_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    samples = rng.exponential(size=(4000, 40))
    inside = [low <= np.log(2) <= high for low, high in map(median_interval, samples)]  # type: ignore[misc]
    exact = 1 - 2 * sum(comb(40, i) for i in range(14)) / 2**40
    assert np.mean(inside) == pytest.approx(exact, abs=0.012)


def test_what_has_no_order_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        median_interval([1.0, float("nan")])
    assert median_interval([]) is None
