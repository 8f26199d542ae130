"""Continuing hours, against a plain loop, planted probabilities and the calendar."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import answer, answered, printed_rows
from candle_tables import hour_grid, write_hours
from remeasure.stats.proportion import wilson
from remeasure.studies.crypto import calendar
from remeasure.studies.crypto.reversal import (
    OUTPUTS,
    SHARE,
    ReversalStep,
    continuations,
    measure_reversal,
    own_window,
)

ALL = ("BTCUSDT", "ETHUSDT", "SOLUSDT")


def run(path: Path, folder: Path, *coins: str) -> tuple[list, pl.DataFrame]:
    table = folder / "reversal.parquet"
    measured = measure_reversal(
        hours=path, reversal=table, settings=ReversalStep(coins=coins or ("BTCUSDT",))
    )
    return measured, pl.read_parquet(table)


def persistent(seed: int, n: int, p: float) -> np.ndarray:
    """Closes whose every move continues the one before with probability ``p``."""
    rng = np.random.default_rng(seed)
    sign = np.cumprod(np.where(rng.random(n) < p, 1, -1))
    return np.asarray(100 * np.exp(np.cumsum(sign * rng.uniform(0.0001, 0.01, n))))


def plainly(times: list, closes: list) -> list[tuple[int, bool]]:
    """The definition, hour by hour."""
    price = dict(zip(times, closes, strict=True))
    hour = np.timedelta64(1, "h")
    out = []
    for time in times:
        if time - hour not in price or time - 2 * hour not in price:
            continue
        now, before = price[time] - price[time - hour], price[time - hour] - price[time - 2 * hour]
        if now == 0 or before == 0:
            continue
        out.append((int(str(time)[:4]), (now > 0) == (before > 0)))
    return out


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(100, 104)), min_size=3, max_size=60),
)
def test_equals_the_definition(rows: list[tuple[int, int]]) -> None:
    """Gaps of up to two hours, many flat hours, and a new year in between."""
    steps = np.cumsum([step for step, _ in rows])
    times = np.datetime64("2022-12-31T12", "us") + steps * np.timedelta64(1, "h")
    closes = np.array([float(close) for _, close in rows])
    year, same = continuations(times, closes)
    assert list(zip(year.tolist(), same.tolist(), strict=True)) == plainly(
        list(times), closes.tolist()
    )


def test_extremes() -> None:
    times = hour_grid("2024-01-01", 100)
    assert continuations(times, np.arange(1.0, 101))[1].all()
    assert not continuations(times, 100.0 + np.arange(100) % 2)[1].any()
    assert continuations(times, np.full(100, 5.0))[0].size == 0


def test_planted_share_is_inside_the_interval(tmp_path: Path) -> None:
    times = hour_grid("2022-01-01", 8760)
    path = write_hours(tmp_path / "hours.duckdb", {"BTCUSDT": (times, persistent(1, 8760, 0.46))})
    measured, table = run(path, tmp_path)
    found = answer(measured, SHARE, "BTC 2022")
    assert found.low < 46 < found.high
    assert found.n == 8758
    assert found.coverage == "whole"
    low, high = wilson(table["same"][0], 8758)
    assert (found.low, found.high) == pytest.approx((100 * low, 100 * high))


def test_every_row_is_answered_once(tmp_path: Path) -> None:
    times = hour_grid("2022-01-01", 8760)
    path = write_hours(
        tmp_path / "hours.duckdb",
        {symbol: (times, persistent(index, 8760, 0.4)) for index, symbol in enumerate(ALL)},
    )
    for coins in (ALL, ("BTCUSDT",)):
        measured, _ = run(path, tmp_path, *coins)
        assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    assert answer(measured, SHARE, "ETH 2022").note == "ETH is not among this run's coins"
    found = answer(measured, SHARE, "BTC 2021")
    assert (found.value, found.note) == (
        None,
        "BTC 2021 lies outside this run's candles (2022-01-01 to 2022-12-31)",
    )
    bars = answer(measured, "bars below 50%")
    assert (bars.value, bars.n, bars.coverage) == (1, 1, "1 of 18 coin-years whole, 1 measured")


def test_the_whole_window_with_its_halts(tmp_path: Path) -> None:
    """51,058 hours: thirteen of 2021 are the exchange's own and make no year partial."""
    times = calendar.expected(date(2021, 1, 1), date(2026, 10, 29), "1h")
    assert times.size == 51_058
    coins = {symbol: (times, persistent(7, times.size, 0.47)) for symbol in ALL}
    measured, table = run(write_hours(tmp_path / "hours.duckdb", coins), tmp_path, *ALL)
    assert {each.coverage for each in measured} == {"whole"}
    bars = answer(measured, "bars below 50%")
    assert (bars.value, bars.n) == (18, 18)
    # Each halt of whole hours leaves two hours without a predecessor's direction; the window's
    # first two hours have none either, and halts in the same day count apart.
    lost = {row["year"]: row["n"] for row in table.filter(coin="BTC").iter_rows(named=True)}
    gaps_2021 = int((np.diff(times[times < np.datetime64("2022-01-01")]) > 3_600_000_000).sum())
    assert lost[2021] == 8760 - 13 - 2 - 2 * gaps_2021
    assert lost[2023] == 8760 - 1 - 2
    assert lost[2026] == 7248


def test_part_of_a_year_is_partial(tmp_path: Path) -> None:
    times = hour_grid("2026-01-01", 24 * 200)
    closes = persistent(3, times.size, 0.5)
    path = write_hours(tmp_path / "hours.duckdb", {"BTCUSDT": (times, closes)}, per_hour=1)
    measured, _ = run(path, tmp_path)
    assert answer(measured, SHARE, "BTC 2026").coverage == (
        "candles 2026-01-01 to 2026-07-19 of 2026-01-01 to 2026-10-29, hours rebuilt from 1h"
    )


def test_the_last_year_ends_with_the_publication() -> None:
    assert own_window(2026) == (date(2026, 1, 1), date(2026, 10, 29))
    assert own_window(2024) == (date(2024, 1, 1), date(2024, 12, 31))
