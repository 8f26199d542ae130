"""The gpt study as small as it goes: settings of its tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from remeasure.config import read_files, validate
from remeasure.ledger.measurement import Measurement
from remeasure.studies.gpt import training
from remeasure.studies.gpt.settings import Settings

PROJECT = Path(__file__).parents[1]
DEFAULT = PROJECT / "config/config.yaml"

SMALL = {
    "generator": {"games": 60, "half_moves": 20},
    "split": {"held_out": 24},
    "positions": {"count": 12, "monitored": 6},
    "model": {"layers": 2, "width": 16, "heads": 2, "context": 80},
    "training": {"steps": 6, "batch": 4, "warm_up": 2, "every": 3},
    "arena": {"games": 2},
    "probes": {"training_games": 12, "test_games": 8, "epochs": 2},
    "resamples": 100,
}


@dataclass(frozen=True)
class Made:
    """Where the files of a run lie, what it measured, and its settings."""

    at: Path
    measured: list[Measurement]
    settings: Settings


def settings_of(changes: dict[str, object] | None = None) -> Settings:
    raw = read_files([DEFAULT], {"studies": ["gpt"], "gpt": {**SMALL, **(changes or {})}})
    given: Settings = validate(raw).section("gpt")
    return given


def training_step(given: Settings, at: Path) -> training.TrainingStep:
    return training.TrainingStep(
        model=given.model,
        training=given.training,
        monitored=given.positions.monitored,
        device="cpu",
        threads=1,
        checkpoints=str(at / "unfinished"),
    )


def rng() -> np.random.Generator:
    return np.random.default_rng(0)
