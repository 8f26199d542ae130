"""Both sides of every identity, held against each other where they are computed.

A step gives each identity two values that were found on two routes: closed form and brute
force, enumeration and simulation, definition and library. Where they disagree the step
stops, so that no number of an article rests on one route alone. What was compared, and how
closely it agreed, is a result of the step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from remeasure.errors import DataError

Floats = npt.NDArray[np.float64]

#: Distance from 1 to the next larger float64.
EPS = float(np.finfo(np.float64).eps)

#: Beyond so many standard errors a simulation contradicts a closed form.
STANDARD_ERRORS = 5.0


@dataclass(frozen=True)
class Check:
    """One identity that held.

    Attributes
    ----------
    identity
        The claim in words.
    one, other
        The two routes.
    cases
        How many values were compared.
    worst, allowed
        Largest disagreement and its limit, in ``unit``; for ``control`` the value that must
        not be small, and the least that it may be.
    unit
        ``exact``, ``epsilon``, ``absolute``, ``standard errors`` or ``control``.
    """

    identity: str
    one: str
    other: str
    cases: int
    worst: float
    allowed: float
    unit: str


def _refuse(identity: str, one: str, other: str, what: str) -> NoReturn:
    raise DataError(
        f"two sides of an identity disagree: {what}",
        where=f"{identity} ({one} against {other})",
        remedy="one of the two routes is wrong: correct its code before any number is trusted",
    )


class Sides:
    """The identities of one article, checked one by one and remembered."""

    def __init__(self) -> None:
        self.checks: list[Check] = []

    def exact(
        self, identity: str, one: str, ours: Iterable[Any], other: str, theirs: Iterable[Any]
    ) -> None:
        """Integers, fractions or words that must be equal one by one.

        Raises
        ------
        DataError
            Where the sides differ in length or in a value.
        """
        left, right = list(ours), list(theirs)
        if not left or len(left) != len(right):
            _refuse(identity, one, other, f"{len(left)} values against {len(right)}")
        for a, b in zip(left, right, strict=True):
            if a != b:
                _refuse(identity, one, other, f"{a} is not {b}")
        self.checks.append(Check(identity, one, other, len(left), 0.0, 0.0, "exact"))

    def close(
        self,
        identity: str,
        one: str,
        ours: npt.ArrayLike,
        other: str,
        theirs: npt.ArrayLike,
        *,
        units: float,
        scale: float = 1.0,
    ) -> float:
        """Floats that must agree within ``units`` of machine epsilon times ``scale``.

        Returns
        -------
        The largest absolute difference.

        Raises
        ------
        DataError
            Where they do not, or where a value is not finite.
        """
        left, right = np.atleast_1d(np.asarray(ours, float)), np.asarray(theirs, float)
        worst = float(np.max(np.abs(left - right)))
        # Not "worst > allowed": NaN must fail.
        if not worst <= units * EPS * scale:
            what = f"{worst:.3g} apart, {units * EPS * scale:.3g} allowed"
            _refuse(identity, one, other, what)
        size = int(np.broadcast(left, right).size)
        self.checks.append(Check(identity, one, other, size, worst / EPS / scale, units, "epsilon"))
        return worst

    def near(
        self,
        identity: str,
        one: str,
        ours: npt.ArrayLike,
        other: str,
        theirs: npt.ArrayLike,
        *,
        tolerance: float,
    ) -> None:
        """Floats that must agree within an error of truncation, not of rounding.

        Raises
        ------
        DataError
            Where they do not, or where a value is not finite.
        """
        left, right = np.atleast_1d(np.asarray(ours, float)), np.asarray(theirs, float)
        worst = float(np.max(np.abs(left - right)))
        if not worst <= tolerance:
            _refuse(identity, one, other, f"{worst:.3g} apart, {tolerance:.3g} allowed")
        size = int(np.broadcast(left, right).size)
        self.checks.append(Check(identity, one, other, size, worst, tolerance, "absolute"))

    def simulated(
        self,
        identity: str,
        one: str,
        ours: npt.ArrayLike,
        other: str,
        theirs: npt.ArrayLike,
        errors: npt.ArrayLike,
    ) -> None:
        """Closed forms against means of simulations with these standard errors.

        Raises
        ------
        DataError
            Where one lies more than ``STANDARD_ERRORS`` off.
        """
        left, right = np.atleast_1d(np.asarray(ours, float)), np.asarray(theirs, float)
        worst = float(np.max(np.abs(left - right) / np.asarray(errors, float)))
        if not worst <= STANDARD_ERRORS:
            _refuse(identity, one, other, f"{worst:.1f} standard errors apart")
        self.checks.append(
            Check(identity, one, other, left.size, worst, STANDARD_ERRORS, "standard errors")
        )

    def at_most(
        self,
        identity: str,
        one: str,
        ours: npt.ArrayLike,
        other: str,
        theirs: npt.ArrayLike,
        *,
        units: float = 0.0,
    ) -> None:
        """Values that must not exceed others, but for ``units`` of machine epsilon.

        Raises
        ------
        DataError
            Where one does.
        """
        left, right = np.atleast_1d(np.asarray(ours, float)), np.asarray(theirs, float)
        worst = max(0.0, float(np.max(left - right)))
        if not np.all(left - right <= units * EPS):
            _refuse(identity, one, other, f"exceeded by {worst:.3g}")
        size = int(np.broadcast(left, right).size)
        self.checks.append(Check(identity, one, other, size, worst / EPS, units, "epsilon"))

    def control(self, identity: str, broken: str, value: float, at_least: float) -> None:
        """A case in which the identity must fail: a check that passes here would be blind.

        Raises
        ------
        DataError
            Where the residual is below ``at_least``.
        """
        if not (math.isfinite(value) and value >= at_least):
            _refuse(
                identity, broken, "the identity", f"{value:.3g}, at least {at_least:g} expected"
            )
        self.checks.append(Check(identity, broken, "must fail", 1, value, at_least, "control"))
