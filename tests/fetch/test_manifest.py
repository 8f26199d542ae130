"""Manifests: the same bytes for the same files, and no file that is not the listed one."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remeasure.errors import SourceError
from remeasure.fetch.checksum import parse_checksum
from remeasure.fetch.manifest import Manifest, RawFile, digest

HASH = hashlib.sha256(b"rows").hexdigest()
ENTRY = RawFile("h/a.csv", 4, HASH)


@settings(max_examples=50, deadline=None)
@given(names=st.lists(st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1)))
def test_written_and_read_again(names: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    entries = [
        RawFile(f"h/{name}", index, HASH)
        for index, name in enumerate(dict.fromkeys(names))
        if name not in (".", "..")
    ]
    path = tmp_path_factory.mktemp("manifest") / "m.json"
    manifest = Manifest.of("source", "mirror", "some/root", entries)
    manifest.write(path)
    assert Manifest.read(path) == manifest
    # The format, read by another reader than our own.
    raw = json.loads(path.read_text())
    assert raw == {
        "source": "source",
        "origin": "mirror",
        "root": "some/root",
        "files": [
            {"path": e.path, "size": e.size, "sha256": e.sha256}
            for e in sorted(entries, key=lambda e: e.path)
        ],
    }
    again = path.with_name("again.json")
    Manifest.of("source", "mirror", Path("some/root"), entries[::-1] + entries).write(again)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", ["/etc/passwd", "../a", "h/../../a", "", "h/\0"])
def test_paths_that_leave_the_root_are_no_entries(path: str) -> None:
    with pytest.raises(ValueError, match="not a path below the root"):
        RawFile(path, 1, HASH)


def test_other_entries_that_cannot_be() -> None:
    with pytest.raises(ValueError, match="negative"):
        RawFile("a", -1, HASH)
    for wrong in ("", HASH.upper(), HASH[:-1], "g" * 64):
        with pytest.raises(ValueError, match="not a SHA-256"):
            RawFile("a", 1, wrong)
    with pytest.raises(ValueError, match="sorted by path"):
        Manifest("s", "mirror", "r", (RawFile("b", 1, HASH), RawFile("a", 1, HASH)))
    with pytest.raises(ValueError, match="origin 'web'"):
        Manifest("s", "web", "r", ())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"source": "s", "origin": "mirror", "root": "r"}',
        '{"source": "s", "origin": "mirror", "root": "r", "files": [], "more": 1}',
        '{"source": "s", "origin": "web", "root": "r", "files": []}',
        f'{{"source": "s", "origin": "mirror", "root": "r", "files": [{{"path": "../a", "size": 1, '
        f'"sha256": "{HASH}"}}]}}',
        f'{{"source": "s", "origin": "mirror", "root": "r", "files": [{{"path": "a", "size": "1", '
        f'"sha256": "{HASH}"}}]}}',
    ],
)
def test_damaged_manifests_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(SourceError, match="the manifest is damaged"):
        Manifest.read(path)
    with pytest.raises(SourceError, match="does not exist"):
        Manifest.read(tmp_path / "absent.json")


def test_only_the_listed_bytes_are_read(tmp_path: Path) -> None:
    file = tmp_path / ENTRY.path
    file.parent.mkdir()
    file.write_bytes(b"rows")
    manifest = Manifest.of("s", "mirror", tmp_path, [ENTRY])
    assert digest(file) == (4, HASH)
    assert manifest.file(ENTRY) == file
    assert manifest.read_verified(ENTRY) == b"rows"
    assert manifest.entry("h/a.csv") == manifest.entry(file) == ENTRY
    with pytest.raises(SourceError, match="does not hold this file"):
        manifest.entry("h/b.csv")
    for body, why in ((b"row", "3 bytes instead of 4"), (b"Rows", "SHA-256 .* instead of")):
        file.write_bytes(body)
        with pytest.raises(SourceError, match=why) as caught:
            manifest.read_verified(ENTRY)
        assert caught.value.where == str(file)
    file.unlink()
    with pytest.raises(SourceError, match="cannot be read: No such file"):
        manifest.read_verified(ENTRY)


def test_checksum_files() -> None:
    for text in (f"{HASH}  a.zip\n", f"{HASH}  a.zip", f"{HASH.upper()} *a.zip\r\n"):
        assert parse_checksum(text.encode(), "a.zip") == HASH
    for text, why in (
        (f"{HASH}  b.zip\n", "speaks of 'b.zip' instead of 'a.zip'"),
        (f"{HASH}  x/a.zip\n", "speaks of"),
        (f"{HASH}", "not one line"),
        (f"{HASH[:-1]}  a.zip\n", "not one line"),
        (f"{HASH} a.zip\n", "not one line"),
        (f"{HASH}  a.zip\n{HASH}  a.zip\n", "not one line"),
        ("", "not one line"),
        ("é", "not one line"),
    ):
        with pytest.raises(SourceError, match=why):
            parse_checksum(text.encode(), "a.zip")
