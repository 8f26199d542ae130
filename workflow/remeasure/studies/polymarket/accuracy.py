"""How often the favourite wins, and how much error prices remove, on one fixed panel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.stats.bands import ticks
from remeasure.store.frames import write_frame
from remeasure.studies.polymarket.estimates import (
    Estimate,
    Resampling,
    Rows,
    Scored,
    answer,
    ratio,
)
from remeasure.studies.polymarket.frames import frame, schema
from remeasure.studies.polymarket.published import answer_all
from remeasure.studies.polymarket.scope import Scope, coverage
from remeasure.studies.polymarket.sets import PANEL, panel, read_forecasts, read_truth

OUTPUTS = ("fig_accuracy",)

ACCURACY = schema("accuracy", {"horizon": pl.String, "score": pl.String})
"""One row a horizon and score of the panel: ``favourite``, ``always_no``, ``skill``,
``skill_inner`` (prices inside the two limits, with their own base rate), ``brier``, ``base``."""

#: Quantities of the published rows, and the score that answers each; all but one in per cent.
QUANTITIES = {
    "favourite won": ("favourite", 100),
    "always-No right": ("always_no", 100),
    "Brier skill, all": ("skill", 100),
    "Brier skill, priced 2-98 cents": ("skill_inner", 100),
    "Brier score implied by skill and .23*.77 (deduced)": ("brier", 1),
}


class AccuracyStep(Model):
    """The scope of the run, the rule of real trading, the inner prices, and the bootstrap."""

    scope: Scope
    traded_usd: float | None
    inner_low: float
    inner_high: float
    resamples: int
    bootstrap_seed: int


def measure_accuracy(
    *,
    forecasts: Path,
    truth: Path | None = None,
    population: Path | None = None,
    accuracy: Path,
    settings: AccuracyStep,
) -> list[Measurement]:
    """Accuracy and skill of the same markets a month, a week and a day before the close.

    Parameters
    ----------
    forecasts
        DuckDB with the table ``forecasts``.
    truth, population
        On generated data what was planted, and DuckDB with the table ``markets``.
    accuracy
        Output, Parquet: see ``ACCURACY``.
    """
    rows = panel(read_forecasts(forecasts), settings.traded_usd)
    planted = read_truth(truth, population)
    known = None if planted is None else _last_known(panel(planted, settings.traded_usd))
    table = {
        (horizon, score): estimate
        for horizon in PANEL
        for score, estimate in _scores(
            Rows.of(rows[horizon]),
            None if known is None else Rows.of(known[horizon]),
            settings,
        ).items()
    }
    write_frame(
        frame(ACCURACY, ({"horizon": h, "score": s, **e.row()} for (h, s), e in table.items())),
        accuracy,
        ACCURACY,
    )
    return answer_all(_answers(table, settings.scope), OUTPUTS, "no step measures it")


def _last_known(planted: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The same panel with the true probabilities of its last horizon at every one.

    The panel is chosen by what was known by then, and the outcome is one and the same.
    """
    last = planted[PANEL[-1]].select("market", last="outcome")
    return {
        name: rows.join(last, on="market", how="left", maintain_order="left")
        .with_columns(outcome=pl.col("last"))
        .drop("last")
        for name, rows in planted.items()
    }


def _scores(rows: Rows, true: Rows | None, settings: AccuracyStep) -> dict[str, Estimate]:
    found = _of(rows, settings, Resampling(settings.resamples, settings.bootstrap_seed))
    if true is None:
        return found
    exact = _of(true, settings, None)
    return {name: each.with_truth(exact[name].value) for name, each in found.items()}


def _of(rows: Rows, settings: AccuracyStep, resampling: Resampling | None) -> dict[str, Estimate]:
    low, high = ticks([settings.inner_low, settings.inner_high])
    inner = rows.picked((rows.tick >= low) & (rows.tick <= high))
    scored, inside = Scored.of(rows, resampling), Scored.of(inner, resampling)
    shares = ratio(
        rows,
        rows.w[:, None] * np.column_stack([rows.favourite_won(), 1 - rows.y]),
        np.column_stack([rows.w, rows.w]),
        resampling or Resampling(1, 0),
    )
    return {
        "favourite": shares[0],
        "always_no": shares[1],
        "skill": scored.part("skill"),
        "skill_inner": inside.part("skill"),
        "brier": scored.part("brier"),
        "base": scored.part("base"),
    }


def _answers(table: dict[tuple[str, str], Estimate], scope: Scope) -> list[Measurement]:
    covered = coverage(scope)
    base = table["month", "base"]
    found = [
        answer(
            ("fig_accuracy", "markets", "panel"),
            Estimate(value=base.n, n=base.n),
            covered,
            count=True,
        ),
        answer(("fig_accuracy", "share resolved Yes", "panel"), base, covered, factor=100),
    ]
    for horizon in PANEL:
        found += [
            answer(
                ("fig_accuracy", quantity, f"1 {horizon}"),
                table[horizon, score],
                covered,
                factor=factor,
            )
            for quantity, (score, factor) in QUANTITIES.items()
        ]
    return found
