"""Which questions a model may know and which it cannot, and what can be said of its answers.

Month m counts as *before* a release R when ``m <= R - 12`` months and as *after* it when
``m > R``; a week or a day likewise, by the month in which it ends (before) or begins (after).
What lies between counts as neither. Source: study card, identity 7 and T13.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

import numpy as np
import polars as pl

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.studies.crypto.memory_models import MONTHS_BEFORE, LanguageModel
from remeasure.studies.crypto.memory_questions import FIRST, LAST, Kind, questions
from remeasure.studies.crypto.published import answer_all, measurable

Window = Literal["before", "after"]
WINDOWS: Final[tuple[Window, ...]] = ("before", "after")

#: Beside every row that rests on the stand-in.
SIMULATED_NOTE: Final = "simulated answerer, not a language model"


class MemoryStep(Model):
    """Who was asked.

    Attributes
    ----------
    answerer
        As in ``memory_models.MemorySettings``.
    models
        The models of the publication, in its order.
    others
        Models beside these, whose answers are shown apart and answer no published number.
    daily
        Whether the run has daily candles of BTC.
    resamples
        Of the bootstrap.
    """

    answerer: Literal["simulated", "networks", "none"]
    models: tuple[LanguageModel, ...]
    others: tuple[LanguageModel, ...] = ()
    daily: bool = True
    resamples: int = 1000

    @property
    def note(self) -> str:
        """What must stand beside every row; empty for real answers."""
        return SIMULATED_NOTE if self.answerer == "simulated" else ""

    def reason(self, label: str) -> str:
        """Why there is no answer of a model."""
        if self.answerer == "none":
            return "no language model is asked in this run (crypto.memory.answerer)"
        if not self.daily:
            return "this run has no daily candles of BTC (crypto.spot.1d)"
        if self.answerer == "networks":
            return f"this run has no weights of {label}"
        return f"{label} is not among this run's models (crypto.memory.models)"


def window_of(model: LanguageModel) -> pl.Expr:
    """``before``, ``after`` or null for questions with the columns ``first`` and ``last``."""
    released = np.datetime64(model.release, "M")
    latest = (released - MONTHS_BEFORE + 1).astype("datetime64[D]").item()
    earliest = (released + 1).astype("datetime64[D]").item()
    return (
        pl.when(pl.col("last") < latest)
        .then(pl.lit("before"))
        .when(pl.col("first") >= earliest)
        .then(pl.lit("after"))
    )


def counted(model: LanguageModel, kind: Kind) -> dict[Window, int]:
    """Questions of the publication's own window that count before and after a release."""
    asked = questions(FIRST, LAST).filter(pl.col("kind") == kind).select(window=window_of(model))
    return {window: int((asked["window"] == window).sum()) for window in WINDOWS}


def covered(n: int, published: int, what: str, *, models: int | None = None, of: int = 0) -> str:
    """``whole``, or how many of the published questions (and models) a result rests on."""
    parts = [] if n == published else [f"{n} of {published} {what}"]
    if models is not None and models != of:
        parts.append(f"{models} of {of} models")
    return ", ".join(parts) or WHOLE


def answer_empirical(
    measured: Iterable[Measurement], outputs: Iterable[str], reason: str
) -> list[Measurement]:
    """As `published.answer_all`, without the rows that are arithmetic (kind ``exact``).

    Those are answered by ``memory_identities``, which asks nobody.
    """
    names = tuple(outputs)
    exact = {row.key for row in measurable(names) if row.kind == "exact"}
    return [
        each
        for each in answer_all(measured, names, reason)
        if (each.output_id, each.quantity, each.condition) not in exact
    ]
