"""Rules and random strategies on the exchange's own hours: 2022 and 2023 against 2024 and 2025."""

from __future__ import annotations

import csv
import io
import math
import os
import zipfile
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from answers import answer
from remeasure.ledger.measurement import Measurement
from remeasure.studies.crypto.deflated import measure_deflated
from remeasure.studies.crypto.random_strategies import (
    BEST_QUANTITY,
    RandomSettings,
    RandomStep,
    measure_random,
)
from remeasure.studies.crypto.rules_grid import (
    EARLY,
    LATER,
    GridSettings,
    GridStep,
    Period,
    measure_grid,
)
from remeasure.studies.crypto.settings import Dataset

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

DATASET = Dataset(
    coins=tuple(f"{coin}USDT" for coin in ("BTC", "ETH", "SOL", "BNB", "ADA", "DOGE", "LINK")),
    first=date(2022, 1, 1),
    last=date(2025, 12, 31),
)
FIRST, SECOND = (Period(first=each[0], last=each[1]) for each in (EARLY, LATER))


def read(symbol: str) -> pl.DataFrame:
    """Hours of one coin, read here in the plainest way."""
    rows = []
    for path in sorted((KLINES / symbol / "1h").glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            text = archive.read(archive.namelist()[0]).decode()
        for row in csv.reader(io.StringIO(text)):
            stamp = int(row[0])
            stamp = stamp if stamp >= 10**14 else stamp * 1000
            rows.append((symbol, stamp, float(row[2]), float(row[3]), float(row[4])))
    columns = ["symbol", "open_time", "high", "low", "close"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    return frame.with_columns(pl.col("open_time").cast(pl.Datetime("us")))


@pytest.fixture(scope="module")
def candles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("selection") / "candles.duckdb"
    frame = pl.concat(read(symbol) for symbol in DATASET.coins)
    connection = duckdb.connect(str(path), config={"threads": 1})
    connection.register("incoming", frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    connection.execute("CREATE TABLE candles AS SELECT * FROM incoming")
    connection.close()
    return path


def test_luck_on_real_hours(candles: Path, tmp_path: Path) -> None:
    measured = measure_random(
        candles=[candles],
        noise=tmp_path / "noise.parquet",
        curve=tmp_path / "curve.parquet",
        summary=tmp_path / "noise.json",
        settings=RandomStep(
            candles=DATASET,
            random=RandomSettings(period=FIRST, fee_bp=5, paths=20_000, flip_probability=1 / 24),
        ),
        rng=np.random.default_rng(0),
        origin="mirror",
    )
    with duckdb.connect(str(candles), read_only=True) as connection:
        rows = connection.sql(
            "SELECT close FROM candles WHERE symbol = 'BTCUSDT' AND open_time < '2024-01-01'"
            " ORDER BY open_time"
        ).fetchnumpy()
    returns = np.diff(np.log(rows["close"]))
    assert returns.size == 730 * 24 - 1 - 1  # one hour lost to a halt
    sigma = returns.std(ddof=1) * math.sqrt(8760)
    mean = answer(measured, BEST_QUANTITY, "N=1")
    assert mean.value == pytest.approx(-0.365 / sigma, abs=0.03)
    assert mean.coverage == "candles 2022-01-01 to 2023-12-31 of 2021-01-01 to 2023-12-31"
    best = [
        each.value
        for each in measured
        if each.quantity == BEST_QUANTITY and isinstance(each.value, float)
    ]
    assert len(best) == 14
    assert best == sorted(best)
    # Two years are shorter than the published three: luck reaches higher.
    assert answer(measured, BEST_QUANTITY, "N=20000").value > 1.56


def test_the_best_of_yesterday_on_real_hours(candles: Path, tmp_path: Path) -> None:
    files = {"grid": tmp_path / "grid.parquet", "summary": tmp_path / "grid.json"}
    measured: list[Measurement] = measure_grid(
        candles=[candles],
        settings=GridStep(
            candles=DATASET,
            grid=GridSettings(early=FIRST, later=SECOND, fee_bp=5, block_days=30, resamples=100),
        ),
        rng=np.random.default_rng(0),
        **files,
    )
    measured += measure_deflated(**files)
    table = pl.read_parquet(files["grid"])
    assert table.height == 7 * 66
    assert np.isfinite(table.select("early", "later").to_numpy()).all()
    assert set(table["early_bars"]) == {730 * 24 - 2}
    early, later = (
        answer(measured, name) for name in ("mean Sharpe of 20 best", "mean Sharpe of the same 20")
    )
    # The published finding, on other coins and years: most of it was luck.
    assert early.value > 1
    assert later.value < 0.5 * early.value
    assert early.low < 1.56 < early.high
    assert later.low < 0.19 < later.high
    assert answer(measured, "RSI family profitable").value == 0
    assert answer(measured, "Bollinger family profitable").value == 0
    deflated = answer(measured, "deflated Sharpe ratio")
    assert deflated.value < 95
    assert deflated.coverage.startswith("seven of twelve coins, candles 2022-01-01")
