"""Hand-made files of the funding archive, one line a payment."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

from raw_archive import put
from remeasure.fetch.manifest import Manifest, RawFile

HEADER = "calc_time,funding_interval_hours,last_funding_rate"
BTC, ETH = "BTCUSDT", "ETHUSDT"


def funding_path(symbol: str, month: str) -> str:
    return (
        f"data.binance.vision/data/futures/um/monthly/fundingRate/{symbol}/"
        f"{symbol}-fundingRate-{month}.zip"
    )


def payment(moment: datetime, rate: str = "0.00010000", hours: int = 8, late: int = 0) -> str:
    """One line: a naive UTC time, ``late`` milliseconds after it."""
    stamp = int(moment.replace(tzinfo=UTC).timestamp() * 1000) + late
    return f"{stamp},{hours},{rate}"


def grid(first: datetime, end: datetime, hours: int = 8) -> list[datetime]:
    """Times from ``first`` to before ``end``."""
    return [
        first + timedelta(hours=at)
        for at in range(0, int((end - first) / timedelta(hours=1)), hours)
    ]


def put_month(root: Path, symbol: str, month: str, rows: list[str], header: str = HEADER) -> Path:
    """Write one file."""
    body = "".join(f"{line}\n" for line in [header, *rows]).encode()
    return put(root, funding_path(symbol, month), body)


def constant(root: Path, symbol: str, first: str, months: int, rate: str, hours: int = 8) -> None:
    """Months with one rate throughout."""
    begin = datetime.fromisoformat(f"{first}-01")
    for _ in range(months):
        end = (begin + timedelta(days=32)).replace(day=1)
        rows = [payment(moment, rate, hours, 3) for moment in grid(begin, end, hours)]
        put_month(root, symbol, f"{begin:%Y-%m}", rows)
        begin = end


def manifest_of(root: Path, origin: str = "mirror") -> Path:
    """A manifest of every file below ``root``, and where it was written."""
    entries = [
        RawFile(
            path.relative_to(root).as_posix(),
            path.stat().st_size,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in root.rglob("*")
        if path.is_file()
    ]
    target = root.parent / f"{root.name}.manifest.json"
    Manifest.of("crypto_funding", origin, root, entries).write(target)
    return target
