"""Ranks and Spearman's correlation against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from remeasure.stats.ranks import average_ranks, correlation, spearman

tied = arrays(np.float64, st.integers(1, 60), elements=st.integers(-4, 4).map(float))


@given(values=tied)
def test_ranks_are_scipys(values: np.ndarray) -> None:
    assert average_ranks(values).tolist() == scipy.stats.rankdata(values).tolist()


@pytest.mark.parametrize("digits", [None, 3, 1, 0])
def test_spearman_is_pearson_on_average_ranks(digits: int | None) -> None:
    """E10, with no ties, some, and mostly ties."""
    rng = np.random.default_rng(5)
    x = rng.standard_t(3, 5000)
    y = -0.06 * x + rng.standard_t(3, 5000)
    if digits is not None:
        x, y = x.round(digits), y.round(digits)
    ours = spearman(x, y)
    assert ours == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-12)
    ranks = scipy.stats.rankdata(x), scipy.stats.rankdata(y)
    assert ours == pytest.approx(np.corrcoef(*ranks)[0, 1], abs=1e-12)


def test_spearman_ignores_monotone_maps() -> None:
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=500), rng.normal(size=500)
    assert spearman(np.exp(x), y**3) == pytest.approx(spearman(x, y), abs=1e-12)
    assert spearman(x, -x) == pytest.approx(-1.0, abs=1e-12)


def test_what_has_no_rank() -> None:
    assert np.isnan(correlation(np.ones(3), np.arange(3.0)))
    with pytest.raises(ValueError, match="missing"):
        average_ranks([1.0, float("nan")])
    with pytest.raises(ValueError, match="one dimension"):
        average_ranks(np.ones((2, 2)))
    with pytest.raises(ValueError, match="paired"):
        spearman([1.0, 2.0], [1.0, 2.0, 3.0])
