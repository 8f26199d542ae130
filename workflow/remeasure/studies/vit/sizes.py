"""The table of costs: which images and patches, and what a row holds."""

from __future__ import annotations

import dataframely as dy

from remeasure.store.schema import declare

IMAGES = (224, 384, 512)
PATCHES = (32, 16, 14, 8)

COST = declare(
    "cost of an encoder",
    {
        "image": dy.Int64(),
        "patch": dy.Int64(),
        "tokens": dy.Int64(min=2),
        "gigaflops": dy.Float64(min_exclusive=0),
        "attention": dy.Float64(min=0, max=1),
    },
    unique=["image", "patch"],
)
"""One row an image side and patch: tokens, operations of the encoder, and attention's share."""
