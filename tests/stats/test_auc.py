"""ROC AUC against scikit-learn, its standard error against theory and the bootstrap."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

from remeasure.stats.auc import delong


@pytest.mark.parametrize("digits", [None, 2, 1, 0])
def test_value_is_scikit_learns(digits: int | None) -> None:
    """E10, with no ties, some, and mostly ties."""
    rng = np.random.default_rng(11)
    label = rng.random(4000) < 0.4
    score = rng.normal(size=4000) + 0.2 * label
    if digits is not None:
        score = score.round(digits)
    expected = sklearn.metrics.roc_auc_score(label, score)
    assert delong(score, label).value == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=4, max_size=40))
def test_value_counts_pairs(rows: list[tuple[int, bool]]) -> None:
    positive = [score for score, label in rows if label]
    negative = [score for score, label in rows if not label]
    if min(len(positive), len(negative)) < 2:
        return
    pairs = [(p > n) + 0.5 * (p == n) for p in positive for n in negative]
    ours = delong([float(score) for score, _ in rows], [label for _, label in rows])
    assert ours.value == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)
    assert (ours.positives, ours.negatives) == (len(positive), len(negative))


def test_standard_error_is_the_bootstraps() -> None:
    rng = np.random.default_rng(12)
    label = rng.random(1500) < 0.5
    score = rng.normal(size=1500) + 0.3 * label
    samples = []
    for _ in range(600):
        rows = rng.integers(0, 1500, 1500)
        samples.append(sklearn.metrics.roc_auc_score(label[rows], score[rows]))
    # A standard deviation of 600 draws is itself known to 3%.
    assert delong(score, label).se == pytest.approx(np.std(samples), rel=0.1)


def test_standard_error_without_skill_is_the_rank_tests() -> None:
    """Under no skill the variance is (m + n + 1) / (12 m n), as in the Mann-Whitney test."""
    rng = np.random.default_rng(13)
    label = rng.random(42142) < 0.505
    ours = delong(rng.normal(size=42142), label)
    m, n = ours.positives, ours.negatives
    assert ours.se == pytest.approx(np.sqrt((m + n + 1) / (12 * m * n)), rel=0.01)


def test_interval_covers() -> None:
    rng = np.random.default_rng(14)
    truth = 0.5556  # Phi(0.2 / sqrt 2)
    inside = 0
    for _ in range(400):
        label = rng.random(400) < 0.5
        ours = delong(rng.normal(size=400) + 0.2 * label, label)
        inside += ours.low <= truth <= ours.high
    assert 0.92 <= inside / 400 <= 0.98


def test_perfect_scores_and_what_cannot_be_scored() -> None:
    ours = delong([0.1, 0.2, 0.8, 0.9], [False, False, True, True])
    assert (ours.value, ours.se, ours.low, ours.high) == (1.0, 0.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="too few"):
        delong([0.1, 0.2, 0.3], [True, False, False])
    with pytest.raises(ValueError, match="do not match"):
        delong([0.1, 0.2], [True, False, False])
