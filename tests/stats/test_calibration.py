"""Scores of probabilities, against scikit-learn, brute force and identities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss

from remeasure.stats.calibration import (
    accuracy,
    bin_moments,
    brier,
    distorted,
    gap,
    gap_floor,
    murphy,
    skill,
)
from remeasure.stats.platt import fit_platt

FIXTURE = (
    np.array([0.1, 0.3, 0.3, 0.6, 0.8, 0.9]),
    np.array([0.0, 0.0, 1.0, 1.0, 1.0, 0.0]),
    np.array([1.0, 2.0, 1.0, 2.0, 1.0, 1.0]),
)

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def world(seed: int, n: int) -> Arrays:
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.8, size=n)
    return p, (rng.random(n) < p).astype(float), rng.gamma(0.7, size=n) + 1e-3


def brute_force(p: np.ndarray, y: np.ndarray, w: np.ndarray, bins: np.ndarray) -> dict[str, float]:
    """Every term by its definition, bin by bin and row by row."""
    size = w.sum()
    base = (w * y).sum() / size
    terms = dict.fromkeys(("rel", "res", "wbv", "wbc", "gap"), 0.0)
    for index in np.unique(bins):
        at = bins == index
        held = w[at].sum()
        mean_p, mean_y = np.average(p[at], weights=w[at]), np.average(y[at], weights=w[at])
        terms["rel"] += held / size * (mean_p - mean_y) ** 2
        terms["res"] += held / size * (mean_y - base) ** 2
        terms["gap"] += held / size * abs(mean_p - mean_y)
        for price, outcome, weight in zip(p[at], y[at], w[at], strict=True):
            terms["wbv"] += weight * (price - mean_p) ** 2 / size
            terms["wbc"] += 2 * weight * (price - mean_p) * (outcome - mean_y) / size
    terms["unc"] = base * (1 - base)
    terms["bs"] = (w * (p - y) ** 2).sum() / size
    return terms


def test_the_worked_example() -> None:
    p, y, w = FIXTURE
    moments = bin_moments(p, y, w, p >= 0.5, 2)
    parts = murphy(moments)
    expected = {
        "brier": 0.23125,
        "reliability": 0.0003125,
        "resolution": 0.0625,
        "uncertainty": 0.25,
        "within_variance": 0.0121875,
        "within_covariance": -0.03125,
        "skill": 0.075,
        "three_terms": 0.1878125,
        "residual": 0.0,
    }
    for name, value in expected.items():
        assert getattr(parts, name) == pytest.approx(value, abs=1e-12), name
    assert gap(moments) == pytest.approx(0.0125, abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 14), st.floats(1e-3, 1e3))
def test_five_terms_are_exact(seed: int, n: int, count: int, factor: float) -> None:
    """Any bins, even ones that have nothing to do with the price; any scale of weights."""
    p, y, w = world(seed, n)
    bins = np.random.default_rng(seed + 1).integers(0, count, size=n)
    parts, expected = murphy(bin_moments(p, y, factor * w, bins, count)), brute_force(p, y, w, bins)
    found = (parts.brier, parts.reliability, parts.resolution, parts.uncertainty)
    names = ("bs", "rel", "res", "unc")
    assert found == pytest.approx([expected[name] for name in names], abs=1e-12)
    assert parts.within_variance == pytest.approx(expected["wbv"], abs=1e-12)
    assert parts.within_covariance == pytest.approx(expected["wbc"], abs=1e-12)
    assert parts.residual == pytest.approx(0, abs=1e-12)
    moments = bin_moments(p, y, w, bins, count)
    assert gap(moments) == pytest.approx(expected["gap"], abs=1e-12)
    equal = murphy(bin_moments(p, y, np.ones(n), bins, count))
    again = murphy(bin_moments(p, y, np.full(n, 7.0), bins, count))
    assert equal.reliability == pytest.approx(float(again.reliability), abs=1e-12)


def test_three_terms_are_exact_for_equal_prices() -> None:
    _, y, w = world(5, 500)
    bins = np.random.default_rng(6).integers(0, 5, size=500)
    p = np.array([0.02, 0.3, 0.5, 0.71, 0.9])[bins]
    parts = murphy(bin_moments(p, y, w, bins, 5))
    assert parts.brier == pytest.approx(float(parts.three_terms), abs=1e-12)


def test_brier_is_that_of_scikit_learn() -> None:
    p, y, w = world(7, 3000)
    assert brier(p, y, w) == pytest.approx(brier_score_loss(y, p, sample_weight=w), abs=1e-12)
    assert brier(p, y) == pytest.approx(brier_score_loss(y, p), abs=1e-12)


def test_base_rate_and_clairvoyant() -> None:
    _, y, w = world(8, 400)
    base = np.full(400, np.average(y, weights=w))
    parts = murphy(bin_moments(base, y, w, np.zeros(400), 1))
    assert parts.reliability == pytest.approx(0, abs=1e-12)
    assert parts.resolution == pytest.approx(0, abs=1e-12)
    assert parts.brier == pytest.approx(float(parts.uncertainty), abs=1e-12)
    assert skill(base, y, w) == pytest.approx(0, abs=1e-12)
    assert brier(y, y, w) == 0
    assert skill(y, y, w) == pytest.approx(1, abs=1e-12)
    assert np.isnan(skill([0.2, 0.3], [0, 0]))


def test_swapping_outcomes_leaves_scores_alone() -> None:
    p, y, w = world(9, 2000)
    assert brier(1 - p, 1 - y, w) == pytest.approx(brier(p, y, w), abs=1e-12)
    assert skill(1 - p, 1 - y, w) == pytest.approx(skill(p, y, w), abs=1e-12)
    assert accuracy(1 - p, 1 - y, w) == pytest.approx(accuracy(p, y, w), abs=1e-12)
    line, mirrored = fit_platt(p, y, w), fit_platt(1 - p, 1 - y, w)
    assert mirrored.slope == pytest.approx(line.slope, abs=1e-10)
    assert mirrored.intercept == pytest.approx(-line.intercept, abs=1e-10)


def test_ties_are_half_right() -> None:
    assert accuracy([0.5, 0.7, 0.7, 0.2], [1, 1, 0, 0], [2, 1, 1, 4]) == pytest.approx(6 / 8)
    assert accuracy(np.zeros(4), [1, 0, 0, 0]) == pytest.approx(0.75)


def test_distortion() -> None:
    assert distorted([0.7, 0.3], 2) == pytest.approx([0.844828, 0.155172], abs=1e-6)
    assert distorted([0.7, 0.3], 0.5) == pytest.approx([0.604356, 0.395644], abs=1e-6)
    p = np.linspace(0, 1, 101)
    assert distorted(distorted(p, 0.5), 2) == pytest.approx(p, abs=1e-12)
    inner = p[1:-1]
    by_log_odds = 1 / (1 + np.exp(-1.7 * np.log(inner / (1 - inner))))
    assert distorted(inner, 1.7) == pytest.approx(by_log_odds, abs=1e-12)


def test_groups_add_up() -> None:
    p, y, w = world(10, 1000)
    rng = np.random.default_rng(11)
    bins, groups = rng.integers(-1, 4, size=1000), rng.integers(0, 50, size=1000)
    by_group = bin_moments(p, y, w, bins, 4, groups, 50)
    assert by_group.shape == (50, 4, 5)
    assert by_group.sum(axis=0) == pytest.approx(bin_moments(p, y, w, bins, 4), abs=1e-9)
    at = groups == 7
    np.testing.assert_allclose(by_group[7], bin_moments(p[at], y[at], w[at], bins[at], 4))


def test_floor_of_the_gap_against_a_loop_and_theory() -> None:
    p, _, w = world(12, 400)
    bins = np.minimum((p * 5).astype(int), 4)
    floor = gap_floor(p, w, bins, 5, np.random.default_rng(13), draws=3000)
    rng = np.random.default_rng(14)
    loop = [
        float(gap(bin_moments(p, (rng.random(400) < p).astype(float), w, bins, 5)))
        for _ in range(3000)
    ]
    error = np.hypot(floor.std(), np.std(loop)) / np.sqrt(3000)
    assert abs(floor.mean() - np.mean(loop)) < 4 * error
    # With one bin the gap is the size of a nearly normal mean: sqrt(2 / pi) of its spread.
    alone = gap_floor(p, w, np.zeros(400), 1, np.random.default_rng(15), draws=3000)
    spread = np.sqrt((w**2 * p * (1 - p)).sum()) / w.sum()
    assert alone.mean() == pytest.approx(np.sqrt(2 / np.pi) * spread, rel=0.05)
