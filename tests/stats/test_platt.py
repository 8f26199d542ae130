"""Platt scaling, against scikit-learn, planted slopes and one fit after the other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from remeasure.stats import platt
from remeasure.stats.cluster_bootstrap import Clusters, draw_counts
from remeasure.stats.platt import fit_platt, log_odds, refit, resampled_platt


def world(seed: int, n: int, slope: float = 1.12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    true = 1.6 * rng.normal(size=n) - 0.8
    p = expit(true / slope)
    return p, (rng.random(n) < expit(true)).astype(float), rng.gamma(0.8, size=n) + 0.01


def test_equals_scikit_learn() -> None:
    p, y, w = world(1, 4000)
    line = fit_platt(p, y, w)
    referee = LogisticRegression(C=np.inf, solver="lbfgs", tol=1e-10, max_iter=1000)
    referee.fit(log_odds(p)[:, None], y, sample_weight=w)
    assert line.slope == pytest.approx(referee.coef_[0, 0], abs=1e-5)
    assert line.intercept == pytest.approx(referee.intercept_[0], abs=1e-5)
    assert line(p) == pytest.approx(referee.predict_proba(log_odds(p)[:, None])[:, 1], abs=1e-6)


@pytest.mark.parametrize(
    ("slope", "intercept"), [(-2.5, 4.0), (-0.8, 1.7), (5.0, -3.0), (0.1, 4.0)]
)
def test_far_fits_are_found(slope: float, intercept: float) -> None:
    """Newton's method alone would run away from the start (1, 0)."""
    rng = np.random.default_rng(8)
    x = 1.5 * rng.normal(size=3000)
    y = (rng.random(3000) < expit(slope * x + intercept)).astype(float)
    line = fit_platt(expit(x), y, clip=1e-12)
    referee = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000).fit(x[:, None], y)
    assert line.slope == pytest.approx(referee.coef_[0, 0], abs=1e-4)
    assert line.intercept == pytest.approx(referee.intercept_[0], abs=1e-4)


def test_a_dozen_steps_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platt, "MOST_STEPS", 12)
    p, y, w = world(9, 2000)
    assert fit_platt(p, y, w).slope == pytest.approx(1.12, abs=0.3)


def test_expected_outcomes_return_the_planted_line() -> None:
    true = np.linspace(-4, 4, 41)
    line = fit_platt(expit(true / 1.3), expit(true))
    assert (line.slope, line.intercept) == pytest.approx((1.3, 0.0), abs=1e-9)
    shifted = fit_platt(expit((true - 0.4) / 0.8), expit(true), np.arange(1, 42))
    assert (shifted.slope, shifted.intercept) == pytest.approx((0.8, 0.4), abs=1e-9)


def test_likelihood_is_flat_at_the_fit() -> None:
    p, y, w = world(2, 1500)
    line = fit_platt(p, y, w)
    slack = w * (y - line(p))
    assert slack.sum() == pytest.approx(0, abs=1e-9)
    assert (slack * log_odds(p)).sum() == pytest.approx(0, abs=1e-9)


def test_scale_of_weights_is_nothing() -> None:
    p, y, w = world(3, 800)
    line, scaled = fit_platt(p, y, w), fit_platt(p, y, 1000 * w)
    assert (scaled.slope, scaled.intercept) == pytest.approx((line.slope, line.intercept))
    assert fit_platt(p, y).slope == pytest.approx(fit_platt(p, y, np.full(800, 3.0)).slope)


def test_prices_are_kept_from_the_ends() -> None:
    assert log_odds([0.0, 1.0]) == pytest.approx([logit(0.0005), logit(0.9995)])
    p, y, w = world(4, 500)
    p[:3] = 0, 1, 0
    assert np.isfinite(fit_platt(p, y, w).slope)


@pytest.mark.parametrize(
    ("p", "y"),
    [
        ([0.2, 0.4, 0.6], [1, 1, 1]),
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]),
        ([0.3, 0.3, 0.3], [0, 1, 0]),
    ],
)
def test_what_has_no_best_line_is_refused(p: list[float], y: list[float]) -> None:
    with pytest.raises(ValueError, match="no line"):
        fit_platt(p, y)


def test_many_fits_equal_one_at_a_time() -> None:
    p, y, w = world(5, 600)
    clusters = Clusters.of(np.random.default_rng(6).integers(0, 150, size=600))
    found = resampled_platt(p, y, w, clusters, 20, np.random.default_rng(7))
    counts = draw_counts(clusters.count, 20, np.random.default_rng(7))
    for row, (slope, intercept) in zip(counts, found, strict=True):
        line = fit_platt(p, y, w * row[clusters.codes])
        assert (line.slope, line.intercept) == pytest.approx((slope, intercept), abs=1e-9)


def test_a_resample_without_a_best_line_is_nan() -> None:
    x, y = log_odds([0.2, 0.5, 0.7, 0.9]), np.array([0.0, 1.0, 0.0, 1.0])
    fits = refit(x, y, np.array([[1.0, 1, 1, 1], [0, 1, 0, 1]]))
    assert np.isfinite(fits[0]).all()
    assert np.isnan(fits[1]).all()


def test_the_planted_slope_lies_in_the_interval() -> None:
    """Nineteen in twenty, or nearly: 60 worlds of independent rows."""
    covered = 0
    for seed in range(60):
        p, y, w = world(100 + seed, 1500)
        fits = resampled_platt(p, y, w, Clusters.alone(1500), 200, np.random.default_rng(seed))
        low, high = np.quantile(fits[:, 0], [0.025, 0.975])
        covered += low <= 1.12 <= high
    assert covered >= 52
