"""How well prices a week before the close are calibrated, beside a bold and a timid copy."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.stats.calibration import distorted, gap_floor
from remeasure.stats.sampling import weighted_mean
from remeasure.store.frames import write_frame
from remeasure.studies.polymarket.estimates import (
    OUTCOMES,
    PRICES,
    Estimate,
    Resampling,
    Rows,
    Scored,
    answer,
    implied,
    ratio,
)
from remeasure.studies.polymarket.frames import frame, schema
from remeasure.studies.polymarket.published import answer_all, printed
from remeasure.studies.polymarket.scope import Scope, coverage
from remeasure.studies.polymarket.sets import BINS, read_forecasts, read_truth, traded

OUTPUTS = ("fig_forecasters", "fig_calibration", "stat_calibration", "stat_tail_yes")

#: Copies of the market's forecasts, and what their log-odds are multiplied by.
COPIES = {"market": 1.0, "bold": 2.0, "timid": 0.5}

BINNED = schema("calibration bins", {"copy": pl.String, "bin": pl.Int64, "of": pl.String})
"""One row a copy, bin and mean: ``of`` says of what (price or share)."""

SCORES = schema("calibration scores", {"copy": pl.String, "score": pl.String})
"""One row a copy and score. The gap's ``floor`` is what perfect forecasts would show."""

HISTOGRAM = schema("price histogram", {"left": pl.Int64})
"""Share of all weight by price, in bins of five cents; ``left`` in ten-thousandths."""

#: Names of the decomposition's parts in ``SCORES``.
PARTS = (
    "brier",
    "reliability",
    "resolution",
    "uncertainty",
    "within_variance",
    "within_covariance",
    "residual",
    "skill",
    "base",
)

#: Width of a bin of the histogram, and the price below which longshots begin.
BIN, CHEAP = 500, 500

#: How often outcomes are drawn for the floor of the gap.
FLOOR_DRAWS = 200


class CalibrationStep(Model):
    """The scope of the run, the rule of real trading, the gap's weights, and the bootstrap."""

    scope: Scope
    traded_usd: float | None
    gap_weights: str
    resamples: int
    bootstrap_seed: int


def measure_calibration(
    *,
    forecasts: Path,
    truth: Path | None = None,
    population: Path | None = None,
    bins: Path,
    scores: Path,
    histogram: Path,
    settings: CalibrationStep,
) -> list[Measurement]:
    """Score the really traded markets a week before the close.

    Parameters
    ----------
    forecasts
        DuckDB with the table ``forecasts``.
    truth, population
        On generated data what was planted, and DuckDB with the table ``markets``.
    bins, scores, histogram
        Outputs, Parquet: see ``BINNED``, ``SCORES`` and ``HISTOGRAM``.
    """
    week = traded(read_forecasts(forecasts), "week", settings.traded_usd)
    planted = read_truth(truth, population)
    known = None if planted is None else traded(planted, "week", settings.traded_usd)
    resampling = Resampling(settings.resamples, settings.bootstrap_seed)
    rows = Rows.of(week)
    true = None if known is None else Rows.of(known)

    scored = {name: _scored(rows, factor, resampling) for name, factor in COPIES.items()}
    truths = {
        name: None if true is None else _scored(true, factor, None)
        for name, factor in COPIES.items()
    }
    table = {
        (name, score): estimate
        for name in COPIES
        for score, estimate in _scores(scored[name], truths[name], settings).items()
    }
    table["market", "floor"] = _floor(rows, settings.bootstrap_seed)
    table["market", "cheap"] = _cheap(rows, true, resampling)
    binned = {
        (name, index, of): estimate
        for name in COPIES
        for of, column in (("price", PRICES), ("share", OUTCOMES))
        for index, estimate in enumerate(_binned(scored[name], truths[name], column))
    }
    write_frame(
        frame(SCORES, ({"copy": c, "score": s, **e.row()} for (c, s), e in table.items())),
        scores,
        SCORES,
    )
    write_frame(
        frame(
            BINNED, ({"copy": c, "bin": b, "of": o, **e.row()} for (c, b, o), e in binned.items())
        ),
        bins,
        BINNED,
    )
    write_frame(_histogram(rows), histogram, HISTOGRAM)
    measured = [*_from_scores(table, settings.scope), *_from_bins(binned, settings.scope)]
    return answer_all(measured, OUTPUTS, "no step measures it")


def _scored(rows: Rows, factor: float, resampling: Resampling | None) -> Scored:
    return Scored.of(rows, resampling, None if factor == 1 else distorted(rows.p, factor))


def _scores(scored: Scored, true: Scored | None, settings: CalibrationStep) -> dict[str, Estimate]:
    equal = settings.gap_weights == "equal"
    found = {name: scored.part(name) for name in PARTS}
    found["gap"] = scored.gap(equal=equal)
    if true is not None:
        exact = {name: float(getattr(true.parts, name)) for name in PARTS}
        exact["gap"] = true.gap(equal=equal).value
        # What is left of an identity is a rounding error: there is nothing to recover.
        del exact["residual"]
        found = {name: each.with_truth(exact.get(name)) for name, each in found.items()}
    return found


def _floor(rows: Rows, seed: int) -> Estimate:
    """Mean gap of perfect forecasts with these prices and weights."""
    if rows.n == 0:
        return Estimate(value=math.nan)
    gaps = gap_floor(
        rows.p, rows.w, rows.band(BINS), len(BINS) - 1, np.random.default_rng(seed), FLOOR_DRAWS
    )
    mean = float(gaps.mean())
    error = 1.96 * float(gaps.std()) / math.sqrt(FLOOR_DRAWS)
    return Estimate(value=mean, low=mean - error, high=mean + error, n=rows.n)


def _cheap(rows: Rows, true: Rows | None, resampling: Resampling) -> Estimate:
    found = ratio(rows, (rows.w * (rows.tick < CHEAP))[:, None], rows.w[:, None], resampling)[0]
    known = None if true is None else weighted_mean(true.tick < CHEAP, true.w)
    return found.with_truth(known)


def _binned(scored: Scored, true: Scored | None, column: int) -> list[Estimate]:
    found = scored.by_bin(column)
    if true is None:
        return found
    return [
        each.with_truth(exact.value) for each, exact in zip(found, true.by_bin(column), strict=True)
    ]


def _histogram(rows: Rows) -> pl.DataFrame:
    edges = np.arange(0, 10_000 + BIN, BIN)
    index = np.minimum(rows.tick // BIN, edges.size - 2)
    size = float(rows.w.sum())
    held = np.bincount(index, rows.w, edges.size - 1).astype(np.float64)
    count = np.bincount(index, minlength=edges.size - 1)
    squares = np.bincount(index, rows.w**2, edges.size - 1).astype(np.float64)
    return frame(
        HISTOGRAM,
        (
            {
                "left": int(left),
                "value": float(own / size) if size else None,
                "low": None,
                "high": None,
                "truth": None,
                "n": int(n),
                "weight": float(own),
                "effective": float(own**2 / square) if square else 0.0,
            }
            for left, own, n, square in zip(edges, held, count, squares, strict=False)
        ),
    )


def _from_scores(table: dict[tuple[str, str], Estimate], scope: Scope) -> list[Measurement]:
    covered = coverage(scope)
    market = {score: each for (copy, score), each in table.items() if copy == "market"}
    floor = f"perfect forecasts would show {100 * market['floor'].value:.2f} points by chance"
    count = Estimate(value=market["brier"].n, n=market["brier"].n)
    forecasters = "fig_forecasters"
    found = [
        answer((forecasters, "markets", "1 week"), count, covered, count=True),
        answer((forecasters, "Brier score", "market prices"), market["brier"], covered),
        answer(
            (forecasters, "Brier score", "bold copy (log-odds x2)"),
            table["bold", "brier"],
            covered,
        ),
        answer(
            (forecasters, "Brier score", "timid copy (log-odds x0.5)"),
            table["timid", "brier"],
            covered,
        ),
        answer((forecasters, "Brier score", "base rate always"), market["uncertainty"], covered),
        answer(
            (forecasters, "base rate", "share resolved Yes"), market["base"], covered, factor=100
        ),
        answer(
            (forecasters, "base rate implied by .186", "y(1-y)=.186"),
            implied(market["uncertainty"]),
            covered,
        ),
    ]
    calibration = "stat_calibration"
    found += [
        answer((calibration, "markets with real trading", "1 week"), count, covered, count=True),
        answer(
            (calibration, "average gap", "1 week"),
            market["gap"],
            covered,
            factor=100,
            note=floor if count.n else "",
        ),
        answer((calibration, "reliability term", "1 week"), market["reliability"], covered),
        answer((calibration, "resolution term", "1 week"), market["resolution"], covered),
        answer((calibration, "uncertainty term", "1 week"), market["uncertainty"], covered),
        answer((calibration, "Brier score", "1 week"), market["brier"], covered),
        answer(
            (calibration, "skill implied by printed scores", "1-.079/.186"),
            market["skill"],
            covered,
        ),
        answer(
            (calibration, "share priced below 5 cents", "1 week, almost half"),
            market["cheap"],
            covered,
            factor=100,
        ),
    ]
    terms = [
        printed(calibration, f"{name} term", "1 week")
        for name in ("reliability", "resolution", "uncertainty")
    ]
    found.append(
        Measurement(
            output_id=calibration,
            quantity="REL - RES + UNC from printed terms",
            condition=".001-.108+.186",
            value=round(terms[0] - terms[1] + terms[2], 12),
        )
    )
    return found


def _from_bins(binned: dict[tuple[str, int, str], Estimate], scope: Scope) -> list[Measurement]:
    covered = coverage(scope)
    found = []
    for index, (low, high) in enumerate(pairwise(BINS)):
        condition = f"bin {low // 100}-{high // 100} cents (edges deduced)"
        for quantity, of in (("mean price", "price"), ("share resolved Yes", "share")):
            found.append(
                answer(
                    ("fig_calibration", quantity, condition),
                    binned["market", index, of],
                    covered,
                    factor=100,
                )
            )
    for quantity, of in (("share resolved Yes", "share"), ("mean price", "price")):
        found.append(
            answer(
                ("stat_tail_yes", quantity, "first outcomes priced 2-5 cents, 1 week"),
                binned["market", BINS.index(200), of],
                covered,
                factor=100,
            )
        )
    for cents in (25, 55, 75):
        found.append(
            answer(
                ("stat_tail_yes", "share resolved Yes", f"priced around {cents} cents"),
                binned["market", BINS.index(cents // 10 * 1000), "share"],
                covered,
                factor=100,
                note=f"the bin of {cents // 10 * 10} to {cents // 10 * 10 + 10} cents",
            )
        )
    return found
