"""Interval of the calibration gap, against worlds whose gap is planted."""

from __future__ import annotations

import numpy as np
import pytest

from remeasure.stats.calibration import bin_moments, gap, murphy
from remeasure.stats.cluster_bootstrap import resampled_sums
from remeasure.stats.gap_interval import gap_interval, reliability_interval

CENTRES = np.array([0.03, 0.12, 0.3, 0.5, 0.7, 0.88, 0.97])


def world(rng: np.random.Generator, n: int, fault: float) -> tuple[np.ndarray, float, float]:
    """Sums of each row and bin of a world whose gap is ``fault``, spread over the bins."""
    share = np.array([0.3, 0.15, 0.1, 0.1, 0.1, 0.1, 0.15])
    bins = rng.choice(CENTRES.size, size=n, p=share)
    p = CENTRES[bins]
    shape = np.array([0.2, 0.5, -1.5, 0.0, 2.0, -1.5, -0.2])
    shift = fault * shape / (share * np.abs(shape)).sum()
    y = (rng.random(n) < p - shift[bins]).astype(float)
    w = rng.gamma(2.0, size=n)
    rows = bin_moments(p, y, w, bins, CENTRES.size, np.arange(n), n)
    return rows, float((share * np.abs(shift)).sum()), float((share * shift**2).sum())


@pytest.mark.parametrize(("n", "fault"), [(800, 0.02), (1200, 0.05), (800, 0.0)])
def test_covers_what_is_planted_where_percentiles_do_not(n: int, fault: float) -> None:
    rng = np.random.default_rng(n)
    covered, naive, worlds = np.zeros(2), np.zeros(2), 80
    for _ in range(worlds):
        rows, *truths = world(rng, n, fault)
        drawn, sums = resampled_sums(rows, 120, rng), rows.sum(axis=0)
        values = float(gap(sums)), float(murphy(sums).reliability)
        samples = gap(drawn), murphy(drawn).reliability
        for index, interval in enumerate((gap_interval, reliability_interval)):
            low, high = interval(sums, drawn)
            covered[index] += low <= truths[index] <= high
            assert low <= values[index] <= high
            ends = np.quantile(samples[index], [0.025, 0.975])
            naive[index] += ends[0] <= truths[index] <= ends[1]
    assert (covered / worlds >= 0.88).all()
    assert (naive < covered).all()
    if fault < 0.05:
        assert (naive / worlds < 0.6).all()


def test_large_samples_agree_with_percentiles() -> None:
    rng = np.random.default_rng(5)
    rows, *_ = world(rng, 20_000, 0.08)
    drawn, sums = resampled_sums(rows, 300, rng), rows.sum(axis=0)
    ends = np.quantile(gap(drawn), [0.025, 0.975])
    assert gap_interval(sums, drawn) == pytest.approx(tuple(ends), abs=1.5e-3)
    ends = np.quantile(murphy(drawn).reliability, [0.025, 0.975])
    assert reliability_interval(sums, drawn) == pytest.approx(tuple(ends), rel=0.03)


def test_nothing_and_perfection() -> None:
    empty = np.zeros((3, 5))
    assert np.isnan(gap_interval(empty, np.zeros((10, 3, 5)))).all()
    exact = np.array([[2.0, 1, 1, 0.5, 0.5]])
    assert gap_interval(exact, np.stack([exact, 2 * exact])) == (0.0, 0.0)
    assert reliability_interval(exact, np.stack([exact, 2 * exact])) == (0.0, 0.0)
    with pytest.raises(ValueError, match="level"):
        gap_interval(exact, exact[None], 1.0)
