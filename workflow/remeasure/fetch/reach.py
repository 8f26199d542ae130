"""How far a fetch step reaches: into a mirror, or out to the public services."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from remeasure.errors import ConfigError
from remeasure.fetch import origins
from remeasure.fetch.settings import ClientSettings
from remeasure.model import Model


class Reach(Model):
    """Part of the settings of a fetch step.

    Attributes
    ----------
    origin
        Where from.
    mirror
        Origin ``mirror``: the folder in the raw layout.
    client
        Origin ``public``: the HTTP client.
    raw
        Folder of raw data; public files go to ``<raw>/public``, bad ones to ``<raw>/quarantine``.
    """

    origin: Literal["mirror", "public"]
    mirror: str | None = None
    client: ClientSettings = Field(default_factory=ClientSettings)
    raw: str = "data/raw"

    def layout(self) -> origins.Layout:
        """The raw layout that answers requests.

        Raises
        ------
        ConfigError
            When the origin is a mirror and no folder is named.
        """
        if self.origin == "mirror":
            if self.mirror is None:
                raise ConfigError(
                    "the origin is mirror, but no folder is named",
                    where="mirror",
                    remedy="name a folder in the raw layout <mirror>/<host>/<path>",
                )
            return origins.Mirror(Path(self.mirror))
        raw = Path(self.raw)
        return origins.Public(raw / "public", raw / "quarantine", settings=self.client)
