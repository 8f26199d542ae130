"""Get the monthly funding files, from a mirror or the public archive, and list them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from remeasure.errors import ConfigError
from remeasure.fetch import binance_data, origins
from remeasure.fetch.binance import plan_funding
from remeasure.fetch.settings import ClientSettings
from remeasure.model import Model
from remeasure.studies.crypto.settings import Dataset

SOURCE = "crypto_funding"


class FetchFundingStep(Model):
    """Settings of `fetch_funding`.

    Attributes
    ----------
    dataset
        Contracts, first and last day. The archive has whole months that are over only.
    origin
        Where from. Generated files have a step of their own.
    mirror
        Origin ``mirror``: the folder in the raw layout.
    client
        Origin ``public``: the HTTP client.
    raw
        Folder of raw data; public files go to ``<raw>/public``, bad ones to ``<raw>/quarantine``.
    """

    dataset: Dataset
    origin: Literal["mirror", "public"]
    mirror: str | None = None
    client: ClientSettings = Field(default_factory=ClientSettings)
    raw: str = "data/raw"


def fetch_funding(*, manifest: Path, settings: FetchFundingStep) -> None:
    """Step: verify, fetch what is missing, and write the manifest of the funding files.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.

    Raises
    ------
    ConfigError
        When the origin is a mirror and no folder is named.
    SourceError
        When files are missing, cannot be had or are not sound: names every one.
    """
    window = settings.dataset
    plan = plan_funding(window.coins, window.first, window.last)
    binance_data.archive(SOURCE, _layout(settings), plan).write(manifest)


def _layout(settings: FetchFundingStep) -> origins.Layout:
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
