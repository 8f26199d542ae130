"""Funding payments out of the archive's files and the exchange's answers, after every check.

A file holds one month of one USD-M perpetual: a header and three columns, the time of
the payment in milliseconds (a few of them late), the hours between payments, and the
rate. Positive rates are paid by longs to shorts. The interval may be any number of hours
and may change; a payment that follows the one before by neither the old nor the new
interval leaves a hole, and a hole is refused.

Days that the archive does not have yet come as recorded answers of the exchange's interface
(`remeasure.fetch.binance_futures`). They state no interval, so that of the archive's last
payment holds for them; their first days repeat the archive's last ones, payment by payment.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path, PurePosixPath
from typing import Final, NoReturn, Self

import numpy as np
import polars as pl

from remeasure.errors import DataError
from remeasure.fetch.archive import read_member
from remeasure.fetch.binance_futures import HOUR_MS, JITTER_MS, FundingPage
from remeasure.fetch.checksum import parse_checksum
from remeasure.fetch.manifest import Manifest, RawFile
from remeasure.model import Model
from remeasure.store.tables import Column, Table, create, insert, read_table, writer
from remeasure.studies.crypto.settings import Dataset

#: Columns of a file, in order, and what a value of each is.
HEADER: Final = ("calc_time", "funding_interval_hours", "last_funding_rate")

#: No interval of the exchange is longer, and no rate larger (limits are 2% to 3% a payment).
LONGEST_HOURS: Final = 24
LARGEST_RATE: Final = 0.05

FUNDING: Final = Table(
    name="funding",
    meaning="one funding payment of one perpetual contract",
    columns=(
        Column(name="symbol", sql="VARCHAR", meaning="contract, as BTCUSDT"),
        Column(name="time", sql="TIMESTAMP", unit="UTC", meaning="hour of the payment"),
        Column(
            name="hours",
            sql="INTEGER",
            unit="h",
            meaning="time that it pays for: since the payment before, or as stated for the first",
            check="hours BETWEEN 1 AND 24",
        ),
        Column(
            name="rate",
            sql="DOUBLE",
            unit="1",
            meaning="share of the position that longs pay to shorts",
            check="abs(rate) <= 0.05",
        ),
    ),
    key=("symbol", "time"),
    remedy="a payment that cannot be came through the parser: compare it with the raw file",
)

_NAME = re.compile(
    r"futures/um/monthly/fundingRate/(?P<symbol>[A-Z0-9]+)/"
    r"(?P=symbol)-fundingRate-(?P<month>[0-9]{4}-[0-9]{2})\.zip"
)
_CHECKSUM = ".CHECKSUM"

AGAIN = "delete the file and fetch it again; if it comes again, the source is not sound"
_FORMAT = "look whether the archive has changed its format (columns, unit of time)"
_RERUN = "run the fetch or generate step again with the settings of this run"


class FundingFilesStep(Model):
    """Settings of `parse_funding`: contracts, first and last day (both included, UTC)."""

    dataset: Dataset


@dataclass(frozen=True, order=True)
class FundingName:
    """What the name of a file promises: contract and days (``end`` excluded).

    ``page`` is the request of an answer of the interface; None for a month of the archive.
    """

    symbol: str
    first: date
    end: date
    path: str
    page: FundingPage | None = None

    @classmethod
    def of(cls, path: str) -> Self:
        """Read a path of the layout; DataError when it is not that of a funding file."""
        page = FundingPage.of(path)
        if page is not None:
            return cls(page.symbol, page.first, page.end, path, page)
        match = _NAME.search(path)
        if match is None or not path.endswith(match[0]):
            _refuse(
                "this is not the name of a monthly funding file, nor of a page of payments",
                path,
                "they are named …/futures/um/monthly/fundingRate/BTCUSDT/"
                "BTCUSDT-fundingRate-2022-01.zip, and fapi/v1/fundingRate%Qsymbol=BTCUSDT&…",
            )
        try:
            first = date.fromisoformat(f"{match['month']}-01")
        except ValueError:
            _refuse("the month in the file's name is impossible", path, AGAIN)
        end = (first + timedelta(days=32)).replace(day=1)
        return cls(match["symbol"], first, end, path)


def _refuse(what: str, where: object, remedy: str) -> NoReturn:
    raise DataError(what, where=where, remedy=remedy)


def parse_funding(*, manifest: Path, funding: Path, settings: FundingFilesStep) -> None:
    """Step: read every funding file of a manifest and write the table of payments.

    Parameters
    ----------
    manifest
        Input: the monthly files, and the pages of the days after them.
    funding
        Output, DuckDB file with the table `FUNDING`.
    settings
        Contracts and window; payments outside the window are checked and left out.

    Raises
    ------
    SourceError
        When a file is missing, damaged or not the one in the manifest.
    DataError
        When a file is no funding file, belongs to another contract, a field is no number or
        impossible, payments repeat or are missing, or a page contradicts the archive: names
        file, column and row.
    """
    listed = Manifest.read(manifest)
    window = settings.dataset
    low, high = (
        datetime.combine(day, time()) for day in (window.first, window.last + timedelta(days=1))
    )
    files = funding_files(listed, window.coins)
    with writer(funding) as connection:
        create(connection, FUNDING)
        for symbol in sorted(files):
            frame = join_months(
                settled([(name, _payments(listed, name, entry)) for name, entry in files[symbol]])
            )
            frame = frame.filter(pl.col("time").is_between(low, high, closed="left"))
            _check_ends(symbol, frame, window)
            insert(connection, FUNDING, frame.select(pl.lit(symbol).alias("symbol"), pl.all()))


def read_payments(path: Path, symbol: str) -> pl.DataFrame:
    """Payments of one contract, ascending: ``time``, ``hours``, ``rate``; empty for none."""
    return read_table(
        path,
        FUNDING,
        columns=("time", "hours", "rate"),
        where="symbol = ?",
        parameters=[symbol],
    )


def funding_files(
    manifest: Manifest, symbols: Sequence[str]
) -> dict[str, list[tuple[FundingName, RawFile]]]:
    """The monthly files and pages of each contract, by time.

    Raises
    ------
    DataError
        When a file belongs to another contract, a contract has no file, or a checksum file
        promises another hash than the manifest.
    """
    found: dict[str, list[tuple[FundingName, RawFile]]] = {symbol: [] for symbol in symbols}
    hashes = {entry.path: entry.sha256 for entry in manifest.files}
    for entry in manifest.files:
        if entry.path.endswith(_CHECKSUM):
            path = entry.path.removesuffix(_CHECKSUM)
            body = manifest.read_verified(entry)
            if parse_checksum(body, PurePosixPath(path).name, where=entry.path) != hashes.get(path):
                _refuse("the checksum file promises other bytes than the manifest", path, AGAIN)
            continue
        name = FundingName.of(entry.path)
        if name.symbol not in found:
            _refuse(
                f"the manifest holds funding of {name.symbol}, but the settings ask for"
                f" {', '.join(symbols)}",
                entry.path,
                _RERUN,
            )
        found[name.symbol].append((name, entry))
    for symbol, entries in found.items():
        if not entries:
            _refuse(f"the manifest holds no file of {symbol}", manifest.source, _RERUN)
        entries.sort()
    return found


def _payments(manifest: Manifest, name: FundingName, entry: RawFile) -> pl.DataFrame:
    body = manifest.read_verified(entry)
    if name.page is not None:
        return parse_page(name, name.page, body)
    member = PurePosixPath(name.path).with_suffix(".csv").name
    return parse_month(name, read_member(body, member, where=name.path))


def parse_page(name: FundingName, page: FundingPage, body: bytes) -> pl.DataFrame:
    """Payments of one answer of the interface; ``stated`` is missing in every row.

    Raises
    ------
    SourceError
        As `FundingPage.rows`.
    DataError
        When a rate is impossible.
    """
    rows = page.rows(body, where=name.path)
    rate = np.array([row.fundingRate for row in rows], dtype=np.float64)
    wrong = np.flatnonzero(np.abs(rate) > LARGEST_RATE)
    if wrong.size:
        at = int(wrong[0])
        _refuse(
            f"the rate is impossible: {rows[at].fundingRate}",
            f"{name.path}, field {at}.fundingRate",
            AGAIN,
        )
    hour = np.array([row.hour for row in rows], dtype=np.int64)
    return pl.DataFrame(
        {
            "time": pl.Series(1000 * hour).cast(pl.Datetime("us")),
            "stated": pl.Series([None] * len(rows), dtype=pl.Int32),
            "rate": rate,
        }
    )


def parse_month(name: FundingName, body: bytes) -> pl.DataFrame:
    """Payments of one file: ``time`` (on the hour), ``stated`` (interval in hours), ``rate``.

    Raises
    ------
    DataError
        When the header has other columns, a field is missing, no number or impossible, or a
        payment lies outside the month of the name. Names file, column and row.
    """
    head, _, rows = body.partition(b"\n")
    columns = tuple(
        field.strip().strip('"') for field in head.decode("utf-8", "replace").split(",")
    )
    if columns != HEADER:
        unknown = [field for field in columns if field not in HEADER]
        _refuse(
            f"the header is {', '.join(columns)[:200]!r} instead of {', '.join(HEADER)}"
            + (f"; unknown column {unknown[0][:40]!r}" if unknown else ""),
            f"{name.path}, row 1",
            _FORMAT,
        )
    text = _text(name, rows)
    stamp = _cast(name, text, HEADER[0], pl.Int64())
    stated = _cast(name, text, HEADER[1], pl.Int32())
    rate = _cast(name, text, HEADER[2], pl.Float64())
    begin, end = (int(np.datetime64(day, "ms").astype(np.int64)) for day in (name.first, name.end))
    hour = (stamp + HOUR_MS // 2) // HOUR_MS * HOUR_MS
    for column, broken, what in (
        (HEADER[0], (stamp - hour).abs() >= JITTER_MS, "the payment is not on the hour"),
        (HEADER[0], (hour < begin) | (hour >= end), "the payment lies outside the file's month"),
        (
            HEADER[1],
            (stated < 1) | (stated > LONGEST_HOURS),
            f"the interval is not 1 to {LONGEST_HOURS} hours",
        ),
        # NaN and infinity are not below the limit either.
        (HEADER[2], ~(rate.abs() <= LARGEST_RATE) | rate.is_nan(), "the rate is impossible"),
    ):
        if broken.any():
            _refuse_row(name, column, int(broken.arg_true()[0]), text, what, AGAIN)
    return pl.DataFrame(
        {"time": (1000 * hour).cast(pl.Datetime("us")), "stated": stated, "rate": rate}
    )


def _text(name: FundingName, rows: bytes) -> pl.DataFrame:
    schema = dict.fromkeys(HEADER, pl.String())
    if not rows.strip():
        _refuse("the file holds no payment", name.path, AGAIN)
    lines = rows.removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(lines, 2):
        fields = line.count(b",") + 1
        if fields != len(HEADER):
            _refuse(
                f"a row has {fields} fields instead of {len(HEADER)}:"
                f" {line[:80].decode('utf-8', 'replace')}",
                f"{name.path}, row {number}",
                AGAIN,
            )
    return pl.read_csv(
        io.BytesIO(rows), has_header=False, schema=schema, quote_char=None, encoding="utf8-lossy"
    )


def _cast(name: FundingName, text: pl.DataFrame, column: str, kind: pl.DataType) -> pl.Series:
    values = text[column].str.strip_chars().cast(kind, strict=False)
    if values.null_count():
        row = int(values.is_null().arg_true()[0])
        whole = "a whole number" if kind.is_integer() else "a number"
        _refuse_row(name, column, row, text, f"the field is not {whole}", AGAIN)
    return values


def _refuse_row(
    name: FundingName, column: str, row: int, text: pl.DataFrame, what: str, remedy: str
) -> NoReturn:
    shown = ",".join(field or "" for field in text.row(row))[:120]
    _refuse(f"{what}: {shown}", f"{name.path}, column {column}, row {row + 2}", remedy)


Piece = tuple[FundingName, pl.DataFrame]


def settled(pieces: Sequence[Piece]) -> list[Piece]:
    """Months as they are, and of the pages only what follows the last month.

    Raises
    ------
    DataError
        When pages stand alone or begin after the archive ends, or where both have a day, one
        has a payment that the other lacks, or another rate. Names payment and files.
    """
    months = [piece for piece in pieces if piece[0].page is None]
    pages = [piece for piece in pieces if piece[0].page is not None]
    if not pages:
        return months
    if not months or pages[0][0].first >= months[-1][0].end:
        _refuse(
            "the payments of the interface do not overlap those of the archive, so nothing shows"
            " that they belong together",
            pages[0][0].path,
            _RERUN,
        )
    last, end = months[-1], datetime.combine(months[-1][0].end, time())
    archived = pl.concat([frame for _, frame in months])
    for name, frame in pages:
        first = datetime.combine(name.first, time())
        own = frame.filter(pl.col("time") < end)
        both = archived.filter(
            pl.col("time").is_between(first, datetime.combine(name.end, time()), closed="left")
        ).join(own, on="time", how="full", coalesce=True, suffix="_page")
        wrong = both.sort("time").filter(pl.col("rate").ne_missing(pl.col("rate_page")))
        if wrong.height:
            row = wrong.row(0, named=True)
            shown = [
                "no payment" if row[key] is None else row[key] for key in ("rate", "rate_page")
            ]
            _refuse(
                f"the interface contradicts the archive in {wrong.height} of {both.height}"
                f" payments, first that of {row['time']}: {shown[1]}, in the archive {shown[0]}",
                f"{name.path}, and {last[0].path}",
                "fetch both again; if it comes again, believe the archive: let the window end"
                " with its last month",
            )
    stated = pl.lit(last[1]["stated"][-1], pl.Int32).alias("stated")
    after = [
        (name, frame.filter(pl.col("time") >= end).with_columns(stated)) for name, frame in pages
    ]
    return [*months, *(piece for piece in after if piece[1].height)]


def join_months(months: Iterable[Piece]) -> pl.DataFrame:
    """All payments of a contract: ``time``, ``hours`` since the payment before, ``rate``.

    Raises
    ------
    DataError
        When payments repeat, go back in time, or follow each other by neither the interval
        stated before nor the one stated now: names both.
    """
    pieces = list(months)
    frame = pl.concat([piece for _, piece in pieces])
    hour = frame["time"].to_numpy().astype("datetime64[h]").astype(np.int64)
    stated = frame["stated"].to_numpy()
    step = np.diff(hour)
    bad = np.flatnonzero((step != stated[1:]) & (step != stated[:-1]))
    if bad.size:
        row = int(bad[0]) + 1
        before, now = frame["time"][row - 1], frame["time"][row]
        gap = int(step[row - 1])
        what = (
            f"payments are missing: {now} follows {before} by {gap} hours, not {stated[row - 1]}"
            if gap > 0
            else f"the payment of {now} repeats or goes back in time after {before}"
        )
        if 0 < gap < stated[row - 1]:
            what = f"the payment of {now} comes {gap} hours after {before}, not {stated[row - 1]}"
        _refuse(
            what,
            _located(row, pieces),
            "fetch the files of these months again; if they come again, start or end the window"
            " beside the hole",
        )
    hours = np.concatenate([stated[:1], step]).astype(np.int32)
    return frame.select("time", pl.Series("hours", hours), "rate")


def _located(row: int, pieces: Sequence[Piece]) -> str:
    """The file of a row and, in a month, the row's number, counted from 1, header included."""
    ends = np.cumsum([piece.height for _, piece in pieces])
    at = int(np.searchsorted(ends, row, side="right"))
    name, piece = pieces[at]
    if name.page is not None:
        return f"{name.path}, field fundingTime"
    line = row - (int(ends[at]) - piece.height) + 2
    return f"{name.path}, column {HEADER[0]}, row {line}"


def _check_ends(symbol: str, frame: pl.DataFrame, window: Dataset) -> None:
    """Payments must reach from the first day of the window to its last."""
    if frame.is_empty():
        _refuse(f"there is no payment of {symbol} within the window", symbol, _RERUN)
    first, last = frame["time"][0], frame["time"][-1]
    start, end = (
        datetime.combine(day, time()) for day in (window.first, window.last + timedelta(days=1))
    )
    if first - start >= timedelta(hours=int(frame["hours"][0])):
        what = f"payments of {symbol} begin on {first}, after the first day {window.first}"
    elif end - last > timedelta(hours=int(frame["hours"][-1])):
        what = f"payments of {symbol} end on {last}, before the end of the last day {window.last}"
    else:
        return
    _refuse(what, f"{symbol}, setting dataset", "choose a window that the files cover")
