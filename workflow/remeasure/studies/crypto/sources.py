"""From raw bytes to the table of candles: nothing is believed that can be checked.

The public archive has one zip a coin, interval and month (or day) with one CSV of
twelve columns. The bytes are hashed again, the zip is opened without trusting it,
and every statement that a file makes about itself is verified: the unit of its time
stamps, the length of its candles, the period in its name. Candles must be ascending
without repeats and have possible prices, and their holes must be exactly the known
halts of the exchange (`remeasure.studies.crypto.calendar`) or listed in the settings.
Where the files came from makes no difference: generated ones go the same way.

Parquet tables that a user already owns (origin ``files``) enter here as well,
through the same checks of time and price. They need ``open_time`` (timestamp, UTC),
``open``, ``high``, ``low``, ``close`` and ``volume``; ``quote_volume``, ``trades``,
``taker_buy_volume`` and ``taker_buy_quote_volume`` may be absent and are then missing
in every row. Without taker volumes the features ``taker_1`` and ``taker_24`` do not
exist, so no row has all twenty; everything that rests on prices alone is available.

Any refusal names the file, the column, the row and what to do.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Final, NoReturn, Self

import numpy as np
import polars as pl
from pydantic import Field

from remeasure.errors import DataError
from remeasure.fetch.checksum import parse_checksum
from remeasure.fetch.klines import klines_csv
from remeasure.fetch.manifest import Manifest, RawFile
from remeasure.model import Model
from remeasure.store.tables import Column, Table, create, insert, read_table, writer
from remeasure.studies.crypto import calendar
from remeasure.studies.crypto.parsing import (
    AGAIN,
    Rows,
    csv_rows,
    parse_rows,
    table_candles,
)
from remeasure.studies.crypto.settings import Dataset, Hole, Interval, Symbol

CANDLES: Final = Table(
    name="candles",
    meaning="one candle of one coin; none where the exchange was halted",
    columns=(
        Column(name="symbol", sql="VARCHAR", meaning="trading pair, as BTCUSDT"),
        Column(name="open_time", sql="TIMESTAMP", unit="UTC", meaning="start of the candle"),
        Column(name="open", sql="DOUBLE", unit="USDT", meaning="first price", check="open > 0"),
        Column(name="high", sql="DOUBLE", unit="USDT", meaning="highest price"),
        Column(name="low", sql="DOUBLE", unit="USDT", meaning="lowest price", check="low > 0"),
        Column(name="close", sql="DOUBLE", unit="USDT", meaning="last price", check="close > 0"),
        Column(
            name="volume",
            sql="DOUBLE",
            unit="coins",
            meaning="coins traded",
            check="volume >= 0",
        ),
        Column(
            name="quote_volume",
            sql="DOUBLE",
            unit="USDT",
            meaning="value traded",
            null=True,
            check="quote_volume >= 0",
        ),
        Column(
            name="trades",
            sql="BIGINT",
            unit="1",
            meaning="number of trades",
            null=True,
            check="trades >= 0",
        ),
        Column(
            name="taker_buy_volume",
            sql="DOUBLE",
            unit="coins",
            meaning="coins bought by takers",
            null=True,
            check="taker_buy_volume >= 0",
        ),
        Column(
            name="taker_buy_quote_volume",
            sql="DOUBLE",
            unit="USDT",
            meaning="value bought by takers",
            null=True,
            check="taker_buy_quote_volume >= 0",
        ),
    ),
    key=("symbol", "open_time"),
    checks=("low <= least(open, close)", "high >= greatest(open, close)"),
    remedy="a candle that cannot be came through the parser: compare it with the raw file",
)

_NAME = re.compile(
    r"spot/(?P<span>monthly|daily)/klines/(?P<symbol>[A-Z0-9]+)/(?P<interval>[0-9]+[a-z]+)/"
    r"(?P=symbol)-(?P=interval)-(?P<period>[0-9]{4}-[0-9]{2}(?:-[0-9]{2})?)\.zip"
)
_CHECKSUM = ".CHECKSUM"


class CandlesStep(Model):
    """Settings of `parse_candles`.

    Attributes
    ----------
    interval, dataset
        Candles to read: length, coins, first and last day.
    files
        Origin ``files``: the Parquet table of each coin, as the manifest or the disk names it.
    known_holes
        Holes beside the exchange's halts. Each must be there, whole, and inside the window.
    """

    interval: Interval
    dataset: Dataset
    files: dict[Symbol, str] = Field(default_factory=dict)
    known_holes: tuple[Hole, ...] = ()


@dataclass(frozen=True, order=True)
class ArchiveName:
    """What the name of an archive file promises: coin, interval and days (``end`` excluded)."""

    symbol: str
    interval: str
    first: date
    end: date
    path: str

    @classmethod
    def of(cls, path: str) -> Self:
        """Read a path of the layout.

        Raises
        ------
        DataError
            When the path is not that of a spot candle file.
        """
        match = _NAME.search(path)
        if match is None or not path.endswith(match[0]):
            _refuse(
                "this is not the name of a spot candle file",
                path,
                "candle files are named …/spot/monthly/klines/BTCUSDT/5m/BTCUSDT-5m-2021-01.zip",
            )
        daily = match["span"] == "daily"
        try:
            if daily != (len(match["period"]) == 10):
                raise ValueError("a monthly file is named by its month, a daily one by its day")
            first = date.fromisoformat(match["period"] if daily else f"{match['period']}-01")
        except ValueError as error:
            _refuse(f"the period in the file's name is impossible ({error})", path, AGAIN)
        end = first + timedelta(days=1) if daily else _next_month(first)
        return cls(match["symbol"], match["interval"], first, end, path)


def _refuse(what: str, where: object, remedy: str) -> NoReturn:
    raise DataError(what, where=where, remedy=remedy)


def _next_month(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def parse_candles(*, manifest: Path, candles: Path, settings: CandlesStep) -> None:
    """Step: read every raw file of a manifest and write the table of candles.

    Parameters
    ----------
    manifest
        Input: the raw files of this interval.
    candles
        Output, DuckDB file with the table `CANDLES`.
    settings
        Interval, coins and window; rows outside the window are checked and left out.

    Raises
    ------
    SourceError
        When a file is missing, damaged or not the one in the manifest.
    DataError
        When a file, a row or a hole is not what it should be: names all of them.
    """
    listed = Manifest.read(manifest)
    with writer(candles) as connection:
        create(connection, CANDLES)
        for symbol, frame in read_coins(listed, settings):
            insert(connection, CANDLES, frame.select(pl.lit(symbol).alias("symbol"), pl.all()))


def read_coins(manifest: Manifest, settings: CandlesStep) -> Iterator[tuple[str, pl.DataFrame]]:
    """Each coin of the settings, sorted, with all its candles in the window, checked.

    The frames have the columns of `CANDLES` but the symbol, ascending. One coin at a time
    is in memory.

    Raises
    ------
    SourceError, DataError
        See `parse_candles`.
    """
    window = settings.dataset
    low, high = (
        datetime.combine(day, time()) for day in (window.first, window.last + timedelta(days=1))
    )
    own = manifest.origin == "files"
    files = {} if own else archive_files(manifest, settings)
    for symbol in sorted(window.coins):
        if own:
            frame = _read_table(manifest, symbol, settings)
        else:
            texts = (_read_archive(manifest, name, entry) for name, entry in files[symbol])
            frame = parse_rows(texts, settings.interval)
        frame = frame.filter(pl.col("open_time").is_between(low, high, closed="left"))
        spans = [name for name, _ in files.get(symbol, [])]
        _check_holes(symbol, frame["open_time"].to_numpy(), settings, spans)
        yield symbol, frame


def archive_files(
    manifest: Manifest, settings: CandlesStep
) -> dict[str, list[tuple[ArchiveName, RawFile]]]:
    """The archive files of each coin of the settings, by time.

    Raises
    ------
    DataError
        When a file belongs to another coin or interval, two files cover the same day, a
        coin has no file, or a checksum file promises another hash than the manifest.
    """
    found: dict[str, list[tuple[ArchiveName, RawFile]]] = {
        symbol: [] for symbol in settings.dataset.coins
    }
    hashes = {entry.path: entry.sha256 for entry in manifest.files}
    for entry in manifest.files:
        if entry.path.endswith(_CHECKSUM):
            _check_promise(manifest, entry, hashes)
            continue
        name = ArchiveName.of(entry.path)
        if name.symbol not in found or name.interval != settings.interval:
            _refuse(
                f"the manifest holds {name.interval} candles of {name.symbol}, but the settings"
                f" ask for {settings.interval} candles of {', '.join(settings.dataset.coins)}",
                entry.path,
                "run the fetch or generate step again with the settings of this run",
            )
        found[name.symbol].append((name, entry))
    for symbol, entries in found.items():
        if not entries:
            _refuse(
                f"the manifest holds no file of {symbol}",
                manifest.source,
                "run the fetch or generate step again with the settings of this run",
            )
        entries.sort()
        for (left, _), (right, _) in pairwise(entries):
            if right.first < left.end:
                _refuse(
                    f"two files cover {right.first}: {left.path} and {right.path}",
                    right.path,
                    "keep the monthly file and remove the daily ones of its month",
                )
    return found


def _check_promise(manifest: Manifest, entry: RawFile, hashes: Mapping[str, str]) -> None:
    path = entry.path.removesuffix(_CHECKSUM)
    promised = parse_checksum(
        manifest.read_verified(entry), PurePosixPath(path).name, where=entry.path
    )
    if promised != hashes.get(path):
        _refuse("the checksum file promises other bytes than the manifest", entry.path, AGAIN)


def _check_holes(
    symbol: str,
    times: calendar.Times,
    settings: CandlesStep,
    spans: Sequence[ArchiveName],
) -> None:
    """Holes are exactly the halts and the listed ones; see `calendar.check`."""
    interval, window = settings.interval, settings.dataset
    listed = _listed_holes(symbol, times, settings) if settings.known_holes else None
    filled = times if listed is None else np.union1d(times, listed)
    try:
        calendar.check(symbol, filled, interval, window.first, window.last)
    except DataError as error:
        wanted = calendar.expected(window.first, window.last, interval, symbol)
        holes = np.setdiff1d(wanted, filled, assume_unique=True)
        raise DataError(
            error.what,
            where=f"{error.where}{_file_of(holes, spans)}",
            remedy=error.remedy + ("; or list the hole in known_holes" if holes.size else ""),
        ) from error


def _listed_holes(symbol: str, times: calendar.Times, settings: CandlesStep) -> calendar.Times:
    """Open times of the candles that the settings say are missing; each must be."""
    interval, window = settings.interval, settings.dataset
    wanted = calendar.expected(window.first, window.last, interval, symbol)
    listed = np.zeros(wanted.size, dtype=np.bool_)
    for hole in settings.known_holes:
        if hole.symbol not in (None, symbol):
            continue
        low, high = np.datetime64(hole.missing_from, "us"), np.datetime64(hole.back_at, "us")
        inside = (wanted >= low) & (wanted + calendar.step(interval) <= high)
        there = np.isin(wanted[inside], times)
        if there.any() or not inside.any():
            first = f", first {wanted[inside][there][0]}" if there.any() else ""
            _refuse(
                f"the hole listed from {hole.missing_from} to {hole.back_at} is none:"
                f" {symbol} has {np.count_nonzero(there)} of its {there.size} candles{first}",
                f"{symbol} {interval}, setting known_holes",
                "list exactly the holes that the data has inside the window",
            )
        listed |= inside
    return wanted[listed]


def _file_of(holes: calendar.Times, spans: Sequence[ArchiveName]) -> str:
    """Which file should have held the first missing candle."""
    if not holes.size or not spans:
        return ""
    day = holes[0].astype("datetime64[D]").astype(object)
    for name in spans:
        if name.first <= day < name.end:
            return f", file {name.path}"
    return f", no file of the manifest covers {day}"


def _read_archive(manifest: Manifest, name: ArchiveName, entry: RawFile) -> Rows:
    body = klines_csv(entry.path, manifest.read_verified(entry))
    return csv_rows(body, entry.path, name.first, name.end)


def _read_table(manifest: Manifest, symbol: str, settings: CandlesStep) -> pl.DataFrame:
    if symbol not in settings.files:
        _refuse(
            f"no table is named for {symbol}",
            f"crypto.files.{settings.interval}",
            f"name a Parquet file, as in {settings.interval}: {{{symbol}: my/candles.parquet}}",
        )
    entry = manifest.entry(settings.files[symbol])
    body = manifest.read_verified(entry)
    try:
        table = pl.read_parquet(io.BytesIO(body))
    except pl.exceptions.PolarsError as error:
        _refuse(
            f"the file cannot be read as Parquet ({str(error).splitlines()[0]})",
            manifest.file(entry),
            "write the table as Parquet",
        )
    return table_candles(table, settings.interval, entry.path)


def read_candles(path: Path, symbol: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Candles of one coin out of the database, ascending.

    Parameters
    ----------
    path
        Database that `parse_candles` wrote.
    symbol
        As BTCUSDT.
    columns
        Names of columns of `CANDLES`; all but the symbol when None.

    Raises
    ------
    DataError
        When the database is missing or has no candle of the coin.
    """
    names = columns or [column.name for column in CANDLES.columns if column.name != "symbol"]
    frame = read_table(path, CANDLES, columns=names, where="symbol = ?", parameters=[symbol])
    if frame.is_empty():
        _refuse(f"there are no candles of {symbol}", path, "add the coin to crypto.spot")
    return frame
