"""What the page of models does in a run: checks across settings, and each step's settings.

Steps never import this module, so a change here reruns only the steps whose settings change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remeasure.config import Config
from remeasure.studies.models.drawn import FIGURES, TABLES, module_of
from remeasure.studies.models.settings import Settings


def steps(settings: Settings, config: Config) -> dict[str, Mapping[str, Any]]:
    """What each step of the study is told, by step name.

    Plain mappings, so that planning imports no step: a test holds each against the
    settings model of its step.
    """
    return {
        "definitions:measure_definitions": {"text": settings.text},
        "parity:measure_parity": {},
        **{f"{module_of(output)}:{output}": {} for output in (*FIGURES, *TABLES)},
    }


def check(settings: Settings, config: Config) -> None:
    """Nothing to refuse: there is one setting."""
