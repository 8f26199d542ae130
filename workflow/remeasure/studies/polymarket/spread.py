"""What half the spread costs on the night of the snapshot, by band, relative to the middle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.stats.bands import OUTSIDE, band, names, ticks
from remeasure.stats.contracts import half_spread, of_money_paid
from remeasure.store.frames import write_frame
from remeasure.store.tables import read_table
from remeasure.studies.polymarket.estimates import Estimate, Floats, answer
from remeasure.studies.polymarket.frames import frame, schema
from remeasure.studies.polymarket.published import answer_all
from remeasure.studies.polymarket.schema import BOOK_SNAPSHOT
from remeasure.studies.polymarket.scope import Scope
from remeasure.studies.polymarket.sets import BANDS
from remeasure.studies.polymarket.spread_costs import contracts, quoted

OUTPUTS = ("fig_spread", "stat_spread_snapshot")

SPREAD = schema("spread by band", {"band": pl.Int64, "name": pl.String})
"""One row a band: the median half-spread relative to the middle over both contracts of every
market that is quoted on both sides. A census of one night: it has no sampling error."""

#: Pooled bands of the text: words of the published row, first and last edge.
TEXT = {
    "40-95 cents, about": (4000, 9500),
    "10-20 cents, text": (1000, 2000),
    "5-10 cents, text": (500, 1000),
    "above 98 cents, text": (9800, 9950),
}
POOLED = "40-95 cents, about"


class SpreadStep(Model):
    """The scope of the run, and whether a bid of 0 or an ask of 1 counts as an empty side."""

    scope: Scope
    two_sided_strict: bool


def measure_spread(
    *, snapshot: Path | None = None, spread: Path, settings: SpreadStep
) -> list[Measurement]:
    """Median costs by band from the order books of one night.

    Parameters
    ----------
    snapshot
        DuckDB with the table ``book_snapshot``, or none.
    spread
        Output, Parquet: see ``SPREAD``; no rows without a snapshot.
    """
    books = read_table(snapshot, BOOK_SNAPSHOT) if snapshot else BOOK_SNAPSHOT.empty()
    two_sided = quoted(books, strict=settings.two_sided_strict)
    mid, cost = contracts(two_sided)
    where = band(ticks(mid), BANDS)
    rows = [
        {"band": index, "name": name, **_median(cost[where == index]).row()}
        for index, name in enumerate(names(BANDS))
    ]
    write_frame(frame(SPREAD, rows if snapshot else []), spread, SPREAD)
    measured = _exact()
    if snapshot:
        measured += _answers(books, two_sided, mid, cost)
    return answer_all(measured, OUTPUTS, "this run has no snapshot of order books")


def _median(cost: Floats) -> Estimate:
    value = float(np.median(cost)) if cost.size else float("nan")
    return Estimate(value=value, n=cost.size, weight=float(cost.size), effective=float(cost.size))


def _answers(
    books: pl.DataFrame,
    two_sided: pl.DataFrame,
    mid: Floats,
    cost: Floats,
) -> list[Measurement]:
    at = ticks(mid)
    where = band(at, BANDS)
    found = [
        answer(
            ("fig_spread", "median (ask-mid)/mid", f"{name} cents"),
            _median(cost[where == index]),
            WHOLE,
            factor=100,
        )
        for index, name in enumerate(names(BANDS))
    ]
    output = "stat_spread_snapshot"
    for quantity, frame_ in (
        ("open markets", books),
        ("open markets with orders on both sides", two_sided),
    ):
        found.append(
            answer(
                (output, quantity, "31 Oct 2026"), Estimate(value=frame_.height), WHOLE, count=True
            )
        )
    for condition, edges in TEXT.items():
        inside = band(at, edges) != OUTSIDE
        found.append(
            answer(
                (output, "median cost", condition),
                _median(cost[inside]),
                WHOLE,
                factor=100,
                note="all contracts of these bands pooled" if condition == POOLED else "",
            )
        )
    return found


def _exact() -> list[Measurement]:
    """The worked example: bid 1 cent, ask 3 cents."""
    cost = float(half_spread(0.01, 0.03))
    return [
        Measurement(
            output_id="stat_spread_snapshot",
            quantity=quantity,
            condition="bid 1 cent, ask 3 cents",
            value=100 * value,
        )
        for quantity, value in (
            ("cost relative to mid", cost),
            ("cost relative to money paid", float(of_money_paid(cost))),
        )
    ]
