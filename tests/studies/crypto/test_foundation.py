"""Scores of ready-made models on forecasts whose skill is known, and every row answered."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from answers import answer, answered, printed_rows
from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.stats.har import r_squared
from remeasure.store.frames import read_frame, write_frame
from remeasure.studies.crypto import foundation_table, volatility
from remeasure.studies.crypto.forecasts import FORECASTS
from remeasure.studies.crypto.foundation import (
    OUTPUTS,
    R2,
    RATES,
    SCORES,
    FoundationStep,
    measure_foundation,
)
from remeasure.studies.crypto.foundation_table import CHRONOS, KRONOS, sized
from remeasure.studies.crypto.settings import Dataset

COINS = ("BTCUSDT", "ETHUSDT", "SOLUSDT")
FIRST, LAST = date(2026, 1, 1), date(2026, 10, 29)
HOURS = 7248
DAYS = 302
CANDLES = Dataset(coins=COINS, first=date(2021, 1, 1), last=LAST)
RATE = "hit rate 2026"

BOOSTING = {
    "rounds": 1, "learning_rate": 0.1, "num_leaves": 4, "max_depth": 2, "min_data_in_leaf": 1,
    "feature_fraction": 1, "bagging_fraction": 1, "lambda_l2": 0, "max_bin": 255,
}  # fmt: skip

#: Right this often by construction.
TREES, CHRONOS_SKILL, KRONOS_SKILL = 0.55, 0.50, 0.70


def settings(**changes: Any) -> FoundationStep:
    return FoundationStep.model_validate(
        {
            "coins": COINS,
            "base": "5m",
            "candles": CANDLES,
            "walk_forward": {
                "first_test": "2022-01",
                "last_test": "2026-10",
                "gap_hours": 24,
                "refit_months": 1,
                "boosting": BOOSTING,
            },
            "first": FIRST,
            "last": LAST,
            "block_hours": 24,
            "block_days": 30,
            "resamples": 200,
            **changes,
        }
    )


@cache
def trees() -> pl.DataFrame:
    """Forecasts of 2026 and of the days around it, which do not count."""
    rng = np.random.default_rng(0)
    frames = []
    for symbol in COINS:
        count = HOURS + 96
        hour = np.datetime64("2025-12-30", "us") + np.arange(count) * np.timedelta64(1, "h")
        rose = rng.random(count) < 0.5
        said = np.where(rng.random(count) < TREES, rose, ~rose)
        inside = (hour >= np.datetime64(FIRST)) & (hour < np.datetime64("2026-10-30"))
        said = np.where(inside, said, ~rose)
        frames.append(
            pl.DataFrame(
                {
                    "symbol": [symbol] * count,
                    "target_hour": hour,
                    "p": np.where(said, 0.6, 0.4),
                    "ret_next": np.where(rose, 0.01, -0.01),
                    "up": rose,
                    "ret_1": np.zeros(count),
                    "refit": ["2025-12"] * count,
                }
            )
        )
    return pl.concat(frames)


def ready_made(model: str, skill: float, every: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    own = (
        trees()
        .filter(pl.col("target_hour") >= datetime(2026, 1, 1))
        .with_columns(coin=pl.col("symbol").str.strip_suffix("USDT"))
    )
    own = own.filter((pl.col("target_hour").dt.hour() % every) == 0)
    rose = own["up"].to_numpy()
    up = np.where(rng.random(own.height) < skill, rose, ~rose)
    return own.select(
        pl.lit(model).alias("model"),
        "coin",
        "target_hour",
        pl.Series("up", up),
        pl.Series("value", np.where(up, 0.1, -0.1)),
    )


@cache
def variances() -> pl.DataFrame:
    """Days of log variances that wander, and forecasts that miss them by a known noise."""
    rng = np.random.default_rng(9)
    count = 1000
    frames = []
    for coin in ("BTC", "ETH", "SOL"):
        logs = np.cumsum(rng.normal(size=count)) * 0.2 - 7
        frames.append(
            pl.DataFrame(
                {
                    "coin": [coin] * count,
                    "day": [LAST - timedelta(days=count - 1 - each) for each in range(count)],
                    "returns": [288] * count,
                    "variance": np.exp(logs),
                    "ret": np.zeros(count),
                    "log_forecast": logs + 0.3 * rng.normal(size=count),
                    "residual_sd": np.full(count, 0.3),
                    "ret_forecast": np.zeros(count),
                }
            )
        )
    # A day without a candle: it and the 512 days whose mean would hold it are not scored.
    lost = (pl.col("coin") == "SOL") & (pl.col("day") == date(2026, 6, 1))
    return pl.concat(frames).with_columns(
        pl.when(lost).then(None).otherwise("variance").alias("variance")
    )


def chronos_days(model: str = CHRONOS) -> pl.DataFrame:
    noise = np.random.default_rng(11).normal(size=3000)
    return (
        variances()
        .with_columns((pl.col("variance").log() + 0.6 * pl.Series(noise)).alias("value"))
        .drop_nulls("value")
        .filter(pl.col("day") >= FIRST)
        .select(pl.lit(model).alias("model"), "coin", "day", "value")
    )


def run(
    folder: Path, step: FoundationStep, *, chronos: str | None = CHRONOS, kronos: bool = True
) -> tuple[list[Measurement], pl.DataFrame, pl.DataFrame]:
    def written(frame: pl.DataFrame, name: str, schema: Any) -> Path:
        write_frame(frame, folder / name, schema)
        return folder / name

    hours, days = foundation_table.HOURS, foundation_table.DAYS
    by_hour = [] if chronos is None else [ready_made(chronos, CHRONOS_SKILL, 1, 5)]
    by_day = [] if chronos is None else [chronos_days(chronos)]
    candles = []
    if kronos:
        # The same forecasts again under the name of another way to make them.
        drawn = ready_made(KRONOS, KRONOS_SKILL, 4, 6)
        other = drawn.with_columns(pl.lit(f"{KRONOS}, likeliest tokens").alias("model"))
        candles = [pl.concat([drawn, other])]
    measured = measure_foundation(
        forecasts=written(trees(), "forecasts.parquet", FORECASTS),
        days=written(variances(), "days.parquet", volatility.DAYS),
        chronos_hours=[written(each, "ch.parquet", hours) for each in by_hour],
        chronos_days=[written(each, "cd.parquet", days) for each in by_day],
        kronos_hours=[written(each, "kh.parquet", hours) for each in candles],
        rates=folder / "rates.parquet",
        scores=folder / "scores.parquet",
        settings=step,
        rng=np.random.default_rng(2),
    )
    return (
        measured,
        read_frame(folder / "rates.parquet", RATES),
        read_frame(folder / "scores.parquet", SCORES),
    )


@pytest.fixture(scope="module")
def full(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[list[Measurement], pl.DataFrame, pl.DataFrame]:
    return run(tmp_path_factory.mktemp("full"), settings())


def test_every_row_is_answered_once(
    full: tuple[list[Measurement], pl.DataFrame, pl.DataFrame],
) -> None:
    measured, rates, scores = full
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    assert all(each.value is not None for each in measured)
    assert {each.coverage for each in measured if "SOL" not in each.condition} == {WHOLE}
    assert (rates.height, scores.height) == (12, 6)


def test_hit_rates_are_counts(full: tuple[list[Measurement], pl.DataFrame, pl.DataFrame]) -> None:
    measured, rates, _ = full
    rose = {
        (symbol[:3], hour): (up, p > 0.5)
        for symbol, hour, up, p in trees().select("symbol", "target_hour", "up", "p").iter_rows()
    }
    for model, count, skill, seed, every in (
        (CHRONOS, HOURS, CHRONOS_SKILL, 5, 1),
        (KRONOS, 1812, KRONOS_SKILL, 6, 4),
    ):
        table = ready_made(model, skill, every, seed)
        table = table.filter(pl.col("target_hour") < datetime(2026, 10, 30))
        for coin in ("BTC", "ETH", "SOL"):
            own = table.filter(pl.col("coin") == coin).select("target_hour", "up").rows()
            assert len(own) == count
            right = sum(up == rose[coin, hour][0] for hour, up in own)
            beside = sum(rose[coin, hour][1] == rose[coin, hour][0] for hour, _ in own)
            found = answer(measured, RATE, f"{coin} {model}")
            assert found.value == pytest.approx(100 * right / count, rel=1e-12)
            assert found.low < found.value < found.high
            assert found.n == count
            row = rates.row(
                by_predicate=(pl.col("model") == model) & (pl.col("coin") == coin), named=True
            )
            assert row["lead"] == pytest.approx((right - beside) / count, abs=1e-12)
            assert row["se"] == math.sqrt(right / count * (1 - right / count) / count)
            # Hits of the two are independent here: so are their errors.
            apart = math.sqrt(row["se"] ** 2 + TREES * (1 - TREES) / count)
            assert row["lead_se"] == pytest.approx(apart, rel=0.25)
    lowest = min(rates.filter(pl.col("model") == CHRONOS)["up_share"])
    assert answer(measured, "share of up forecasts, low").value == pytest.approx(100 * lowest)
    assert "not more than two standard errors" in answer(measured, f"BTC {CHRONOS}", RATE).note
    note = answer(measured, f"BTC {KRONOS}", RATE).note
    assert "same hours: more than two standard errors better" in note
    assert re.search(r"better; likeliest tokens \d\d\.\d\d% of 1812 hours$", note)
    tree = answer(measured, RATE, "BTC LightGBM")
    assert tree.n == HOURS
    assert tree.value == pytest.approx(100 * TREES, abs=3 * 0.59)


def test_r2_against_the_days_before(
    full: tuple[list[Measurement], pl.DataFrame, pl.DataFrame],
) -> None:
    measured, _, scores = full
    table, ready = variances(), chronos_days()
    for coin in ("BTC", "ETH"):
        own = table.filter(pl.col("coin") == coin)
        y = own["variance"].log().to_numpy()
        level = np.array([y[end - 512 : end].mean() for end in range(1000 - DAYS, 1000)])
        for model, forecast in (
            ("HAR", own["log_forecast"].to_numpy()[-DAYS:]),
            (CHRONOS, ready.filter(pl.col("coin") == coin)["value"].to_numpy()),
        ):
            found = answer(measured, R2, f"{coin} {model}")
            assert found.value == pytest.approx(r_squared(y[-DAYS:], forecast, level), rel=1e-9)
            assert found.low < found.value < found.high
            assert found.n == DAYS
    cut = scores.filter(pl.col("coin") == "SOL")
    assert cut["days"].to_list() == [(date(2026, 6, 1) - FIRST).days] * 2
    assert cut["last"].to_list() == [date(2026, 5, 31)] * 2
    assert "2026-05-31" in answer(measured, R2, "SOL HAR").coverage


def test_arithmetic(full: tuple[list[Measurement], pl.DataFrame, pl.DataFrame]) -> None:
    measured = full[0]
    assert answer(measured, "n=1812").value == pytest.approx(50 / math.sqrt(1812), rel=1e-12)
    assert answer(measured, "n=7248").value == pytest.approx(0.587, abs=5e-4)
    counts = [answer(measured, "parameters", each).value for each in (
        CHRONOS, KRONOS, "Kronos-Tokenizer-base"
    )]  # fmt: skip
    assert counts == [119_477_664, 24_741_376, 3_958_042]


def test_without_checkpoints_the_models_of_the_task_are_measured(tmp_path: Path) -> None:
    measured, rates, scores = run(tmp_path, settings(), chronos=None, kronos=False)
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    assert rates["model"].unique().to_list() == ["LightGBM"]
    assert scores["model"].unique().to_list() == ["HAR"]
    found = answer(measured, RATE, f"BTC {KRONOS}")
    assert (found.value, found.note) == (
        None,
        "this run has no checkpoint of Kronos-small (NeoQuasar/Kronos-small)",
    )
    for key in ((RATE, "SOL Chronos-2"), (R2, "BTC Chronos-2"), ("share of up forecasts, low",)):
        assert "no checkpoint of Chronos-2 (amazon/chronos-2)" in answer(measured, *key).note
    assert answer(measured, R2, "ETH HAR").value is not None


def test_other_weights_hours_and_windows_are_named(tmp_path: Path) -> None:
    window = Dataset(coins=COINS, first=date(2023, 1, 1), last=LAST)
    step = settings(candles=window, base="1h")
    measured, rates, _ = run(tmp_path, step, chronos=sized(CHRONOS, 1234, 119_477_664))
    assert "Chronos-2 of 1,234 parameters" in rates["model"].to_list()
    for key in ((RATE, "BTC Chronos-2"), (R2, "BTC Chronos-2"), ("share of up forecasts, high",)):
        found = answer(measured, *key)
        assert found.value is not None
        assert "not the published ones: Chronos-2 of 1,234 parameters" in found.coverage
    tree = answer(measured, RATE, "BTC LightGBM").coverage
    assert tree == "hours rebuilt from 1h, trained from 2023-01-01, not 2021-01-01"
    har = answer(measured, R2, "BTC HAR").coverage
    assert har == "daily variances rebuilt from 1h, fitted on days from 2023-01-01, not 2021-01-01"


def test_part_of_the_hours(tmp_path: Path) -> None:
    half = settings(last=date(2026, 6, 30), coins=("BTCUSDT",))
    measured, *_ = run(tmp_path, half)
    found = answer(measured, RATE, "BTC Chronos-2")
    assert found.coverage == (
        "candles 2026-01-01 to 2026-06-30 of 2026-01-01 to 2026-10-29, 4344 hours instead of 7248"
    )
    assert answer(measured, "share of up forecasts, low").coverage.endswith("without ETH, SOL")
    assert "forecasts too little of this coin" in answer(measured, RATE, "ETH LightGBM").note


def test_a_window_without_the_period_is_not_run(tmp_path: Path) -> None:
    early = Dataset(coins=COINS, first=date(2021, 1, 1), last=date(2024, 12, 31))
    step = settings(candles=early, first=date(2027, 1, 1), last=date(2027, 2, 1))
    measured, rates, scores = run(tmp_path, step)
    assert (rates.height, scores.height) == (0, 0)
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    assert "lies outside this run's candles" in answer(measured, RATE, "BTC LightGBM").note


def test_same_bytes_twice(
    full: tuple[list[Measurement], pl.DataFrame, pl.DataFrame], tmp_path: Path
) -> None:
    (tmp_path / "again").mkdir()
    measured, rates, scores = run(tmp_path / "again", settings())
    assert measured == full[0]
    assert rates.equals(full[1])
    assert scores.equals(full[2])
