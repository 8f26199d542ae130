"""Get three-hour prices of the markets of a shard that have no hourly ones.

CLOB keeps fine series of resolved markets only for a while; the Data API keeps its three-hour
series for ever. It is asked for those markets alone whose hourly series came empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from remeasure.fetch import layout
from remeasure.fetch.manifest import Manifest
from remeasure.fetch.walk import opened
from remeasure.studies.polymarket.addresses import Hosts, three_hour_prices
from remeasure.studies.polymarket.fetch_prices import series_of, shard_markets
from remeasure.studies.polymarket.origin import FetchSettings, layout_of
from remeasure.studies.polymarket.prices import points, three_hour_wanted
from remeasure.studies.polymarket.probe import refuse_broken

SOURCE = "polymarket_three_hourly"

#: Series that are parsed at once.
_CHUNK = 1000


class ThreeHourlyStep(FetchSettings):
    """Settings of `fetch_three_hourly`."""


def fetch_three_hourly(
    *,
    population: Path,
    sample: Path,
    prices: Path,
    manifest: Path,
    shard: str,
    settings: ThreeHourlyStep,
    probe: Path | None = None,
) -> None:
    """Step: the three-hour series of each sampled market of a shard without hourly prices.

    Parameters
    ----------
    population, sample
        Inputs, DuckDB.
    prices
        Input: the manifest of the shard's hourly and 12-hour series.
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.
    shard
        Number of the shard.
    probe
        Origin ``public``: what the probe found; a broken assumption stops the crawl.

    Raises
    ------
    SourceError
        Naming every series that could not be had; all others are kept.
    """
    origin = layout_of(settings, None)
    if probe is not None:
        refuse_broken(probe, ("three-hour prices",))
    hosts = settings.crawl.hosts
    markets = shard_markets(population, sample, int(shard))
    silent = without_hourly(Manifest.read(prices), markets, hosts)
    wanted = [
        three_hour_wanted(url)
        for _, url, _ in three_hourly_of(markets.filter(pl.col("market").is_in(silent)), hosts)
    ]
    name = f"{SOURCE}_{shard}"
    with opened(name, origin, rate=settings.crawl.rates.data, total=len(wanted)) as pages:
        pages.many(wanted)
        files = [pages.files[layout.url_to_path(each.url)] for each in wanted]
    Manifest.of(name, settings.origin, origin.root.as_posix(), files).write(manifest)


def without_hourly(manifest: Manifest, markets: pl.DataFrame, hosts: Hosts) -> list[str]:
    """Markets whose hourly series has no point before the close, in the order of the table."""
    entries = {entry.path: entry for entry in manifest.files}
    hourly = [each for each in series_of(markets, hosts) if each[1] == "hourly"]
    silent = []
    for first in range(0, len(hourly), _CHUNK):
        chunk = hourly[first : first + _CHUNK]
        bodies = [manifest.read_verified(entries[layout.url_to_path(url)]) for *_, url, _ in chunk]
        found = set(points(bodies, [end for *_, end in chunk], where=manifest.root)["series"])
        silent += [each[0] for number, each in enumerate(chunk) if number not in found]
    return silent


def three_hourly_of(markets: pl.DataFrame, hosts: Hosts) -> Iterator[tuple[str, str, int]]:
    """Market, address and last second of the three-hour series of each market with a token."""
    rows = markets.drop_nulls("token").select("market", "token", "close_s")
    for market, token, close in rows.iter_rows():
        yield market, three_hour_prices(hosts, token, close), int(close)
