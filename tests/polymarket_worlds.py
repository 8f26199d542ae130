"""Worlds that several tests look at, and the card's statistics on them, written out plainly."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from remeasure.studies.polymarket.settings import GeneratorSettings
from remeasure.studies.polymarket.world import HORIZON_NAMES, ONE, Sample, World, draw, world

Floats = NDArray[np.float64]
WEEK = HORIZON_NAMES.index("week")
DISTORTION = (1.12, 1.25, 1.40)


def settings(seed: int = 1, events: int = 12_000, kappa: float = 1.2) -> GeneratorSettings:
    return GeneratorSettings(seed=seed, events=events, kappa=kappa, distortion=DISTORTION)


@cache
def sampled(seed: int, events: int, kappa: float) -> tuple[World, Sample]:
    made = world(settings(seed, events, kappa))
    return made, draw(made)


class Week:
    """The really traded part of a sample a week before the close, as arrays."""

    def __init__(self, made: World, sample: Sample) -> None:
        rows = made.week_cents[sample.market, WEEK] >= 100_000
        market = sample.market[rows]
        self.tick = made.price[market, WEEK]
        self.p: Floats = self.tick / ONE
        self.y: Floats = made.first_won[market].astype(np.float64)
        self.q = made.probability[market, WEEK]
        self.w = sample.weight[rows]
        self.event = made.event[market]
        self.month = made.events.month[self.event]
        self.direction = made.direction[market]
