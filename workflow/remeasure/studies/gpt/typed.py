"""Frames of lines in the columns of a declared schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandera.polars as pa
import polars as pl


def frame_of(lines: Sequence[Sequence[Any]], schema: pa.DataFrameSchema) -> pl.DataFrame:
    """A frame of lines, each with a value a column; empty without lines."""
    types = {name: column.dtype.type for name, column in schema.columns.items()}
    return pl.DataFrame(lines, schema=types, orient="row")
