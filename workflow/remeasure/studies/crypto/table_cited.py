"""The facts that the article quotes, as a table: shown as printed, never computed again."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from remeasure.ledger.reference import Reference
from remeasure.report.numbers import grouped
from remeasure.report.tables import Column, html_table
from remeasure.studies.crypto.outputs import STUDY
from remeasure.studies.crypto.published import rows

#: Outputs of quoted facts alone. The condition of their rows repeats the source; other quoted
#: rows stand beside measured ones, and their condition belongs to the fact.
PREFIX = "cite_"


def cited() -> list[Reference]:
    """Every quoted row of ``reference.csv``, in the order of the file."""
    return [row for row in rows().values() if row.kind == "cited"]


def source(row: Reference) -> str:
    """Whose figure a quoted row is, as its output declares; else the article's own."""
    return STUDY.output(row.output_id).source or "the article"


def fact(row: Reference) -> str:
    """What a quoted row says, with its condition unless that only repeats the source."""
    known = row.output_id.startswith(PREFIX) or not row.condition
    return row.quantity if known else f"{row.quantity}, {row.condition}"


def cited_frame() -> pl.DataFrame:
    """Quoted facts as text, one a row: subject, fact, value, unit, said of, source."""
    facts = [
        (
            STUDY.output(row.output_id).title,
            fact(row),
            grouped(row.published),
            row.unit,
            source(row),
        )
        for row in cited()
    ]
    names = ("subject", "fact", "value", "unit", "source")
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
        frame.select("fact", "value", "unit", "subject", "source"),
        caption="Facts that the article quotes from elsewhere, as it prints them",
        columns=[
            Column(name="fact", title="fact"),
            Column(name="value", title="value"),
            Column(name="unit", title="unit"),
            Column(name="subject", title="subject"),
            Column(name="source", title="source"),
        ],
        note=(
            f"{frame.height} facts, none of them measured here. Numbers in brackets are those of"
            " the article’s list of references."
        ),
    )
    table.write_text(fragment, "utf-8")
