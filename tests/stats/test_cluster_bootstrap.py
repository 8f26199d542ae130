"""Cluster bootstrap, against loops over rows and known standard errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import remeasure.stats.cluster_bootstrap as rooms
from remeasure.stats.calibration import bin_moments, gap, murphy
from remeasure.stats.cluster_bootstrap import (
    Clusters,
    cluster_sums,
    count_slices,
    draw_counts,
    resampled_ratio,
    resampled_sums,
    row_weights,
)


def test_clusters_of_labels() -> None:
    clusters = Clusters.of(["b", "a", "b", "c"])
    assert clusters.codes.tolist() == [1, 0, 1, 2]
    assert clusters.count == 3
    assert Clusters.alone(3).codes.tolist() == [0, 1, 2]


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 40), st.integers(1, 20), st.integers(0, 10**6))
def test_draws_have_the_right_size(clusters: int, resamples: int, seed: int) -> None:
    counts = draw_counts(clusters, resamples, np.random.default_rng(seed))
    assert counts.shape == (resamples, clusters)
    assert (counts.sum(axis=1) == clusters).all()
    assert (counts >= 0).all()


def test_draws_are_multinomial() -> None:
    counts = draw_counts(20, 20_000, np.random.default_rng(1))
    assert counts.mean(axis=0) == pytest.approx(np.ones(20), abs=4 * np.sqrt(0.95 / 20_000))
    assert counts.var() == pytest.approx(0.95, rel=0.03)
    assert np.cov(counts[:, 0], counts[:, 1])[0, 1] == pytest.approx(-1 / 20, abs=0.03)


@settings(deadline=None, max_examples=20)
@given(st.integers(2, 60), st.integers(1, 12), st.integers(0, 10**6))
def test_equals_the_loop_over_rows(n: int, groups: int, seed: int) -> None:
    """Every resample built row by row, cluster by cluster."""
    rng = np.random.default_rng(seed)
    clusters = Clusters.of(rng.integers(0, groups, size=n))
    values = rng.normal(size=(n, 3))
    found = resampled_sums(cluster_sums(values, clusters), 8, np.random.default_rng(seed))
    counts = draw_counts(clusters.count, 8, np.random.default_rng(seed))
    for row, sums in zip(counts, found, strict=True):
        rows = [
            index
            for cluster, times in enumerate(row)
            for _ in range(times)
            for index in np.flatnonzero(clusters.codes == cluster)
        ]
        assert sums == pytest.approx(values[rows].sum(axis=0), abs=1e-12)


def test_scores_of_resamples_equal_scores_of_repeated_rows() -> None:
    rng = np.random.default_rng(3)
    n = 300
    p, w = rng.beta(0.6, 0.9, size=n), rng.gamma(1.0, size=n)
    y = (rng.random(n) < p).astype(float)
    bins = np.minimum((10 * p).astype(int), 9)
    clusters = Clusters.of(rng.integers(0, 80, size=n))
    by_event = bin_moments(p, y, w, bins, 10, clusters.codes, clusters.count)
    moments = resampled_sums(by_event, 25, np.random.default_rng(4))
    parts, gaps = murphy(moments), gap(moments)
    counts = draw_counts(clusters.count, 25, np.random.default_rng(4))
    for index, row in enumerate(counts):
        rows = np.repeat(np.arange(n), row[clusters.codes])
        own = bin_moments(p[rows], y[rows], w[rows], bins[rows], 10)
        expected = murphy(own)
        assert parts.brier[index] == pytest.approx(float(expected.brier), abs=1e-12)
        assert parts.reliability[index] == pytest.approx(float(expected.reliability), abs=1e-12)
        assert parts.skill[index] == pytest.approx(float(expected.skill), abs=1e-12)
        assert gaps[index] == pytest.approx(float(gap(own)), abs=1e-12)


def test_copies_in_one_cluster_are_one_observation() -> None:
    """Nine copies an event: the error is that of one; rows as clusters show a third of it."""
    rng = np.random.default_rng(5)
    events, copies = 400, 9
    x = np.repeat(rng.normal(size=events), copies)
    ones = np.ones_like(x)
    by_event = Clusters.of(np.repeat(np.arange(events), copies))
    single = resampled_ratio(
        x[::copies], ones[::copies], Clusters.alone(events), 2000, np.random.default_rng(6)
    )
    grouped = resampled_ratio(x, ones, by_event, 2000, np.random.default_rng(7))
    naive = resampled_ratio(x, ones, Clusters.alone(x.size), 2000, np.random.default_rng(8))
    assert single.std() == pytest.approx(x[::copies].std() / np.sqrt(events), rel=0.1)
    assert grouped.std() == pytest.approx(single.std(), rel=0.1)
    assert naive.std() == pytest.approx(single.std() / 3, rel=0.1)


def test_slices_draw_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = draw_counts(37, 50, np.random.default_rng(9))
    monkeypatch.setattr(rooms, "SLICE_BYTES", 24 * 37 * 7)
    parts = list(count_slices(37, 50, np.random.default_rng(9)))
    assert [first for first, _ in parts] == list(range(0, 50, 7))
    np.testing.assert_array_equal(np.concatenate([counts for _, counts in parts]), whole)


def test_empty_denominators_are_nan() -> None:
    clusters = Clusters.alone(3)
    ratios = resampled_ratio([1.0, 0, 0], [1.0, 0, 0], clusters, 200, np.random.default_rng(10))
    assert set(np.unique(ratios[~np.isnan(ratios)])) == {1.0}
    assert np.isnan(ratios).any()


def test_row_weights() -> None:
    clusters = Clusters.of([5, 7, 5])
    counts = np.array([[2, 0], [1, 1]], dtype=np.int32)
    assert row_weights([1.0, 2, 3], clusters, counts).tolist() == [[2, 0, 6], [1, 2, 3]]


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="need clusters"):
        draw_counts(0, 5, np.random.default_rng(0))
    with pytest.raises(ValueError, match="rows of values"):
        cluster_sums(np.ones(2), Clusters.alone(3))
    with pytest.raises(ValueError, match="shapes differ"):
        resampled_ratio([1.0], [1.0, 2.0], Clusters.alone(1), 5, np.random.default_rng(0))
