"""Tables of what a decoder thinks of a text."""

from __future__ import annotations

from typing import Final

import pandera.polars as pa
import polars as pl

#: Names of the models that are read.
CHESS: Final = "our chess model"
LARGE: Final = "GPT-2"

TOKENS = pa.DataFrameSchema(
    {
        "model": pa.Column(pl.String),
        "place": pa.Column(pl.Int64),
        "token": pa.Column(pl.String),
        "probability": pa.Column(pl.Float64, pa.Check.in_range(0, 1)),
    },
    name="probabilities of tokens",
)
LENS = pa.DataFrameSchema(
    {
        "model": pa.Column(pl.String),
        "prompt": pa.Column(pl.String),
        "layer": pa.Column(pl.Int64),
        "token": pa.Column(pl.String),
        "probability": pa.Column(pl.Float64, pa.Check.in_range(0, 1)),
    },
    name="guesses by layer",
)
