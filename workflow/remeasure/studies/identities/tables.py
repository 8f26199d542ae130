"""The table of an article's identities: both routes, and how closely they agree."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from remeasure.model import Model
from remeasure.report.numbers import rounded
from remeasure.report.tables import Column, html_table
from remeasure.store.frames import read_frame

#: How the worst disagreement and its limit are said, by unit.
_WORDS = {
    "exact": ("none", "none"),
    "epsilon": ("{worst} ε", "{allowed} ε"),
    "absolute": ("{worst}", "{allowed}"),
    "standard errors": ("{worst} standard errors", "{allowed} standard errors"),
    "control": ("{worst}", "at least {allowed}"),
}


class TableStep(Model):
    """Which article the table is of, as people name it."""

    title: str


def show_checks(*, rows: Path, table: Path, settings: TableStep) -> None:
    """A line an identity: the claim, its two sides, cases, worst disagreement, limit.

    Parameters
    ----------
    rows
        Parquet, as ``results.CHECKS``.
    table
        Output: a fragment of HTML.

    Raises
    ------
    DataError
        When the result is missing or cannot be read.
    """
    frame = read_frame(rows)
    cells: dict[str, list[str | int]] = {
        name: [] for name in ("identity", "one", "other", "cases", "worst", "allowed")
    }
    for row in frame.iter_rows(named=True):
        worst, allowed = _WORDS[row["unit"]]
        numbers = {name: rounded(row[name], 2) for name in ("worst", "allowed")}
        for name in ("identity", "one", "other", "cases"):
            cells[name].append(row[name])
        cells["worst"].append(worst.format(**numbers))
        cells["allowed"].append(allowed.format(**numbers))
    controls = frame.filter(pl.col("unit") == "control").height
    fragment = html_table(
        pl.DataFrame(cells),
        caption=f"{settings.title}: every identity on two sides",
        columns=[
            Column(name="identity", title="claim"),
            Column(name="one", title="one side"),
            Column(name="other", title="other side"),
            Column(name="cases", title="cases"),
            Column(name="worst", title="apart"),
            Column(name="allowed", title="allowed"),
        ],
        note=(
            f"{frame.height} identities, {controls} of them controls that must fail. ε is machine"
            " epsilon, 2.2 × 10⁻¹⁶; a disagreement beyond the limit stops the run."
        ),
    )
    table.write_text(fragment, "utf-8")
