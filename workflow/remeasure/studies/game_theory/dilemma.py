"""One round of the prisoner's dilemma, and the shadow that the next round throws on it."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.store.frames import write_frame, write_json
from remeasure.store.schema import declare
from remeasure.studies.game_theory.payoffs import (
    AXELROD,
    Floats,
    Payoffs,
    alternating,
    defecting,
)
from remeasure.studies.game_theory.published import answer_known, argument, conditions, measurement

OUTPUTS = ("fig_dilemma", "stat_dilemma", "stat_threshold_w", "fig_shadow")

DEFECTING, ALTERNATING = "always defecting, 5-4w", "defecting and making up in turns, 5/(1+w)"
MEAN_LENGTH = "1/(1-w)"

#: Points of the curves.
POINTS = 201

SHADOW = declare(
    "shadow of the future",
    {
        "w": dy.Float64(min=0, max=1),
        "cooperating": dy.Float64(),
        "defecting": dy.Float64(),
        "alternating": dy.Float64(),
    },
)


def equilibria(payoffs: Payoffs) -> list[str]:
    """Pure Nash equilibria of one round: pairs of moves from which neither player would move."""
    mine, theirs = payoffs.own.reshape(2, 2), payoffs.other.reshape(2, 2)
    return [
        "CD"[i] + "CD"[j]
        for i, j in product((0, 1), repeat=2)
        if mine[i, j] >= mine[:, j].max() and theirs[i, j] >= theirs[i, :].max()
    ]


def mean_length(w: float) -> float:
    """Mean number of rounds when another follows with probability w, summed round by round."""
    rounds = np.arange(1, 20_001)
    return float((rounds * (1 - w) * w ** (rounds - 1)).sum())


def shadow() -> pl.DataFrame:
    """Points a round against tit for tat, by the chance w of a next round."""
    w: Floats = np.linspace(0, 1, POINTS)
    return pl.DataFrame(
        {
            "w": w,
            "cooperating": np.full(POINTS, AXELROD.reward, dtype=float),
            "defecting": defecting(w),
            "alternating": alternating(w),
        }
    )


def measure_dilemma(*, game: Path, curves: Path) -> list[Measurement]:
    """Step: the payoff table, its equilibrium, and payoffs against tit for tat.

    Parameters
    ----------
    game
        Output, JSON: points of both players by pair of moves, equilibria, thresholds.
    curves
        Output, Parquet: see `SHADOW`.
    """
    found = equilibria(AXELROD)
    write_json(
        {
            "points": {
                moves: [float(mine), float(theirs)]
                for moves, mine, theirs in zip(
                    ("CC", "CD", "DC", "DD"), AXELROD.own, AXELROD.other, strict=True
                )
            },
            "equilibria": found,
            "defection_threshold": AXELROD.defection_threshold,
            "alternation_threshold": AXELROD.alternation_threshold,
        },
        game,
    )
    write_frame(shadow(), curves, SHADOW)
    return answer_known([*_round(found), *_future()], OUTPUTS)


def _round(found: list[str]) -> list[Measurement]:
    said = {
        "both cooperate": 0,
        "you cooperate, they defect": 1,
        "you defect, they cooperate": 2,
        "both defect": 3,
    }
    answers = [
        measurement(("fig_dilemma", f"points for {whom}", words), float(values[row]))
        for words, row in said.items()
        for whom, values in (("you", AXELROD.own), ("them", AXELROD.other))
    ]
    letters = zip(
        "TRPS",
        (AXELROD.temptation, AXELROD.reward, AXELROD.punishment, AXELROD.sucker),
        strict=True,
    )
    answers += [
        measurement(("fig_dilemma", f"payoff {letter}", "Axelrod"), value)
        for letter, value in letters
    ]
    equilibrium = {"CC": AXELROD.reward, "DD": AXELROD.punishment}[found[0]]
    sums = f"{2 * AXELROD.reward:g} > {AXELROD.temptation + AXELROD.sucker:g}"
    return [
        *answers,
        measurement(("stat_dilemma", "T > R > P > S", ""), str(AXELROD.is_dilemma)),
        measurement(("stat_dilemma", "2R > T + S", sums), str(AXELROD.prefers_cooperation)),
        measurement(
            ("stat_dilemma", "Nash payoff each", "both defect"),
            equilibrium,
            note=f"pure equilibria found by trying every move: {', '.join(found)}",
        ),
        measurement(("stat_dilemma", "forgone payoff each", "both cooperate"), AXELROD.reward),
    ]


def _future() -> list[Measurement]:
    lengths = [mean_length(w) * (1 - w) for w in np.linspace(0, 0.99, 100)]
    formula = MEAN_LENGTH if np.allclose(lengths, 1, rtol=1e-12) else "another"
    threshold, first, second = (
        AXELROD.least_continuation,
        AXELROD.defection_threshold,
        AXELROD.alternation_threshold,
    )
    name = "stat_threshold_w"
    answers = [
        measurement(
            (
                name,
                "smallest w for cooperation against tit for tat",
                "max((T-R)/(T-P),(T-R)/(R-S))",
            ),
            threshold,
        ),
        measurement((name, "first term (always defect)", "(T-R)/(T-P)"), first),
        measurement((name, "second term (defect and make up in turns)", "(T-R)/(R-S)"), second),
        measurement(
            (name, "mean length of a relationship", "1/(1-w)"),
            formula,
            note="the formula, held against sums over rounds for 100 values of w",
        ),
        measurement(
            ("fig_shadow", "cooperating against tit for tat", "any w"), float(AXELROD.reward)
        ),
        measurement(("fig_shadow", "w below which always defecting beats cooperating", ""), first),
        measurement(("fig_shadow", "w below which alternation beats cooperating", ""), second),
    ]
    for quantity, curve in ((DEFECTING, defecting), (ALTERNATING, alternating)):
        for condition in conditions("fig_shadow", quantity):
            w = argument(condition)
            value = float(curve(np.array(float(w))))
            note = f"at w = {w}" if w.denominator == 3 else ""
            answers.append(measurement(("fig_shadow", quantity, condition), value, note=note))
    return answers
