"""The printed numbers of the publication, and what of its window a run covers.

Rows of kind ``exact`` are arithmetic on other printed numbers. Those are read
here from ``reference.csv`` and typed nowhere again.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterable
from datetime import date
from functools import cache
from pathlib import Path

from remeasure.ledger.measurement import WHOLE, Measurement, not_run
from remeasure.ledger.reference import Key, Reference, read_references
from remeasure.studies.crypto.coverage import FIRST, LAST, coverage
from remeasure.studies.crypto.series import coin
from remeasure.studies.crypto.settings import Dataset, Interval, Symbol, WalkForwardSettings

PACKAGE_FILES = ("reference.csv",)

#: The publication's first test month and the coins that it pools.
FIRST_TEST = "2022-01"
POOLED = frozenset({"BTCUSDT", "ETHUSDT", "SOLUSDT"})


@cache
def rows() -> dict[Key, Reference]:
    """All rows in the order of the file, by key (output, quantity, condition)."""
    path = Path(__file__).parent / PACKAGE_FILES[0]
    return {row.key: row for row in read_references(path)}


def printed(output_id: str, quantity: str, condition: str) -> float:
    """The printed number of one row; KeyError when there is none."""
    number = rows()[output_id, quantity, condition].number
    if number is None:
        raise KeyError(f"{output_id}, {quantity}, {condition} prints no number")
    return float(number)


def measurable(outputs: Iterable[str]) -> tuple[Reference, ...]:
    """The rows of some outputs that steps have to answer: all but the quoted ones."""
    wanted = frozenset(outputs)
    return tuple(row for row in rows().values() if row.output_id in wanted and row.kind != "cited")


def answer_all(
    measured: Iterable[Measurement], outputs: Iterable[str], reason: str
) -> list[Measurement]:
    """One answer to each row of the outputs: what was measured, else ``not run`` for a reason.

    Raises
    ------
    ValueError
        When a measurement answers no row of the outputs, or one that is answered already.
    """
    expected = [row.key for row in measurable(outputs)]
    answers: dict[Key, Measurement] = {}
    for each in measured:
        key = (each.output_id, each.quantity, each.condition)
        if key not in expected or key in answers:
            raise ValueError(f"{key} answers no row of reference.csv, or one answered already")
        answers[key] = each
    return [answers.get(key) or not_run(*key, reason) for key in expected]


def walked_coverage(
    walk_forward: WalkForwardSettings, candles: Dataset, base: Interval, coins: tuple[Symbol, ...]
) -> str:
    """``whole`` when forecasts rest on the publication's window, base and monthly refits.

    Else what is missing, in words. Everything measured on the forecasts shares it.
    """
    year, month = map(int, walk_forward.last_test.split("-"))
    tested_first = date.fromisoformat(f"{walk_forward.first_test}-01")
    tested_last = min(date(year, month, monthrange(year, month)[1]), candles.last)
    tested = coverage(
        tested_first,
        max(tested_first, tested_last),
        published_first=date.fromisoformat(f"{FIRST_TEST}-01"),
        published_last=LAST,
        base=base,
        base_matters=True,
    )
    parts = [] if tested == WHOLE else [tested]
    if candles.first != FIRST:
        parts.append(f"trained from {candles.first}, not {FIRST}")
    if walk_forward.refit_months != 1:
        parts.append(f"refitted every {walk_forward.refit_months} months, not every month")
    if frozenset(coins) != POOLED:
        parts.append(f"pooled over {', '.join(map(coin, coins))}")
    return ", ".join(parts) or WHOLE
