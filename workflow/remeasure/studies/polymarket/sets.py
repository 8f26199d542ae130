"""The sets of forecasts that the publication's numbers rest on, from the table ``forecasts``.

A set is a frame of forecasts. The same functions pick it from a sample and, on generated data,
from the whole population with the true probability in the outcome's place: there every mean is
known exactly, and so is every number made of means.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import polars as pl

from remeasure.store.frames import read_frame
from remeasure.store.tables import read_table
from remeasure.studies.polymarket.schema import FORECASTS, HORIZONS, MARKETS

#: Edges in ten-thousandths: of the reliability diagram's bins, and of the bands of contracts.
BINS: Final = (
    0, 200, 500, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 9500, 9800, 10_000,
)  # fmt: skip
BANDS: Final = (50, *BINS[1:-1], 9950)

#: What a set knows of a forecast. None of it was counted after the forecast but the outcome.
COLUMNS: Final = (
    "market", "event", "topic", "horizon", "closed", "life_days", "price", "week_dollars",
    "weight", "outcome", "direction",
)  # fmt: skip

#: The panel's horizons, in the order of reading.
PANEL: Final = ("month", "week", "day")


def read_forecasts(path: Path, more: Sequence[str] = ()) -> pl.DataFrame:
    """Sampled forecasts with a price: ``COLUMNS`` and ``more``, outcomes as floats."""
    columns = [*COLUMNS, *more]
    frame = read_table(path, FORECASTS, columns=columns, where="price IS NOT NULL")
    return frame.with_columns(pl.col("outcome").cast(pl.Float64))


def read_truth(truth: Path | None, population: Path | None) -> pl.DataFrame | None:
    """The population at every horizon, true probabilities as outcomes; None on real data.

    Parameters
    ----------
    truth
        Parquet, as ``schema.TRUTH``, or none.
    population
        DuckDB with the table ``markets``; needed where there is a truth.
    """
    if truth is None or population is None:
        return None
    planted = read_frame(truth)
    markets = read_table(
        population,
        MARKETS,
        columns=("market", "cluster", "topic", "opened", "closed", "direction"),
        where="reason IS NULL",
    )
    days = (pl.col("closed") - pl.col("opened")).dt.total_microseconds() / 86_400e6
    rows = planted.join(markets, on="market", how="inner").with_columns(
        event=pl.col("cluster"),
        life_days=days,
        weight=pl.lit(1.0),
        outcome=pl.col("probability"),
    )
    return rows.filter(pl.col("price").is_not_null()).select(COLUMNS).sort("market", "horizon")


def traded(forecasts: pl.DataFrame, horizon: str, least: float | None) -> pl.DataFrame:
    """Forecasts at one horizon with at least so many dollars in the week before; None: all."""
    return _really_traded(forecasts.filter(pl.col("horizon") == horizon), least)


def panel(forecasts: pl.DataFrame, least: float | None) -> dict[str, pl.DataFrame]:
    """The same markets at all three horizons, really traded at each; rows by market."""
    rows = _really_traded(forecasts.filter(pl.col("horizon").is_in(PANEL)), least)
    whole = rows.group_by("market").len().filter(pl.col("len") == len(PANEL))
    kept = rows.join(whole.select("market"), on="market", how="semi").sort("market", "horizon")
    return {name: kept.filter(pl.col("horizon") == name) for name in PANEL}


def lasting(forecasts: pl.DataFrame, least: float | None, days: float) -> pl.DataFrame:
    """Markets open at least ``days`` days and really traded a month before the close."""
    return traded(forecasts, "month", least).filter(pl.col("life_days") >= days)


def _really_traded(forecasts: pl.DataFrame, least: float | None) -> pl.DataFrame:
    if least is None:
        return forecasts
    return forecasts.filter(pl.col("week_dollars") >= least)


def horizon_days(days: dict[str, float]) -> dict[str, float]:
    """Days before the close, farthest horizon first."""
    return {name: days[name] for name in reversed(HORIZONS) if name in days}
