"""Hourly closes out of the table of hours."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pytest

from candle_tables import hour_grid, walk, write_hours
from remeasure.errors import DataError
from remeasure.studies.crypto.series import coin, read_closes


def test_missing_hours_have_no_row(tmp_path: Path) -> None:
    times, closes = hour_grid("2023-03-24", 48), walk(0, 48)
    keep = np.arange(48) != 13
    path = write_hours(tmp_path / "hours.duckdb", {"BTCUSDT": (times[keep], closes[keep])})
    (read,) = read_closes(path, ("BTCUSDT",))
    np.testing.assert_array_equal(read.open_time, times[keep])
    np.testing.assert_array_equal(read.close, closes[keep])
    # Row to row: the return after the gap spans it.
    assert read.returns()[12] == pytest.approx(np.log(closes[14] / closes[12]))
    assert read.days().tolist() == [0] * 22 + [1] * 24
    assert (read.first, read.last) == (date(2023, 3, 24), date(2023, 3, 25))
    assert read.coin == "BTC" == coin("BTCUSDT")


@pytest.mark.parametrize(("per_hour", "base"), [(12, "5m"), (4, "15m"), (1, "1h")])
def test_the_base_is_read_from_the_fullest_hour(tmp_path: Path, per_hour: int, base: str) -> None:
    series = {"BTCUSDT": (hour_grid("2024-01-01", 24), walk(0, 24))}
    path = write_hours(tmp_path / "hours.duckdb", series, per_hour=per_hour)
    assert read_closes(path, ("BTCUSDT",))[0].base == base


def test_order_is_the_one_asked_for(tmp_path: Path) -> None:
    times = hour_grid("2024-01-01", 24)
    path = write_hours(
        tmp_path / "hours.duckdb", {name: (times, walk(1, 24)) for name in ("AUSDT", "ZUSDT")}
    )
    assert [each.symbol for each in read_closes(path, ("ZUSDT", "AUSDT"))] == ["ZUSDT", "AUSDT"]


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    series = {"BTCUSDT": (hour_grid("2024-01-01", 24), walk(0, 24))}
    path = write_hours(tmp_path / "hours.duckdb", series)
    with pytest.raises(DataError, match="ETHUSDT has 0 hours"):
        read_closes(path, ("ETHUSDT",))
    odd = write_hours(tmp_path / "odd.duckdb", series, per_hour=7)
    with pytest.raises(DataError, match="fullest has 7"):
        read_closes(odd, ("BTCUSDT",))
