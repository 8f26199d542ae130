"""Ready-made forecasters against models made for the task, on the hours and days of one period.

Hit rates are those of the boosted trees' own scored hours: a ready-made model that forecasts
fewer of them is set against the trees on the same ones. R2 of log variance is measured against
the mean of the 512 days before each day, as this figure of the publication has it. That level
lies far from a year whose volatility has changed and is then easy to beat, so these R2 must not
be compared with those against the mean of the days fitted on.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import dataframely as dy
import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field

from remeasure.ledger.measurement import WHOLE, Measurement, not_run
from remeasure.model import Model
from remeasure.stats.bootstrap import (
    draw_blocks,
    fitting_block,
    percentile_interval,
    ratio_interval,
    resampled_means,
)
from remeasure.stats.har import r_squared, trailing_mean
from remeasure.stats.proportion import standard_error
from remeasure.store.frames import read_frame, write_frame
from remeasure.store.schema import declare
from remeasure.studies.crypto import volatility
from remeasure.studies.crypto.coverage import ENOUGH, FIRST, LAST, coverage, outside
from remeasure.studies.crypto.forecasts import FORECASTS, hits
from remeasure.studies.crypto.foundation_table import (
    CHRONOS,
    CONTEXT,
    DAYS,
    HOURS,
    KRONOS,
    KRONOS_TOKENIZER,
    is_of,
)
from remeasure.studies.crypto.published import POOLED, answer_all, printed
from remeasure.studies.crypto.series import coin
from remeasure.studies.crypto.settings import Dataset, Interval, Symbol, WalkForwardSettings

Floats = NDArray[np.float64]

OUTPUTS = ("fig_foundation", "stat_foundation_up")

LIGHTGBM, HAR = "LightGBM", "HAR"
READY_MADE = (CHRONOS, KRONOS)
COINS = ("BTC", "ETH", "SOL")

#: Where each ready-made model is published.
CHECKPOINTS = {CHRONOS: "amazon/chronos-2", KRONOS: "NeoQuasar/Kronos-small"}

#: Rows of the calendar that say how many hours each of them forecast.
HOURS_FORECAST = {
    CHRONOS: ("hours of 2026", "to 2026-10-29"),
    KRONOS: ("Kronos hours per coin", "every fourth hour of 2026"),
}

#: First day of the publication's period; it ends with its window.
PERIOD_FIRST = date(2026, 1, 1)

HIT_RATE = "hit rate 2026"
R2 = "R2 of log volatility 2026 against 512-day mean"
CHANCE = "chance standard error"
SHARES = ("share of up forecasts, low", "share of up forecasts, high")

#: A rate or an R2 over fewer hours or days says nothing.
LEAST_SCORED = 30

RATES = declare(
    "hit rates of ready-made models",
    {
        "model": dy.String(),
        "coin": dy.String(),
        "hours": dy.Int64(min=LEAST_SCORED),
        "first": dy.Datetime(description="first predicted hour, UTC"),
        "last": dy.Datetime(description="last predicted hour, UTC"),
        "hit_rate": dy.Float64(min=0, max=1),
        "low": dy.Float64(min=0, max=1, description="95% block bootstrap interval"),
        "high": dy.Float64(min=0, max=1),
        "se": dy.Float64(min=0, max=1, description="sqrt(p (1 - p) / n)"),
        "up_share": dy.Float64(
            min=0, max=1, description="share of hours for which a rise is forecast"
        ),
        "up_low": dy.Float64(min=0, max=1),
        "up_high": dy.Float64(min=0, max=1),
        "lead": dy.Float64(description="hit rate less LightGBM's on the same hours"),
        "lead_low": dy.Float64(),
        "lead_high": dy.Float64(),
        "lead_se": dy.Float64(min=0, description="paired block bootstrap"),
    },
    unique=["model", "coin"],
)
"""One row a model and coin; LightGBM leads itself by nothing."""

SCORES = declare(
    "R2 of ready-made models",
    {
        "model": dy.String(),
        "coin": dy.String(),
        "days": dy.Int64(min=LEAST_SCORED),
        "first": dy.Date(),
        "last": dy.Date(),
        "r2": dy.Float64(max=1),
        "low": dy.Float64(description="95% block bootstrap interval"),
        "high": dy.Float64(),
    },
    unique=["model", "coin"],
)
"""One row a model and coin: R2 of log variance against the mean of the 512 days before."""


class FoundationStep(Model):
    """The period, what the forecasts rest on, and the bootstrap.

    Attributes
    ----------
    first, last
        Days scored, both included.
    block_hours, block_days, resamples
        Of the block bootstrap of hit rates and of R2.
    """

    coins: tuple[Symbol, ...]
    base: Interval
    candles: Dataset
    walk_forward: WalkForwardSettings
    first: date
    last: date
    block_hours: int = Field(ge=1)
    block_days: int = Field(ge=1)
    resamples: int = Field(ge=100)


def measure_foundation(
    *,
    forecasts: Path,
    days: Path,
    chronos_hours: list[Path],
    chronos_days: list[Path],
    kronos_hours: list[Path],
    rates: Path,
    scores: Path,
    settings: FoundationStep,
    rng: Generator,
) -> list[Measurement]:
    """Step: score every model that this run has and answer the rows of :data:`OUTPUTS`.

    Parameters
    ----------
    forecasts
        Parquet, ``forecasts.FORECASTS``: the boosted trees', and what each hour did.
    days
        Parquet, ``volatility.DAYS``: the HAR regression's, and each day's variance.
    chronos_hours, kronos_hours
        Parquet, ``foundation_table.HOURS``; empty where this run has no checkpoint.
    chronos_days
        Parquet, ``foundation_table.DAYS``, likewise.
    rates, scores
        Outputs, Parquet: :data:`RATES`, :data:`SCORES`.

    Raises
    ------
    DataError
        When a table is missing or breaks its schema.
    """
    trees = period_of(read_frame(forecasts, FORECASTS), settings)
    ready = [read_frame(path, HOURS) for path in (*chronos_hours, *kronos_hours)]
    rate_table = pl.DataFrame(
        list(rate_rows(trees, ready, settings, rng)), schema=RATES.types, orient="row"
    )
    variances = read_frame(days, volatility.DAYS)
    score_table = pl.DataFrame(
        list(
            score_rows(variances, [read_frame(each, DAYS) for each in chronos_days], settings, rng)
        ),
        schema=SCORES.types,
        orient="row",
    )
    write_frame(rate_table, rates, RATES)
    write_frame(score_table, scores, SCORES)
    absent = {
        model: f"this run has no checkpoint of {model} ({CHECKPOINTS[model]})"
        for model, files in ((CHRONOS, chronos_hours), (KRONOS, kronos_hours))
        if not files
    }
    answers = [
        *_rates(rate_table, settings, absent),
        *_scores(score_table, settings, absent),
        *_shares(rate_table, settings, absent),
        *_definitions(),
    ]
    return answer_all(answers, OUTPUTS, _unmeasured(settings))


def period_of(forecasts: pl.DataFrame, settings: FoundationStep) -> pl.DataFrame:
    """The boosted trees' hours of the period: coin, target_hour, rose, said_up, hit."""
    return (
        forecasts.with_columns(
            pl.col("symbol").str.strip_suffix("USDT").alias("coin"),
            pl.Series("hit", hits(forecasts)),
        )
        .filter(
            pl.col("target_hour") >= settings.first,
            pl.col("target_hour") < settings.last + timedelta(days=1),
        )
        .select(
            "coin",
            "target_hour",
            pl.col("up").alias("rose"),
            (pl.col("p") > 0.5).alias("said_up"),
            "hit",
        )
        .sort("coin", "target_hour")
    )


def rate_rows(
    trees: pl.DataFrame, ready: list[pl.DataFrame], settings: FoundationStep, rng: Generator
) -> Iterator[dict[str, Any]]:
    """Rows of :data:`RATES`: the trees first, then each ready-made model, by coin.

    Parameters
    ----------
    trees
        As :func:`period_of` gives them.
    ready
        Tables as ``foundation_table.HOURS``.
    """
    same = trees.with_columns(pl.lit(LIGHTGBM).alias("model"), pl.col("hit").alias("tree_hit"))
    wanted = ("model", "coin", "target_hour", "said_up", "hit", "tree_hit")
    scored = [same.select(wanted)]
    for table in ready:
        joined = table.join(trees.rename({"hit": "tree_hit"}), on=["coin", "target_hour"])
        scored.append(
            joined.with_columns(
                pl.col("up").alias("said_up"), (pl.col("up") == pl.col("rose")).alias("hit")
            ).select(wanted)
        )
    for table in scored:
        for symbol in settings.coins:
            own = table.filter(pl.col("coin") == coin(symbol))
            for one in own.partition_by("model", maintain_order=True):
                if one.height >= LEAST_SCORED:
                    yield _rate(one.sort("target_hour"), settings, rng)


def _rate(own: pl.DataFrame, settings: FoundationStep, rng: Generator) -> dict[str, Any]:
    values = np.column_stack(
        [
            own["hit"].cast(pl.Float64),
            own["said_up"].cast(pl.Float64),
            own["hit"].cast(pl.Float64) - own["tree_hit"].cast(pl.Float64),
        ]
    )
    n = own.height
    hour = own["target_hour"]
    span = (hour[-1] - hour[0]) / timedelta(hours=1) + 1
    # A block lasts so many hours, whether each of them was forecast or every fourth.
    block = fitting_block(max(1, round(settings.block_hours * n / span)), n)
    means = resampled_means(values, block, draw_blocks(n, block, settings.resamples, rng))
    low, high = percentile_interval(means)
    rate, up, lead = (float(each) for each in values.mean(axis=0))
    return {
        "model": own["model"][0],
        "coin": own["coin"][0],
        "hours": n,
        "first": hour[0],
        "last": hour[-1],
        "hit_rate": rate,
        "low": float(low[0]),
        "high": float(high[0]),
        "se": standard_error(rate, n),
        "up_share": up,
        "up_low": float(low[1]),
        "up_high": float(high[1]),
        "lead": lead,
        "lead_low": float(low[2]),
        "lead_high": float(high[2]),
        "lead_se": float(means[:, 2].std(ddof=1)),
    }


def score_rows(
    days: pl.DataFrame, ready: list[pl.DataFrame], settings: FoundationStep, rng: Generator
) -> Iterator[dict[str, Any]]:
    """Rows of :data:`SCORES`: HAR first, then each ready-made model, by coin.

    A ready-made model is scored on the days that HAR is scored on.

    Parameters
    ----------
    days
        As ``volatility.DAYS``.
    ready
        Tables as ``foundation_table.DAYS``.
    """
    for symbol in settings.coins:
        own = days.filter(pl.col("coin") == coin(symbol)).sort("day")
        if own.is_empty():
            continue
        truth = np.log(own["variance"].cast(pl.Float64).to_numpy())
        level = np.append(np.nan, trailing_mean(truth, CONTEXT)[:-1])
        inside = own["day"].is_between(settings.first, settings.last).to_numpy()
        forecast = own["log_forecast"].to_numpy()
        scored = inside & np.isfinite(truth) & np.isfinite(level) & np.isfinite(forecast)
        every = [(HAR, forecast)]
        for table in ready:
            for one in table.filter(pl.col("coin") == coin(symbol)).partition_by("model"):
                beside = own.select("day").join(one, on="day", how="left", maintain_order="left")
                every.append((one["model"][0], beside["value"].cast(pl.Float64).to_numpy()))
        for model, values in every:
            rows = scored & np.isfinite(values)
            n = int(rows.sum())
            if n < LEAST_SCORED:
                continue
            y, predicted, against = truth[rows], values[rows], level[rows]
            low, high = ratio_interval(
                (y - predicted) ** 2,
                (y - against) ** 2,
                fitting_block(settings.block_days, n),
                settings.resamples,
                rng,
            )
            measured = own["day"].filter(pl.Series(rows))
            yield {
                "model": model,
                "coin": coin(symbol),
                "days": n,
                "first": measured[0],
                "last": measured[-1],
                "r2": r_squared(y, predicted, against),
                # A larger share of squared errors is a lower R2.
                "low": 1 - float(high),
                "high": 1 - float(low),
            }


# --- answers --------------------------------------------------------------------------------


def _unmeasured(settings: FoundationStep) -> str:
    window = settings.candles
    if settings.first > window.last or settings.last < window.first:
        return outside(f"{settings.first} to {settings.last}", window.first, window.last)
    return f"this run forecasts too little of this coin from {settings.first} to {settings.last}"


def _of(table: pl.DataFrame, model: str) -> list[dict[str, Any]]:
    """Rows of the coins that are printed, of a model at whatever size."""
    return [
        row
        for row in table.iter_rows(named=True)
        if is_of(row["model"], model) and row["coin"] in COINS
    ]


def _rates(
    table: pl.DataFrame, settings: FoundationStep, absent: dict[str, str]
) -> Iterator[Measurement]:
    for model in (LIGHTGBM, *READY_MADE):
        if model in absent:
            for name in COINS:
                yield not_run("fig_foundation", HIT_RATE, f"{name} {model}", absent[model])
            continue
        for row in _of(table, model):
            yield Measurement(
                output_id="fig_foundation",
                quantity=HIT_RATE,
                condition=f"{row['coin']} {model}",
                value=100 * row["hit_rate"],
                low=100 * row["low"],
                high=100 * row["high"],
                n=row["hours"],
                coverage=hours_coverage(row, model, settings),
                note="; ".join([_beside(row, model), *_variants(table, row, model)]),
            )


def _beside(row: dict[str, Any], model: str) -> str:
    error = f"standard error {100 * row['se']:.2f} points"
    if model == LIGHTGBM:
        return error
    ahead = row["lead"] > 2 * row["lead_se"]
    return (
        f"{error}; {100 * row['lead']:+.2f} ± {100 * row['lead_se']:.2f} points against"
        f" {LIGHTGBM} on the same hours:"
        f" {'more' if ahead else 'not more'} than two standard errors better"
    )


def _variants(table: pl.DataFrame, row: dict[str, Any], model: str) -> Iterator[str]:
    """What other ways to forecast with the same weights give, in words."""
    for each in table.iter_rows(named=True):
        way = each["model"].removeprefix(f"{model}, ")
        if way != each["model"] and each["coin"] == row["coin"]:
            yield f"{way} {100 * each['hit_rate']:.2f}% of {each['hours']} hours"


def _period(first: date, last: date, **words: Any) -> str:
    return coverage(first, last, published_first=PERIOD_FIRST, published_last=LAST, **words)


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part and part != WHOLE) or WHOLE


def hours_coverage(row: dict[str, Any], model: str, settings: FoundationStep) -> str:
    """``whole``, or what of the publication's hours, fits and weights a hit rate lacks."""
    first, last = row["first"].date(), row["last"].date()
    if model == LIGHTGBM:
        walk = settings.walk_forward
        pooled = ", ".join(map(coin, settings.coins))
        return _joined(
            _period(first, last, base=settings.base, base_matters=True),
            f"trained from {settings.candles.first}, not {FIRST}"
            if settings.candles.first != FIRST
            else "",
            f"refitted every {walk.refit_months} months, not every month"
            if walk.refit_months != 1
            else "",
            f"pooled over {pooled}" if frozenset(settings.coins) != POOLED else "",
        )
    wanted = round(printed("calendar", *HOURS_FORECAST[model]))
    other = row["hours"] < ENOUGH * wanted or row["hours"] > (2 - ENOUGH) * wanted
    return _joined(
        _period(first, last),
        f"{row['hours']} hours instead of {wanted}" if other else "",
        "" if row["model"] == model else f"weights are not the published ones: {row['model']}",
    )


def _scores(
    table: pl.DataFrame, settings: FoundationStep, absent: dict[str, str]
) -> Iterator[Measurement]:
    for model in (HAR, CHRONOS):
        if model in absent:
            for name in COINS:
                yield not_run("fig_foundation", R2, f"{name} {model}", absent[model])
            continue
        for row in _of(table, model):
            fitted = model == HAR and settings.candles.first != FIRST
            period = _period(
                row["first"],
                row["last"],
                base=settings.base,
                what="daily variances",
                base_matters=True,
            )
            yield Measurement(
                output_id="fig_foundation",
                quantity=R2,
                condition=f"{row['coin']} {model}",
                value=row["r2"],
                low=row["low"],
                high=row["high"],
                n=row["days"],
                coverage=_joined(
                    period,
                    f"fitted on days from {settings.candles.first}, not {FIRST}" if fitted else "",
                    f"weights are not the published ones: {row['model']}"
                    if model == CHRONOS and row["model"] != model
                    else "",
                ),
                note=f"against the mean of the {CONTEXT} days before each day",
            )


def _shares(
    table: pl.DataFrame, settings: FoundationStep, absent: dict[str, str]
) -> Iterator[Measurement]:
    """The lowest and the highest share of rises that Chronos-2 forecasts, over the coins."""
    keys = [("stat_foundation_up", quantity, CHRONOS) for quantity in SHARES]
    if CHRONOS in absent:
        yield from (not_run(*key, absent[CHRONOS]) for key in keys)
        return
    rows = _of(table, CHRONOS)
    if not rows:
        return
    missing = [name for name in COINS if name not in [row["coin"] for row in rows]]
    for key, pick in zip(keys, (min, max), strict=True):
        row = pick(rows, key=lambda each: each["up_share"])
        yield Measurement(
            output_id=key[0],
            quantity=key[1],
            condition=key[2],
            value=100 * row["up_share"],
            low=100 * row["up_low"],
            high=100 * row["up_high"],
            n=row["hours"],
            coverage=_joined(
                hours_coverage(row, CHRONOS, settings),
                f"without {', '.join(missing)}" if missing else "",
            ),
            note=f"of {row['coin']}",
        )


def _definitions() -> Iterator[Measurement]:
    """Rows that are arithmetic, or part of the method."""
    yield Measurement(
        output_id="fig_foundation",
        quantity="context length",
        condition="hours or days",
        value=CONTEXT,
    )
    for key in HOURS_FORECAST.values():
        n = round(printed("calendar", *key))
        yield Measurement(
            output_id="fig_foundation",
            quantity=CHANCE,
            condition=f"n={n}",
            value=100 * math.sqrt(0.25 / n),
            n=n,
        )
    for model, count in _parameters().items():
        yield Measurement(
            output_id="fig_foundation",
            quantity="parameters",
            condition=model,
            value=count,
            note="torch is not installed: it builds the network to be counted"
            if count is None
            else "counted in the network built here at the published configuration",
        )


@cache
def _parameters() -> dict[str, int | None]:
    """Numbers in each network, built without memory for them; None without torch."""
    if importlib.util.find_spec("torch") is None:
        return dict.fromkeys((CHRONOS, KRONOS, KRONOS_TOKENIZER))
    import torch

    from remeasure.nn.models.chronos2 import Chronos2, Config
    from remeasure.nn.models.kronos import Kronos, KronosConfig
    from remeasure.nn.models.kronos_tokenizer import KronosTokenizer, TokenizerConfig

    with torch.device("meta"):
        networks: dict[str, torch.nn.Module] = {
            CHRONOS: Chronos2(Config()),
            KRONOS: Kronos(KronosConfig()),
            KRONOS_TOKENIZER: KronosTokenizer(TokenizerConfig()),
        }
    return {
        name: sum(each.numel() for each in network.parameters())
        for name, network in networks.items()
    }
