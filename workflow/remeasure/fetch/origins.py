"""The five origins of raw bytes, each resolved into a manifest.

======================  ==========================================================
`Generated`             a folder in the raw layout that a generator wrote
`Mirror`                a folder in the raw layout, read in place, no network
`Public`                the real services, through the raw cache
`Package`               files inside an installed distribution, at a pinned version
`Files`                 files that the user already has
======================  ==========================================================

The first three answer the same request, a list of `remeasure.fetch.raw.Wanted`,
so that what is asked for never depends on where it comes from. The last two
know their files themselves. Checksum files of the service are listed beside the
files that they speak of, so an audit hashes them as well.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from remeasure.errors import SourceError
from remeasure.fetch.cache import Cache, Explain
from remeasure.fetch.manifest import Manifest, RawFile, digest, place
from remeasure.fetch.raw import Wanted, check_distinct, inspect
from remeasure.fetch.settings import ClientSettings


@dataclass(frozen=True)
class Generated:
    """Bytes that a generator wrote below ``root``, as in ``data/raw/generated/<world>``."""

    root: Path


@dataclass(frozen=True)
class Mirror:
    """A folder in the raw layout that is read in place and never written to."""

    root: Path


@dataclass(frozen=True)
class Public:
    """The real services, through a raw cache.

    Attributes
    ----------
    root, quarantine
        Folders of good and of bad bodies.
    settings
        Of the HTTP client.
    offline, refresh
        As in `remeasure.fetch.cache.Cache`.
    """

    root: Path = Path("data/raw/public")
    quarantine: Path = Path("data/raw/quarantine")
    settings: ClientSettings = field(default_factory=ClientSettings)
    offline: bool = False
    refresh: bool = False

    def cache(self) -> Cache:
        """The raw cache of this origin."""
        return Cache(
            self.root,
            quarantine=self.quarantine,
            settings=self.settings,
            offline=self.offline,
            refresh=self.refresh,
        )


@dataclass(frozen=True)
class Package:
    """Files inside a distribution that is installed beside this one.

    Attributes
    ----------
    distribution
        Its name at the registry, as in ``scikit-learn``.
    version
        The version whose files are meant; any other is refused.
    paths
        Paths as the distribution records them, relative to where it is
        installed, as in ``sklearn/datasets/data/iris.csv``.
    """

    distribution: str
    version: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class Files:
    """Files of the user, at any place."""

    paths: tuple[Path, ...]


Layout = Generated | Mirror | Public


def resolve(
    source: str,
    origin: Layout | Package | Files,
    wanted: Sequence[Wanted] = (),
    *,
    title: str = "",
    explain: Explain | None = None,
) -> Manifest:
    """The manifest of a source under any origin.

    Parameters
    ----------
    source
        Name of the data set, as in ``crypto_spot_5m``.
    origin
        Where its bytes come from.
    wanted
        What is asked for under `Generated`, `Mirror` and `Public`; the other
        origins know their files themselves.
    title, explain
        Under `Public`, as in `remeasure.fetch.cache.Cache.fetch`.

    Raises
    ------
    SourceError
        When files are missing or not what is promised; the message names every one.
    """
    match origin:
        case Generated():
            return from_layout(source, "generated", origin.root, wanted)
        case Mirror():
            return from_layout(source, "mirror", origin.root, wanted)
        case Public():
            return from_public(source, origin, wanted, title=title, explain=explain)
        case Package():
            return from_package(source, origin)
        case Files():
            return from_files(source, origin)


_FILL = {
    "mirror": "add the missing files to the mirror at the same places, choose a window that it "
    "covers, or use the origin public",
    "generated": "run the generator again; generated files are never edited",
}


def from_layout(source: str, origin: str, root: Path, wanted: Sequence[Wanted]) -> Manifest:
    """The manifest of files that lie in the raw layout below ``root``; nothing is written.

    A file is checked against the promised hash and size, its checksum file and
    its sidecar, as far as they are there.

    Raises
    ------
    SourceError
        Naming every file that is missing or not what is promised.
    """
    check_distinct(wanted)
    entries: list[RawFile] = []
    missing: list[str] = []
    wrong: list[str] = []
    for each in wanted:
        try:
            state, entry = inspect(root, each)
        except SourceError as error:
            wrong.append(f"\n  - {error.where}: {error.what}")
            continue
        if state == "missing":
            missing.append(f"\n  - {each.path}")
        elif state in ("damaged", "replaced"):
            wrong.append(f"\n  - {each.path}: size or SHA-256 is not what was promised for it")
        else:
            entries.append(entry)
    if not missing and not wrong:
        return Manifest.of(source, origin, root, entries + _checksum_files(root, wanted))
    parts = [
        f"{len(rows)} of {len(wanted)} files are {what}:{''.join(rows)}"
        for rows, what in ((missing, "missing"), (wrong, "damaged"))
        if rows
    ]
    raise SourceError(
        f"the {origin} data of {source} is incomplete: " + "\n".join(parts),
        where=root if root.is_dir() else f"{root} (there is no such folder)",
        remedy=_FILL.get(origin, "complete the folder"),
    )


def from_public(
    source: str,
    origin: Public,
    wanted: Sequence[Wanted],
    *,
    title: str = "",
    explain: Explain | None = None,
) -> Manifest:
    """The manifest of files fetched from the real services, or present from an earlier run.

    Raises
    ------
    SourceError
        As `remeasure.fetch.cache.Cache.fetch`.
    """
    entries = origin.cache().fetch(wanted, title=title or source, explain=explain)
    checksums = _checksum_files(origin.root, wanted)
    return Manifest.of(source, "public", origin.root, [*entries, *checksums])


def _checksum_files(root: Path, wanted: Sequence[Wanted]) -> list[RawFile]:
    """Entries of the checksum files that lie below ``root``."""
    places = {each.checksum.path for each in wanted if each.checksum}
    return [RawFile(path, *digest(root / path)) for path in places if (root / path).is_file()]


def _recorded_hash(path: metadata.PackagePath) -> str:
    """SHA-256 that the distribution records for a file; '' when it records none."""
    record = path.hash
    if record is None or record.mode != "sha256":
        return ""
    try:
        return base64.urlsafe_b64decode(record.value + "=" * (-len(record.value) % 4)).hex()
    except (binascii.Error, ValueError):
        return ""


def from_package(source: str, origin: Package) -> Manifest:
    """The manifest of files inside an installed distribution, checked against its own record.

    Raises
    ------
    SourceError
        When the distribution is absent, of another version, or does not hold
        these files as it records them.
    """
    pin = f"{origin.distribution}=={origin.version}"
    install = f"python -m pip install '{pin}'"
    try:
        distribution = metadata.distribution(origin.distribution)
    except metadata.PackageNotFoundError as error:
        raise SourceError(
            f"{source} reads files of the package {pin}, which is not installed",
            where=origin.distribution,
            remedy=install,
        ) from error
    if distribution.version != origin.version:
        raise SourceError(
            f"{source} reads files of the package {pin}, but {distribution.version} is installed",
            where=origin.distribution,
            remedy=install,
        )
    root = Path(str(distribution.locate_file("")))
    recorded = {path.as_posix(): path for path in distribution.files or ()}
    entries: list[RawFile] = []
    wrong: list[str] = []
    for name in origin.paths:
        if name not in recorded or not (root / name).is_file():
            wrong.append(f"\n  - {name}: not in the package")
            continue
        entry = RawFile(name, *digest(root / name))
        if _recorded_hash(recorded[name]) not in ("", entry.sha256):
            wrong.append(f"\n  - {name}: edited after it was installed")
        entries.append(entry)
    if wrong:
        raise SourceError(
            f"{len(wrong)} of {len(origin.paths)} files of {pin} cannot be used:{''.join(wrong)}",
            where=root,
            remedy=f"{install} --force-reinstall --no-deps",
        )
    return Manifest.of(source, "package", root, entries)


def from_files(source: str, origin: Files) -> Manifest:
    """The manifest of files of the user; its root is the folder that they share.

    Look an entry up with `Manifest.entry`, by the path as the user wrote it.

    Raises
    ------
    SourceError
        Naming every file that does not exist.
    """
    missing = [f"\n  - {path}" for path in origin.paths if not path.is_file()]
    if missing or not origin.paths:
        raise SourceError(
            f"{len(missing)} of {len(origin.paths)} files of {source} do not exist:"
            f"{''.join(missing)}",
            where="the origin files in the configuration",
            remedy="correct the paths; relative ones start at the folder of the run",
        )
    # Written as given where all are plain relative paths, so that the manifest can travel.
    plain = all(not path.is_absolute() and ".." not in path.parts for path in origin.paths)
    paths = [path if plain else place(path) for path in origin.paths]
    root = Path(os.path.commonpath([path.parent for path in paths]) or ".")
    return Manifest.of(
        source,
        "files",
        root,
        [RawFile(path.relative_to(root).as_posix(), *digest(path)) for path in paths],
    )
