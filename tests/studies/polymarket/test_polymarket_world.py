"""The generated world: exact probabilities, independent streams, tables; checks at smoke size."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logsumexp

from polymarket_worlds import WEEK, Week, sampled, settings
from remeasure.stats import sampling
from remeasure.stats.bands import band
from remeasure.stats.calibration import bin_moments, murphy
from remeasure.stats.platt import fit_platt
from remeasure.studies.polymarket.sets import BINS
from remeasure.studies.polymarket.world import (
    CLOCK_END,
    HORIZONS,
    ONE,
    TOPIC_SHARE,
    TOPICS,
    World,
    _softmax_log_odds,
    clock,
    to_ticks,
    world,
)

SMOKE = 12_000


def test_a_world_is_a_function_of_its_settings() -> None:
    one, two = world(settings(3, 800)), world(settings(3, 800))
    for each in fields(World):
        if each.name not in ("settings", "events", "evidence"):
            assert np.array_equal(getattr(one, each.name), getattr(two, each.name)), each.name
    assert not np.array_equal(one.price, world(settings(4, 800)).price[: one.price.shape[0]])


def test_surprise_and_the_filter_change_volumes_and_nothing_else() -> None:
    trap, none = world(settings(3, 800, kappa=1.2)), world(settings(3, 800, kappa=0))
    free = world(settings(3, 800), listed_from=0)
    for name in ("first_won", "price", "week_cents", "log_odds", "slope", "bitcoin"):
        assert np.array_equal(getattr(trap, name), getattr(none, name)), name
        assert np.array_equal(getattr(trap, name), getattr(free, name)), name
    assert np.all(trap.total_dollars >= none.total_dollars)
    assert free.kept.all()
    assert 0 < trap.kept.mean() < 1


def test_a_larger_world_begins_with_the_same_events() -> None:
    small, large = world(settings(5, 500)), world(settings(5, 900))
    n = small.price.shape[0]
    assert np.array_equal(small.price, large.price[:n])
    assert np.array_equal(small.total_dollars, large.total_dollars[:n])


def test_shares_and_sizes_follow_the_recipe() -> None:
    made, _ = sampled(1, 60_000, 1.2)
    events = made.events
    share = np.bincount(events.topic, minlength=len(TOPICS)) / events.topic.size
    assert share == pytest.approx(TOPIC_SHARE, abs=0.01)
    assert events.size.max() <= 25
    assert events.size[events.size > 1].min() == 4
    assert made.clean.sum() == pytest.approx(150_000, rel=0.03)
    assert np.median(events.life[events.topic == 3]) == pytest.approx(55, rel=0.05)
    won = np.bincount(made.event, made.first_won)
    assert won[events.exclusive].max() == 1, "more than one winner of an exclusive event"


def test_real_trading_before_the_forecast_passes_the_volume_filter() -> None:
    """Otherwise the really traded set would be selected on what happened to it later."""
    made, _ = sampled(1, 60_000, 1.2)
    assert made.kept[(made.week_cents >= 100_000).any(axis=1)].all()


def test_log_odds_of_exclusive_candidates_equal_bayes_rule() -> None:
    rng = np.random.default_rng(8)
    sizes = rng.integers(2, 9, 40)
    event = np.repeat(np.arange(40), sizes)
    weight = rng.normal(0, 6, (event.size, 3))
    found = _softmax_log_odds(weight, event)
    for which in range(40):
        part = weight[event == which]
        for row, racer in enumerate(np.flatnonzero(event == which)):
            others = np.delete(part, row, axis=0)
            assert found[racer] == pytest.approx(part[row] - logsumexp(others, axis=0), abs=1e-9)


def test_the_probability_is_right_at_every_horizon() -> None:
    """Whatever was planted, outcomes win as often as the truth says, in every range of it."""
    made, _ = sampled(1, 60_000, 1.2)
    for position, name in enumerate(HORIZONS):
        rows = made.alive[:, position] & (made.events.exclusive[made.event] | (made.topic != 1))
        q, y = made.probability[rows, position], made.first_won[rows]
        cell = np.minimum((q * 12).astype(int), 11)
        expected, found = np.bincount(cell, q), np.bincount(cell, y)
        sd = np.sqrt(np.bincount(cell, q * (1 - q)))
        assert np.all(np.abs(found - expected) < 4.5 * sd), name


def test_log_odds_are_a_martingale_of_the_clock() -> None:
    tau = np.full(1, 7.0)
    assert clock(np.zeros(1), tau) == CLOCK_END
    late = clock(np.array([90.0, 30.0, 7.0, 1.0]), tau)
    assert np.all(np.diff(late) > 0)
    made, _ = sampled(1, 60_000, 1.2)
    # The mean of tomorrow's probability, given today's, is today's.
    month, week = 2, WEEK
    both = made.alive[:, month]
    today, later = made.probability[both, month], made.probability[both, week]
    cell = np.minimum((today * 8).astype(int), 7)
    n = np.bincount(cell)
    change = np.bincount(cell, later - today) / n
    sd = np.sqrt(np.bincount(cell, (later - today) ** 2) / n / n)
    assert np.all(np.abs(change) < 5 * sd)


@given(st.floats(0, 1))
def test_prices_stand_on_ticks_and_never_at_the_ends(probability: float) -> None:
    tick = int(to_ticks(np.array([probability]))[0])
    assert tick % 5 == 0
    assert 5 <= tick <= ONE - 5
    assert abs(tick / ONE - probability) <= 0.0005


def test_the_planted_slope_is_exact() -> None:
    """With probabilities for outcomes the fit has no noise: only rounding to ticks is left."""
    made, _ = sampled(1, 60_000, 1.2)
    edges = [(100_000, 2**62, 1.12), (10_000, 100_000, 1.25), (0, 10_000, 1.40)]
    for low, high, slope in edges:
        cents = made.week_cents[:, WEEK]
        rows = made.alive[:, WEEK] & (cents >= low) & (cents < high)
        line = fit_platt(made.price[rows, WEEK] / ONE, made.probability[rows, WEEK])
        assert line.slope == pytest.approx(slope, abs=3e-4)
        assert line.intercept == pytest.approx(0, abs=3e-4)


def test_shared_fate_leaves_every_single_market_what_it_was() -> None:
    alone = world(settings(9, 20_000), exclusive=0)
    ladders = world(settings(9, 20_000), exclusive=0, shared=0.9)
    single = alone.events.size[alone.event] == 1
    assert np.array_equal(alone.price[single], ladders.price[single])
    assert alone.first_won.mean() == pytest.approx(ladders.first_won.mean(), abs=0.01)
    many = ~single

    def surplus(made: World) -> float:
        """Variance of an event's unexpected winners over what independence would give."""
        q = made.probability[:, WEEK]
        sums = np.bincount(made.event[many], (made.first_won - q)[many])
        return float(np.sum(sums**2) / np.sum((q * (1 - q))[many]))

    assert surplus(alone) == pytest.approx(1, abs=0.1)
    assert surplus(ladders) > 2


@pytest.mark.parametrize("kappa", [1.2, 0.0])
def test_smoke_counts_identity_and_slope(kappa: float) -> None:
    """G1, G2 and G5 as at full size, G7 within 0.2: the card's smoke size."""
    made, sample = sampled(20_261_031, SMOKE, kappa)
    count = sampling.total(np.ones(sample.market.size), sample.pi)
    assert abs(count.value - made.clean.sum()) < 4 * count.se
    rate = sampling.mean(made.first_won[sample.market], sample.pi)
    assert abs(rate.value - made.first_won[made.clean].mean()) < 4 * rate.se
    week = Week(made, sample)
    bins = band(week.tick, BINS, last_closed=True)
    parts = murphy(bin_moments(week.p, week.y, week.w, bins, len(BINS) - 1))
    assert abs(float(parts.residual)) < 1e-12
    assert fit_platt(week.p, week.y, week.w).slope == pytest.approx(1.12, abs=0.20)
    assert fit_platt(week.q, week.y, week.w).slope == pytest.approx(1.0, abs=0.20)


def test_crypto_falls_when_the_question_says_so() -> None:
    made, _ = sampled(1, 60_000, 1.2)
    rising, falling = made.direction == 1, made.direction == -1
    assert 0.2 < falling.sum() / (rising.sum() + falling.sum()) < 0.4
    drive = made.driver[made.events.month[made.event]]
    late = expit(made.log_odds[:, WEEK])
    for rows, sign in ((rising, 1), (falling, -1)):
        extra = made.first_won[rows] - late[rows]
        assert sign * np.corrcoef(extra, drive[rows])[0, 1] > 0.2
