"""The table that shows whether intervals cover."""

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
    "return, 95-98 cents": "return of 95-98 cent contracts",
    "slope, weighted": "slope of recalibration",
    "slope, unweighted": "slope without the sample’s weights",
}
KINDS = {"recipe": "the study’s recipe", "ladders": "ladders: one question asked many times"}

NOTE = (
    "Generated worlds with known truth. A 95% interval should hold it in about 95 of 100 worlds;"
    " with 200 worlds chance alone moves that by three. Plain percentiles miss the gap, because"
    " chance adds to absolute values twice; the study’s interval inverts a test instead."
    " Returns that rest on fewer than ten winners are widened and then cover too often."
    " The slope without weights is biased by the draw by size and misses on purpose; slopes"
    " are refitted in one world of ten. Where candidates exclude each other (recipe),"
    " resampling markets does no harm; where they share a fate (ladders), it does."
)


def tab_intervals(*, intervals: Path, table: Path) -> None:
    """Share of worlds whose interval holds the truth, by kind of world, number and resampling."""
    frame = read_frame(intervals).with_columns(
        share=100 * pl.col("covered") / pl.col("worlds"),
        kind=pl.col("kind").replace_strict(KINDS),
        name=pl.col("number").replace_strict(WORDS),
    )
    keys = ["kind", "number"]
    events = frame.filter(pl.col("resampled") == "events")
    markets = frame.filter(pl.col("resampled") == "markets").select(*keys, markets_share="share")
    joined = events.join(markets, on=keys, how="left", maintain_order="left")
    table.write_text(
        html_table(
            joined,
            caption="How often 95% intervals hold the truth",
            columns=(
                Column(name="name", title="number"),
                Column(name="kind", title="worlds"),
                Column(name="truth", title="truth", decimals=4),
                Column(name="mean", title="mean estimate", decimals=4),
                Column(name="worlds", title="worlds measured"),
                Column(name="share", title="events resampled", unit="% cover", decimals=1),
                Column(name="markets_share", title="markets resampled", unit="% cover", decimals=1),
                Column(name="width", title="mean width", decimals=4),
            ),
            note=NOTE,
        ),
        encoding="utf-8",
    )
