"""Strategies by name, all with a memory of one round, and the zero-determinant family."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from remeasure.errors import ConfigError
from remeasure.studies.game_theory.automata import Automaton, memory_one
from remeasure.studies.game_theory.payoffs import AXELROD, Payoffs


def generous_tit_for_tat(forgiveness: float) -> Automaton:
    """Tit for tat that answers a defection with C with this probability (Nowak, Sigmund 1992)."""
    return memory_one(1, 1, forgiveness, 1, forgiveness)


def zero_determinant(
    slope: float, baseline: float, scale: float, first: float, payoffs: Payoffs = AXELROD
) -> Automaton:
    """A strategy that enforces s_own - baseline = slope (s_other - baseline) in the long run.

    p = (1, 1, 0, 0) + scale [(S_own - baseline) - slope (S_other - baseline)], component by
    component after CC, CD, DC, DD (Press and Dyson 2012). The baseline P extorts, R is generous
    (Stewart and Plotkin 2013).

    Raises
    ------
    ValueError
        When a component is no probability: a clipped vector would enforce nothing.
    """
    change = (payoffs.own - baseline) - slope * (payoffs.other - baseline)
    p = np.array([1.0, 1.0, 0.0, 0.0]) + scale * change
    # A component that is 0 or 1 in exact arithmetic may miss it by a rounding error.
    whole = np.round(p)
    p = np.where(np.abs(p - whole) < 1e-12, whole, p)
    return memory_one(first, *p.tolist())


ALWAYS_COOPERATE, ALWAYS_DEFECT = "Always cooperate", "Always defect"
TIT_FOR_TAT, GENEROUS, WIN_STAY = "Tit for tat", "Generous tit for tat", "Win-stay lose-shift"
EXTORTIONER, GENEROUS_ZD, JOSS, GRIM = "Extortioner", "Generous ZD", "Joss", "Grim"

#: Slope of both zero-determinant twins, and their scales: the extortioner's is the usual one,
#: the generous twin's the largest that gives probabilities.
SLOPE, EXTORTION_SCALE, GENEROUS_SCALE = 3, 1 / 26, 1 / 11

NAMED: dict[str, Automaton] = {
    GENEROUS_ZD: zero_determinant(SLOPE, AXELROD.reward, GENEROUS_SCALE, first=1),
    GENEROUS: generous_tit_for_tat(AXELROD.largest_forgiveness),
    ALWAYS_COOPERATE: memory_one(1, 1, 1, 1, 1),
    TIT_FOR_TAT: memory_one(1, 1, 0, 1, 0),
    WIN_STAY: memory_one(1, 1, 0, 0, 1),
    GRIM: memory_one(1, 1, 0, 0, 0),
    "Alternator": memory_one(1, 0, 0, 1, 1),
    "Random": memory_one(0.5, 0.5, 0.5, 0.5, 0.5),
    ALWAYS_DEFECT: memory_one(0, 0, 0, 0, 0),
    "Suspicious tit for tat": memory_one(0, 1, 0, 1, 0),
    EXTORTIONER: zero_determinant(SLOPE, AXELROD.punishment, EXTORTION_SCALE, first=0),
    JOSS: memory_one(1, 0.9, 0, 0.9, 0),
}


def is_nice(automaton: Automaton) -> bool:
    """Whether it never defects first: sure to cooperate in every state that CC alone reaches."""
    state, seen = 0, set()
    while state not in seen:
        seen.add(state)
        if automaton.cooperate[state] < 1:
            return False
        state = int(automaton.after[state, 0, 0])
    return True


def called(
    names: Iterable[str], own: Mapping[str, Sequence[float]] | None = None
) -> dict[str, Automaton]:
    """Strategies by name, in order: those above, and the user's own (first, CC, CD, DC, DD).

    Raises
    ------
    ConfigError
        For a name that is neither.
    """
    known = {**NAMED, **{name: memory_one(*p) for name, p in (own or {}).items()}}
    names = list(names)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ConfigError(
            f"no strategies are called {', '.join(unknown)}",
            where="game_theory.tournament.line_up",
            remedy=f"name some of {', '.join(known)}, or define them in game_theory.tournament.own",
        )
    return {name: known[name] for name in names}
