"""Costs of half the spread from the best quotes of a night."""

from __future__ import annotations

import numpy as np
import polars as pl

from remeasure.stats.contracts import half_spread
from remeasure.studies.polymarket.estimates import Floats


def quoted(books: pl.DataFrame, *, strict: bool) -> pl.DataFrame:
    """Markets with orders on both sides: ``0 < bid < ask < 1``; else 0 and 1 are let in."""
    bid, ask = pl.col("bid"), pl.col("ask")
    inside = (bid > 0) & (ask < 1) if strict else (bid >= 0) & (ask <= 1)
    return books.filter(inside & (bid < ask))


def contracts(
    books: pl.DataFrame,
) -> tuple[Floats, Floats]:
    """Middle price and relative half-spread of both contracts of each market, shape (2 n,)."""
    bid, ask = books["bid"].to_numpy(), books["ask"].to_numpy()
    low, high = np.concatenate([bid, 1 - ask]), np.concatenate([ask, 1 - bid])
    return (low + high) / 2, half_spread(low, high)
