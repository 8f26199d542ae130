"""Break-even hit rates: the formula's identities, and bars against pandas."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import answer, answered, printed_rows
from candle_tables import walk, write_candles, write_hours
from remeasure.errors import DataError
from remeasure.studies.crypto.breakeven import (
    HEADLINE,
    NAMES,
    OUTPUTS,
    BreakevenStep,
    Source,
    choose,
    hit_rate_needed,
    measure_breakeven,
    move_implied,
    moves_by_day,
)
from remeasure.studies.crypto.settings import BreakevenSettings

DAYS = 120
FIRST = "2024-03-01"


def grid(minutes: int, days: int = DAYS, first: str = FIRST) -> np.ndarray:
    steps = np.arange(days * 1440 // minutes)
    return np.datetime64(first, "us") + steps * np.timedelta64(minutes, "m")


def configured(*bars: str, coins: tuple[str, ...] = ("BTCUSDT",)) -> BreakevenStep:
    return BreakevenStep(
        coins=coins,
        breakeven=BreakevenSettings(bars=bars or tuple(NAMES), costs_bp=(4, 10), resamples=200),
    )


@pytest.fixture(scope="module")
def fine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, pd.Series]:
    """Hours and 5-minute candles of 120 days, without the candles of two halts."""
    times, closes = grid(5), walk(5, DAYS * 288, sd=0.0012)
    halted = (times >= np.datetime64("2024-04-02T12:40")) & (times < np.datetime64("2024-04-02T14"))
    halted |= (times >= np.datetime64("2024-05-02")) & (times < np.datetime64("2024-05-02T05:15"))
    times, closes = times[~halted], closes[~halted]
    folder = tmp_path_factory.mktemp("breakeven")
    series = pd.Series(closes, index=pd.DatetimeIndex(times))
    hourly = series.resample("1h").last().dropna()
    hours = write_hours(folder / "hours.duckdb", {"BTCUSDT": (hourly.index.values, hourly.values)})
    return hours, write_candles(folder / "candles_5m.duckdb", {"BTCUSDT": (times, closes)}), series


def run(
    folder: Path, hours: Path, candles: list[Path], step: BreakevenStep
) -> tuple[list, pl.DataFrame, pl.DataFrame]:
    moves, rates = folder / "moves.parquet", folder / "breakeven.parquet"
    measured = measure_breakeven(
        hours=hours,
        candles=candles,
        moves=moves,
        breakeven=rates,
        settings=step,
        rng=np.random.default_rng(2),
    )
    return measured, pl.read_parquet(moves), pl.read_parquet(rates)


def test_printed_arithmetic() -> None:
    for move, rate in ((38, 0.63158), (19, 0.76316), (78, 0.56410), (203, 0.52463)):
        assert hit_rate_needed(move, 10) == pytest.approx(rate, abs=5e-6)
    # What rounds to 94%: any move between the two bounds, and none outside.
    assert 100 * hit_rate_needed(11.236, 10) == pytest.approx(94.5, abs=1e-3)
    assert 100 * hit_rate_needed(11.494, 10) == pytest.approx(93.5, abs=1e-3)


@settings(deadline=None, max_examples=60)
@given(st.floats(0.5, 1000), st.floats(0.1, 50))
def test_profit_at_break_even_is_zero(move: float, cost: float) -> None:
    p = hit_rate_needed(move, cost)
    assert p * move - (1 - p) * move - cost == pytest.approx(0, abs=1e-12 * (move + cost))
    assert move_implied(p, cost) == pytest.approx(move, rel=1e-9)


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        hit_rate_needed(0, 10)
    with pytest.raises(ValueError, match="above one half"):
        move_implied(0.5, 10)


def test_every_row_is_answered_once(fine: tuple, tmp_path: Path) -> None:
    hours, candles, _ = fine
    expected = sorted([*printed_rows("crypto", OUTPUTS), HEADLINE])
    assert HEADLINE in printed_rows("crypto", [HEADLINE[0]])
    for step in (configured(), configured("1h")):
        measured, *_ = run(tmp_path, hours, [candles], step)
        assert answered(measured) == expected
    skipped = answer(measured, "average absolute move", "BTC 4 hours")
    assert (skipped.value, skipped.note) == (None, "this run's settings leave out bars of 4 hours")


@pytest.mark.parametrize("bar", list(NAMES))
def test_bars_against_pandas(fine: tuple, tmp_path: Path, bar: str) -> None:
    hours, candles, series = fine
    measured, moves, rates = run(tmp_path, hours, [candles], configured(bar))
    closes = series.resample(bar.replace("m", "min").replace("d", "D")).last().dropna()
    referee = np.log(closes / closes.shift(1)).dropna().abs()
    row = moves.row(0, named=True)
    assert (row["n"], row["candles"]) == (referee.size, "5m")
    assert row["mean_bp"] == pytest.approx(1e4 * referee.mean(), rel=1e-12)
    assert row["low_bp"] < row["mean_bp"] < row["high_bp"]
    found = answer(measured, "average absolute move", f"BTC {NAMES[bar]}")
    assert (found.value, found.n) == (row["mean_bp"], row["n"])
    assert found.coverage == "candles 2024-03-01 to 2024-06-28 of 2021-01-01 to 2026-10-29"
    needed = answer(measured, "hit rate needed at 10 bp", f"BTC {NAMES[bar]}")
    assert needed.value == pytest.approx(50 + 500 / row["mean_bp"])
    # A larger move needs fewer hits: the ends change places.
    assert needed.low == pytest.approx(50 + 500 / row["high_bp"])
    assert needed.high == pytest.approx(50 + 500 / row["low_bp"])
    ten = rates.filter(cost_bp=10.0).row(0, named=True)
    assert (ten["percent"], ten["low"], ten["high"]) == pytest.approx(
        (needed.value, needed.low, needed.high)
    )


def test_the_headline_repeats_the_hourly_bar(fine: tuple, tmp_path: Path) -> None:
    measured, *_ = run(tmp_path, fine[0], [fine[1]], configured())
    headline = answer(measured, *HEADLINE)
    hourly = answer(measured, "hit rate needed at 10 bp", "BTC 1 hour")
    assert (headline.value, headline.low, headline.high) == (hourly.value, hourly.low, hourly.high)


def test_days_without_bars_stay(fine: tuple) -> None:
    _, candles, series = fine
    source = Source(candles, "candles", "open_time", "5m", date(2024, 3, 1), date(2024, 6, 28))
    table = moves_by_day(source, "BTCUSDT", "5m")
    assert table["day"].to_list() == list(range(DAYS))
    # The first bar of the sample has no return; halts leave holes and no returns of their own.
    per_day = series.resample("1D").size()
    per_day.iloc[0] -= 1
    assert table["bars"].to_list() == per_day.to_list()


def source(interval: str, days: int) -> Source:
    last = date(2024, 1, 1).fromordinal(date(2024, 1, 1).toordinal() + days - 1)
    return Source(Path(interval), "candles", "open_time", interval, date(2024, 1, 1), last)


@pytest.mark.parametrize(
    ("have", "bar", "chosen"),
    [
        ([("5m", 100), ("1h", 100)], "4h", "5m"),
        ([("15m", 30), ("1h", 100)], "4h", "1h"),
        ([("15m", 30), ("1h", 100)], "15m", "15m"),
        ([("1h", 100), ("1d", 300)], "1d", "1d"),
        ([("1h", 100), ("1d", 300)], "4h", "1h"),
        ([("1h", 100), ("1d", 300)], "5m", None),
    ],
)
def test_longest_then_finest(have: list[tuple[str, int]], bar: str, chosen: str | None) -> None:
    for order in (have, have[::-1]):
        found = choose([source(*each) for each in order], bar)
        assert (found.interval if found else None) == chosen


def test_coarse_candles_leave_fine_bars_out(tmp_path: Path) -> None:
    """Hours, and daily candles that reach further back: all measured over the hours' window."""
    times, closes = grid(60), walk(6, DAYS * 24)
    hours = write_hours(tmp_path / "hours.duckdb", {"BTCUSDT": (times, closes)}, per_hour=1)
    daily = write_candles(
        tmp_path / "daily.duckdb",
        {"BTCUSDT": (grid(1440, 500, "2023-06-01"), walk(7, 500)), "XUSDT": (times, closes)},
    )
    measured, moves, _ = run(tmp_path, hours, [daily], configured())
    assert moves["bar"].to_list() == ["1h", "4h", "1d"]
    assert moves["candles"].to_list() == ["1h", "1h", "1h"]
    assert moves["n"].to_list() == [DAYS * 24 - 1, DAYS * 6 - 1, DAYS - 1]
    found = answer(measured, "hit rate needed at 10 bp", "BTC 5 min")
    assert (found.value, found.note) == (None, "this run has no candles of 5 min or finer")
    assert answer(measured, "average absolute move", "BTC 4 hours").coverage.endswith(
        "bars rebuilt from 1h"
    )
    # A file without the coin, or only with days outside the window, is passed over.
    elsewhere = write_candles(
        tmp_path / "old.duckdb", {"BTCUSDT": (grid(5, 10, "2022-01-01"), walk(8, 2880))}
    )
    other = write_candles(tmp_path / "other.duckdb", {"XUSDT": (grid(5, 10), walk(8, 2880))})
    _, again, _ = run(tmp_path, hours, [daily, elsewhere, other], configured())
    assert again.equals(moves)


def test_unknown_spacing_is_refused(tmp_path: Path) -> None:
    hours = write_hours(tmp_path / "hours.duckdb", {"BTCUSDT": (grid(60), walk(6, DAYS * 24))})
    odd = write_candles(tmp_path / "odd.duckdb", {"BTCUSDT": (grid(7, 7), walk(6, 1440))})
    with pytest.raises(DataError, match="7 minutes apart"):
        run(tmp_path, hours, [odd], configured())


def test_interval_of_independent_moves(tmp_path: Path) -> None:
    """Normal hours without memory: the block bootstrap agrees with the classical error."""
    rng = np.random.default_rng(9)
    closes = 100 * np.exp(np.cumsum(0.005 * rng.normal(size=1200 * 24)))
    hours = write_hours(tmp_path / "hours.duckdb", {"BTCUSDT": (grid(60, 1200), closes)})
    _, moves, _ = run(tmp_path, hours, [], configured("1h"))
    row = moves.row(0, named=True)
    truth = 50 * np.sqrt(2 / np.pi)
    classical = 1.96 * 50 * np.sqrt(1 - 2 / np.pi) / np.sqrt(1200 * 24)
    assert row["low_bp"] < truth < row["high_bp"]
    assert (row["high_bp"] - row["low_bp"]) / 2 == pytest.approx(classical, rel=0.35)
