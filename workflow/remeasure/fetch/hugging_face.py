"""Checkpoints of the Hugging Face hub: one revision, every file checked against its listing.

A revision is a commit: 40 hexadecimal digits. A branch such as ``main`` is first resolved to
the commit that it names; the answer stays in the raw cache, so that later runs mean the same
commit until it is removed there. The listing of the commit gives the size of each file and
its hash: SHA-256 for files in large-file storage, Git's SHA-1 of a blob for the others.

A mirror may hold the files alone, at ``huggingface.co/<id>/resolve/<revision>/<file>``; where
it holds the listing too, the files are checked against it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from remeasure.errors import DataError, SourceError
from remeasure.fetch import layout, origins
from remeasure.fetch.manifest import Manifest, RawFile, digest
from remeasure.fetch.raw import Check, Wanted
from remeasure.fetch.settings import Checkpoint as Checkpoint
from remeasure.fetch.settings import DataFiles

HUB = "https://huggingface.co"

_COMMIT = re.compile(r"[0-9a-f]{40}")
_PAGE_BYTES = 16 << 20
_FILE_BYTES = 64 << 30
_DATA = "datasets"


class _Large(BaseModel):
    model_config = ConfigDict(extra="ignore")
    oid: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size: int = Field(ge=0)


class _Entry(BaseModel):
    model_config = ConfigDict(extra="ignore")
    type: Literal["file", "directory"]
    path: str
    oid: str
    size: int = Field(ge=0)
    lfs: _Large | None = None


class _Revision(BaseModel):
    model_config = ConfigDict(extra="ignore")
    sha: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]


_ENTRIES = TypeAdapter(list[_Entry])


def blob_sha1(body: bytes) -> str:
    """Git's name of a blob: SHA-1 over a header and the bytes.

    >>> blob_sha1(b"hello\\n")
    'ce013625030ba8dba906f756967f9e9ca394464a'
    """
    return hashlib.sha1(b"blob %d\0" % len(body) + body, usedforsecurity=False).hexdigest()


def _refuse(where: object, error: ValidationError) -> DataError:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"]) or "the answer"
    return DataError(
        f"the hub's answer is not of the known form: {field}: {first['msg']}",
        where=where,
        remedy="the interface may have changed: compare with its documentation",
    )


def _entries(body: bytes, where: object) -> list[_Entry]:
    try:
        return _ENTRIES.validate_json(body)
    except ValidationError as error:
        raise _refuse(where, error) from error


def _commit(body: bytes, where: object) -> str:
    try:
        return _Revision.model_validate_json(body).sha
    except ValidationError as error:
        raise _refuse(where, error) from error


def _is_blob(oid: str, url: str) -> Check:
    def check(path: Path) -> None:
        found = blob_sha1(path.read_bytes())
        if found != oid:
            raise DataError(
                f"its Git hash is {found} instead of {oid}", where=url, remedy="fetch it again"
            )

    return check


def revision_page(model: str, revision: str, hub: str = HUB, *, kind: str = "models") -> Wanted:
    """The answer that says which commit a branch or tag names; ``kind`` may be ``datasets``."""
    url = f"{hub}/api/{kind}/{model}/revision/{revision}"
    return Wanted(
        url, max_bytes=_PAGE_BYTES, check=lambda path: _ignore(_commit(path.read_bytes(), url))
    )


def listing_page(model: str, commit: str, hub: str = HUB, *, kind: str = "models") -> Wanted:
    """The answer that lists the files of a commit; ``kind`` may be ``datasets``."""
    url = f"{hub}/api/{kind}/{model}/tree/{commit}?recursive=true"
    return Wanted(
        url, max_bytes=_PAGE_BYTES, check=lambda path: _ignore(_entries(path.read_bytes(), url))
    )


def _ignore(_: object) -> None:
    """A check only looks."""


def _page(origin: origins.Layout, wanted: Wanted) -> bytes:
    manifest = origins.resolve("hub", origin, [wanted])
    return manifest.read_verified(manifest.files[0])


def _chosen(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Names in the top folder that fit a pattern, sorted."""
    return sorted(
        name
        for name in names
        if "/" not in name and any(fnmatchcase(name, each) for each in patterns)
    )


def _check_enough(names: Sequence[str], wanted: Checkpoint, where: object) -> None:
    if not any(name.endswith(".safetensors") for name in names) or "config.json" not in names:
        raise SourceError(
            f"{wanted.id} at {wanted.revision} holds no config.json with safetensors weights;"
            f" found: {', '.join(names) or 'nothing'}",
            where=where,
            remedy="correct the id or the revision, or put these files into the mirror",
        )


def fetch_checkpoint(
    source: str, origin: origins.Layout, wanted: Checkpoint, *, hub: str = HUB
) -> Manifest:
    """The manifest of one checkpoint.

    Parameters
    ----------
    source
        Name of the data set, as in ``crypto_chronos2``.
    origin
        `Mirror` or `Public`.
    wanted
        Which files.
    hub
        Address of the hub, or of a server with its interface.

    Returns
    -------
    Manifest
        Files at ``<host>/<id>/resolve/<commit>/<file>``, and the pages that list them.

    Raises
    ------
    SourceError
        When files cannot be had, are not those of the listing, or hold no weights.
    DataError
        When an answer of the hub is not of the known form.
    """
    mirrored = isinstance(origin, origins.Mirror)
    commit = wanted.revision
    pages: list[Wanted] = []
    if not _COMMIT.fullmatch(commit):
        page = revision_page(wanted.id, commit, hub)
        if not mirrored or (origin.root / page.path).is_file():
            commit = _commit(_page(origin, page), page.url)
            pages.append(page)
    listing = listing_page(wanted.id, commit, hub)
    base = f"{hub}/{wanted.id}/resolve/{commit}/"
    if mirrored and not (origin.root / listing.path).is_file():
        folder = (origin.root / layout.url_to_path(base + "x")).parent
        found = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        names = _chosen([name for name in found if not name.endswith(".meta.json")], wanted.files)
        _check_enough(names, wanted, folder)
        return Manifest.of(
            source,
            "mirror",
            origin.root,
            [RawFile(layout.url_to_path(base + name), *digest(folder / name)) for name in names],
        )
    pages.append(listing)
    files = _files(_page(origin, listing), listing.url, wanted, base)
    return origins.resolve(source, origin, [*pages, *files])


def planned_files(cache: Path, wanted: Checkpoint, *, hub: str = HUB) -> list[Wanted]:
    """What `fetch_checkpoint` would ask for, as far as a raw cache knows it.

    Before the listing of a commit is in the cache its files are not known: one address with
    ``{every-file}`` in it stands for them all.
    """
    commit = wanted.revision
    if not _COMMIT.fullmatch(commit):
        page = cache / revision_page(wanted.id, commit, hub).path
        if page.is_file():
            commit = _commit(page.read_bytes(), page)
    listing = listing_page(wanted.id, commit, hub)
    base = f"{hub}/{wanted.id}/resolve/{commit}/"
    if (page := cache / listing.path).is_file():
        return _files(page.read_bytes(), page, wanted, base)
    return [Wanted(f"{base}{{every-file}}")]


def _files(body: bytes, where: object, wanted: Checkpoint, base: str) -> list[Wanted]:
    """The chosen files of a listing."""
    entries = {each.path: each for each in _entries(body, where)}
    names = _chosen([each.path for each in entries.values() if each.type == "file"], wanted.files)
    _check_enough(names, wanted, where)
    return [_file(base + name, entries[name]) for name in names]


def _file(url: str, entry: _Entry) -> Wanted:
    if entry.lfs:
        return Wanted(url, sha256=entry.lfs.oid, size=entry.lfs.size, max_bytes=_FILE_BYTES)
    return Wanted(url, size=entry.size, max_bytes=_PAGE_BYTES, check=_is_blob(entry.oid, url))


def fetch_data(
    source: str, origin: origins.Layout, wanted: DataFiles, *, hub: str = HUB
) -> Manifest:
    """The manifest of files of a data set, each checked against the listing of its commit.

    A mirror without the listing holds them at
    ``huggingface.co/datasets/<id>/resolve/<revision>/<path>``.

    Raises
    ------
    SourceError, DataError
        As in `fetch_checkpoint`; names a file that the listing lacks.
    """
    mirrored = isinstance(origin, origins.Mirror)
    commit = wanted.revision
    pages: list[Wanted] = []
    if not _COMMIT.fullmatch(commit):
        page = revision_page(wanted.id, commit, hub, kind=_DATA)
        if not mirrored or (origin.root / page.path).is_file():
            commit = _commit(_page(origin, page), page.url)
            pages.append(page)
    listing = listing_page(wanted.id, commit, hub, kind=_DATA)
    base = f"{hub}/datasets/{wanted.id}/resolve/{commit}/"
    if mirrored and not (origin.root / listing.path).is_file():
        return origins.resolve(source, origin, [*pages, *(Wanted(base + f) for f in wanted.files)])
    pages.append(listing)
    files = _data_files(_page(origin, listing), listing.url, wanted, base)
    return origins.resolve(source, origin, [*pages, *files])


def planned_data(cache: Path, wanted: DataFiles, *, hub: str = HUB) -> list[Wanted]:
    """What `fetch_data` would ask for; sizes are known once the listing is in the raw cache."""
    commit = wanted.revision
    if not _COMMIT.fullmatch(commit):
        page = cache / revision_page(wanted.id, commit, hub, kind=_DATA).path
        if page.is_file():
            commit = _commit(page.read_bytes(), page)
    listing = listing_page(wanted.id, commit, hub, kind=_DATA)
    base = f"{hub}/datasets/{wanted.id}/resolve/{commit}/"
    if (page := cache / listing.path).is_file():
        return _data_files(page.read_bytes(), page, wanted, base)
    return [Wanted(base + name) for name in wanted.files]


def _data_files(body: bytes, where: object, wanted: DataFiles, base: str) -> list[Wanted]:
    """The wanted files of a listing, in the order of the settings."""
    entries = {each.path: each for each in _entries(body, where) if each.type == "file"}
    if absent := [name for name in wanted.files if name not in entries]:
        raise SourceError(
            f"{wanted.id} at {wanted.revision} has no {', '.join(absent)}",
            where=where,
            remedy="correct the names of the files or the revision",
        )
    return [_file(base + name, entries[name]) for name in wanted.files]


def weights(manifest: Manifest) -> tuple[Path, list[Path]]:
    """Where ``config.json`` and the safetensors files of a checkpoint lie.

    Raises
    ------
    SourceError
        When the manifest holds none.
    """
    config = [entry for entry in manifest.files if entry.path.endswith("/config.json")]
    found = [entry for entry in manifest.files if entry.path.endswith(".safetensors")]
    if len(config) != 1 or not found:
        raise SourceError(
            f"the manifest of {manifest.source} holds no single config.json with weights",
            where=manifest.root,
            remedy="run the step that fetches the checkpoint again",
        )
    return manifest.file(config[0]), [manifest.file(entry) for entry in found]
