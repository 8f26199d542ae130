"""The calendar: halts, listing days, refusal of unknown holes, and the identities it proves."""

from __future__ import annotations

import csv
import json
import os
import zipfile
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from remeasure.errors import ConfigError, DataError
from remeasure.studies.crypto import calendar, textbook_rules
from remeasure.studies.crypto import calendar_identities as identities

FIRST, LAST = date(2021, 1, 1), date(2026, 10, 29)
REFERENCE = Path(calendar.__file__).with_name("reference.csv")
MIRROR = Path(
    os.environ.get("REMEASURE_MIRROR", Path(__file__).resolve().parents[4] / "shared" / "mirror")
)

#: Whole and partial hours of each halt, as the table of the study prints them.
HALT_HOURS = {
    "2021-02-11": ([4], [3]),
    "2021-03-06": ([2], [3]),
    "2021-04-20": ([2, 3], [4]),
    "2021-04-25": ([5, 6, 7], [4, 8]),
    "2021-08-13": ([2, 3, 4, 5], [6]),
    "2021-09-29": ([7, 8], []),
    "2023-03-24": ([13], [12]),
}


def at(*texts: str) -> npt.NDArray[np.datetime64]:
    return np.array(texts, dtype="datetime64[us]")


def test_grid_covers_both_days() -> None:
    times = calendar.grid(date(2024, 2, 28), date(2024, 3, 1), "4h")
    assert times.size == 3 * 6
    assert times[0] == np.datetime64("2024-02-28T00:00")
    assert times[-1] == np.datetime64("2024-03-01T20:00")


def test_unknown_interval_is_refused() -> None:
    with pytest.raises(ConfigError, match="7m"):
        calendar.grid(FIRST, LAST, "7m")


@pytest.mark.parametrize("day", HALT_HOURS)
def test_hours_of_each_halt(day: str) -> None:
    whole, partial = HALT_HOURS[day]
    on = date.fromisoformat(day)
    lost = calendar.lost_hours(on, on)
    cut = calendar.partial_hours(on, on)
    assert [t.astype("datetime64[h]").item().hour for t in lost] == whole
    assert [t.astype("datetime64[h]").item().hour for t in cut] == partial


def test_there_are_seven_halts() -> None:
    assert len(calendar.HALTS) == 7
    assert calendar.lost_hours(FIRST, LAST).size == 14


@pytest.mark.parametrize("interval", ["5m", "15m", "1h", "4h", "1d"])
@pytest.mark.parametrize("halt", calendar.HALTS, ids=lambda halt: str(halt.missing_from)[:10])
def test_candle_is_missing_when_every_minute_of_it_is(interval: str, halt: calendar.Halt) -> None:
    """Brute force: walk through the day minute by minute."""
    start, end = halt.missing_from.item(), halt.back_at.item()
    assert isinstance(start, datetime)
    assert isinstance(end, datetime)
    midnight = datetime(start.year, start.month, start.day)
    minutes = int(calendar.step(interval) / np.timedelta64(1, "m"))
    wanted = [
        midnight + timedelta(minutes=begin)
        for begin in range(0, 1440, minutes)
        if all(
            start <= midnight + timedelta(minutes=minute) < end
            for minute in range(begin, begin + minutes)
        )
    ]
    assert calendar.missing(start.date(), start.date(), interval).tolist() == wanted


def test_lower_frequencies_lose_only_candles_wholly_inside() -> None:
    day = date(2023, 3, 24)
    assert calendar.missing(day, day, "1h").tolist() == [datetime(2023, 3, 24, 13)]
    quarter = calendar.missing(day, day, "15m")
    assert quarter[0] == np.datetime64("2023-03-24T12:45")
    assert quarter.size == 5
    assert calendar.missing(FIRST, LAST, "4h").size == 0
    assert calendar.missing(FIRST, LAST, "1d").size == 0


def test_expected_starts_on_the_listing_day() -> None:
    window = date(2020, 8, 1), date(2020, 8, 31)
    assert calendar.expected_count(*window, "1d") == 31
    assert calendar.expected_count(*window, "1d", "SOLUSDT") == 21
    assert calendar.first_traded("SOLUSDT", date(2020, 8, 1)) == date(2020, 8, 11)
    assert calendar.first_traded("SOLUSDT", date(2021, 1, 1)) == date(2021, 1, 1)
    assert calendar.first_traded("NEWUSDT", date(2020, 8, 1)) == date(2020, 8, 1)


@pytest.mark.parametrize("interval", ["5m", "15m", "1h", "1d"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_complete_candles_pass(interval: str, unit: str) -> None:
    window = date(2023, 3, 1), date(2023, 4, 10)
    times = calendar.expected(*window, interval).astype(f"datetime64[{unit}]")
    calendar.check("BTCUSDT", times, interval, *window)


def test_unknown_hole_is_refused_with_coin_and_place() -> None:
    window = date(2023, 3, 1), date(2023, 4, 10)
    times = calendar.expected(*window, "1h")
    gone = at("2023-03-05T07:00", "2023-03-05T08:00", "2023-04-01T00:00")
    with pytest.raises(DataError) as caught:
        calendar.check("ETHUSDT", times[~np.isin(times, gone)], "1h", *window)
    message = str(caught.value)
    assert "ETHUSDT lacks 3 candles" in message
    assert "2023-03-05 07:00 to 2023-03-05 08:00, 2023-04-01 00:00" in message
    assert "13:00" not in message  # the known halt is no fault


@pytest.mark.parametrize("position", [0, 1, 500, -1])
def test_any_single_hole_is_refused(position: int) -> None:
    window = date(2023, 3, 1), date(2023, 4, 10)
    times = calendar.expected(*window, "5m")
    with pytest.raises(DataError, match="lacks 1 candle that"):
        calendar.check("BTCUSDT", np.delete(times, position), "5m", *window)


def test_long_list_of_holes_is_cut() -> None:
    window = date(2023, 5, 1), date(2023, 5, 31)
    times = calendar.expected(*window, "1h")
    with pytest.raises(DataError, match=r"lacks 372 candles .* and 367 more"):
        calendar.check("BTCUSDT", times[::2], "1h", *window)
    with pytest.raises(DataError, match="lacks 744 candles"):
        calendar.check("BTCUSDT", times[:0], "1h", *window)


@pytest.mark.parametrize(
    ("extra", "complaint"),
    [
        ("2023-03-24T13:00", "1 candle inside a known halt"),
        ("2023-03-10T07:30", "off the 1h grid"),
        ("2023-04-11T00:00", "outside the window"),
        ("2023-02-28T23:00", "outside the window"),
    ],
)
def test_strange_candles_are_refused(extra: str, complaint: str) -> None:
    window = date(2023, 3, 1), date(2023, 4, 10)
    times = np.sort(np.append(calendar.expected(*window, "1h"), np.datetime64(extra, "us")))
    with pytest.raises(DataError, match=complaint):
        calendar.check("BTCUSDT", times, "1h", *window)


def test_repeated_and_unordered_candles_are_refused() -> None:
    window = date(2023, 3, 1), date(2023, 3, 2)
    times = calendar.expected(*window, "1h")
    with pytest.raises(DataError, match="1 candle of BTCUSDT repeat"):
        calendar.check("BTCUSDT", np.insert(times, 5, times[5]), "1h", *window)
    with pytest.raises(DataError, match="go back in time"):
        calendar.check("BTCUSDT", times[::-1], "1h", *window)


def test_first_candle_may_be_late_on_the_listing_day_only() -> None:
    window = date(2020, 8, 1), date(2020, 8, 31)
    times = calendar.expected(*window, "1h", "SOLUSDT")
    calendar.check("SOLUSDT", times[6:], "1h", *window)
    calendar.check("SOLUSDT", times[23:], "1h", *window)
    with pytest.raises(DataError, match="lacks 2 candles"):
        calendar.check("SOLUSDT", times[25:], "1h", *window)
    with pytest.raises(DataError, match="2020-08-11 09:00"):
        calendar.check("SOLUSDT", np.delete(times[6:], 3), "1h", *window)
    early = np.insert(times, 0, np.datetime64("2020-08-10T23:00", "us"))
    with pytest.raises(DataError, match="outside the window"):
        calendar.check("SOLUSDT", early, "1h", *window)
    with pytest.raises(DataError, match="was not traded before 2020-08-11"):
        calendar.check("SOLUSDT", times[:0], "1h", date(2020, 7, 1), date(2020, 7, 31))


def test_window_that_starts_later_gets_no_grace() -> None:
    window = date(2020, 8, 12), date(2020, 8, 31)
    times = calendar.expected(*window, "1h", "SOLUSDT")
    calendar.check("SOLUSDT", times, "1h", *window)
    with pytest.raises(DataError, match="lacks 1 candle"):
        calendar.check("SOLUSDT", times[1:], "1h", *window)


def test_identities() -> None:
    counts = identities.count()
    wanted = {
        "hours": 51_072,
        "lost_hours": 14,
        "hourly_bars": 51_058,
        "hourly_returns": 51_057,
        "candidate_forecast_hours": 42_312,
        "lost_rows": 170,
        "forecast_rows": 42_142,
        "folds": 58,
        "test_months": 58,
        "gap_hours": 24,
        "hours_of_last_year": 7_248,
        "kronos_hours": 1_812,
        "price_dates": 212,
        "months_asked": 105,
        "complete_weeks": 460,
        "rules": 66,
        "coins": 12,
        "strategies": 792,
        "features": 20,
        "memory_answers_before": 525,
        "memory_answers_after": 126,
    }
    assert {name: counts[name] for name in wanted} == wanted
    assert counts["window"]["days"] == 2128
    assert list(counts["lost_rows_by_reason"].values()) == [1, 168, 1]


def test_months_of_each_language_model() -> None:
    """The fourteen printed counts, before and after release."""
    printed = {
        "Mistral 7B v0.3": (65, 28),
        "Qwen2.5 7B": (69, 24),
        "OLMo 2 7B": (72, 21),
        "Phi-4-mini": (74, 19),
        "Qwen3 8B": (76, 17),
        "Olmo 3 7B": (83, 10),
        "Qwen3.5 9B": (86, 7),
    }
    assert set(printed) == set(identities.RELEASED)
    for name, counts in printed.items():
        assert identities.memory_months(identities.RELEASED[name]) == counts
        assert sum(counts) == 105 - 12


def test_weeks_agree_with_the_standard_library() -> None:
    for shift in range(9):
        first, last = date(2018, 1, 1) + timedelta(days=shift), date(2018, 6, 30)
        days = (first + timedelta(days=i) for i in range((last - first).days + 1))
        weeks = sum(day.weekday() == 0 and day + timedelta(days=6) <= last for day in days)
        assert identities.complete_weeks(first, last) == weeks


def test_rules_are_counted_from_the_grid_that_is_traded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (identities.count()["rules"], identities.count()["strategies"]) == (66, 792)
    monkeypatch.setattr(textbook_rules, "CHANNELS", textbook_rules.CHANNELS[1:])
    assert identities.count()["rules"] == 65


def rows_by_brute_force(present: set[datetime], candidates: list[datetime], window: int) -> int:
    """Rows that can be computed, asking for each close and each hour of every window."""
    hour = timedelta(hours=1)
    rows = 0
    for predicted in candidates:
        known = predicted - hour
        closes = {known - k * hour for k in (0, 1, 2, 4, 8, 24, 72, window)}
        sums = {known - k * hour for span in (1, 24, window) for k in range(span)}
        rows += (closes | sums | {predicted}) <= present
    return rows


def test_one_missing_hour_kills_170_rows_by_brute_force() -> None:
    first, last = date(2023, 3, 1), date(2023, 4, 15)
    hours = [datetime(2023, 3, 1) + timedelta(hours=i) for i in range(46 * 24)]
    gap = datetime(2023, 3, 24, 13)
    candidates = hours[170:]
    present = set(hours) - {gap}
    lost = len(candidates) - rows_by_brute_force(present, candidates, 168)
    assert lost == 170
    assert identities.forecasts(first, last, "2023-04").lost == sum(
        hour >= datetime(2023, 4, 1) for hour in candidates
    ) - rows_by_brute_force(present, [h for h in candidates if h >= datetime(2023, 4, 1)], 168)


@pytest.mark.parametrize("window", [1, 2, 24, 168])
def test_forecast_rows_agree_with_brute_force_from_the_first_hour_on(window: int) -> None:
    """Also at the start of the data, where windows reach before the first candle."""
    first, last = date(2021, 4, 15), date(2021, 5, 5)
    hours = [datetime(2021, 4, 15) + timedelta(hours=i) for i in range(21 * 24)]
    gone = {datetime(2021, 4, 20, h) for h in (2, 3)} | {
        datetime(2021, 4, 25, h) for h in (5, 6, 7)
    }
    present = set(hours) - gone
    hour = timedelta(hours=1)
    wanted = sum(
        {predicted - k * hour for k in range(window + 2)} <= present for predicted in hours
    )
    counted = identities.forecasts(first, last, "2021-04", window)
    assert counted.candidates == len(hours)
    assert counted.rows == wanted


def test_every_reference_row_is_answered_exactly(tmp_path: Path) -> None:
    measured = identities.measure_calendar(identities=tmp_path / "identities.json")
    with REFERENCE.open(encoding="utf-8", newline="") as file:
        printed = {
            (row["output_id"], row["quantity"], row["condition"]): row["value"]
            for row in csv.DictReader(file)
            if row["output_id"] in ("calendar", "fig_walk_forward")
        }
    answers = {(m.output_id, m.quantity, m.condition): str(m.value) for m in measured}
    assert answers == printed
    assert len(measured) == len(printed) == 20
    assert all(m.coverage == "whole" for m in measured)
    stored = json.loads((tmp_path / "identities.json").read_text("utf-8"))
    assert stored == identities.count()


@pytest.mark.real
@pytest.mark.parametrize(
    ("symbol", "interval", "first", "last"),
    [
        ("BTCUSDT", "1h", date(2023, 3, 1), date(2023, 3, 31)),
        ("LINKUSDT", "1h", date(2024, 12, 1), date(2025, 1, 31)),
        ("ETHUSDT", "15m", date(2025, 1, 1), date(2025, 2, 28)),
        ("SOLUSDT", "1d", date(2020, 8, 1), date(2020, 10, 31)),
    ],
)
def test_real_archive_has_exactly_the_known_holes(
    symbol: str, interval: str, first: date, last: date
) -> None:
    folder = MIRROR / "data.binance.vision/data/spot/monthly/klines" / symbol / interval
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} does not exist (set REMEASURE_MIRROR)")
    stamps: list[int] = []
    for month in np.arange(np.datetime64(first, "M"), np.datetime64(last, "M") + 1):
        with zipfile.ZipFile(folder / f"{symbol}-{interval}-{month}.zip") as archive:
            lines = archive.read(archive.namelist()[0]).decode("ascii").splitlines()
        stamps += [int(line.split(",", 1)[0]) for line in lines]
    micro = np.array([s if s >= 10**14 else s * 1000 for s in stamps]).astype("datetime64[us]")
    calendar.check(symbol, micro, interval, first, last)
