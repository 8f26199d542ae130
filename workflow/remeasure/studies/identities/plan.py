"""What the study does in a run: each step's settings.

Steps never import this module, so a change here reruns only the steps whose settings change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remeasure.config import Config
from remeasure.studies.identities.drawn import ARTICLES, FIGURES, TABLES, step_of
from remeasure.studies.identities.outputs import TITLES
from remeasure.studies.identities.settings import Settings


def steps(settings: Settings, config: Config) -> dict[str, Mapping[str, Any]]:
    """What each step of the study is told, by step name."""
    chosen = settings.model_dump()
    return {
        **{
            f"{article}:measure_{article}": {article: chosen[article]} if article in chosen else {}
            for article in ARTICLES
        },
        **{step_of(figure): {"figure": figure} for figure in FIGURES},
        **{
            f"tables:show_checks[{article}]": {"title": TITLES[article]}
            for article in TABLES.values()
        },
    }


def check(settings: Settings, config: Config) -> None:
    """Nothing to refuse: no two settings of this study can contradict each other."""
