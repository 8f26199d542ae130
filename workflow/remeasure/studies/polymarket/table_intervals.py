"""The table that shows whether intervals cover: a row a kind of world and number."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from remeasure.report.tables import Column, html_table
from remeasure.store.frames import read_frame

#: Numbers as the table calls them; ``slope, unweighted`` is a wrong estimate on purpose.
WORDS = {
    "average gap": "average gap",
    "average gap, percentiles": "average gap, plain percentiles",
    "skill": "skill",
    "return, 2-5 cents": "return of 2-5 cent contracts",
    "return, 2-5 cents, percentiles": "return of 2-5 cent contracts, plain percentiles",
    "return, 95-98 cents": "return of 95-98 cent contracts",
    "return, 95-98 cents, percentiles": "return of 95-98 cent contracts, plain percentiles",
    "slope, weighted": "slope of recalibration",
    "slope, unweighted": "slope without the sample’s weights",
}
KINDS = {
    "recipe": "recipe",
    "ladders": "ladders",
    "thresholds": "threshold lists",
}

NOTE = (
    "Generated worlds with known truth, of three kinds. Recipe: the study’s card, where the"
    " markets of an event exclude each other (one candidate wins) or have nothing in common."
    " Ladders: every event with several markets asks nearly the same question several times."
    " Threshold lists: one number settles all markets of an event, as in “above 100,000”,"
    " “above 110,000”, and neighbours have neighbouring prices. A 95% interval should hold the"
    " truth in about 95 of 100 worlds; with 200 worlds chance alone moves that by three."
    " Resampling markets instead of events does no harm in the recipe: what excludes each other"
    " makes a mean steadier, not less steady, so markets are as good as independent. In ladders"
    " and lists several rows are one draw of chance; whoever counts them as several has"
    " intervals that are too short, by the factor in the last column, and misses more often: at"
    " the tails only where several markets of an event stand in one band of prices, as in lists."
    " Plain percentiles, as published, miss the gap, because chance adds to absolute values"
    " twice, and lean where few contracts won; the study’s own intervals invert a test there,"
    " and use the exact binomial one with an effective number. The slope without weights is"
    " biased by the draw by size and misses on purpose; slopes are refitted in one world of ten."
)


def tab_intervals(*, intervals: Path, thresholds: Path, table: Path) -> None:
    """Share of worlds whose interval holds the truth, by kind of world and number."""
    found = pl.concat([read_frame(intervals), read_frame(thresholds)])
    table.write_text(
        html_table(
            compared(found),
            caption="How often 95% intervals hold the truth",
            columns=(
                Column(name="kind", title="generated worlds"),
                Column(name="name", title="number"),
                Column(name="truth", title="truth", decimals=4),
                Column(name="mean", title="mean estimate", decimals=4),
                Column(name="events", title="events resampled", unit="% cover", decimals=1),
                Column(name="markets", title="markets resampled", unit="% cover", decimals=1),
                Column(name="worlds", title="worlds"),
                Column(
                    name="shorter", title="width from markets over width from events", decimals=2
                ),
            ),
            note=NOTE,
        ),
        encoding="utf-8",
    )


def compared(frame: pl.DataFrame) -> pl.DataFrame:
    """A row a kind of world and number: truth, mean estimate, and both coverages in per cent.

    ``shorter`` is the mean width of intervals from resampled markets over that from events.
    Kinds and numbers stand in the order of ``KINDS`` and ``WORDS``; what no world gave an
    interval for is left out.
    """
    share = 100 * pl.col("covered") / pl.col("worlds")
    markets = frame.filter(resampled="markets").select(
        "kind", "number", share.alias("alone"), narrow="width"
    )
    width = pl.when(pl.col("width") > 0).then(pl.col("width"))
    return (
        frame.filter(resampled="events")
        .join(markets, on=("kind", "number"), how="left")
        .sort(*(_place(of, words) for of, words in (("kind", KINDS), ("number", WORDS))))
        .select(
            pl.col("kind").replace_strict(KINDS),
            pl.col("number").replace_strict(WORDS).alias("name"),
            "truth",
            "mean",
            share.alias("events"),
            pl.col("alone").alias("markets"),
            "worlds",
            (pl.col("narrow") / width).alias("shorter"),
        )
    )


def _place(column: str, words: dict[str, str]) -> pl.Expr:
    return pl.col(column).replace_strict(list(words), list(range(len(words))))
