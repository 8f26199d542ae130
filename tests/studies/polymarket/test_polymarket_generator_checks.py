"""The card's checks of the synthetic market, G1 to G18, at its default size and pinned seeds.

Statistics are written out here or come from the shared rooms; the study's experiments have no
part in them. What a prototype found stands in the card beside each check.
"""

from __future__ import annotations

import numpy as np
import pytest

from polymarket_worlds import WEEK, Floats, Week, sampled, settings
from remeasure.stats import sampling
from remeasure.stats.bands import band, ticks
from remeasure.stats.calibration import bin_moments, brier, distorted, gap, murphy, skill
from remeasure.stats.cluster_bootstrap import Clusters, resampled_ratio
from remeasure.stats.contracts import band_returns
from remeasure.stats.platt import fit_platt, resampled_platt
from remeasure.studies.polymarket.sets import BANDS, BINS
from remeasure.studies.polymarket.world import HORIZON_NAMES, MONTHS, ONE, world

pytestmark = pytest.mark.slow

EVENTS = 60_000
SEEDS = (1, 2, 3)
KAPPAS = (1.2, 0.0)
TOTAL = (0, 1e3, 1e4, 1e5, 1e6)
DOLLARS = (0, 1e2, 1e3, 1e4, 1e5)

seeds = pytest.mark.parametrize("seed", SEEDS)
kappas = pytest.mark.parametrize("kappa", KAPPAS)


def week(seed: int, kappa: float) -> Week:
    return Week(*sampled(seed, EVENTS, kappa))


class Trap:
    """Longshots, 2-20 cents, of the draw by topic; both sides of a market are two contracts."""

    def __init__(self, seed: int, kappa: float) -> None:
        made, sample = sampled(seed, EVENTS, kappa)
        rows = sample.in_topic_draw & made.alive[sample.market, WEEK]
        market = sample.market[rows]
        tick, won = made.price[market, WEEK], made.first_won[market]
        q = made.probability[market, WEEK]
        both = np.concatenate([tick, ONE - tick])
        cheap = (both >= 200) & (both < 2000)
        self.p = both[cheap] / ONE
        self.y = np.concatenate([won, ~won])[cheap]
        self.q = np.concatenate([q, 1 - q])[cheap]
        self.w = np.tile(1 / sample.pi_topic[rows], 2)[cheap]
        self.total = np.tile(made.total_dollars[market], 2)[cheap]
        self.dollars = np.tile(made.week_cents[market, WEEK] / 100, 2)[cheap]

    def ratios(self, by: Floats, edges: tuple[float, ...]) -> Floats:
        """Won over paid by bin."""
        cell = np.searchsorted(edges, by, "right") - 1
        n = len(edges)
        won = np.bincount(cell, self.w * self.y, n)[: n - 1]
        return won / np.bincount(cell, self.w * self.p, n)[: n - 1]

    def z(self, by: Floats, edges: tuple[float, ...]) -> Floats:
        """Winners over those that the truth expects, in standard deviations, by bin."""
        cell = np.searchsorted(edges, by, "right") - 1
        n = len(edges)
        extra = np.bincount(cell, self.w * (self.y - self.q), n)[: n - 1]
        return extra / np.sqrt(np.bincount(cell, self.w**2 * self.q * (1 - self.q), n)[: n - 1])


@seeds
@kappas
def test_g1_g2_the_sample_stands_for_the_population(seed: int, kappa: float) -> None:
    made, sample = sampled(seed, EVENTS, kappa)
    count = sampling.total(np.ones(sample.market.size), sample.pi)
    assert abs(count.value - made.clean.sum()) < 4 * count.se
    rate = sampling.mean(made.first_won[sample.market], sample.pi)
    assert abs(rate.value - made.first_won[made.clean].mean()) < 4 * rate.se


@seeds
def test_g3_the_raw_sample_has_too_many_winners(seed: int) -> None:
    made, sample = sampled(seed, EVENTS, 1.2)
    assert made.first_won[sample.market].mean() - made.first_won[made.clean].mean() > 0.004


@seeds
@kappas
def test_g4_g5_the_truth_is_calibrated_and_the_parts_add_up(seed: int, kappa: float) -> None:
    set_ = week(seed, kappa)
    count = len(BINS) - 1
    oracle = bin_moments(set_.q, set_.y, set_.w, band(ticks(set_.q), BINS, last_closed=True), count)
    assert float(murphy(oracle).reliability) < 0.0006
    assert float(gap(oracle)) < 0.013
    market = bin_moments(set_.p, set_.y, set_.w, band(set_.tick, BINS, last_closed=True), count)
    assert abs(float(murphy(market).residual)) < 1e-12


@seeds
@kappas
def test_g6_the_truth_beats_the_market_beats_its_distortions(seed: int, kappa: float) -> None:
    set_ = week(seed, kappa)
    market = brier(set_.p, set_.y, set_.w)
    assert 0 <= market - brier(set_.q, set_.y, set_.w) <= 0.0008
    assert brier(distorted(set_.p, 2), set_.y, set_.w) - market > 0.002
    assert brier(distorted(set_.p, 0.5), set_.y, set_.w) - market > 0.010


@seeds
@kappas
def test_g7_the_weighted_fit_finds_the_planted_slope(seed: int, kappa: float) -> None:
    set_ = week(seed, kappa)
    assert fit_platt(set_.p, set_.y, set_.w).slope == pytest.approx(1.12, abs=0.07)
    assert fit_platt(set_.q, set_.y, set_.w).slope == pytest.approx(1.00, abs=0.06)


@seeds
def test_g8_the_unweighted_fit_falls_into_the_trap(seed: int) -> None:
    for kappa in KAPPAS:
        set_ = week(seed, kappa)
        more = fit_platt(set_.p, set_.y, set_.w).slope - fit_platt(set_.p, set_.y).slope
        assert more > 0.08 if kappa else abs(more) < 0.06


def test_the_interval_of_the_weighted_slope_holds_the_planted_one() -> None:
    """And that of the unweighted slope lies below it, where volume follows surprise."""
    set_ = week(SEEDS[0], 1.2)
    clusters = Clusters.of(set_.event)
    ends = {}
    for name, w in (("weighted", set_.w), ("unweighted", np.ones_like(set_.w))):
        rng = np.random.default_rng(5)
        drawn = resampled_platt(set_.p, set_.y, w, clusters, 100, rng)
        ends[name] = np.quantile(drawn, [0.025, 0.975], axis=0)
    low, high = ends["weighted"]
    assert low[0] < 1.12 < high[0]
    assert low[1] < 0 < high[1]
    assert ends["unweighted"][1][0] < 1.12


@seeds
def test_g9_longshots_look_better_the_larger_the_market(seed: int) -> None:
    trap = Trap(seed, 1.2)
    ratio = trap.ratios(trap.total, TOTAL)
    assert np.all(np.diff(ratio) > 0)
    assert ratio[-1] / ratio[0] > 3


@seeds
def test_g10_and_they_win_too_often_there(seed: int) -> None:
    trap = Trap(seed, 1.2)
    z = trap.z(trap.total, TOTAL)
    assert z[0] < -2.5
    assert z[-1] > 4


@seeds
def test_g11_without_surprise_there_is_no_trap(seed: int) -> None:
    trap = Trap(seed, 0)
    assert np.all(np.abs(trap.z(trap.total, TOTAL)) < 4)


@seeds
@kappas
def test_g12_dollars_before_the_forecast_are_no_trap(seed: int, kappa: float) -> None:
    trap = Trap(seed, kappa)
    assert np.all(np.abs(trap.z(trap.dollars, DOLLARS)) < 4)


@seeds
def test_g13_the_draw_by_size_alone_is_biased(seed: int) -> None:
    for kappa in KAPPAS:
        made, sample = sampled(seed, EVENTS, kappa)
        market = sample.market[sample.in_size_draw & made.alive[sample.market, WEEK]]
        tick, won = made.price[market, WEEK], made.first_won[market]
        both, y = np.concatenate([tick, ONE - tick]), np.concatenate([won, ~won])
        inside = (both >= 1000) & (both < 2000)
        gain = float(np.mean(y[inside] / (both[inside] / ONE) - 1))
        assert gain > 0.20 if kappa else gain < 0.05


@seeds
@kappas
def test_g14_returns_by_band_are_those_of_the_truth(seed: int, kappa: float) -> None:
    set_ = week(seed, kappa)
    tick = np.concatenate([set_.tick, ONE - set_.tick])
    p, w = tick / ONE, np.tile(set_.w, 2)
    y, q = np.concatenate([set_.y, 1 - set_.y]), np.concatenate([set_.q, 1 - set_.q])
    bands, count = band(tick, BANDS), len(BANDS) - 1
    found = band_returns(p, y, w, bands, count).mean_return
    true = band_returns(p, q, w, bands, count).mean_return
    inside = bands[:, None] == np.arange(count)
    top = w[:, None] * (y / p - 1)[:, None] * inside
    drawn = resampled_ratio(
        top,
        w[:, None] * inside,
        Clusters.of(np.tile(set_.event, 2)),
        60,
        np.random.default_rng(seed),
    )
    assert np.all(np.abs(found - true) < 4 * drawn.std(axis=0))


@seeds
@kappas
def test_g15_skill_grows_towards_the_close(seed: int, kappa: float) -> None:
    made, sample = sampled(seed, EVENTS, kappa)
    places = [HORIZON_NAMES.index(name) for name in ("month", "week", "day")]
    panel = (made.week_cents[sample.market][:, places] >= 100_000).all(axis=1)
    market, w = sample.market[panel], sample.weight[panel]
    found = [skill(made.price[market, at] / ONE, made.first_won[market], w) for at in places]
    assert found[0] < found[1] < found[2]


@seeds
@kappas
def test_g16_crypto_follows_its_driver(seed: int, kappa: float) -> None:
    set_ = week(seed, kappa)
    made, _ = sampled(seed, EVENTS, kappa)
    up = set_.direction == 1
    tick = np.where(up, set_.tick, ONE - set_.tick)
    won = np.where(up, set_.y, 1 - set_.y)
    close = (set_.direction != 0) & (tick >= 3000) & (tick < 7000)
    n = np.bincount(set_.month[close], minlength=MONTHS)
    wins = np.bincount(set_.month[close], won[close], MONTHS)
    shown = n >= 10
    share = wins[shown] / n[shown]
    assert np.corrcoef(share, made.driver[shown])[0, 1] > 0.75
    rose = made.bitcoin[shown] > 0
    pooled = [wins[shown][each].sum() / n[shown][each].sum() for each in (rose, ~rose)]
    assert pooled[0] - pooled[1] > 0.25
    assert 0.46 < tick[close].mean() / ONE < 0.52


@seeds
@kappas
def test_g17_recalibration_hardly_helps_later_markets(seed: int, kappa: float) -> None:
    set_ = week(seed, kappa)
    early = set_.month < 18
    line = fit_platt(set_.p[early], set_.y[early], set_.w[early])
    assert 1.0 < line.slope < 1.25
    p, y, w = set_.p[~early], set_.y[~early], set_.w[~early]
    better = (p - y) ** 2 - (line(p) - y) ** 2
    assert abs(sampling.weighted_mean(better, w)) < 0.0012
    clusters = Clusters.of(set_.event[~early])
    drawn = resampled_ratio(w * better, w, clusters, 100, np.random.default_rng(seed))
    low, high = np.quantile(drawn, [0.025, 0.975])
    # Contains zero or comes close to it: the planted slope is worth some 0.0003.
    assert low < 0.0004
    assert high > -0.0004


def test_g18_the_volume_filter_flatters_thin_longshots() -> None:
    """Averaged over eight seeds, in the population: no noise of draws."""

    def ratio(seed: int, listed_from: float) -> float:
        made = world(settings(seed, EVENTS // 2), listed_from=listed_from)
        rows = made.clean & made.alive[:, WEEK]
        rows &= (made.week_cents[:, WEEK] >= 10_000) & (made.week_cents[:, WEEK] < 100_000)
        tick, won = made.price[rows, WEEK], made.first_won[rows]
        both, y = np.concatenate([tick, ONE - tick]), np.concatenate([won, ~won])
        cheap = (both >= 200) & (both < 2000)
        return float(y[cheap].sum() / (both[cheap] / ONE).sum())

    found = np.array([(ratio(seed, 1_000), ratio(seed, 0)) for seed in range(1, 9)])
    assert found[:, 0].mean() - found[:, 1].mean() > 0.02
