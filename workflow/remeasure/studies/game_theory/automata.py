"""Strategies as probabilistic automata, and their exact expected payoffs without any sampling.

An automaton is in a state; the state gives the probability to cooperate; the pair (own move,
other's move) gives the next state. Two automata that play each other are one Markov chain on
pairs of states, so every mean payoff is linear algebra. Many pairs are solved at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from remeasure.studies.game_theory.payoffs import AXELROD, Floats, Payoffs

Ints = npt.NDArray[np.int64]

#: Outcomes of a round, the first player's move first.
OUTCOMES = ("CC", "CD", "DC", "DD")


@dataclass(frozen=True, eq=False)
class Automaton:
    """One strategy; it starts in state 0.

    Attributes
    ----------
    cooperate
        Probability of C in each state, shape ``(k,)``.
    after
        Next state by state, own move and other's move (0 is C, 1 is D), shape ``(k, 2, 2)``.
    """

    cooperate: Floats
    after: Ints

    def __post_init__(self) -> None:
        count = self.cooperate.size
        if np.any((self.cooperate < 0) | (self.cooperate > 1)):
            raise ValueError(f"probabilities must lie between 0 and 1: {self.cooperate.tolist()}")
        if self.after.shape != (count, 2, 2) or np.any((self.after < 0) | (self.after >= count)):
            raise ValueError(f"the next states of {count} states must be among them")

    @property
    def states(self) -> int:
        """Number of states."""
        return int(self.cooperate.size)


def memory_one(first: float, cc: float, cd: float, dc: float, dd: float) -> Automaton:
    """A strategy that remembers one round: p(C) at first, then after each outcome (own first)."""
    after = np.broadcast_to(np.array([[1, 2], [3, 4]]), (5, 2, 2))
    return Automaton(np.array([first, cc, cd, dc, dd], dtype=float), after.astype(np.int64))


def with_mistakes(cooperate: Floats, mistakes: float) -> Floats:
    """Probability that C is played when each intended move is flipped with this probability."""
    return mistakes + (1 - 2 * mistakes) * cooperate


@dataclass(frozen=True, eq=False)
class Matches:
    """Pairs of automata as Markov chains on pairs of states.

    Attributes
    ----------
    moves
        Transition matrices, shape ``(pairs, n, n)``, rows sum to one.
    outcomes
        Probabilities of CC, CD, DC, DD in each state, shape ``(pairs, n, 4)``.
    """

    moves: Floats
    outcomes: Floats

    @classmethod
    def of(
        cls, first: Sequence[Automaton], second: Sequence[Automaton], mistakes: float = 0.0
    ) -> Matches:
        """The matches ``first[i]`` against ``second[i]``; memory sees the moves as played."""
        size = max(each.states for each in (*first, *second))
        one, two = _stacked(first, size), _stacked(second, size)
        p, q = (with_mistakes(each[0], mistakes) for each in (one, two))
        pairs = p.shape[0]
        own = np.stack([p, 1 - p], axis=2)[:, :, None, :, None]
        other = np.stack([q, 1 - q], axis=2)[:, None, :, None, :]
        # Axes: pair, own state, other's state, own move, other's move.
        chance = own * other
        moves = np.zeros((pairs, size * size, size * size))
        pair = np.arange(pairs)[:, None, None]
        here = (np.arange(size)[:, None] * size + np.arange(size))[None]
        for mine in (0, 1):
            for theirs in (0, 1):
                there = one[1][:, :, None, mine, theirs] * size + two[1][:, None, :, theirs, mine]
                np.add.at(moves, (pair, here, there), chance[..., mine, theirs])
        return cls(moves, chance.reshape(pairs, size * size, 4))

    def finite(self, rounds: int) -> Floats:
        """How often each outcome occurs in so many rounds, a mean, shape ``(pairs, 4)``."""
        at = np.zeros(self.moves.shape[:2])
        at[:, 0] = 1
        total = np.zeros_like(at)
        for _ in range(rounds):
            total += at
            at = np.einsum("pi,pij->pj", at, self.moves)
        return self._outcomes(total / rounds)

    def discounted(self, continuation: float) -> Floats:
        """Outcomes weighed by (1 - w)w^t, shape ``(pairs, 4)``: w is the chance of a next round.

        Raises
        ------
        ValueError
            When w is not in [0, 1).
        """
        if not 0 <= continuation < 1:
            raise ValueError(f"the chance of a next round must be in [0, 1), not {continuation}")
        size = self.moves.shape[1]
        start = np.zeros((self.moves.shape[0], size, 1))
        start[:, 0] = 1 - continuation
        backwards = np.eye(size) - continuation * self.moves.transpose(0, 2, 1)
        weights = np.asarray(np.linalg.solve(backwards, start), dtype=np.float64)
        return self._outcomes(weights[..., 0])

    def stationary(self) -> Floats:
        """Outcomes of an infinite match with one recurrent class, shape ``(pairs, 4)``."""
        size = self.moves.shape[1]
        balance = np.eye(size) - self.moves.transpose(0, 2, 1)
        system = np.concatenate([balance, np.ones((self.moves.shape[0], 1, size))], axis=1)
        right = np.zeros(size + 1)
        right[-1] = 1
        return self._outcomes(np.asarray(np.linalg.pinv(system), dtype=np.float64) @ right)

    def _outcomes(self, weights: Floats) -> Floats:
        return np.asarray(np.einsum("pn,pno->po", weights, self.outcomes))


def _stacked(automata: Sequence[Automaton], size: int) -> tuple[Floats, Ints]:
    """Automata of one size: states that are added lead to themselves and are never reached."""
    cooperate = np.zeros((len(automata), size))
    after = np.broadcast_to(np.arange(size)[:, None, None], (len(automata), size, 2, 2)).copy()
    for index, each in enumerate(automata):
        cooperate[index, : each.states] = each.cooperate
        after[index, : each.states] = each.after
    return cooperate, after


def points(outcomes: Floats, payoffs: Payoffs = AXELROD) -> tuple[Floats, Floats]:
    """Mean points a round of the first and of the second player, each of shape ``(pairs,)``."""
    return outcomes @ payoffs.own, outcomes @ payoffs.other


def every_pair(automata: Sequence[Automaton], mistakes: float = 0.0) -> Matches:
    """All n x n ordered pairs, row by row: pair ``i * n + j`` is i against j."""
    count = len(automata)
    return Matches.of(
        [automata[index // count] for index in range(count * count)],
        [automata[index % count] for index in range(count * count)],
        mistakes,
    )
