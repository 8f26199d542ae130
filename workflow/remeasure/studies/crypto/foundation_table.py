"""Forecasts of ready-made models: the tables that their steps write and the scores read."""

from __future__ import annotations

import dataframely as dy

from remeasure.store.schema import declare

#: Models by the names that the publication prints.
CHRONOS = "Chronos-2"
KRONOS = "Kronos-small"
KRONOS_TOKENIZER = "Kronos-Tokenizer-base"

#: Steps of the past that a forecast sees: hours, candles or days.
CONTEXT = 512

HOURS = declare(
    "forecasts of ready-made models",
    {
        "model": dy.String(),
        "coin": dy.String(description="as BTC"),
        "target_hour": dy.Datetime(description="open of the predicted hour, UTC"),
        "up": dy.Bool(description="whether a rise is forecast"),
        "value": dy.Float64(description="forecast log return of the hour"),
    },
    unique=["model", "coin", "target_hour"],
)
"""One row a model, coin and predicted hour, ordered by them. Nothing of the hour itself or of
a later one is known to the forecast."""

DAYS = declare(
    "variances by ready-made models",
    {
        "model": dy.String(),
        "coin": dy.String(description="as BTC"),
        "day": dy.Date(description="the predicted day, UTC"),
        "value": dy.Float64(description="forecast log of the day's realised variance"),
    },
    unique=["model", "coin", "day"],
)
"""One row a model, coin and predicted day, likewise."""


def sized(name: str, parameters: int, published: int) -> str:
    """The name of a model whose size is the published one; else one that says the size.

    What another checkpoint forecasts must never pass for what the published one does.

    >>> sized("Chronos-2", 1234, 119_477_664)
    'Chronos-2 of 1,234 parameters'
    """
    return name if parameters == published else f"{name} of {parameters:,} parameters"


def is_of(name: str, model: str) -> bool:
    """Whether a name in a table is that of a model, at whatever size."""
    return name == model or name.startswith(f"{model} of ")
