"""Manifests: which raw files a data set stands on, with the size and SHA-256 of each.

A manifest is the only output of a fetch or generate step, and the only way in
which a parser learns of raw files. It holds no times and no machine names
beyond its root, so the same bytes give the same manifest.

    {"files": [{"path": "<host>/<path>", "sha256": "<64 hex>", "size": 123}, ...],
     "origin": "mirror", "root": "../mirror", "source": "crypto_spot_1h"}

A file lies at ``root/path``; a root that is not absolute is relative to the
working directory of the run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal, Self, get_args

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from remeasure.errors import SourceError

Origin = Literal["generated", "package", "mirror", "files", "public"]
ORIGINS: tuple[str, ...] = get_args(Origin)

_SHA256 = re.compile(r"[0-9a-f]{64}")


def digest(path: Path) -> tuple[int, str]:
    """Size in bytes and SHA-256 (64 lower-case hexadecimal digits) of a file."""
    with path.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        return stream.tell(), sha256


def place(path: Path) -> Path:
    """Where a file lies, absolute; a link in its last part keeps its own name."""
    return path.parent.resolve() / path.name


@with_config(ConfigDict(extra="forbid", strict=True))
@dataclass(frozen=True, order=True)
class RawFile:
    """One raw file: its path below the root (forward slashes), size in bytes and SHA-256.

    Raises
    ------
    ValueError
        When the path is absolute or escapes the root, the size is negative or
        the hash is not 64 lower-case hexadecimal digits.
    """

    path: str
    size: int
    sha256: str

    def __post_init__(self) -> None:
        parts = frozenset(self.path.split("/"))
        if parts <= {"", "."} or self.path.startswith("/") or ".." in parts or "\0" in self.path:
            raise ValueError(f"{self.path!r} is not a path below the root")
        if self.size < 0:
            raise ValueError(f"{self.path}: size {self.size} is negative")
        if not _SHA256.fullmatch(self.sha256):
            raise ValueError(f"{self.path}: {self.sha256!r} is not a SHA-256")


def _row(entry: RawFile) -> str:
    return json.dumps({"path": entry.path, "sha256": entry.sha256, "size": entry.size})


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True)
class Manifest:
    """The raw files of one source, sorted by path, each path once.

    Attributes
    ----------
    source
        Name of the data set, as in ``crypto_spot_5m``.
    origin
        One of ``generated``, ``package``, ``mirror``, ``files``, ``public``.
    root
        Folder under which the files lie, as text.
    files
        Sorted by path. Use `of` to build a manifest from files in any order.

    Raises
    ------
    ValueError
        When the origin is unknown, or the files are not sorted or repeat.
    """

    source: str
    origin: str
    root: str
    files: tuple[RawFile, ...]

    def __post_init__(self) -> None:
        if self.origin not in ORIGINS:
            raise ValueError(f"origin {self.origin!r} is none of {', '.join(ORIGINS)}")
        paths = [entry.path for entry in self.files]
        if any(left >= right for left, right in pairwise(paths)):
            raise ValueError("the files of a manifest must be sorted by path, each once")

    @classmethod
    def of(cls, source: str, origin: str, root: str | Path, files: Iterable[RawFile]) -> Self:
        """A manifest of files given in any order; equal entries are merged."""
        return cls(source, origin, str(root), tuple(sorted(set(files))))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a manifest; SourceError when it is missing, damaged or breaks its schema."""
        try:
            return TypeAdapter(cls).validate_json(path.read_bytes())
        except FileNotFoundError as error:
            raise SourceError(
                "the manifest does not exist",
                where=path,
                remedy="run the fetch or generate step that writes it",
            ) from error
        except (ValidationError, UnicodeDecodeError) as error:
            raise SourceError(
                f"the manifest is damaged: {error}",
                where=path,
                remedy="delete it and run the step that writes it again",
            ) from error

    @staticmethod
    def root_in(path: Path) -> Path:
        """The root that a manifest names, without a look at its files; SourceError as `read`."""
        try:
            return Path(json.loads(path.read_bytes())["root"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SourceError(
                f"the manifest cannot be read: {error}",
                where=path,
                remedy="delete it and run the step that writes it again",
            ) from error

    def write(self, path: Path) -> None:
        """Write the manifest: sorted keys, one file a line, no times."""
        rows = ",\n".join("  " + _row(entry) for entry in self.files)
        body = f"[\n{rows}\n ]" if rows else "[]"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f'{{"files": {body},\n "origin": {json.dumps(self.origin)},'
            f'\n "root": {json.dumps(self.root)},\n "source": {json.dumps(self.source)}}}\n',
            encoding="utf-8",
        )

    def file(self, entry: RawFile) -> Path:
        """Where the bytes of an entry lie."""
        return Path(self.root) / entry.path

    def entry(self, path: str | Path) -> RawFile:
        """The entry of a file, named by its path below the root or by where it lies.

        Raises
        ------
        SourceError
            When the manifest does not hold that file.
        """
        for entry in self.files:
            if entry.path == str(path):
                return entry
        wanted = place(Path(path))
        for entry in self.files:
            if place(self.file(entry)) == wanted:
                return entry
        raise SourceError(
            f"the manifest of {self.source} does not hold this file",
            where=path,
            remedy="run the fetch step again with the settings of this run",
        )

    def _remedy(self) -> str:
        return (
            "raw files are never edited; make the manifest again, which brings back what is wrong:"
            f" snakemake --cores 1 --force data/features/<run>/{self.source}.manifest.json"
        )

    def read_verified(self, entry: RawFile) -> bytes:
        """The bytes of an entry, hashed again.

        Raises
        ------
        SourceError
            When the file is missing, or its size or SHA-256 is not that of the entry.
        """
        path = self.file(entry)
        try:
            body = path.read_bytes()
        except OSError as error:
            raise SourceError(
                f"a raw file of {self.source} cannot be read: {error.strerror}",
                where=path,
                remedy=self._remedy(),
            ) from error
        if len(body) != entry.size:
            found = f"{len(body)} bytes instead of {entry.size}"
        elif (sha256 := hashlib.sha256(body).hexdigest()) != entry.sha256:
            found = f"SHA-256 {sha256} instead of {entry.sha256}"
        else:
            return body
        raise SourceError(
            f"a raw file of {self.source} is not the one in the manifest: {found}",
            where=path,
            remedy=self._remedy(),
        )
