"""Do the intervals cover where one number settles several markets of a band of prices?

The worlds of ``intervals`` once more, with lists of thresholds for events (``threshold_world``):
there whole events decide the tails, too, and intervals from resampled markets are too short for
every number. The same functions measure, the truth is known in the same way.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from remeasure.fetch.manifest import Manifest
from remeasure.model import Model
from remeasure.stats.cluster_bootstrap import Clusters
from remeasure.store.frames import write_frame
from remeasure.studies.polymarket.estimates import Rows
from remeasure.studies.polymarket.intervals import (
    INTERVALS,
    Found,
    counted,
    estimates,
    known_numbers,
    resampled_both_ways,
)
from remeasure.studies.polymarket.settings import GeneratorSettings, ThresholdSettings
from remeasure.studies.polymarket.threshold_world import Thresholds, threshold_world

KIND = "thresholds"

#: Worlds and events from which the truth is computed, with probabilities for outcomes.
TRUE_WORLDS, TRUE_EVENTS = 6, 60_000


class ThresholdsStep(Model):
    """The worlds: how many, how large, how often each is resampled; the planted slopes."""

    thresholds: ThresholdSettings
    generator: GeneratorSettings


def measure_thresholds(*, manifest: Path, thresholds: Path, settings: ThresholdsStep) -> None:
    """Step: how often intervals cover in worlds of threshold lists.

    Parameters
    ----------
    manifest
        Output, JSON: lists no raw file, but says that the origin is ``generated``.
    thresholds
        Output, Parquet: see ``intervals.INTERVALS``.
    """
    asked = settings.thresholds
    found: list[Found] = []
    for seed in range(asked.seed, asked.seed + asked.worlds):
        week = outcomes(_world(settings, seed, asked.events))
        found += resampled_both_ways(week, estimates, asked.resamples, seed)
    write_frame(counted(KIND, found, truths(settings)), thresholds, INTERVALS)
    Manifest.of("polymarket_thresholds", "generated", ".", []).write(manifest)


def outcomes(made: Thresholds) -> Rows:
    """Markets of a world as data: what happened, and events as clusters."""
    return Rows(
        tick=made.tick,
        y=made.won.astype(np.float64),
        w=np.ones(made.tick.size),
        clusters=Clusters.of(made.event),
    )


def truths(settings: ThresholdsStep) -> dict[str, float]:
    """What the intervals should hold, by name: from large worlds, true probabilities in them."""
    parts = [
        _world(settings, settings.thresholds.seed - 1 - place, TRUE_EVENTS)
        for place in range(TRUE_WORLDS)
    ]
    tick = np.concatenate([each.tick for each in parts])
    return known_numbers(
        Rows(
            tick=tick,
            y=np.concatenate([each.probability for each in parts]),
            w=np.ones(tick.size),
            clusters=Clusters.alone(tick.size),
        )
    )


def _world(settings: ThresholdsStep, seed: int, events: int) -> Thresholds:
    asked = settings.generator.model_copy(update={"seed": seed, "events": events})
    return threshold_world(asked, settings.thresholds.spacing)
