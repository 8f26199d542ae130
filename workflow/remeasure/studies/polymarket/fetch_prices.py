"""Get the price series of one shard of the sample: hourly before the close, 12-hourly for life."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from remeasure.fetch import layout
from remeasure.fetch.manifest import Manifest
from remeasure.fetch.walk import opened
from remeasure.store.tables import read_table
from remeasure.studies.polymarket.addresses import Hosts, hourly_prices, life_prices
from remeasure.studies.polymarket.origin import FetchSettings, layout_of
from remeasure.studies.polymarket.prices import price_wanted
from remeasure.studies.polymarket.probe import refuse_broken
from remeasure.studies.polymarket.schema import MARKETS, SAMPLE

SOURCE = "polymarket_prices"


def shard_markets(population: Path, sample: Path, shard: int) -> pl.DataFrame:
    """Sampled markets of a shard by id: market, token, opened, closed, close_s, life_days.

    ``close_s`` is the close in seconds since 1970, with its fraction.
    """
    chosen = read_table(sample, SAMPLE, columns=("market",), where="shard = ?", parameters=[shard])
    markets = read_table(
        population,
        MARKETS,
        columns=("market", "token", "opened", "closed"),
        where="reason IS NULL",
    )
    return chosen.join(markets, on="market", how="left", maintain_order="left").with_columns(
        close_s=pl.col("closed").dt.epoch("us") / 1e6, life_days=life_days()
    )


def life_days() -> pl.Expr:
    """Days from the first start to the close; 0 where no start is known."""
    days = (pl.col("closed") - pl.col("opened")).dt.total_microseconds() / 86_400e6
    return days.clip(lower_bound=0.0).fill_null(0.0)


def series_of(markets: pl.DataFrame, hosts: Hosts) -> Iterator[tuple[str, str, str, int | None]]:
    """Market, kind of series (hourly or life), address and last second of each series."""
    rows = markets.drop_nulls("token").select("market", "token", "close_s")
    for market, token, close in rows.iter_rows():
        end = int(close)
        yield market, "hourly", hourly_prices(hosts, token, close), end
        yield market, "life", life_prices(hosts, token), end


class PricesStep(FetchSettings):
    """Settings of `fetch_prices`."""


def fetch_prices(
    *,
    population: Path,
    sample: Path,
    manifest: Path,
    shard: str,
    settings: PricesStep,
    world: Path | None = None,
    probe: Path | None = None,
) -> None:
    """Step: both price series of each sampled market of a shard.

    Parameters
    ----------
    population, sample
        Inputs, DuckDB.
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.
    shard
        Number of the shard.
    world
        Origin ``generated``: the manifest of the world.
    probe
        Origin ``public``: what the probe found; a broken assumption stops the crawl.

    Raises
    ------
    SourceError
        Naming every series that could not be had; all others are kept.
    """
    origin = layout_of(settings, world)
    if probe is not None:
        refuse_broken(probe, ("hourly prices", "life prices"))
    markets = shard_markets(population, sample, int(shard))
    wanted = [price_wanted(url) for _, _, url, _ in series_of(markets, settings.crawl.hosts)]
    name = f"{SOURCE}_{shard}"
    with opened(name, origin, rate=settings.crawl.rates.clob, total=len(wanted)) as pages:
        pages.many(wanted)
        files = [pages.files[layout.url_to_path(each.url)] for each in wanted]
    Manifest.of(name, settings.origin, origin.root.as_posix(), files).write(manifest)
