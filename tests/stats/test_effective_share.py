"""The exact interval with an effective number, against scipy's for counts and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from remeasure.stats.effective_share import effective_interval


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_whole_numbers_give_scipys_exact_interval(case: tuple[int, int]) -> None:
    won, n = case
    exact = binomtest(won, n).proportion_ci(0.95, method="exact")
    assert effective_interval(won / n, n) == pytest.approx((exact.low, exact.high), abs=1e-9)


@given(st.floats(0, 1), st.floats(0.1, 1e5))
def test_it_holds_the_share_and_mirrors(share: float, n: float) -> None:
    low, high = effective_interval(share, n)
    assert 0 <= low <= share <= high <= 1
    mirrored = effective_interval(1 - share, n)
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high), abs=1e-6)


def test_it_covers_when_few_win() -> None:
    rng = np.random.default_rng(5)
    won = rng.binomial(200, 0.03, 2000)
    ends = {each: effective_interval(each / 200, 200) for each in np.unique(won)}
    held = np.mean([ends[each][0] <= 0.03 <= ends[each][1] for each in won])
    assert 0.94 < held < 0.985


@pytest.mark.parametrize(("share", "n", "level"), [(1.1, 5, 0.95), (0.5, 0, 0.95), (0.5, 5, 1.0)])
def test_nonsense_is_refused(share: float, n: float, level: float) -> None:
    with pytest.raises(ValueError, match=r"need|level"):
        effective_interval(share, n, level)
