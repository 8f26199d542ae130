"""Chronos-2, never fitted to these series: the next hour's return and the next day's variance.

Each forecast sees the 512 values before it and nothing else; every series is forecast from
itself alone. The next hour's forecast is the median of its log return, and says "up" where that
is above zero.

Values live on the regular grid of hours and days. A lost hour has no price, so the returns into
and out of it are missing; they enter the context as missing values, which the model was trained
with. (The publication does not say what it did. In its window of 2026 no hour is lost, so
nothing depends on it there.)
"""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from pydantic import Field

from remeasure.errors import DataError
from remeasure.model import Model
from remeasure.nn.checkpoints.loading import load
from remeasure.nn.checkpoints.stored import read_stored
from remeasure.nn.device import Device, device_of
from remeasure.nn.models.chronos2 import NAMES, PARAMETERS, Chronos2, Config
from remeasure.store.frames import read_frame, write_frame
from remeasure.store.tables import reader, select
from remeasure.studies.crypto.foundation_table import CHRONOS, CONTEXT, DAYS, HOURS, sized
from remeasure.studies.crypto.series import coin
from remeasure.studies.crypto.settings import Symbol

Floats = NDArray[np.float64]
Times = NDArray[np.datetime64]
Rows = NDArray[np.int64]

HOUR = np.timedelta64(1, "h")
MEDIAN = 0.5


class ChronosStep(Model):
    """What to forecast, and how.

    Attributes
    ----------
    first, last
        Days predicted, both included, UTC.
    every_hours
        1 for every hour; else every so many hours from the first midnight on.
    batch
        Series in one pass.
    device
        ``auto`` takes a GPU where there is one.
    threads
        Of the processor. Sums are split differently over other numbers of threads.
    """

    coins: tuple[Symbol, ...]
    first: date
    last: date
    every_hours: int = Field(ge=1, le=168)
    batch: int = Field(ge=1)
    device: Device
    threads: int = Field(ge=1)


def forecast_chronos(
    *,
    hours: Path,
    days: Path,
    checkpoint: Path,
    hour_forecasts: Path,
    day_forecasts: Path,
    settings: ChronosStep,
) -> None:
    """Step: forecast the hours and days of a period with the weights of a checkpoint.

    Parameters
    ----------
    hours
        DuckDB file with the table ``hours``.
    days
        Parquet, ``volatility.DAYS``: realised variances are read from it.
    checkpoint
        Manifest of a checkpoint of Chronos-2: ``config.json`` and ``model.safetensors``.
    hour_forecasts, day_forecasts
        Outputs, Parquet: ``foundation_table.HOURS`` and ``foundation_table.DAYS``. Hours and
        days that 512 steps of the window do not precede have no row.

    Raises
    ------
    DataError
        When the checkpoint is none of Chronos-2, does not forecast the median, or a GPU is
        asked for that is not there.
    SourceError
        When its files are not those of the manifest.
    """
    device = device_of(settings.device)
    torch.set_num_threads(settings.threads)
    model = read_model(checkpoint).to(device)
    name = sized(CHRONOS, sum(each.numel() for each in model.parameters()), PARAMETERS)
    by_hour, by_day = [], []
    table = read_frame(days)
    for symbol in settings.coins:
        start, returns = read_returns(hours, symbol)
        rows = targets(start, returns.size, settings.first, settings.last, settings.every_hours)
        kept, value = medians(model, returns, rows, settings.batch)
        by_hour.append(
            pl.DataFrame(
                {
                    "target_hour": start + kept * HOUR,
                    "up": value > 0,
                    "value": value,
                }
            ).select(pl.lit(name).alias("model"), pl.lit(coin(symbol)).alias("coin"), pl.all())
        )
        first, logs = log_variances(table, coin(symbol))
        day = first + np.arange(logs.size)
        rows = np.flatnonzero(
            (day >= np.datetime64(settings.first)) & (day <= np.datetime64(settings.last))
        )
        kept, value = medians(model, logs, rows, settings.batch)
        by_day.append(
            pl.DataFrame({"day": day[kept], "value": value}).select(
                pl.lit(name).alias("model"), pl.lit(coin(symbol)).alias("coin"), pl.all()
            )
        )
    write_frame(pl.concat(by_hour).sort("model", "coin", "target_hour"), hour_forecasts, HOURS)
    write_frame(pl.concat(by_day).sort("model", "coin", "day"), day_forecasts, DAYS)


def read_model(checkpoint: Path) -> Chronos2:
    """The model of a manifest, float32, ready to forecast.

    Raises
    ------
    DataError, SourceError
        As in :func:`forecast_chronos`.
    """
    stored = read_stored(checkpoint)
    config = Config.of(stored.config, where=stored.where)
    if MEDIAN not in config.quantiles:
        raise DataError(
            f"this checkpoint does not forecast the median, only {list(config.quantiles)}",
            where=stored.where,
            remedy="name a checkpoint of Chronos-2, as amazon/chronos-2",
        )
    model = Chronos2(config)
    load(model, stored.tensors, NAMES, where=stored.where)
    return model.eval()


def read_returns(hours: Path, symbol: str) -> tuple[np.datetime64, Floats]:
    """First hour of a coin, and log returns of each hour from it on, on the regular grid.

    NaN where the hour or the one before has no price; so is the first.

    Raises
    ------
    DataError
        When the coin has no hours.
    """
    with reader(hours) as connection:
        rows = select(
            connection, "SELECT hour, close FROM hours WHERE symbol = ? ORDER BY hour", [symbol]
        )
    if rows.is_empty():
        raise DataError(
            f"there are no hours of {symbol}",
            where=hours,
            remedy="add the coin to crypto.spot, or leave it out of crypto.coins",
        )
    times = rows["hour"].cast(pl.Datetime("us")).to_numpy()
    price = np.asarray(rows["close"].cast(pl.Float64).to_numpy(), dtype=np.float64)
    return times[0], np.diff(np.log(_on_grid((times - times[0]) // HOUR, price)), prepend=np.nan)


def log_variances(days: pl.DataFrame, name: str) -> tuple[np.datetime64, Floats]:
    """First day of a coin, and log realised variance of each day from it on; NaN where missing.

    Without any day, nothing from 1970 on.
    """
    own = days.filter(pl.col("coin") == name).sort("day")
    if own.is_empty():
        return np.datetime64(0, "D"), np.empty(0)
    day = own["day"].to_numpy().astype("datetime64[D]")
    place = (day - day[0]).astype(np.int64)
    return day[0], np.log(_on_grid(place, own["variance"].cast(pl.Float64).to_numpy()))


def _on_grid(place: Rows, values: Floats) -> Floats:
    out = np.full(int(place[-1]) + 1, np.nan)
    out[place.astype(np.int64)] = values
    return out


def targets(start: np.datetime64, hours: int, first: date, last: date, every: int) -> Rows:
    """Which hours to predict, counted from ``start``: every so many from ``first``'s midnight."""
    low = int((np.datetime64(first, "us") - start) // HOUR)
    high = int((np.datetime64(last + timedelta(days=1), "us") - start) // HOUR)
    rows = np.arange(low, high, every, dtype=np.int64)
    return rows[(rows >= 0) & (rows < hours)]


def medians(
    model: Chronos2, series: Floats, rows: Rows, batch: int, context: int = CONTEXT
) -> tuple[Rows, Floats]:
    """Median forecasts of single values of a series, each from the values before it.

    Parameters
    ----------
    series
        Shape (n,), NaN where missing.
    rows
        Which values to forecast; ascending.
    batch
        Contexts in one pass: each is forecast from itself alone, so it changes nothing beyond
        rounding.
    context
        How many values a forecast sees.

    Returns
    -------
    tuple
        The rows that so many values precede, at least one of them known, and their forecasts,
        float64, both of shape (m,).
    """
    known = np.concatenate([[0], np.cumsum(np.isfinite(series))])
    # A return needs two prices: the first value of a series of returns is no value of it.
    begin = int(np.argmax(np.isfinite(series))) if known[-1] else series.size
    rows = rows[rows - context >= begin]
    rows = rows[known[rows] > known[rows - context]]
    place = model.config.quantiles.index(MEDIAN)
    device = next(model.parameters()).device
    out = np.empty(rows.size)
    back = np.arange(-context, 0)
    with torch.inference_mode():
        for part in range(0, rows.size, batch):
            own = rows[part : part + batch]
            seen = torch.from_numpy(series[own[:, None] + back].astype(np.float32)).to(device)
            out[part : part + batch] = model(seen)[:, place, 0].double().cpu().numpy()
    return rows, out
