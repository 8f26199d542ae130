"""One row for each sampled market and horizon: what was known then, and what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import polars as pl

from remeasure.fetch.manifest import Manifest
from remeasure.model import Model
from remeasure.store.frames import read_frame
from remeasure.store.tables import read_table, write_tables
from remeasure.studies.polymarket.asof import GRID_PRICES, HORIZON_PRICES
from remeasure.studies.polymarket.fetch_prices import life_days
from remeasure.studies.polymarket.fetch_trades import PAGES
from remeasure.studies.polymarket.schema import FORECASTS, LIFE_PRICES, MARKETS, SAMPLE
from remeasure.studies.polymarket.trades import sums

_CHUNK = 2000

#: Columns of ``markets`` and ``sample`` that a row of ``forecasts`` takes. ``total_dollars`` and
#: ``outcome`` are counted after the forecast; they are carried along, and nothing here selects,
#: weights or groups by them.
MARKET_COLUMNS: Final = (
    "market", "cluster", "topic", "question", "opened", "closed", "outcome", "total_dollars",
    "direction",
)  # fmt: skip
SAMPLE_COLUMNS: Final = ("market", "in_topic_draw", "in_size_draw", "pi", "pi_topic", "weight")


class FeaturesStep(Model):
    """Settings of `build_forecasts`: none."""


def build_forecasts(
    *,
    population: Path,
    sample: Path,
    prices: list[Path],
    grids: list[Path],
    pages: list[Path],
    manifests: list[Path],
    forecasts: Path,
    settings: FeaturesStep,
) -> None:
    """Step: join markets, sample, prices and trades to the table ``forecasts``.

    Parameters
    ----------
    population, sample
        Inputs, DuckDB.
    prices, grids
        Inputs, Parquet, a file each shard: prices at horizons and on the grid.
    pages, manifests
        Inputs, a file each shard: pages of trades, and which window each belongs to.
    forecasts
        Output, DuckDB: tables ``forecasts`` and ``life_prices``.

    Raises
    ------
    SourceError
        When a page is not the one in its manifest, or no list of trades.
    """
    del settings
    at = pl.concat([read_frame(path, HORIZON_PRICES) for path in prices])
    week = pl.concat([traded(one, two) for one, two in zip(pages, manifests, strict=True)])
    markets = read_table(population, MARKETS, columns=MARKET_COLUMNS, where="reason IS NULL")
    drawn = read_table(sample, SAMPLE, columns=SAMPLE_COLUMNS)
    rows = joined(at, week, markets, drawn)
    grid = pl.concat([read_frame(path, GRID_PRICES) for path in grids])
    write_tables(
        forecasts, [(FORECASTS, rows), (LIFE_PRICES, grid.select(LIFE_PRICES.schema().keys()))]
    )


def traded(pages: Path, manifest: Path) -> pl.DataFrame:
    """Dollars and shares of each window: market, horizon, week_dollars, week_shares."""
    listed = read_frame(pages, PAGES)
    raw = Manifest.read(manifest)
    entries = {entry.path: entry for entry in raw.files}
    amounts = []
    for part in listed.iter_slices(_CHUNK):
        bodies = [raw.read_verified(entries[path]) for path in part["path"]]
        amounts.append(part.hstack(sums(bodies, manifest).drop("page")))
    if not amounts:
        return pl.DataFrame(
            schema={
                "market": pl.String,
                "horizon": pl.String,
                "week_dollars": pl.Float64,
                "week_shares": pl.Float64,
            }
        )
    return (
        pl.concat(amounts)
        .group_by("market", "horizon", maintain_order=True)
        .agg(week_dollars=pl.col("dollars").sum(), week_shares=pl.col("shares").sum())
    )


def joined(
    at: pl.DataFrame, week: pl.DataFrame, markets: pl.DataFrame, drawn: pl.DataFrame
) -> pl.DataFrame:
    """Rows of ``forecasts`` in the order of their key."""
    return (
        at.join(week, on=["market", "horizon"], how="left")
        .join(markets, on="market", how="inner")
        .join(drawn, on="market", how="inner")
        .with_columns(event=pl.col("cluster"), life_days=life_days())
        .select(FORECASTS.schema().keys())
        .sort(FORECASTS.key)
    )
