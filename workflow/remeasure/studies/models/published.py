"""The printed numbers that follow from definitions of models, and how they are answered.

`reference.csv` holds rows of several study cards, copied letter for letter; ``source`` names the
card and its output. An output here is called after both (``bert_fig_param_parts``).

What a row asks is a quantity of an output under a condition. Answers are therefore rules: by
output and quantity a value, or a function of the condition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from remeasure.ledger.measurement import WHOLE, Measurement, not_run
from remeasure.ledger.published import Published
from remeasure.ledger.reference import Key, Reference

PACKAGE_FILES = ("reference.csv",)

_PUBLISHED = Published(Path(__file__).parent / PACKAGE_FILES[0])

UNANSWERED = "no definition in the model room answers this row yet"


@dataclass(frozen=True)
class Answer:
    """A value with what has to be said about it; without a value: why there is none."""

    value: float | int | str | None
    note: str = ""


Given = float | int | str | Answer
Rule = Given | Callable[[str], Given]

#: By quantity.
Rules = Mapping[str, Rule]


def rows() -> dict[Key, Reference]:
    """All rows in the order of the file, by key (output, quantity, condition)."""
    return _PUBLISHED.rows


def printed(output: str, quantity: str, condition: str) -> float:
    """The printed number of one row; KeyError when there is none."""
    return _PUBLISHED.printed(output, quantity, condition)


def answer(rules: Mapping[str, Rules]) -> list[Measurement]:
    """One answer to each row of these outputs.

    Parameters
    ----------
    rules
        By output and quantity.

    Raises
    ------
    ValueError
        When a rule answers no row: its output or quantity is misspelled.
    """
    asked = {row.key[:2] for row in _PUBLISHED.measurable(rules)}
    given = {(output, quantity) for output, own in rules.items() for quantity in own}
    if unasked := sorted(given - asked):
        raise ValueError(f"no row asks for {unasked}")
    return [
        _answered(row, rules[row.output_id].get(row.quantity))
        for row in _PUBLISHED.measurable(rules)
    ]


def merged(*parts: Mapping[str, Rules]) -> dict[str, Rules]:
    """Rules of several topics; an output may take its quantities from more than one.

    Raises
    ------
    ValueError
        When two answer the same quantity.
    """
    out: dict[str, dict[str, Rule]] = {}
    for rules in parts:
        for output, own in rules.items():
            known = out.setdefault(output, {})
            if twice := sorted(known.keys() & own.keys()):
                raise ValueError(f"{output}: {twice} answered twice")
            known.update(own)
    return dict(out)


def _answered(row: Reference, rule: Rule | None) -> Measurement:
    if rule is None:
        return not_run(*row.key, UNANSWERED)
    given = rule(row.condition) if callable(rule) else rule
    found = given if isinstance(given, Answer) else Answer(given)
    if found.value is None:
        return not_run(*row.key, found.note)
    return Measurement(
        output_id=row.output_id,
        quantity=row.quantity,
        condition=row.condition,
        value=found.value,
        coverage=WHOLE,
        note=found.note,
    )


def outputs_of(cards: Iterable[str]) -> list[str]:
    """Outputs of some cards, in the order of the file."""
    wanted = frozenset(cards)
    found = (row.output_id for row in rows().values() if row.source.partition(":")[0] in wanted)
    return list(dict.fromkeys(found))
