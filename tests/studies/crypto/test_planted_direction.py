"""Direction, leaks and trading on the synthetic market, where the truth is planted.

Half-yearly refits with 70 rounds over the whole window: a tenth of the default budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date

import numpy as np
import polars as pl
import pytest

from remeasure.evaluate.walk_forward import folds
from remeasure.stats.auc import delong
from remeasure.stats.bootstrap import draw_blocks
from remeasure.studies.crypto.boosting import Examples, walk
from remeasure.studies.crypto.features import FEATURES, hourly_bars, pooled_features
from remeasure.studies.crypto.forecasts import examples, forecast
from remeasure.studies.crypto.leak_audit import (
    MEMORY,
    detector,
    later_rise,
    leak_suspected,
    shuffled,
)
from remeasure.studies.crypto.market import SyntheticCoin, simulate
from remeasure.studies.crypto.settings import (
    BoostingSettings,
    LeakAuditSettings,
    WalkForwardSettings,
)
from remeasure.studies.crypto.trading import mean_moves, strategies

pytestmark = pytest.mark.slow

COINS = ("BTCUSDT", "ETHUSDT", "SOLUSDT")
FIRST, LAST = date(2021, 1, 1), date(2026, 10, 29)
TESTED = date(2022, 1, 1)
SEED = 7
#: Three standard errors of a hit rate over 42,142 hours.
THREE_SE = 3 * math.sqrt(0.25 / 42142)

BOOSTING = BoostingSettings(
    rounds=70,
    learning_rate=0.06,
    num_leaves=15,
    max_depth=4,
    min_data_in_leaf=400,
    feature_fraction=0.8,
    bagging_fraction=0.8,
    lambda_l2=1,
    max_bin=255,
)
HALF_YEARLY = folds("2022-01", "2026-10", gap_hours=24, refit_months=6)
AUDIT = LeakAuditSettings(
    interval="5m",
    skip_bars=1,
    folds=5,
    target_hours=24,
    walk_forward=WalkForwardSettings(
        first_test="2022-01",
        last_test="2026-10",
        gap_hours=24,
        refit_months=6,
        boosting=BOOSTING,
    ),
)


@dataclass(frozen=True)
class World:
    """Truth, hours, feature rows, and feature rows that know nothing of the last five minutes."""

    truth: dict[str, SyntheticCoin]
    bars: dict[str, pl.DataFrame]
    features: pl.DataFrame
    early: pl.DataFrame


def world(beta: float) -> World:
    truth = simulate(COINS, FIRST, LAST, seed=SEED, beta=beta)
    candles = {symbol: pl.DataFrame(vars(coin.traded())) for symbol, coin in truth.items()}
    bars, early = (
        {
            symbol: hourly_bars(frame, interval="5m", first=FIRST, last=LAST, skip_bars=skip)
            for symbol, frame in candles.items()
        }
        for skip in (0, 1)
    )
    return World(
        truth, bars, pooled_features(bars, COINS), pooled_features(early, COINS, targets=bars)
    )


@dataclass(frozen=True)
class Walked:
    """Forecasts of a pooled walk, and the gain of each feature over its refits."""

    table: pl.DataFrame
    gain: dict[str, float]

    def coin(self, symbol: str) -> pl.DataFrame:
        return self.table.filter(pl.col("symbol") == symbol)

    def hit(self, symbol: str) -> float:
        own = self.coin(symbol)
        return float(((own["p"] > 0.5) == own["up"]).mean())  # type: ignore[arg-type]


def walked(features: pl.DataFrame) -> Walked:
    refits = list(walk(examples(features), HALF_YEARLY, BOOSTING))
    gains = sum(refit.booster.feature_importance("gain") for refit in refits)
    return Walked(
        forecast(features, refits), dict(zip(FEATURES, np.asarray(gains).tolist(), strict=True))
    )


@pytest.fixture(scope="module")
def planted() -> World:
    return world(0.40)


@pytest.fixture(scope="module")
def barren() -> World:
    return world(0.0)


@pytest.fixture(scope="module")
def found(planted: World) -> Walked:
    return walked(planted.features)


def test_the_planted_edge_is_found(planted: World, found: Walked) -> None:
    """G2: most of what can be known is learnt, never more, and from the right features."""
    for symbol, coin in planted.truth.items():
        bayes = coin.bayes_hit_rate(TESTED, LAST)
        assert found.coin(symbol).height == 42142
        assert 0.5 + 0.6 * (bayes - 0.5) <= found.hit(symbol) <= bayes + THREE_SE
        assert delong(found.coin(symbol)["p"], found.coin(symbol)["up"]).value > 0.53
    assert max(found.gain, key=found.gain.__getitem__) in ("ret_1", "ret_2")


def test_nothing_is_found_where_nothing_is_planted(barren: World) -> None:
    """G3."""
    nothing = walked(barren.features)
    for symbol in COINS:
        assert abs(nothing.hit(symbol) - 0.5) < THREE_SE
    assert 0.49 < delong(nothing.table["p"], nothing.table["up"]).value < 0.51


def test_the_detector_sees_shuffling(barren: World) -> None:
    """G4: overlapping targets let shuffled folds look ahead; a walk, or a short target, do not."""
    bitcoin = barren.features.filter(pl.col("symbol") == "BTCUSDT")
    bars = barren.bars["BTCUSDT"]
    seen = detector(bitcoin, bars, AUDIT, 24)
    assert seen.shuffled >= 0.60
    assert abs(seen.walk_forward - 0.5) < 0.03
    assert seen.suspected

    memory = BOOSTING.model_copy(update=dict(MEMORY))
    hourly = later_rise(bitcoin, bars, 1)
    rate = float(shuffled(examples(hourly, 1), 5, memory).mean())
    assert abs(rate - 0.5) < 0.01
    assert not leak_suspected(rate, 0.5, hours=hourly.height)


def leaked(world: World, column: str, value: pl.Expr) -> float:
    """BTC's hit rate in 2024 when one feature is exchanged for something of the next hour."""
    hours = world.bars["BTCUSDT"].select(pl.col("hour").alias("known_hour"), value.alias(column))
    features = (
        world.features.filter(pl.col("symbol") == "BTCUSDT")
        .drop(column)
        .join(hours, on="known_hour", how="left", maintain_order="left")
    )
    data: Examples = examples(features)
    (refit,) = walk(data, folds("2024-01", "2024-12", gap_hours=24, refit_months=12), BOOSTING)
    return float(((refit.probability > 0.5) == data.up[refit.rows]).mean())


def test_a_feature_from_the_future_shows(planted: World) -> None:
    """G5: the next hour's high gives the sign away; its range carries none."""
    ahead = pl.col("high").shift(-1)
    high = (ahead / pl.col("close")).log()
    assert leaked(planted, "taker_1", high) > 0.7
    wide = (ahead / pl.col("low").shift(-1)).log()
    assert leaked(planted, "taker_1", wide) < 0.57


def test_the_edge_survives_without_the_last_five_minutes(planted: World, found: Walked) -> None:
    """G6."""
    early = walked(planted.early)
    for symbol in COINS:
        assert early.coin(symbol)["up"].equals(found.coin(symbol)["up"])
        assert early.hit(symbol) - 0.5 >= 0.5 * (found.hit(symbol) - 0.5)


def test_right_moves_are_smaller(found: Walked) -> None:
    """G7: the reversal is planted in small moves, so a hit rate overstates profit."""
    own = found.coin("BTCUSDT")
    starts = draw_blocks(own.height, 24, 200, np.random.default_rng(0))
    moves = mean_moves(own, "BTC", 24, starts)
    assert moves["outcome"].to_list() == ["right", "wrong"]
    right, wrong = moves["move_bp"].to_list()
    assert right < wrong


def test_fees_take_the_edge(found: Walked) -> None:
    """G8: gross profit, and a loss at 5 bp a side."""
    own = found.coin("BTCUSDT")
    starts = draw_blocks(own.height, 24, 200, np.random.default_rng(0))
    (plain,) = strategies(own, [0.0], 24, starts)
    assert plain.return_per_year(0).value > 0
    assert plain.return_per_year(5).value < 0
    assert 14 < plain.sides_per_day().value < 20
