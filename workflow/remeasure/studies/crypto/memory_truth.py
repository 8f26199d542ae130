"""What truly happened: daily closes of bitcoin, and the direction of every month and week asked."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from remeasure.studies.crypto.sources import read_candles

BITCOIN = "BTCUSDT"


def daily_closes(candles: list[Path]) -> pl.DataFrame:
    """Daily closes of BTC, columns ``day`` and ``close`` (USDT), ascending.

    Parameters
    ----------
    candles
        DuckDB files with daily candles: one, or none where the run has no such candles; the
        frame is empty then.

    Raises
    ------
    DataError
        When the candles do not hold BTC.
    """
    if not candles:
        return pl.DataFrame(schema={"day": pl.Date, "close": pl.Float64})
    frame = read_candles(candles[0], BITCOIN, ["open_time", "close"])
    return frame.select(day=pl.col("open_time").cast(pl.Date), close="close")


def with_truth(asked: pl.DataFrame, closes: pl.DataFrame) -> pl.DataFrame:
    """Questions or answers with the closes that decide them.

    Parameters
    ----------
    asked
        Frame with ``kind``, ``first`` and ``last``, as questions have them.
    closes
        As `daily_closes`.

    Returns
    -------
    the frame with ``begin`` (close of the day before ``first``), ``end`` (close of ``last``;
    for a price the close asked for) and ``up`` (whether ``end`` is above ``begin``). They are
    null where a close is missing; ``begin`` and ``up`` are null for prices.
    """
    before = closes.select(first=pl.col("day").dt.offset_by("1d"), begin="close")
    direction = pl.col("kind") != "price"
    return (
        asked.join(before, on="first", how="left", maintain_order="left")
        .join(closes.select(last="day", end="close"), on="last", how="left", maintain_order="left")
        .with_columns(begin=pl.when(direction).then("begin"))
        .with_columns(up=pl.col("end") > pl.col("begin"))
    )
