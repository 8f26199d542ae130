"""Block bootstrap, against brute-force resampling, exact moments and its coverage on AR(1)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.signal import lfilter

from remeasure.stats import bootstrap
from remeasure.stats.bootstrap import (
    block_sums,
    block_weights,
    draw_blocks,
    mean_interval,
    percentile_interval,
    ratio_interval,
    resampled_means,
    resampled_sums,
)


def brute(values: np.ndarray, block: int, starts: np.ndarray) -> np.ndarray:
    """The resampled series themselves, built index by index, then summed."""
    n = len(values)
    return np.array(
        [
            sum(values[(start + step) % n] for start in row for step in range(block))
            for row in starts
        ]
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, int, np.ndarray]:
    n = draw(st.integers(1, 25))
    shape = draw(st.sampled_from([(n,), (n, 1), (n, 3)]))
    values = draw(arrays(np.float64, shape, elements=st.floats(-100, 100, width=32)))
    block = draw(st.integers(1, n))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return values, block, draw_blocks(n, block, draw(st.integers(1, 5)), rng)


@settings(deadline=None, max_examples=50)
@given(cases())
def test_sums_equal_brute_force(case: tuple[np.ndarray, int, np.ndarray]) -> None:
    values, block, starts = case
    np.testing.assert_allclose(
        resampled_sums(values, block, starts), brute(values, block, starts), atol=1e-9
    )


@settings(deadline=None, max_examples=50)
@given(cases())
def test_weights_give_the_same_sums(case: tuple[np.ndarray, int, np.ndarray]) -> None:
    values, block, starts = case
    weights = block_weights(len(values), block, starts)
    assert (weights.sum(axis=1) == block * starts.shape[1]).all()
    np.testing.assert_allclose(weights @ values, brute(values, block, starts), atol=1e-9)


@settings(deadline=None, max_examples=50)
@given(cases())
def test_slices_do_not_change_the_answer(case: tuple[np.ndarray, int, np.ndarray]) -> None:
    values, block, starts = case
    whole = resampled_sums(values, block, starts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "SLICE_BYTES", 1)
        np.testing.assert_array_equal(resampled_sums(values, block, starts), whole)


def test_whole_circle_is_the_total() -> None:
    values = np.arange(7.0)
    np.testing.assert_allclose(block_sums(values, 7), np.full(7, 21.0))


def test_block_sums_keep_digits_far_from_zero() -> None:
    values = 1e9 + np.random.default_rng(0).normal(size=100_000)
    direct = values[50_000:50_024].sum()
    assert block_sums(values, 24)[50_000] == pytest.approx(direct, abs=1e-5)


def test_draws_are_uniform_and_of_the_right_size() -> None:
    starts = draw_blocks(10, 3, 20_000, np.random.default_rng(1))
    assert starts.shape == (20_000, 3)
    counts = np.bincount(starts.ravel(), minlength=10)
    assert counts == pytest.approx(np.full(10, 6_000), rel=0.06)
    assert draw_blocks(10, 7, 5, np.random.default_rng(1)).shape == (5, 1)


def test_mean_and_variance_of_resampled_means() -> None:
    """Given the data, the mean of k independent circular blocks has exactly known moments."""
    rng = np.random.default_rng(2)
    values = np.cumsum(rng.normal(size=120))
    block = 10
    starts = draw_blocks(120, block, 40_000, rng)
    means = resampled_means(values, block, starts)
    blocks = np.array([np.roll(values, -first)[:block].mean() for first in range(120)])
    assert means.mean() == pytest.approx(values.mean(), abs=4 * means.std() / 200)
    assert means.var() == pytest.approx(blocks.var() / 12, rel=0.03)


def test_same_seed_same_interval() -> None:
    values = np.random.default_rng(4).normal(size=300)
    first = mean_interval(values, 20, 500, np.random.default_rng(7))
    second = mean_interval(values, 20, 500, np.random.default_rng(7))
    assert first == second


def ar1(phi: float, n: int, series: int, rng: np.random.Generator) -> np.ndarray:
    """Stationary AR(1) paths of mean 0, shape (series, n)."""
    noise = rng.normal(size=(series, n + 200))
    return np.asarray(lfilter([1.0], [1.0, -phi], noise, axis=1)[:, 200:])


def coverage(paths: np.ndarray, block: int, rng: np.random.Generator) -> float:
    inside = 0
    for path in paths:
        low, high = mean_interval(path, block, 400, rng)
        inside += bool(low <= 0 <= high)
    return inside / len(paths)


def test_coverage_on_ar1() -> None:
    """Blocks longer than the memory cover the mean; single observations pretend to know it."""
    rng = np.random.default_rng(5)
    paths = ar1(0.7, 1000, 400, rng)
    assert 0.90 <= coverage(paths, 40, rng) <= 0.97
    # An independent-data interval is too narrow by sqrt((1 + 0.7) / (1 - 0.7)) = 2.4.
    assert coverage(paths, 1, rng) < 0.70


def test_ratio_is_the_mean_of_a_subset() -> None:
    """Mean over a random subset: the interval agrees with the classical one."""
    rng = np.random.default_rng(6)
    values, inside = rng.normal(5, 2, 6000), rng.random(6000) < 0.3
    low, high = ratio_interval(values * inside, inside, 1, 4000, rng)
    subset = values[inside]
    half = 1.96 * subset.std(ddof=1) / np.sqrt(subset.size)
    assert (low, high) == pytest.approx((subset.mean() - half, subset.mean() + half), abs=0.01)


def test_ratio_of_columns_and_empty_denominator() -> None:
    rng = np.random.default_rng(6)
    top = np.ones((50, 2))
    bottom = np.column_stack([np.full(50, 2.0), np.zeros(50)])
    low, high = ratio_interval(top, bottom, 5, 100, rng)
    assert low[0] == high[0] == 0.5
    assert np.isnan(low[1])
    with pytest.raises(ValueError, match="shapes differ"):
        ratio_interval(top, bottom[:, 0], 5, 100, rng)


def test_percentiles() -> None:
    samples = np.column_stack([np.arange(1001.0), np.arange(1001.0)[::-1]])
    low, high = percentile_interval(samples)
    np.testing.assert_allclose(low, [25, 25])
    np.testing.assert_allclose(high, [975, 975])
    with pytest.raises(ValueError, match="level"):
        percentile_interval(samples, 1.0)


@pytest.mark.parametrize(("n", "block", "resamples"), [(5, 0, 10), (5, 6, 10), (5, 2, 0)])
def test_impossible_draws_are_refused(n: int, block: int, resamples: int) -> None:
    with pytest.raises(ValueError, match=r"block|resamples"):
        draw_blocks(n, block, resamples, np.random.default_rng(0))
    if not 1 <= block <= n:
        with pytest.raises(ValueError, match="block"):
            block_sums(np.zeros(n), block)
