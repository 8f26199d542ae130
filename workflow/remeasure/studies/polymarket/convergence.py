"""How prices of long-lived markets sharpen as the close draws near."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.store.tables import read_table
from remeasure.studies.polymarket.estimates import (
    Estimate,
    Resampling,
    Rows,
    Scored,
    answer,
    implied,
    ratio,
)
from remeasure.studies.polymarket.frames import frame, schema
from remeasure.studies.polymarket.published import answer_all
from remeasure.studies.polymarket.schema import LIFE_PRICES
from remeasure.studies.polymarket.scope import Scope, coverage
from remeasure.studies.polymarket.sets import lasting, read_forecasts, read_truth

OUTPUTS = ("fig_convergence",)

CONVERGENCE = schema("convergence", {"days": pl.Float64, "score": pl.String})
"""One row a day before the close and score of one fixed set: ``brier``, ``uncertainty`` (the
base rate's score, the same every day), ``skill``, ``extreme`` (share of prices below 1 or above
99 cents)."""

#: Prices beyond these, in ten-thousandths, count as extreme.
EXTREMES = (100, 9900)

#: Days whose prices are planted as a horizon of the truth.
PLANTED = {30.0: "month", 7.0: "week"}

#: Days of the published rows, and how each is called there.
DAYS = {60.0: "60 days", 30.0: "30 days", 7.0: "7 days", 0.5: "0.5 days"}


class ConvergenceStep(Model):
    """The scope of the run, the rules of the set, and the bootstrap."""

    scope: Scope
    traded_usd: float | None
    convergence_days: float
    resamples: int
    bootstrap_seed: int


def measure_convergence(
    *,
    forecasts: Path,
    truth: Path | None = None,
    population: Path | None = None,
    convergence: Path,
    settings: ConvergenceStep,
) -> list[Measurement]:
    """Scores of markets with a price on every day of the grid.

    Parameters
    ----------
    forecasts
        DuckDB with the tables ``forecasts`` and ``life_prices``.
    truth, population
        On generated data what was planted, and DuckDB with the table ``markets``.
    convergence
        Output, Parquet: see ``CONVERGENCE``.
    """
    chosen = lasting(read_forecasts(forecasts), settings.traded_usd, settings.convergence_days)
    grid = read_table(forecasts, LIFE_PRICES)
    prices, dropped = complete(chosen, grid)
    planted = read_truth(truth, population)
    known = {}
    if planted is not None:
        members = lasting(planted, settings.traded_usd, settings.convergence_days)
        known = {
            day: planted.filter(pl.col("horizon") == name).join(members, on="market", how="semi")
            for day, name in PLANTED.items()
        }
    resampling = Resampling(settings.resamples, settings.bootstrap_seed)
    table = {
        (day, score): estimate
        for day, own in prices.items()
        for score, estimate in _scores(own, known.get(day), resampling).items()
    }
    write_frame(
        frame(CONVERGENCE, ({"days": d, "score": s, **e.row()} for (d, s), e in table.items())),
        convergence,
        CONVERGENCE,
    )
    return answer_all(
        _answers(table, settings, dropped), OUTPUTS, "no market has a price on every day"
    )


def complete(chosen: pl.DataFrame, grid: pl.DataFrame) -> tuple[dict[float, pl.DataFrame], int]:
    """Sets by day, farthest first, of those markets that have a price on every day.

    Returns
    -------
    The sets, with the day's price, and the number of markets left out.
    """
    own = grid.join(chosen.select("market"), on="market", how="semi").drop_nulls("price")
    days = sorted(grid["days_before"].unique().to_list(), reverse=True)
    whole = own.group_by("market").len().filter(pl.col("len") == len(days)).select("market")
    kept = chosen.join(whole, on="market", how="semi").drop("price")
    sets = {
        day: own.filter(pl.col("days_before") == day)
        .join(kept, on="market", how="inner")
        .sort("market")
        for day in days
    }
    return sets, chosen.height - kept.height


def _scores(
    own: pl.DataFrame, known: pl.DataFrame | None, resampling: Resampling
) -> dict[str, Estimate]:
    found = _of(Rows.of(own), resampling)
    if known is None:
        return found
    exact = _of(Rows.of(known), None)
    return {name: each.with_truth(exact[name].value) for name, each in found.items()}


def _of(rows: Rows, resampling: Resampling | None) -> dict[str, Estimate]:
    scored = Scored.of(rows, resampling)
    extreme = (rows.tick < EXTREMES[0]) | (rows.tick > EXTREMES[1])
    share = ratio(
        rows, (rows.w * extreme)[:, None], rows.w[:, None], resampling or Resampling(1, 0)
    )[0]
    parts = {name: scored.part(name) for name in ("brier", "uncertainty", "skill")}
    return {**parts, "extreme": share}


def _answers(
    table: dict[tuple[float, str], Estimate], settings: ConvergenceStep, dropped: int
) -> list[Measurement]:
    output, covered = "fig_convergence", coverage(settings.scope)
    if (7.0, "brier") not in table or not np.isfinite(table[7.0, "brier"].value):
        return []
    note = f"{dropped} markets without a price on every day are left out" if dropped else ""
    base = table[7.0, "uncertainty"]
    found = [
        answer(
            (output, "markets", "open >= 60 days, traded a month out"),
            Estimate(value=base.n, n=base.n),
            covered,
            count=True,
            note=note,
        ),
        answer((output, "base-rate Brier", "same markets"), base, covered),
        answer(
            (output, "base rate implied by .150 (deduced)", "y(1-y)=.150"), implied(base), covered
        ),
    ]
    for day, words in DAYS.items():
        condition = f"{words} before close"
        found += [
            answer((output, quantity, condition), table.get((day, score)), covered)
            for quantity, score in (("Brier score", "brier"), ("skill implied (deduced)", "skill"))
        ]
    quantity = "share below 1 or above 99 cents"
    for day, condition in ((60.0, "60 days"), (0.5, "half a day"), (7.0, "7 days, more than")):
        found.append(
            answer((output, quantity, condition), table.get((day, "extreme")), covered, factor=100)
        )
    return found
