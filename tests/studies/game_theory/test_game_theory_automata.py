"""Exact payoffs of automata against closed forms, brute force, and the library axelrod."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remeasure.studies.game_theory.automata import (
    Automaton,
    Matches,
    every_pair,
    memory_one,
    points,
)
from remeasure.studies.game_theory.payoffs import (
    AXELROD,
    Payoffs,
    alternating,
    alternating_invader,
    cooperation_rate,
    defecting,
    defecting_invader,
)
from remeasure.studies.game_theory.strategies import (
    EXTORTIONER,
    GENEROUS_ZD,
    NAMED,
    generous_tit_for_tat,
    is_nice,
    zero_determinant,
)

chance = st.floats(0.0, 1.0)
inside = st.floats(0.05, 0.95)
vectors = st.tuples(chance, chance, chance, chance, chance)


def one(first: Automaton, second: Automaton, mistakes: float = 0.0) -> Matches:
    return Matches.of([first], [second], mistakes)


def brute(p: tuple[float, ...], q: tuple[float, ...], rounds: int, e: float) -> np.ndarray:
    """Outcome frequencies by walking through every sequence of outcomes."""
    found = np.zeros(4)
    play = {None: p[0], 0: p[1], 1: p[2], 2: p[3], 3: p[4]}
    mirrored = {None: q[0], 0: q[1], 1: q[3], 2: q[2], 3: q[4]}
    for sequence in product(range(4), repeat=rounds):
        weight, before = 1.0, None
        for outcome in sequence:
            a = e + (1 - 2 * e) * play[before]
            b = e + (1 - 2 * e) * mirrored[before]
            weight *= (a if outcome < 2 else 1 - a) * (b if outcome % 2 == 0 else 1 - b)
            before = outcome
        found += weight * np.bincount(sequence, minlength=4) / rounds
    return found


@settings(deadline=None, max_examples=25)
@given(vectors, vectors, st.floats(0, 0.5))
def test_a_match_equals_the_sum_over_all_its_histories(
    p: tuple[float, ...], q: tuple[float, ...], e: float
) -> None:
    exact = one(memory_one(*p), memory_one(*q), e).finite(4)[0]
    np.testing.assert_allclose(exact, brute(p, q, 4, e), atol=1e-12)


@settings(deadline=None, max_examples=25)
@given(vectors, vectors, st.floats(0, 0.97))
def test_discounting_is_the_sum_over_rounds(
    p: tuple[float, ...], q: tuple[float, ...], w: float
) -> None:
    match = one(memory_one(*p), memory_one(*q))
    last = 1500
    means = [n * match.finite(n)[0] for n in range(1, 4)]
    by_round = [means[0], means[1] - means[0], means[2] - means[1]]
    exact = match.discounted(w)[0]
    # Three rounds by hand, the rest bounded by its weight.
    head = (1 - w) * sum(w**n * each for n, each in enumerate(by_round))
    assert np.all(exact >= head - 1e-12)
    assert np.all(exact <= head + w**3 + 1e-12)
    at, total, factor = np.zeros(25), np.zeros(25), 1 - w
    at[0] = 1
    for _ in range(last):
        total += factor * at
        factor, at = factor * w, at @ match.moves[0]
    np.testing.assert_allclose(exact, total @ match.outcomes[0], atol=1e-9)


@pytest.mark.parametrize("w", [0.0, 0.25, 0.5, 2 / 3, 0.9, 0.99])
def test_curves_against_tit_for_tat_are_those_of_the_chain(w: float) -> None:
    automata = [NAMED["Tit for tat"], NAMED["Always defect"], NAMED["Alternator"]]
    taking_turns = memory_one(0, 0, 0, 1, 1)
    match = Matches.of([*automata[:2], taking_turns], [automata[0]] * 3)
    earned = points(match.discounted(w))[0]
    wanted = [3.0, float(defecting(np.array(w))), float(alternating(np.array(w)))]
    np.testing.assert_allclose(earned, wanted, atol=1e-10)
    np.testing.assert_allclose(wanted, [3, 5 - 4 * w, 5 / (1 + w)], atol=1e-12)


@settings(deadline=None, max_examples=60)
@given(st.tuples(inside, inside, inside, inside, inside))
def test_zero_determinant_strategies_enforce_their_line(q: tuple[float, ...]) -> None:
    for name, baseline in ((EXTORTIONER, 1), (GENEROUS_ZD, 3)):
        outcomes = one(NAMED[name], memory_one(*q)).stationary()
        mine, theirs = (float(each[0]) for each in points(outcomes))
        assert mine - baseline == pytest.approx(3 * (theirs - baseline), abs=1e-9)


def test_zero_determinant_vectors_are_the_published_ones_and_are_never_clipped() -> None:
    np.testing.assert_allclose(
        NAMED[EXTORTIONER].cooperate, [0, 11 / 13, 1 / 2, 7 / 26, 0], atol=1e-15
    )
    np.testing.assert_allclose(NAMED[GENEROUS_ZD].cooperate, [1, 1, 2 / 11, 1, 4 / 11], atol=1e-15)
    with pytest.raises(ValueError, match="between 0 and 1"):
        zero_determinant(3, AXELROD.reward, 0.1, first=1)


def test_the_long_run_is_the_limit_of_long_matches() -> None:
    players = [memory_one(0.3, 0.8, 0.2, 0.6, 0.4), memory_one(0.9, 0.7, 0.1, 0.5, 0.3)]
    match = one(*players)
    np.testing.assert_allclose(match.stationary(), match.finite(20_000), atol=5e-4)
    np.testing.assert_allclose(match.stationary(), match.discounted(1 - 1e-9), atol=1e-7)


@settings(deadline=None, max_examples=30)
@given(st.floats(0, 1), st.floats(0.001, 0.4))
def test_cooperation_among_the_forgiving_has_its_closed_form(q: float, e: float) -> None:
    player = generous_tit_for_tat(q)
    outcomes = one(player, player, e).stationary()[0]
    wanted = float(cooperation_rate(np.array(q), e))
    assert outcomes[0] + outcomes[1] == pytest.approx(wanted, abs=1e-10)


@settings(deadline=None, max_examples=8)
@given(st.floats(0, 1))
def test_invaders_earn_what_the_chain_says(q: float) -> None:
    resident = generous_tit_for_tat(q)
    turns = memory_one(0, 0, 0, 1, 1)
    # Two rounds make a whole turn: the invader defects, the resident may answer, and so on.
    outcomes = Matches.of([turns, NAMED["Always defect"]], [resident] * 2).finite(3000)
    earned = points(outcomes)[0]
    wanted = [float(f(np.array(q))) for f in (alternating_invader, defecting_invader)]
    np.testing.assert_allclose(earned, wanted, atol=3e-3)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(-5, 10), min_size=4, max_size=4, unique=True))
def test_thresholds_are_where_the_curves_cross(values: list[float]) -> None:
    s, p, r, t = sorted(values)
    if min(t - r, r - p, p - s) < 0.1:
        return
    game = Payoffs(temptation=t, reward=r, punishment=p, sucker=s)
    assert game.is_dilemma
    w = np.array(game.defection_threshold)
    assert float(defecting(w, game)) == pytest.approx(r, abs=1e-9)
    if abs(2 * r - t - s) > 1e-9:
        # Taking turns pays more than R at every w below its threshold: always, if that is 1.
        assert game.prefers_cooperation == (game.alternation_threshold < 1)
    if game.prefers_cooperation:
        w = np.array(game.alternation_threshold)
        assert float(alternating(w, game)) == pytest.approx(r, abs=1e-9)
    first, second = game.forgiveness_terms
    assert float(alternating_invader(np.array(first), game)) == pytest.approx(r, abs=1e-9)
    assert float(defecting_invader(np.array(second), game)) == pytest.approx(r, abs=1e-9)


def test_nice_strategies_earn_the_reward_from_each_other() -> None:
    nice = [each for each in NAMED.values() if is_nice(each)]
    assert len(nice) == 6
    assert points(every_pair(nice).finite(250))[0] == pytest.approx(3.0, abs=1e-12)


def test_wrong_automata_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        memory_one(1, 1, 1.2, 0, 0)
    with pytest.raises(ValueError, match="next states"):
        Automaton(np.array([1.0]), np.full((1, 2, 2), 3))
    with pytest.raises(ValueError, match=r"\[0, 1\)"):
        one(NAMED["Grim"], NAMED["Grim"]).discounted(1.0)


def test_strategies_with_more_memory_fit_in_as_well() -> None:
    """Tit for two tats has three states: it answers only two defections in a row."""
    after = np.array([[[0, 1], [0, 1]], [[0, 2], [0, 2]], [[0, 2], [0, 2]]])
    patient = Automaton(np.array([1.0, 1.0, 0.0]), after)
    outcomes = Matches.of([patient, NAMED["Always defect"]], [NAMED["Always defect"], patient])
    np.testing.assert_allclose(outcomes.finite(10)[0], [0, 0.2, 0, 0.8], atol=1e-12)
    np.testing.assert_allclose(outcomes.finite(10)[1], [0, 0, 0.2, 0.8], atol=1e-12)


@pytest.mark.slow
def test_the_library_axelrod_plays_the_same_matches() -> None:
    axelrod = pytest.importorskip("axelrod", reason="the library axelrod is not installed")
    known = {
        "Always cooperate": axelrod.Cooperator,
        "Always defect": axelrod.Defector,
        "Tit for tat": axelrod.TitForTat,
        "Suspicious tit for tat": axelrod.SuspiciousTitForTat,
        "Grim": axelrod.Grudger,
        "Win-stay lose-shift": axelrod.WinStayLoseShift,
        "Alternator": axelrod.Alternator,
    }
    for first, second in product(known, repeat=2):
        match = axelrod.Match((known[first](), known[second]()), turns=60)
        match.play()
        theirs = match.final_score_per_turn()
        ours = points(one(NAMED[first], NAMED[second]).finite(60))
        assert (float(ours[0][0]), float(ours[1][0])) == pytest.approx(theirs, abs=1e-12)
    drawn = {
        "Generous tit for tat": lambda: axelrod.GTFT(p=1 / 3),
        "Random": axelrod.Random,
        "Joss": axelrod.FirstByJoss,
        GENEROUS_ZD: lambda: _memory_one(axelrod, GENEROUS_ZD),
        EXTORTIONER: lambda: _memory_one(axelrod, EXTORTIONER),
    }
    turns, copies = 120, 12
    for first, make in drawn.items():
        for second, other in {"Tit for tat": known["Tit for tat"], **drawn}.items():
            scores = []
            for seed in range(copies):
                match = axelrod.Match((make(), other()), turns=turns, seed=seed)
                match.play()
                scores.append(match.final_score_per_turn()[0])
            exact = float(points(one(NAMED[first], NAMED[second]).finite(turns))[0][0])
            # 30 pairs: five standard errors, and a floor where the draws hardly differ.
            reach = 5 * max(float(np.std(scores, ddof=1)) / copies**0.5, 0.01)
            assert abs(np.mean(scores) - exact) < reach, (first, second)


def _memory_one(axelrod: object, name: str) -> object:
    first, *vector = NAMED[name].cooperate.tolist()
    action = axelrod.Action.C if first else axelrod.Action.D  # type: ignore[attr-defined]
    return axelrod.MemoryOnePlayer(four_vector=vector, initial=action)  # type: ignore[attr-defined]
