"""Get the published weights that the study needs, and list them in a manifest."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from remeasure.errors import ConfigError
from remeasure.fetch import origins
from remeasure.fetch.hugging_face import HUB, Checkpoint, fetch_checkpoint
from remeasure.fetch.settings import ClientSettings
from remeasure.model import Model


class FetchCheckpointStep(Model):
    """Settings of `fetch_hub`.

    Attributes
    ----------
    source
        Name of the data set, as in ``crypto_chronos2``.
    checkpoint
        Which files of the hub.
    origin
        Where from.
    mirror
        Origin ``mirror``: the folder in the raw layout.
    client
        Origin ``public``: the HTTP client.
    raw
        Folder of raw data; public files go to ``<raw>/public``.
    hub
        Address of the hub.
    """

    source: str
    checkpoint: Checkpoint
    origin: Literal["mirror", "public"]
    mirror: str | None = None
    client: ClientSettings = Field(default_factory=ClientSettings)
    raw: str = "data/raw"
    hub: str = HUB


class PackageStep(Model):
    """Settings of `list_package`: a file that an installed distribution ships.

    Attributes
    ----------
    source
        Name of the data set, as in ``crypto_small_model``.
    distribution, version, file
        Where it lies; another version is refused.
    """

    source: str
    distribution: str
    version: str
    file: str


def fetch_hub(*, manifest: Path, settings: FetchCheckpointStep) -> None:
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
    if settings.origin == "mirror":
        if settings.mirror is None:
            raise ConfigError(
                "checkpoints come from a mirror, but no folder is named",
                where="mirror",
                remedy="name a folder in the raw layout <mirror>/<host>/<path>",
            )
        origin: origins.Layout = origins.Mirror(Path(settings.mirror))
    else:
        raw = Path(settings.raw)
        origin = origins.Public(raw / "public", raw / "quarantine", settings=settings.client)
    fetch_checkpoint(settings.source, origin, settings.checkpoint, hub=settings.hub).write(manifest)


def list_package(*, manifest: Path, settings: PackageStep) -> None:
    """Step: check a package's file against the package's own record, and list it.

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
    origins.from_package(settings.source, package).write(manifest)
