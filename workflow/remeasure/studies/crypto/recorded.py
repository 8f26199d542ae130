"""Answers that somebody stored once: no service gives them again, a mirror folder may hold them."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from remeasure.errors import SourceError
from remeasure.fetch.manifest import Manifest, RawFile, digest
from remeasure.model import Model


class RecordedStep(Model):
    """Settings of `list_recorded`.

    Attributes
    ----------
    source
        Name of the data set, as in ``crypto_books``.
    mirror
        The folder in the raw layout.
    paths
        Places of the stored answers below it.
    """

    source: str
    mirror: str
    paths: tuple[str, ...] = Field(min_length=1)


def list_recorded(*, manifest: Path, settings: RecordedStep) -> None:
    """Step: hash stored answers of a mirror where they lie, and list them.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.

    Raises
    ------
    SourceError
        Naming every answer that the mirror does not hold.
    """
    root = Path(settings.mirror)
    missing = [path for path in settings.paths if not (root / path).is_file()]
    if missing:
        raise SourceError(
            f"the mirror lacks {len(missing)} of {len(settings.paths)} stored answers of"
            f" {settings.source}:" + "".join(f"\n  - {path}" for path in missing),
            where=root,
            remedy="put the stored answers there, or switch this part of the study off",
        )
    files = [RawFile(path, *digest(root / path)) for path in settings.paths]
    Manifest.of(settings.source, "mirror", root, files).write(manifest)
