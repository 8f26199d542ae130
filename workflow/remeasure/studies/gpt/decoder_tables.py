"""Tables of what a decoder out of a package thinks of the article's texts."""

from __future__ import annotations

from typing import Final

import dataframely as dy

from remeasure.store.schema import declare

#: What every row and figure calls it: nothing that it says is the article's.
LABEL: Final = "SmolLM2-135M out of a package, not the study's GPT-2"
#: The same behind a figure's origin, which names the package.
FACE: Final = "SmolLM2-135M, not the study's GPT-2"

PROMPTS = declare(
    "prompts of the decoder",
    {
        "model": dy.String(),
        "prompt": dy.String(),
        "tokens": dy.Int64(min=1),
        "settled": dy.Int64(min=0),
        "word": dy.String(),
        "first": dy.String(),
        "rank": dy.Int64(min=1),
        "probability": dy.Float64(min=0, max=1),
        "word_probability": dy.Float64(min=0, max=1),
    },
    unique=("prompt",),
)
NEXT = declare(
    "likeliest next tokens of the decoder",
    {
        "model": dy.String(),
        "prompt": dy.String(),
        "rank": dy.Int64(min=1),
        "token": dy.String(),
        "probability": dy.Float64(min=0, max=1),
    },
    unique=("prompt", "rank"),
)
LAYERS = declare(
    "guesses of the decoder by layer",
    {
        "model": dy.String(),
        "prompt": dy.String(),
        "layer": dy.Int64(min=0),
        "token": dy.String(),
        "probability": dy.Float64(min=0, max=1),
        "final": dy.String(),
        "final_rank": dy.Int64(min=1),
        "final_probability": dy.Float64(min=0, max=1),
    },
    unique=("prompt", "layer"),
)
CACHES = declare(
    "caches of the decoder",
    {
        "model": dy.String(),
        "weights": dy.String(),
        "prompt": dy.String(),
        "tokens": dy.Int64(min=1),
        "number_bytes": dy.Int64(min=1),
        "formula": dy.Int64(min=1),
        "counted": dy.Int64(min=1),
        "half": dy.Int64(min=1),
        "ungrouped": dy.Int64(min=1),
    },
    unique=("prompt",),
)
