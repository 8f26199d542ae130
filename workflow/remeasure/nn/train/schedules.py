"""Learning rates over the steps of a training.

Every function returns a schedule: a call of the step, counted from 0, that gives the rate of
that step's update. `OneCycle` also moves the first moment of the optimiser, as torch does
unless told otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Schedule = Callable[[int], float]


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) * 0.5 * (1.0 + math.cos(math.pi * share))


@dataclass(frozen=True, kw_only=True)
class OneCycle:
    """Up, then down, both along a cosine, while momentum goes the other way (Smith 2018).

    The same numbers as torch's ``OneCycleLR`` with its defaults.

    Attributes
    ----------
    peak, steps
        Largest rate; updates in all, at least 2.
    warm
        Share of the steps that go up.
    start, end
        The first rate is ``peak / start``, the last is that divided by ``end``.
    momentum
        First beta of AdamW at the ends and at the peak; None leaves it alone.
    """

    peak: float
    steps: int
    warm: float = 0.3
    start: float = 25.0
    end: float = 1e4
    momentum: tuple[float, float] | None = (0.95, 0.85)

    def _between(self, step: int, low: float, high: float, last: float) -> float:
        turn = self.warm * self.steps - 1.0
        if step <= turn:
            return _cosine(low, high, step / turn)
        return _cosine(high, last, (step - turn) / (self.steps - 1.0 - turn))

    def __call__(self, step: int) -> float:
        """The rate of this step."""
        first = self.peak / self.start
        return self._between(step, first, self.peak, first / self.end)

    def beta(self, step: int) -> float | None:
        """The first beta of this step; None where it stays as the plan says."""
        if self.momentum is None:
            return None
        ends, peak = self.momentum
        return self._between(step, ends, peak, ends)


def one_cycle(peak: float, steps: int, *, warm: float = 0.3) -> OneCycle:
    """`OneCycle` with everything else as torch has it."""
    return OneCycle(peak=peak, steps=steps, warm=warm)


def constant(rate: float, *, warm: int = 0) -> Schedule:
    """The same rate throughout, after ``warm`` steps of ``rate * (step + 1) / warm``."""
    return lambda step: rate * min(1.0, (step + 1) / max(1, warm))


def warmup_cosine(peak: float, steps: int, *, warm: int, floor: float = 0.1) -> Schedule:
    """``peak * (step + 1) / warm``, then half a cosine towards ``floor * peak``.

    Step ``warm`` still has the peak, and the floor would be reached at step ``steps``.
    """

    def rate(step: int) -> float:
        if step < warm:
            return peak * (step + 1) / warm
        return _cosine(peak, floor * peak, min(1.0, (step - warm) / max(1, steps - warm)))

    return rate


def warmup_linear(
    peak: float, steps: int, *, warm: int, join: Literal["smaller", "product"] = "smaller"
) -> Schedule:
    """A line up over ``warm`` steps and a line down to zero at step ``steps``.

    Parameters
    ----------
    join
        *smaller*: the line down starts at the peak when the line up ends (Devlin et al. 2018).
        *product*: it starts at step 0 and multiplies the other, so that the peak is never
        reached.
    """

    def rate(step: int) -> float:
        up = (step + 1) / max(1, warm)
        if join == "product":
            return peak * min(1.0, up) * max(0.0, 1.0 - step / steps)
        return peak * min(1.0, up, max(0.0, (steps - step) / max(1, steps - warm)))

    return rate


def warmup_stable_decay(
    peak: float,
    steps: int,
    *,
    warm: int,
    decay: int,
    floor: float = 0.0,
    shape: Literal["linear", "root"] = "linear",
) -> Schedule:
    """A line up, a plateau, and a fall over the last ``decay`` steps (Zhai et al. 2022).

    Parameters
    ----------
    floor
        Share of the peak that would be reached at step ``steps``.
    shape
        The fall is linear, or ``1 - sqrt`` of the share of it that is over (Hägele et al.
        2024).
    """

    def rate(step: int) -> float:
        if step < warm:
            return peak * (step + 1) / warm
        over = min(1.0, max(0.0, (step - (steps - decay)) / max(1, decay)))
        over = over if shape == "linear" else math.sqrt(over)
        return peak * (1.0 - (1.0 - floor) * over)

    return rate


def inverse_sqrt(peak: float, *, warm: int) -> Schedule:
    """A line up over ``warm`` steps, then ``sqrt(warm / (step + 1))`` (Vaswani et al. 2017)."""
    turn = max(1, warm)
    return lambda step: peak * min((step + 1) / turn, math.sqrt(turn / (step + 1)))
