"""What a step says about a published number. Kept small: every measuring step imports it."""

from __future__ import annotations

from dataclasses import dataclass

WHOLE = "whole"

#: Where a value may rest, weakest first; ``computed`` is mathematics without data.
ORIGINS = ("generated", "files", "mirror", "package", "public", "computed")


def weakest(origins: list[str]) -> str:
    """The origin that counts where a value rests on several; ``computed`` for none."""
    return min(origins, key=ORIGINS.index, default="computed")


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One measured value that answers one row of a study's ``reference.csv``.

    The dispatcher adds the origin (weakest of the inputs'), the step and the artifact.

    Attributes
    ----------
    output_id, quantity, condition
        The key of the reference row, letter for letter.
    value
        In the row's unit. A string where the published value is not a number;
        None where this run cannot measure the row: ``note`` then says why.
    low, high
        95% interval, wherever sampling error exists.
    n
        Number of observations behind the value.
    truth
        The planted truth of this very quantity, on generated data where it is known.
    coverage
        ``whole`` when at least 99.9% of the row's own window, sample and scale
        was measured; otherwise what is missing, in words.
    note
        Anything that the reader of the row must know.
    """

    output_id: str
    quantity: str
    condition: str = ""
    value: float | int | str | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    truth: float | None = None
    coverage: str = WHOLE
    note: str = ""


def not_run(output_id: str, quantity: str, condition: str, reason: str) -> Measurement:
    """A row that this run cannot measure, with the reason."""
    return Measurement(
        output_id=output_id, quantity=quantity, condition=condition, value=None, note=reason
    )
