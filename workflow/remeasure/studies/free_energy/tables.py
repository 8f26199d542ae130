"""The study's table of quoted facts: shown as printed, never computed again."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from remeasure.report.numbers import grouped
from remeasure.report.tables import Column, html_table
from remeasure.studies.free_energy.outputs import STUDY
from remeasure.studies.free_energy.published import rows


def cited_frame() -> pl.DataFrame:
    """Quoted facts as text, one a row: fact, value, unit, source."""
    facts = [
        (
            f"{row.quantity}: {row.condition}" if row.output_id == "fig_evidence" else row.quantity,
            row.published if row.unit == "year" else grouped(row.published),
            row.unit,
            row.source or STUDY.output(row.output_id).source,
        )
        for row in rows().values()
        if row.kind == "cited"
    ]
    names = ("fact", "value", "unit", "source")
    return pl.DataFrame(facts, schema=dict.fromkeys(names, pl.String), orient="row")


def tab_cited(*, table: Path, origin: str) -> None:
    """The table of quoted facts.

    Parameters
    ----------
    table
        Output: a fragment of HTML.
    """
    frame = cited_frame()
    fragment = html_table(
        frame,
        caption="Facts and verdicts that the essay quotes from elsewhere, as it prints them",
        columns=[Column(name=name, title=name) for name in frame.columns],
        note=f"{frame.height} facts, none of them measured here.",
    )
    table.write_text(fragment, "utf-8")
