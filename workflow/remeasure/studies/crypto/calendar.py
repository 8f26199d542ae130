"""When candles exist: interval grids, listing days and the seven spot halts.

Spot trades around the clock, so the calendar is the regular UTC grid less the
candles that lie wholly inside a halt of the exchange. A candle that a halt only
touches exists (it holds the trades before or after). The halts are part of the
data's definition: the printed 51,058 hourly bars need exactly the fourteen
whole hours that they leave empty. Any other hole is a fault of the data at hand
and stops the run.

All times are naive UTC ``datetime64[us]``; a candle is named by its open time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt

from remeasure.errors import ConfigError, DataError

Times = npt.NDArray[np.datetime64]
Mask = npt.NDArray[np.bool_]

#: Length of a candle of each interval.
STEPS: dict[str, np.timedelta64] = {
    "5m": np.timedelta64(5, "m"),
    "15m": np.timedelta64(15, "m"),
    "1h": np.timedelta64(60, "m"),
    "4h": np.timedelta64(240, "m"),
    "1d": np.timedelta64(1440, "m"),
}


@dataclass(frozen=True)
class Halt:
    """A halt of spot trading on all pairs: no trade from ``missing_from`` to ``back_at``, UTC."""

    missing_from: np.datetime64
    back_at: np.datetime64


#: Halts from 2021-01-01 on. Sources: study card, section "Data shapes and quirks"; the first
#: four and the start of the fifth are listed in issue 368 of binance-public-data. Earlier halts
#: are not listed, so intraday windows before 2021 are refused at the first of them.
HALTS = tuple(
    Halt(np.datetime64(missing_from, "us"), np.datetime64(back_at, "us"))
    for missing_from, back_at in (
        ("2021-02-11T03:41", "2021-02-11T05:00"),
        ("2021-03-06T02:00", "2021-03-06T03:30"),
        ("2021-04-20T02:00", "2021-04-20T04:30"),
        ("2021-04-25T04:01", "2021-04-25T08:45"),
        ("2021-08-13T02:00", "2021-08-13T06:30"),
        ("2021-09-29T07:00", "2021-09-29T09:00"),
        ("2023-03-24T12:40", "2023-03-24T14:00"),
    )
)

#: First day with candles of the spot pair. Coins that are not listed here are expected to trade
#: from the first day of any window.
LISTED = {
    "BTCUSDT": date(2017, 8, 17),
    "ETHUSDT": date(2017, 8, 17),
    "BNBUSDT": date(2017, 11, 6),
    "LTCUSDT": date(2017, 12, 13),
    "ADAUSDT": date(2018, 4, 17),
    "XRPUSDT": date(2018, 5, 4),
    "TRXUSDT": date(2018, 6, 11),
    "LINKUSDT": date(2019, 1, 16),
    "DOGEUSDT": date(2019, 7, 5),
    "SOLUSDT": date(2020, 8, 11),
    "DOTUSDT": date(2020, 8, 18),
    "AVAXUSDT": date(2020, 9, 22),
}

_SHOWN = 5


def step(interval: str) -> np.timedelta64:
    """Length of one candle.

    Raises
    ------
    ConfigError
        When there is no such interval.
    """
    try:
        return STEPS[interval]
    except KeyError:
        raise ConfigError(
            f"there is no interval {interval!r}",
            where="interval",
            remedy=f"use one of {', '.join(STEPS)}",
        ) from None


def grid(first: date, last: date, interval: str) -> Times:
    """Open times of all candles of the days ``first`` to ``last`` (both included), halts ignored.

    Returns
    -------
    datetime64[us] array, shape ``(days * candles a day,)``
    """
    start = np.datetime64(first, "us")
    end = np.datetime64(last + timedelta(days=1), "us")
    return np.arange(start, end, step(interval))


def inside_halt(open_times: Times, interval: str) -> Mask:
    """Which candles lie wholly inside a halt, shape ``(n,)``: these are never written."""
    begin = open_times[:, None]
    end = begin + step(interval)
    missing_from = np.array([halt.missing_from for halt in HALTS])
    back_at = np.array([halt.back_at for halt in HALTS])
    return np.asarray(((begin >= missing_from) & (end <= back_at)).any(axis=1))


def touched_by_halt(open_times: Times, interval: str) -> Mask:
    """Which candles overlap a halt at all, shape ``(n,)``: empty or partial ones."""
    begin = open_times[:, None]
    end = begin + step(interval)
    missing_from = np.array([halt.missing_from for halt in HALTS])
    back_at = np.array([halt.back_at for halt in HALTS])
    return np.asarray(((begin < back_at) & (end > missing_from)).any(axis=1))


def missing(first: date, last: date, interval: str) -> Times:
    """Open times of the window's candles that do not exist because of a halt."""
    times = grid(first, last, interval)
    return times[inside_halt(times, interval)]


def lost_hours(first: date, last: date) -> Times:
    """Whole hours of the window without a candle."""
    return missing(first, last, "1h")


def partial_hours(first: date, last: date) -> Times:
    """Hours of the window that lost some of their candles to a halt, but not all."""
    hours = grid(first, last, "1h")
    return hours[touched_by_halt(hours, "1h") & ~inside_halt(hours, "1h")]


def first_traded(symbol: str, first: date) -> date:
    """First day of a window from ``first`` on which the coin can have candles."""
    return max(first, LISTED.get(symbol, first))


def expected(first: date, last: date, interval: str, symbol: str = "") -> Times:
    """Open times of the candles that must exist: the grid less halts, from the listing day on.

    Parameters
    ----------
    symbol
        Coin whose listing day counts; none without it.

    Returns
    -------
    datetime64[us] array, shape ``(n,)``, ascending
    """
    times = grid(first_traded(symbol, first), last, interval)
    return times[~inside_halt(times, interval)]


def expected_count(first: date, last: date, interval: str, symbol: str = "") -> int:
    """Number of candles that must exist, see :func:`expected`."""
    return expected(first, last, interval, symbol).size


def check(symbol: str, open_times: Times, interval: str, first: date, last: date) -> None:
    """Refuse candles whose holes are not exactly the known halts.

    On the listing day of a coin the first candle may be late: trading began during that day.

    Parameters
    ----------
    open_times
        Open times of the coin's candles, datetime64 of any unit, shape ``(n,)``.
    first, last
        Window, both days included.

    Raises
    ------
    DataError
        When times repeat or go back, lie off the grid, outside the window or inside a halt,
        or when a candle is missing that no halt explains. Names the coin and the first few.
    """
    times = open_times.astype("datetime64[us]")
    where = f"{symbol} {interval}, {first} to {last}"
    if symbol in LISTED and last < LISTED[symbol]:
        raise DataError(
            f"{symbol} was not traded before {LISTED[symbol]}",
            where=where,
            remedy="choose a later window or leave the coin out",
        )
    back = np.flatnonzero(times[1:] <= times[:-1])
    if back.size:
        raise DataError(
            f"{_candles(back.size)} of {symbol} repeat or go back in time,"
            f" first at {_words(times[back[0] + 1])}",
            where=where,
            remedy="look for files that overlap, such as a monthly and a daily one",
        )
    wanted = expected(first, last, interval, symbol)
    if times.size and first_traded(symbol, first) == LISTED.get(symbol):
        opening = np.datetime64(LISTED[symbol], "us")
        wanted = wanted[wanted >= min(times[0], opening + np.timedelta64(1, "D") - step(interval))]
    if np.array_equal(times, wanted):
        return
    strange = np.setdiff1d(times, wanted, assume_unique=True)
    halted = strange[inside_halt(strange, interval) & np.isin(strange, grid(first, last, interval))]
    if halted.size:
        raise DataError(
            f"{symbol} has {_candles(halted.size)} inside a known halt of the exchange: "
            f"{_ranges(halted, interval)}",
            where=where,
            remedy="check the source: the real archive has none there",
        )
    if strange.size:
        raise DataError(
            f"{symbol} has {_candles(strange.size)} outside the window or off the {interval} grid: "
            f"{_ranges(strange, interval)}",
            where=where,
            remedy="check the unit of the time stamps and the window",
        )
    holes = np.setdiff1d(wanted, times, assume_unique=True)
    raise DataError(
        f"{symbol} lacks {_candles(holes.size)} that no known halt explains: "
        f"{_ranges(holes, interval)}",
        where=where,
        remedy="fetch the files of these days again, or choose a window without them",
    )


def _words(time: np.datetime64) -> str:
    minute = time.astype("datetime64[m]")
    return str(minute if minute == time else time).replace("T", " ")


def _candles(count: int) -> str:
    return f"{count} candle" if count == 1 else f"{count} candles"


def _ranges(times: Times, interval: str) -> str:
    """The first few runs of consecutive open times, in words."""
    cuts = np.flatnonzero(np.diff(times) != step(interval)) + 1
    runs = np.split(times, cuts)
    words = [
        _words(run[0]) if run.size == 1 else f"{_words(run[0])} to {_words(run[-1])}"
        for run in runs[:_SHOWN]
    ]
    more = len(runs) - _SHOWN
    return ", ".join(words) + (f" and {more} more" if more > 0 else "")
