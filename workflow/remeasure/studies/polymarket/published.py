"""The printed numbers of the publication.

Rows of kind ``exact`` are arithmetic on other printed numbers. Those are read
here from ``reference.csv`` and typed nowhere again.
"""

from __future__ import annotations

from pathlib import Path

from remeasure.ledger.published import Published
from remeasure.ledger.reference import Key, Reference

PACKAGE_FILES = ("reference.csv",)

_PUBLISHED = Published(Path(__file__).parent / PACKAGE_FILES[0])

printed = _PUBLISHED.printed
measurable = _PUBLISHED.measurable
answer_all = _PUBLISHED.answer_all


def rows() -> dict[Key, Reference]:
    """All rows in the order of the file, by key (output, quantity, condition)."""
    return _PUBLISHED.rows
