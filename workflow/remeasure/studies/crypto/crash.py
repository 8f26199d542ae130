"""The crash of 10 October 2025: the deepest fall within eighty minutes of that day.

The publication does not say how it measured, so every reading is written down. A fall runs
from the open of one candle to the low of the same or a later one, or from close to close,
within one window of eighty minutes and within the day. Each coin has its deepest window; the
two others are also measured in that of BTC.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import dataframely as dy
import numpy as np
import polars as pl
from numpy.typing import NDArray

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare, one_of
from remeasure.store.tables import reader, select
from remeasure.studies.crypto import calendar
from remeasure.studies.crypto.coverage import BASE
from remeasure.studies.crypto.published import answer_all
from remeasure.studies.crypto.series import coin
from remeasure.studies.crypto.settings import Interval, Symbol

Floats = NDArray[np.float64]

OUTPUTS = ("stat_crash",)
COINS = ("BTC", "ETH", "SOL")
LEADER = "BTCUSDT"

DAY = date(2025, 10, 10)
MINUTES = 80

#: Candles longer than this are too coarse for a window of eighty minutes.
COARSEST = "15m"

LOW_OPEN, CLOSE_CLOSE = "open to low", "close to close"
OWN, LEADERS = "own", "BTC's"

CRASH = declare(
    "crash",
    {
        "coin": dy.String(),
        "convention": one_of([LOW_OPEN, CLOSE_CLOSE]),
        "window": one_of([OWN, LEADERS]),
        "candles": dy.String(),
        "minutes": dy.Int64(min_exclusive=0),
        "begin": dy.Datetime(),
        "end": dy.Datetime(),
        "percent": dy.Float64(),
    },
    unique=["coin", "convention", "window"],
)
"""One row a coin, convention and window: fall in percent (positive) between ``begin`` and
``end`` (UTC; the open of the first candle or the first close, and the close of the last
candle), out of windows of ``minutes`` of candles of this length."""


class CrashStep(Model):
    """What the crash needs: the coins, and the intervals of the candle files, in their order."""

    coins: tuple[Symbol, ...]
    intervals: tuple[Interval, ...]


@dataclass(frozen=True)
class Fall:
    """A fall from candle ``first`` to candle ``last``, as a fraction (positive)."""

    first: int
    last: int
    size: float


@dataclass(frozen=True)
class Session:
    """Candles of one coin and day, shape (n,) each."""

    open_time: NDArray[np.datetime64]
    open: Floats
    low: Floats
    close: Floats


def deepest_fall(start: Floats, end: Floats, steps: int) -> Fall:
    """The deepest ``1 - end[b] / start[a]`` over ``0 <= b - a <= steps``.

    Of equals the one that begins last: prices that stand still are no part of a fall.

    Parameters
    ----------
    start, end
        Prices of the candles, shape (n,).
    """
    padded = np.concatenate([end, np.full(steps, np.inf)])
    later = np.lib.stride_tricks.sliding_window_view(padded, steps + 1)
    falls = 1 - later.min(axis=1) / start
    first = falls.size - 1 - int(np.argmax(falls[::-1]))
    return Fall(first, first + int(np.argmin(later[first])), float(falls[first]))


def window_fall(session: Session, begin: np.datetime64, end: np.datetime64) -> Fall | None:
    """The fall from the first open between two moments to the lowest low; None without candles."""
    inside = np.flatnonzero((session.open_time >= begin) & (session.open_time < end))
    if not inside.size:
        return None
    first, lowest = int(inside[0]), int(inside[np.argmin(session.low[inside])])
    return Fall(first, lowest, float(1 - session.low[lowest] / session.open[first]))


def window_closes(session: Session, begin: np.datetime64, end: np.datetime64) -> Fall | None:
    """Likewise from the first close between two moments to the lowest of the closes after it."""
    inside = np.flatnonzero((session.open_time >= begin) & (session.open_time < end))
    if not inside.size:
        return None
    first, lowest = int(inside[0]), int(inside[np.argmin(session.close[inside])])
    return Fall(first, lowest, float(1 - session.close[lowest] / session.close[first]))


def measure_crash(
    *, candles: list[Path], crash: Path, settings: CrashStep, origin: str
) -> list[Measurement]:
    """Step: find the deepest falls of 10 October 2025 and answer the rows of :data:`OUTPUTS`.

    Parameters
    ----------
    candles
        DuckDB files with a table ``candles`` each, one an interval of the settings; the
        finest that has the day is used.
    origin
        Where the candles come from: a generated day has no crash, which the answers say.
    crash
        Output, Parquet: :data:`CRASH`; empty where no candles of 15 minutes or finer have it.
    """
    rows: list[dict[str, Any]] = []
    leaders: dict[str, tuple[np.datetime64, np.datetime64]] = {}
    for symbol in sorted(settings.coins, key=lambda each: each != LEADER):
        chosen = _finest(candles, symbol, settings)
        if chosen is not None:
            interval, session = chosen
            rows += _falls(symbol, interval, session, leaders)
    table = pl.DataFrame(rows, schema=CRASH.types)
    write_frame(table, crash, CRASH)
    answers = [
        *_answers(table, origin),
        Measurement(output_id="stat_crash", quantity="window", value=MINUTES),
    ]
    return answer_all(answers, OUTPUTS, f"this run has no candles of {COARSEST} or finer on {DAY}")


def _finest(candles: list[Path], symbol: str, settings: CrashStep) -> tuple[str, Session] | None:
    files = dict(zip(settings.intervals, candles, strict=True))
    fit = [name for name in files if calendar.step(name) <= calendar.step(COARSEST)]
    for interval in sorted(fit, key=calendar.step):
        with reader(files[interval]) as connection:
            rows = select(
                connection,
                """
                SELECT open_time, open, low, close FROM candles
                WHERE symbol = ? AND open_time >= ? AND open_time < ? ORDER BY open_time
                """,
                [symbol, DAY, DAY + timedelta(days=1)],
            )
        if rows.height == calendar.expected_count(DAY, DAY, interval, symbol):
            times = rows["open_time"].to_numpy().astype("datetime64[us]")
            prices = (rows[name].to_numpy() for name in ("open", "low", "close"))
            return interval, Session(times, *prices)
    return None


def _falls(
    symbol: str,
    interval: str,
    session: Session,
    leaders: dict[str, tuple[np.datetime64, np.datetime64]],
) -> Iterator[dict[str, Any]]:
    length = calendar.step(interval)
    count = int(np.timedelta64(MINUTES, "m") // length)

    def row(convention: str, window: str, fall: Fall) -> dict[str, Any]:
        # A close stands at the end of its candle, an open at the begin.
        late = length if convention == CLOSE_CLOSE else np.timedelta64(0, "m")
        return {
            "coin": coin(symbol),
            "convention": convention,
            "window": window,
            "candles": interval,
            "minutes": int(count * length / np.timedelta64(1, "m")),
            "begin": (session.open_time[fall.first] + late).item(),
            "end": (session.open_time[fall.last] + length).item(),
            "percent": 100 * fall.size,
        }

    own = {
        LOW_OPEN: deepest_fall(session.open, session.low, count - 1),
        CLOSE_CLOSE: deepest_fall(session.close, session.close, count),
    }
    for convention, fall in own.items():
        yield row(convention, OWN, fall)
        if symbol == LEADER:
            leaders[convention] = (
                session.open_time[fall.first],
                session.open_time[fall.last] + length,
            )
        elif convention in leaders:
            within = window_fall if convention == LOW_OPEN else window_closes
            shared = within(session, *leaders[convention])
            if shared is not None:
                yield row(convention, LEADERS, shared)


def _answers(table: pl.DataFrame, origin: str) -> Iterator[Measurement]:
    for name in COINS:
        own = table.filter(pl.col("coin") == name)
        main = own.filter(pl.col("convention") == LOW_OPEN, pl.col("window") == OWN)
        if main.is_empty():
            continue
        row = main.row(0, named=True)
        fine = row["candles"] == BASE
        yield Measurement(
            output_id="stat_crash",
            quantity=f"fall within {MINUTES} minutes, {DAY}",
            condition=name,
            value=row["percent"],
            coverage=WHOLE
            if fine
            else f"windows of {row['minutes']} minutes, of {row['candles']} candles",
            note=_note(row, own, origin),
        )


def _note(row: dict[str, Any], own: pl.DataFrame, origin: str) -> str:
    parts = [f"{LOW_OPEN}, {row['begin']:%H:%M} to {row['end']:%H:%M} UTC"]
    parts += [
        f"{each['convention']} in {'its own' if each['window'] == OWN else LEADERS} window"
        f" {each['percent']:.1f}%"
        for each in own.iter_rows(named=True)
        if (each["convention"], each["window"]) != (LOW_OPEN, OWN)
    ]
    if origin == "generated":
        parts.append("the synthetic market has no crash on this day")
    return "; ".join(parts)
