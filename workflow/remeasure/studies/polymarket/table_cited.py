"""The facts that the article quotes, as a table: shown as printed, never computed again."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from remeasure.report.numbers import grouped
from remeasure.report.tables import Column, html_table
from remeasure.studies.polymarket.outputs import STUDY
from remeasure.studies.polymarket.published import rows


def cited_frame() -> pl.DataFrame:
    """Quoted facts as text, one a row, in the order of the file: subject, fact, value, unit."""
    facts = [
        (
            STUDY.output(row.output_id).title,
            f"{row.quantity}, {row.condition}" if row.condition else row.quantity,
            grouped(row.published),
            row.unit,
        )
        for row in rows().values()
        if row.kind == "cited"
    ]
    names = ("subject", "fact", "value", "unit")
    return pl.DataFrame(facts, schema=dict.fromkeys(names, pl.String), orient="row")


def tab_cited(*, table: Path, origin: str) -> None:
    """The table of quoted facts.

    Parameters
    ----------
    table
        Output: a fragment of HTML.
    origin
        Of the inputs; there are none.
    """
    frame = cited_frame()
    fragment = html_table(
        frame,
        caption="Facts that the article quotes from elsewhere, as it prints them",
        columns=[
            Column(name="fact", title="fact"),
            Column(name="value", title="value"),
            Column(name="unit", title="unit"),
            Column(name="subject", title="subject"),
        ],
        note=f"{frame.height} facts, none of them measured here.",
    )
    table.write_text(fragment, "utf-8")
