"""Counts that the calendar alone proves: no price, no model, no sampling error.

The publication's window, its halts and the definitions of its features, months
and rules fix several printed counts exactly. Here they are counted, never typed:
hours on the grid of the window, rows whose windows are complete, folds of the
same splitter that the forecasts use, rules of the documented parameter grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from remeasure.evaluate.walk_forward import folds, months
from remeasure.ledger.measurement import Measurement
from remeasure.store.frames import write_json
from remeasure.studies.crypto import calendar
from remeasure.studies.crypto.coverage import FIRST, LAST
from remeasure.studies.crypto.features import FEATURES
from remeasure.studies.crypto.published import FIRST_TEST
from remeasure.studies.crypto.settings import KNOWN_COINS
from remeasure.studies.crypto.textbook_rules import all_rules

#: Last month forecast, and hours between training targets and a test month.
LAST_TEST, GAP_HOURS = "2026-10", 24
#: Longest look-back of a feature in hours: ln(C_t / C_{t-168}), means over t-167..t.
LONGEST_WINDOW = 168
#: One Kronos forecast every so many hours of 2026.
KRONOS_EVERY = 4
#: Months and dates asked of the language models.
FIRST_ASKED, LAST_ASKED, LAST_PRICE_MONTH = "2018-01", "2026-09", "2026-10"
#: Release month of each language model.
RELEASED = {
    "Mistral 7B v0.3": "2024-05",
    "Qwen2.5 7B": "2024-09",
    "OLMo 2 7B": "2024-12",
    "Phi-4-mini": "2025-02",
    "Qwen3 8B": "2025-04",
    "Olmo 3 7B": "2025-11",
    "Qwen3.5 9B": "2026-02",
}


@dataclass(frozen=True)
class Forecasts:
    """Forecast hours of a window and what its missing hours cost.

    Attributes
    ----------
    candidates
        Hours from the first test month on.
    target_missing, window_incomplete, start_missing
        Rows lost because the predicted hour has no candle; because a 168-hour
        window contains an hour without one; because the close that the longest
        return starts from is missing. A row counts once, in this order.
    """

    candidates: int
    target_missing: int
    window_incomplete: int
    start_missing: int

    @property
    def lost(self) -> int:
        """Candidates that no row predicts."""
        return self.target_missing + self.window_incomplete + self.start_missing

    @property
    def rows(self) -> int:
        """Rows that remain."""
        return self.candidates - self.lost


def forecasts(first: date, last: date, first_test: str, window: int = LONGEST_WINDOW) -> Forecasts:
    """Count the hours of a window that have a complete row of features and a target.

    The row that predicts hour j is known at the close of hour t = j - 1. It needs
    candles in hour j, in all hours t - window + 1 .. t (means and sums) and in
    hour t - window (the longest return). Hours before ``first`` have none.

    Parameters
    ----------
    first, last
        Window of candles, both days included.
    first_test
        First month predicted, ``YYYY-MM``: rows belong to the month they predict.
    window
        Longest look-back in hours.
    """
    hours = calendar.grid(first, last, "1h")
    present = ~calendar.inside_halt(hours, "1h")
    padded = np.concatenate([np.zeros(window + 1, dtype=bool), present])
    target = padded[window + 1 :]
    start = padded[: hours.size]
    before = np.concatenate([[0], np.cumsum(padded)])
    in_window = before[window + 1 : window + 1 + hours.size] - before[1 : 1 + hours.size]
    tested = hours >= np.datetime64(first_test, "M")
    complete = in_window == window
    return Forecasts(
        candidates=int(tested.sum()),
        target_missing=int((tested & ~target).sum()),
        window_incomplete=int((tested & target & ~complete).sum()),
        start_missing=int((tested & target & complete & ~start).sum()),
    )


def price_dates(first: str, last: str) -> tuple[str, ...]:
    """The 1st and the 15th of every month from ``first`` to ``last``, ``YYYY-MM-DD``."""
    return tuple(f"{month}-{day}" for month in months(first, last) for day in ("01", "15"))


def complete_weeks(first: date, last: date) -> int:
    """Monday-to-Sunday weeks that lie wholly within the days ``first`` to ``last``."""
    days = np.arange(np.datetime64(first, "D"), np.datetime64(last, "D") + 1)
    # 1970-01-01 was a Thursday, so day number + 3 is a multiple of 7 on Mondays.
    mondays = days[(days.astype(np.int64) + 3) % 7 == 0]
    return int((mondays + 6 <= days[-1]).sum())


def memory_months(release: str) -> tuple[int, int]:
    """How many of the months asked count as long before a release, and as after it.

    Month m is "before" when m <= release - 12 months and "after" when m > release.
    """
    asked = np.array(months(FIRST_ASKED, LAST_ASKED), dtype="datetime64[M]")
    released = np.datetime64(release, "M")
    return int((asked <= released - 12).sum()), int((asked > released).sum())


def walk_forward_gap_hours() -> int:
    """Hours between the last training target and the first hour tested, smallest over all folds.

    Measured on the splitter itself with a target in every hour of the window.
    """
    begin = calendar.grid(FIRST, LAST, "1h")
    end = begin + np.timedelta64(1, "h")
    gaps = [
        begin[fold.test(begin)][0] - end[fold.train(end)][-1]
        for fold in folds(FIRST_TEST, LAST_TEST, gap_hours=GAP_HOURS)
    ]
    return int(min(gaps) / np.timedelta64(1, "h"))


def count() -> dict[str, Any]:
    """Every count, with the parts that explain it; JSON types only."""
    expected = calendar.expected_count(FIRST, LAST, "1h")
    forecast = forecasts(FIRST, LAST, FIRST_TEST)
    # Hours of the last calendar year up to the end of the window.
    last_year = calendar.grid(date(LAST.year, 1, 1), LAST, "1h")
    split = folds(FIRST_TEST, LAST_TEST, gap_hours=GAP_HOURS)
    memory = {name: memory_months(release) for name, release in RELEASED.items()}
    rules = all_rules()
    return {
        "window": {"first": str(FIRST), "last": str(LAST), "days": (LAST - FIRST).days + 1},
        "hours": calendar.grid(FIRST, LAST, "1h").size,
        "halts": [_halt(halt) for halt in calendar.HALTS],
        "lost_hours": calendar.lost_hours(FIRST, LAST).size,
        "hourly_bars": expected,
        "hourly_returns": expected - 1,
        "candidate_forecast_hours": forecast.candidates,
        "lost_rows": forecast.lost,
        "lost_rows_by_reason": {
            "predicted hour missing": forecast.target_missing,
            "window incomplete": forecast.window_incomplete,
            "start of the longest return missing": forecast.start_missing,
        },
        "forecast_rows": forecast.rows,
        "folds": len(split),
        "test_months": len(months(FIRST_TEST, LAST_TEST)),
        "gap_hours": walk_forward_gap_hours(),
        "hours_of_last_year": last_year.size,
        "kronos_hours": last_year[::KRONOS_EVERY].size,
        "price_dates": len(price_dates(FIRST_ASKED, LAST_PRICE_MONTH)),
        "months_asked": len(months(FIRST_ASKED, LAST_ASKED)),
        "complete_weeks": complete_weeks(date(2018, 1, 1), LAST),
        "rules": len(rules),
        "coins": len(KNOWN_COINS),
        "strategies": len(tuple(product(rules, KNOWN_COINS))),
        "features": len(FEATURES),
        "memory_months": {
            name: {"release": RELEASED[name], "before": before, "after": after}
            for name, (before, after) in memory.items()
        },
        "memory_answers_before": sum(before for before, _ in memory.values()),
        "memory_answers_after": sum(after for _, after in memory.values()),
    }


def measure_calendar(*, identities: Path) -> list[Measurement]:
    """Step: write all counts as JSON and answer the rows ``calendar`` and ``fig_walk_forward``.

    Parameters
    ----------
    identities
        Output, JSON with sorted keys, see :func:`count`.
    """
    counts = count()
    write_json(counts, identities)
    return [
        Measurement(
            output_id=output_id, quantity=quantity, condition=condition, value=value, note=note
        )
        for output_id, quantity, condition, value, note in _answers(counts)
    ]


def _halt(halt: calendar.Halt) -> dict[str, Any]:
    first: date = halt.missing_from.astype("datetime64[D]").item()
    last: date = halt.back_at.astype("datetime64[D]").item()

    def within(hours: calendar.Times) -> list[str]:
        own = (hours + np.timedelta64(1, "h") > halt.missing_from) & (hours < halt.back_at)
        return [str(hour.astype("datetime64[m]")) for hour in hours[own]]

    return {
        "missing_from": str(halt.missing_from.astype("datetime64[m]")),
        "back_at": str(halt.back_at.astype("datetime64[m]")),
        "whole_hours": within(calendar.lost_hours(first, last)),
        "partial_hours": within(calendar.partial_hours(first, last)),
    }


def _answers(counts: dict[str, Any]) -> list[tuple[str, str, str, int, str]]:
    """Key of each reference row with its count and a note."""
    reasons = ", ".join(f"{why} {n}" for why, n in counts["lost_rows_by_reason"].items())
    grid = "counted from the parameter lists of the rules"
    window, tests = "2021-01-01..2026-10-29", "2022-01..2026-10"
    calendar_rows = (
        ("hours in window", window, "hours", ""),
        ("whole hours without candle", "spot, seven halts", "lost_hours", ""),
        ("hourly bars", "spot BTCUSDT", "hourly_bars", ""),
        ("hourly returns", "row to row", "hourly_returns", ""),
        ("candidate forecast hours", "2022-01-01..2026-10-29", "candidate_forecast_hours", ""),
        ("rows lost to the one gap", "regular grid, 168 h windows", "lost_rows", reasons),
        ("forecast rows per coin", "", "forecast_rows", ""),
        ("test months", tests, "test_months", ""),
        ("hours of 2026", "to 2026-10-29", "hours_of_last_year", ""),
        ("Kronos hours per coin", "every fourth hour of 2026", "kronos_hours", ""),
        ("price dates asked", "1st and 15th 2018-01..2026-10", "price_dates", ""),
        ("months asked", "2018-01..2026-09", "months_asked", ""),
        ("complete Monday weeks", "2018-01-01..2026-10-25", "complete_weeks", ""),
        ("strategies in the grid", "66 rules x 12 coins", "strategies", grid),
        ("rules in the grid", "", "rules", grid),
        ("coins in the grid", "", "coins", ""),
        ("features", "", "features", "counted from the table of features"),
        ("gap between train and test", "", "gap_hours", "smallest over all folds"),
    )
    return [
        *(("calendar", what, when, counts[key], note) for what, when, key, note in calendar_rows),
        ("fig_walk_forward", "folds", tests, counts["folds"], ""),
        ("fig_walk_forward", "gap", "", counts["gap_hours"] // 24, "smallest over all folds"),
    ]
