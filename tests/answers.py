"""Which rows of a study's reference.csv a step has to answer."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

import remeasure.studies
from remeasure.ledger.measurement import Measurement

Key = tuple[str, str, str]


def printed_rows(study: str, outputs: Iterable[str]) -> dict[Key, dict[str, str]]:
    """Rows of these outputs, all but the quoted ones, by (output, quantity, condition)."""
    folder = Path(remeasure.studies.__file__).parent / study
    with (folder / "reference.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] != "cited"]
    wanted = set(outputs)
    return {
        (row["output_id"], row["quantity"], row["condition"]): row
        for row in rows
        if row["output_id"] in wanted
    }


def answered(measured: list[Measurement]) -> list[Key]:
    """Keys of what was answered, sorted, repetitions kept."""
    return sorted((each.output_id, each.quantity, each.condition) for each in measured)


def answer(measured: list[Measurement], *key: str) -> Measurement:
    """The one answer whose key contains all of these words."""
    found = [
        each for each in measured if set(key) <= {each.output_id, each.quantity, each.condition}
    ]
    assert len(found) == 1, found
    return found[0]
