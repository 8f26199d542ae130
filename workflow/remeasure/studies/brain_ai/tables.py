"""The study's tables: judgements, conversions, and quoted facts as printed."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from remeasure.report.numbers import grouped, rounded
from remeasure.report.tables import Column, html_table
from remeasure.store.frames import read_frame
from remeasure.studies.brain_ai.outputs import STUDY
from remeasure.studies.brain_ai.published import rows


def write_tables(*, table: Path, derived: Path, tables: list[Path]) -> None:
    """Step: all tables, in the order of `drawn.TABLES`.

    Parameters
    ----------
    table, derived
        Parquet, as ``facts.FACTS`` and ``conversions.CONVERSIONS``.
    tables
        Outputs: fragments of HTML.
    """
    known = read_frame(table)
    fragments = (modules(known), converted(read_frame(derived)), cited(known))
    for path, fragment in zip(tables, fragments, strict=True):
        path.write_text(fragment, "utf-8")


def modules(table: pl.DataFrame) -> str:
    """The state of the match, system by system."""
    own = table.filter(output_id="tab_modules")
    return html_table(
        own,
        caption="How well models match parts of the brain, in the essay's judgement",
        columns=[
            Column(name="condition", title="system"),
            Column(name="value", title="match"),
            Column(name="source", title="source"),
        ],
        note=", ".join(
            f"{count} {state}"
            for state, count in own["value"].value_counts(sort=True, name="count").iter_rows()
        )
        + ".",
    )


def converted(derived: pl.DataFrame) -> str:
    """Every conversion beside what the essay prints."""
    printed = [rows()[key] for key in derived.select("output_id", "quantity", "condition").rows()]
    shown = derived.with_columns(
        pl.Series("printed", [row.published for row in printed]),
        pl.Series("unit", [row.unit for row in printed]),
        pl.col("value").map_elements(rounded, return_dtype=pl.String),
    ).filter(pl.col("output_id").is_in(["fig_energy", "stat_energy", "stat_ops", "stat_data"]))
    return html_table(
        shown,
        caption="Conversions of energy, operations and data, computed from quoted numbers",
        columns=[
            Column(name="quantity", title="quantity"),
            Column(name="condition", title="how"),
            Column(name="value", title="computed"),
            Column(name="printed", title="printed or expected"),
            Column(name="unit", title="unit"),
        ],
        note="An H100 is taken at 700 W and 989.4e12 operations a second (dense BF16).",
    )


def cited(table: pl.DataFrame) -> str:
    """Every quoted fact with its source."""
    shown = table.with_columns(
        pl.col("output_id").replace_strict({each.id: each.title for each in STUDY.outputs}),
        pl.Series("value", [_printed(*row) for row in table.select("value", "unit").iter_rows()]),
    )
    return html_table(
        shown,
        caption="Facts that the essay quotes from elsewhere, as it prints them",
        columns=[
            Column(name="output_id", title="about"),
            *(Column(name=name, title=name) for name in ("quantity", "condition", "value", "unit")),
            Column(name="source", title="source"),
        ],
        note=f"{table.height} facts, none of them measured here.",
    )


def _printed(value: str, unit: str) -> str:
    return value if unit == "year" else grouped(value)
