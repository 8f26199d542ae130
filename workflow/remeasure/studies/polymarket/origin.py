"""Where the study's pages come from, as settings name it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from remeasure.errors import ConfigError
from remeasure.fetch import origins
from remeasure.fetch.manifest import Manifest
from remeasure.fetch.settings import ClientSettings
from remeasure.model import Model
from remeasure.studies.polymarket.settings import CrawlSettings


class FetchSettings(Model):
    """What every fetch step is told.

    Attributes
    ----------
    origin
        Where from.
    mirror
        Origin ``mirror``: the folder in the raw layout.
    client
        Origin ``public``: the HTTP client.
    crawl
        Hosts, rates, shards, limits.
    raw
        Folder of raw data; public files go to ``<raw>/public``, bad ones to ``<raw>/quarantine``.
    """

    origin: Literal["generated", "mirror", "public"]
    mirror: str | None = None
    client: ClientSettings = Field(default_factory=ClientSettings)
    crawl: CrawlSettings
    raw: str = "data/raw"


def layout_of(settings: FetchSettings, world: Path | None) -> origins.Layout:
    """The raw layout of a fetch step; ``world`` is the manifest of the generated files.

    Raises
    ------
    ConfigError
        When the origin lacks what it needs.
    """
    if settings.origin == "generated":
        if world is None:
            raise ConfigError(
                "the origin is generated, but no world is given",
                where="polymarket.origin",
                remedy="run the rule that generates the world",
            )
        return origins.Generated(Manifest.root_in(world))
    if settings.origin == "mirror":
        if settings.mirror is None:
            raise ConfigError(
                "the origin is mirror, but no folder is named",
                where="mirror",
                remedy="name a folder in the raw layout <mirror>/<host>/<path>",
            )
        return origins.Mirror(Path(settings.mirror))
    raw = Path(settings.raw)
    return origins.Public(raw / "public", raw / "quarantine", settings=settings.client)
