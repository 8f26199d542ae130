"""The deepest fall within eighty minutes, against brute force and a planted crash."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from answers import answer, answered, printed_rows
from remeasure.ledger.measurement import Measurement
from remeasure.studies.crypto.crash import OUTPUTS, CrashStep, deepest_fall, measure_crash

COINS = ("BTCUSDT", "ETHUSDT", "SOLUSDT")
FALL = "fall within 80 minutes, 2025-10-10"


def planted(minutes: int, first: str = "2025-10-09", days: int = 3) -> pl.DataFrame:
    """Flat prices but for one crash a coin: BTC and ETH at 21:00, SOL also a deeper one at 5:00.

    Each falls in a straight line for an hour to a close of 90, 85, 95 (SOL later 80) and has
    a wick of one more dollar in the last candle. A deeper fall of the day before must not count.
    """
    n = days * 1440 // minutes
    times = np.datetime64(first, "us") + np.arange(n) * np.timedelta64(minutes, "m")
    frames = []
    for symbol, falls in (
        ("BTCUSDT", {"2025-10-10T21": 90.0}),
        ("ETHUSDT", {"2025-10-10T21": 85.0}),
        ("SOLUSDT", {"2025-10-10T21": 95.0, "2025-10-10T05": 80.0}),
    ):
        close, low = np.full(n, 100.0), np.full(n, 100.0)
        for begin, bottom in {**falls, "2025-10-09T12": 50.0}.items():
            start = int(np.searchsorted(times, np.datetime64(begin)))
            length = 60 // minutes
            close[start : start + length] = 100 + (bottom - 100) * np.arange(1, length + 1) / length
            low[start + length - 1] = bottom - 1
        opened = np.append(100.0, close[:-1])
        frame = {
            "symbol": [symbol] * n,
            "open_time": times,
            "open": opened,
            "low": np.minimum(low, np.minimum(opened, close)),
            "close": close,
        }
        frames.append(pl.DataFrame(frame))
    return pl.concat(frames)


def write(path: Path, frame: pl.DataFrame) -> Path:
    connection = duckdb.connect(str(path), config={"threads": 1})
    connection.register("incoming", frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    connection.execute("CREATE TABLE candles AS SELECT * FROM incoming")
    connection.close()
    return path


def run(
    folder: Path, files: dict[str, pl.DataFrame], origin: str = "public"
) -> tuple[list[Measurement], pl.DataFrame]:
    paths = [write(folder / f"{name}.duckdb", frame) for name, frame in files.items()]
    step = CrashStep.model_validate({"coins": COINS, "intervals": list(files)})
    crash = folder / "crash.parquet"
    measured = measure_crash(candles=paths, crash=crash, settings=step, origin=origin)
    return measured, pl.read_parquet(crash)


def test_the_deepest_fall_equals_brute_force() -> None:
    rng = np.random.default_rng(1)
    for steps in (0, 1, 5, 15, 400):
        start = np.exp(np.cumsum(0.01 * rng.normal(size=288)))
        low = start * np.exp(-np.abs(0.01 * rng.normal(size=288)))
        falls = {
            (a, b): 1 - low[b] / start[a]
            for a in range(288)
            for b in range(a, min(a + steps + 1, 288))
        }
        found = deepest_fall(start, low, steps)
        assert (found.first, found.last) == max(falls, key=falls.__getitem__)
        assert found.size == pytest.approx(max(falls.values()), rel=1e-12)


def test_planted_crashes_are_found(tmp_path: Path) -> None:
    measured, table = run(tmp_path, {"5m": planted(5), "1h": planted(60)})
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    values = [answer(measured, FALL, coin).value for coin in ("BTC", "ETH", "SOL")]
    assert values == pytest.approx([11, 16, 21])
    assert answer(measured, FALL, "SOL").coverage == "whole"
    assert answer(measured, "window").value == 80
    rows = {
        (row["coin"], row["convention"], row["window"]): row for row in table.iter_rows(named=True)
    }
    assert len(rows) == table.height == 10
    assert rows["SOL", "open to low", "BTC's"]["percent"] == pytest.approx(6)
    own = rows["SOL", "open to low", "own"]
    assert (own["begin"], own["end"]) == (datetime(2025, 10, 10, 5), datetime(2025, 10, 10, 6))
    # Closes begin with the last one before the fall, at the same moment.
    closes = rows["BTC", "close to close", "own"]
    assert closes["percent"] == pytest.approx(10)
    assert (closes["begin"], closes["end"]) == tuple(
        datetime(2025, 10, 10, hour) for hour in (21, 22)
    )
    assert rows["ETH", "close to close", "BTC's"]["percent"] == pytest.approx(15)
    note = answer(measured, FALL, "SOL").note
    assert note == (
        "open to low, 05:00 to 06:00 UTC; open to low in BTC's window 6.0%;"
        " close to close in its own window 20.0%; close to close in BTC's window 5.0%"
    )
    assert table["minutes"].unique().to_list() == [80]


@pytest.mark.parametrize(("minutes", "within"), [(5, 80), (15, 75)])
def test_windows_are_as_long_as_they_say(minutes: int, within: int, tmp_path: Path) -> None:
    """Prices that fall at one pace all day: the fall is the pace times the length."""
    frame = planted(minutes).with_columns(
        close=(-1e-4 * minutes * pl.int_range(1, pl.len() + 1).over("symbol")).exp()
    )
    opened = pl.col("close").shift(1, fill_value=1.0).over("symbol")
    frame = frame.with_columns(open=opened, low=pl.col("close"))
    _, table = run(tmp_path, {f"{minutes}m": frame})
    assert table.height == 10
    expected = [100 * (1 - np.exp(-1e-4 * within))] * 6
    assert table.filter(pl.col("window") == "own")["percent"].to_list() == pytest.approx(expected)
    spans = table.filter(pl.col("window") == "own").select(pl.col("end") - pl.col("begin"))
    assert set(spans["end"].dt.total_minutes()) == {within}


def test_quarter_hours_have_windows_of_75_minutes(tmp_path: Path) -> None:
    measured, table = run(tmp_path, {"15m": planted(15)}, origin="generated")
    found = answer(measured, FALL, "BTC")
    assert found.value == pytest.approx(11)
    assert found.coverage == "windows of 75 minutes, of 15m candles"
    assert found.note.endswith("the synthetic market has no crash on this day")
    assert table["minutes"].unique().to_list() == [75]


@pytest.mark.parametrize(
    ("interval", "first"), [("1h", "2025-10-09"), ("5m", "2025-10-11"), ("5m", "2025-10-08")]
)
def test_too_coarse_or_elsewhere_is_not_run(interval: str, first: str, tmp_path: Path) -> None:
    frame = planted({"1h": 60, "5m": 5}[interval])
    if interval == "5m":
        frame = frame.filter(pl.col("open_time").dt.day() != 10)
    measured, table = run(tmp_path, {interval: frame})
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    found = answer(measured, FALL, "ETH")
    assert found.value is None
    assert found.note == "this run has no candles of 15m or finer on 2025-10-10"
    assert table.is_empty()
