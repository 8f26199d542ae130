"""Months and weeks called right, before and after a model's release.

A model calls a period *up* when the mass that it puts on up, out of that on both words, lies
above its own median over everything it was asked: half of its calls are up, whatever its habit.
The median uses answers of the future, which is fine for a test of memory and could never be
traded. The plain threshold of one half stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dataframely as dy
import polars as pl
from numpy.random import Generator

from remeasure.ledger.measurement import Measurement, not_run
from remeasure.stats.bootstrap import ratio_interval
from remeasure.stats.proportion import wilson
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.crypto.memory_identities import condition, sd_above_half
from remeasure.studies.crypto.memory_models import LanguageModel
from remeasure.studies.crypto.memory_questions import Kind
from remeasure.studies.crypto.memory_table import read_answers
from remeasure.studies.crypto.memory_truth import daily_closes, with_truth
from remeasure.studies.crypto.memory_windows import (
    WINDOWS,
    MemoryStep,
    Window,
    answer_empirical,
    counted,
    covered,
    window_of,
)

OUTPUTS = ("fig_memory_direction", "stat_memory_pooled")
HEADLINE = {
    "before": ("tab_headline", "months right", "a year or more before release, pooled"),
    "after": ("tab_headline", "months right", "after release, pooled"),
}

#: Name of all models of the publication together.
POOLED = "all models"

KINDS: tuple[Kind, ...] = ("month", "week")
SPLITS = ("median", "half")

#: Total mass on both words below which a model wanted to say something else.
TINY = 0.01

CALLS = declare(
    "calls of language models",
    {
        "model": dy.String(),
        "published": dy.Bool(),
        "release": dy.String(),
        "kind": one_of(KINDS),
        "first": dy.Date(),
        "last": dy.Date(),
        "window": one_of(WINDOWS, nullable=True),
        "mass": dy.Float64(min=0),
        "p_up": dy.Float64(min=0, max=1, nullable=True),
        "median": dy.Bool(),
        "half": dy.Bool(),
        "begin": dy.Float64(nullable=True),
        "end": dy.Float64(nullable=True),
        "up": dy.Bool(nullable=True),
    },
    unique=["model", "kind", "first"],
)
"""One row a month or week asked of a model. ``published`` tells the models of the publication
from others; ``window`` is null between before and after; ``mass`` is on both words together;
``p_up`` is null where that is zero. ``median`` and ``half`` say whether up is called at either
threshold. ``begin`` and ``end`` are closes (USDT), ``up`` the truth; null where not known."""

SHARES = declare(
    "directions called right",
    {
        "model": dy.String(),
        "published": dy.Bool(),
        "release": dy.String(nullable=True),
        "kind": one_of(KINDS),
        "window": one_of(WINDOWS),
        "split": one_of(SPLITS),
        "n": dy.Int64(min_exclusive=0),
        "hits": dy.Int64(min=0),
        "percent": dy.Float64(min=0, max=100),
        "low": dy.Float64(),
        "high": dy.Float64(),
        "sd_above_half": dy.Float64(),
    },
    unique=["model", "kind", "window", "split"],
)
"""One row a model (and all models of the publication together), kind, window and threshold:
periods with known direction and how many were called right, percent with a 95% interval.
Models answer for the same months, so the interval of all together resamples whole months."""

MASSES = declare(
    "mass on up and down",
    {
        "model": dy.String(),
        "published": dy.Bool(),
        "kind": one_of(KINDS),
        "asked": dy.Int64(min_exclusive=0),
        "called_up": dy.Int64(min=0),
        "median_p_up": dy.Float64(nullable=True),
        "median_mass": dy.Float64(),
        "least_mass": dy.Float64(),
        "tiny": dy.Int64(min=0),
    },
    unique=["model", "kind"],
)
"""One row a model and kind: how much of its probability went to the two words at all. ``tiny``
counts questions on which both together had less than a hundredth: the model wanted to say
something else, and its direction means little."""


def called(answers: pl.DataFrame) -> pl.DataFrame:
    """Answers of one model to one kind of question, with its calls.

    Parameters
    ----------
    answers
        Frame with ``mass_up`` and ``mass_down``, one row a question.

    Returns
    -------
    the frame with ``mass``, ``p_up`` (null where the mass is zero), and the calls ``median``
    (``p_up`` strictly above its median over all rows) and ``half`` (strictly above 0.5). Where
    ``p_up`` is null, neither calls up.
    """
    mass = pl.col("mass_up") + pl.col("mass_down")
    return (
        answers.with_columns(mass=mass)
        .with_columns(p_up=pl.when(mass > 0).then(pl.col("mass_up") / mass))
        .with_columns(
            median=(pl.col("p_up") > pl.col("p_up").median()).fill_null(False),
            half=(pl.col("p_up") > 0.5).fill_null(False),
        )
    )


def measure_memory_direction(
    *,
    candles: list[Path],
    answers: list[Path],
    others: list[Path],
    calls: Path,
    shares: Path,
    masses: Path,
    settings: MemoryStep,
    rng: Generator,
) -> list[Measurement]:
    """Step: score the directions, and answer the empirical rows of `OUTPUTS` and the headline's.

    Parameters
    ----------
    candles
        DuckDB file with daily candles of BTC; none where the run has none.
    answers, others
        Parquet as ``memory_table.ANSWERS``, one file a model: those of the publication, and
        models beside these. Either may be empty.
    calls, shares, masses
        Outputs, Parquet: `CALLS`, `SHARES`, `MASSES`.
    settings, rng
        Who was asked, and the bootstrap.
    """
    closes = daily_closes(candles)
    table = pl.concat(
        [
            *_calls(read_answers(*answers), settings.models, closes, published=True),
            *_calls(read_answers(*others), settings.others, closes, published=False),
            CALLS.empty(),
        ]
    )
    write_frame(table, calls, CALLS)
    scored = scores(table, settings.resamples, rng)
    write_frame(scored, shares, SHARES)
    write_frame(_masses(table), masses, MASSES)
    return [
        *answer_empirical(
            [*_single(scored, settings), *_pooled(scored, settings)],
            OUTPUTS,
            settings.reason("these models"),
        ),
        *_headline(scored, settings),
    ]


def scores(calls: pl.DataFrame, resamples: int, rng: Generator) -> pl.DataFrame:
    """Shares called right, see `SHARES`.

    Parameters
    ----------
    calls
        As `CALLS`.
    resamples, rng
        Bootstrap of the shares of all models together.
    """
    known = calls.drop_nulls(["up", "window"])
    rows = []
    for split in SPLITS:
        hit = known.with_columns(hit=(pl.col(split) == pl.col("up")).cast(pl.Int64))
        for kind in KINDS:
            for window in WINDOWS:
                part = hit.filter(pl.col("kind") == kind, pl.col("window") == window)
                for (name,), own in part.group_by("model", maintain_order=True):
                    n, hits = own.height, int(own["hit"].sum())
                    ends = wilson(hits, n)
                    rows.append(_row(own, str(name), kind, window, split, n, hits, ends))
                own = part.filter("published")
                if own.height:
                    n, hits = own.height, int(own["hit"].sum())
                    ends = _clustered(own, resamples, rng)
                    rows.append(_row(own, POOLED, kind, window, split, n, hits, ends))
    return pl.DataFrame(rows, schema=SHARES.types, orient="row")


def _row(
    own: pl.DataFrame,
    name: str,
    kind: Kind,
    window: Window,
    split: str,
    n: int,
    hits: int,
    ends: tuple[float, float],
) -> tuple[object, ...]:
    release = None if name == POOLED else own["release"][0]
    shares = (100 * hits / n, 100 * ends[0], 100 * ends[1])
    published = bool(own["published"][0])
    return (name, published, release, kind, window, split, n, hits, *shares, sd_above_half(hits, n))


def _clustered(own: pl.DataFrame, resamples: int, rng: Generator) -> tuple[float, float]:
    """Interval of the share of all models together; a period is drawn with all its answers."""
    periods = own.group_by("first", maintain_order=True).agg(pl.col("hit").sum(), n=pl.len())
    low, high = ratio_interval(periods["hit"], periods["n"], 1, resamples, rng)
    return float(low), float(high)


def _calls(
    answers: pl.DataFrame,
    models: tuple[LanguageModel, ...],
    closes: pl.DataFrame,
    *,
    published: bool,
) -> Iterator[pl.DataFrame]:
    """Calls of each model and kind, as `CALLS`."""
    for model in models:
        for kind in KINDS:
            own = answers.filter(pl.col("model") == model.label, pl.col("kind") == kind)
            yield with_truth(called(own), closes).select(
                "model",
                pl.lit(published).alias("published"),
                pl.lit(model.release).alias("release"),
                "kind",
                "first",
                "last",
                window_of(model).alias("window"),
                "mass",
                "p_up",
                "median",
                "half",
                "begin",
                "end",
                "up",
            )


def _masses(calls: pl.DataFrame) -> pl.DataFrame:
    return calls.group_by("model", "published", "kind", maintain_order=True).agg(
        asked=pl.len().cast(pl.Int64),
        called_up=pl.col("median").sum().cast(pl.Int64),
        median_p_up=pl.col("p_up").median(),
        median_mass=pl.col("mass").median(),
        least_mass=pl.col("mass").min(),
        tiny=(pl.col("mass") < TINY).sum().cast(pl.Int64),
    )


def _find(
    shares: pl.DataFrame, model: str, kind: Kind, window: Window
) -> dict[str, float | int] | None:
    found = shares.filter(
        (pl.col("model") == model)
        & (pl.col("kind") == kind)
        & (pl.col("window") == window)
        & (pl.col("split") == "median")
    )
    return found.row(0, named=True) if found.height else None


def _single(shares: pl.DataFrame, settings: MemoryStep) -> Iterator[Measurement]:
    """Rows of one model: the share, and the count behind it."""
    output = "fig_memory_direction"
    asked = set(shares.filter("published")["model"])
    for model in settings.models:
        for window in WINDOWS:
            when = condition(model.label, window)
            keys = ("months right", "months right, count implied")
            row = _find(shares, model.label, "month", window)
            if row is None:
                reason = settings.reason(model.label)
                if model.label in asked:
                    reason = f"no month {window} its release lies within this run's candles"
                yield from (not_run(output, key, when, reason) for key in keys)
                continue
            n = int(row["n"])
            measured = Measurement(
                output_id=output,
                quantity=keys[0],
                condition=when,
                value=row["percent"],
                low=row["low"],
                high=row["high"],
                n=n,
                coverage=covered(n, counted(model, "month")[window], "months"),
                note=settings.note,
            )
            yield measured
            yield replace(
                measured,
                quantity=keys[1],
                value=row["hits"],
                low=row["low"] * n / 100,
                high=row["high"] * n / 100,
            )


def _pooled(shares: pl.DataFrame, settings: MemoryStep) -> Iterator[Measurement]:
    """Rows of all models together, where any was asked."""
    for kind in KINDS:
        for window in WINDOWS:
            row = _find(shares, POOLED, kind, window)
            if row is None:
                continue
            n = int(row["n"])
            measured = Measurement(
                output_id="stat_memory_pooled",
                quantity=f"{kind}s right",
                condition=window,
                value=row["percent"],
                low=row["low"],
                high=row["high"],
                n=n,
                coverage=_pooled_coverage(shares, settings, kind, window, n),
                note=settings.note,
            )
            yield measured
            if kind == "month":
                yield replace(
                    measured,
                    quantity="correct, implied",
                    value=row["hits"],
                    low=row["low"] * n / 100,
                    high=row["high"] * n / 100,
                )


def _pooled_coverage(
    shares: pl.DataFrame, settings: MemoryStep, kind: Kind, window: Window, n: int
) -> str:
    own = shares.filter("published", pl.col("model") != POOLED, pl.col("kind") == kind)
    asked = own["model"].n_unique()
    published = sum(counted(model, kind)[window] for model in settings.models)
    return covered(n, published, "answers", models=asked, of=len(settings.models))


def _headline(shares: pl.DataFrame, settings: MemoryStep) -> Iterator[Measurement]:
    """The opening table repeats the shares of all models together."""
    months = {
        each.condition: each
        for each in _pooled(shares, settings)
        if each.quantity == "months right"
    }
    for window, (output, quantity, when) in HEADLINE.items():
        if window in months:
            yield replace(months[window], output_id=output, quantity=quantity, condition=when)
        else:
            reason = settings.reason("these models")
            yield not_run(output, quantity, when, reason)
