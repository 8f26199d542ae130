"""Schemas that several experiments write their results in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandera.polars as pa
import polars as pl

ESTIMATE = {
    "value": pa.Column(pl.Float64, nullable=True),
    "low": pa.Column(pl.Float64, nullable=True),
    "high": pa.Column(pl.Float64, nullable=True),
    "truth": pa.Column(pl.Float64, nullable=True),
    "n": pa.Column(pl.Int64),
    "weight": pa.Column(pl.Float64),
    "effective": pa.Column(pl.Float64),
}
"""Columns of an estimate: its value (missing where nothing is there), 95% interval, planted
truth, number of markets or contracts, sum of their weights, effective number."""


def schema(name: str, keys: Mapping[str, type[pl.DataType]]) -> pa.DataFrameSchema:
    """A table of estimates: the columns of ``keys``, then those of an estimate."""
    columns = {key: pa.Column(kind) for key, kind in keys.items()}
    return pa.DataFrameSchema({**columns, **ESTIMATE}, unique=list(keys), name=name)


def frame(declared: pa.DataFrameSchema, rows: Iterable[Mapping[str, object]]) -> pl.DataFrame:
    """Rows as a frame with the columns and types of a schema."""
    types = {name: column.dtype.type for name, column in declared.columns.items()}
    return pl.DataFrame(list(rows), schema=types)
