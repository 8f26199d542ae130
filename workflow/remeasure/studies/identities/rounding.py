"""Residuals that are rounding alone: printed as 1e-15, checked as bounds."""

from __future__ import annotations

from remeasure.studies.identities.claims import Book, Case
from remeasure.studies.identities.sides import EPS


def gamma(operations: float) -> float:
    """``n u / (1 - n u)`` with u half of machine epsilon: the relative error of n roundings.

    Higham, Accuracy and Stability of Numerical Algorithms (2002), lemma 3.1.
    """
    error = operations * EPS / 2
    return error / (1 - error)


def bound_note(case: Case, residual: float, bound: float, missing: str) -> str:
    """What a row that prints a rounding residual has to say."""
    printed = abs(case.printed)
    return (
        f"underdetermined: {missing}; a rounding residual depends on the order of summation, so it"
        f" is checked as a bound and not digit by digit: ours is {residual / EPS:.1f} units of"
        f" machine epsilon, the printed one {printed / EPS:.1f}, possible are 0 to"
        f" {bound / EPS:.0f}"
    )


def put_residual(
    book: Book, case: Case, residual: float, bound: float, missing: str, *, signed: bool = False
) -> None:
    """Answer a row that prints a rounding residual: its value, and the range that rounding allows.

    Parameters
    ----------
    residual, bound
        What was measured, and the largest that an error analysis allows, both absolute.
    missing
        What the article does not print.
    signed
        Whether the residual has a sign: the range is then symmetric.
    """
    note = bound_note(case, abs(residual), bound, missing)
    book.put(case, residual, low=-bound if signed else 0.0, high=bound, note=note)
