"""Candles as the bytes of the public archive: one zipped CSV a month or day, with its checksum.

Format: no header; twelve columns; prices and volumes as decimals with eight
places; times in milliseconds, in files with data from 2025-01-01 on in
microseconds; the checksum file is one line of ``sha256sum``. The same candles
give the same bytes: time stamps, permissions and compression of the zip are
fixed.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
import polars as pl

from remeasure.studies.crypto import calendar
from remeasure.studies.crypto.market import PLACES, Candles

#: First open time written in microseconds.
MICROSECONDS_FROM = np.datetime64("2025-01-01", "us")
#: Random digits hardly compress: level 1 takes a quarter of the time of level 6 and 8% more room.
COMPRESSION = 1
_EPOCH = (1980, 1, 1, 0, 0, 0)
_UNIX = 3


@dataclass(frozen=True)
class Rows:
    """Candles of one coin and interval as text columns of the archive, ready to be cut.

    Attributes
    ----------
    open_time
        As in `Candles`, shape ``(n,)``.
    table
        The twelve columns in archive order, n rows.
    """

    open_time: calendar.Times
    table: pl.DataFrame


def rows(candles: Candles, interval: str) -> Rows:
    """Lay candles out in the twelve columns of the archive."""
    length = calendar.step(interval)
    micro = candles.open_time >= MICROSECONDS_FROM
    opened = _stamp(candles.open_time, micro)
    closed = _stamp(candles.open_time + length, micro) - 1
    table = pl.DataFrame(
        {
            "open_time": opened,
            "open": candles.open,
            "high": candles.high,
            "low": candles.low,
            "close": candles.close,
            "volume": candles.volume,
            "close_time": closed,
            "quote_volume": candles.quote_volume,
            "count": candles.trades,
            "taker_buy_volume": candles.taker_buy_volume,
            "taker_buy_quote_volume": candles.taker_buy_quote_volume,
            "ignore": np.zeros(opened.size, dtype=np.int64),
        }
    )
    return Rows(candles.open_time, table)


def period(path: str) -> tuple[np.datetime64, np.datetime64]:
    """Begin and end (excluded) of what an archive file holds, read from its name.

    ``…-2021-01.zip`` is a month, ``…-2026-10-29.zip`` a day.
    """
    stem = PurePosixPath(path).stem
    daily = stem.count("-") == 4
    begin = np.datetime64(stem[-10:], "D") if daily else np.datetime64(stem[-7:], "M")
    return begin.astype("datetime64[us]"), (begin + 1).astype("datetime64[us]")


def archive_file(all_rows: Rows, path: str) -> bytes | None:
    """Bytes of one archive file; None when no candle falls into its period."""
    begin, end = period(path)
    low, high = np.searchsorted(all_rows.open_time, np.array([begin, end]))
    if low == high:
        return None
    text = all_rows.table.slice(int(low), int(high - low)).write_csv(
        include_header=False, float_precision=PLACES
    )
    return zipped(PurePosixPath(path).with_suffix(".csv").name, text.encode("ascii"))


def zipped(member: str, body: bytes) -> bytes:
    """A zip archive with one member; equal contents give equal bytes on every platform."""
    info = zipfile.ZipInfo(member, _EPOCH)
    info.create_system = _UNIX
    info.external_attr = 0o644 << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(info, body, compresslevel=COMPRESSION)
    return buffer.getvalue()


def checksum_file(name: str, body: bytes) -> bytes:
    """The ``.CHECKSUM`` file of an archive file called ``name``, in the format of sha256sum."""
    return f"{hashlib.sha256(body).hexdigest()}  {name}\n".encode("ascii")


def _stamp(
    times: calendar.Times, micro: calendar.Mask
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    microseconds = times.astype("datetime64[us]").astype(np.int64)
    return np.where(micro, microseconds, microseconds // 1000)
