"""The prisoner's dilemma's four payoffs, and what follows from them by algebra alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Payoffs:
    """Points for one round.

    Attributes
    ----------
    temptation
        T: for defecting against a cooperator.
    reward
        R: each, for cooperating together.
    punishment
        P: each, for defecting together.
    sucker
        S: for cooperating against a defector.
    """

    temptation: float
    reward: float
    punishment: float
    sucker: float

    @property
    def own(self) -> Floats:
        """The first player's points after CC, CD, DC, DD (own move first), shape ``(4,)``."""
        return np.array([self.reward, self.sucker, self.temptation, self.punishment], dtype=float)

    @property
    def other(self) -> Floats:
        """The second player's points after the same four outcomes, shape ``(4,)``."""
        return np.array([self.reward, self.temptation, self.sucker, self.punishment], dtype=float)

    @property
    def is_dilemma(self) -> bool:
        """Whether T > R > P > S: defection pays whatever the other does."""
        return self.temptation > self.reward > self.punishment > self.sucker

    @property
    def prefers_cooperation(self) -> bool:
        """Whether 2R > T + S: cooperating beats taking turns at exploiting each other."""
        return 2 * self.reward > self.temptation + self.sucker

    @property
    def alternation_threshold(self) -> float:
        """(T - R)/(R - S): the least w at which taking turns does not beat cooperation."""
        return (self.temptation - self.reward) / (self.reward - self.sucker)

    @property
    def defection_threshold(self) -> float:
        """(T - R)/(T - P): the least w at which defecting for good does not beat cooperation."""
        return (self.temptation - self.reward) / (self.temptation - self.punishment)

    @property
    def least_continuation(self) -> float:
        """The least w at which cooperation is a best reply to tit for tat (Axelrod 1981)."""
        return max(self.defection_threshold, self.alternation_threshold)

    @property
    def forgiveness_terms(self) -> tuple[float, float]:
        """1 - (T - R)/(R - S) and (R - P)/(T - P): below both, forgiveness q is safe."""
        return (
            1 - self.alternation_threshold,
            (self.reward - self.punishment) / (self.temptation - self.punishment),
        )

    @property
    def largest_forgiveness(self) -> float:
        """The largest probability q to forgive that no invader can exploit (Molander 1985)."""
        return min(self.forgiveness_terms)


#: The values of Axelrod's tournaments (Axelrod and Hamilton 1981).
AXELROD = Payoffs(temptation=5, reward=3, punishment=1, sucker=0)


def defecting(w: Floats, payoffs: Payoffs = AXELROD) -> Floats:
    """Discounted mean of always defecting against tit for tat: (1 - w)T + wP."""
    return (1 - w) * payoffs.temptation + w * payoffs.punishment


def alternating(w: Floats, payoffs: Payoffs = AXELROD) -> Floats:
    """Discounted mean of defecting and making up in turns: (T + wS)/(1 + w)."""
    return (payoffs.temptation + w * payoffs.sucker) / (1 + w)


def alternating_invader(q: Floats, payoffs: Payoffs = AXELROD) -> Floats:
    """Points a round of taking turns against a forgiving resident: (T + qR + (1 - q)S)/2."""
    return (payoffs.temptation + q * payoffs.reward + (1 - q) * payoffs.sucker) / 2


def defecting_invader(q: Floats, payoffs: Payoffs = AXELROD) -> Floats:
    """Points a round of always defecting against a forgiving resident: qT + (1 - q)P."""
    return q * payoffs.temptation + (1 - q) * payoffs.punishment


def cooperation_rate(q: Floats, mistakes: float) -> Floats:
    """How often either of two forgiving players cooperates: x = (e + aq)/(1 - a(1 - q)).

    Each intended move is flipped with probability e, and a = 1 - 2e. The rate solves
    x = e + a(q + (1 - q)x) = (e + aq) + a(1 - q)x: a player cooperates after the
    other's cooperation, and after its defection with probability q.
    """
    a = 1 - 2 * mistakes
    return (mistakes + a * q) / (1 - a * (1 - q))
