"""What the game theory study does in a run: checks across settings, and each step's settings.

Steps never import this module, so a change here reruns only the steps whose settings change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remeasure.config import Config
from remeasure.errors import ConfigError
from remeasure.studies.game_theory.settings import Settings


def steps(settings: Settings, config: Config) -> dict[str, Mapping[str, Any]]:
    """What each step of the study is told, by step name.

    Plain mappings, so that planning imports no step: a test holds each against the
    settings model of its step.
    """
    return {
        "dilemma:measure_dilemma": {},
        "tournament:measure_tournament": {"tournament": settings.tournament},
        "echo:measure_echo": {"echo": settings.echo},
        "forgiveness:measure_forgiveness": {"forgiveness": settings.forgiveness},
        "cycles:measure_cycles": {"population": settings.population},
        "reputation:measure_reputation": {},
        "stag_hunt:measure_stag": {},
        "figures:draw_all": {},
    }


def check(settings: Settings, config: Config) -> None:
    """Refuse settings that contradict each other.

    Raises
    ------
    ConfigError
        Naming every key at fault and what is allowed.
    """
    problems = []
    echo, population = settings.echo, settings.population
    if echo.mistake + 2 > echo.rounds:
        problems.append(
            f"game_theory.echo.mistake: {echo.mistake} leaves no room for an echo in"
            f" {echo.rounds} rounds; allowed: 1 to {echo.rounds - 2}"
        )
    if population.short_steps > population.steps:
        problems.append(
            f"game_theory.population.short_steps: {population.short_steps} is more than steps;"
            f" allowed: up to {population.steps}"
        )
    if problems:
        raise ConfigError(
            "the configuration is not valid:\n" + "\n".join(f"    {each}" for each in problems),
            where="section game_theory of config/config.yaml, its overlays and --config",
            remedy="correct the named keys; config/README.md explains each",
        )
