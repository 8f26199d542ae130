"""What the free energy study does in a run: checks across settings, and each step's settings.

Steps never import this module, so a change here reruns only the steps whose settings change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remeasure.config import Config
from remeasure.studies.free_energy.settings import Settings


def steps(settings: Settings, config: Config) -> dict[str, Mapping[str, Any]]:
    """What each step of the study is told, by step name.

    Plain mappings, so that planning imports no step: a test holds each against the
    settings model of its step.
    """
    return {
        "bound:measure_bound": {"bound": settings.bound},
        "descent:measure_descent": {"descent": settings.descent},
        "policies:measure_policies": {"preference_floor": settings.preference_floor},
        "forms:measure_forms": {},
        "figures:draw_all": {},
    }


def check(settings: Settings, config: Config) -> None:
    """Nothing to refuse: no setting of this study can contradict another."""
