"""The questions: their number, their days against the calendar module, their words."""

from __future__ import annotations

import calendar
from datetime import date, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remeasure.studies.crypto.memory_questions import FIRST, LAST, questions


def test_the_publications_window_gives_212_prices_105_months_460_weeks() -> None:
    asked = questions(FIRST, LAST)
    counts = asked.group_by("kind", maintain_order=True).len()
    assert counts.rows() == [("price", 212), ("month", 105), ("week", 460)]
    assert asked["prompt"].is_unique().all()
    weeks = asked.filter(pl.col("kind") == "week")
    assert weeks["first"][0] == date(2018, 1, 1)
    assert weeks["last"][-1] == date(2026, 10, 25)


def test_words_name_the_days_whatever_the_locale() -> None:
    asked = questions("2018-02-15", "2018-03-31")["prompt"].to_list()
    assert "on February 15, 2018?" in asked[0]
    assert "over March 2018?" in asked[3]
    assert "the week from February 19, 2018 to February 25, 2018?" in asked[4]


@given(st.dates(date(2018, 1, 1), date(2026, 10, 29)), st.integers(0, 500))
def test_days_are_those_of_the_calendar(first: date, length: int) -> None:
    last = first + timedelta(days=length)
    days = [first + timedelta(days=i) for i in range(length + 1)]
    prices = [(d, d) for d in days if d.day in (1, 15)]
    months = [
        (d, d.replace(day=calendar.monthrange(d.year, d.month)[1])) for d in days if d.day == 1
    ]
    weeks = [(d, d + timedelta(days=6)) for d in days if d.weekday() == calendar.MONDAY]
    expected = [each for each in (*prices, *months, *weeks) if each[1] <= last]
    assert questions(str(first), str(last)).select("first", "last").rows() == expected


def test_a_window_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(ValueError, match="ends"):
        questions(LAST, FIRST)
