"""The price at each forecast time: the last point at or before it, unless it is too old.

One as-of join for all series: no point after the forecast time is ever used, and points
that are added behind it change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import dataframely as dy
import polars as pl

from remeasure.fetch import layout
from remeasure.fetch.manifest import Manifest
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.studies.polymarket.addresses import DAY, HOURLY_DAYS, Hosts
from remeasure.studies.polymarket.fetch_prices import series_of, shard_markets
from remeasure.studies.polymarket.fetch_three_hourly import three_hourly_of
from remeasure.studies.polymarket.prices import points, three_hour_points
from remeasure.studies.polymarket.settings import Definitions

#: Days before the close at which convergence is measured.
GRID_DAYS: Final = (60.0, 45.0, 30.0, 21.0, 14.0, 10.0, 7.0, 5.0, 3.0, 2.0, 1.0, 0.5)

#: Market, kind, address and last second of a price series.
Series = tuple[str, str, str, int | None]

#: Series that are parsed at once.
_CHUNK = 1000

HORIZON_PRICES = declare(
    "prices at the forecast times of a shard",
    {
        "market": dy.String(),
        "horizon": dy.String(),
        "price": dy.Float64(min=0, max=1, nullable=True),
        "stale_hours": dy.Float64(min=0, nullable=True),
        "price_source": dy.String(nullable=True),
    },
)
GRID_PRICES = declare(
    "prices on the grid of a shard",
    {
        "market": dy.String(),
        "days_before": dy.Float64(),
        "price": dy.Float64(min=0, max=1, nullable=True),
    },
)


class AsofStep(Model):
    """Settings of `price_at_horizons`: hosts that were asked, and the open definitions."""

    hosts: Hosts
    definitions: Definitions


def price_at_horizons(
    *,
    population: Path,
    sample: Path,
    manifest: Path,
    prices: Path,
    grid: Path,
    shard: str,
    settings: AsofStep,
    three_hourly: Path | None = None,
) -> None:
    """Step: the prices of a shard's markets at the horizons that they lived through.

    Parameters
    ----------
    population, sample
        Inputs, DuckDB.
    manifest
        Input: the series of the shard.
    prices
        Output, Parquet: a row for each market and horizon, see ``HORIZON_PRICES``.
    grid
        Output, Parquet: a row for each long-lived market and grid day, see ``GRID_PRICES``.
    shard
        Number of the shard.
    three_hourly
        Input, where it was asked for: the three-hour series of markets without hourly ones.

    Raises
    ------
    SourceError
        When a series is not the one in the manifest, or no price history.
    """
    definitions = settings.definitions
    markets = shard_markets(population, sample, int(shard))
    kept = Manifest.read(manifest)
    parts = [_no_points(), *_parsed(kept, list(series_of(markets, settings.hosts)), points)]
    if three_hourly is not None:
        later = Manifest.read(three_hourly)
        parts += _parsed(later, _three_hourly(later, markets, settings.hosts), three_hour_points)
    found = pl.concat(parts)
    horizons = targets(
        markets,
        pl.DataFrame(
            {
                "horizon": list(definitions.horizon_days),
                "days": list(definitions.horizon_days.values()),
            },
            schema={"horizon": pl.String, "days": pl.Float64},
        ),
    )
    at = priced(horizons, found, definitions)
    write_frame(
        at.select("market", "horizon", "price", "stale_hours", "price_source").sort(
            "market", "horizon"
        ),
        prices,
        HORIZON_PRICES,
    )
    long_lived = markets.filter(pl.col("life_days") >= definitions.convergence_days)
    days = targets(long_lived, pl.DataFrame({"days": GRID_DAYS}, schema={"days": pl.Float64}))
    write_frame(
        priced(days, found, definitions)
        .select("market", days_before="days", price="price")
        .sort("market", "days_before"),
        grid,
        GRID_PRICES,
    )


def _no_points() -> pl.DataFrame:
    return pl.DataFrame(
        schema={"market": pl.String, "kind": pl.String, "t": pl.Int64, "p": pl.Float64}
    )


def _three_hourly(manifest: Manifest, markets: pl.DataFrame, hosts: Hosts) -> list[Series]:
    """The series that were asked for: those in the manifest."""
    asked = {entry.path for entry in manifest.files}
    return [
        (market, "three_hour", url, end)
        for market, url, end in three_hourly_of(markets, hosts)
        if layout.url_to_path(url) in asked
    ]


def _parsed(
    manifest: Manifest, series: list[Series], parse: Callable[..., pl.DataFrame]
) -> Iterator[pl.DataFrame]:
    entries = {entry.path: entry for entry in manifest.files}
    for first in range(0, len(series), _CHUNK):
        chunk = series[first : first + _CHUNK]
        bodies = [
            manifest.read_verified(entries[layout.url_to_path(url)]) for _, _, url, _ in chunk
        ]
        yield (
            parse(bodies, [end for *_, end in chunk], where=manifest.root)
            .join(
                pl.DataFrame(
                    {
                        "series": pl.Series(range(len(chunk)), dtype=pl.Int64),
                        "market": [market for market, *_ in chunk],
                        "kind": [kind for _, kind, *_ in chunk],
                    }
                ),
                on="series",
                how="left",
                maintain_order="left",
            )
            .select("market", "kind", "t", "p")
        )


def targets(markets: pl.DataFrame, days: pl.DataFrame) -> pl.DataFrame:
    """A row for each market and each entry of ``days`` that it was open at: with ``at``, in us."""
    return (
        markets.join(days, how="cross", maintain_order="left_right")
        .filter(pl.col("life_days") >= pl.col("days"))
        .with_columns(
            at=pl.col("closed").dt.epoch("us")
            - (pl.col("days") * DAY * 1_000_000).round().cast(pl.Int64)
        )
    )


def priced(wanted: pl.DataFrame, found: pl.DataFrame, definitions: Definitions) -> pl.DataFrame:
    """``wanted`` with price, stale_hours and price_source.

    Parameters
    ----------
    wanted
        Columns market, days, at (microseconds since 1970) and any others.
    found
        Points: market, kind (hourly, three_hour or life), t (seconds since 1970), p.
    definitions
        How old a price may be on each kind of series.
    """
    rows = wanted.with_row_index("row").sort("at")
    each = []
    for kind, hours in (
        ("hourly", definitions.stale_hourly),
        ("three_hour", definitions.stale_hourly),
        ("life", definitions.stale_life),
    ):
        series = (
            found.filter(pl.col("kind") == kind)
            .select("market", "p", time=pl.col("t") * 1_000_000)
            .sort("time", maintain_order=True)
        )
        joined = rows.select("row", "market", "days", "at").join_asof(
            series,
            left_on="at",
            right_on="time",
            by="market",
            strategy="backward",
            check_sortedness=False,
        )
        age = (pl.col("at") - pl.col("time")) / 3.6e9
        inside = pl.lit(value=True) if kind == "life" else pl.col("days") <= HOURLY_DAYS
        fresh = joined.filter(inside & (age <= hours)).select(
            "row", price="p", stale_hours=age, price_source=pl.lit(kind)
        )
        each.append(fresh)
    best = each[0]
    for coarser in each[1:]:
        best = pl.concat([best, coarser.join(best, on="row", how="anti")])
    return rows.join(best, on="row", how="left").sort("row").drop("row")
