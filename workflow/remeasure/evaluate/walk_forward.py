"""Walk-forward folds by months: train on the past, leave a gap, test on the month that follows.

A fold knows only times. Rows are described by when their target begins and when
it has ended, so that targets of any length can be split by the same rule: a row
may be trained on only once its target is known, and then only when at least the
gap lies between that moment and the first row tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from remeasure.errors import ConfigError

Times = npt.NDArray[np.datetime64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Fold:
    """One refit: what it may learn from and which months it predicts.

    Attributes
    ----------
    first, last
        First and last month predicted, ``YYYY-MM``, both included.
    start, end
        Begin of the first month and end of the last (excluded), UTC.
    cutoff
        ``start`` less the gap: a training target has ended by then.
    """

    first: str
    last: str
    start: np.datetime64
    end: np.datetime64
    cutoff: np.datetime64

    def train(self, target_end: Times) -> Mask:
        """Rows, shape ``(n,)``, whose target has ended at or before the cutoff."""
        return np.asarray(target_end <= self.cutoff)

    def test(self, target_start: Times) -> Mask:
        """Rows, shape ``(n,)``, whose target begins inside the fold's months."""
        return np.asarray((target_start >= self.start) & (target_start < self.end))


def months(first: str, last: str) -> tuple[str, ...]:
    """All months from ``first`` to ``last``, both included, as ``YYYY-MM``.

    Raises
    ------
    ConfigError
        When ``first`` is after ``last``.
    """
    low, high = np.datetime64(first, "M"), np.datetime64(last, "M")
    if low > high:
        raise ConfigError(
            f"the first test month ({first}) is after the last ({last})",
            where="walk-forward",
            remedy="set first_test to last_test or an earlier month",
        )
    return tuple(str(month) for month in np.arange(low, high + 1))


def folds(first: str, last: str, *, gap_hours: int, refit_months: int = 1) -> tuple[Fold, ...]:
    """Folds with an expanding training window, refitted every ``refit_months``.

    Refits are counted from ``first``, never from the data, so that a run over a
    part of the months uses the same models as a run over all. The last fold may
    be shorter than the others.

    Parameters
    ----------
    first, last
        First and last month predicted, ``YYYY-MM``.
    gap_hours
        Hours between the end of the last training target and the first test month.
    refit_months
        Months predicted by one model.

    Returns
    -------
    tuple of Fold
        In time order; their months are disjoint and cover ``first`` to ``last``.

    Raises
    ------
    ConfigError
        When the months are not in order, the gap is negative or no month is left to a refit.
    """
    if gap_hours < 0 or refit_months < 1:
        raise ConfigError(
            f"gap_hours ({gap_hours}) and refit_months ({refit_months}) are out of range",
            where="walk-forward",
            remedy="set gap_hours to 0 or more and refit_months to 1 or more",
        )
    every = months(first, last)
    gap = np.timedelta64(gap_hours, "h")

    def each() -> Iterator[Fold]:
        for index in range(0, len(every), refit_months):
            block = every[index : index + refit_months]
            start = np.datetime64(block[0], "M").astype("datetime64[us]")
            end = (np.datetime64(block[-1], "M") + 1).astype("datetime64[us]")
            yield Fold(first=block[0], last=block[-1], start=start, end=end, cutoff=start - gap)

    return tuple(each())
