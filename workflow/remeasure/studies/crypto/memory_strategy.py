"""One dollar on the monthly calls of a language model: a backtest that remembers.

Each month the dollar is long where the model calls up and short where it does not, and
compounds: ``V *= 1 + s (P_end / P_start - 1)``, without costs. Up to the month before its
release a model may have read how each month ended; from that month on it cannot.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import dataframely as dy
import numpy as np
import numpy.typing as npt
import polars as pl
from numpy.random import Generator

from remeasure.ledger.measurement import Measurement, not_run
from remeasure.stats.bootstrap import draw_blocks, percentile_interval, resampled_means
from remeasure.store.frames import read_frame, write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.crypto.memory_direction import CALLS, SPLITS
from remeasure.studies.crypto.memory_identities import DRAWN, strategy_months
from remeasure.studies.crypto.memory_models import LanguageModel
from remeasure.studies.crypto.memory_windows import (
    WINDOWS,
    MemoryStep,
    Window,
    answer_empirical,
    covered,
)

OUTPUTS = ("fig_memory_strategy", "stat_memory_multiples")

#: Both windows together.
THROUGHOUT = "throughout"

#: Always long: what the calls are held against.
HOLDING = "holding"

Floats = npt.NDArray[np.float64]

CURVES = declare(
    "a dollar on the calls",
    {
        "model": dy.String(),
        "published": dy.Bool(),
        "release": dy.String(),
        "split": one_of((*SPLITS, HOLDING)),
        "month": dy.Date(),
        "factor": dy.Float64(min=0),
        "value": dy.Float64(min=0),
    },
    unique=["model", "split", "month"],
)
"""One row a model, threshold and month (its first day): factor of the month, and value of one
dollar at its end. Rows of split ``holding`` hold BTC over the same months."""

MULTIPLES = declare(
    "multiples before and after release",
    {
        "model": dy.String(),
        "published": dy.Bool(),
        "release": dy.String(),
        "split": one_of((*SPLITS, HOLDING)),
        "window": one_of((*WINDOWS, THROUGHOUT)),
        "months": dy.Int64(min_exclusive=0),
        "multiple": dy.Float64(min=0),
        "low": dy.Float64(nullable=True),
        "high": dy.Float64(nullable=True),
    },
    unique=["model", "split", "window"],
)
"""One row a model, threshold and window: months traded, what a dollar becomes over them, and a
95% interval that resamples months; null where a month loses everything. ``before`` ends with the
month before the release, ``after`` begins with its month, ``throughout`` is both."""


@dataclass(frozen=True)
class Grown:
    """What a dollar becomes over some months, with a 95% interval."""

    months: int
    multiple: float
    low: float | None
    high: float | None


def factors(up: npt.NDArray[np.bool_], begin: Floats, end: Floats) -> Floats:
    """Growth of each month: ``1 + s (end / begin - 1)``, s = +1 for up and -1 else.

    A short position loses at most everything: no factor is below zero. All of shape ``(n,)``.
    """
    sign = np.where(up, 1.0, -1.0)
    return np.asarray(np.maximum(1 + sign * (end / begin - 1), 0.0))


def grown(growth: Floats, resamples: int, rng: Generator) -> Grown:
    """Product of monthly factors, shape ``(n,)``, n >= 1, with a bootstrap interval."""
    n, multiple = growth.size, float(np.prod(growth))
    if multiple == 0:
        return Grown(n, 0.0, None, None)
    means = resampled_means(np.log(growth), 1, draw_blocks(n, 1, resamples, rng))
    low, high = percentile_interval(n * means)
    return Grown(n, multiple, math.exp(low), math.exp(high))


def measure_memory_strategy(
    *, calls: Path, curves: Path, multiples: Path, settings: MemoryStep, rng: Generator
) -> list[Measurement]:
    """Step: trade the monthly calls, and answer the empirical rows of `OUTPUTS`.

    Parameters
    ----------
    calls
        Parquet, ``memory_direction.CALLS``.
    curves, multiples
        Outputs, Parquet: `CURVES`, `MULTIPLES`.
    settings, rng
        Who was asked, and the bootstrap.
    """
    table = read_frame(calls, CALLS).filter(pl.col("kind") == "month").drop_nulls("up")
    drawn = pl.concat(
        [
            *_curves(table),
            CURVES.empty(),
        ]
    )
    write_frame(drawn, curves, CURVES)
    found = _multiples(drawn, settings.resamples, rng)
    write_frame(found, multiples, MULTIPLES)
    measured = [*_figure(drawn, found, settings), *_range(found, settings)]
    return answer_empirical(measured, OUTPUTS, settings.reason("these models"))


def _curves(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    for _, own in table.group_by("model", maintain_order=True):
        begin, end = own["begin"].to_numpy(), own["end"].to_numpy()
        for split in (*SPLITS, HOLDING):
            always = np.ones(own.height, dtype=np.bool_)
            growth = factors(always if split == HOLDING else own[split].to_numpy(), begin, end)
            yield own.select(
                "model",
                "published",
                "release",
                pl.lit(split).alias("split"),
                month="first",
                factor=pl.Series(growth),
                value=pl.Series(np.cumprod(growth)),
            )


def _multiples(curves: pl.DataFrame, resamples: int, rng: Generator) -> pl.DataFrame:
    rows = []
    late = pl.col("month") >= pl.col("release").str.to_date("%Y-%m")
    parts = {"before": curves.filter(~late), "after": curves.filter(late), THROUGHOUT: curves}
    for window, part in parts.items():
        for (name, split), own in part.group_by("model", "split", maintain_order=True):
            each = grown(own["factor"].to_numpy(), resamples, rng)
            first = own.row(0, named=True)
            rows.append(
                (name, first["published"], first["release"], split, window,
                 each.months, each.multiple, each.low, each.high)
            )  # fmt: skip
    return pl.DataFrame(rows, schema=MULTIPLES.types, orient="row")


def _row(
    multiples: pl.DataFrame, model: str, split: str, window: str
) -> Mapping[str, float] | None:
    found = multiples.filter(
        (pl.col("model") == model) & (pl.col("split") == split) & (pl.col("window") == window)
    )
    return found.row(0, named=True) if found.height else None


def _figure(
    curves: pl.DataFrame, multiples: pl.DataFrame, settings: MemoryStep
) -> Iterator[Measurement]:
    """The dollar of the drawn model and that of holding."""
    output, early, late = "fig_memory_strategy", "2018-01..2024-11", "2026-09"
    before, after = strategy_months(DRAWN)
    months = {"before": before, "after": after, THROUGHOUT: before + after}
    keys = {
        ("value of $1", f"{DRAWN}, {early}"): ("median", "before", 1.0),
        ("value of $1", f"holding BTC, {early}"): (HOLDING, "before", 1.0),
        ("change after release", DRAWN): ("median", "after", 100.0),
        ("value of $1 at the end", f"{DRAWN}, {late}"): ("median", THROUGHOUT, 1.0),
    }
    for (quantity, when), (split, window, scale) in keys.items():
        row = _row(multiples, DRAWN, split, window)
        if row is None or (window == THROUGHOUT and row["months"] <= before):
            # The end lies after the release: months before it say nothing of that.
            missing = "after" if window == THROUGHOUT else window
            yield not_run(output, quantity, when, _absent(curves, settings, missing))
            continue
        yield _measurement(row, output, quantity, when, months[window], settings, scale)


def _measurement(
    row: Mapping[str, float],
    output: str,
    quantity: str,
    when: str,
    published: int,
    settings: MemoryStep,
    scale: float,
) -> Measurement:
    """A multiple as a measurement; in percent of change where ``scale`` is 100."""
    shift = 0.0 if scale == 1.0 else 1.0
    ends = [None if row[end] is None else scale * (row[end] - shift) for end in ("low", "high")]
    return Measurement(
        output_id=output,
        quantity=quantity,
        condition=when,
        value=scale * (row["multiple"] - shift),
        low=ends[0],
        high=ends[1],
        n=int(row["months"]),
        coverage=covered(int(row["months"]), published, "months"),
        note=settings.note,
    )


def _absent(curves: pl.DataFrame, settings: MemoryStep, window: str) -> str:
    if curves.filter(pl.col("model") == DRAWN).height:
        return f"no month {window} its release lies within this run's candles"
    return settings.reason(DRAWN)


def _range(multiples: pl.DataFrame, settings: MemoryStep) -> Iterator[Measurement]:
    """Lowest and highest multiple of all models of the publication."""
    for window in WINDOWS:
        own = multiples.filter(
            "published", pl.col("split") == "median", pl.col("window") == window
        ).sort("multiple", "model")
        if own.is_empty():
            continue
        missing = [
            words
            for model in settings.models
            if (words := _missing(own, model, window)) is not None
        ]
        for name, place in (("lowest", 0), ("highest", -1)):
            row = own.row(place, named=True)
            yield Measurement(
                output_id="stat_memory_multiples",
                quantity=f"{name} multiple {window} release",
                condition="seven models",
                value=row["multiple"],
                low=row["low"],
                high=row["high"],
                n=own.height,
                coverage=", ".join(missing) or "whole",
                note="; ".join(filter(None, (f"of {row['model']}", settings.note))),
            )


def _missing(own: pl.DataFrame, model: LanguageModel, window: Window) -> str | None:
    """What of the publication's months one model lacks; None for nothing."""
    months = dict(zip(WINDOWS, strategy_months(model.label), strict=True))[window]
    found = own.filter(pl.col("model") == model.label)
    n = int(found["months"][0]) if found.height else 0
    return None if n == months else f"{model.label} {n} of {months} months"
