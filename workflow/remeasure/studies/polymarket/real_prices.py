"""Real prices from other collections: the same scores by the same code, without weights.

They are other markets than the publication's: archives of whoever collected them, no sample
with known probabilities. Horizons count back from the actual resolution. A question with a
deadline ("by June") that comes true resolves early, one that does not waits for its date: at
equal prices the early ones are those that came true, so this clock selects on the outcome.

Daily prices too old for their horizon are missing already (``real_files``). Trades of the
midterms are on an automatic market maker, whose price stands until the next trade: there age
does not matter.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from remeasure.model import Model
from remeasure.stats.platt import fit_platt, resampled_platt
from remeasure.store.frames import write_frame
from remeasure.store.tables import read_table
from remeasure.studies.polymarket.estimates import (
    Estimate,
    Resampling,
    Rows,
    Scored,
    estimated,
    ratio,
)
from remeasure.studies.polymarket.frames import frame, schema
from remeasure.studies.polymarket.schema import REAL

SCORES = schema(
    "real prices", {"source": pl.String, "set": pl.String, "horizon": pl.String, "score": pl.String}
)
"""One row a collection, set of its markets, horizon and score: ``brier``, ``base``, ``skill``,
``gap``, ``favourite``, ``slope``, ``mean_price``, ``events`` (clusters that were resampled),
``known`` (share of markets whose event is known)."""

#: Sets of markets: name and rule.
SETS = {
    "all": pl.lit(True),
    "Yes/No": pl.col("yes_no"),
    "with a deadline, 10 to 50 cents": pl.col("dated") & pl.col("price").is_between(0.1, 0.5),
    "without one, 10 to 50 cents": ~pl.col("dated") & pl.col("price").is_between(0.1, 0.5),
    "from $1,000 in the week before": pl.col("week_dollars") >= 1000,
}


class RealStep(Model):
    """Resamples and seed of the bootstrap."""

    resamples: int
    bootstrap_seed: int


def measure_real(*, real: Path, scores: Path, settings: RealStep) -> None:
    """Score every collection at hand.

    Parameters
    ----------
    real
        DuckDB with the table ``real``.
    scores
        Output, Parquet: see ``SCORES``.
    """
    every = read_table(real, REAL).filter(pl.col("price").is_not_null())
    resampling = Resampling(settings.resamples, settings.bootstrap_seed)
    rows = []
    for (source, horizon), own in every.group_by("source", "horizon", maintain_order=True):
        for name, rule in SETS.items():
            chosen = own.filter(rule.fill_null(value=False))
            if chosen.height and chosen["outcome"].n_unique() == 2:
                rows += [
                    {"source": source, "set": name, "horizon": horizon, "score": score, **e.row()}
                    for score, e in score_set(chosen, resampling).items()
                ]
    write_frame(frame(SCORES, rows), scores, SCORES)


def score_set(own: pl.DataFrame, resampling: Resampling) -> dict[str, Estimate]:
    """Scores of one set; markets whose event is unknown are clusters of their own."""
    rows = Rows.of(own, weight=None)
    scored = Scored.of(rows, resampling)
    ones = np.ones((rows.n, 1))
    found = {name: scored.part(name) for name in ("brier", "base", "skill")}
    found["gap"] = scored.gap()
    found["favourite"] = ratio(rows, rows.favourite_won()[:, None], ones, resampling)[0]
    found["mean_price"] = ratio(rows, rows.p[:, None], ones, resampling)[0]
    found["events"] = Estimate(value=rows.clusters.count, n=rows.n)
    found["known"] = Estimate(value=float(own["event_known"].mean() or 0.0), n=rows.n)  # type: ignore[arg-type]
    try:
        line = fit_platt(rows.p, rows.y)
    except ValueError:
        return found
    drawn = resampled_platt(
        rows.p,
        rows.y,
        rows.w,
        rows.clusters,
        resampling.resamples,
        np.random.default_rng(resampling.seed),
    )
    found["slope"] = estimated(line.slope, drawn[:, 0], rows)
    return found
