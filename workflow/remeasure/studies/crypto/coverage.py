"""Which part of the publication's own window, and at which grain, a result rests on.

The answer is ``whole`` or says in words what is missing. It compares calendars of candles,
never prices, so it can be asked before or after measuring.
"""

from __future__ import annotations

from datetime import date

from remeasure.ledger.measurement import WHOLE
from remeasure.studies.crypto import calendar

#: The publication's window of prices, both days included.
FIRST, LAST = date(2021, 1, 1), date(2026, 10, 29)

#: The publication rebuilds its hours from candles of this interval.
BASE = "5m"

#: Share of a row's own window that must be measured for it to count as whole.
ENOUGH = 0.999


def coverage(
    first: date,
    last: date,
    *,
    published_first: date = FIRST,
    published_last: date = LAST,
    symbol: str = "",
    base: str = BASE,
    what: str = "hours",
    base_matters: bool = False,
) -> str:
    """``whole``, or what part of the published window was measured, in words.

    Parameters
    ----------
    first, last
        Days of the candles that were measured, both included. Their holes are the
        exchange's own halts: candles with any other hole are refused where they are parsed.
    published_first, published_last
        The row's own window, both included: the publication's, a calendar year, the test months.
    symbol
        Coin whose listing day may shorten what can be expected of the window.
    base
        Interval of the candles below the result.
    what
        What was rebuilt from them.
    base_matters
        Whether coarser candles than the publication's change the quantity, as they change a
        realised variance. Closing prices of hours are the same from candles of any interval:
        there a coarser base is named only where the window is not whole either.

    Measuring more than the window counts as missing it: the sample is then another one.

    >>> coverage(date(2022, 1, 1), date(2025, 12, 31), base="1h")
    'candles 2022-01-01 to 2025-12-31 of 2021-01-01 to 2026-10-29, hours rebuilt from 1h'
    >>> coverage(date(2021, 1, 1), date(2026, 10, 29), base="1h")
    'whole'
    """
    coarse = f"{what} rebuilt from {base}" if calendar.step(base) > calendar.step(BASE) else ""
    window = calendar.expected_count(published_first, published_last, "1h", symbol)
    low, high = max(first, published_first), min(last, published_last)
    inside = calendar.expected_count(low, high, "1h", symbol) if low <= high else 0
    beyond = calendar.expected_count(first, last, "1h", symbol) - inside
    if inside >= ENOUGH * window and beyond <= (1 - ENOUGH) * window:
        return coarse if coarse and base_matters else WHOLE
    words = f"candles {first} to {last} of {published_first} to {published_last}"
    return f"{words}, {coarse}" if coarse else words


def outside(what: str, first: date, last: date) -> str:
    """The reason why something cannot be measured: it lies outside the candles at hand."""
    return f"{what} lies outside this run's candles ({first} to {last})"


def base_note(base: str) -> str:
    """What to say beside a whole result whose hours come from coarser candles; else nothing."""
    if calendar.step(base) <= calendar.step(BASE):
        return ""
    return f"hourly closes from {base} candles, which equal those rebuilt from {BASE}"
