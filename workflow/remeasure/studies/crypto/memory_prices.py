"""Prices that language models give: how wrong they are, and where the numbers stop.

The error of a number x is ``|x / P - 1|``, P the close of that day. A model's memory is the
median error over days at least a year before its release. Zeros, refusals and answers without
a number are counted and never enter a median; a number that repeats whatever the day is an
answer and no knowledge, so counts stand beside every median.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import dataframely as dy
import polars as pl

from remeasure.ledger.measurement import Measurement, not_run
from remeasure.stats.median import median_interval
from remeasure.store.frames import read_json, write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.crypto.memory_models import LanguageModel
from remeasure.studies.crypto.memory_parse import CLASSES, claimed_cutoff, read
from remeasure.studies.crypto.memory_questions import FIRST, LAST, questions
from remeasure.studies.crypto.memory_table import read_answers
from remeasure.studies.crypto.memory_truth import daily_closes, with_truth
from remeasure.studies.crypto.memory_windows import (
    WINDOWS,
    MemoryStep,
    answer_empirical,
    counted,
    covered,
    window_of,
)

OUTPUTS = ("fig_memory_answers", "stat_memory_price_detail")

#: Models of the figure, and the calendar years that the text quotes.
DRAWN = ("Mistral 7B v0.3", "Qwen2.5 7B", "Olmo 3 7B", "Qwen3.5 9B")
YEARS_QUOTED = {
    "Mistral 7B v0.3": (2018, 2022),
    "Qwen3.5 9B": (2023, 2024),
    "Olmo 3 7B": (2023, 2024),
}

#: Numbers for days after a claimed cutoff contradict it when their median error is below this.
KNOWS = 0.25
LEAST = 3

NEVER = "never"

PRICES = declare(
    "prices that language models give",
    {
        "model": dy.String(),
        "published": dy.Bool(),
        "release": dy.String(),
        "day": dy.Date(),
        "window": one_of(WINDOWS, nullable=True),
        "text": dy.String(),
        "class": one_of(CLASSES),
        "value": dy.Float64(min_exclusive=0, nullable=True),
        "price": dy.Float64(min_exclusive=0, nullable=True),
        "error": dy.Float64(min=0, nullable=True),
    },
    unique=["model", "day"],
)
"""One row a model and day asked: raw answer, its class, the number in it (dollars), the close of
that day (USDT), and the error; null where there is no number or no close."""

PRICE_YEARS = declare(
    "errors by year",
    {
        "model": dy.String(),
        "published": dy.Bool(),
        "year": dy.Int64(nullable=True),
        "asked": dy.Int64(min_exclusive=0),
        **{name: dy.Int64(min=0) for name in CLASSES},
        "median_error": dy.Float64(nullable=True),
        "low": dy.Float64(nullable=True),
        "high": dy.Float64(nullable=True),
    },
    unique=["model", "year"],
)
"""One row a model and calendar year, and one without a year for all days at least a year before
its release: days asked, answers of each class, median error of the numbers (a fraction) with a
95% interval from order statistics, null below six numbers."""


def measure_memory_prices(
    *,
    candles: list[Path],
    answers: list[Path],
    others: list[Path],
    prices: Path,
    years: Path,
    settings: MemoryStep,
    truth: Path | None = None,
) -> list[Measurement]:
    """Step: read the prices out of the answers, and answer the rows of `OUTPUTS`.

    Parameters
    ----------
    candles
        DuckDB file with daily candles of BTC; none where the run has none.
    answers, others
        Parquet as ``memory_table.ANSWERS``, one file a model: those of the publication, and
        models beside these. Either may be empty.
    prices, years
        Outputs, Parquet: `PRICES`, `PRICE_YEARS`.
    settings
        Who was asked.
    truth
        JSON of the simulated answerer: what it was planted to know.
    """
    closes = daily_closes(candles)
    table = pl.concat(
        [
            *_prices(read_answers(*answers), settings.models, closes, published=True),
            *_prices(read_answers(*others), settings.others, closes, published=False),
            PRICES.empty(),
        ]
    )
    write_frame(table, prices, PRICES)
    summary = by_year(table)
    write_frame(summary, years, PRICE_YEARS)
    planted = {} if truth is None else read_json(truth)
    measured: list[Measurement] = []
    for model in settings.models:
        own = table.filter(pl.col("model") == model.label)
        reason = "" if own.height else settings.reason(model.label)
        known = planted.get(model.label, {})
        measured += _figure(model, own, summary, known, settings, reason)
        measured += _details(model, own, summary, known, settings, reason)
    return answer_empirical(measured, OUTPUTS, settings.reason("this model"))


def by_year(prices: pl.DataFrame) -> pl.DataFrame:
    """Errors and counts by model and year, see `PRICE_YEARS`."""
    rows = []
    for (name,), own in prices.group_by("model", maintain_order=True):
        parts: list[tuple[int | None, pl.DataFrame]] = [
            (None, own.filter(pl.col("window") == "before"))
        ]
        parts += [
            (int(str(year)), part)
            for (year,), part in own.group_by(pl.col("day").dt.year(), maintain_order=True)
        ]
        for year, part in parts:
            if part.is_empty():
                continue
            error = part["error"].drop_nulls()
            ends = median_interval(error) or (None, None)
            counts = [int((part["class"] == each).sum()) for each in CLASSES]
            known = bool(own["published"][0])
            rows.append((name, known, year, part.height, *counts, error.median(), *ends))
    return pl.DataFrame(rows, schema=PRICE_YEARS.types, orient="row")


def first_zero(prices: pl.DataFrame) -> str:
    """First month (``YYYY-MM``) for which one model answers zero; ``never`` without any."""
    days = prices.filter(pl.col("class") == "zero")["day"].sort()
    return f"{days[0]:%Y-%m}" if len(days) else NEVER


def contradicted_cutoff(prices: pl.DataFrame) -> str:
    """The cutoff (``YYYY-MM``) that one model claims most often, if its own numbers deny it.

    They do when at least `LEAST` numbers for days after that month have a median error below
    `KNOWS`. ``never`` where no cutoff is claimed, or the claim may be true.
    """
    claims = Counter(
        claim for text in prices["text"] if (claim := claimed_cutoff(text)) is not None
    )
    if not claims:
        return NEVER
    claim = max(claims, key=lambda month: (claims[month], month))
    errors = prices.filter(pl.col("day") >= _next_month(claim))["error"].drop_nulls()
    middle = errors.median()
    known = len(errors) >= LEAST and isinstance(middle, float) and middle < KNOWS
    return f"{claim:%Y-%m}" if known else NEVER


def _next_month(day: date) -> date:
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


def _prices(
    answers: pl.DataFrame,
    models: tuple[LanguageModel, ...],
    closes: pl.DataFrame,
    *,
    published: bool,
) -> Iterator[pl.DataFrame]:
    """Readings of each model, as `PRICES`."""
    for model in models:
        own = answers.filter(pl.col("model") == model.label, pl.col("kind") == "price")
        yield (
            with_truth(read(own), closes)
            .with_columns(
                window=window_of(model), error=(pl.col("value") / pl.col("end") - 1).abs()
            )
            .select(
                "model",
                pl.lit(published).alias("published"),
                pl.lit(model.release).alias("release"),
                pl.col("first").alias("day"),
                "window",
                "text",
                "class",
                "value",
                pl.col("end").alias("price"),
                "error",
            )
        )


def _figure(
    model: LanguageModel,
    own: pl.DataFrame,
    summary: pl.DataFrame,
    known: dict[str, Any],
    settings: MemoryStep,
    reason: str,
) -> Iterator[Measurement]:
    """The median error that the figure quotes, in percent."""
    if model.label not in DRAWN:
        return
    key = (
        "fig_memory_answers",
        "median price error, dates a year or more before release",
        f"{model.label}, released {model.release}",
    )
    row = _year(summary, model.label, None)
    if row is None or row["median_error"] is None:
        yield not_run(*key, reason or "it gives no number for any such day")
        return
    before = own.filter(pl.col("window") == "before")
    last = before["day"].max()
    truth = None
    if known and isinstance(last, date) and f"{last:%Y-%m}" <= known["cutoff"]:
        truth = 100 * known["median_error"]
    yield Measurement(
        output_id=key[0],
        quantity=key[1],
        condition=key[2],
        value=100 * row["median_error"],
        low=_percent(row["low"]),
        high=_percent(row["high"]),
        n=row["number"],
        truth=truth,
        coverage=_coverage(before, counted(model, "price")["before"]),
        note=_note(f"{row['number']} numbers from {row['asked']} days asked", settings),
    )


def _details(
    model: LanguageModel,
    own: pl.DataFrame,
    summary: pl.DataFrame,
    known: dict[str, Any],
    settings: MemoryStep,
    reason: str,
) -> Iterator[Measurement]:
    """Everything else that the text tells of one model."""
    if model.label in YEARS_QUOTED:
        yield from _yearly(model, own, summary, settings, reason)
    output, label = "stat_memory_price_detail", model.label
    whole = questions(FIRST, LAST).filter(pl.col("kind") == "price").height
    coverage = covered(own.height, whole, "dates")
    if label == "Mistral 7B v0.3":
        key = (output, "answers with a number after release", label)
        late = own.filter(pl.col("window") == "after")
        if late.is_empty():
            yield not_run(*key, reason or "no day after its release was asked")
            return
        yield Measurement(
            output_id=key[0],
            quantity=key[1],
            condition=key[2],
            value=int((late["class"] == "number").sum()),
            n=late.height,
            truth=0.0 if known.get("afterwards") == "refusal" else None,
            coverage=covered(late.height, counted(model, "price")["after"], "dates"),
            note=settings.note,
        )
    words = {
        "Qwen3.5 9B": ("first month answered 0", first_zero),
        "Olmo 3 7B": ("self-reported cutoff contradicted by answers", contradicted_cutoff),
    }
    if label in words:
        quantity, told = words[label]
        if own.is_empty():
            yield not_run(output, quantity, label, reason)
            return
        yield Measurement(
            output_id=output,
            quantity=quantity,
            condition=label,
            value=told(own),
            n=own.height,
            coverage=coverage,
            note=settings.note,
        )


def _yearly(
    model: LanguageModel,
    own: pl.DataFrame,
    summary: pl.DataFrame,
    settings: MemoryStep,
    reason: str,
) -> Iterator[Measurement]:
    """Lowest and highest median error of the quoted calendar years, in percent."""
    first, last = YEARS_QUOTED[model.label]
    rows = [
        row
        for year in range(first, last + 1)
        if (row := _year(summary, model.label, year)) and row["median_error"] is not None
    ]
    rows.sort(key=lambda row: (row["median_error"], row["year"]))
    inside = pl.col("day").dt.year().is_between(first, last)
    published = 24 * (last - first + 1)
    for name, place in (("low", 0), ("high", -1)):
        key = (
            "stat_memory_price_detail",
            f"yearly median price error, {name}",
            f"{model.label}, {first}-{last}",
        )
        if not rows:
            yield not_run(*key, reason or "it gives no number for any day of these years")
            continue
        row = rows[place]
        yield Measurement(
            output_id=key[0],
            quantity=key[1],
            condition=key[2],
            value=100 * row["median_error"],
            low=_percent(row["low"]),
            high=_percent(row["high"]),
            n=row["number"],
            coverage=_coverage(own.filter(inside), published),
            note=_note(f"{row['year']}, interval of that year's median", settings),
        )


def _year(summary: pl.DataFrame, label: str, year: int | None) -> dict[str, Any] | None:
    found = summary.filter((pl.col("model") == label) & pl.col("year").eq_missing(year))
    return found.row(0, named=True) if found.height else None


def _coverage(asked: pl.DataFrame, published: int) -> str:
    """Days asked whose close is known, against those of the publication."""
    return covered(asked["price"].drop_nulls().len(), published, "dates")


def _percent(fraction: float | None) -> float | None:
    return None if fraction is None else 100 * fraction


def _note(words: str, settings: MemoryStep) -> str:
    return "; ".join(filter(None, (words, settings.note)))
