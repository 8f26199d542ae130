"""A finite population that imitates: its Markov chain, exactly solved and simulated.

A state counts the players of each strategy. In one step at most one player changes. The chain's
table of moves serves the exact stationary distribution and the simulation alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import SuperLU, splu

from remeasure.errors import DataError
from remeasure.studies.game_theory.automata import Ints
from remeasure.studies.game_theory.payoffs import Floats
from remeasure.studies.game_theory.settings import Rule

#: Largest number of states that is solved directly; four strategies of 100 players have 176,851.
MOST_STATES = 20_000

#: Jumps that are drawn at once.
BLOCK = 2048


@dataclass(frozen=True, eq=False)
class Population:
    """A population and how its players imitate.

    Attributes
    ----------
    payoffs
        Points a round of the row's strategy against the column's, shape ``(k, k)``.
    players
        N.
    rule
        ``fermi``: a random learner meets another player and adopts its strategy with
        probability 1/(1 + exp(-strength (f_model - f_learner))) (Szabó and Tőke 1998).
        ``better``: it adopts the strategy if the other earns more (half the time at a tie).
        ``moran``: a parent drawn by exp(strength f) puts its strategy in the place of a random
        player (Nowak et al. 2004).
    strength
        Of selection; ``better`` does not use it.
    mutation
        Chance that a step is a switch to one of the other strategies at random instead
        (``moran``: that the offspring mutates).
    """

    payoffs: Floats
    players: int
    rule: Rule
    strength: float
    mutation: float

    @property
    def strategies(self) -> int:
        """Number of strategies, k."""
        return int(self.payoffs.shape[0])

    @cached_property
    def states(self) -> Ints:
        """Every composition of N players into k counts, shape ``(states, k)``.

        Sorted by the first count, then by the second, and so on.
        """
        free = self.strategies - 1
        grid = np.indices((self.players + 1,) * free).reshape(free, -1).T
        kept = grid[grid.sum(axis=1) <= self.players]
        rest = self.players - kept.sum(axis=1, keepdims=True)
        return np.concatenate([kept, rest], axis=1).astype(np.int64)

    @cached_property
    def earnings(self) -> Floats:
        """What a player of each strategy earns on average from all others, ``(states, k)``.

        f_i = (sum_j A_ij n_j - A_ii)/(N - 1); without meaning where nobody plays i.
        """
        total = self.states @ self.payoffs.T - np.diag(self.payoffs)
        return np.asarray(total / (self.players - 1))

    @cached_property
    def mean_earnings(self) -> Floats:
        """Mean of all players' earnings, shape ``(states,)``."""
        return np.asarray((self.states * self.earnings).sum(axis=1) / self.players)

    @property
    def moves(self) -> tuple[tuple[int, int], ...]:
        """Possible changes of one player: from which strategy to which."""
        return tuple(permutations(range(self.strategies), 2))

    @cached_property
    def rates(self) -> Floats:
        """Probability of each move in one step, shape ``(states, k(k - 1))``."""
        n = self.states.astype(float)
        share, others = n / self.players, n / (self.players - 1)
        fresh = self.mutation / (self.strategies - 1)
        if self.rule == "moran":
            # Subtracting the best keeps the exponentials finite; it cancels in the shares.
            weight = n * np.exp(
                self.strength * (self.earnings - self.earnings.max(axis=1)[:, None])
            )
            born = weight / weight.sum(axis=1, keepdims=True)
            born = (1 - self.mutation) * born + fresh * (1 - born)
            columns = [share[:, i] * born[:, j] for i, j in self.moves]
        else:
            adopts = self._adoption()
            columns = [
                share[:, i]
                * (
                    fresh
                    + (1 - self.mutation)
                    * others[:, j]
                    * adopts(self.earnings[:, j] - self.earnings[:, i])
                )
                for i, j in self.moves
            ]
        return np.stack(columns, axis=1)

    def _adoption(self) -> Callable[[Floats], Floats]:
        """Chance to adopt the strategy of somebody who earns so much more."""
        if self.rule == "better":
            return lambda more: 0.5 * (1 + np.sign(more))
        return lambda more: 0.5 * (1 + np.tanh(self.strength * more / 2))

    @cached_property
    def neighbours(self) -> Ints:
        """The state after each move, shape ``(states, k(k - 1))``; itself where there is none."""
        free = self.strategies - 1
        place = np.zeros((self.players + 1,) * free, dtype=np.int64)
        place[tuple(self.states[:, :free].T)] = np.arange(self.states.shape[0])
        after = np.empty((self.states.shape[0], len(self.moves)), dtype=np.int64)
        here = np.arange(self.states.shape[0])
        for column, (i, j) in enumerate(self.moves):
            target = self.states.copy()
            target[:, i] -= 1
            target[:, j] += 1
            possible = self.states[:, i] > 0
            inside = np.where(possible[:, None], target, self.states)[:, :free]
            after[:, column] = np.where(possible, place[tuple(inside.T)], here)
        return after

    def matrix(self) -> sp.csr_array:
        """The transition matrix; rows sum to one."""
        count, moves = self.rates.shape
        row = np.repeat(np.arange(count), moves)
        jumps = sp.coo_array(
            (self.rates.ravel(), (row, self.neighbours.ravel())), shape=(count, count)
        ).tocsr()
        return (jumps + sp.diags_array(1 - self.rates.sum(axis=1))).tocsr()

    def stationary(self) -> Floats:
        """The exact stationary distribution, shape ``(states,)``: one sparse linear system.

        Raises
        ------
        DataError
            Without mutation, when every uniform population is an end; or with so many states
            that a direct solution would not fit.
        """
        count = self.states.shape[0]
        if self.mutation <= 0 or count > MOST_STATES:
            raise DataError(
                "without mutation there is no single stationary distribution"
                if self.mutation <= 0
                else f"{count} states are too many to solve directly (at most {MOST_STATES})",
                where="game_theory.population",
                remedy="set mutation above 0 and take three strategies, or simulate",
            )
        # One equation follows from the others: the last state's weight is set to one.
        known = self.matrix()[[-1], :-1].toarray().ravel()
        weight = np.append(self._balance.solve(known, trans="T"), 1.0)
        return np.asarray(weight / weight.sum())

    @cached_property
    def _balance(self) -> SuperLU:
        """I - P without the last state, factored."""
        count = self.states.shape[0]
        return splu((sp.eye_array(count) - self.matrix())[:-1, :-1].tocsc())

    def variance_of_mean(self, value: Floats) -> float:
        """Limit of T times the variance of the mean of ``value`` over T steps.

        With the mean m and (I - P)g = value - m it is the mean of 2g(value - m) - (value - m)^2,
        the central limit theorem of Markov chains (Kemeny and Snell 1960, section 4.6).

        Parameters
        ----------
        value
            Of each state, shape ``(states,)``.
        """
        weight = self.stationary()
        off = value - weight @ value
        solution = np.append(self._balance.solve(off[:-1]), 0.0)
        return float(weight @ (2 * (solution - weight @ solution) * off - off**2))

    def place(self, counts: Ints) -> int:
        """Row of ``states`` that holds these counts, shape ``(k,)``."""
        return int(np.flatnonzero((self.states == counts).all(axis=1))[0])


@dataclass(frozen=True, eq=False)
class Runs:
    """Many runs of one population from the same start.

    Attributes
    ----------
    share
        Share of steps up to each mark in which the first strategy has a majority,
        shape ``(marks, runs)``.
    earnings
        Mean earnings of the population over the same steps, shape ``(marks, runs)``.
    path
        The first run: its state at equally spaced steps, shape ``(points, k)``.
    steps
        Those steps, shape ``(points,)``.
    """

    share: Floats
    earnings: Floats
    path: Ints
    steps: Ints


def simulate(
    population: Population,
    runs: int,
    marks: Sequence[int],
    points: int,
    rng: np.random.Generator,
) -> Runs:
    """Play ``max(marks)`` steps in all runs at once, from equal numbers of each strategy.

    Only steps that change something are drawn: the wait for the next one is geometric, which
    leaves the law of the whole path as it is.

    Parameters
    ----------
    population
        Who plays, and how they imitate.
    runs
        Number of independent runs.
    marks
        Numbers of steps after which the averages are read.
    points
        How many states of the first run to keep.
    """
    ends = np.array(sorted(marks), dtype=np.int64)
    last = int(ends[-1])
    leaves = population.rates.sum(axis=1)
    chosen = np.cumsum(population.rates, axis=1) / leaves[:, None]
    # Rounding must not let a draw fall behind the last move.
    chosen[:, -1] = 1.0
    equal, rest = divmod(population.players, population.strategies)
    start = np.full(population.strategies, equal)
    start[:rest] += 1
    at = np.full(runs, population.place(start))
    clock = np.zeros(runs, dtype=np.int64)
    majority = 2 * population.states[:, 0] > population.players
    share, earned = np.zeros((ends.size, runs)), np.zeros((ends.size, runs))
    times, places = [], []
    while clock.min() < last:
        # The jumps do not depend on the waits between them: both are drawn by the block.
        visited = np.empty((BLOCK, runs), dtype=np.int64)
        for row, draws in enumerate(rng.random((BLOCK, runs, 1))):
            visited[row] = at
            at = population.neighbours[at, (draws > chosen[at]).sum(axis=1)]
        until = clock + np.cumsum(rng.geometric(leaves[visited]), axis=0)
        since = np.concatenate([clock[None], until[:-1]])
        for mark, end in enumerate(ends):
            spent = np.minimum(until, end) - np.minimum(since, end)
            share[mark] += (spent * majority[visited]).sum(axis=0)
            earned[mark] += (spent * population.mean_earnings[visited]).sum(axis=0)
        times.append(since[:, 0])
        places.append(visited[:, 0])
        clock = until[-1]
    steps = np.linspace(0, last - 1, points).astype(np.int64)
    shown = np.searchsorted(np.concatenate(times), steps, side="right") - 1
    return Runs(
        share=share / ends[:, None],
        earnings=earned / ends[:, None],
        path=population.states[np.concatenate(places)[shown]],
        steps=steps,
    )
