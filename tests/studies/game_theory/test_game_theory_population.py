"""The imitating population: its table, its exact long run, and its simulation, by other routes."""

from __future__ import annotations

import numpy as np
import pytest

from remeasure.errors import DataError
from remeasure.studies.game_theory.automata import every_pair, points
from remeasure.studies.game_theory.cycles import Mean, Spread, pair_payoffs
from remeasure.studies.game_theory.population import Population, simulate
from remeasure.studies.game_theory.published import printed
from remeasure.studies.game_theory.settings import Imitation, PopulationSettings
from remeasure.studies.game_theory.strategies import NAMED

PUBLISHED = PopulationSettings(
    players=100,
    continuation=0.95,
    mistakes=0.02,
    generosity=1 / 3,
    imitation=Imitation(rule="fermi", strength=1, mutation=0.001),
    tried=(),
    runs=20,
    repeats=1,
    steps=1000,
    short_steps=1000,
)
SMALL = np.array([[1.0, 4.0, 1.5], [0.5, 3.0, 3.0], [0.0, 3.1, 2.9]])


def small(rule: str = "fermi", players: int = 6, mutation: float = 0.05) -> Population:
    return Population(SMALL, players, rule, 1.0, mutation)  # type: ignore[arg-type]


def one_step(
    own: Population, counts: tuple[int, ...], copies: int, rng: np.random.Generator
) -> np.ndarray:
    """Counts after one step, played with players one by one; shape ``(copies, k)``."""
    players = np.repeat(np.arange(len(counts)), counts)
    size, found = players.size, []
    for _ in range(copies):
        now = players.copy()
        total = [sum(own.payoffs[i, j] for j in now) - own.payoffs[i, i] for i in now]
        earned = np.array(total) / (size - 1)
        if own.rule == "moran":
            weight = np.exp(own.strength * earned)
            child = now[rng.choice(size, p=weight / weight.sum())]
            if rng.random() < own.mutation:
                child = rng.choice([s for s in range(len(counts)) if s != child])
            now[rng.integers(size)] = child
        else:
            learner = rng.integers(size)
            if rng.random() < own.mutation:
                now[learner] = rng.choice([s for s in range(len(counts)) if s != now[learner]])
            else:
                model = rng.choice([i for i in range(size) if i != learner])
                more = earned[model] - earned[learner]
                if own.rule == "fermi":
                    adopts = 1 / (1 + np.exp(-own.strength * more))
                else:
                    adopts = 0.5 if abs(more) < 1e-12 else float(more > 0)
                if rng.random() < adopts:
                    now[learner] = players[model]
        found.append(np.bincount(now, minlength=len(counts)))
    return np.array(found)


@pytest.mark.parametrize("rule", ["fermi", "moran", "better"])
def test_the_table_of_moves_is_what_players_do(rule: str) -> None:
    own = small(rule, mutation=0.2)
    counts = (2, 3, 1)
    here = own.place(np.array(counts))
    copies = 4000
    found = one_step(own, counts, copies, np.random.default_rng(3))
    for rate, there in zip(own.rates[here], own.neighbours[here], strict=True):
        seen = (found == own.states[there]).all(axis=1).mean()
        assert abs(seen - rate) < 4.5 * np.sqrt(rate * (1 - rate) / copies) + 1e-12


@pytest.mark.parametrize("rule", ["fermi", "moran", "better"])
def test_the_long_run_is_that_of_a_matrix_power(rule: str) -> None:
    own = small(rule)
    matrix = own.matrix().toarray()
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-14)
    power = np.linalg.matrix_power(matrix, 200_000)
    np.testing.assert_allclose(own.stationary(), power[0], atol=1e-10)


def test_without_mutation_uniform_populations_are_ends() -> None:
    own = small(mutation=0.0)
    for index, state in enumerate(own.states):
        if state.max() == own.players:
            assert own.matrix()[index, index] == 1
    with pytest.raises(DataError, match="without mutation"):
        own.stationary()


def test_four_strategies_are_too_many_to_solve() -> None:
    own = Population(pair_payoffs(PUBLISHED), 100, "fermi", 1.0, 0.001)
    assert own.states.shape == (176_851, 4)
    with pytest.raises(DataError, match="too many"):
        own.stationary()


def test_simulation_has_the_averages_and_the_spread_of_the_exact_chain() -> None:
    own = small(players=8, mutation=0.1)
    steps, runs = 4000, 400
    found = simulate(own, runs, (steps,), 50, np.random.default_rng(5))
    weight = own.stationary()
    majority = (2 * own.states[:, 0] > own.players).astype(float)
    for values, exact in ((found.share[0], majority), (found.earnings[0], own.mean_earnings)):
        error = values.std(ddof=1) / runs**0.5
        assert abs(values.mean() - weight @ exact) < 4 * error + 2e-3
        spread = np.sqrt(own.variance_of_mean(exact) / steps)
        assert values.std(ddof=1) == pytest.approx(spread, rel=0.15)
    assert found.path.sum(axis=1).tolist() == [8] * 50
    assert found.path[0].tolist() == [3, 3, 2]


def test_two_marks_are_the_same_run_read_twice() -> None:
    own = small()
    both = simulate(own, 3, (500, 2000), 10, np.random.default_rng(9))
    alone = simulate(own, 3, (2000,), 10, np.random.default_rng(9))
    np.testing.assert_array_equal(both.share[1], alone.share[0])
    # What happens between the marks is the rest.
    assert np.all(4 * both.share[1] - both.share[0] <= 3 + 1e-12)


def test_the_published_matches_have_their_closed_forms() -> None:
    e, payoffs = 0.02, pair_payoffs(PUBLISHED)
    assert payoffs[0, 0] == pytest.approx(3 * e**2 + 5 * e * (1 - e) + (1 - e) ** 2, abs=1e-12)
    assert payoffs[0, 2] == pytest.approx(5 * (1 - e) ** 2 + 4 * e * (1 - e) + 0 * e**2, abs=1e-12)
    names = ("Always defect", "Tit for tat", "Always cooperate", "Generous tit for tat")
    # The other route: round after round until nothing is left to discount.
    match = every_pair([NAMED[name] for name in names], e)
    at, total, factor = np.zeros((16, 25)), np.zeros((16, 25)), 0.05
    at[:, 0] = 1
    for _ in range(800):
        total += factor * at
        factor, at = factor * 0.95, np.einsum("pi,pij->pj", at, match.moves)
    outcomes = np.einsum("pn,pno->po", total, match.outcomes)
    np.testing.assert_allclose(payoffs.ravel(), points(outcomes)[0], atol=1e-9)


def test_the_three_strategy_chain_by_power_iteration() -> None:
    """Another route to the long run: the largest change of the weights falls to nothing."""
    own = Population(pair_payoffs(PUBLISHED)[:3, :3], 100, "fermi", 1.0, 0.001)
    weight = own.stationary()
    assert own.states.shape == (5151, 3)
    np.testing.assert_allclose(weight @ own.matrix(), weight, atol=1e-15)
    majority = weight[own.states[:, 0] > 50].sum()
    condition = (
        "one of many compatible settings, not in the article:"
        " three strategies, Fermi beta=1, mutation 0.001"
    )
    quantity = "majority of defectors, stationary (derived)"
    assert majority == pytest.approx(printed("fig_cycles", quantity, condition), abs=0.5e-4)
    matrix = own.matrix().T.tocsr()
    started = np.full(weight.size, 1 / weight.size)
    for _ in range(4000):
        started = matrix @ started
    far, begun = np.abs(started - weight).sum(), np.abs(1 / weight.size - weight).sum()
    assert far < 0.9 * begun


def test_erratum_the_spread_of_twenty_long_runs() -> None:
    """The limit theorem of the chain: 0.0266 where 0.018 is printed."""
    own = Population(pair_payoffs(PUBLISHED)[:3, :3], 100, "fermi", 1.0, 0.001)
    majority = (own.states[:, 0] > 50).astype(float)
    spread = np.sqrt(own.variance_of_mean(majority) / 500_000 / 20)
    assert spread == pytest.approx(0.0266, abs=5e-5)
    condition = "three strategies, 500000 steps a run: standard deviation"
    known = printed("fig_cycles", "spread of a 20-run mean (derived)", condition)
    assert known < 0.7 * spread


def test_intervals_are_students_and_chi_squares() -> None:
    rng = np.random.default_rng(1)
    held = [0, 0]
    for _ in range(400):
        runs = rng.normal(2.0, 3.0, 20)
        mean, spread = Mean.of(runs), Spread.of(runs, 20)
        held[0] += mean.low < 2 < mean.high
        held[1] += spread.low < 3 / 20**0.5 < spread.high
    assert all(363 <= each <= 395 for each in held)


def test_the_variance_of_a_mean_is_the_sum_of_all_covariances() -> None:
    """A small chain, its covariances summed lag by lag with powers of its matrix."""
    own = Population(
        payoffs=np.array([[1.0, 5.0], [0.0, 3.0]]), players=4, rule="fermi", strength=1.0,
        mutation=0.2,
    )  # fmt: skip
    value = own.states[:, 0].astype(float)
    weight, moves = own.stationary(), own.matrix().toarray()
    off = value - weight @ value
    ahead, total = off, weight @ off**2
    for _ in range(2000):
        ahead = moves @ ahead
        total += 2 * weight @ (off * ahead)
    assert own.variance_of_mean(value) == pytest.approx(total, rel=1e-9)
