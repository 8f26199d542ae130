"""A variant of the generated world in which one number settles all markets of an event.

"Bitcoin above 100,000", "above 110,000", "above 120,000": a list of thresholds, or of deadlines,
is one draw of chance. Whoever wins at a far threshold wins at every nearer one, and prices of
neighbours lie close together, so a band of prices holds several markets of one event. In the
recipe neither happens. The variant serves to try intervals on; nothing else is measured on it.

Events, lives, dollars, evidence and prices are the recipe's (``world``), but:

- Only events with several markets are in it, and nothing excludes.
- A week before the close the true log-odds of an event's markets are those of its first market
  in the recipe, plus an even spacing: the middle of the list keeps them.
- One uniform number an event, independent of everything that is known a week before the close,
  settles it: a market's first outcome wins where the number lies below its probability. So
  every market alone wins with exactly its true probability, and of two markets of an event the
  likelier one wins whenever the other does.
- Dollars do not follow surprise (``kappa`` is 0), since outcomes are drawn after them. Markets
  that were really traded are all taken: weights are one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from remeasure.studies.polymarket.settings import GeneratorSettings
from remeasure.studies.polymarket.world import (
    REAL_TRADING,
    WEEK,
    Flags,
    Floats,
    Ints,
    stream,
    to_ticks,
    world,
)


@dataclass(frozen=True)
class Thresholds:
    """Really traded markets a week before the close; all arrays have the same length.

    Attributes
    ----------
    event
        Event of each market, in the recipe's numbers, rising.
    place
        Place of the market in its event's list, from 0 on; likelier from place to place.
    tick
        Price of the first outcome in ten-thousandths of a dollar.
    probability
        True probability that the first outcome wins.
    won
        Whether it won.
    """

    event: Ints
    place: Ints
    tick: Ints
    probability: Floats
    won: Flags


def threshold_world(settings: GeneratorSettings, spacing: float) -> Thresholds:
    """Generate the lists of one world.

    Parameters
    ----------
    settings
        Those of the recipe; ``kappa`` is taken as 0. Events of a single market count, too.
    spacing
        Log-odds between neighbours of a list.
    """
    made = world(settings.model_copy(update={"kappa": 0.0}), exclusive=0.0)
    size = made.events.size
    first = np.cumsum(size) - size
    market = np.flatnonzero(
        made.clean & (size[made.event] > 1) & (made.week_cents[:, WEEK] >= 100 * REAL_TRADING)
    )
    event = made.event[market]
    place = market - first[event]
    log_odds = made.log_odds[first[event], WEEK] + spacing * (place - (size[event] - 1) / 2)
    probability = np.asarray(expit(log_odds))
    number = stream(settings.seed, "thresholds").random(size.size)
    return Thresholds(
        event=event,
        place=place,
        tick=to_ticks(expit(log_odds / made.slope[market, WEEK])),
        probability=probability,
        won=number[event] < probability,
    )
