"""The catalogue of sources: complete, typed, and honest about what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from remeasure.errors import ConfigError
from remeasure.fetch import binance
from remeasure.fetch.catalogue import Catalogue, RemoteSource, rows

PATH = Path(__file__).parents[2] / "config" / "sources.yaml"
ENTRY: dict[str, Any] = {
    "id": "one",
    "title": "a thing",
    "url": "https://h/{symbol}.zip",
    "revision": "rolling",
    "sha256": "sidecar",
    "checksum": "https://h/{symbol}.zip.CHECKSUM",
    "licence": "CC0-1.0",
    "size": 1,
    "file_size": {"5m": 3, "1h": 2},
    "used_by": ["crypto"],
}


def test_the_catalogue_of_the_project() -> None:
    catalogue = Catalogue.read(PATH)
    listed = rows(PATH)
    assert [row["id"] for row in listed] == [source.id for source in catalogue.sources]
    assert len({tuple(row) for row in listed}) == 1  # the same columns everywhere
    assert all(value for row in listed for value in row.values())
    assert listed[0]["size"] == "150 MB"
    assert catalogue.source("binance_archive_listing").url.startswith(binance.LISTING)
    # Every key that the models know is explained at the top of the file.
    head = PATH.read_text().partition("\nsources:")[0]
    for key in RemoteSource.model_fields:
        assert f"# {key} " in head


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"id": "One"}, "sources.0.id"),
        ({"url": "ftp://h/a"}, "not a URL template"),
        ({"url": "https://h/{}.zip"}, "not a URL template"),
        ({"url": "https://h/{symbol.zip"}, "not a URL template"),
        ({"sha256": "abc"}, "sources.0.sha256"),
        ({"sha256": "none"}, "checksum must be given with sha256: sidecar"),
        ({"checksum": ""}, "checksum must be given with sha256: sidecar"),
        ({"checksum": "https://h/{other}"}, "parts in braces that url does not have"),
        ({"licence": ""}, "sources.0.licence"),
        ({"size": 0}, "sources.0.size"),
        ({"file_size": 0}, "sources.0.file_size"),
        ({"file_size": {"5m": -1}}, "sources.0.file_size"),
        ({"used_by": []}, "sources.0.used_by"),
        ({"more": 1}, "sources.0.more"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], why: str, tmp_path: Path) -> None:
    path = tmp_path / "sources.yaml"
    path.write_text(yaml.safe_dump({"sources": [ENTRY | change]}))
    with pytest.raises(ConfigError) as caught:
        Catalogue.read(path)
    assert why in str(caught.value)
    assert caught.value.where == str(path)


def test_other_failures(tmp_path: Path) -> None:
    path = tmp_path / "sources.yaml"
    path.write_text(yaml.safe_dump({"sources": [ENTRY, ENTRY]}))
    with pytest.raises(ConfigError, match="id repeats: one"):
        Catalogue.read(path)
    path.write_text("sources: [")
    with pytest.raises(ConfigError, match="not YAML"):
        Catalogue.read(path)
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        Catalogue.read(tmp_path / "none.yaml")
    path.write_text(yaml.safe_dump({"sources": [ENTRY]}))
    catalogue = Catalogue.read(path)
    assert catalogue.source("one").address(symbol="A") == "https://h/A.zip"
    assert catalogue.source("one").typical("1h") == 2
    with pytest.raises(ConfigError, match="no size of files of one for '1d'"):
        catalogue.source("one").typical("1d")
    with pytest.raises(ConfigError, match="no source 'two'"):
        catalogue.source("two")
    with pytest.raises(ConfigError, match="has the parts"):
        catalogue.source("one").address(coin="A")
