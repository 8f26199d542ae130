"""Tables of what a decoder thinks of a text."""

from __future__ import annotations

from typing import Final

import dataframely as dy

from remeasure.store.schema import declare

#: Names of the models that are read.
CHESS: Final = "our chess model"
LARGE: Final = "GPT-2"

TOKENS = declare(
    "probabilities of tokens",
    {
        "model": dy.String(),
        "place": dy.Int64(),
        "token": dy.String(),
        "probability": dy.Float64(min=0, max=1),
    },
)
LENS = declare(
    "guesses by layer",
    {
        "model": dy.String(),
        "prompt": dy.String(),
        "layer": dy.Int64(),
        "token": dy.String(),
        "probability": dy.Float64(min=0, max=1),
    },
)
