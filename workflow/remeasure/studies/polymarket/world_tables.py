"""A generated world as the tables that the experiments read, without any raw bytes between."""

from __future__ import annotations

import numpy as np
import polars as pl

from remeasure.stats.sampling import hash_uniform
from remeasure.store.schema import declare, of_type
from remeasure.studies.polymarket.schema import FORECASTS, TRUTH
from remeasure.studies.polymarket.settings import DrawSettings
from remeasure.studies.polymarket.world import (
    CRYPTO,
    DRAW,
    HORIZON_NAMES,
    ONE,
    TOPICS,
    Floats,
    Ints,
    Sample,
    draw,
)
from remeasure.studies.polymarket.world_names import Names

#: Horizons whose price is from the hourly series; the others' is from the 12-hour one.
HOURLY = ("day", "week")
HOUR, HALF_DAY = 3_600, 43_200

#: The declared table of the truth, for Parquet.
TRUTH_FRAME = declare(
    TRUTH.name,
    {
        column.name: of_type(TRUTH.schema()[column.name], nullable=column.null)
        for column in TRUTH.columns
    },
    unique=list(TRUTH.key),
)


def hashed_sample(names: Names, settings: DrawSettings = DRAW) -> Sample:
    """The sample that the study's own hash draws take from a world's listing."""
    made = names.made
    where = np.flatnonzero(made.clean)
    keys = names.conditions(where)
    uniforms: list[Floats] = []
    for which in ("topic", "size"):
        numbers = np.ones(made.event.size)
        numbers[where] = hash_uniform(settings.seed, which, keys)
        uniforms.append(numbers)
    return draw(made, settings, (uniforms[0], uniforms[1]))


def forecasts(names: Names, sample: Sample) -> pl.DataFrame:
    """Rows of ``forecasts`` of a sample: one a market and horizon that it lived through.

    Prices are as old as the last point of the services' series would be: the hourly one stands
    on whole hours, the 12-hour one on noon and midnight.
    """
    made = names.made
    row, horizon = np.nonzero(made.alive[sample.market])
    market = sample.market[row]
    event = made.event[market]
    closed = made.events.closed[event]
    hourly = np.array([name in HOURLY for name in HORIZON_NAMES])[horizon]
    late = closed.astype(np.int64) % np.where(hourly, HOUR, HALF_DAY)
    return pl.DataFrame(
        {
            "market": np.array(names.conditions(sample.market), dtype=object)[row],
            "event": [names.event_id(int(each)) for each in event],
            "topic": np.array(TOPICS, dtype=object)[made.topic[market]],
            "horizon": np.array(HORIZON_NAMES, dtype=object)[horizon],
            "closed": closed.astype("datetime64[us]"),
            "life_days": made.events.life[event],
            "price": made.price[market, horizon] / ONE,
            "stale_hours": late / HOUR,
            "week_dollars": made.week_cents[market, horizon] / 100,
            "in_topic_draw": sample.in_topic_draw[row],
            "in_size_draw": sample.in_size_draw[row],
            "pi": sample.pi[row],
            "pi_topic": sample.pi_topic[row],
            "weight": sample.weight[row],
            "total_dollars": made.total_dollars[market],
            "outcome": made.first_won[market].astype(np.int16),
            "direction": made.direction[market].astype(np.int16),
            "question": np.array([names.question(int(each)) for each in sample.market], object)[
                row
            ],
            "week_shares": pl.Series([None] * row.size, dtype=pl.Float64),
            "price_source": np.where(hourly, "hourly", "life").astype(object),
        },
        schema=FORECASTS.schema(),
    ).sort("market", "horizon")


def truth(names: Names, markets: Ints) -> pl.DataFrame:
    """Rows of ``truth``: what was planted for these markets at each horizon they lived through."""
    made = names.made
    row, horizon = np.nonzero(made.alive[markets])
    market = markets[row]
    event = made.event[market]
    moved = (made.topic[market] == CRYPTO) & (made.direction[market] != 0)
    driver = pl.Series(made.driver[made.events.month[event]])
    return pl.DataFrame(
        {
            "market": np.array(names.conditions(markets), dtype=object)[row],
            "horizon": np.array(HORIZON_NAMES, dtype=object)[horizon],
            "probability": made.probability[market, horizon],
            "week_dollars": made.week_cents[market, horizon] / 100,
            "price": made.price[market, horizon] / ONE,
            "driver": pl.select(pl.when(pl.lit(pl.Series(moved))).then(driver)).to_series(),
        },
        schema=TRUTH.schema(),
    ).sort("market", "horizon")
