"""The printed numbers of the essay, and how the step answers them."""

from __future__ import annotations

from pathlib import Path

from remeasure.ledger.measurement import Measurement
from remeasure.ledger.published import Published
from remeasure.ledger.reference import Key, Reference

PACKAGE_FILES = ("reference.csv",)

_PUBLISHED = Published(Path(__file__).parent / PACKAGE_FILES[0])

answer_all = _PUBLISHED.answer_all


def rows() -> dict[Key, Reference]:
    """All rows in the order of the file, by key (output, quantity, condition)."""
    return _PUBLISHED.rows


def answer(key: Key, value: float | int, note: str = "") -> Measurement:
    """A measurement that answers the row ``key``."""
    output, quantity, condition = key
    return Measurement(
        output_id=output, quantity=quantity, condition=condition, value=value, note=note
    )
