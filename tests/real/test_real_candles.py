"""The real archive through the real steps: hours rebuilt from shorter candles equal its own."""

from __future__ import annotations

import os
from datetime import date, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from remeasure.errors import DataError
from remeasure.fetch.manifest import Manifest
from remeasure.studies.crypto.features import (
    HoursStep,
    build_hours,
    hourly_bars,
    read_features,
    read_hours,
)
from remeasure.studies.crypto.fetching import FetchStep, fetch_candles
from remeasure.studies.crypto.settings import Dataset
from remeasure.studies.crypto.sources import (
    CandlesStep,
    Hole,
    parse_candles,
    read_candles,
    read_coins,
)

MIRROR = Path(
    os.environ.get("REMEASURE_MIRROR", Path(__file__).parents[2] / ".." / "shared" / "mirror")
)
KLINES = MIRROR / "data.binance.vision" / "data" / "spot" / "monthly" / "klines"
TABLES = MIRROR.parent / "data" / "crypto_5m_spot"

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not KLINES.is_dir(),
        reason=f"no folder of real data at {MIRROR} (set REMEASURE_MIRROR)",
    ),
]

COINS = ("BTCUSDT", "ETHUSDT", "SOLUSDT")
PRICES = ["open", "high", "low", "close"]
VOLUMES = ["volume", "quote_volume", "taker_buy_volume"]
YEARS = Dataset(coins=COINS, first=date(2022, 1, 1), last=date(2025, 12, 31))


def parsed(folder: Path, interval: str, dataset: Dataset) -> Path:
    listed, candles = folder / f"{interval}.manifest.json", folder / f"{interval}.duckdb"
    fetch = {"interval": interval, "dataset": dataset, "origin": "mirror", "mirror": str(MIRROR)}
    fetch_candles(manifest=listed, settings=FetchStep.model_validate(fetch))
    wanted = CandlesStep.model_validate({"interval": interval, "dataset": dataset})
    parse_candles(manifest=listed, candles=candles, settings=wanted)
    return candles


@pytest.fixture(scope="module")
def hourly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return parsed(tmp_path_factory.mktemp("hourly"), "1h", YEARS)


def same(rebuilt: pl.DataFrame, archive: pl.DataFrame, volumes: list[str]) -> None:
    """Prices equal to the last bit, volumes to 1e-8, trades exactly."""
    assert rebuilt["hour"].to_list() == archive["open_time"].to_list()
    assert rebuilt.select(PRICES).equals(archive.select(PRICES))
    for name in volumes:
        assert np.allclose(rebuilt[name].to_numpy(), archive[name].to_numpy(), rtol=1e-8, atol=0)


def test_hours_from_quarter_hours_equal_the_archive(tmp_path: Path, hourly: Path) -> None:
    year = Dataset(coins=COINS, first=date(2025, 1, 1), last=date(2025, 12, 31))
    quarters = parsed(tmp_path, "15m", year)
    for symbol in COINS:
        candles = read_candles(quarters, symbol)
        assert candles.height == 365 * 96
        rebuilt = hourly_bars(candles, interval="15m", first=year.first, last=year.last)
        archive = read_candles(hourly, symbol).filter(pl.col("open_time") >= datetime(2025, 1, 1))
        assert rebuilt["candles"].to_list() == [4] * 8760
        same(rebuilt, archive, VOLUMES)
        assert rebuilt["trades"].equals(archive["trades"])


def test_the_hourly_archive_has_one_hole_that_costs_170_rows(tmp_path: Path, hourly: Path) -> None:
    hours = tmp_path / "hours.duckdb"
    wanted = HoursStep(interval="1h", dataset=YEARS, coins=COINS)
    build_hours(candles=hourly, hours=hours, settings=wanted)
    for symbol in COINS:
        bars = read_hours(hours, symbol)
        assert bars.height == 1461 * 24
        lost = bars.filter(pl.col("close").is_null())["hour"].to_list()
        assert lost == [datetime(2023, 3, 24, 13)]
    rows = read_features(hours, COINS)
    assert rows.group_by("symbol", maintain_order=True).len()["len"].to_list() == [
        1461 * 24 - 169 - 170
    ] * len(COINS)


def test_days_of_eight_years_are_read_with_the_one_that_was_cut_short(tmp_path: Path) -> None:
    dataset = Dataset(coins=("BTCUSDT", "ETHUSDT"), first=date(2018, 1, 1), last=date(2025, 12, 31))
    days = parsed(tmp_path, "1d", dataset)
    for symbol in dataset.coins:
        assert read_candles(days, symbol).height == 2922


def own_tables(folder: Path) -> tuple[Manifest, Dataset, dict[str, str]]:
    """Five-minute candles of another origin: Parquet, prices and volume alone."""
    dataset = Dataset(coins=COINS[:2], first=date(2022, 8, 1), last=date(2024, 9, 23))
    files = {symbol: str(TABLES / f"{symbol}_5m.parquet") for symbol in dataset.coins}
    wanted = {"interval": "5m", "dataset": dataset, "origin": "files", "files": files}
    fetch_candles(manifest=folder / "m.json", settings=FetchStep.model_validate(wanted))
    return Manifest.read(folder / "m.json"), dataset, files


@pytest.mark.skipif(not TABLES.is_dir(), reason=f"no folder {TABLES}")
def test_hours_from_own_five_minute_tables_equal_the_archive(tmp_path: Path, hourly: Path) -> None:
    manifest, dataset, files = own_tables(tmp_path)
    hole = Hole(missing_from=datetime(2023, 12, 30, 23, 55), back_at=datetime(2024, 1, 1))
    settings = CandlesStep(interval="5m", dataset=dataset, files=files, known_holes=(hole,))
    for symbol, candles in read_coins(manifest, settings):
        rebuilt = hourly_bars(candles, interval="5m", first=dataset.first, last=dataset.last)
        lost = rebuilt.filter(pl.col("candles") == 0)["hour"].to_list()
        assert lost[0] == datetime(2023, 3, 24, 13)
        assert lost[1:] == [datetime(2023, 12, 31, hour) for hour in range(24)]
        whole = rebuilt.filter(pl.col("candles") == 12)
        archive = read_candles(hourly, symbol).filter(
            pl.col("open_time").is_in(whole["hour"].implode())
        )
        assert whole.height == 785 * 24 - 25 - 2  # two hours lost some of their candles
        same(whole, archive, ["volume"])
        # No hour of these two coins moved by a tenth: a wrong close would.
        assert np.nanmax(rebuilt["rv"].to_numpy()) < 0.1**2


@pytest.mark.skipif(not TABLES.is_dir(), reason=f"no folder {TABLES}")
def test_the_hole_of_the_own_tables_must_be_listed(tmp_path: Path) -> None:
    manifest, dataset, files = own_tables(tmp_path)
    settings = CandlesStep(interval="5m", dataset=dataset, files=files)
    with pytest.raises(DataError, match=r"lacks 289 candles[^§]*2023-12-30 23:55"):
        list(read_coins(manifest, settings))
