"""What the study of brains and models does in a run: checks, and each step's settings.

Steps never import this module, so a change here reruns only the steps whose settings change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remeasure.config import Config
from remeasure.errors import ConfigError
from remeasure.studies.brain_ai.drawn import SHEETS
from remeasure.studies.brain_ai.settings import Settings


def steps(settings: Settings, config: Config) -> dict[str, Mapping[str, Any]]:
    """What each step of the study is told, by step name.

    Plain mappings, so that planning imports no step: a test holds each against the
    settings model of its step.
    """
    planned: dict[str, Mapping[str, Any]] = {
        "essay:measure_essay": {
            "dopamine": settings.dopamine,
            "maps": settings.maps,
        },
        "surfaces:read_surfaces": {},
        **{sheet: {} for sheet in SHEETS},
        "tables:write_tables": {},
    }
    if settings.atlas != "none":
        planned |= {
            "atlas:fetch_atlas": {
                "origin": settings.atlas,
                "mirror": config.core.mirror,
                "client": config.core.client,
            },
            "atlas:read_atlas": {},
            "figures:draw_language": {"threshold": settings.threshold},
        }
    return planned


def check(settings: Settings, config: Config) -> None:
    """Refuse a mirror that is not named.

    Raises
    ------
    ConfigError
        When the atlas comes from a mirror and ``mirror`` names no folder.
    """
    if settings.atlas == "mirror" and config.core.mirror is None:
        raise ConfigError(
            "the language atlas comes from a mirror, but no folder is named",
            where="brain_ai.atlas",
            remedy="name a folder with mirror, or choose none or public",
        )
