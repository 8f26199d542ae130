"""Checksum files in the format of ``sha256sum``: ``<64 hex>  <file name>``."""

from __future__ import annotations

import re

from remeasure.errors import SourceError

#: A checksum file is one short line; anything longer is something else.
MAX_BYTES = 4096
_LINE = re.compile(r"([0-9A-Fa-f]{64}) [ *](\S+)\r?\n?")


def line_size(name: str) -> int:
    """Bytes of the checksum file of a file called ``name``."""
    return 64 + 2 + len(name) + 1


def parse_checksum(body: bytes, name: str, *, where: object = "") -> str:
    """SHA-256 that a checksum file promises for the file called ``name``.

    Parameters
    ----------
    body
        The checksum file as received: exactly one line.
    name
        Name of the file, without folders.
    where
        URL or path of the checksum file, for the message.

    Returns
    -------
    64 lower-case hexadecimal digits.

    Raises
    ------
    SourceError
        When the body is not one such line or speaks of another file.
    """
    try:
        match = _LINE.fullmatch(body.decode("ascii"))
    except UnicodeDecodeError:
        match = None
    if match is None:
        raise SourceError(
            "the checksum file is not one line of '<64 hexadecimal digits>  <file name>': "
            f"{body[:80]!r}",
            where=where,
            remedy="delete it and fetch again; if it comes again, the service has changed",
        )
    if match.group(2) != name:
        raise SourceError(
            f"the checksum file speaks of {match.group(2)!r} instead of {name!r}",
            where=where,
            remedy="delete it and fetch again; if it comes again, the service has changed",
        )
    return match.group(1).lower()
