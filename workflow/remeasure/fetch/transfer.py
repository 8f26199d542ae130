"""Bring one URL into one partial file: bounded, hashed, continued where that is safe.

A partial file ``<name>%part`` grows beside its target; ``<name>%part.json`` holds
what must stay true for it to be continued. A body that breaks off is continued
by ``Range`` with ``If-Range``, in the same call or in a later run, as long as the
server proves by ETag or date that the file is still the same one; otherwise the
download starts again.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial as bind
from pathlib import Path
from typing import NoReturn, Self

import requests

from remeasure.errors import SourceError
from remeasure.fetch.client import NETWORK_ERRORS, Client, describe

_CHUNK = 1 << 16


class BadBody(SourceError):
    """A body arrived that must not be used; ``body`` is the file that holds it."""

    def __init__(self, what: str, *, body: Path, where: object = "", remedy: str = "") -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.body = body


@dataclass(frozen=True)
class Received:
    """What one call of `receive` brought.

    ``url`` as asked and ``final_url`` after redirects (there without its query:
    signed addresses expire and are nobody's business); ``size`` and ``sha256``
    of the whole file; ``transferred`` counts the bytes of this call alone.
    """

    url: str
    final_url: str
    status: int
    size: int
    sha256: str
    etag: str
    retrieved: str
    transferred: int

    def record(self) -> dict[str, str | int]:
        """The sidecar of the raw file."""
        fields = asdict(self)
        del fields["transferred"]
        return fields


class _BrokeOff(Exception):
    """A body that ended early."""


@dataclass(frozen=True)
class _Progress:
    """What must stay true for a partial file to be continued."""

    url: str
    etag: str
    modified: str
    total: int | None

    @property
    def validator(self) -> str:
        """Value for If-Range: a strong ETag, or else the date of the file (RFC 9110, 13.1.5)."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.modified

    @staticmethod
    def file(part: Path) -> Path:
        return part.with_name(part.name + ".json")

    @classmethod
    def read(cls, part: Path, url: str) -> Self | None:
        """The record of a partial file, or None when it cannot be continued."""
        try:
            found = cls(**json.loads(cls.file(part).read_bytes()))
            size = part.stat().st_size
        except (OSError, ValueError, TypeError):
            return None
        whole = found.total is not None and size > found.total
        return None if found.url != url or not found.validator or not size or whole else found

    @classmethod
    def of(cls, url: str, response: requests.Response) -> Self:
        """From an answer that brings the whole file."""
        # A body that the server encodes on the fly has no stable bytes to continue.
        steady = not _encoded(response) and response.headers.get("Accept-Ranges") != "none"
        length = response.headers.get("Content-Length", "")
        return cls(
            url=url,
            etag=response.headers.get("ETag", "") if steady else "",
            modified=response.headers.get("Last-Modified", "") if steady else "",
            total=int(length) if length.isdecimal() and not _encoded(response) else None,
        )

    def write(self, part: Path) -> None:
        self.file(part).write_text(json.dumps(asdict(self)), encoding="utf-8")

    def continued_by(self, response: requests.Response, offset: int) -> bool:
        """Whether a 206 answer brings the rest of the same file."""
        span = response.headers.get("Content-Range", "")
        etag = response.headers.get("ETag", "")
        return (
            span.startswith(f"bytes {offset}-")
            and span.rpartition("/")[2] in ("*", str(self.total))
            and etag in ("", self.etag)
        )


def discard(part: Path) -> None:
    """Remove a partial file and its record."""
    part.unlink(missing_ok=True)
    _Progress.file(part).unlink(missing_ok=True)


def _encoded(response: requests.Response) -> bool:
    return response.headers.get("Content-Encoding", "identity") != "identity"


def _chunks(response: requests.Response) -> Iterator[bytes]:
    """Bytes as they come; an encoding that was not asked for is undone."""
    if _encoded(response):
        return response.iter_content(_CHUNK)
    return iter(bind(response.raw.read1, _CHUNK, decode_content=False), b"")


def _hash_of(part: Path, size: int) -> hashlib._Hash:
    """A running SHA-256 over the bytes that are there already."""
    if not size:
        return hashlib.sha256()
    with part.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256")


class _Transfer:
    """The state of one call of `receive`."""

    def __init__(self, client: Client, url: str, part: Path, limit: int) -> None:
        self.client, self.url, self.part, self.limit = client, url, part, limit
        self.deadline = time.monotonic() + client.settings.file_timeout
        self.transferred = 0
        self.size = 0
        self.knows_ranges = True  # until it shows otherwise

    def run(self) -> Received:
        """Attempt until the body is whole; attempts that get further are not counted."""
        failures = furthest = 0
        while True:
            try:
                return self._attempt()
            except _BrokeOff as error:
                failures = 1 if self.size > furthest and self._continuable() else failures + 1
                furthest = max(furthest, self.size)
                if failures > self.client.settings.retries or time.monotonic() > self.deadline:
                    self._give_up(error)
            self.client.back_off(failures)

    def bad(self, what: str) -> BadBody:
        return BadBody(
            f"the body {what}",
            body=self.part,
            where=self.url,
            remedy="fetch again; if it comes again, the service serves a damaged or replaced file",
        )

    def _continuable(self) -> bool:
        return _Progress.read(self.part, self.url) is not None

    def _give_up(self, error: _BrokeOff) -> NoReturn:
        if self._continuable():
            raise SourceError(
                f"the download broke off {error}",
                where=self.url,
                remedy=f"run again: it continues after the {self.size:,} bytes that came",
            )
        raise self.bad(f"is not whole: it broke off {error}")

    def _attempt(self) -> Received:
        """One request and its body, from where the partial file ends."""
        progress = _Progress.read(self.part, self.url)
        self.size = self.part.stat().st_size if progress else 0
        headers = (
            {"Range": f"bytes={self.size}-", "If-Range": progress.validator} if progress else {}
        )
        with closing(self.client.open(self.url, headers)) as response:
            if response.status_code != 200:
                if progress and progress.continued_by(response, self.size):
                    return self._read(response, progress)
                discard(self.part)
                self.size = 0
                raise _BrokeOff(f"with HTTP {response.status_code}, which does not continue it")
            fresh = _Progress.of(self.url, response)
            if progress and progress.validator == fresh.validator:
                # Asked for the rest of the same file, it sends the whole.
                self.knows_ranges = False
            if not self.knows_ranges:
                fresh = replace(fresh, etag="", modified="")
            self.part.write_bytes(b"")
            self.size = 0
            fresh.write(self.part)
            return self._read(response, fresh)

    def _read(self, response: requests.Response, progress: _Progress) -> Received:
        """Append the body to the first ``size`` bytes of the partial file."""
        if progress.total is not None and progress.total > self.limit:
            raise self.bad(
                f"declares {progress.total:,} bytes, more than the limit of {self.limit:,}"
            )
        sha256 = _hash_of(self.part, self.size)
        with self.part.open("ab", buffering=0) as out:
            for chunk in self._bytes(response):
                if self.size + len(chunk) > self.limit:
                    raise self.bad(f"is larger than the limit of {self.limit:,} bytes")
                out.write(chunk)
                sha256.update(chunk)
                self.size += len(chunk)
                self.transferred += len(chunk)
        if progress.total is not None and self.size != progress.total:
            raise _BrokeOff(f"after {self.size:,} of {progress.total:,} bytes")
        final = response.url or self.url
        return Received(
            url=self.url,
            final_url=final if final == self.url else final.partition("?")[0],
            status=200,
            size=self.size,
            sha256=sha256.hexdigest(),
            etag=response.headers.get("ETag", ""),
            retrieved=datetime.now(UTC).isoformat(timespec="seconds"),
            transferred=self.transferred,
        )

    def _bytes(self, response: requests.Response) -> Iterator[bytes]:
        """The chunks of a body; _BrokeOff when the network, the clock or a stop ends them."""
        chunks = _chunks(response)
        while True:
            try:
                chunk = next(chunks, b"")
            except NETWORK_ERRORS as error:
                raise _BrokeOff(f"after {self.size:,} bytes ({describe(error)})") from error
            if not chunk:
                return
            yield chunk
            if self.client.stopped:
                raise _BrokeOff(f"after {self.size:,} bytes (the run was stopped)")
            if time.monotonic() > self.deadline:
                limit = self.client.settings.file_timeout
                raise _BrokeOff(f"after {self.size:,} bytes (more than {limit:g} s)")


def receive(client: Client, url: str, part: Path, *, max_bytes: int | None = None) -> Received:
    """Bring one file, continuing the partial file ``part`` where that is safe.

    Parameters
    ----------
    client
        The HTTP client.
    url
        http or https.
    part
        Partial file, in the folder of the target. The caller verifies and renames it.
    max_bytes
        Largest body accepted; default `ClientSettings.max_bytes`.

    Raises
    ------
    BadBody
        A body that is too large or not whole; it stays at ``part`` for the
        caller to put aside.
    SourceError
        As `Client.open`; also a connection that broke but can be continued by
        a later call, for which ``part`` stays.
    """
    part.parent.mkdir(parents=True, exist_ok=True)
    limit = client.settings.max_bytes if max_bytes is None else max_bytes
    return _Transfer(client, url, part, limit).run()


def get(client: Client, url: str, folder: Path, *, max_bytes: int) -> bytes:
    """The body of a small answer that is not kept; ``folder`` holds it meanwhile."""
    part = folder / f"%answer-{threading.get_ident()}"
    try:
        receive(client, url, part, max_bytes=max_bytes)
        return part.read_bytes()
    finally:
        discard(part)
