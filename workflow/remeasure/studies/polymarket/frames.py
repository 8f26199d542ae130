"""Schemas that several experiments write their results in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import dataframely as dy
import polars as pl

from remeasure.store.schema import Table, declare, of_type

ESTIMATE = {
    "value": dy.Float64(nullable=True),
    "low": dy.Float64(nullable=True),
    "high": dy.Float64(nullable=True),
    "truth": dy.Float64(nullable=True),
    "n": dy.Int64(),
    "weight": dy.Float64(),
    "effective": dy.Float64(),
}
"""Columns of an estimate: its value (missing where nothing is there), 95% interval, planted
truth, number of markets or contracts, sum of their weights, effective number."""


def schema(name: str, keys: Mapping[str, type[pl.DataType]]) -> Table:
    """A table of estimates: the columns of ``keys``, then those of an estimate."""
    columns = {key: of_type(kind) for key, kind in keys.items()}
    return declare(name, {**columns, **ESTIMATE}, unique=list(keys))


def frame(declared: Table, rows: Iterable[Mapping[str, object]]) -> pl.DataFrame:
    """Rows as a frame with the columns and types of a schema."""
    return pl.DataFrame(list(rows), schema=declared.types)
