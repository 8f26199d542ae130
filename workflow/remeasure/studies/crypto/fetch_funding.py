"""Get the funding payments, from a mirror or the public services, and list the files.

The archive has one file a month, of months that are over. With ``rest_from`` the days from
there on come from the exchange's own interface, and three days before it, which the archive
has as well: the parser holds the two against each other.
"""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import Field, model_validator

from remeasure.errors import ConfigError
from remeasure.fetch import binance_data, origins
from remeasure.fetch.binance import ARCHIVE, plan_funding
from remeasure.fetch.binance_futures import FUTURES, plan_funding_pages
from remeasure.fetch.manifest import Manifest
from remeasure.fetch.settings import ClientSettings
from remeasure.model import Model
from remeasure.studies.crypto.settings import Dataset

SOURCE: Final = "crypto_funding"

#: Days of the interface that the archive has, too.
OVERLAP: Final = timedelta(days=3)

BLOCKED: Final = (
    "wait until the archive has the month (in the first week of the next) and set"
    " crypto.funding.rest_from: null, let crypto.funding.data end with the month before, or read"
    " a mirror that has the answers"
)


class FetchFundingStep(Model):
    """Settings of `fetch_funding`.

    Attributes
    ----------
    dataset
        Contracts, first and last day. The archive has whole months that are over only.
    rest_from
        First day of a month: it and all later days come from the exchange's interface; None
        for the archive alone.
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
    rest_from: date | None = None
    origin: Literal["mirror", "public"]
    mirror: str | None = None
    client: ClientSettings = Field(default_factory=ClientSettings)
    raw: str = "data/raw"

    @model_validator(mode="after")
    def _overlapping(self) -> Self:
        since, window = self.rest_from, self.dataset
        if since is not None and (
            since.day != 1 or not window.first + OVERLAP <= since <= window.last
        ):
            raise ValueError(
                f"rest_from ({since}) must be the first day of a month inside the window"
                f" ({window.first} to {window.last}), with {OVERLAP.days} days before it"
            )
        return self


def fetch_funding(*, manifest: Path, settings: FetchFundingStep) -> None:
    """Step: verify, fetch what is missing, and write the manifest of the funding files.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.

    Raises
    ------
    ConfigError
        When the origin is a mirror and no folder is named, or the last day is not over.
    SourceError
        When files are missing, cannot be had or are not sound: names every one.
    """
    resolved(settings).write(manifest)


def resolved(
    settings: FetchFundingStep,
    *,
    archive: str = ARCHIVE,
    futures: str = FUTURES,
    today: date | None = None,
) -> Manifest:
    """The manifest of the settings; see `fetch_funding`. Addresses and day are for tests."""
    window, since, layout = settings.dataset, settings.rest_from, _layout(settings)
    last = window.last if since is None else since - timedelta(days=1)
    months = binance_data.archive(
        SOURCE, layout, plan_funding(window.coins, window.first, last, base=archive)
    )
    if since is None:
        return months
    pages = plan_funding_pages(window.coins, since - OVERLAP, window.last, base=futures)
    after = binance_data.funding_pages(SOURCE, layout, pages, otherwise=BLOCKED, today=today)
    return binance_data.joined(months, after)


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
