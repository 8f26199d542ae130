"""The folder of real data as a mirror: every file found by plan, verified and opened."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from remeasure.errors import SourceError
from remeasure.fetch import binance, binance_data
from remeasure.fetch.archive import read_member
from remeasure.fetch.binance import ArchiveFile
from remeasure.fetch.checksum import parse_checksum
from remeasure.fetch.klines import klines_csv
from remeasure.fetch.manifest import Manifest
from remeasure.fetch.origins import Mirror

MIRROR = Path(
    os.environ.get("REMEASURE_MIRROR", Path(__file__).parents[2] / ".." / "shared" / "mirror")
)

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not (MIRROR / binance.HOST).is_dir(),
        reason=f"no folder of real data at {MIRROR} (set REMEASURE_MIRROR)",
    ),
]

SEVEN = ["BTCUSDT", "ETHUSDT", "SOLUSDT", "BNBUSDT", "ADAUSDT", "DOGEUSDT", "LINKUSDT"]


def hourly() -> tuple[ArchiveFile, ...]:
    return binance.plan_klines(SEVEN, "1h", date(2022, 1, 1), date(2025, 12, 31))


def test_the_hourly_archive_of_seven_coins() -> None:
    """336 zips: hashes from the checksum files, 35,063 rows a coin (one hour is missing)."""
    manifest = binance_data.archive("crypto_spot_1h", Mirror(MIRROR), hourly())
    zips = [entry for entry in manifest.files if entry.path.endswith(".zip")]
    assert (len(zips), len(manifest.files)) == (336, 672)
    counts = dict.fromkeys(SEVEN, 0)
    for entry in zips:
        sums = MIRROR / f"{entry.path}.CHECKSUM"
        assert parse_checksum(sums.read_bytes(), sums.name[:-9]) == entry.sha256
        symbol, interval, _ = entry.path.rpartition("/")[2].split("-", 2)
        assert interval == "1h"
        counts[symbol] += klines_csv(entry.path, manifest.read_verified(entry)).count(b"\n")
    hours = (date(2026, 1, 1) - date(2022, 1, 1)).days * 24
    assert counts == dict.fromkeys(SEVEN, hours - 1)


def test_the_same_manifest_every_time(tmp_path: Path) -> None:
    plan = binance.plan_klines(["BTCUSDT"], "15m", date(2025, 1, 1), date(2025, 12, 31))
    for name in "ab":
        binance_data.archive("s", Mirror(MIRROR), plan[:: 1 if name == "a" else -1]).write(
            tmp_path / name
        )
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert Manifest.read(tmp_path / "a").files[0].path == plan[0].path


def test_funding() -> None:
    plan = binance.plan_funding(["BTCUSDT"], date(2022, 1, 1), date(2025, 12, 31))
    manifest = binance_data.archive("crypto_funding", Mirror(MIRROR), plan)
    assert len(manifest.files) == 2 * 48
    first = read_member(manifest.read_verified(manifest.files[0]), plan[0].member)
    assert first.startswith(b"calc_time,funding_interval_hours,last_funding_rate")


def test_what_the_mirror_lacks_is_listed_exactly() -> None:
    """A window that ends in the middle of January 2026: fifteen daily files a coin."""
    plan = binance.plan_klines(["BTCUSDT", "ETHUSDT"], "1h", date(2025, 11, 1), date(2026, 1, 15))
    with pytest.raises(SourceError) as caught:
        binance_data.archive("s", Mirror(MIRROR), plan)
    listed = [
        line.removeprefix("  - ") for line in str(caught.value).splitlines() if "  - " in line
    ]
    assert listed == [file.path for file in plan if file.first == file.last]
    assert len(listed) == 30
