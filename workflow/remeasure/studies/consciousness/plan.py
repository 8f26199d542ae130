"""What the consciousness study does in a run: checks across settings, and each step's settings.

Steps never import this module, so a change here reruns only the steps whose settings change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remeasure.config import Config
from remeasure.studies.consciousness.drawn import SHEETS
from remeasure.studies.consciousness.settings import Settings


def steps(settings: Settings, config: Config) -> dict[str, Mapping[str, Any]]:
    """What each step of the study is told, by step name.

    Plain mappings, so that planning imports no step: a test holds each against the
    settings model of its step.
    """
    return {
        "essay:measure_essay": {"columns": settings.columns, "level": settings.level},
        "surfaces:read_surfaces": {},
        **{sheet: {} for sheet in SHEETS},
        "tables:write_tables": {"level": settings.level},
    }


def check(settings: Settings, config: Config) -> None:
    """Nothing to refuse: no setting of this study can contradict another."""
