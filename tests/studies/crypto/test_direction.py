"""Scores of the direction forecasts, on forecasts whose skill is known."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.stats
import sklearn.metrics

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.ledger.verdict import agrees
from remeasure.store.frames import read_frame, write_frame, write_json
from remeasure.studies.crypto.direction import (
    HEADLINE,
    OUTPUTS,
    SCORES,
    DirectionStep,
    hits,
    measure_direction,
    score,
)
from remeasure.studies.crypto.forecasts import FORECASTS
from remeasure.studies.crypto.published import measurable, rows, walked_coverage
from remeasure.studies.crypto.settings import (
    BoostingSettings,
    Dataset,
    DirectionSettings,
    WalkForwardSettings,
)

COINS = ("BTCUSDT", "ETHUSDT", "SOLUSDT")
#: Right this often by construction.
SKILL = {"BTCUSDT": 0.54, "ETHUSDT": 0.50, "SOLUSDT": 0.60}
HOURS = 6000

BOOSTING = BoostingSettings(
    rounds=1,
    learning_rate=0.1,
    num_leaves=4,
    max_depth=2,
    min_data_in_leaf=1,
    feature_fraction=1,
    bagging_fraction=1,
    lambda_l2=0,
    max_bin=255,
)
WALK = WalkForwardSettings(
    first_test="2022-01", last_test="2026-10", gap_hours=24, refit_months=1, boosting=BOOSTING
)
CANDLES = Dataset(coins=COINS, first=date(2021, 1, 1), last=date(2026, 10, 29))
STEP = DirectionStep(
    direction=DirectionSettings(block_hours=24, resamples=300),
    coins=COINS,
    base="5m",
    candles=CANDLES,
    walk_forward=WALK,
)


def forecasts(symbol: str, seed: int = 4) -> pl.DataFrame:
    """Forecasts that are right with a known probability; returns with lag-one correlation -0.1."""
    rng = np.random.default_rng([seed, COINS.index(symbol)])
    noise = rng.normal(size=HOURS + 1)
    returns = 0.01 * (noise[1:] - 0.1 * noise[:-1])
    up = returns > 0
    right = rng.random(HOURS) < SKILL[symbol]
    said_up = np.where(right, up, ~up)
    p = np.where(said_up, 0.5 + 0.1 * rng.random(HOURS), 0.5 - 0.1 * rng.random(HOURS))
    start = np.datetime64("2022-01-01", "us")
    hour = start + np.arange(HOURS) * np.timedelta64(1, "h")
    return pl.DataFrame(
        {
            "symbol": [symbol] * HOURS,
            "target_hour": hour,
            "p": p,
            "ret_next": returns,
            "up": up,
            "ret_1": np.concatenate([[0.0], returns[:-1]]),
            "refit": ["2022-01"] * HOURS,
        }
    )


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.DataFrame, list[Measurement]]:
    folder = tmp_path_factory.mktemp("direction")
    path, scores = folder / "forecasts.parquet", folder / "scores.parquet"
    write_frame(pl.concat([forecasts(symbol) for symbol in COINS]), path, FORECASTS)
    answers = measure_direction(
        forecasts=path, scores=scores, settings=STEP, rng=np.random.default_rng(2)
    )
    return read_frame(scores, SCORES), answers


def test_scores_are_the_definitions(scored: tuple[pl.DataFrame, list[Measurement]]) -> None:
    table, _ = scored
    assert table["coin"].to_list() == ["BTC", "ETH", "SOL"]
    for symbol, row in zip(COINS, table.iter_rows(named=True), strict=True):
        own = forecasts(symbol)
        right = sum((p > 0.5) == up for p, up in own.select("p", "up").iter_rows())
        assert row["hit_rate"] == right / HOURS
        assert row["up_rate"] == pytest.approx(own["up"].mean(), rel=1e-12)
        assert row["auc"] == pytest.approx(
            sklearn.metrics.roc_auc_score(own["up"], own["p"]), abs=1e-12
        )
        expected = scipy.stats.spearmanr(own["ret_1"], own["ret_next"]).statistic
        assert row["rank_correlation"] == pytest.approx(expected, abs=1e-12)
        assert row["binomial_se"] == math.sqrt(row["hit_rate"] * (1 - row["hit_rate"]) / HOURS)
        # The hits are independent here, so blocks do not change the error.
        assert row["hit_se"] == pytest.approx(row["binomial_se"], rel=0.2)
        for name in ("hit", "up", "auc", "rank"):
            value = {
                "hit": "hit_rate",
                "up": "up_rate",
                "auc": "auc",
                "rank": "rank_correlation",
            }[name]
            assert row[f"{name}_low"] < row[value] < row[f"{name}_high"]


def test_intervals_hold_the_planted_skill() -> None:
    """Over 60 worlds the 95% interval misses the known skill a few times, not never, not often."""
    settings = DirectionSettings(block_hours=24, resamples=200)
    inside = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        row = score(forecasts("BTCUSDT", seed), "BTC", settings, rng).row(0, named=True)
        inside += row["hit_low"] <= SKILL["BTCUSDT"] <= row["hit_high"]
    assert 51 <= inside <= 60


def test_unchanged_price_is_not_up() -> None:
    table = pl.DataFrame({"p": [0.6, 0.4, 0.5], "up": [False, False, False]})
    assert hits(table).tolist() == [False, True, True]


def test_every_row_has_one_answer(scored: tuple[pl.DataFrame, list[Measurement]]) -> None:
    _, answers = scored
    keys = [(a.output_id, a.quantity, a.condition) for a in answers]
    assert keys == [*(row.key for row in measurable(OUTPUTS)), HEADLINE]
    assert HEADLINE in rows()
    for answer in answers:
        assert answer.value is not None
        assert answer.coverage == WHOLE


def test_printed_standard_error(scored: tuple[pl.DataFrame, list[Measurement]]) -> None:
    _, answers = scored
    (row,) = [row for row in measurable(OUTPUTS) if row.kind == "exact"]
    (answer,) = [a for a in answers if a.condition == row.condition]
    assert isinstance(answer.value, float)
    assert agrees(row, answer.value)
    # The other printed error, a quarter of a point, is no rounding of it: 0.24.
    other = rows()["tab_direction", "standard error of hit rate", "printed, BTC"]
    assert not agrees(other, answer.value)


def test_missing_coins_are_not_run(tmp_path: Path) -> None:
    path = tmp_path / "forecasts.parquet"
    write_frame(forecasts("ETHUSDT"), path, FORECASTS)
    answers = measure_direction(
        forecasts=path,
        scores=tmp_path / "scores.parquet",
        settings=STEP,
        rng=np.random.default_rng(2),
    )
    values = {(a.quantity, a.condition): a for a in answers}
    assert values["hit rate", "ETH"].value is not None
    assert values["hit rate", "BTC"].value is None
    assert values["hit rate", "BTC next hour"].value is None
    assert "no hour of this coin" in values["ROC AUC", "BTC"].note
    assert len(answers) == len(measurable(OUTPUTS)) + 1


def test_the_best_possible_rate_is_told_not_judged(tmp_path: Path) -> None:
    path, truth = tmp_path / "forecasts.parquet", tmp_path / "truth.json"
    write_frame(forecasts("BTCUSDT"), path, FORECASTS)
    rates = {"BTCUSDT": {"bayes_hit_rate": {"from_first_test": 0.5416}}}
    rates["ETHUSDT"] = {"bayes_hit_rate": {"from_first_test": None}}  # type: ignore[dict-item]
    write_json({"coins": rates}, truth)
    answers = measure_direction(
        forecasts=path,
        scores=tmp_path / "scores.parquet",
        settings=STEP,
        rng=np.random.default_rng(2),
        truth=truth,
    )
    (rate,) = [a for a in answers if (a.quantity, a.condition) == ("hit rate", "BTC")]
    assert "54.16%" in rate.note
    assert rate.truth is None


@pytest.mark.parametrize(
    ("change", "candles", "base", "coins", "words"),
    [
        ({}, {}, "5m", COINS, WHOLE),
        ({}, {}, "1h", COINS, "hours rebuilt from 1h"),
        (
            {"first_test": "2023-01", "last_test": "2025-12"},
            {"first": date(2022, 1, 1), "last": date(2025, 12, 31)},
            "1h",
            COINS,
            "candles 2023-01-01 to 2025-12-31 of 2022-01-01 to 2026-10-29, hours rebuilt from 1h,"
            " trained from 2022-01-01, not 2021-01-01",
        ),
        ({"refit_months": 6}, {}, "5m", COINS, "refitted every 6 months, not every month"),
        ({}, {}, "5m", COINS[:2], "pooled over BTC, ETH"),
    ],
)
def test_coverage_says_what_is_missing(
    change: dict[str, object],
    candles: dict[str, object],
    base: str,
    coins: tuple[str, ...],
    words: str,
) -> None:
    walk = WALK.model_copy(update=change)
    data = CANDLES.model_copy(update=candles)
    assert walked_coverage(walk, data, base, coins) == words  # type: ignore[arg-type]
