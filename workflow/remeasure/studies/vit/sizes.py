"""The table of costs: which images and patches, and what a row holds."""

from __future__ import annotations

import pandera.polars as pa
import polars as pl

IMAGES = (224, 384, 512)
PATCHES = (32, 16, 14, 8)

COST = pa.DataFrameSchema(
    {
        "image": pa.Column(pl.Int64),
        "patch": pa.Column(pl.Int64),
        "tokens": pa.Column(pl.Int64, pa.Check.ge(2)),
        "gigaflops": pa.Column(pl.Float64, pa.Check.gt(0)),
        "attention": pa.Column(pl.Float64, pa.Check.in_range(0, 1)),
    },
    unique=["image", "patch"],
    name="cost of an encoder",
)
"""One row an image side and patch: tokens, operations of the encoder, and attention's share."""
