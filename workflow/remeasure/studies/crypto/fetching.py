"""Get the raw files of the spot candles, wherever they come from, and list them in a manifest.

Under the origins ``mirror`` and ``public`` these are the zips of the exchange's archive
that cover the window: monthly files for whole months, daily files at its ends. A mirror is
read in place; public files go to the raw cache. Under ``files`` they are the user's tables.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from remeasure.errors import ConfigError
from remeasure.fetch import binance_data, origins
from remeasure.fetch.binance import plan_klines
from remeasure.fetch.manifest import Manifest
from remeasure.fetch.settings import ClientSettings
from remeasure.model import Model
from remeasure.studies.crypto.settings import Dataset, Interval, Symbol


class FetchStep(Model):
    """Settings of `fetch_candles`.

    Attributes
    ----------
    interval, dataset
        What to get: length of the candles, coins, first and last day.
    origin
        Where from. Generated files have a step of their own.
    mirror
        Origin ``mirror``: the folder in the raw layout.
    files
        Origin ``files``: the Parquet table of each coin.
    client
        Origin ``public``: the HTTP client.
    raw
        Folder of raw data; public files go to ``<raw>/public``, bad ones to ``<raw>/quarantine``.
    """

    interval: Interval
    dataset: Dataset
    origin: Literal["mirror", "public", "files"]
    mirror: str | None = None
    files: dict[Symbol, str] = Field(default_factory=dict)
    client: ClientSettings = Field(default_factory=ClientSettings)
    raw: str = "data/raw"


def fetch_candles(*, manifest: Path, settings: FetchStep, tables: list[Path] | None = None) -> None:
    """Step: verify, fetch what is missing, and write the manifest of one interval.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.
    tables
        Origin ``files``: the tables once more, so that the workflow notices an edited one.

    Raises
    ------
    ConfigError
        When the origin lacks its folder or a coin its table.
    SourceError
        When files are missing, cannot be had or are not sound: names every one.
    """
    resolved(settings).write(manifest)


def resolved(settings: FetchStep) -> Manifest:
    """The manifest of the settings; see `fetch_candles`."""
    source = f"crypto_spot_{settings.interval}"
    if settings.origin == "files":
        return origins.resolve(source, origins.Files(_tables(settings)))
    window = settings.dataset
    plan = plan_klines(window.coins, settings.interval, window.first, window.last)
    return binance_data.archive(source, _layout(settings), plan)


def _layout(settings: FetchStep) -> origins.Layout:
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


def _tables(settings: FetchStep) -> tuple[Path, ...]:
    absent = [coin for coin in settings.dataset.coins if coin not in settings.files]
    if absent:
        raise ConfigError(
            f"no table is named for {', '.join(absent)}",
            where=f"crypto.files.{settings.interval}",
            remedy=f"name a Parquet file for each, as in {absent[0]}: my/candles.parquet",
        )
    return tuple(Path(settings.files[coin]) for coin in settings.dataset.coins)
