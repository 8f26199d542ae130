"""Rows of candles, believed only after every check: the same for every way they come.

A row of the public archive has twelve columns. This module turns text in that form, or
tables that a user already owns, into the columns of the table of candles, and refuses
what cannot be: numbers that are none, time stamps that contradict each other, the
interval or the file's name, repeated candles, impossible prices. Every refusal names
the file, the column and the row.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import accumulate
from typing import Final, NoReturn

import numpy as np
import polars as pl

from remeasure.errors import DataError
from remeasure.studies.crypto import calendar

#: Columns of an archive file in order, as the table of candles names them.
RAW: Final[Mapping[str, pl.DataType]] = {
    "open_time": pl.Int64(),
    "open": pl.Float64(),
    "high": pl.Float64(),
    "low": pl.Float64(),
    "close": pl.Float64(),
    "volume": pl.Float64(),
    "close_time": pl.Int64(),
    "quote_volume": pl.Float64(),
    "trades": pl.Int64(),
    "taker_buy_volume": pl.Float64(),
    "taker_buy_quote_volume": pl.Float64(),
    "ignore": pl.Float64(),
}

#: Other names under which the archive's headers know a column.
_ALIASES: Final[Mapping[str, str]] = {
    "count": "trades",
    "number_of_trades": "trades",
    "quote_asset_volume": "quote_volume",
    "taker_buy_base_asset_volume": "taker_buy_volume",
    "taker_buy_quote_asset_volume": "taker_buy_quote_volume",
}

PRICES: Final = ("open", "high", "low", "close")
OPTIONAL: Final = ("quote_volume", "trades", "taker_buy_volume", "taker_buy_quote_volume")
VOLUMES: Final = ("volume", *OPTIONAL)

#: From this value on a time stamp counts microseconds, below it milliseconds.
MICROSECONDS_FROM: Final = 10**14

#: When the exchange was interrupted before the first halt of the calendar, UTC. Candles of whole
#: days lived through it, cut short: that of 2018-02-08 closes at 00:28.
EARLIER_HALTS: Final = (
    calendar.Halt(np.datetime64("2018-02-08T00:28", "us"), np.datetime64("2018-02-09T10:00", "us")),
)

#: Text parsed at once: bounds the memory without costing time.
_BATCH_BYTES: Final = 8 << 20

_INTEGER = re.compile(rb"-?[0-9]+")

AGAIN = "delete the file and fetch it again; if it comes again, the source is not sound"
_UNITS = "look whether the archive has changed its format (unit of time, columns)"


@dataclass(frozen=True)
class Rows:
    """Rows of one raw file as text, before anything is believed.

    Attributes
    ----------
    where
        Name of the file, for messages.
    body
        CSV lines without a header, each ended by a newline.
    skipped
        Lines before the first of ``body``.
    first, end
        Days that the rows must lie in, ``end`` excluded; None where nothing says so.
    """

    where: str
    body: bytes
    skipped: int = 0
    first: date | None = None
    end: date | None = None


@dataclass(frozen=True)
class Piece:
    """A file's share of rows that are checked together; fields as in `Rows`."""

    where: str
    rows: int
    skipped: int = 0
    first: date | None = None
    end: date | None = None


@dataclass(frozen=True)
class _Rule:
    """A condition that no row may meet, ``unless`` another one excuses it."""

    column: str
    what: str
    broken: pl.Expr
    remedy: str = AGAIN
    unless: pl.Expr | None = None

    def row(self, frame: pl.DataFrame) -> int | None:
        """The first row that breaks the rule without an excuse."""
        broken = self.broken if self.unless is None else self.broken & ~self.unless
        rows = frame.select(broken.arg_true()).to_series()
        return int(rows[0]) if rows.len() else None


def _refuse(what: str, where: object, remedy: str) -> NoReturn:
    raise DataError(what, where=where, remedy=remedy)


def _microseconds(day: date) -> int:
    return _stamp(np.datetime64(day, "us"))


def _stamp(moment: np.datetime64) -> int:
    return int(moment.astype("datetime64[us]").astype(np.int64))


def csv_rows(body: bytes, where: str, first: date | None = None, end: date | None = None) -> Rows:
    """The rows of a CSV file of the archive, with or without a header.

    A first field that is not an integer is a header; its names must be those of the
    archive in the archive's order.

    Raises
    ------
    DataError
        When a header has other columns.
    """
    skipped = 0
    head = body[: body.find(b"\n") + 1] or body
    if head and not _INTEGER.fullmatch(head.split(b",", 1)[0]):
        names = [_ALIASES.get(name, name) for name in _header(head)]
        if names != list(RAW):
            _refuse(
                f"the header does not name the archive's columns: {', '.join(names)[:200]}",
                f"{where}, row 1",
                _UNITS,
            )
        body, skipped = body[len(head) :], 1
    if body and not body.endswith(b"\n"):
        body += b"\n"
    return Rows(where, body, skipped, first, end)


def _header(head: bytes) -> list[str]:
    text = head.decode("utf-8", "replace").strip()
    return [name.strip().strip('"').lower() for name in text.split(",")]


def parse_rows(texts: Iterable[Rows], interval: str) -> pl.DataFrame:
    """Candles out of the rows of a coin's files, in order of time.

    Parameters
    ----------
    texts
        Rows of each file, by time. They are read, joined and parsed some megabytes at a time.
    interval
        Length of the candles.

    Returns
    -------
    polars.DataFrame
        The columns of `CANDLES` but the symbol, one row a candle, ascending.

    Raises
    ------
    DataError
        When a field is missing or no number, time stamps contradict each other, the
        interval or the file's name, times repeat or go back, or a price or volume is
        impossible. Names the file, the column and the row.
    """
    frames: list[pl.DataFrame] = []
    pieces: list[Piece] = []
    for batch in _batches(texts):
        frame, parts = _parse_batch(batch)
        frames.append(frame)
        pieces += parts
    raw = pl.concat(frames, rechunk=True) if frames else pl.DataFrame(schema=dict(RAW))
    return checked_candles(raw, pieces, interval)


def _batches(texts: Iterable[Rows]) -> Iterator[list[Rows]]:
    batch: list[Rows] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text.body)
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _parse_batch(batch: Sequence[Rows]) -> tuple[pl.DataFrame, list[Piece]]:
    pieces = [
        Piece(text.where, text.body.count(b"\n"), text.skipped, text.first, text.end)
        for text in batch
    ]
    try:
        frame = _read_csv(b"".join(text.body for text in batch))
    except pl.exceptions.PolarsError as error:
        raise _unreadable(batch, error) from error
    if frame.height != sum(piece.rows for piece in pieces):
        raise _unreadable(batch, ValueError("rows and lines do not agree"))
    return frame, pieces


def _read_csv(body: bytes) -> pl.DataFrame:
    if not body:
        return pl.DataFrame(schema=dict(RAW))
    return pl.read_csv(body, has_header=False, schema=dict(RAW), quote_char=None)


def _unreadable(batch: Sequence[Rows], error: Exception) -> DataError:
    """Find the first row that cannot be read; only ever run on a failure."""
    for text in batch:
        if _readable(text.body):
            continue
        lines = text.body.split(b"\n")[:-1]
        # The first n lines are readable up to the bad one and not any more from there on.
        at = bisect_left(
            range(len(lines)),
            True,
            key=lambda last: not _readable(b"\n".join(lines[: last + 1]) + b"\n"),
        )
        fields = lines[at].split(b",")
        row = f"row {text.skipped + at + 1}"
        shown = lines[at][:160].decode("utf-8", "replace")
        if len(fields) != len(RAW):
            return DataError(
                f"a row has {len(fields)} fields instead of {len(RAW)}: {shown}",
                where=f"{text.where}, {row}",
                remedy=AGAIN,
            )
        column = _bad_field(fields)
        return DataError(
            f"a field of column {column} is not a number: {shown}",
            where=f"{text.where}, column {column}, {row}",
            remedy=AGAIN,
        )
    return DataError(
        f"the rows cannot be read ({str(error).splitlines()[0]})",
        where=", ".join(text.where for text in batch[:3]),
        remedy=AGAIN,
    )


def _readable(body: bytes) -> bool:
    try:
        return _read_csv(body).height == body.count(b"\n")
    except pl.exceptions.PolarsError:
        return False


def _bad_field(fields: Sequence[bytes]) -> str:
    for at, name in enumerate(RAW):
        probe = [b"0"] * len(RAW)
        probe[at] = fields[at]
        if not _readable(b",".join(probe) + b"\n"):
            return name
    return "?"


def checked_candles(raw: pl.DataFrame, pieces: Sequence[Piece], interval: str) -> pl.DataFrame:
    """Candles out of the twelve raw columns, after every check of time, price and volume.

    Also the way in for rows that come otherwise than as CSV, such as pages of the REST
    interface, whose rows have the same twelve columns.

    Raises
    ------
    DataError
        See `parse_rows`.
    """
    rules = [*_stamp_rules(interval), *_price_rules()]
    _check_present(raw, pieces, tuple(RAW))
    _check_rules(raw, pieces, rules)
    opened = _open_time().alias("open_time")
    frame = raw.select(opened, *PRICES, *VOLUMES)
    _check_time(frame["open_time"], raw, pieces, interval)
    return frame.with_columns(pl.col("open_time").cast(pl.Datetime("us")))


def _open_time() -> pl.Expr:
    """Open time in microseconds; the unit is decided value by value."""
    stamp = pl.col("open_time")
    return pl.when(stamp >= MICROSECONDS_FROM).then(stamp).otherwise(stamp * 1000)


def _stamp_rules(interval: str) -> list[_Rule]:
    length = int(calendar.step(interval).astype("timedelta64[us]").astype(np.int64))
    stamp = pl.col("open_time")
    whole = pl.when(stamp >= MICROSECONDS_FROM).then(length).otherwise(length // 1000)
    return [
        _Rule(
            "close_time",
            f"close_time is not open_time plus {interval} less one unit of time",
            pl.col("close_time") - stamp != whole - 1,
            _UNITS + "; a halt that cut the candle short must be known to the calendar",
            unless=(pl.col("close_time") - stamp).is_between(0, whole - 1) & _halted(length),
        ),
        _Rule(
            "open_time",
            f"open_time is not a multiple of {interval}",
            stamp % whole != 0,
            _UNITS,
        ),
        _Rule("ignore", "the last column is not 0", pl.col("ignore") != 0, _UNITS),
    ]


def _halted(length: int) -> pl.Expr:
    """Candles that a halt may have cut short: they close when it begins."""
    opened = _open_time()
    return pl.any_horizontal(
        (opened < _stamp(halt.back_at)) & (opened + length > _stamp(halt.missing_from))
        for halt in (*EARLIER_HALTS, *calendar.HALTS)
    )


def _price_rules() -> list[_Rule]:
    rules = [
        _Rule(name, f"{name} is not a positive price", ~(pl.col(name) > 0) | _endless(name))
        for name in PRICES
    ]
    lowest = pl.min_horizontal("open", "close")
    highest = pl.max_horizontal("open", "close")
    rules += [
        _Rule("low", "low is above open or close", pl.col("low") > lowest),
        _Rule("high", "high is below open or close", pl.col("high") < highest),
    ]
    rules += [
        _Rule(name, f"{name} is negative or not finite", (pl.col(name) < 0) | _endless(name))
        for name in VOLUMES
    ]
    return rules


def _endless(name: str) -> pl.Expr:
    # Polars sorts NaN above infinity, so this catches both.
    return ~(pl.col(name) < float("inf"))


def _check_present(frame: pl.DataFrame, pieces: Sequence[Piece], columns: Sequence[str]) -> None:
    for name in columns:
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_true()[0])
            _refuse_row(f"{name} is missing", name, row, frame, pieces, AGAIN)


def _check_rules(frame: pl.DataFrame, pieces: Sequence[Piece], rules: Sequence[_Rule]) -> None:
    """Evaluate all rules in one pass; look for the row only when one is broken."""
    broken = frame.select(
        rule.broken.any().alias(str(number)) for number, rule in enumerate(rules)
    ).row(0)
    for rule, hit in zip(rules, broken, strict=True):
        row = rule.row(frame) if hit else None
        if row is not None:
            _refuse_row(rule.what, rule.column, row, frame, pieces, rule.remedy)


def _check_time(
    stamps: pl.Series, raw: pl.DataFrame, pieces: Sequence[Piece], interval: str
) -> None:
    """Ascending, and each file inside the days of its name."""
    times = stamps.to_numpy()
    back = np.flatnonzero(times[1:] <= times[:-1])
    if back.size:
        row = int(back[0]) + 1
        what = "repeats" if times[row] == times[row - 1] else "goes back in time"
        piece, _ = _located(row, pieces)
        before, earlier = _located(row - 1, pieces)
        at = f"row {earlier}" if before is piece else f"{before.where}, row {earlier}"
        _refuse_row(f"open_time {what} after {at}", "open_time", row, raw, pieces, AGAIN)
    begin = 0
    for piece in pieces:
        end = begin + piece.rows
        if piece.rows and piece.first is not None and piece.end is not None:
            low, high = _microseconds(piece.first), _microseconds(piece.end)
            # Times ascend, so the rows between the first and the last are inside if these are.
            for row in (begin, end - 1):
                if not low <= times[row] < high:
                    _refuse_row(
                        f"a candle of {_words(int(times[row]))} lies outside the period in the"
                        f" file's name ({piece.first} to {piece.end - timedelta(days=1)})",
                        "open_time",
                        row,
                        raw,
                        pieces,
                        AGAIN,
                    )
        begin = end


def _words(microseconds: int) -> str:
    try:
        return str(np.datetime64(microseconds, "us").astype("datetime64[s]"))
    except (OverflowError, ValueError):
        return str(microseconds)


def _located(row: int, pieces: Sequence[Piece]) -> tuple[Piece, int]:
    """The file of a row and the row's number in it, counted from 1, header included."""
    ends = list(accumulate(piece.rows for piece in pieces))
    at = bisect_right(ends, row)
    piece = pieces[at]
    return piece, row - (ends[at] - piece.rows) + piece.skipped + 1


def _refuse_row(
    what: str,
    column: str,
    row: int,
    frame: pl.DataFrame,
    pieces: Sequence[Piece],
    remedy: str,
) -> NoReturn:
    piece, number = _located(row, pieces)
    values = ", ".join(f"{name}={value}" for name, value in frame.row(row, named=True).items())
    _refuse(f"{what}: {values}", f"{piece.where}, column {column}, row {number}", remedy)


def table_candles(table: pl.DataFrame, interval: str, where: str) -> pl.DataFrame:
    """Candles out of a table that the user already has, after every check of time and price.

    Parameters
    ----------
    table
        Columns as the module says; others are left out.
    interval
        Length of the candles.
    where
        Name of the table, for messages.

    Returns
    -------
    polars.DataFrame
        The columns of `CANDLES` but the symbol; optional columns that are absent hold nulls.

    Raises
    ------
    DataError
        When a column is missing or of another type, a value is missing, times are off
        the grid, repeat or go back, or a price or volume is impossible.
    """
    _check_columns(table, where)
    number = {name: RAW[name] for name in (*PRICES, *VOLUMES)}
    frame = table.select(
        pl.col("open_time").dt.replace_time_zone(None).cast(pl.Datetime("us")).to_physical(),
        *(
            pl.col(name).cast(kind) if name in table.columns else pl.lit(None, kind).alias(name)
            for name, kind in number.items()
        ),
    )
    piece = Piece(where, frame.height)
    there = tuple(name for name in frame.columns if name in table.columns)
    _check_present(frame, [piece], there)
    length = int(calendar.step(interval).astype("timedelta64[us]").astype(np.int64))
    aligned = _Rule(
        "open_time",
        f"open_time is not a multiple of {interval}",
        pl.col("open_time") % length != 0,
        "set the interval to the one of the table",
    )
    _check_rules(frame, [piece], [aligned, *_price_rules()])
    _check_time(frame["open_time"], frame, [piece], interval)
    return frame.with_columns(pl.col("open_time").cast(pl.Datetime("us")))


def _check_columns(table: pl.DataFrame, where: str) -> None:
    for name in ("open_time", *PRICES, *VOLUMES):
        kind = table.schema.get(name)
        if kind is None:
            right = name in OPTIONAL
        elif name == "open_time":
            right = isinstance(kind, pl.Datetime) and kind.time_zone in (None, "UTC")
        else:
            right = kind.is_numeric()
        if not right:
            _refuse(
                f"column {name} is {'missing' if kind is None else kind}",
                f"{where}, column {name}",
                "give open_time as a timestamp in UTC, and prices and volumes as numbers",
            )
