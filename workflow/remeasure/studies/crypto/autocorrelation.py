"""What an hour remembers of the hours before: autocorrelations, and the clock of the day."""

from __future__ import annotations

from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from remeasure.errors import DataError
from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.stats.autocorrelation import (
    autocorrelation,
    noise_band,
    resampled_autocorrelations,
)
from remeasure.stats.bootstrap import fitting_block, percentile_interval, ratio_interval
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.studies.crypto.coverage import base_note, coverage
from remeasure.studies.crypto.published import answer_all
from remeasure.studies.crypto.series import Closes, read_closes
from remeasure.studies.crypto.settings import AutocorrelationSettings, Symbol

OUTPUTS = ("fig_acf", "stat_hour_of_day")

#: The publication's number of hourly returns, for its noise band.
RETURNS = 51_057

#: Lags at which the publication sees bumps, and hours of the day that it prints.
BUMPS = (24, 48, 72)
HOURS = (14, 4)

BASIS_POINT = 1e-4
FLOATS = NDArray[np.float64]

ACF = declare(
    "autocorrelation",
    {
        "coin": dy.String(),
        "lag": dy.Int64(min=1),
        "returns": dy.Float64(min=-1, max=1),
        "returns_low": dy.Float64(),
        "returns_high": dy.Float64(),
        "absolute": dy.Float64(min=-1, max=1),
        "absolute_low": dy.Float64(),
        "absolute_high": dy.Float64(),
        "band": dy.Float64(min_exclusive=0),
        "bump": dy.Bool(nullable=True),
    },
)
"""One row a coin and lag (hours): autocorrelations of hourly log returns and of their absolute
values with 95% intervals; ``band`` is the half-width that independent values rarely leave;
``bump`` whether the absolute values have a local maximum there (see :func:`bump_heights`), null
near the ends."""

HOUR_OF_DAY = declare(
    "hour of day",
    {
        "coin": dy.String(),
        "hour": dy.Int64(min=0, max=23),
        "mean_bp": dy.Float64(min=0),
        "low_bp": dy.Float64(),
        "high_bp": dy.Float64(),
        "n": dy.Int64(min_exclusive=0),
    },
)
"""One row a coin and UTC hour of the bar's open: mean absolute log return in basis points with
its 95% interval, and the number of hours."""


class AutocorrelationStep(Model):
    """What the autocorrelations need: the coins, lags and the bootstrap."""

    coins: tuple[Symbol, ...]
    autocorrelation: AutocorrelationSettings


def bump_heights(rho: FLOATS) -> FLOATS:
    """How far the curve stands above its surroundings at each lag, shape (..., lags).

    The mean over the lags k-1, k, k+1 less the larger of the means over the three lags
    before and the three after; positive at a local maximum of the curve seen at a resolution
    of three hours. Single neighbours would not do: a bump of the daily rhythm is several
    hours wide, and with four years of hours the sampling noise between neighbouring lags
    (about 0.005) moves its highest point by an hour.

    Parameters
    ----------
    rho
        Autocorrelations of lags 1, 2, …, along the last axis.

    Returns
    -------
    Same shape; NaN for the four lags at either end, which lack neighbours.
    """
    heights = np.full_like(rho, np.nan)
    if rho.shape[-1] < 9:
        return heights
    means = (rho[..., :-2] + rho[..., 1:-1] + rho[..., 2:]) / 3
    # means[i] is centred on position i + 1; its neighbours are three positions away.
    around = np.maximum(means[..., :-6], means[..., 6:])
    heights[..., 4:-4] = means[..., 3:-3] - around
    return heights


def measure_autocorrelation(
    *, hours: Path, acf: Path, hour_of_day: Path, settings: AutocorrelationStep, rng: Generator
) -> list[Measurement]:
    """Autocorrelations of returns and absolute returns, and the mean move by hour of the day.

    Returns run from row to row, gaps ignored. Intervals come from a block bootstrap and hold
    whatever the law of the returns.

    Parameters
    ----------
    hours
        DuckDB file with the table ``hours``.
    acf, hour_of_day
        Outputs, Parquet: see ``ACF`` and ``HOUR_OF_DAY``.

    Raises
    ------
    DataError
        When a coin has no more hours than the longest lag.
    """
    lags, moves, measured = [], [], _noise_band()
    for closes in read_closes(hours, settings.coins):
        returns = closes.returns()
        if returns.size <= settings.autocorrelation.max_lag:
            raise DataError(
                f"{closes.coin} has {returns.size} hourly returns, too few for a lag of"
                f" {settings.autocorrelation.max_lag} hours",
                where=hours,
                remedy="choose a longer window or a smaller crypto.autocorrelation.max_lag",
            )
        block = fitting_block(settings.autocorrelation.block_hours, returns.size)
        curve, heights = _curve(closes, returns, block, settings.autocorrelation, rng)
        clock = _clock(closes, returns, block, settings.autocorrelation.resamples, rng)
        lags.append(curve)
        moves.append(clock)
        if closes.coin == "BTC":
            measured += _answer_curve(closes, curve, heights, returns.size)
            measured += _answer_clock(closes, clock)
    write_frame(pl.concat(lags), acf, ACF)
    write_frame(pl.concat(moves), hour_of_day, HOUR_OF_DAY)
    return answer_all(measured, OUTPUTS, "BTC is not among this run's coins")


def _curve(
    closes: Closes,
    returns: FLOATS,
    block: int,
    settings: AutocorrelationSettings,
    rng: Generator,
) -> tuple[pl.DataFrame, FLOATS]:
    """The table of one coin, and the bump heights of each resample, shape (resamples, lags)."""
    columns: dict[str, object] = {
        "coin": [closes.coin] * settings.max_lag,
        "lag": np.arange(1, settings.max_lag + 1),
    }
    for name, series in (("returns", returns), ("absolute", np.abs(returns))):
        columns[name] = autocorrelation(series, settings.max_lag)[1:]
        samples = resampled_autocorrelations(
            series, settings.max_lag, block, settings.resamples, rng
        )
        columns[f"{name}_low"], columns[f"{name}_high"] = percentile_interval(samples)
    frame = pl.DataFrame(columns).with_columns(band=pl.lit(noise_band(returns.size)))
    heights = bump_heights(frame["absolute"].to_numpy())
    bump = pl.Series("bump", heights, nan_to_null=True) > 0
    return frame.with_columns(bump), bump_heights(samples)


def _clock(
    closes: Closes, returns: FLOATS, block: int, resamples: int, rng: Generator
) -> pl.DataFrame:
    """Mean absolute return by UTC hour of the bar's open, in basis points."""
    since_midnight = closes.open_time[1:] - closes.open_time[1:].astype("datetime64[D]")
    hour = (since_midnight // np.timedelta64(1, "h")).astype(np.int64)
    inside = (hour[:, None] == np.arange(24)).astype(np.float64)
    absolute = np.abs(returns)[:, None] * inside / BASIS_POINT
    low, high = ratio_interval(absolute, inside, block, resamples, rng)
    n = inside.sum(axis=0)
    return pl.DataFrame(
        {
            "coin": [closes.coin] * 24,
            "hour": np.arange(24),
            "mean_bp": absolute.sum(axis=0) / n,
            "low_bp": low,
            "high_bp": high,
            "n": n.astype(np.int64),
        }
    )


def _answer_curve(
    closes: Closes, curve: pl.DataFrame, heights: FLOATS, n: int
) -> list[Measurement]:
    def point(column: str, quantity: str, lag: int) -> Measurement:
        row = curve.row(lag - 1, named=True)
        return Measurement(
            output_id="fig_acf",
            quantity=quantity,
            condition=f"BTC lag {lag} h",
            value=row[column],
            low=row[f"{column}_low"],
            high=row[f"{column}_high"],
            n=n,
            coverage=_coverage(closes),
            note=base_note(closes.base),
        )

    def bump(lag: int) -> Measurement:
        low, high = percentile_interval(heights[:, lag - 1] > 0)
        near = curve.filter(pl.col("lag").is_between(lag - 3, lag + 3))
        peak = near.row(int(near["absolute"].to_numpy().argmax()), named=True)["lag"]
        share = float((heights[:, lag - 1] > 0).mean())
        return Measurement(
            output_id="fig_acf",
            quantity="bump in absolute autocorrelation",
            condition=f"BTC, lag {lag} h, 1 = local maximum",
            value=int(curve["bump"][lag - 1]),
            low=float(low),
            high=float(high),
            n=n,
            coverage=_coverage(closes),
            note=f"at three-hour resolution; highest single lag nearby: {peak} h;"
            f" a bump in {share:.0%} of the resamples",
        )

    absolute = "autocorrelation of absolute returns"
    return [
        point("returns", "autocorrelation of returns", 1),
        point("absolute", absolute, 1),
        point("absolute", absolute, 168),
        *(bump(lag) for lag in BUMPS),
    ]


def _answer_clock(closes: Closes, clock: pl.DataFrame) -> list[Measurement]:
    answers = []
    for hour in HOURS:
        key = ("stat_hour_of_day", "mean absolute move", f"BTC {hour:02d}:00 UTC hour")
        row = clock.row(hour, named=True)
        answers.append(
            Measurement(
                output_id=key[0],
                quantity=key[1],
                condition=key[2],
                value=row["mean_bp"],
                low=row["low_bp"],
                high=row["high_bp"],
                n=row["n"],
                coverage=_coverage(closes),
                note=base_note(closes.base),
            )
        )
    return answers


def _coverage(closes: Closes) -> str:
    return coverage(closes.first, closes.last, symbol=closes.symbol, base=closes.base)


def _noise_band() -> list[Measurement]:
    return [
        Measurement(
            output_id="fig_acf",
            quantity="noise band",
            condition="1.96/sqrt(51057)",
            value=noise_band(RETURNS),
        )
    ]
