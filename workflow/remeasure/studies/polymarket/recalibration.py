"""Whether prices get better when they are recalibrated: fitted on early markets, tried on later.

A fit always helps the markets it was made on. Only later ones count, and there a slope of 1.12
is worth so little that not finding it proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.stats.platt import Platt, fit_platt, resampled_platt
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.studies.polymarket.estimates import (
    Estimate,
    Floats,
    Resampling,
    Rows,
    answer,
    estimated,
    ratio,
)
from remeasure.studies.polymarket.frames import frame, schema
from remeasure.studies.polymarket.published import answer_all
from remeasure.studies.polymarket.scope import Scope, coverage
from remeasure.studies.polymarket.sets import read_forecasts, read_truth, traded

OUTPUTS = ("fig_recalibration", "stat_recal")

HORIZONS = ("week", "month")

FITS = schema("recalibration", {"horizon": pl.String, "of": pl.String})
"""One row a horizon and number: ``slope``, ``intercept``, the same ``_unweighted``; Brier scores
``before`` and ``after`` on later markets and ``improvement`` (before less after: above 0 the
correction helps); ``straddling`` (events with markets on both sides of the split)."""

CURVES = declare(
    "recalibration curves",
    {
        "horizon": dy.String(),
        "price": dy.Float64(),
        "probability": dy.Float64(),
        "low": dy.Float64(nullable=True),
        "high": dy.Float64(nullable=True),
    },
)
"""The fitted curve of each horizon on a grid of prices, with its 95% interval."""

GRID = np.round(np.concatenate([[0.005], np.arange(0.01, 1.0, 0.01), [0.995]]), 3)


class RecalibrationStep(Model):
    """The scope of the run, the rule of real trading, weights and split, and the bootstrap."""

    scope: Scope
    traded_usd: float | None
    fit_weighted: bool
    fit_before: datetime
    resamples: int
    bootstrap_seed: int


@dataclass(frozen=True)
class Fitted:
    """A fit of early markets, its resamples, and its numbers on later ones."""

    line: Platt
    resampled: Floats
    numbers: dict[str, Estimate]


def measure_recalibration(
    *,
    forecasts: Path,
    truth: Path | None = None,
    population: Path | None = None,
    fits: Path,
    curves: Path,
    settings: RecalibrationStep,
) -> list[Measurement]:
    """Fit slope and intercept on markets closed before the split, and score later markets.

    Parameters
    ----------
    forecasts
        DuckDB with the table ``forecasts``.
    truth, population
        On generated data what was planted, and DuckDB with the table ``markets``.
    fits, curves
        Outputs, Parquet: see ``FITS`` and ``CURVES``.
    """
    sample, planted = read_forecasts(forecasts), read_truth(truth, population)
    found: dict[str, Fitted] = {}
    reasons: dict[str, str] = {}
    for horizon in HORIZONS:
        own = traded(sample, horizon, settings.traded_usd)
        known = None if planted is None else traded(planted, horizon, settings.traded_usd)
        try:
            found[horizon] = fitted(own, known, settings)
        except ValueError as error:
            reasons[horizon] = f"early markets fit no line: {error}"
    write_frame(
        frame(
            FITS,
            (
                {"horizon": horizon, "of": of, **estimate.row()}
                for horizon, each in found.items()
                for of, estimate in each.numbers.items()
            ),
        ),
        fits,
        FITS,
    )
    write_frame(
        pl.concat([_empty(), *(_curve(horizon, each) for horizon, each in found.items())]),
        curves,
        CURVES,
    )
    measured = [
        each
        for horizon, own in found.items()
        for each in _answers(horizon, own.numbers, coverage(settings.scope))
    ]
    reason = "; ".join(dict.fromkeys(reasons.values())) or "no step measures it"
    return answer_all(measured, OUTPUTS, reason)


def fitted(own: pl.DataFrame, known: pl.DataFrame | None, settings: RecalibrationStep) -> Fitted:
    """The fit of one horizon.

    Raises
    ------
    ValueError
        When early markets fit no line, or there are no later ones.
    """
    early = pl.col("closed") < settings.fit_before
    fit, test = own.filter(early), own.filter(~early)
    if test.is_empty() or fit.is_empty():
        raise ValueError(f"{fit.height} markets before the split, {test.height} after it")
    rows, later = Rows.of(fit), Rows.of(test)
    weight = rows.w if settings.fit_weighted else np.ones_like(rows.w)
    other = np.ones_like(rows.w) if settings.fit_weighted else rows.w
    line, unweighted = fit_platt(rows.p, rows.y, weight), fit_platt(rows.p, rows.y, other)
    rng = np.random.default_rng(settings.bootstrap_seed)
    drawn = resampled_platt(rows.p, rows.y, weight, rows.clusters, settings.resamples, rng)
    swapped = resampled_platt(rows.p, rows.y, other, rows.clusters, settings.resamples, rng)
    second = "unweighted" if settings.fit_weighted else "weighted"
    numbers = {
        "slope": estimated(line.slope, drawn[:, 0], rows),
        "intercept": estimated(line.intercept, drawn[:, 1], rows),
        f"slope_{second}": estimated(unweighted.slope, swapped[:, 0], rows),
        f"intercept_{second}": estimated(unweighted.intercept, swapped[:, 1], rows),
        **scores(later, line, Resampling(settings.resamples, settings.bootstrap_seed)),
        "straddling": Estimate(
            value=fit.join(test, on="event", how="semi")["event"].n_unique(), n=own.height
        ),
    }
    if known is not None:
        numbers = _with_truths(numbers, line, known.filter(early), known.filter(~early))
    return Fitted(line, drawn, numbers)


def scores(rows: Rows, line: Platt, resampling: Resampling) -> dict[str, Estimate]:
    """Brier scores of prices and of corrected prices, and the improvement; the fit held fixed."""
    p, q = rows.p, line(rows.p)
    # With a probability for an outcome, its own spread is part of the expected score.
    own = rows.y * (1 - rows.y)
    before, after = (p - rows.y) ** 2 + own, (q - rows.y) ** 2 + own
    columns = np.column_stack([before, after, before - after])
    found = ratio(
        rows, rows.w[:, None] * columns, np.repeat(rows.w[:, None], 3, axis=1), resampling
    )
    return dict(zip(("before", "after", "improvement"), found, strict=True))


def _with_truths(
    numbers: dict[str, Estimate], line: Platt, early: pl.DataFrame, later: pl.DataFrame
) -> dict[str, Estimate]:
    """The planted line, and what this very fit would do to all later markets on average."""
    rows = Rows.of(early)
    planted = fit_platt(rows.p, rows.y, rows.w)
    exact = {"slope": planted.slope, "intercept": planted.intercept}
    for name, each in scores(Rows.of(later), line, Resampling(1, 0)).items():
        exact[name] = each.value
    return {name: each.with_truth(exact.get(name)) for name, each in numbers.items()}


def _curve(horizon: str, own: Fitted) -> pl.DataFrame:
    there = own.resampled[np.isfinite(own.resampled).all(axis=1)]
    q = own.line(GRID)
    lines = np.array([Platt(float(a), float(b))(GRID) for a, b in there])
    low, high = np.quantile(lines, [0.025, 0.975], axis=0)
    return pl.DataFrame(
        {
            "horizon": [horizon] * GRID.size,
            "price": GRID,
            "probability": q,
            "low": np.minimum(low, q),
            "high": np.maximum(high, q),
        }
    )


def _empty() -> pl.DataFrame:
    return frame(CURVES, [])


def _answers(horizon: str, numbers: dict[str, Estimate], covered: str) -> list[Measurement]:
    words = f"1 {horizon}"
    figure, text = "fig_recalibration", "stat_recal"
    other = next(
        (name, numbers[name]) for name in ("slope_unweighted", "slope_weighted") if name in numbers
    )
    how = other[0].removeprefix("slope_")
    note = (
        f"intercept {numbers['intercept'].value:.3f}; the {how} slope is {other[1].value:.3f};"
        f" {numbers['straddling'].value:g} events have markets on both sides of the split"
    )
    improvement = numbers["improvement"]
    found = [
        answer((figure, "slope a", words), numbers["slope"], covered, note=note),
        answer(
            (figure, "Brier on later markets before correction", words),
            numbers["before"],
            covered,
        ),
        answer(
            (figure, "Brier on later markets after correction", words), numbers["after"], covered
        ),
        answer(
            (text, "improvement (before minus after; printed as change)", words),
            improvement,
            covered,
        ),
    ]
    if horizon == "month":
        return found
    for which, end in (("low", improvement.low), ("high", improvement.high)):
        found.append(
            answer(
                (text, f"95% interval {which}", words),
                None if end is None else Estimate(value=end, n=improvement.n),
                covered,
                note="an end of an interval has none itself",
            )
        )
    for key, n in (
        (("later markets", "closed from July 2025, 1 week"), numbers["before"].n),
        (
            ("earlier markets (deduced 18157-13618)", "closed before July 2025, 1 week"),
            numbers["slope"].n,
        ),
    ):
        found.append(answer((text, *key), Estimate(value=n), covered, count=True))
    return found
