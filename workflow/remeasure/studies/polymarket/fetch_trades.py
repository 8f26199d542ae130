"""Get the trades of the week before each forecast time, for markets of one shard with a price."""

from __future__ import annotations

from pathlib import Path

import dataframely as dy
import polars as pl

from remeasure.fetch.manifest import Manifest
from remeasure.fetch.walk import BATCH, opened
from remeasure.store.frames import read_frame, write_frame
from remeasure.store.schema import declare
from remeasure.studies.polymarket.addresses import week_window
from remeasure.studies.polymarket.asof import HORIZON_PRICES
from remeasure.studies.polymarket.fetch_prices import shard_markets
from remeasure.studies.polymarket.origin import FetchSettings, layout_of
from remeasure.studies.polymarket.probe import refuse_broken
from remeasure.studies.polymarket.settings import Definitions
from remeasure.studies.polymarket.trades import TradesWindow, trades_wanted, walk_trades

SOURCE = "polymarket_trades"

PAGES = declare(
    "pages of trades of a shard, and the window that each belongs to",
    {
        "path": dy.String(),
        "market": dy.String(),
        "horizon": dy.String(),
        "start": dy.Int64(),
        "end": dy.Int64(),
        "side": dy.String(),
    },
)


class TradesStep(FetchSettings):
    """Settings of `fetch_trades`: beside those of every fetch, horizons and the week."""

    definitions: Definitions


def fetch_trades(
    *,
    population: Path,
    sample: Path,
    prices: Path,
    manifest: Path,
    pages: Path,
    shard: str,
    settings: TradesStep,
    world: Path | None = None,
    probe: Path | None = None,
) -> None:
    """Step: fills in the week before each forecast time at which the market had a price.

    Parameters
    ----------
    population, sample
        Inputs, DuckDB.
    prices
        Input, Parquet: prices of the shard at the horizons.
    manifest
        Output, JSON: the pages.
    pages
        Output, Parquet: which window each page belongs to, see ``PAGES``.
    shard
        Number of the shard.
    world
        Origin ``generated``: the manifest of the world.
    probe
        Origin ``public``: what the probe found; a broken assumption stops the crawl.

    Raises
    ------
    SourceError
        When a page cannot be had or a window cannot be had whole.
    """
    crawl, definitions = settings.crawl, settings.definitions
    origin = layout_of(settings, world)
    if probe is not None:
        refuse_broken(probe, ("trades window", "trades rows", "trades offset", "trades fields"))
    closes = shard_markets(population, sample, int(shard)).select("market", "close_s")
    alive = (
        read_frame(prices, HORIZON_PRICES)
        .filter(pl.col("price").is_not_null() & pl.col("market").str.starts_with("0x"))
        .join(closes, on="market", how="left", maintain_order="left")
    )
    windows = [
        (horizon, TradesWindow(market, *week_window(
            close, definitions.horizon_days[horizon], definitions.week_days
        )))
        for market, horizon, close in alive.select("market", "horizon", "close_s").iter_rows()
    ]  # fmt: skip
    name = f"{SOURCE}_{shard}"
    rows: list[tuple[str, str, str, int, int, str]] = []
    rate, total = crawl.rates.data, len(windows)
    with opened(name, origin, rate=rate, total=total, unit="windows") as source:
        source.counts_pages = False
        for number, (horizon, window) in enumerate(windows):
            asked = source.asked
            if number % BATCH == 0:
                # First pages many at once; what follows from them one by one.
                ahead = windows[number : number + BATCH]
                source.many(
                    [trades_wanted(crawl.hosts, each, 0, crawl.trades_rows) for _, each in ahead]
                )
            walked = walk_trades(
                source, crawl.hosts, window, rows=crawl.trades_rows, cap=crawl.offset_cap
            )
            rows += [
                (path, part.market, horizon, part.start, part.end, part.side)
                for path, part in walked
            ]
            source.progress.add(asked=source.asked - asked)
        files = [source.files[row[0]] for row in rows]
    write_frame(pl.DataFrame(rows, schema=PAGES.types, orient="row"), pages, PAGES)
    Manifest.of(name, settings.origin, origin.root.as_posix(), files).write(manifest)
