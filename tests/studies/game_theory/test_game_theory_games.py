"""Dilemma, echoes, forgiveness, reputation and the stag hunt, each by a second route."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from remeasure.studies.game_theory.automata import points
from remeasure.studies.game_theory.dilemma import equilibria, mean_length, shadow
from remeasure.studies.game_theory.echo import echo_lengths, play
from remeasure.studies.game_theory.forgiveness import curves, residents
from remeasure.studies.game_theory.payoffs import AXELROD, Payoffs
from remeasure.studies.game_theory.published import argument, rows
from remeasure.studies.game_theory.reputation import (
    BAD,
    GOOD,
    all_rules,
    image_scoring,
    shares_features,
    standing,
)
from remeasure.studies.game_theory.settings import ForgivenessSettings
from remeasure.studies.game_theory.stag_hunt import change, crossing, fixed_points, stag
from remeasure.studies.game_theory.strategies import NAMED


def words(moves: np.ndarray) -> str:
    return "".join("CD"[move] for move in moves)


def test_only_mutual_defection_is_an_equilibrium_of_the_dilemma() -> None:
    assert equilibria(AXELROD) == ["DD"]
    hunt = Payoffs(temptation=3, reward=4, punishment=3, sucker=0)
    assert equilibria(hunt) == ["CC", "DD"]


def test_the_mean_length_is_summed_right() -> None:
    assert mean_length(0.95) == pytest.approx(20, abs=1e-9)
    assert mean_length(0.0) == 1


def test_the_larger_threshold_decides() -> None:
    frame = shadow()
    best = frame.select("cooperating", "defecting", "alternating").to_numpy()
    w = frame["w"].to_numpy()
    cooperation_pays = best[:, 0] >= best[:, 1:].max(axis=1) - 1e-12
    assert np.all(cooperation_pays == (w >= 2 / 3 - 1e-12))
    assert AXELROD.least_continuation == pytest.approx(2 / 3)
    assert AXELROD.largest_forgiveness == pytest.approx(1 / 3)


def test_echoes_are_the_printed_strings() -> None:
    rng = np.random.default_rng(0)
    for name in ("tit for tat", "win-stay lose-shift"):
        moves = play(NAMED[name.capitalize()], 16, 4, 1, rng)[0]
        for player, which in enumerate(("one", "two")):
            known = rows()["fig_echo", f"moves of player {which} (derived)", name].published
            assert words(moves[player]) == known


def test_generous_echoes_are_geometric() -> None:
    moves = play(NAMED["Generous tit for tat"], 104, 4, 20_000, np.random.default_rng(2))
    lengths = echo_lengths(moves, 4)
    for length in range(5):
        share = (lengths == length).mean()
        wanted = (2 / 3) ** length / 3
        assert abs(share - wanted) < 4.5 * np.sqrt(wanted * (1 - wanted) / lengths.size)
    assert lengths.mean() == pytest.approx(2, abs=0.08)
    assert echo_lengths(play(NAMED["Tit for tat"], 16, 4, 1, np.random.default_rng(0)), 4) == 12


def test_residents_who_err_by_playing() -> None:
    rng = np.random.default_rng(4)
    for q in (0.0, 0.3, 1.0):
        state, earned = np.zeros((2, 3000), dtype=int), []
        player = NAMED["Generous tit for tat"]
        cooperate = np.array([1, 1, q, 1, q])
        for number in range(160):
            meant = rng.random((2, 3000)) < cooperate[state]
            played = (meant == (rng.random((2, 3000)) < 0.05)).astype(int)
            state = player.after[state, played, played[::-1]]
            if number >= 60:
                earned.append(AXELROD.own[2 * played[0] + played[1]].mean())
        exact = float(residents(np.array([q]), 0.05)[0][0])
        assert np.mean(earned) == pytest.approx(exact, abs=0.02)
    table = curves(ForgivenessSettings(mistakes=0.05, points=101))
    assert np.all(np.diff(table["with_mistakes"].to_numpy()) > 0)
    assert table["with_mistakes"][0] == pytest.approx(2.25, abs=1e-10)
    # Each column is the curve that it is called after: at q = 0 and at q = 1.
    assert table["resident"].unique().to_list() == [3]
    for column, ends in {"alternating": (2.5, 4), "defecting": (1, 5)}.items():
        assert (table[column][0], table[column][-1]) == pytest.approx(ends)


def test_conditions_name_fractions() -> None:
    assert argument("w=0.6667") == Fraction(2, 3)
    assert argument("q=0.3333") == Fraction(1, 3)
    assert argument("q=0.05") == Fraction(1, 20)
    assert argument("w=1") == 1


def test_eight_rules_share_the_features_of_the_leading_eight() -> None:
    kept = [rule for rule in all_rules() if shares_features(rule)]
    assert len(all_rules()) == 256
    assert len(kept) == 8
    assert not shares_features(image_scoring())
    assert shares_features(standing())
    # Five bits are the same in all of them, three are free.
    fixed = (np.array(kept) == kept[0]).all(axis=0)
    assert fixed.sum() == 5
    assert standing()[BAD, BAD, 1] == BAD
    assert standing()[GOOD, BAD, 1] == GOOD


def test_the_stag_hunt_moves_away_from_its_crossing() -> None:
    assert crossing() == 0.75
    assert fixed_points() == {0.0: True, 0.75: False, 1.0: True}
    assert stag(np.array([0, 0.25, 0.5, 1])).tolist() == [0, 1, 2, 4]
    # The other route: follow the equation from both sides.
    for start, end in ((0.74, 0.0), (0.76, 1.0)):
        p = np.array(start)
        for _ in range(40_000):
            p = p + 0.01 * change(p)
        assert float(p) == pytest.approx(end, abs=1e-6)
    game = Payoffs(temptation=3, reward=4, punishment=3, sucker=0)
    share = np.array([crossing(), 0, 1 - crossing(), 0])
    assert points(share[None], game)[0][0] == pytest.approx(0.75 * 4 + 0.25 * 3)


def test_no_step_holds_a_printed_number() -> None:
    """Rows are matched by their words; the values live in reference.csv alone."""
    folder = Path(__file__).parents[3] / "workflow/remeasure/studies/game_theory"
    values = {
        row.published
        for row in rows().values()
        if row.kind != "cited"
        and row.number is not None
        and len(row.published.replace(".", "").strip("0")) >= 4
    }
    text = "\n".join(path.read_text("utf-8") for path in folder.glob("*.py"))
    assert not [value for value in values if value in text]
