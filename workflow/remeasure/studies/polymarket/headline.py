"""The numbers that open the article, gathered from the results that hold them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.store.frames import read_frame
from remeasure.studies.polymarket.estimates import Estimate, answer
from remeasure.studies.polymarket.published import answer_all
from remeasure.studies.polymarket.scope import Scope, coverage

OUTPUTS = ("stat_headline",)


class HeadlineStep(Model):
    """The scope of the run."""

    scope: Scope


def measure_headline(
    *, scores: Path, accuracy: Path, returns: Path, settings: HeadlineStep
) -> list[Measurement]:
    """Gap and longshots' return a week before the close, always No, and skill a day before.

    Parameters
    ----------
    scores, accuracy, returns
        Parquet, as ``calibration.SCORES``, ``accuracy.ACCURACY`` and ``band_returns.RETURNS``.
    """
    covered = coverage(settings.scope)
    found = {
        ("average gap price vs outcome", "1 week before close, real trading"): _one(
            scores, copy="market", score="gap"
        ),
        ("always-No accuracy", "panel"): _one(accuracy, horizon="week", score="always_no"),
        ("mean return of contracts", "2-5 cents, 1 week"): _one(returns, name="2-5", of="return"),
        ("base-rate error removed", "1 day before close, panel"): _one(
            accuracy, horizon="day", score="skill"
        ),
    }
    measured = [
        answer(("stat_headline", *key), each, covered, factor=100) for key, each in found.items()
    ]
    return answer_all(measured, OUTPUTS, "no step measures it")


def _one(path: Path, **wanted: str) -> Estimate | None:
    """The one row with these keys; None where it has no value."""
    hits = read_frame(path).filter(*(pl.col(name) == value for name, value in wanted.items()))
    row: dict[str, Any] = hits.row(0, named=True)
    if row["value"] is None:
        return None
    return Estimate(**{name: row[name] for name in ESTIMATE})


ESTIMATE = ("value", "low", "high", "n", "weight", "effective", "truth")
