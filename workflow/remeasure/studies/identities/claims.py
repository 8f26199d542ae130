"""How an article's step answers its printed rows: each value from the row's own condition.

A row's condition names what its number depends on, as in ``d=768; n=512`` or ``K=3;
concentration 0.3; rng seed 303``. Steps read these from the row, so that no size, seed or
published total is typed a second time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from remeasure.errors import DataError
from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.ledger.reference import Reference
from remeasure.studies.identities.published import PUBLISHED, outputs_of

Value = float | int | str

_NUMBER = r"(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"


@dataclass(frozen=True)
class Case:
    """One printed row, and the numbers that its words hold."""

    row: Reference

    def has(self, *words: str) -> bool:
        """Whether quantity and condition hold all of these words."""
        text = f"{self.row.quantity}; {self.row.condition}"
        return all(word in text for word in words)

    def number(self, name: str) -> float:
        """The number after ``name``, as in ``d=768``, ``seed 303`` or ``published 60``.

        Raises
        ------
        DataError
            When neither condition nor quantity holds one.
        """
        pattern = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}[= ]{_NUMBER}")
        for text in (self.row.condition, self.row.quantity):
            match = pattern.search(text)
            if match is not None:
                return float(match[1])
        raise DataError(
            f"the row names no number {name!r}",
            where=", ".join(self.row.key),
            remedy="write it into the condition of reference.csv, as in n=512",
        )

    def whole(self, name: str) -> int:
        """The same where it is an integer."""
        number = self.number(name)
        if not number.is_integer():
            raise DataError(
                f"{name!r} is {number:g}, not an integer",
                where=", ".join(self.row.key),
                remedy="correct the condition in reference.csv",
            )
        return int(number)

    @property
    def first(self) -> str:
        """The condition up to its first semicolon, as the name of a model."""
        return self.row.condition.partition(";")[0]

    @property
    def printed(self) -> float:
        """The printed number; DataError where the row prints words."""
        if self.row.number is None:
            raise DataError(
                "the row prints no number",
                where=", ".join(self.row.key),
                remedy="ask for rows with numbers only",
            )
        return float(self.row.number)


class Book:
    """The answers to the rows of one article.

    Parameters
    ----------
    article
        As in ``transformers``: the first word of its output ids.
    """

    def __init__(self, article: str) -> None:
        self.outputs = outputs_of(article)
        self._measured: list[Measurement] = []

    def cases(self, output: str, quantity: str = "", *words: str) -> list[Case]:
        """The measurable rows of an output, of one quantity, that hold all of these words."""
        return [
            case
            for row in PUBLISHED.measurable([output])
            if quantity in ("", row.quantity) and (case := Case(row)).has(*words)
        ]

    def case(self, output: str, quantity: str = "", *words: str) -> Case:
        """The one such row.

        Raises
        ------
        DataError
            When there is none, or more than one.
        """
        found = self.cases(output, quantity, *words)
        if len(found) != 1:
            raise DataError(
                f"{len(found)} rows of {output} fit {quantity!r} and {words}, not one",
                where="reference.csv",
                remedy="correct the words",
            )
        return found[0]

    def put(
        self,
        case: Case,
        value: Value,
        *,
        low: float | None = None,
        high: float | None = None,
        n: int | None = None,
        note: str = "",
        coverage: str = WHOLE,
    ) -> None:
        """Answer one row; see ``Measurement`` for the arguments."""
        output, quantity, condition = case.row.key
        self._measured.append(
            Measurement(
                output_id=output,
                quantity=quantity,
                condition=condition,
                value=value,
                low=low,
                high=high,
                n=n,
                note=note,
                coverage=coverage,
            )
        )

    def fill(
        self, output: str, quantity: str, formula: Callable[[Case], Value], *, note: str = ""
    ) -> None:
        """Answer every row of a quantity by a formula of its condition.

        Raises
        ------
        DataError
            When no row has this quantity.
        """
        cases = self.cases(output, quantity)
        if not cases:
            raise DataError(
                f"{output} has no rows {quantity!r}",
                where="reference.csv",
                remedy="write the quantity letter for letter",
            )
        for case in cases:
            self.put(case, formula(case), note=note)

    def one(self, output: str, quantity: str, value: Value, *words: str, note: str = "") -> None:
        """Answer the one row that fits."""
        self.put(self.case(output, quantity, *words), value, note=note)

    def measurements(self) -> list[Measurement]:
        """One answer a row, in the order of the file; ValueError for a row answered twice."""
        return PUBLISHED.answer_all(self._measured, self.outputs, "no step measures it")
