"""The manifest of the spot candles under each origin: the right files, all of them, verified."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import pytest

from raw_archive import archive_path, lines, put, text, times
from remeasure.errors import ConfigError, SourceError
from remeasure.fetch.manifest import Manifest, digest
from remeasure.studies.crypto.fetching import FetchStep, fetch_candles
from remeasure.studies.crypto.settings import Dataset
from remeasure.studies.crypto.sources import CandlesStep, parse_candles, read_candles

BTC = "BTCUSDT"
WINDOW = Dataset(coins=(BTC,), first=date(2024, 5, 1), last=date(2024, 6, 2))


def mirror(root: Path) -> None:
    for name, first, count in (
        ("2024-05", datetime(2024, 5, 1), 744),
        ("2024-06-01", datetime(2024, 6, 1), 24),
        ("2024-06-02", datetime(2024, 6, 2), 24),
        ("2024-06-03", datetime(2024, 6, 3), 24),
    ):
        path = archive_path(BTC, "1h", name)
        file = put(root, path, text(lines(times(first, count, "1h"), "1h")))
        file.with_name(file.name + ".CHECKSUM").write_text(f"{digest(file)[1]}  {file.name}\n")


def fetch(folder: Path, **settings: object) -> Manifest:
    wanted = FetchStep.model_validate({"interval": "1h", "dataset": WINDOW, **settings})
    fetch_candles(manifest=folder / "m.json", settings=wanted)
    return Manifest.read(folder / "m.json")


def test_a_mirror_gives_whole_months_and_single_days(tmp_path: Path) -> None:
    mirror(tmp_path / "mirror")
    found = fetch(tmp_path, origin="mirror", mirror=str(tmp_path / "mirror"))
    assert (found.source, found.origin) == ("crypto_spot_1h", "mirror")
    names = [entry.path.rpartition("/")[2] for entry in found.files]
    zips = [f"BTCUSDT-1h-2024-{x}.zip" for x in ("06-01", "06-02", "05")]
    assert names == [name for each in zips for name in (each, f"{each}.CHECKSUM")]
    parse_candles(
        manifest=tmp_path / "m.json",
        candles=tmp_path / "c.duckdb",
        settings=CandlesStep(interval="1h", dataset=WINDOW),
    )
    candles = read_candles(tmp_path / "c.duckdb", BTC)
    assert candles.height == 33 * 24
    assert candles["open_time"].max() == datetime(2024, 6, 2, 23)


def test_a_mirror_that_lacks_or_spoils_a_file_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "mirror"
    mirror(root)
    day, month = (root / archive_path(BTC, "1h", name) for name in ("2024-06-02", "2024-05"))
    day.unlink()
    month.write_bytes(month.read_bytes()[:-1])
    with pytest.raises(SourceError) as caught:
        fetch(tmp_path, origin="mirror", mirror=str(root))
    assert "BTCUSDT-1h-2024-06-02.zip" in str(caught.value)
    assert "BTCUSDT-1h-2024-05.zip" in str(caught.value)
    assert not (tmp_path / "m.json").exists()


def test_public_files_that_are_in_the_cache_need_no_network(tmp_path: Path) -> None:
    mirror(tmp_path / "raw" / "public")
    found = fetch(tmp_path, origin="public", raw=str(tmp_path / "raw"))
    assert (found.origin, found.root) == ("public", str(tmp_path / "raw" / "public"))
    assert len(found.files) == 2 * 3


def test_own_tables_are_listed_as_they_are(tmp_path: Path) -> None:
    table = tmp_path / "my" / "btc.parquet"
    table.parent.mkdir()
    table.write_bytes(b"anything: only the parser looks inside")
    found = fetch(tmp_path, origin="files", files={BTC: str(table)})
    assert found.origin == "files"
    assert found.file(found.entry(table)).samefile(table)
    with pytest.raises(SourceError, match=r"absent\.parquet"):
        fetch(tmp_path, origin="files", files={BTC: str(tmp_path / "absent.parquet")})


def test_an_origin_without_its_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no folder is named"):
        fetch(tmp_path, origin="mirror")
    with pytest.raises(ConfigError, match="no table is named for BTCUSDT"):
        fetch(tmp_path, origin="files")
    with pytest.raises(ValueError, match="origin"):
        fetch(tmp_path, origin="generated")
