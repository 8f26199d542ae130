"""Steps that bring raw files in: games from the hub or from the user, and published weights."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from remeasure.errors import ConfigError
from remeasure.fetch import origins
from remeasure.fetch.hugging_face import fetch_checkpoint
from remeasure.fetch.settings import ClientSettings
from remeasure.model import Model
from remeasure.studies.gpt.checkpoint_list import (
    family_files,
    gpt2_checkpoint,
    karvonen_file,
    lichess_file,
)
from remeasure.studies.gpt.settings import HubModel, LichessSettings


class PlaceStep(Model):
    """Where files of the hub come from.

    Attributes
    ----------
    origin, mirror
        The real service, or a folder in the raw layout.
    client
        Origin ``public``: the HTTP client.
    raw
        Folder of raw data; public files go to ``<raw>/public``.
    """

    origin: Literal["mirror", "public"]
    mirror: str | None = None
    client: ClientSettings = Field(default_factory=ClientSettings)
    raw: str = "data/raw"

    def layout(self) -> origins.Layout:
        """The origin; ConfigError when it is a mirror and no folder is named."""
        if self.origin == "public":
            raw = Path(self.raw)
            return origins.Public(raw / "public", raw / "quarantine", settings=self.client)
        if self.mirror is None:
            raise ConfigError(
                "the gpt study reads a mirror, but no folder is named",
                where="mirror",
                remedy="name a folder in the raw layout <mirror>/<host>/<path>",
            )
        return origins.Mirror(Path(self.mirror))


class LichessStep(PlaceStep):
    """Settings of `fetch_lichess`: which file."""

    lichess: LichessSettings


class FilesStep(Model):
    """Settings of `list_files`: PGN files of the user."""

    files: tuple[str, ...] = Field(min_length=1)


class CheckpointStep(PlaceStep):
    """Settings of `fetch_gpt2` and `fetch_karvonen`: which repository."""

    model: HubModel


class FamilyStep(PlaceStep):
    """Settings of `fetch_family`: which repositories."""

    models: tuple[HubModel, ...] = Field(min_length=1)


class PackageStep(Model):
    """Settings of `list_vocabulary` and `list_decoder`: a distribution, and files of it."""

    distribution: str
    version: str
    files: tuple[str, ...]


def fetch_lichess(*, manifest: Path, settings: LichessStep) -> None:
    """Step: the published table of games.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.
    """
    wanted = [lichess_file(settings.lichess)]
    origins.resolve("gpt_games", settings.layout(), wanted).write(manifest)


def list_files(*, manifest: Path, settings: FilesStep) -> None:
    """Step: PGN files of the user.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.
    """
    paths = tuple(Path(each) for each in settings.files)
    origins.resolve("gpt_games", origins.Files(paths)).write(manifest)


def fetch_gpt2(*, manifest: Path, settings: CheckpointStep) -> None:
    """Step: GPT-2's weights and byte pairs, checked against the hub's listing.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.
    """
    wanted = gpt2_checkpoint(settings.model)
    fetch_checkpoint("gpt_gpt2", settings.layout(), wanted).write(manifest)


def fetch_karvonen(*, manifest: Path, settings: CheckpointStep) -> None:
    """Step: Karvonen's checkpoint, a pickle of tensors that is only ever read as such.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.
    """
    wanted = [karvonen_file(settings.model)]
    origins.resolve("gpt_karvonen", settings.layout(), wanted).write(manifest)


def fetch_family(*, manifest: Path, settings: FamilyStep) -> None:
    """Step: configurations of five models, and how many numbers each file stores.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.
    """
    wanted = list(family_files(settings.models))
    origins.resolve("gpt_family", settings.layout(), wanted).write(manifest)


def list_vocabulary(*, manifest: Path, settings: PackageStep) -> None:
    """Step: GPT-2's byte pairs as an installed package ships them.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.
    """
    package = origins.Package(settings.distribution, settings.version, settings.files)
    origins.from_package("gpt_vocabulary", package).write(manifest)


def list_decoder(*, manifest: Path, settings: PackageStep) -> None:
    """Step: the weights of a small decoder as an installed package ships them.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.

    Raises
    ------
    SourceError
        When the package is absent, of another version, or its file was edited.
    """
    package = origins.Package(settings.distribution, settings.version, settings.files)
    origins.from_package("gpt_decoder", package).write(manifest)
