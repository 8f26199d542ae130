"""What language models are asked about past prices of bitcoin, word for word.

Three kinds of questions follow from one window of days. ``price``: the closing price on the 1st
and the 15th of each month. ``month``: did the price rise or fall over a calendar month. ``week``:
the same over a week, Monday to Sunday, UTC. The publication's window gives 212, 105 and 460 of
them. The publication prints no prompts: the wording is this project's own, one user turn without
a system prompt, so that any model's chat template can carry it.

A direction is never generated: `UP` and `DOWN` are the two words whose first tokens are weighed
at the place of the answer. A price is generated and read by
`remeasure.studies.crypto.memory_parse`; the date that a model may echo has the form of
`written`, as in ``January 15, 2018``.
"""

from __future__ import annotations

from datetime import date
from typing import Final, Literal

import polars as pl

Kind = Literal["price", "month", "week"]

#: Kinds in the order in which they are asked.
KINDS: Final[tuple[Kind, ...]] = ("price", "month", "week")

#: The publication's window: prices to 2026-10-15, months to 2026-09, weeks to 2026-10-25.
FIRST: Final = "2018-01-01"
LAST: Final = "2026-10-29"

#: Days of each month on which the price is asked.
PRICE_DAYS: Final = (1, 15)

#: Words of a direction.
UP: Final = "up"
DOWN: Final = "down"

#: A price is generated greedily, with at most so many new tokens.
MAX_NEW_TOKENS: Final = 64

#: What each kind of question says; ``{first}`` and ``{last}`` are filled in.
PROMPTS: Final[dict[Kind, str]] = {
    "price": (
        "What was the closing price of Bitcoin in US dollars on {first}?"
        " Answer with one number only."
    ),
    "month": (
        "Did the price of Bitcoin in US dollars go up or down over {first}?"
        " Answer with one word only: up or down."
    ),
    "week": (
        "Did the price of Bitcoin in US dollars go up or down over the week from {first}"
        " to {last}? Answer with one word only: up or down."
    ),
}

MONTH_NAMES: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
"""English whatever the locale."""

SCHEMA: Final = {"kind": pl.String, "first": pl.Date, "last": pl.Date, "prompt": pl.String}


def written(day: date) -> str:
    """A day in words.

    >>> written(date(2018, 1, 15))
    'January 15, 2018'
    """
    return f"{MONTH_NAMES[day.month - 1]} {day.day}, {day.year}"


def prompt(kind: Kind, first: date, last: date) -> str:
    """The words of one question over the days ``first`` to ``last``, both included.

    >>> prompt("month", date(2018, 1, 1), date(2018, 1, 31))[:69]
    'Did the price of Bitcoin in US dollars go up or down over January 201'
    """
    name = f"{MONTH_NAMES[first.month - 1]} {first.year}" if kind == "month" else written(first)
    return PROMPTS[kind].format(first=name, last=written(last))


def questions(first: str, last: str) -> pl.DataFrame:
    """Every question whose days lie wholly within a window.

    Parameters
    ----------
    first, last
        First and last day of the window, ``YYYY-MM-DD``, both included; `FIRST` and `LAST`
        give the publication's.

    Returns
    -------
    frame with columns ``kind`` (price, month or week), ``first`` and ``last`` (days, both
    included; the same day twice for a price) and ``prompt``. Prices come first, then months,
    then weeks, each in the order of time.

    Raises
    ------
    ValueError
        When the window is not two days in order.
    """
    begin, end = date.fromisoformat(first), date.fromisoformat(last)
    if begin > end:
        raise ValueError(f"the window ends ({last}) before it begins ({first})")
    days = pl.DataFrame({"first": pl.date_range(begin, end, "1d", eager=True)})
    asked: dict[Kind, pl.DataFrame] = {
        "price": days.filter(pl.col("first").dt.day().is_in(PRICE_DAYS)).with_columns(
            last=pl.col("first")
        ),
        "month": days.filter(pl.col("first").dt.day() == 1).with_columns(
            last=pl.col("first").dt.month_end()
        ),
        "week": days.filter(pl.col("first").dt.weekday() == 1).with_columns(
            last=pl.col("first").dt.offset_by("6d")
        ),
    }
    rows = [
        (kind, since, until, prompt(kind, since, until))
        for kind in KINDS
        for since, until in asked[kind].filter(pl.col("last") <= end).iter_rows()
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")
