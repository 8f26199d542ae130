"""Weights and their estimates, against simulation and worked examples."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from remeasure.stats.sampling import (
    effective_size,
    hash_uniform,
    mean,
    solve_share,
    total,
    union_probability,
    weighted_mean,
    weights,
)

RATES = (0.11, 0.30)


@pytest.mark.parametrize(
    ("first", "second", "pi", "weight"),
    [
        (0.11, 0.3, 0.377, 2.65252),
        (0.2, 0.3, 0.44, 2.272727),
        (0.055, 0.3, 0.3385, 2.95421),
        (0.017, 0.0, 0.017, 58.823529),
        (0.017, 1.0, 1.0, 1.0),
    ],
)
def test_worked_examples(first: float, second: float, pi: float, weight: float) -> None:
    assert union_probability(first, second) == pytest.approx(pi, abs=1e-15)
    assert weights(pi) == pytest.approx(weight, abs=5e-7)


def test_union_of_two_draws_by_simulation() -> None:
    """A million units; the sum of both rates counts 8% too few of them."""
    rng = np.random.default_rng(1)
    size = 1_000_000
    either = (rng.random(size) < RATES[0]) | (rng.random(size) < RATES[1])
    pi = float(union_probability(*RATES))
    error = np.sqrt(pi * (1 - pi) / size)
    assert abs(either.mean() - pi) < 4 * error
    sampled = int(either.sum())
    right = total(np.ones(sampled), np.full(sampled, pi))
    assert abs(right.value - size) < 4 * right.se
    assert sampled / sum(RATES) / size == pytest.approx(0.377 / 0.41, abs=4 * error / 0.41)


def test_fixed_size_draws_have_the_same_mean_weight() -> None:
    """Exactly 11% and 30% of a stratum instead of coins: the weights still add up to it."""
    rng = np.random.default_rng(2)
    size, runs = 2_000, 400
    sums = []
    for _ in range(runs):
        drawn = np.zeros(size, dtype=bool)
        for rate in RATES:
            drawn[rng.permutation(size)[: round(rate * size)]] = True
        sums.append(drawn.sum() / union_probability(*RATES))
    assert abs(np.mean(sums) - size) < 4 * np.std(sums) / np.sqrt(runs)


def test_errors_are_those_of_many_samples() -> None:
    rng = np.random.default_rng(3)
    size, runs = 3_000, 2_000
    x, pi = rng.gamma(1.0, size=size), rng.uniform(0.05, 1.0, size=size)
    drawn = rng.random((runs, size)) < pi
    totals = [total(x[row], pi[row]) for row in drawn]
    means = [mean(x[row], pi[row]) for row in drawn]
    for found, truth in ((totals, x.sum()), (means, x.mean())):
        values = np.array([each.value for each in found])
        errors = np.array([each.se for each in found])
        assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(runs) + 0.002 * truth
        assert np.sqrt(np.mean(errors**2)) == pytest.approx(values.std(), rel=0.06)


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.floats(0.01, 50), min_size=1, max_size=30),
    st.floats(1e-3, 1e3),
    st.integers(0, 10**6),
)
def test_scaling_weights_changes_nothing(values: list[float], factor: float, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=len(values))
    w = np.array(values)
    assert weighted_mean(x, w * factor) == pytest.approx(weighted_mean(x, w), abs=1e-12)
    assert effective_size(w * factor) == pytest.approx(effective_size(w))
    assert 1 - 1e-9 <= effective_size(w) <= w.size + 1e-9
    assert weighted_mean(x, w) == pytest.approx(np.average(x, weights=w), abs=1e-12)


def test_equal_weights() -> None:
    assert effective_size(np.full(7, 3.0)) == pytest.approx(7)
    assert weighted_mean([1.0, 2.0, 6.0]) == pytest.approx(3)
    assert np.isnan(weighted_mean([], []))
    assert effective_size([]) == 0


def test_the_common_share_is_solved_and_recovered() -> None:
    rng = np.random.default_rng(4)
    first = rng.choice([0.017, 0.11, 0.2], size=200_000)
    kind = rng.choice(["top", "middle", "low"], p=[0.02, 0.2, 0.78], size=first.size)
    second = np.select([kind == "top", kind == "middle"], [1.0, 0.3], 0.0)
    expected = union_probability(first, second).sum()
    assert solve_share(first, kind == "top", kind == "middle", expected) == pytest.approx(0.3)
    # A random draw of that size gives it back nearly.
    drawn = int((rng.random(first.size) < union_probability(first, second)).sum())
    assert solve_share(first, kind == "top", kind == "middle", drawn) == pytest.approx(
        0.3, abs=4 * np.sqrt(drawn) / (kind == "middle").sum()
    )
    assert np.isnan(solve_share([0.1], [True], [False], 5))


def test_hash_draws() -> None:
    keys = [f"0x{number:064x}" for number in range(20_000)]
    u = hash_uniform(20261031, "topic", keys)
    by_hand = int(hashlib.sha256(f"20261031:topic:{keys[7]}".encode()).hexdigest()[:16], 16)
    assert u[7] == pytest.approx(by_hand / 2**64, abs=2e-16)
    assert kstest(u, "uniform").pvalue > 0.001
    assert 0 <= u.min() < u.max() < 1
    # Neither order nor company matters, and the two draws know nothing of each other.
    np.testing.assert_array_equal(hash_uniform(20261031, "topic", keys[::-3]), u[::-3])
    other = hash_uniform(20261031, "size", keys)
    assert abs(np.corrcoef(u, other)[0, 1]) < 4 / np.sqrt(u.size)
    # A larger rate only adds.
    assert set(np.flatnonzero(u < 0.11)) <= set(np.flatnonzero(u < 0.2))
    assert (u < 0.11).mean() == pytest.approx(0.11, abs=4 * np.sqrt(0.11 * 0.89 / u.size))


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="within 0"):
        union_probability(1.2, 0.1)
    with pytest.raises(ValueError, match="cannot be drawn"):
        weights([0.5, 0.0])
    with pytest.raises(ValueError, match="not both"):
        solve_share([0.1], [True], [True], 1)
    with pytest.raises(ValueError, match="one list each"):
        weighted_mean([1.0, 2.0], [1.0])
