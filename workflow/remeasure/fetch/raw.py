"""What is wanted, and whether the raw layout already holds it: no network here.

Beside each raw file lies ``<file>.meta.json`` with URL, final URL, status, size,
SHA-256, ETag and time of retrieval. A file counts as present when

- its size and SHA-256 are those of its sidecar, and
- where a hash is promised (by the request, or by the service's own checksum file
  in the same layout), they are those of the promise.

A file without a sidecar, as in a folder copied from elsewhere, counts when the
promise alone holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from remeasure.errors import SourceError
from remeasure.fetch import checksum, layout
from remeasure.fetch.manifest import RawFile, digest

#: Looks at a complete body before it is accepted; raises an expected error to refuse it.
Check = Callable[[Path], None]

#: ``damaged``: not what its sidecar or, without one, the promise says. ``unproven``:
#: neither sidecar nor promise. ``replaced``: as fetched, but the promise is another one now.
State = Literal["present", "missing", "damaged", "unproven", "replaced"]


@dataclass(frozen=True)
class Wanted:
    """One file that is wanted from a service.

    Attributes
    ----------
    url
        http or https.
    sha256
        Its SHA-256 where it is known beforehand (the catalogue); wins over a checksum file.
    size
        Its size in bytes where it is known beforehand.
    checksum_url
        Checksum file of the service, in the format of ``sha256sum``.
    number
        Which of several recorded answers of an address that gives another one each time, from
        1 on; 0 where there is only one.
    max_bytes
        Largest body accepted; default `ClientSettings.max_bytes`.
    check
        Called with the path of a complete body before it is accepted.
    """

    url: str
    sha256: str = ""
    size: int | None = None
    checksum_url: str = ""
    number: int = 0
    max_bytes: int | None = None
    check: Check | None = None

    @cached_property
    def path(self) -> str:
        """Place in the raw layout."""
        path = layout.url_to_path(self.url)
        return layout.recorded(path, self.number) if self.number else path

    @property
    def name(self) -> str:
        """Last part of the URL, by which checksum files speak of it."""
        return self.url.rpartition("/")[2]

    @property
    def checksum(self) -> Wanted | None:
        """The checksum file as something wanted too; None where the hash is known without."""
        if self.sha256 or not self.checksum_url:
            return None

        def check(path: Path) -> None:
            checksum.parse_checksum(path.read_bytes(), self.name, where=self.checksum_url)

        return Wanted(self.checksum_url, max_bytes=checksum.MAX_BYTES, check=check)


class Sidecar(BaseModel):
    """The record beside a raw file."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    url: str
    final_url: str = ""
    status: int
    size: int
    sha256: str
    etag: str
    retrieved: str

    @classmethod
    def read(cls, file: Path) -> Sidecar | None:
        """The sidecar of ``file``, or None when there is none that can be read."""
        try:
            return cls.model_validate_json(layout.sidecar(file).read_bytes())
        except (OSError, ValidationError):
            return None

    def write(self, file: Path) -> None:
        """Write the sidecar of ``file``, whole or not at all."""
        target = layout.sidecar(file)
        fresh = layout.partial(target)
        fresh.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")
        fresh.replace(target)


def promised(root: Path, wanted: Wanted) -> str:
    """SHA-256 promised by the request, or by a checksum file below ``root``; '' when by none.

    Raises
    ------
    SourceError
        When the checksum file is there but is not one for this file.
    """
    sums = wanted.checksum
    if sums is None:
        return wanted.sha256
    file = root / sums.path
    return (
        checksum.parse_checksum(file.read_bytes(), wanted.name, where=file)
        if file.is_file()
        else ""
    )


def inspect(root: Path, wanted: Wanted) -> tuple[State, RawFile]:
    """State of a wanted file below ``root``, hashed now.

    Returns
    -------
    The state, and an entry with size and SHA-256 as found (zeros when missing).

    Raises
    ------
    SourceError
        As `promised`.
    """
    file = root / wanted.path
    promise = promised(root, wanted)
    if not file.is_file():
        return "missing", RawFile(wanted.path, 0, "0" * 64)
    entry = RawFile(wanted.path, *digest(file))
    record = Sidecar.read(file)
    if record and (record.size, record.sha256) != (entry.size, entry.sha256):
        return "damaged", entry
    if (promise and entry.sha256 != promise) or wanted.size not in (None, entry.size):
        return "replaced" if record else "damaged", entry
    return "present" if record or promise else "unproven", entry


def check_distinct(wanted: Sequence[Wanted]) -> None:
    """Raise SourceError when two URLs share a place in the layout, or one lies below another."""
    places: dict[str, str] = {}
    for each in wanted:
        other = places.setdefault(each.path, each.url)
        if other != each.url:
            raise SourceError(
                f"two URLs share one place in the raw layout; the other is {other}",
                where=each.url,
                remedy="ask for one of them only",
            )
    for place, url in places.items():
        above = place
        while above := above.rpartition("/")[0]:
            if above in places:
                raise SourceError(
                    f"another URL would have to be a file and a folder: {places[above]}",
                    where=url,
                    remedy="ask for one of them only",
                )
