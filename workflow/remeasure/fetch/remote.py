"""What a configuration would fetch, before anything is: files, bytes, licences, by service.

A study says what it fetches in a module ``remote`` of its folder, if it fetches anything::

    def remote(settings: Settings, config: Config) -> list[RemoteFile]

A size is *known* where the file is in the raw cache already or its format leaves no other;
otherwise it is *estimated*: the typical size that ``config/sources.yaml`` gives.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

from remeasure.config import Config, study_module
from remeasure.fetch import checksum, layout
from remeasure.fetch.catalogue import Catalogue, RemoteSource, size_text
from remeasure.fetch.raw import Sidecar, Wanted

#: Where every study keeps public files.
CACHE = Path("data/raw/public")


@dataclass(frozen=True)
class RemoteFile:
    """One file or answer that a study would fetch.

    Attributes
    ----------
    source
        Its source in the catalogue.
    wanted
        The request. An address that is known only later has a part in braces.
    value
        Value of the part of the address on which its typical size depends; '' for none.
    """

    source: str
    wanted: Wanted
    value: str = ""


@dataclass(frozen=True)
class Planned:
    """A file with its size, and the checksum file that is fetched with it.

    ``checksum_bytes`` is 0 where there is none.
    """

    study: str
    source: RemoteSource
    url: str
    host: str
    size: int
    known: bool
    cached: bool
    checksum_bytes: int
    checksum_cached: bool

    @property
    def bytes(self) -> int:
        """Bytes of the file and its checksum file."""
        return self.size + self.checksum_bytes

    @property
    def left(self) -> int:
        """Bytes that are still to be fetched."""
        file = 0 if self.cached else self.size
        return file + (0 if self.checksum_cached else self.checksum_bytes)

    def line(self) -> str:
        """One line: size, whether it is known, whether it is in the cache, address."""
        known = "known" if self.known else "estimated"
        where = "in the cache" if not self.left else "to be fetched"
        more = f" (+ .CHECKSUM, {self.checksum_bytes} B)" if self.checksum_bytes else ""
        return f"{size_text(self.size):>8}  {known:9}  {where:13}  {self.url}{more}"


def planned(
    config: Config, *, catalogue: Catalogue | None = None, cache: Path = CACHE
) -> list[Planned]:
    """Every file that the studies of a configuration would fetch, by service and address.

    A file of two studies is listed once. What is in the cache is told by its name and size
    alone; its bytes are hashed again when the run needs them.

    Raises
    ------
    ConfigError
        When the catalogue is wrong or lacks a source.
    """
    known = catalogue or Catalogue.read()
    found: dict[str, Planned] = {}
    for study in config.core.studies:
        if find_spec(f"remeasure.studies.{study}.remote") is None:
            continue
        files = study_module(study, "remote").remote(config.section(study), config)
        for each in files:
            file = _planned(study, each, known.source(each.source), cache)
            found.setdefault(f"{file.url} {each.wanted.number}", file)
    return sorted(found.values(), key=lambda file: (file.host, file.source.id, file.url))


def _planned(study: str, file: RemoteFile, source: RemoteSource, cache: Path) -> Planned:
    wanted, sums = file.wanted, file.wanted.checksum
    open_address = "{" in wanted.url
    held = None if open_address else _held(cache, wanted)
    size = wanted.size if held is None else held
    line = checksum.line_size(wanted.name) if sums else 0
    number = f" (answer {wanted.number})" if wanted.number else ""
    return Planned(
        study=study,
        source=source,
        url=f"{wanted.url}{number}",
        host=layout.host_folder(wanted.url.partition("?")[0]),
        size=source.typical(file.value) if size is None else size,
        known=size is not None,
        cached=held is not None,
        checksum_bytes=line,
        checksum_cached=sums is not None and (cache / sums.path).is_file(),
    )


def _held(cache: Path, wanted: Wanted) -> int | None:
    """Size of a file of the cache that looks whole; None where there is none."""
    file, sums = cache / wanted.path, wanted.checksum
    if not file.is_file():
        return None
    size, record = file.stat().st_size, Sidecar.read(file)
    if record is not None:
        return size if record.size == size else None
    return size if wanted.sha256 or (sums and (cache / sums.path).is_file()) else None


def file_list(files: Sequence[Planned]) -> str:
    """One line a file, and the sums in the last."""
    return "\n".join([*(file.line() for file in files), total_line(files)])


def dry_run(config: Config) -> str:
    """What a dry run says: every file that is still to be fetched; '' when there are none at all.

    The rules that need files ask for them: a dry run of a single target fetches no others.
    """
    files = planned(config)
    if not files:
        return ""
    left = [file.line() for file in files if file.left]
    lines = ["Files that this configuration fetches over the network:", *left, total_line(files)]
    return "\n".join(lines) + "\n"


def total_line(files: Sequence[Planned]) -> str:
    """The sums in one line."""
    left = [file for file in files if file.left]
    sums = sum(file.checksum_bytes > 0 for file in files)
    return (
        f"{len(files):,} files{f' with {sums:,} checksum files' if sums else ''},"
        f" {about(files)} in all; still to be fetched: {len(left):,} files,"
        f" {_about(sum(file.left for file in left), left)}"
    )


def about(files: Iterable[Planned]) -> str:
    """The bytes of some files in words, with ≈ where one of them is estimated."""
    each = list(files)
    return _about(sum(file.bytes for file in each), each)


def _about(count: int, files: Iterable[Planned]) -> str:
    return f"{'' if all(file.known for file in files) else '≈ '}{size_text(count)}"


def table_rows(files: Sequence[Planned]) -> list[dict[str, str]]:
    """Rows for people: each service, and below it each of its sources; the last is the total."""
    rows = []
    for host, group in groupby(files, key=lambda file: file.host):
        own = list(group)
        licences = sorted({file.source.licence for file in own})
        rows.append(_row(host, own, "; ".join(licences)))
        for _, part in groupby(own, key=lambda file: file.source.id):
            of_source = list(part)
            rows.append(_row(f"  {of_source[0].source.title}", of_source, ""))
    rows.append(_row("total", files, ""))
    return rows


def _row(name: str, files: Sequence[Planned], licence: str) -> dict[str, str]:
    cached = [file for file in files if not file.left]
    left = [file for file in files if file.left]
    return {
        "service": name,
        "files": f"{len(files):,}",
        "checksum files": f"{sum(file.checksum_bytes > 0 for file in files):,}",
        "bytes": about(files),
        "in the cache": f"{len(cached):,}, {about(cached)}" if cached else "none",
        "to be fetched": f"{len(left):,}, {about(left)}" if left else "none",
        "licence": licence,
    }
