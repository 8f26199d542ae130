"""Tomorrow's volatility can be forecast, tomorrow's return cannot: HAR on both.

Realised variance of a day is the sum of its squared five-minute log returns. A regression of
its logarithm on those of the last day, week and month is refitted at the start of every month
on all earlier days whose target is known by then. The same regression on returns shows what
that is worth where nothing can be predicted.

An out-of-sample R2 depends on what it is measured against. Here that is the mean of the days
fitted on (volatility) and zero (returns); the mean of the 512 days before, which another
figure of the publication uses, stands beside it under its own name. In a year whose volatility
is far from that of the years before it is much easier to beat.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import dataframely as dy
import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from remeasure.evaluate.walk_forward import folds
from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.stats.bootstrap import fitting_block, ratio_interval
from remeasure.stats.har import (
    COEFFICIENTS,
    Averaging,
    Refitted,
    r_squared,
    refitted,
    return_regressors,
    trailing_mean,
    variance_regressors,
)
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.crypto import calendar
from remeasure.studies.crypto.coverage import BASE, FIRST, LAST, coverage
from remeasure.studies.crypto.days import Days, read_days
from remeasure.studies.crypto.published import FIRST_TEST, answer_all
from remeasure.studies.crypto.settings import Dataset, Interval, Month, Symbol, VolatilitySettings

Floats = NDArray[np.float64]

OUTPUTS = ("fig_volatility",)
COINS = ("BTC", "ETH", "SOL")

#: First day that the publication predicts.
TESTED_FROM = date.fromisoformat(f"{FIRST_TEST}-01")

VARIANCE, RETURNS = "log variance", "returns"
QUANTITIES = {
    VARIANCE: "out-of-sample R2 of log variance, HAR",
    RETURNS: "out-of-sample R2 of daily returns, same regression",
}

#: Benchmarks of an R2: mean of the days fitted on, mean of the 512 days before, zero.
FITTED, RECENT, ZERO = "mean of the days fitted on", "mean of the 512 days before", "zero"
RECENT_DAYS = 512
#: An R2 over fewer days than a month says nothing.
LEAST_SCORED = 30
PUBLISHED_BENCHMARK = {VARIANCE: FITTED, RETURNS: ZERO}


@dataclass(frozen=True)
class Variant:
    """Lengths of week and month in days, and how variances are averaged over them."""

    week: int
    month: int
    averaging: Averaging

    @property
    def name(self) -> str:
        """As ``7/30 days, log of mean``."""
        return f"{self.week}/{self.month} days, {self.averaging}"


#: The publication does not say which. The first is the main one, the others stand beside it.
VARIANTS = (
    Variant(7, 30, "log of mean"),
    Variant(5, 22, "log of mean"),
    Variant(7, 30, "mean of logs"),
    Variant(5, 22, "mean of logs"),
)
MAIN = VARIANTS[0]

DAYS = declare(
    "days of volatility",
    {
        "coin": dy.String(),
        "day": dy.Date(),
        "returns": dy.Int64(min=0),
        "variance": dy.Float64(min_exclusive=0, nullable=True),
        "ret": dy.Float64(nullable=True),
        "log_forecast": dy.Float64(nullable=True),
        "residual_sd": dy.Float64(min=0, nullable=True),
        "ret_forecast": dy.Float64(nullable=True),
    },
    unique=["coin", "day"],
)
"""One row a coin and UTC day of the window: realised ``variance`` of the day out of so many
``returns``, log return ``ret`` from close to close, and what was forecast for the day at the
end of the day before: log variance, with the standard deviation of the residuals of its fit,
and return. Missing where there is no candle or no forecast."""

SCORES = declare(
    "scores of volatility",
    {
        "coin": dy.String(),
        "target": one_of([VARIANCE, RETURNS]),
        "variant": dy.String(),
        "benchmark": one_of([FITTED, RECENT, ZERO]),
        "published_way": dy.Bool(),
        "days": dy.Int64(min_exclusive=0),
        "r2": dy.Float64(max=1),
        "low": dy.Float64(),
        "high": dy.Float64(),
    },
    unique=["coin", "target", "variant", "benchmark"],
)
"""One row a coin, target, variant of the regression and benchmark: out-of-sample ``r2`` over
so many ``days``, with a 95% interval; ``published_way`` marks the rows that the figure shows."""


class VolatilityStep(Model):
    """What the volatility forecasts need: candles, and the months to be predicted."""

    coins: tuple[Symbol, ...]
    base: Interval
    candles: Dataset
    first_test: Month
    last_test: Month
    volatility: VolatilitySettings


def predicted_days(first_test: str, last_test: str, window: Dataset) -> tuple[date, date]:
    """First and last day predicted, as far as there are candles."""
    first = np.datetime64(first_test, "M").astype("datetime64[D]").item()
    end = ((np.datetime64(last_test, "M") + 1).astype("datetime64[D]") - 1).item()
    last = min(end, window.last)
    return min(first, last), last


def refit_coverage(first_test: str, last_test: str, window: Dataset, base: str, symbol: str) -> str:
    """``whole``, or which of the published test days, candles and days to fit on are missing."""
    tested = coverage(
        *predicted_days(first_test, last_test, window),
        published_first=TESTED_FROM,
        published_last=LAST,
        symbol=symbol,
        base=base,
        what="daily variances",
        base_matters=True,
    )
    parts = [] if tested == WHOLE else [tested]
    if window.first != FIRST:
        parts.append(f"fitted on days from {window.first}, not {FIRST}")
    return ", ".join(parts) or WHOLE


def forecasts(days: Days, first_test: str, last_test: str, variant: Variant) -> dict[str, Refitted]:
    """Out-of-sample forecasts of each day, by target: made at the end of the day before.

    Refitted at the start of every month on the days that have ended by then. The forecast of
    a day stands at its own index, shape (days,).
    """
    start = days.day.astype("datetime64[us]")
    end = (days.day + 1).astype("datetime64[us]")
    windows = [
        (fold.train(end), fold.test(start)) for fold in folds(first_test, last_test, gap_hours=0)
    ]
    regressors = {
        VARIANCE: variance_regressors(
            days.variance, variant.week, variant.month, variant.averaging
        ),
        RETURNS: return_regressors(days.ret, variant.week, variant.month),
    }
    targets = {VARIANCE: np.log(days.variance), RETURNS: days.ret}
    return {
        name: refitted(_day_before(design), targets[name], windows)
        for name, design in regressors.items()
    }


def _day_before(rows: Floats) -> Floats:
    """What was known at the end of the day before: rows moved on by one day."""
    return np.concatenate([np.full((1, rows.shape[1]), np.nan), rows[:-1]])


def score_rows(
    days: Days, found: dict[str, Refitted], variant: Variant, settings: VolatilitySettings,
    rng: Generator,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Rows of ``SCORES`` of one coin and variant.

    None for a target that was predicted on too few days, and none for returns where the
    variant differs by its logarithms alone: returns have none.
    """
    log_variance = np.log(days.variance)
    recent = np.append(np.nan, trailing_mean(log_variance, RECENT_DAYS)[:-1])
    for target, truth, benchmarks in (
        (VARIANCE, log_variance, {FITTED: found[VARIANCE].benchmark, RECENT: recent}),
        (RETURNS, days.ret, {ZERO: np.zeros(days.ret.size), FITTED: found[RETURNS].benchmark}),
    ):
        if target == RETURNS and variant.averaging != MAIN.averaging:
            continue
        forecast = found[target].forecast
        for benchmark, level in benchmarks.items():
            scored = np.isfinite(truth) & np.isfinite(forecast) & np.isfinite(level)
            n = int(scored.sum())
            if n < LEAST_SCORED:
                continue
            y, predicted, against = truth[scored], forecast[scored], level[scored]
            low, high = ratio_interval(
                (y - predicted) ** 2,
                (y - against) ** 2,
                fitting_block(settings.block_days, n),
                settings.resamples,
                rng,
            )
            yield {
                "coin": days.coin,
                "target": target,
                "variant": variant.name,
                "benchmark": benchmark,
                "published_way": variant == MAIN and benchmark == PUBLISHED_BENCHMARK[target],
                "days": n,
                "r2": r_squared(y, predicted, against),
                # A larger share of squared errors is a lower R2.
                "low": 1 - float(high),
                "high": 1 - float(low),
            }


def day_table(days: Days, found: dict[str, Refitted]) -> pl.DataFrame:
    """``DAYS`` of one coin."""
    columns = {
        "variance": days.variance,
        "ret": days.ret,
        "log_forecast": found[VARIANCE].forecast,
        "residual_sd": found[VARIANCE].residual_sd,
        "ret_forecast": found[RETURNS].forecast,
    }
    return pl.DataFrame(
        {
            "coin": [days.coin] * days.day.size,
            "day": days.day,
            "returns": days.count,
            **columns,
        }
    ).with_columns(pl.col(list(columns)).fill_nan(None))


def measure_volatility(
    *, candles: Path, days: Path, scores: Path, settings: VolatilityStep, rng: Generator
) -> list[Measurement]:
    """Step: forecast daily variance and returns, and answer the rows of :data:`OUTPUTS`.

    Parameters
    ----------
    candles
        DuckDB file with the table ``candles`` of the run's base interval.
    days, scores
        Outputs, Parquet: :data:`DAYS`, :data:`SCORES`.

    Raises
    ------
    DataError
        When a coin has no candles.
    """
    tables: list[pl.DataFrame] = []
    rows: list[dict[str, Any]] = []
    for symbol in settings.coins:
        own = read_days(candles, symbol, settings.base, settings.candles)
        for variant in VARIANTS:
            found = forecasts(own, settings.first_test, settings.last_test, variant)
            rows += score_rows(own, found, variant, settings.volatility, rng)
            if variant == MAIN:
                tables.append(day_table(own, found))
    table = pl.DataFrame(rows, schema=SCORES.types)
    write_frame(pl.concat(tables), days, DAYS)
    write_frame(table, scores, SCORES)
    answers = [*_answers(table, settings), *_definitions(settings.base)]
    return answer_all(answers, OUTPUTS, "this run predicts no volatility of this coin")


def _answers(table: pl.DataFrame, settings: VolatilityStep) -> Iterator[Measurement]:
    for row in table.filter("published_way", pl.col("coin").is_in(COINS)).iter_rows(named=True):
        beside = table.filter(
            (pl.col("coin") == row["coin"]) & (pl.col("target") == row["target"])
        ).iter_rows(named=True)
        yield Measurement(
            output_id="fig_volatility",
            quantity=QUANTITIES[row["target"]],
            condition=row["coin"],
            value=row["r2"],
            low=row["low"],
            high=row["high"],
            n=row["days"],
            coverage=refit_coverage(
                settings.first_test,
                settings.last_test,
                settings.candles,
                settings.base,
                f"{row['coin']}USDT",
            ),
            note=_beside(row, list(beside)),
        )


def _beside(row: dict[str, Any], others: Sequence[dict[str, Any]]) -> str:
    """Benchmark, and what the other variants and the other benchmark give."""
    spread = [
        each["r2"]
        for each in others
        if each["benchmark"] == row["benchmark"] and each["variant"] != MAIN.name
    ]
    parts = [f"against {'the ' * (row['benchmark'] != ZERO)}{row['benchmark']}"]
    if spread:
        ends = sorted({f"{min(spread):.4f}", f"{max(spread):.4f}"}, key=float)
        what = "other lags and averages" if row["target"] == VARIANCE else "other lags"
        parts.append(f"{what} {' to '.join(ends)}")
    for each in others:
        if each["variant"] == MAIN.name and each["benchmark"] != row["benchmark"]:
            parts.append(
                f"against the {each['benchmark']} {each['r2']:.4f}"
                + (f" (over {each['days']} days)" if each["days"] != row["days"] else "")
            )
    return "; ".join(parts)


def _definitions(base: str) -> list[Measurement]:
    """Rows that are part of the method."""
    a_day = np.timedelta64(1, "D")
    own = int(a_day / calendar.step(base))
    return [
        Measurement(
            output_id="fig_volatility",
            quantity="5-minute returns per day",
            value=int(a_day / calendar.step(BASE)),
            note="" if base == BASE else f"this run has {own} returns a day, of {base} candles",
        ),
        Measurement(output_id="fig_volatility", quantity="HAR coefficients", value=COEFFICIENTS),
    ]
