"""The printed numbers of one publication, and how a step answers them.

A study's own ``published.py`` declares ``reference.csv`` as a file of the package, so that
its fingerprint covers it, and makes one `Published` of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from remeasure.ledger.measurement import Measurement, not_run
from remeasure.ledger.reference import Key, Reference, read_references


class Published:
    """The rows of one ``reference.csv``: read once, when first asked for.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def rows(self) -> dict[Key, Reference]:
        """All rows in the order of the file, by key (output, quantity, condition)."""
        return {row.key: row for row in read_references(self._path)}

    def printed(self, output_id: str, quantity: str, condition: str) -> float:
        """The printed number of one row; KeyError when there is none."""
        number = self.rows[output_id, quantity, condition].number
        if number is None:
            raise KeyError(f"{output_id}, {quantity}, {condition} prints no number")
        return float(number)

    def measurable(self, outputs: Iterable[str]) -> tuple[Reference, ...]:
        """The rows of some outputs that steps have to answer: all but the quoted ones."""
        wanted = frozenset(outputs)
        return tuple(
            row for row in self.rows.values() if row.output_id in wanted and row.kind != "cited"
        )

    def answer_all(
        self, measured: Iterable[Measurement], outputs: Iterable[str], reason: str
    ) -> list[Measurement]:
        """One answer to each row of the outputs: what was measured, else ``not run``.

        Raises
        ------
        ValueError
            When a measurement answers no row of the outputs, or one that is answered already.
        """
        expected = [row.key for row in self.measurable(outputs)]
        answers: dict[Key, Measurement] = {}
        for each in measured:
            key = (each.output_id, each.quantity, each.condition)
            if key not in expected or key in answers:
                raise ValueError(
                    f"{key} answers no row of {self._path.name}, or one answered already"
                )
            answers[key] = each
        return [answers.get(key) or not_run(*key, reason) for key in expected]
