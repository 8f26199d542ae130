"""Volatility targeting: a position sized so that its forecast volatility is always the same.

The weight of a day is the target over the volatility forecast for it, held for the UTC day, at
no cost. A forecast of log variance is near its median, which lies below the mean: a position
sized by it is somewhat too large. The variant that adds half the variance of the residuals
stands beside it, as do caps on the weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dataframely as dy
import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.stats.bootstrap import (
    draw_blocks,
    fitting_block,
    percentile_interval,
    resampled_means,
)
from remeasure.stats.sharpe import DAYS_PER_YEAR, sharpe
from remeasure.store.frames import read_frame, write_frame
from remeasure.store.schema import declare
from remeasure.studies.crypto.coverage import BASE, LAST, coverage
from remeasure.studies.crypto.published import answer_all
from remeasure.studies.crypto.settings import Dataset, Interval, Month, Symbol, TargetingSettings
from remeasure.studies.crypto.volatility import (
    DAYS,
    TESTED_FROM,
    predicted_days,
    refit_coverage,
)

Floats = NDArray[np.float64]

OUTPUTS = ("fig_targeting", "stat_targeting_btc")

#: Target of the publication, and the days of its rolling volatility.
TARGET = 0.5
ROLLING = 30

#: What to say of an extreme of the record itself.
ONE_PATH = "an extreme of this record's one path, without sampling error"

HELD, SIZED, MEAN = "held", "sized", "sized by the mean variance"

CURVES = declare(
    "targeting by day",
    {
        "coin": dy.String(),
        "position": dy.String(),
        "day": dy.Date(),
        "weight": dy.Float64(min_exclusive=0),
        "pnl": dy.Float64(),
        "volatility": dy.Float64(min=0, nullable=True),
    },
    unique=["coin", "position", "day"],
)
"""One row a coin, position and predicted day: weight, log profit, and volatility a year (a
fraction) of the last 30 days."""

TARGETING = declare(
    "targeting",
    {
        "coin": dy.String(),
        "position": dy.String(),
        "target": dy.Float64(min_exclusive=0),
        "days": dy.Int64(min_exclusive=1),
        "mean_weight": dy.Float64(min_exclusive=0),
        "volatility": dy.Float64(min=0),
        "volatility_low": dy.Float64(),
        "volatility_high": dy.Float64(),
        "sharpe": dy.Float64(),
        "sharpe_low": dy.Float64(),
        "sharpe_high": dy.Float64(),
        "drawdown": dy.Float64(min=0, max=1),
        "rolling_low": dy.Float64(nullable=True),
        "rolling_high": dy.Float64(nullable=True),
    },
    unique=["coin", "position"],
)
"""One row a coin and position: volatility and Sharpe ratio a year with 95% intervals, largest
drawdown, and the extremes of the 30-day volatility. All are fractions."""


class TargetingStep(Model):
    """What targeting needs: its settings, and what the forecasts rest on."""

    coins: tuple[Symbol, ...]
    base: Interval
    candles: Dataset
    first_test: Month
    last_test: Month
    targeting: TargetingSettings


@dataclass(frozen=True)
class Position:
    """Weights of one way to size a position, shape (days,)."""

    name: str
    weight: Floats


def weights(log_forecast: Floats, target: float) -> Floats:
    """Target over forecast volatility a year, ``target / sqrt(365 exp(log_forecast))``."""
    return np.asarray(target / np.sqrt(DAYS_PER_YEAR * np.exp(log_forecast)))


def positions(
    log_forecast: Floats, residual_sd: Floats, target: float, caps: Sequence[float]
) -> list[Position]:
    """Held, sized, sized with each cap, and sized by the mean variance ``exp(l + s^2 / 2)``."""
    sized = weights(log_forecast, target)
    return [
        Position(HELD, np.ones(sized.size)),
        Position(SIZED, sized),
        *(Position(f"sized, at most {cap:g}", np.minimum(sized, cap)) for cap in caps),
        Position(MEAN, weights(log_forecast + residual_sd**2 / 2, target)),
    ]


def largest_drawdown(pnl: Floats) -> float:
    """Largest fall of ``exp(cumulative pnl)`` from its highest value so far, the start
    included, as a fraction.
    """
    log_value = np.concatenate([[0.0], np.cumsum(pnl)])
    return float(-np.expm1((log_value - np.maximum.accumulate(log_value)).min()))


def rolling_volatility(pnl: Floats, window: int = ROLLING) -> Floats:
    """Sample standard deviation a year of the last ``window`` values, NaN before, shape (n,)."""
    found = np.full(pnl.size, np.nan)
    if pnl.size >= window:
        rows = np.lib.stride_tricks.sliding_window_view(pnl, window)
        found[window - 1 :] = rows.std(axis=1, ddof=1) * np.sqrt(DAYS_PER_YEAR)
    return found


def resampled_moments(pnl: Floats, block: int, resamples: int, rng: Generator) -> Floats:
    """Volatility and Sharpe ratio a year of each resample of blocks, shape (resamples, 2)."""
    starts = draw_blocks(pnl.size, block, resamples, rng)
    mean, square = resampled_means(np.column_stack([pnl, pnl**2]), block, starts).T
    n = starts.shape[1] * block
    sd = np.sqrt(np.maximum(square - mean**2, 0) * n / max(n - 1, 1))
    ratio = np.divide(mean, sd, out=np.zeros_like(mean), where=sd > 0)
    return np.asarray(np.column_stack([sd, ratio]) * np.sqrt(DAYS_PER_YEAR))


def measure_targeting(
    *, days: Path, curves: Path, targeting: Path, settings: TargetingStep, rng: Generator
) -> list[Measurement]:
    """Step: size positions by the forecasts and answer the rows of :data:`OUTPUTS`.

    Parameters
    ----------
    days
        Parquet, ``volatility.DAYS``.
    curves, targeting
        Outputs, Parquet: :data:`CURVES`, :data:`TARGETING`; empty where nothing was predicted.
    """
    table = read_frame(days, DAYS).drop_nulls(["log_forecast", "ret"])
    every: list[pl.DataFrame] = []
    rows: list[dict[str, object]] = []
    for (name,), own in table.group_by("coin", maintain_order=True):
        if own.height < 2:
            continue
        for position in positions(
            own["log_forecast"].to_numpy(),
            own["residual_sd"].to_numpy(),
            settings.targeting.target,
            settings.targeting.caps,
        ):
            pnl = position.weight * own["ret"].to_numpy()
            rolling = rolling_volatility(pnl)
            every.append(
                pl.DataFrame(
                    {
                        "coin": own["coin"],
                        "position": [position.name] * own.height,
                        "day": own["day"],
                        "weight": position.weight,
                        "pnl": pnl,
                        "volatility": rolling,
                    }
                ).with_columns(pl.col("volatility").fill_nan(None))
            )
            rows.append(
                {
                    "coin": name,
                    "position": position.name,
                    "target": settings.targeting.target,
                    "mean_weight": float(position.weight.mean()),
                    **_summary(pnl, rolling, settings.targeting, rng),
                }
            )
    result = pl.DataFrame(rows, schema=TARGETING.types)
    write_frame(pl.concat([CURVES.empty(), *every]), curves, CURVES)
    write_frame(result, targeting, TARGETING)
    return answer_all(_answers(result, settings), OUTPUTS, _reason(settings))


def _summary(
    pnl: Floats, rolling: Floats, settings: TargetingSettings, rng: Generator
) -> dict[str, float | int | None]:
    block = fitting_block(settings.block_days, pnl.size)
    low, high = percentile_interval(resampled_moments(pnl, block, settings.resamples, rng))
    known = rolling[np.isfinite(rolling)]
    return {
        "days": pnl.size,
        "volatility": float(pnl.std(ddof=1) * np.sqrt(DAYS_PER_YEAR)),
        "volatility_low": float(low[0]),
        "volatility_high": float(high[0]),
        "sharpe": sharpe(pnl, DAYS_PER_YEAR),
        "sharpe_low": float(low[1]),
        "sharpe_high": float(high[1]),
        "drawdown": largest_drawdown(pnl),
        "rolling_low": float(known.min()) if known.size else None,
        "rolling_high": float(known.max()) if known.size else None,
    }


def _reason(settings: TargetingStep) -> str:
    if settings.targeting.target != TARGET:
        return f"this run sizes to {100 * settings.targeting.target:g}%, or has no such coin"
    return "this run has no forecasts of this coin, or too few"


def _covered(settings: TargetingStep, name: str, position: str) -> str:
    """Holding needs no forecasts: for it only the days count."""
    window = (settings.first_test, settings.last_test, settings.candles)
    if position != HELD:
        return refit_coverage(*window, settings.base, f"{name}USDT")
    return coverage(
        *predicted_days(*window),
        published_first=TESTED_FROM,
        published_last=LAST,
        symbol=f"{name}USDT",
        base=BASE,
    )


def _found(own: pl.DataFrame, position: str) -> dict[str, Any] | None:
    rows = own.filter(pl.col("position") == position)
    return None if rows.is_empty() else rows.row(0, named=True)


def _answers(table: pl.DataFrame, settings: TargetingStep) -> Iterator[Measurement]:
    yield Measurement(
        output_id="fig_targeting",
        quantity="target volatility",
        value=100 * TARGET,
        note=""
        if settings.targeting.target == TARGET
        else f"this run sizes to {100 * settings.targeting.target:g}%",
    )
    for name, build in (("SOL", _sol), ("BTC", _btc)):
        own = table.filter(pl.col("coin") == name)
        for position in (HELD, SIZED):
            row = _found(own, position)
            if row is None or (position == SIZED and settings.targeting.target != TARGET):
                continue
            yield from build(row, own, _covered(settings, name, position))


def _beside(own: pl.DataFrame, column: str, factor: float) -> str:
    """What the other ways of sizing give."""
    rows = own.filter(~pl.col("position").is_in([HELD, SIZED])).iter_rows(named=True)
    return "; ".join(f"{row['position']} {factor * row[column]:.3g}" for row in rows)


def _sol(row: dict[str, Any], own: pl.DataFrame, covered: str) -> Iterator[Measurement]:
    held = row["position"] == HELD
    beside = "" if held else _beside(own, "volatility", 100)
    yield Measurement(
        output_id="fig_targeting",
        quantity="realised volatility",
        condition="SOL held, 2022..2026-10" if held else "SOL sized to 50%",
        value=100 * row["volatility"],
        low=100 * row["volatility_low"],
        high=100 * row["volatility_high"],
        n=row["days"],
        coverage=covered,
        note=beside,
    )
    quantities = ["largest drawdown"]
    if held:
        quantities.append("largest drawdown (figure rounding)")
    beside = "" if held else f"; {_beside(own, 'drawdown', 100)}"
    for quantity in quantities:
        yield Measurement(
            output_id="fig_targeting",
            quantity=quantity,
            condition="SOL held" if held else "SOL sized",
            value=100 * row["drawdown"],
            n=row["days"],
            coverage=covered,
            note=f"{ONE_PATH}{beside}",
        )
    if held and row["rolling_low"] is not None:
        for quantity, column in (
            ("lowest 30-day volatility (about)", "rolling_low"),
            ("highest 30-day volatility (over)", "rolling_high"),
        ):
            yield Measurement(
                output_id="fig_targeting",
                quantity=quantity,
                condition="SOL held",
                value=100 * row[column],
                n=row["days"] - ROLLING + 1,
                coverage=covered,
                note=ONE_PATH,
            )


def _btc(row: dict[str, Any], own: pl.DataFrame, covered: str) -> Iterator[Measurement]:
    held = row["position"] == HELD
    yield Measurement(
        output_id="stat_targeting_btc",
        quantity="Sharpe",
        condition="BTC held" if held else "BTC sized to 50%",
        value=row["sharpe"],
        low=row["sharpe_low"],
        high=row["sharpe_high"],
        n=row["days"],
        coverage=covered,
        note="" if held else _beside(own, "sharpe", 1),
    )
