"""The study's tables: quoted facts as printed, and intervals that the essay does not give."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from remeasure.model import Model
from remeasure.report.numbers import grouped
from remeasure.report.tables import Column, html_table
from remeasure.store.frames import read_frame
from remeasure.studies.consciousness.outputs import STUDY


class TableStep(Model):
    """Settings of `write_tables`: the confidence level of the intervals."""

    level: float


def write_tables(*, table: Path, counted: Path, tables: list[Path], settings: TableStep) -> None:
    """Step: all tables, in the order of `drawn.TABLES`.

    Parameters
    ----------
    table, counted
        Parquet, as ``essay.FACTS`` and ``essay.SHARES``.
    tables
        Outputs: fragments of HTML.
    """
    fragments = (intervals(read_frame(counted), settings.level), cited(read_frame(table)))
    for path, fragment in zip(tables, fragments, strict=True):
        path.write_text(fragment, "utf-8")


def intervals(counted: pl.DataFrame, level: float) -> str:
    """Shares of quoted counts with intervals."""
    percent = counted.with_columns(pl.col("share", "low", "high") * 100)
    return html_table(
        percent,
        caption="Quoted counts as shares, with intervals that are not in the article",
        columns=[
            Column(name="what", title="who"),
            Column(name="count", title="count"),
            Column(name="of", title="of"),
            *(
                Column(name=name, title=name, unit="%", decimals=1)
                for name in ("share", "low", "high")
            ),
            Column(name="source", title="source of the counts"),
        ],
        note=(
            f"Intervals of a binomial share after Wilson (1927), {100 * level:g}%: an addition."
            " They hold for patients like these, and the groups are not random samples."
        ),
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
    return value if unit in ("year", "date") else grouped(value)
