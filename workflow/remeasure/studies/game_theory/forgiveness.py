"""How much to forgive: what invaders gain from it, and what it repairs after mistakes."""

from __future__ import annotations

from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.studies.game_theory.automata import Matches, points
from remeasure.studies.game_theory.payoffs import (
    AXELROD,
    Floats,
    alternating_invader,
    defecting_invader,
)
from remeasure.studies.game_theory.published import answer_known, argument, conditions, measurement
from remeasure.studies.game_theory.settings import ForgivenessSettings
from remeasure.studies.game_theory.strategies import generous_tit_for_tat

OUTPUTS = ("fig_forgiveness", "stat_q_star")

ALTERNATING = "alternating invader, (T+qR+(1-q)S)/2 (derived)"
DEFECTING = "always-defecting invader, qT+(1-q)P (derived)"

CURVES = declare(
    "forgiveness",
    {
        "q": dy.Float64(min=0, max=1),
        "resident": dy.Float64(),
        "alternating": dy.Float64(),
        "defecting": dy.Float64(),
        "with_mistakes": dy.Float64(),
        "cooperation": dy.Float64(min=0, max=1),
    },
)


class ForgivenessStep(Model):
    """Settings of `measure_forgiveness`: the mistakes of the right panel, points of the curves."""

    forgiveness: ForgivenessSettings


def residents(q: Floats, mistakes: float) -> tuple[Floats, Floats]:
    """Two forgiving players who make mistakes: points a round, and how often each cooperates.

    The stationary distribution of the chain of their outcomes.

    Parameters
    ----------
    q
        Probabilities to forgive, shape ``(n,)``.
    mistakes
        Probability that a move is flipped, above 0.
    """
    players = [generous_tit_for_tat(float(each)) for each in q]
    outcomes = Matches.of(players, players, mistakes).stationary()
    return points(outcomes)[0], outcomes[:, 0] + outcomes[:, 1]


def curves(settings: ForgivenessSettings) -> pl.DataFrame:
    """All curves over the probability to forgive."""
    q: Floats = np.linspace(0, 1, settings.points)
    earned, cooperation = residents(q, settings.mistakes)
    return pl.DataFrame(
        {
            "q": q,
            "resident": np.full(q.size, AXELROD.reward, dtype=float),
            "alternating": alternating_invader(q),
            "defecting": defecting_invader(q),
            "with_mistakes": earned,
            "cooperation": cooperation,
        }
    )


def measure_forgiveness(*, table: Path, settings: ForgivenessStep) -> list[Measurement]:
    """Step: payoffs against the probability to forgive, without and with mistakes.

    Parameters
    ----------
    table
        Output, Parquet: see `CURVES`.
    """
    write_frame(curves(settings.forgiveness), table, CURVES)
    return answer_known([*_limits(), *_invaders(), *_residents(settings.forgiveness)], OUTPUTS)


def _limits() -> list[Measurement]:
    first, second = AXELROD.forgiveness_terms
    figure, name = "fig_forgiveness", "stat_q_star"
    return [
        measurement(
            (name, "largest safe forgiveness", "min(1-(T-R)/(R-S),(R-P)/(T-P))"),
            AXELROD.largest_forgiveness,
        ),
        measurement((name, "first term", "1-(T-R)/(R-S)"), first),
        measurement((name, "second term", "(R-P)/(T-P)"), second),
        measurement((figure, "resident payoff, left panel", "no mistakes"), float(AXELROD.reward)),
        measurement((figure, "q where the alternating invader passes 3", ""), first),
        measurement((figure, "q where the always-defecting invader passes 3", ""), second),
    ]


def _invaders() -> list[Measurement]:
    return [
        measurement(
            ("fig_forgiveness", quantity, condition),
            float(curve(np.array(float(argument(condition))))),
        )
        for quantity, curve in ((ALTERNATING, alternating_invader), (DEFECTING, defecting_invader))
        for condition in conditions("fig_forgiveness", quantity)
    ]


def _residents(settings: ForgivenessSettings) -> list[Measurement]:
    percent = 100 * settings.mistakes
    answers = [
        measurement(("fig_forgiveness", "mistake probability, right panel", ""), percent),
    ]
    words = f"with {percent:g}% mistakes (derived)"
    said = conditions("fig_forgiveness", f"resident payoff {words}")
    if said:
        q = np.array([float(argument(condition)) for condition in said])
        for condition, earned, cooperation in zip(
            said, *residents(q, settings.mistakes), strict=True
        ):
            answers += [
                measurement(
                    ("fig_forgiveness", f"resident payoff {words}", condition), float(earned)
                ),
                measurement(
                    ("fig_forgiveness", f"resident cooperation {words}", condition),
                    float(cooperation),
                ),
            ]
    return answers
