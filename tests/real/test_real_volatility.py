"""Volatility on real candles: five-minute tables of two coins, and the crash in quarter hours.

The tables of five-minute candles reach from August 2022 to September 2024. The numbers that
they must give were computed beforehand with code of other hands.
"""

from __future__ import annotations

import os
from datetime import date, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from answers import answer
from remeasure.studies.crypto.crash import CrashStep, measure_crash
from remeasure.studies.crypto.days import read_days
from remeasure.studies.crypto.fetching import FetchStep, fetch_candles
from remeasure.studies.crypto.settings import Dataset, Hole
from remeasure.studies.crypto.sources import CandlesStep, parse_candles
from remeasure.studies.crypto.targeting import (
    TargetingSettings,
    TargetingStep,
    measure_targeting,
)
from remeasure.studies.crypto.volatility import (
    VolatilitySettings,
    VolatilityStep,
    measure_volatility,
)

SHARED = Path(__file__).parents[2] / ".." / "shared"
FILES = Path(os.environ.get("REMEASURE_FILES", SHARED / "data"))
MIRROR = Path(os.environ.get("REMEASURE_MIRROR", SHARED / "mirror"))
TABLES = FILES / "crypto_5m_spot"
QUARTERS = MIRROR / "data.binance.vision/data/spot/monthly/klines/BTCUSDT/15m"

COINS = ("BTCUSDT", "ETHUSDT")
OWN = Dataset(coins=COINS, first=date(2022, 8, 1), last=date(2024, 9, 23))
#: The last candle of 2023-12-30 and the whole day after it are missing.
HOLE = Hole(missing_from=datetime(2023, 12, 30, 23, 55), back_at=datetime(2024, 1, 1))
TESTED = {"first_test": "2023-02", "last_test": "2024-09"}

pytestmark = pytest.mark.real
own_tables = pytest.mark.skipif(
    not TABLES.is_dir(), reason=f"no five-minute tables at {TABLES} (set REMEASURE_FILES)"
)
quarter_hours = pytest.mark.skipif(
    not QUARTERS.is_dir(), reason=f"no quarter hours at {QUARTERS} (set REMEASURE_MIRROR)"
)


@pytest.fixture(scope="module")
def candles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    files = {symbol: str(TABLES / f"{symbol}_5m.parquet") for symbol in COINS}
    own = {"interval": "5m", "dataset": OWN, "files": files}
    fetch_candles(
        manifest=folder / "m.json", settings=FetchStep.model_validate({**own, "origin": "files"})
    )
    parse_candles(
        manifest=folder / "m.json",
        candles=folder / "candles.duckdb",
        settings=CandlesStep.model_validate({**own, "known_holes": (HOLE,)}),
    )
    return folder / "candles.duckdb"


@own_tables
def test_log_variance_can_be_forecast_and_returns_cannot(candles: Path, tmp_path: Path) -> None:
    days, scores = tmp_path / "days.parquet", tmp_path / "scores.parquet"
    measured = measure_volatility(
        candles=candles,
        days=days,
        scores=scores,
        settings=VolatilityStep(
            coins=COINS,
            base="5m",
            candles=OWN,
            volatility=VolatilitySettings(block_days=60, resamples=200),
            **TESTED,
        ),
        rng=np.random.default_rng(0),
    )
    for coin, expected in (("BTC", 0.34), ("ETH", 0.43)):
        variance = answer(measured, "out-of-sample R2 of log variance, HAR", coin)
        assert variance.value == pytest.approx(expected, abs=0.03)
        returns = answer(measured, "out-of-sample R2 of daily returns, same regression", coin)
        assert returns.value == pytest.approx(0, abs=0.01)
        # 601 days from February 2023 on; the missing day costs its own and those whose
        # month would contain it.
        assert variance.n == 601 - 1 - 30
    assert answer(measured, "out-of-sample R2 of log variance, HAR", "SOL").value is None
    targeted = measure_targeting(
        days=days,
        curves=tmp_path / "curves.parquet",
        targeting=tmp_path / "targeting.parquet",
        settings=TargetingStep(
            coins=COINS,
            base="5m",
            candles=OWN,
            targeting=TargetingSettings(target=0.5, caps=(1, 2), block_days=30, resamples=200),
            **TESTED,
        ),
        rng=np.random.default_rng(0),
    )
    sized = pl.read_parquet(tmp_path / "targeting.parquet")
    plain = sized.filter(pl.col("position") == "sized")
    # Sizing overshoots: the forecast is a median, and the mean variance lies above it.
    mean = sized.filter(pl.col("position") == "sized by the mean variance")
    assert plain["volatility"].is_between(0.5, 0.65).all()
    assert (mean["volatility"] < plain["volatility"]).all()
    assert answer(targeted, "Sharpe", "BTC held").n == 570


@own_tables
def test_days_have_288_returns_but_for_the_halt_and_the_hole(candles: Path) -> None:
    for symbol in COINS:
        days = read_days(candles, symbol, "5m", OWN)
        odd = {str(day): int(n) for day, n in zip(days.day, days.count, strict=True) if n != 288}
        assert odd == {
            "2022-08-01": 287,  # nothing before the first candle
            "2023-03-24": 271,  # sixteen candles lost, and the return over the gap
            "2023-12-30": 287,
            "2023-12-31": 0,
            "2024-01-01": 287,
        }


@quarter_hours
def test_the_crash_in_quarter_hours(tmp_path: Path) -> None:
    coins = (*COINS, "SOLUSDT")
    dataset = Dataset(coins=coins, first=date(2025, 10, 1), last=date(2025, 10, 31))
    own = {"interval": "15m", "dataset": dataset}
    fetch = FetchStep.model_validate({**own, "origin": "mirror", "mirror": str(MIRROR)})
    fetch_candles(manifest=tmp_path / "m.json", settings=fetch)
    parsed = tmp_path / "candles.duckdb"
    parse_candles(
        manifest=tmp_path / "m.json", candles=parsed, settings=CandlesStep.model_validate(own)
    )
    measured = measure_crash(
        candles=[parsed],
        crash=tmp_path / "crash.parquet",
        settings=CrashStep(coins=coins, intervals=("15m",)),
        origin="mirror",
    )
    # The publication measured on shorter candles; how, it does not say.
    for coin, printed in (("BTC", 12.6), ("ETH", 14.1), ("SOL", 17.8)):
        each = answer(measured, "fall within 80 minutes, 2025-10-10", coin)
        assert each.value == pytest.approx(printed, abs=1)
        assert "20:30 to 21:30 UTC" in each.note
        assert each.coverage == "windows of 75 minutes, of 15m candles"
