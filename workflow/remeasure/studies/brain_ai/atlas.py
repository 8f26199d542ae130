"""The language atlas LanA: fetched, checked, and cut to the points of the drawn surface."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Literal

import dataframely as dy
import numpy as np
import polars as pl
from pydantic import Field

from remeasure.errors import ConfigError, DataError
from remeasure.fetch import origins
from remeasure.fetch.catalogue import Catalogue
from remeasure.fetch.manifest import Manifest
from remeasure.fetch.raw import Wanted
from remeasure.fetch.settings import ClientSettings
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.store.fsaverage import POINTS
from remeasure.store.schema import declare, one_of
from remeasure.studies.brain_ai.nifti import Floats, read_nifti

#: Its entry in the catalogue of sources.
SOURCE = "lana_language_atlas"

#: Points of a hemisphere of fsaverage7; the first 10,242 are those of fsaverage5.
ALL_POINTS = 163_842

#: Members of the archive; whatever folder they lie in.
MEMBERS = {"left": "LH_LanA_n804.nii.gz", "right": "RH_LanA_n804.nii.gz"}

#: Largest archive, and largest member as packed and as unpacked.
MAX_ARCHIVE, MAX_MEMBER = 256 << 20, 16 << 20

ATLAS = declare(
    "share of people by point of the cortex",
    {
        "hemisphere": one_of(MEMBERS),
        "point": dy.Int64(min=0, max=POINTS - 1),
        "probability": dy.Float64(min=0, max=1),
    },
    unique=["hemisphere", "point"],
)
WHOLE = declare(
    "the atlas as a whole",
    {
        "hemisphere": dy.String(),
        "points": dy.Int64(),
        "mean": dy.Float64(),
        "highest": dy.Float64(),
    },
)


class FetchStep(Model):
    """Settings of `fetch_atlas`.

    Attributes
    ----------
    origin, mirror
        Where from; a mirror is a folder in the raw layout.
    client, raw
        Origin ``public``: the HTTP client, and the folder of raw data.
    """

    origin: Literal["mirror", "public"]
    mirror: str | None = None
    client: ClientSettings = Field(default_factory=ClientSettings)
    raw: str = "data/raw"


def wanted(catalogue: Catalogue) -> Wanted:
    """The request for the archive."""
    url = catalogue.source(SOURCE).address()
    return Wanted(url, max_bytes=MAX_ARCHIVE, check=lambda path: _ignore(read_archive(path)))


def fetch_atlas(*, manifest: Path, settings: FetchStep) -> None:
    """Step: verify or fetch the archive, and list it.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.

    Raises
    ------
    ConfigError
        When the origin is a mirror and no folder is named.
    SourceError, DataError
        When the archive cannot be had or does not hold the atlas.
    """
    if settings.origin == "mirror":
        if settings.mirror is None:
            raise ConfigError(
                "the language atlas comes from a mirror, but no folder is named",
                where="mirror",
                remedy="name a folder in the raw layout <mirror>/<host>/<path>",
            )
        origin: origins.Layout = origins.Mirror(Path(settings.mirror))
    else:
        raw = Path(settings.raw)
        origin = origins.Public(raw / "public", raw / "quarantine", settings=settings.client)
    origins.resolve("brain_ai_atlas", origin, [wanted(Catalogue.read())]).write(manifest)


def read_atlas(*, manifest: Path, atlas: Path, whole: Path) -> None:
    """Step: the atlas at the points of the drawn surface.

    Parameters
    ----------
    manifest
        JSON of `fetch_atlas`.
    atlas, whole
        Outputs, Parquet: see `ATLAS` and `WHOLE`.
    """
    listed = Manifest.read(manifest)
    (entry,) = listed.files
    listed.read_verified(entry)
    found = read_archive(listed.file(entry))
    write_frame(
        pl.concat(
            [
                pl.DataFrame(
                    {
                        "hemisphere": [side] * POINTS,
                        "point": np.arange(POINTS),
                        "probability": values[:POINTS],
                    }
                )
                for side, values in found.items()
            ]
        ),
        atlas,
        ATLAS,
    )
    rows = [(side, values.size, values.mean(), values.max()) for side, values in found.items()]
    write_frame(pl.DataFrame(rows, schema=list(WHOLE.columns), orient="row"), whole, WHOLE)


def read_archive(path: Path) -> dict[str, Floats]:
    """Share of people at each point of fsaverage7 by hemisphere, each ``(163842,)``.

    Raises
    ------
    DataError
        When the archive is damaged, lacks a hemisphere, or one is not a map of shares.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return {side: _hemisphere(archive, name, path) for side, name in MEMBERS.items()}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise DataError(
            f"this is no archive of the atlas ({error})", where=path, remedy="fetch it again"
        ) from error


def _hemisphere(archive: zipfile.ZipFile, name: str, path: Path) -> Floats:
    members = [each for each in archive.infolist() if each.filename.rpartition("/")[2] == name]
    # A second copy of macOS's own kind lies in __MACOSX.
    members = [each for each in members if not each.filename.startswith("__MACOSX/")]
    if len(members) != 1 or members[0].file_size > MAX_MEMBER:
        raise DataError(
            f"the archive holds {len(members)} members {name}, or a too large one",
            where=path,
            remedy="fetch it again",
        )
    with archive.open(members[0]) as file:
        body = file.read(MAX_MEMBER + 1)
    values = read_nifti(body, f"{path}: {name}").values.ravel(order="F")
    if values.size != ALL_POINTS or not np.all((values >= 0) & (values <= 1)):
        raise DataError(
            f"{name} has {values.size:,} values, or values outside 0 to 1; an atlas of shares has"
            f" {ALL_POINTS:,} within them",
            where=path,
            remedy="use the surface version of the atlas (n = 804)",
        )
    return values


def _ignore(_: object) -> None:
    """A check only looks."""
