"""The page of the ledger: every row, searched, filtered and sorted in the browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from remeasure.report import numbers
from remeasure.report.ledger_rows import TONES, Row, counted, origins
from remeasure.report.pages import link, write_page
from remeasure.report.study_page import navigation

PACKAGE_FILES = ("templates/ledger.html",)

#: Cells of a row as the script knows them: texts to show and plain values to sort by.
CELLS = (
    "study", "output", "quantity", "condition", "kind", "published", "printed", "unit", "value",
    "shown", "interval", "width", "spread", "wide", "n", "origin", "verdict", "tone", "reason",
    "step", "artifact",
)  # fmt: skip


def _cells(row: Row) -> list[str | bool]:
    spread = None if row.low is None or row.high is None else row.high - row.low
    published = numbers.number(row.published)
    wide = spread is not None and published is not None and spread > abs(published)
    return [
        row.study, row.output_id, row.quantity, row.condition, row.kind, row.published,
        row.printed, row.unit, row.value or "", row.shown, row.interval, row.width,
        "" if spread is None else repr(spread), wide,
        "" if row.n is None else str(row.n), row.origin, row.verdict, row.tone, row.reason,
        row.step, row.artifact,
    ]  # fmt: skip


def render_ledger(
    rows: Sequence[Row], *, page: Path, run: str, studies: Sequence[str], csv: Path | None
) -> None:
    """Write the page: the rows travel inside it as JSON, the script draws 200 at a time.

    ``csv`` is the same ledger as CSV, linked where it is given.
    """
    # Imported here: only this page explains verdicts, and the ledger room loads slowly.
    from remeasure.ledger.verdict import MEANINGS

    write_page(
        page,
        "ledger.html",
        title=f"Ledger – run {run}",
        navigation=navigation(*studies),
        here="ledger",
        wide=True,
        run=run,
        total=len(rows),
        origins=origins(rows),
        counts=counted(rows),
        tones=TONES,
        meanings=MEANINGS,
        csv=link(csv, page) if csv else "",
        data={
            "columns": list(CELLS),
            "verdicts": list(MEANINGS),
            "rows": [_cells(row) for row in rows],
        },
    )
