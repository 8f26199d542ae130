"""The printed numbers of the publication, and how steps answer them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.ledger.published import Published
from remeasure.ledger.reference import Key, Reference

PACKAGE_FILES = ("reference.csv",)

_PUBLISHED = Published(Path(__file__).parent / PACKAGE_FILES[0])

printed = _PUBLISHED.printed


def rows() -> dict[Key, Reference]:
    """All rows in the order of the file, by key (output, quantity, condition)."""
    return _PUBLISHED.rows


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


def answer(
    measured: Iterable[Measurement], outputs: Iterable[str], reasons: Mapping[str, str]
) -> list[Measurement]:
    """One answer to each row of the outputs; what was not measured says why, by output."""
    found = list(measured)
    answers: list[Measurement] = []
    for output in outputs:
        own = [each for each in found if each.output_id == output]
        why = reasons.get(output, "no step of this run measures it")
        answers += _PUBLISHED.answer_all(own, [output], why)
    return answers
