"""Stored answers of a mirror: all of them listed, and read as generated ones are."""

from __future__ import annotations

from pathlib import Path

import pytest

from remeasure.errors import SourceError
from remeasure.fetch.manifest import Manifest
from remeasure.studies.crypto.book_files import BooksStep, book_path, parse_books
from remeasure.studies.crypto.generate_books import plain_books
from remeasure.studies.crypto.recorded import RecordedStep, list_recorded


def test_stored_books_are_listed_and_parsed(tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    paths = tuple(book_path("BTCUSDT", number) for number in (1, 2))
    books = plain_books(1, "BTCUSDT", 2, 0)
    for number, (path, book) in enumerate(zip(paths, books, strict=True)):
        (mirror / path).parent.mkdir(parents=True, exist_ok=True)
        (mirror / path).write_bytes(book.answer(1, 1_793_448_000_000 + 300_000 * number))
    step = RecordedStep(source="crypto_books", mirror=str(mirror), paths=paths)
    list_recorded(manifest=tmp_path / "m.json", settings=step)
    found = Manifest.read(tmp_path / "m.json")
    assert (found.origin, [entry.path for entry in found.files]) == ("mirror", list(paths))
    parse_books(
        manifest=tmp_path / "m.json",
        books=tmp_path / "b.duckdb",
        settings=BooksStep(contracts={1: "BTCUSDT"}, snapshots=2),
    )
    (mirror / paths[1]).unlink()
    with pytest.raises(SourceError, match="lacks 1 of 2 stored answers") as caught:
        list_recorded(manifest=tmp_path / "m.json", settings=step)
    assert paths[1] in str(caught.value)
