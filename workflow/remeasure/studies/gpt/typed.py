"""Frames of lines in the columns of a declared schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from remeasure.store.schema import Table


def frame_of(lines: Sequence[Sequence[Any]], schema: Table) -> pl.DataFrame:
    """A frame of lines, each with a value a column; empty without lines."""
    return pl.DataFrame(lines, schema=schema.types, orient="row")
