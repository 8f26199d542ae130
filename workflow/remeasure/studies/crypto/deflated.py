"""The best rule of the grid, and what is left of it once luck has been taken off.

The deflated Sharpe ratio asks how probably the best of N trials is better than the best of N
that know nothing. By its definition luck is the spread of the trials times z(N), around zero;
around the trials' own mean is the other reading of the published number, told in the notes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from remeasure.evaluate.positions import BARS_PER_YEAR
from remeasure.ledger.measurement import Measurement
from remeasure.stats.expected_maximum import (
    approximate_maximum,
    deflated_sharpe,
)
from remeasure.store.frames import read_frame, read_json
from remeasure.studies.crypto.published import answer_all, measurable, printed
from remeasure.studies.crypto.rules_grid import interval95
from remeasure.studies.crypto.textbook_rules import CROSSOVER

OUTPUTS = ("stat_deflated",)

#: Number of the publication's trials.
TRIALS = 792

_HOURLY = math.sqrt(BARS_PER_YEAR)


def measure_deflated(*, grid: Path, summary: Path) -> list[Measurement]:
    """Deflate the Sharpe ratio of the best rule of the early period.

    Parameters
    ----------
    grid, summary
        Parquet and JSON, as ``rules_grid.measure_grid`` writes them.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    told = read_json(summary)
    reason = told.get("not_run")
    if reason is not None:
        return answer_all(_arithmetic(), OUTPUTS, reason)
    table = read_frame(grid)
    best = table.filter(pl.col("rank") == 1).row(0, named=True)
    measured = [*_arithmetic(), *_answers(best, table.height, told)]
    return answer_all(measured, OUTPUTS, "no step measures it")


def _answers(best: dict[str, Any], trials: int, told: dict[str, Any]) -> Iterator[Measurement]:
    estimates = told["estimates"]
    name = f"{best['coin']} {best['rule']}"
    luck = approximate_maximum(trials)
    sd, mean = estimates["trial_sd"], estimates["trial_mean"]["value"]
    yield _answer(
        ("in-sample Sharpe of best rule", "DOGE MA 12/24"),
        best["early"],
        interval95(best["early"], best["early_se"]),
        best["early_bars"],
        told["coverage"]["early"],
        f"best of {trials}: {name}; interval with the rule held fixed",
    )
    yield _answer(
        ("expected maximum by luck", "792 trials"),
        luck * sd["value"],
        interval95(luck * sd["value"], luck * sd["se"]),
        trials,
        told["coverage"]["early"],
        f"{trials} trials around 0; around their own mean {mean + luck * sd['value']:.2f}",
    )
    value, ends = _deflated(best, estimates["excess"])
    other, _ = _deflated(best, estimates["excess_with_mean"])
    yield _answer(
        ("deflated Sharpe ratio", ""),
        100 * value,
        (100 * ends[0], 100 * ends[1]),
        best["early_bars"],
        told["coverage"]["early"],
        f"{name}, skewness {best['early_skewness']:.2f}, kurtosis {best['early_kurtosis']:.1f};"
        f" with luck around the trials' mean {100 * other:.0f}",
    )
    yield _answer(
        ("later Sharpe of best rule", "2024..2026-10"),
        best["later"],
        interval95(best["later"], best["later_se"]),
        best["later_bars"],
        told["coverage"]["both"],
        name,
    )
    for quantity, column in (("fast", "first"), ("slow", "second")):
        crossover = best["family"] == CROSSOVER
        yield Measurement(
            output_id="stat_deflated",
            quantity=f"{quantity} average of best rule",
            value=int(best[column]) if crossover else best["rule"],
            coverage=told["coverage"]["early"],
            note=f"the best rule of this run is {name}",
        )


def _deflated(best: dict[str, Any], excess: dict[str, float]) -> tuple[float, tuple[float, float]]:
    """The deflated ratio and its interval: that of the excess over luck, through the formula."""

    def ratio(over: float) -> float:
        own = best["early"]
        moments = best["early_skewness"], best["early_kurtosis"]
        return deflated_sharpe(own / _HOURLY, (own - over) / _HOURLY, best["early_bars"], *moments)

    low, high = interval95(excess["value"], excess["se"])
    return ratio(excess["value"]), (ratio(low), ratio(high))


def _answer(
    key: tuple[str, str],
    value: float,
    ends: tuple[float, float],
    n: int,
    covered: str,
    note: str,
) -> Measurement:
    return Measurement(
        output_id="stat_deflated",
        quantity=key[0],
        condition=key[1],
        value=float(value),
        low=float(ends[0]),
        high=float(ends[1]),
        n=n,
        coverage=covered,
        note=note,
    )


def _arithmetic() -> Iterator[Measurement]:
    """Rows that follow from printed numbers alone."""
    ratio = printed("stat_deflated", "in-sample Sharpe of best rule", "DOGE MA 12/24")
    luck = printed("stat_deflated", "expected maximum by luck", "792 trials")
    rows: list[tuple[str, str, float]] = [
        (
            "trial sd implied if mean is zero",
            "2.04/3.188208",
            luck / approximate_maximum(TRIALS),
        ),
        ("Euler-Mascheroni constant", "", float(np.euler_gamma)),
    ]
    for row in measurable(OUTPUTS):
        if row.quantity == "DSR from printed inputs":
            bars, skew, kurt = (int(each) for each in re.findall(r"[0-9]+", row.condition))
            argument = ratio / _HOURLY, luck / _HOURLY, bars, skew, kurt
            rows.append((row.quantity, row.condition, deflated_sharpe(*argument)))
    for quantity, condition, value in rows:
        yield Measurement(
            output_id="stat_deflated",
            quantity=quantity,
            condition=condition,
            value=value,
            note="from printed numbers" if condition else "",
        )
