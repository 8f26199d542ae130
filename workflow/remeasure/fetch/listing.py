"""Listings of S3 buckets, asked only to explain why a file is not there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

from remeasure.errors import SourceError
from remeasure.fetch import layout
from remeasure.fetch.client import Client
from remeasure.fetch.transfer import get

_MAX_PAGES = 50
_MAX_BYTES = 8 << 20


def list_keys(client: Client, prefix: str, folder: Path, *, listing: str) -> list[str]:
    """Keys of a bucket that begin with ``prefix``, sorted as the service sorts them.

    Follows ``IsTruncated`` and ``NextMarker`` (or the last key, where there is
    none); the marker must grow from page to page, so it cannot loop.

    Raises
    ------
    SourceError
        When a page cannot be had, is not a listing or goes backwards.
    """
    keys: list[str] = []
    marker = ""
    for _ in range(_MAX_PAGES):
        url = f"{listing}?prefix={quote(prefix)}&delimiter=/"
        url += f"&marker={quote(marker)}" if marker else ""
        page = _listing_page(get(client, url, folder, max_bytes=_MAX_BYTES), url)
        found = [key.text or "" for key in page.findall("Contents/Key")]
        keys += found
        if page.findtext("IsTruncated", "false").strip().lower() != "true":
            return keys
        following = page.findtext("NextMarker") or (found[-1] if found else "")
        if following <= marker:
            raise SourceError(
                f"the listing does not advance: marker {following!r} after {marker!r}",
                where=url,
                remedy="run again later; the listing of the service is not sound",
            )
        marker = following
    raise SourceError(
        f"the listing has more than {_MAX_PAGES} pages",
        where=f"{listing}?prefix={prefix}",
        remedy="ask for a longer prefix",
    )


def _listing_page(body: bytes, url: str) -> ElementTree.Element:
    """The root element of a listing, with the namespace taken off all tags."""
    try:
        if b"<!" in body:  # a listing has no document type, and entities could grow without end
            raise ElementTree.ParseError("it has a document type")
        root = ElementTree.fromstring(body)  # noqa: S314 (entities are refused above)
    except ElementTree.ParseError as error:
        raise SourceError(
            f"the listing is not XML ({error})", where=url, remedy="run again later"
        ) from error
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    if root.tag != "ListBucketResult":
        raise SourceError(
            f"the answer is a <{root.tag}> and not a listing", where=url, remedy="run again later"
        )
    return root


def explain_missing(folder: Path, *, listing: str) -> Callable[[Client, str], str]:
    """An explanation of 404s for `Cache.fetch`: what the archive has in the folder of the URL.

    ``folder`` holds the pages of the listing while they are read. The listing
    is asked once for each folder; when it cannot be had, that is the explanation.
    """
    known: dict[str, list[str] | str] = {}

    def explain(client: Client, url: str) -> str:
        path = layout.split(url).path.removeprefix("/")
        prefix = path.rpartition("/")[0] + "/"
        if prefix not in known:
            try:
                known[prefix] = list_keys(client, prefix, folder, listing=listing)
            except SourceError as error:
                known[prefix] = f"the listing could not be had ({error.what})"
        keys = known[prefix]
        if isinstance(keys, str):
            return keys
        names = [key.rpartition("/")[2] for key in keys if not key.endswith(".CHECKSUM")]
        if not names:
            return "the archive has no files in this folder: check symbol and interval"
        if path in keys:
            return "the listing names this file, so it may be there soon: run again later"
        return (
            f"the archive has {len(names)} files in this folder, from {min(names)} to "
            f"{max(names)}: this one does not exist or not yet"
        )

    return explain
