"""Tables of resolved markets that somebody else collected: the origin ``files``.

Three collections are known, each a folder of Parquet tables (config/README.md names the
columns). They enter where parsing would have ended: prices at the horizons come from the
same as-of join as those of the crawl, dollars of the week from the same window.

- ``pancake``: daily prices of one outcome, resolution times, event slugs for some. Its rows
  also become the table ``forecasts``, unweighted, without dollars.
- ``drozy``: one price 24 to 48 hours before the resolution.
- ``midterms``: all trades of markets on the US midterms of 2022, so dollars are known.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import polars as pl

from remeasure.errors import SourceError
from remeasure.fetch.manifest import Manifest
from remeasure.fetch.origins import Files, resolve
from remeasure.model import Model
from remeasure.store.tables import write_tables
from remeasure.studies.polymarket.addresses import DAY
from remeasure.studies.polymarket.asof import GRID_DAYS, priced, targets
from remeasure.studies.polymarket.collections import TABLES, table_paths
from remeasure.studies.polymarket.schema import FORECASTS, LIFE_PRICES, REAL
from remeasure.studies.polymarket.settings import Definitions, FilesSettings

SOURCE = "polymarket_files"

#: Daily prices cannot be fresher: they may be two days old.
STALE_DAYS = 2.0

#: The midterms' close: the day of the election, UTC.
ELECTION = datetime(2022, 11, 8)

#: A question with a deadline: the word before a date or a month.
_DATED = (
    r"(?i)\b(by|before|in|until|on)\b[^?]*\b(january|february|march|april|may|june|july|august|"
    r"september|october|november|december|20\d\d|end of)\b"
)


class ListFilesStep(Model):
    """Settings of `list_files`: the folders of the collections."""

    files: FilesSettings


def list_files(*, tables: list[Path], manifest: Path, settings: ListFilesStep) -> None:
    """Step: hash the tables where they lie, and list them.

    Parameters
    ----------
    tables
        Inputs: the tables, so that the workflow notices an edited one.
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.

    Raises
    ------
    SourceError
        Naming every table that does not exist.
    """
    del tables
    resolve(SOURCE, Files(tuple(table_paths(settings.files)))).write(manifest)


class ParseFilesStep(Model):
    """Settings of `parse_files`: the folders, and the open definitions."""

    files: FilesSettings
    definitions: Definitions


def parse_files(*, manifest: Path, real: Path, forecasts: Path, settings: ParseFilesStep) -> None:
    """Step: the tables to ``real``, and those of ``pancake`` to ``forecasts``.

    Parameters
    ----------
    manifest
        Input: the tables.
    real
        Output, DuckDB: table ``real``.
    forecasts
        Output, DuckDB: tables ``forecasts`` and ``life_prices``.

    Raises
    ------
    SourceError
        When a table is not the one in the manifest, or lacks a column.
    """
    listed = Manifest.read(manifest)
    days = settings.definitions.horizon_days
    parts = [REAL.empty()]
    rows, grid = FORECASTS.empty(), LIFE_PRICES.empty()
    for name, folder in settings.files:
        if folder is None:
            continue
        tables = [_table(listed, Path(folder) / table) for table in TABLES[name]]
        try:
            if name == "pancake":
                markets, found = pancake(*tables)
                at = at_horizons(markets, found, settings.definitions)
                parts.append(_real("pancake", at))
                rows = _forecasts(at)
                grid = _grid(markets, found, settings.definitions)
            elif name == "drozy":
                parts.append(_real("drozy", drozy(*tables)))
            else:
                parts.append(_real("midterms", midterms(*tables, days=days["week"])))
        except pl.exceptions.PolarsError as error:
            raise SourceError(
                f"the tables of {name} lack a column or hold another type: {error}",
                where=folder,
                remedy="compare them with config/README.md",
            ) from error
    write_tables(real, [(REAL, pl.concat(parts))])
    write_tables(forecasts, [(FORECASTS, rows), (LIFE_PRICES, grid)])


def _table(listed: Manifest, path: Path) -> pl.DataFrame:
    return pl.read_parquet(listed.read_verified(listed.entry(path)))


def _real(source: str, frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(source=pl.lit(source)).select(REAL.schema().keys())


def pancake(resolved: pl.DataFrame, daily: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Markets, and their prices as points of the as-of join (kind ``life``, t in seconds).

    Life is counted from the first daily price: no start is known.
    """
    markets = resolved.select(
        "idx",
        market=pl.coalesce("condition_id", pl.lit("pancake:") + pl.col("market_id")),
        event=pl.coalesce("event_slug", "condition_id", pl.lit("pancake:") + pl.col("market_id")),
        event_known=pl.col("event_slug").is_not_null(),
        yes_no=pl.col("outcome0_label").str.to_lowercase() == "yes",
        dated=pl.col("question").str.contains(_DATED),
        closed=pl.from_epoch("resolved_at", time_unit="s").cast(pl.Datetime("us")),
        life_days=((pl.col("resolved_at") - pl.col("first_bar_at")) / DAY).fill_null(0.0),
        total_dollars=pl.col("volume_usd"),
        outcome=pl.col("y").cast(pl.Int16),
        question="question",
        category="category",
    )
    points = (
        daily.with_columns(pl.col("idx").cast(pl.UInt32))
        .join(markets.select("idx", "market"), on="idx", how="inner", maintain_order="left")
        .select(
            "market",
            kind=pl.lit("life"),
            t=pl.col("ts").cast(pl.Int64),
            # Stored as 32-bit numbers: the decimals that were printed.
            p=pl.col("p0").cast(pl.Float64).round(6),
        )
    )
    return markets.drop("idx"), points


def at_horizons(
    markets: pl.DataFrame, points: pl.DataFrame, definitions: Definitions
) -> pl.DataFrame:
    """A row for each market and horizon that has a daily price at or before it."""
    horizons = pl.DataFrame(
        {"horizon": list(definitions.horizon_days), "days": list(definitions.horizon_days.values())}
    )
    daily = definitions.model_copy(update={"stale_life": STALE_DAYS * 24})
    return priced(targets(markets, horizons), points, daily).with_columns(
        week_dollars=pl.lit(None, dtype=pl.Float64)
    )


def _forecasts(at: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``forecasts``: every market for itself, nothing known of dollars."""
    topic = (
        pl.when(pl.col("category") == "politics")
        .then(pl.lit("politics"))
        .when(pl.col("category").is_in(["sports", "crypto", "economy", "science"]))
        .then(pl.col("category"))
        .otherwise(pl.lit("culture"))
    )
    one = pl.lit(1.0)
    return at.with_columns(
        topic=topic,
        in_topic_draw=pl.lit(value=True),
        in_size_draw=pl.lit(value=False),
        pi=one,
        pi_topic=one,
        weight=one,
        direction=pl.lit(0, dtype=pl.Int16),
        question=pl.col("question").fill_null(""),
        week_shares=pl.lit(None, dtype=pl.Float64),
        price_source=pl.when(pl.col("price").is_not_null()).then(pl.lit("table")),
    ).select(FORECASTS.schema().keys())


def _grid(markets: pl.DataFrame, points: pl.DataFrame, definitions: Definitions) -> pl.DataFrame:
    daily = definitions.model_copy(update={"stale_life": STALE_DAYS * 24})
    long_lived = markets.filter(pl.col("life_days") >= definitions.convergence_days)
    days = targets(long_lived, pl.DataFrame({"days": GRID_DAYS}))
    return priced(days, points, daily).select("market", days_before="days", price="price")


def drozy(bets: pl.DataFrame) -> pl.DataFrame:
    """One price of each market, 24 to 48 hours before the resolution; its age is not told."""
    return bets.select(
        market="condition_id",
        event="condition_id",
        event_known=pl.lit(value=False),
        yes_no=pl.lit(value=True),
        dated=pl.lit(None, dtype=pl.Boolean),
        horizon=pl.lit("day"),
        closed=pl.from_epoch("resolved_ts", time_unit="s").cast(pl.Datetime("us")),
        price=pl.col("p_yes_24_48h"),
        stale_hours=pl.lit(None, dtype=pl.Float64),
        week_dollars=pl.lit(None, dtype=pl.Float64),
        total_dollars=pl.lit(None, dtype=pl.Float64),
        outcome=pl.col("y").cast(pl.Int16),
        question=pl.lit(None, dtype=pl.String),
    )


def midterms(markets: pl.DataFrame, trades: pl.DataFrame, *, days: float) -> pl.DataFrame:
    """Both legs of each market a week before the election, with the dollars of the week before.

    The price of a leg is that of its last trade at or before the forecast time; dollars are
    those of the whole market in the seven days that end there.
    """
    at = pl.lit(ELECTION).cast(pl.Datetime("us")) - pl.duration(days=days)
    known = trades.with_columns(time=pl.col("ts").dt.replace_time_zone(None)).filter(
        pl.col("time") <= at
    )
    last = (
        known.drop_nulls("price")
        .sort("time", maintain_order=True)
        .group_by("market", "outcome", maintain_order=True)
        .agg(price=pl.col("price").last(), time=pl.col("time").last())
    )
    week = (
        known.filter(pl.col("time") > at - pl.duration(days=7))
        .group_by("market", maintain_order=True)
        .agg(week_dollars=pl.col("amount_usd").sum())
    )
    return (
        markets.drop_nulls("y")
        .join(last, on=["market", "outcome"], how="inner", maintain_order="left")
        .join(week, on="market", how="left", maintain_order="left")
        .select(
            event="market",
            market=pl.col("market") + ":" + pl.col("outcome"),
            event_known=pl.lit(value=True),
            yes_no=pl.lit(value=False),
            dated=pl.lit(value=True),
            horizon=pl.lit("week"),
            closed=pl.lit(ELECTION).cast(pl.Datetime("us")),
            price=pl.col("price"),
            stale_hours=(at - pl.col("time")).dt.total_seconds() / 3600,
            week_dollars=pl.col("week_dollars").fill_null(0.0),
            total_dollars=pl.col("usd_traded_total"),
            outcome=pl.col("y").cast(pl.Int16),
            question=pl.lit(None, dtype=pl.String),
        )
    )
