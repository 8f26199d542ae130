"""Hand-made files of the candle archive, written here in the plainest way, one line a candle."""

from __future__ import annotations

import hashlib
import io
import random
import zipfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from remeasure.fetch.manifest import Manifest, RawFile

HEADER = (
    "open_time,open,high,low,close,volume,close_time,quote_volume,count,"
    "taker_buy_volume,taker_buy_quote_volume,ignore"
)
MINUTES = {"5m": 5, "15m": 15, "1h": 60, "1d": 1440}

Line = list[str]


def stamp(moment: datetime, unit: str) -> int:
    """A naive UTC time as the archive counts it, ``ms`` or ``us``."""
    micro = (moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        microseconds=1
    )
    return micro if unit == "us" else micro // 1000


def times(first: datetime, count: int, interval: str) -> list[datetime]:
    """Open times of ``count`` candles in a row."""
    return [first + i * timedelta(minutes=MINUTES[interval]) for i in range(count)]


def lines(opened: Iterable[datetime], interval: str, unit: str = "ms", seed: int = 0) -> list[Line]:
    """Random candles as the twelve texts of the archive each; equal seeds give equal prices."""
    made = []
    draw = random.Random(seed)
    length = MINUTES[interval] * 60 * (10**6 if unit == "us" else 1000)
    for moment in opened:
        open_, close = (draw.randint(10**8, 9 * 10**12) for _ in range(2))
        high = max(open_, close) + draw.randint(0, 10**9)
        low = min(open_, close) - draw.randint(0, 10**8 - 1)
        volume = draw.randint(1, 10**13)
        taker = draw.randint(0, volume)
        begin = stamp(moment, unit)
        amounts = [f"{x // 10**8}.{x % 10**8:08d}" for x in (open_, high, low, close, volume)]
        more = [f"{x // 10**8}.{x % 10**8:08d}" for x in (2 * volume, taker, 2 * taker)]
        made.append(
            [
                str(begin),
                *amounts,
                str(begin + length - 1),
                more[0],
                str(draw.randint(0, 99999)),
                *more[1:],
                "0",
            ]
        )
    return made


def text(rows: Sequence[Line], *, header: bool = False, newline: str = "\n") -> bytes:
    """The CSV of some candles."""
    every = [HEADER] * header + [",".join(row) for row in rows]
    return "".join(line + newline for line in every).encode()


def archive_path(symbol: str, interval: str, period: str) -> str:
    """Place of a file: ``2024-05`` is a month, ``2024-05-01`` a day."""
    span = "monthly" if len(period) == 7 else "daily"
    return (
        f"data.binance.vision/data/spot/{span}/klines/{symbol}/{interval}/"
        f"{symbol}-{interval}-{period}.zip"
    )


def put(root: Path, path: str, body: bytes, member: str = "") -> Path:
    """Zip ``body`` as the archive would and put it in its place."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member or path.rpartition("/")[2].replace(".zip", ".csv"), body)
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(buffer.getvalue())
    return target


def list_files(root: Path, interval: str = "1h") -> Path:
    """A manifest of everything below ``root``, and where it was written."""
    files = [path for path in root.rglob("*") if path.is_file()]
    entries = [
        RawFile(
            path.relative_to(root).as_posix(),
            path.stat().st_size,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in files
    ]
    target = root.parent / f"{root.name}.manifest.json"
    Manifest.of(f"crypto_spot_{interval}", "mirror", root, entries).write(target)
    return target
