"""The published shares of continuing hours, on the exchange's own candles of 2022 to 2025."""

from __future__ import annotations

import csv
import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from answers import answer
from candle_tables import Series, write_hours
from remeasure.studies.crypto.autocorrelation import AutocorrelationStep, measure_autocorrelation
from remeasure.studies.crypto.breakeven import BreakevenStep, measure_breakeven
from remeasure.studies.crypto.reversal import (
    SHARE,
    ReversalStep,
    continuations,
    measure_reversal,
)
from remeasure.studies.crypto.settings import (
    AutocorrelationSettings,
    BreakevenSettings,
    TailsSettings,
)
from remeasure.studies.crypto.tails import TailsStep, measure_tails

MIRROR = Path(
    os.environ.get("REMEASURE_MIRROR", Path(__file__).parents[2] / ".." / "shared" / "mirror")
)
KLINES = MIRROR / "data.binance.vision" / "data" / "spot" / "monthly" / "klines"

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not KLINES.is_dir(),
        reason=f"no folder of real data at {MIRROR} (set REMEASURE_MIRROR)",
    ),
]

PUBLISHED = {
    "BTC": {2022: "46.0", 2023: "45.9", 2024: "46.7", 2025: "48.7"},
    "ETH": {2022: "46.8", 2023: "46.1", 2024: "46.3", 2025: "48.2"},
    "SOL": {2022: "48.0", 2023: "46.6", 2024: "46.9", 2025: "49.3"},
}
SYMBOLS = tuple(f"{coin}USDT" for coin in PUBLISHED)


def read(symbol: str) -> Series:
    """Open times and closes of the hourly archive, read here in the plainest way."""
    times, closes = [], []
    for path in sorted((KLINES / symbol / "1h").glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            text = archive.read(archive.namelist()[0]).decode()
        for row in csv.reader(io.StringIO(text)):
            stamp = int(row[0])
            times.append(stamp if stamp >= 10**14 else stamp * 1000)
            closes.append(float(row[4]))
    return np.array(times).astype("datetime64[us]"), np.array(closes)


@pytest.fixture(scope="module")
def candles() -> dict[str, Series]:
    return {symbol: read(symbol) for symbol in SYMBOLS}


@pytest.fixture(scope="module")
def hours(candles: dict[str, Series], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hours(tmp_path_factory.mktemp("real") / "hours.duckdb", candles, per_hour=1)


def test_all_twelve_coin_years_come_out_as_printed(hours: Path, tmp_path: Path) -> None:
    measured = measure_reversal(
        hours=hours, reversal=tmp_path / "table.parquet", settings=ReversalStep(coins=SYMBOLS)
    )
    for coin, years in PUBLISHED.items():
        for year, printed in years.items():
            found = answer(measured, SHARE, f"{coin} {year}")
            assert f"{found.value:.1f}" == printed
            assert found.coverage == "whole"
    bars = answer(measured, "bars below 50%")
    assert (bars.value, bars.n) == (12, 12)


def test_another_reading_of_flat_hours_misses_the_printed_values(
    candles: dict[str, Series],
) -> None:
    """SOL 2023 has hundreds of flat hours: counted as breaks they cost 2.8 points."""
    times, closes = candles["SOLUSDT"]
    year, same = continuations(times, closes)
    share = 100 * same[year == 2023].mean()
    move = np.sign(np.diff(closes))
    own = times[2:].astype("datetime64[Y]") == np.datetime64("2023")
    breaks = 100 * (move[1:] * move[:-1] > 0)[own].mean()
    assert round(share, 1) == 46.6
    assert breaks < 44


def test_other_facts_are_near_the_published_ones(hours: Path, tmp_path: Path) -> None:
    """Four of nearly six years: not the same numbers, but of the same market."""
    rng = np.random.default_rng(0)
    tails = measure_tails(
        hours=hours,
        tails=tmp_path / "tails.parquet",
        histogram=tmp_path / "histogram.parquet",
        settings=TailsStep(coins=SYMBOLS, tails=TailsSettings(threshold=6, bin_width=0.5)),
        rng=rng,
    )
    counts = [answer(tails, "hours beyond 6 sd", coin).value for coin in PUBLISHED]
    assert counts == [84, 78, 63]
    curve = measure_autocorrelation(
        hours=hours,
        acf=tmp_path / "acf.parquet",
        hour_of_day=tmp_path / "clock.parquet",
        settings=AutocorrelationStep(
            coins=("BTCUSDT",),
            autocorrelation=AutocorrelationSettings(max_lag=176, block_hours=336, resamples=200),
        ),
        rng=rng,
    )
    for name, condition, published in (
        ("autocorrelation of returns", "BTC lag 1 h", -0.005),
        ("autocorrelation of absolute returns", "BTC lag 1 h", 0.29),
        ("mean absolute move", "BTC 14:00 UTC hour", 56),
    ):
        found = answer(curve, name, condition)
        assert found.low < published < found.high
    for lag in (24, 48, 72):
        assert answer(curve, f"BTC, lag {lag} h, 1 = local maximum").value == 1
    moves = measure_breakeven(
        hours=hours,
        candles=[],
        moves=tmp_path / "moves.parquet",
        breakeven=tmp_path / "rates.parquet",
        settings=BreakevenStep(
            coins=("BTCUSDT",),
            breakeven=BreakevenSettings(bars=("1h", "4h", "1d"), costs_bp=(10,), resamples=200),
        ),
        rng=rng,
    )
    for name, published in (("1 hour", 38), ("4 hours", 78), ("1 day", 203)):
        found = answer(moves, "average absolute move", f"BTC {name}")
        assert 0.85 * published < found.value < published
        assert found.coverage.startswith("candles 2022-01-01 to 2025-12-31 of 2021-01-01")
