"""What the publication leaves open: main results under each reading, side by side.

Numbers are those of the card's table of open definitions. The first variant of each is the
recommended one, whatever this run is set to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl

from remeasure.model import Model
from remeasure.stats.bands import band, names, ticks
from remeasure.stats.platt import fit_platt, resampled_platt
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.store.tables import read_table
from remeasure.studies.polymarket.band_sums import by_band, won_per_dollar
from remeasure.studies.polymarket.estimates import (
    Estimate,
    Resampling,
    Rows,
    Scored,
    estimated,
)
from remeasure.studies.polymarket.frames import ESTIMATE
from remeasure.studies.polymarket.schema import BOOK_SNAPSHOT
from remeasure.studies.polymarket.sets import BANDS, read_forecasts, traded
from remeasure.studies.polymarket.spread_costs import contracts, quoted

VARIANTS = declare(
    "variants of definitions",
    {
        "definition": dy.Int64(),
        "variant": dy.String(),
        "quantity": dy.String(),
        "unit": dy.String(),
        **ESTIMATE,
    },
    unique=["definition", "variant", "quantity"],
)
"""One row a definition (its number in the card), variant and quantity, in its unit."""

CHEAP, DEAR = names(BANDS).index("2-5"), names(BANDS).index("95-98")

#: Bins of total volume that the trap is told by, in dollars.
TRAP_ENDS = {"longshots under $1K": (0, 1e3), "longshots $100K-1M": (1e5, 1e6)}


class DefinitionsStep(Model):
    """The threshold of real trading, the longshots, the split, and the bootstrap."""

    traded_usd: float | None
    trap_low: float
    trap_high: float
    fit_before: datetime
    resamples: int
    bootstrap_seed: int


@dataclass(frozen=True)
class Variant:
    """One number under one reading."""

    definition: int
    variant: str
    quantity: str
    unit: str
    estimate: Estimate
    factor: float = 1.0

    def row(self) -> dict[str, object]:
        """Columns of ``VARIANTS``."""
        scaled = self.estimate.row()
        for name in ("value", "low", "high"):
            number = scaled[name]
            scaled[name] = None if number is None else self.factor * number
        return {
            "definition": self.definition,
            "variant": self.variant,
            "quantity": self.quantity,
            "unit": self.unit,
            **scaled,
        }


def compare_definitions(
    *,
    forecasts: Path,
    variants: Path,
    settings: DefinitionsStep,
    snapshot: Path | None = None,
) -> None:
    """Main results a week before the close under each reading of the open definitions.

    Parameters
    ----------
    forecasts
        DuckDB with the table ``forecasts``.
    snapshot
        DuckDB with the table ``book_snapshot``, or none.
    variants
        Output, Parquet: see ``VARIANTS``.
    """
    more = ("in_topic_draw", "in_size_draw", "pi_topic", "total_dollars", "week_shares")
    every = read_forecasts(forecasts, more)
    resampling = Resampling(settings.resamples, settings.bootstrap_seed)
    week = traded(every, "week", settings.traded_usd)
    found = [
        *_trading(every, week, settings, resampling),
        *_weights(week, resampling),
        *_returns(week, resampling),
        *_trap(every, settings, resampling),
        *_first(every, resampling),
        *_resampled(week, resampling),
        *_fit(week, settings),
    ]
    if snapshot is not None:
        found += list(_books(read_table(snapshot, BOOK_SNAPSHOT)))
    rows = sorted((each.row() for each in found), key=lambda row: int(str(row["definition"])))
    columns = list(VARIANTS.columns)
    types = {name: VARIANTS.types[name] for name in columns}
    write_frame(pl.DataFrame(rows, schema=types), variants, VARIANTS)


def _scores(
    definition: int, variant: str, frame: pl.DataFrame, resampling: Resampling
) -> Iterator[Variant]:
    scored = Scored.of(Rows.of(frame), resampling)
    yield Variant(definition, variant, "Brier score", "score", scored.part("brier"))
    yield Variant(definition, variant, "skill", "%", scored.part("skill"), 100)


def _trading(
    every: pl.DataFrame, week: pl.DataFrame, settings: DefinitionsStep, resampling: Resampling
) -> Iterator[Variant]:
    """10: dollars, shares, or no rule at all."""
    at = every.filter(pl.col("horizon") == "week")
    yield from _scores(10, "dollars of the week", week, resampling)
    shares = at.filter(pl.col("week_shares") >= (settings.traded_usd or 0))
    if shares.height:
        yield from _scores(10, "shares of the week", shares, resampling)
    yield from _scores(10, "no rule of trading", at, resampling)


def _weights(week: pl.DataFrame, resampling: Resampling) -> Iterator[Variant]:
    """11 and 12: bins by mass or alike; weighted or not."""
    scored = Scored.of(Rows.of(week), resampling)
    yield Variant(11, "bins by mass", "average gap", "points", scored.gap(), 100)
    yield Variant(11, "bins alike", "average gap", "points", scored.gap(equal=True), 100)
    for words, weight in (("weighted", "weight"), ("every market alike", None)):
        rows = Rows.of(week, weight)
        own = Scored.of(rows, resampling)
        yield Variant(12, words, "Brier score", "score", own.part("brier"))
        yield Variant(12, words, "skill", "%", own.part("skill"), 100)
        yield Variant(12, words, "resolved to the first outcome", "%", own.part("base"), 100)
        held = by_band(rows.both_sides(), BANDS, resampling)
        yield Variant(12, words, "return at 2-5 cents", "%", held[CHEAP, "return"], 100)


def _returns(week: pl.DataFrame, resampling: Resampling) -> Iterator[Variant]:
    """17 needs spreads; here 0, the toolbox's S7: mean of ratios, ratio of means."""
    held = by_band(Rows.of(week).both_sides(), BANDS, resampling)
    for words, of in (("mean of ratios", "return"), ("ratio of means", "pooled")):
        yield Variant(0, words, "return at 2-5 cents", "%", held[CHEAP, of], 100)
        yield Variant(0, words, "return at 95-98 cents", "%", held[DEAR, of], 100)


def _trap(
    every: pl.DataFrame, settings: DefinitionsStep, resampling: Resampling
) -> Iterator[Variant]:
    """14: weights of the draw by topic, or of both draws, over their own markets."""
    week = every.filter(pl.col("horizon") == "week")
    low, high = ticks([settings.trap_low, settings.trap_high])
    by_topic = week.filter("in_topic_draw").with_columns(weight=1 / pl.col("pi_topic"))
    for words, frame in (("draw by topic", by_topic), ("both draws", week)):
        rows = Rows.of(frame).both_sides()
        dollars = np.tile(frame["total_dollars"].fill_null(-1.0).to_numpy(), 2)
        cheap = (rows.tick >= low) & (rows.tick < high)
        for quantity, (least, most) in TRAP_ENDS.items():
            inside = cheap & (dollars >= least) & (dollars < most)
            won = won_per_dollar(rows, inside[:, None], resampling)[0]
            yield Variant(14, words, f"{quantity} of total volume", "won per dollar", won)


def _first(every: pl.DataFrame, resampling: Resampling) -> Iterator[Variant]:
    """16: the biased first sample with both sides, or with first outcomes only."""
    rows = Rows.of(every.filter(pl.col("horizon") == "week").filter("in_size_draw"), weight=None)
    if rows.n:
        band_10_20 = BANDS.index(1000)
        for words, own in (("both sides", rows.both_sides()), ("first outcomes", rows)):
            held = by_band(own, BANDS, resampling)[band_10_20, "return"]
            yield Variant(16, words, "return at 10-20 cents, draw by size", "%", held, 100)


def _resampled(week: pl.DataFrame, resampling: Resampling) -> Iterator[Variant]:
    """21: what is resampled as one."""
    rows = Rows.of(week)
    for words, own in (("events", rows), ("markets", rows.ungrouped())):
        scored = Scored.of(own, resampling)
        yield Variant(21, words, "skill", "%", scored.part("skill"), 100)
        yield Variant(21, words, "resolved to the first outcome", "%", scored.part("base"), 100)
        sides = own.both_sides()
        held = by_band(sides, BANDS, resampling)
        yield Variant(21, words, "return at 95-98 cents", "%", held[DEAR, "return"], 100)


def _fit(week: pl.DataFrame, settings: DefinitionsStep) -> Iterator[Variant]:
    """22: the slope with the sample's weights, or without."""
    fit = week.filter(pl.col("closed") < settings.fit_before)
    for words, weight in (("weighted", "weight"), ("every market alike", None)):
        rows = Rows.of(fit, weight)
        try:
            line = fit_platt(rows.p, rows.y, rows.w)
        except ValueError:
            continue
        drawn = resampled_platt(
            rows.p,
            rows.y,
            rows.w,
            rows.clusters,
            settings.resamples,
            np.random.default_rng(settings.bootstrap_seed),
        )
        slope = estimated(line.slope, drawn[:, 0], rows)
        yield Variant(22, words, "slope of the recalibration", "slope", slope)


def _books(books: pl.DataFrame) -> Iterator[Variant]:
    """20: whether an order at 0 or 1 dollar fills a side."""
    for words, strict in (("0 and 1 are empty", True), ("0 and 1 are orders", False)):
        mid, cost = contracts(quoted(books, strict=strict))
        inside = band(ticks(mid), BANDS) == CHEAP
        value = float(np.median(cost[inside])) if inside.any() else float("nan")
        own = Estimate(value=value, n=int(inside.sum()))
        yield Variant(20, words, "half-spread at 2-5 cents", "%", own, 100)
