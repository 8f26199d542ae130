"""How good the direction forecasts are: hit rate, ROC AUC, and what they may be compared with.

A forecast above one half says "up", any other "down". An hour that closes
exactly where it opened is not up, so "down" is right there.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import dataframely as dy
import numpy as np
import numpy.typing as npt
import polars as pl

from remeasure.ledger.measurement import Measurement, not_run
from remeasure.model import Model
from remeasure.stats.auc import delong
from remeasure.stats.bootstrap import draw_blocks, percentile_interval, resampled_means
from remeasure.stats.proportion import standard_error
from remeasure.stats.ranks import average_ranks, spearman
from remeasure.store.frames import read_frame, read_json, write_frame
from remeasure.store.schema import declare
from remeasure.studies.crypto.forecasts import FORECASTS, hits
from remeasure.studies.crypto.published import answer_all, printed, walked_coverage
from remeasure.studies.crypto.series import coin
from remeasure.studies.crypto.settings import (
    Dataset,
    DirectionSettings,
    Interval,
    Symbol,
    WalkForwardSettings,
)

Floats = npt.NDArray[np.float64]

OUTPUTS = ("tab_direction",)

#: The row of another output that repeats BTC's hit rate.
HEADLINE = ("tab_headline", "hit rate", "BTC next hour")

ABSENT = "this run forecasts no hour of this coin"

#: Coins whose hit rates are printed.
HIT_RATES = ("BTC", "ETH", "SOL")

#: One row a coin, in the order of the settings. Rates and areas are fractions.
SCORES = declare(
    "direction scores",
    {
        "coin": dy.String(),
        "hours": dy.Int64(min_exclusive=0, description="forecast hours"),
        "first": dy.Datetime(description="first predicted hour, UTC"),
        "last": dy.Datetime(description="last predicted hour, UTC"),
        "hit_rate": dy.Float64(min=0, max=1),
        "hit_low": dy.Float64(min=0, max=1, description="95% block bootstrap interval"),
        "hit_high": dy.Float64(min=0, max=1),
        "hit_se": dy.Float64(min=0, max=1, description="block bootstrap"),
        "binomial_se": dy.Float64(min=0, max=1, description="as if hours were independent"),
        "up_rate": dy.Float64(
            min=0, max=1, description="share of hours that rose: always saying up"
        ),
        "up_low": dy.Float64(min=0, max=1, description="95% block bootstrap interval"),
        "up_high": dy.Float64(min=0, max=1),
        "auc": dy.Float64(min=0, max=1),
        "auc_se": dy.Float64(min=0, max=1, description="DeLong"),
        "auc_low": dy.Float64(min=0, max=1, description="95% interval from DeLong's error"),
        "auc_high": dy.Float64(min=0, max=1),
        "rank_correlation": dy.Float64(
            min=-1, max=1, description="Spearman, each predicted hour's return with the hour before"
        ),
        "rank_low": dy.Float64(description="95% block bootstrap interval"),
        "rank_high": dy.Float64(),
    },
    unique=["coin"],
)


class DirectionStep(Model):
    """What scoring needs: the bootstrap, and what the forecasts rest on (for the coverage)."""

    direction: DirectionSettings
    coins: tuple[Symbol, ...]
    base: Interval
    candles: Dataset
    walk_forward: WalkForwardSettings


def score(
    forecasts: pl.DataFrame, name: str, settings: DirectionSettings, rng: np.random.Generator
) -> pl.DataFrame:
    """Scores of one coin's forecasts, one row of :data:`SCORES`.

    Parameters
    ----------
    forecasts
        Rows of one coin in time order, columns as in ``forecasts.FORECASTS``.
    name
        Of the coin.
    settings, rng
        Block bootstrap: blocks of ``block_hours`` rows keep the memory of the market.
    """
    up = forecasts["up"].to_numpy()
    hit = hits(forecasts)
    n = hit.size
    ranks = np.column_stack(
        [average_ranks(forecasts[column].to_numpy()) for column in ("ret_1", "ret_next")]
    )
    x, y = ((ranks - ranks.mean(axis=0)) / ranks.std(axis=0)).T
    block = min(settings.block_hours, n)
    starts = draw_blocks(n, block, settings.resamples, rng)
    means = resampled_means(np.column_stack([hit, up, x, y, x * x, y * y, x * y]), block, starts)
    # Ranks stay those of the whole sample: the correlation is then a function of averages.
    resampled = (means[:, 6] - means[:, 2] * means[:, 3]) / np.sqrt(
        (means[:, 4] - means[:, 2] ** 2) * (means[:, 5] - means[:, 3] ** 2)
    )
    low, high = percentile_interval(np.column_stack([means[:, :2], resampled]))
    auc = delong(forecasts["p"].to_numpy(), up)
    rate = float(hit.mean())
    return pl.DataFrame(
        {
            "coin": [name],
            "hours": [n],
            "first": forecasts["target_hour"].head(1),
            "last": forecasts["target_hour"].tail(1),
            "hit_rate": [rate],
            "hit_low": [float(low[0])],
            "hit_high": [float(high[0])],
            "hit_se": [float(means[:, 0].std(ddof=1))],
            "binomial_se": [standard_error(rate, n)],
            "up_rate": [float(up.mean())],
            "up_low": [float(low[1])],
            "up_high": [float(high[1])],
            "auc": [auc.value],
            "auc_se": [auc.se],
            "auc_low": [auc.low],
            "auc_high": [auc.high],
            "rank_correlation": [spearman(forecasts["ret_1"], forecasts["ret_next"])],
            "rank_low": [float(low[2])],
            "rank_high": [float(high[2])],
        }
    )


def measure_direction(
    *,
    forecasts: Path,
    scores: Path,
    settings: DirectionStep,
    rng: np.random.Generator,
    truth: Path | None = None,
) -> list[Measurement]:
    """Step: score the forecasts of each coin and answer the rows of ``tab_direction``.

    Parameters
    ----------
    forecasts
        Parquet, ``forecasts.FORECASTS``.
    scores
        Output, Parquet: :data:`SCORES`.
    settings, rng
        See :class:`DirectionStep`, :func:`score`.
    truth
        JSON of the generator, on generated data: how often the best forecast is right is
        then told beside each hit rate. It bounds a learned rate, so it is no truth of it.
    """
    table = read_frame(forecasts, FORECASTS)
    rows = pl.concat(
        [
            score(table.filter(pl.col("symbol") == symbol), coin(symbol), settings.direction, rng)
            for symbol in settings.coins
            if table["symbol"].is_in([symbol]).any()
        ]
    )
    write_frame(rows, scores, SCORES)
    covered = walked_coverage(
        settings.walk_forward, settings.candles, settings.base, settings.coins
    )
    bounds = _bounds(truth)
    answers = [_printed_error()]
    headline = not_run(*HEADLINE, ABSENT)
    for row in rows.iter_rows(named=True):
        rate = _hit_rate(row, covered, bounds)
        if row["coin"] in HIT_RATES:
            answers.append(rate)
        if row["coin"] == "BTC":
            answers += _bitcoin(row, covered)
            output_id, quantity, condition = HEADLINE
            headline = replace(rate, output_id=output_id, quantity=quantity, condition=condition)
    return [*answer_all(answers, OUTPUTS, ABSENT), headline]


def _bounds(truth: Path | None) -> dict[str, float]:
    """How often the best forecast is right over the test months, by coin, where it is known."""
    if truth is None:
        return {}
    rates = {
        coin(symbol): each["bayes_hit_rate"]["from_first_test"]
        for symbol, each in read_json(truth)["coins"].items()
    }
    return {name: rate for name, rate in rates.items() if rate is not None}


def _hit_rate(row: dict[str, Any], covered: str, bounds: dict[str, float]) -> Measurement:
    name = row["coin"]
    return Measurement(
        output_id="tab_direction",
        quantity="hit rate",
        condition=name,
        value=100 * row["hit_rate"],
        low=100 * row["hit_low"],
        high=100 * row["hit_high"],
        n=row["hours"],
        coverage=covered,
        note=f"the best possible forecast of this synthetic market is right in"
        f" {100 * bounds[name]:.2f}% of the hours"
        if name in bounds
        else "",
    )


def _bitcoin(row: dict[str, Any], covered: str) -> list[Measurement]:
    """The rows that are printed for BTC alone."""

    def answer(
        quantity: str, condition: str, value: float, low: float, high: float, note: str = ""
    ) -> Measurement:
        return Measurement(
            output_id="tab_direction",
            quantity=quantity,
            condition=condition,
            value=value,
            low=low,
            high=high,
            n=row["hours"],
            coverage=covered,
            note=note,
        )

    errors = sorted(
        100 * standard_error(row[column], row["hours"])
        for column in ("hit_low", "hit_rate", "hit_high")
    )
    return [
        answer(
            "always-up hit rate",
            "BTC",
            100 * row["up_rate"],
            100 * row["up_low"],
            100 * row["up_high"],
        ),
        answer("ROC AUC", "BTC", row["auc"], row["auc_low"], row["auc_high"]),
        answer(
            "standard error of hit rate",
            "printed, BTC",
            100 * row["binomial_se"],
            errors[0],
            errors[-1],
            f"sqrt(p(1-p)/n); the block bootstrap gives {100 * row['hit_se']:.3f}",
        ),
        answer(
            "rank correlation of consecutive hourly returns",
            "BTC, test period",
            row["rank_correlation"],
            row["rank_low"],
            row["rank_high"],
        ),
    ]


def _printed_error() -> Measurement:
    """The binomial standard error of the printed hit rate over the printed number of hours."""
    rate = printed("tab_direction", "hit rate", "BTC") / 100
    hours = round(printed("calendar", "forecast rows per coin", ""))
    return Measurement(
        output_id="tab_direction",
        quantity="standard error of hit rate",
        condition="sqrt(p(1-p)/42142) at p=0.539",
        value=100 * standard_error(rate, hours),
        n=hours,
        note="from the printed hit rate and number of hours",
    )
