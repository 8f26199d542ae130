"""The printed numbers of the essay, and how steps answer them.

Conditions of the rows spell settings (``t=0.5, Euler step 0.01``). Steps spell their own settings
the same way, so a run with other settings answers no such row, and the row says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.ledger.published import Published
from remeasure.ledger.reference import Key, Reference

PACKAGE_FILES = ("reference.csv",)

_PUBLISHED = Published(Path(__file__).parent / PACKAGE_FILES[0])

printed = _PUBLISHED.printed

OTHER_SETTINGS = "this run's settings are not those that the row names"


def rows() -> dict[Key, Reference]:
    """All rows in the order of the file, by key (output, quantity, condition)."""
    return _PUBLISHED.rows


def conditions(output: str, quantity: str) -> list[str]:
    """Conditions of the rows that print one quantity of an output, in the order of the file."""
    return [key[2] for key in rows() if key[:2] == (output, quantity)]


def argument(condition: str) -> float:
    """The number that a condition names first, as in ``t=0.05, Euler step 0.01``.

    >>> argument("t=0.05, Euler step 0.01"), argument("centre 1.25"), argument("width 0.2, centre")
    (0.05, 1.25, 0.2)
    """
    return float(condition.partition(",")[0].replace("=", " ").split()[-1])


def measurement(
    key: Key,
    value: float | int | str,
    *,
    low: float | None = None,
    high: float | None = None,
    n: int | None = None,
    coverage: str = WHOLE,
    note: str = "",
) -> Measurement:
    """A measurement that answers the row ``key``; arguments as in `Measurement`."""
    output, quantity, condition = key
    return Measurement(
        output_id=output,
        quantity=quantity,
        condition=condition,
        value=value,
        low=low,
        high=high,
        n=n,
        coverage=coverage,
        note=note,
    )


def answer_known(measured: Iterable[Measurement], outputs: Iterable[str]) -> list[Measurement]:
    """One answer to each row of the outputs; what no row prints is left out.

    A row whose settings this run does not have is not run.
    """
    known = [
        each
        for each in measured
        if (each.output_id, each.quantity, each.condition) in _PUBLISHED.rows
    ]
    return _PUBLISHED.answer_all(known, outputs, OTHER_SETTINGS)
