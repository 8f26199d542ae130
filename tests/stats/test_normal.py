"""The normal law's tails, against scipy.stats, a series and printed constants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from remeasure.stats.normal import (
    bin_probabilities,
    expected_beyond,
    two_sided_tail,
    waiting_years,
)


def test_six_sigma_constants() -> None:
    # erfc(6 / sqrt 2) to sixteen digits, from tables of the error function.
    assert two_sided_tail(6) == pytest.approx(1.973175290075396e-9, rel=1e-12)
    assert expected_beyond(6, 51_057) == pytest.approx(1.007444e-4, rel=1e-6)
    assert waiting_years(6) == pytest.approx(57_854, abs=1)


def test_six_sigma_lies_between_partial_sums() -> None:
    # Asymptotic series of Mills' ratio, alternating: brackets the tail from both sides.
    z, density = 6.0, np.exp(-18) / np.sqrt(2 * np.pi)
    terms = np.cumprod([1, *(-(2 * k - 1) / z**2 for k in range(1, 17))])
    sums = 2 * density / z * np.cumsum(terms)
    assert sums[-1] == pytest.approx(two_sided_tail(6), rel=1e-6)
    assert min(sums[-2:]) < two_sided_tail(6) < max(sums[-2:])


@settings(deadline=None, max_examples=50)
@given(st.floats(0, 37))
def test_tail_agrees_with_scipy(z: float) -> None:
    assert two_sided_tail(z) == pytest.approx(2 * norm.sf(z), rel=1e-12)


def test_negative_threshold_is_refused() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        two_sided_tail(-1)


def test_bins_add_up_and_mirror() -> None:
    edges = np.arange(-20, 21) * 0.5
    shares = bin_probabilities(edges)
    assert shares.sum() == pytest.approx(1 - two_sided_tail(10), abs=1e-15)
    # The far right bin keeps the precision of the far left one, where 1 - Phi would give 0.
    np.testing.assert_array_equal(shares, shares[::-1])
    assert shares[-1] == pytest.approx(norm.sf(9.5) - norm.sf(10), rel=1e-10)


def test_bins_against_cdf() -> None:
    edges = [-3.0, -1.0, -0.25, 0.5, 2.0]
    np.testing.assert_allclose(bin_probabilities(edges), np.diff(norm.cdf(edges)), rtol=1e-13)


@pytest.mark.parametrize("edges", [[0.0], [1.0, 0.0], [0.0, 0.0], [[0.0, 1.0]]])
def test_bad_edges_are_refused(edges: list[float]) -> None:
    with pytest.raises(ValueError, match="increasing"):
        bin_probabilities(edges)
