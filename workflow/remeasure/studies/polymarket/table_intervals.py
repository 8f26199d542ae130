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
    "return, 2-5 cents, percentiles": "return of 2-5 cent contracts, plain percentiles",
    "return, 95-98 cents": "return of 95-98 cent contracts",
    "return, 95-98 cents, percentiles": "return of 95-98 cent contracts, plain percentiles",
    "slope, weighted": "slope of recalibration",
    "slope, unweighted": "slope without the sample’s weights",
}
KINDS = {"recipe": "recipe", "ladders": "ladders"}

NOTE = (
    "Generated worlds with known truth, of two kinds. Recipe: the study’s card, where the markets"
    " of an event exclude each other (one candidate wins) or have nothing in common. Ladders:"
    " every event with several markets asks nearly the same question several times, as lists of"
    " dates and thresholds do. A 95% interval should hold the truth in about 95 of 100 worlds;"
    " with 200 worlds chance alone moves that by three. Resampling markets instead of events"
    " does no harm in the recipe: what excludes each other makes a mean steadier, not less"
    " steady, so markets are as good as independent. In ladders several rows are one draw of"
    " chance; whoever counts them as several has intervals that are too short, by the factor in"
    " the last column, and misses more often. Plain percentiles, as published, miss the gap,"
    " because chance adds to absolute values twice, and lean where few contracts won; the"
    " study’s own intervals invert a test there, and use the exact binomial one with an"
    " effective number. The slope without weights is biased by the draw by size and misses on"
    " purpose; slopes are refitted in one world of ten."
)


def tab_intervals(*, intervals: Path, table: Path) -> None:
    """Share of worlds whose interval holds the truth: both kinds of worlds side by side."""
    table.write_text(
        html_table(
            side_by_side(read_frame(intervals)),
            caption="How often 95% intervals hold the truth",
            columns=(
                Column(name="name", title="number"),
                *(
                    each
                    for kind, word in KINDS.items()
                    for each in (
                        Column(name=f"{kind} truth", title=f"{word}: truth", decimals=4),
                        Column(name=f"{kind} mean", title=f"{word}: mean estimate", decimals=4),
                        Column(
                            name=f"{kind} events",
                            title=f"{word}: events resampled",
                            unit="% cover",
                            decimals=1,
                        ),
                        Column(
                            name=f"{kind} markets",
                            title=f"{word}: markets resampled",
                            unit="% cover",
                            decimals=1,
                        ),
                    )
                ),
                Column(name="worlds", title="worlds of each kind"),
                Column(
                    name="shorter",
                    title="ladders: width from markets over width from events",
                    decimals=2,
                ),
            ),
            note=NOTE,
        ),
        encoding="utf-8",
    )


def side_by_side(frame: pl.DataFrame) -> pl.DataFrame:
    """A row a number: of each kind of world truth, mean, and both coverages in per cent.

    ``shorter`` is the mean width of intervals from resampled markets over that from events, in
    ladders.
    """
    rows = {(row["kind"], row["number"], row["resampled"]): row for row in frame.to_dicts()}
    return pl.DataFrame(
        [
            {
                "name": word,
                **{
                    key: value
                    for kind in KINDS
                    for key, value in _cells(kind, number, rows).items()
                },
                "worlds": max(row["worlds"] for (_, of, _), row in rows.items() if of == number),
                "shorter": _shorter(number, rows),
            }
            for number, word in WORDS.items()
            if any(of == number for _, of, _ in rows)
        ],
        infer_schema_length=None,
    )


Row = dict[str, float]
Rows = dict[tuple[str, str, str], Row]


def _cells(kind: str, number: str, rows: Rows) -> dict[str, float | None]:
    by = {way: rows.get((kind, number, way)) for way in ("events", "markets")}
    return {
        **{
            f"{kind} {of}": None if by["events"] is None else by["events"][of]
            for of in ("truth", "mean")
        },
        **{
            f"{kind} {way}": None if row is None else 100 * row["covered"] / row["worlds"]
            for way, row in by.items()
        },
    }


def _shorter(number: str, rows: Rows) -> float | None:
    events, markets = (rows.get(("ladders", number, way)) for way in ("events", "markets"))
    if events is None or markets is None or not events["width"]:
        return None
    return markets["width"] / events["width"]
