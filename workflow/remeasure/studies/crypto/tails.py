"""Extreme hours: how many lie beyond six standard deviations, and how many a bell curve expects."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import dataframely as dy
import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from remeasure.ledger.measurement import Measurement, not_run
from remeasure.model import Model
from remeasure.stats.bootstrap import (
    block_weights,
    draw_blocks,
    fitting_block,
    percentile_interval,
    resampled_sums,
)
from remeasure.stats.normal import (
    bin_probabilities,
    expected_beyond,
    two_sided_tail,
    waiting_years,
)
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.studies.crypto.coverage import base_note, coverage
from remeasure.studies.crypto.published import answer_all
from remeasure.studies.crypto.series import Closes, read_closes
from remeasure.studies.crypto.settings import Symbol, TailsSettings

OUTPUTS = ("fig_tails", "stat_tails_other", "stat_six_sigma_wait")

#: The publication's threshold in standard deviations, and its number of hourly returns.
SIX = 6.0
RETURNS = 51_057

#: Coins of the published counts, and the output that prints each.
COINS = {"BTC": "fig_tails", "ETH": "stat_tails_other", "SOL": "stat_tails_other"}

#: Extreme hours cluster: a crash lasts days. Blocks of days are resampled, long enough that
#: the spread of the count no longer grows with them (on real hours of 2022 to 2025 it levels
#: off at one to two weeks).
BLOCK_DAYS = 14
RESAMPLES = 1000

TABLE = declare(
    "tails",
    {
        "coin": dy.String(),
        "n": dy.Int64(min_exclusive=1),
        "mean": dy.Float64(),
        "sd": dy.Float64(min_exclusive=0),
        "threshold": dy.Float64(),
        "beyond": dy.Int64(min=0),
        "low": dy.Float64(),
        "high": dy.Float64(),
        "expected": dy.Float64(),
    },
)
"""One row a coin. ``mean`` and ``sd`` of the hourly log returns; ``beyond`` counts hours
further than ``threshold`` sd from the mean, 95% interval ``low`` to ``high``; ``expected``
is the count of a normal law."""

HISTOGRAM = declare(
    "tails histogram",
    {
        "coin": dy.String(),
        "left": dy.Float64(),
        "right": dy.Float64(),
        "count": dy.Int64(min=0),
        "expected": dy.Float64(min=0),
    },
)
"""One row a coin and bin, from ``left`` (included) to ``right``, in sd from the mean; empty
bins too. ``expected`` is the count of a normal law in the bin."""


class TailsStep(Model):
    """What the tails need: the coins, the threshold and the width of a bin."""

    coins: tuple[Symbol, ...]
    tails: TailsSettings


def standardised(returns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns in sample standard deviations (n - 1) from their mean, shape (n,)."""
    return np.asarray((returns - returns.mean()) / returns.std(ddof=1))


def count_interval(
    returns: NDArray[np.float64],
    days: NDArray[np.int64],
    threshold: float,
    rng: Generator,
    *,
    block_days: int = BLOCK_DAYS,
    resamples: int = RESAMPLES,
) -> tuple[float, float]:
    """95% interval of the number of returns beyond ``threshold`` sd, by resampling blocks of days.

    Mean and standard deviation are estimated anew in each resample: more crashes also
    widen the yardstick, which makes the count steadier than that of fixed limits.

    Parameters
    ----------
    returns, days
        Return and day number (from 0) of each hour, shape (n,).
    threshold
        In standard deviations.
    """
    length = int(days.max()) + 1
    per_day = np.column_stack(
        [
            np.bincount(days, returns, length),
            np.bincount(days, returns**2, length),
            np.bincount(days, minlength=length),
        ]
    )
    block = fitting_block(block_days, length)
    starts = draw_blocks(length, block, resamples, rng)
    total, squares, n = resampled_sums(per_day, block, starts).T
    mean = total / n
    sd = np.sqrt((squares - n * mean**2) / (n - 1))
    # Only hours that are extreme by the narrowest yardstick can count in any resample.
    reach = threshold * sd.min() - np.abs(mean - returns.mean()).max()
    candidates = np.flatnonzero(np.abs(returns - returns.mean()) > reach)
    weights = block_weights(length, block, starts)[:, days[candidates]]
    beyond = np.abs(returns[candidates] - mean[:, None]) > threshold * sd[:, None]
    counts = (weights * beyond).sum(axis=1) * (returns.size / n)
    low, high = percentile_interval(counts)
    return float(low), float(high)


def binned(z: NDArray[np.float64], width: float, coin: str) -> pl.DataFrame:
    """Counts and normal expectations in bins of ``width`` sd that meet at 0, see ``HISTOGRAM``."""
    first, last = math.floor(z.min() / width), math.floor(z.max() / width) + 1
    edges = np.arange(first, last + 1) * width
    # The bin of each value by the same comparison as the edges are labelled with.
    index = np.searchsorted(edges, z, side="right") - 1
    return pl.DataFrame(
        {
            "coin": [coin] * (edges.size - 1),
            "left": edges[:-1],
            "right": edges[1:],
            "count": np.bincount(index, minlength=edges.size - 1).astype(np.int64),
            "expected": z.size * bin_probabilities(edges),
        }
    )


def measure_tails(
    *, hours: Path, tails: Path, histogram: Path, settings: TailsStep, rng: Generator
) -> list[Measurement]:
    """Count extreme hours of each coin.

    Returns run from row to row (gaps ignored) and are measured in sample standard
    deviations from the sample mean, as the publication does.

    Parameters
    ----------
    hours
        DuckDB file with the table ``hours``.
    tails, histogram
        Outputs, Parquet: see ``TABLE`` and ``HISTOGRAM``.

    Raises
    ------
    DataError
        When a coin has too few hours.
    """
    threshold = settings.tails.threshold
    rows, bins, measured = [], [], _normal_law()
    for closes in read_closes(hours, settings.coins):
        returns = closes.returns()
        z = standardised(returns)
        low, high = count_interval(returns, closes.days(), threshold, rng)
        row: dict[str, Any] = {
            "coin": closes.coin,
            "n": returns.size,
            "mean": float(returns.mean()),
            "sd": float(returns.std(ddof=1)),
            "threshold": threshold,
            "beyond": int((np.abs(z) > threshold).sum()),
            "low": low,
            "high": high,
            "expected": expected_beyond(threshold, returns.size),
        }
        rows.append(row)
        bins.append(binned(z, settings.tails.bin_width, closes.coin))
        if closes.coin in COINS and threshold == SIX:
            measured.append(_answer(closes, row))
    write_frame(pl.DataFrame(rows), tails, TABLE)
    write_frame(pl.concat(bins), histogram, HISTOGRAM)
    answered = {each.condition for each in measured if each.quantity == "hours beyond 6 sd"}
    measured += [
        not_run(output, "hours beyond 6 sd", coin, _reason(settings, coin))
        for coin, output in COINS.items()
        if coin not in answered
    ]
    return answer_all(measured, OUTPUTS, "no step measures it")


def _reason(settings: TailsStep, coin: str) -> str:
    if settings.tails.threshold != SIX:
        return f"this run counts hours beyond {settings.tails.threshold:g} sd"
    return f"{coin} is not among this run's coins"


def _answer(closes: Closes, row: dict[str, Any]) -> Measurement:
    rate = row["beyond"] * RETURNS / row["n"]
    notes = [f"{rate:.0f} in {RETURNS} hours at this rate", base_note(closes.base)]
    return Measurement(
        output_id=COINS[closes.coin],
        quantity="hours beyond 6 sd",
        condition=closes.coin,
        value=row["beyond"],
        low=row["low"],
        high=row["high"],
        n=row["n"],
        coverage=coverage(closes.first, closes.last, symbol=closes.symbol, base=closes.base),
        note="; ".join(note for note in notes if note),
    )


def _normal_law() -> list[Measurement]:
    """The rows that are mathematics: the tail of a bell curve."""
    expected = expected_beyond(SIX, RETURNS)
    wait = waiting_years(SIX)
    return [
        Measurement(output_id=output, quantity=quantity, condition=condition, value=value)
        for output, quantity, condition, value in (
            ("fig_tails", "expected hours beyond 6 sd", "normal law, n=51057", expected),
            ("fig_tails", "expected hours beyond 6 sd, unrounded", "normal law, n=51057", expected),
            ("fig_tails", "P(|z|>6)", "normal law", two_sided_tail(SIX)),
            ("stat_six_sigma_wait", "waiting time", "printed", wait),
            ("stat_six_sigma_wait", "waiting time", "8760 h/year", wait),
        )
    ]
