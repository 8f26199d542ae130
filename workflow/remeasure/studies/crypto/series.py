"""Hourly closing prices out of the table ``hours``, and the returns between them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from remeasure.errors import DataError
from remeasure.store.tables import reader, select

Floats = NDArray[np.float64]
Times = NDArray[np.datetime64]

#: Minutes of an hour by how many candles fill it: 12 candles of 5 minutes, and so on.
_BASES = {12: "5m", 4: "15m", 1: "1h"}


def coin(symbol: str) -> str:
    """The coin's name: ``BTC`` for ``BTCUSDT``."""
    return symbol.removesuffix("USDT")


@dataclass(frozen=True)
class Closes:
    """Closing prices of one coin, one a traded hour: hours lost to a halt have no row.

    Attributes
    ----------
    symbol
        As ``BTCUSDT``.
    open_time
        UTC open of each hour, ``datetime64[us]``, shape (n,), ascending.
    close
        USDT, shape (n,).
    first, last
        Days of the window, both included.
    base
        Interval of the candles that the hours were rebuilt from.
    """

    symbol: str
    open_time: Times
    close: Floats
    first: date
    last: date
    base: str

    @property
    def coin(self) -> str:
        """The coin's name, as ``BTC``."""
        return coin(self.symbol)

    def returns(self) -> Floats:
        """Log returns from row to row, gaps ignored, shape (n - 1,): the publication's facts
        about distributions rest on these. The first belongs to ``open_time[1]``.
        """
        return np.diff(np.log(self.close))

    def days(self) -> NDArray[np.int64]:
        """Day of each return, counted from the first day of the window, shape (n - 1,)."""
        day = self.open_time[1:].astype("datetime64[D]") - np.datetime64(self.first)
        return day.astype(np.int64)


def read_closes(hours: Path, symbols: tuple[str, ...]) -> list[Closes]:
    """Closing prices of each coin, in the order asked for.

    Parameters
    ----------
    hours
        DuckDB file with the table ``hours``.

    Raises
    ------
    DataError
        When a coin has fewer than two hours with a price, or its hours were rebuilt from
        candles of an unknown length.
    """
    with reader(hours) as connection:
        rows = select(
            connection,
            "SELECT symbol, hour, close, candles FROM hours ORDER BY symbol, hour",
        )
    return [_closes(rows.filter(pl.col("symbol") == symbol), symbol, hours) for symbol in symbols]


def _closes(rows: pl.DataFrame, symbol: str, path: Path) -> Closes:
    traded = rows.filter(pl.col("close").is_not_null())
    if traded.height < 2:
        raise DataError(
            f"{symbol} has {traded.height} hours with a price, too few for a return",
            where=path,
            remedy="choose a longer window, or leave the coin out of crypto.coins",
        )
    fullest = traded.select(pl.col("candles").max()).item()
    if fullest not in _BASES:
        raise DataError(
            f"no hour of {symbol} is whole: the fullest has {fullest} candles,"
            f" where one of {', '.join(map(str, _BASES))} is expected",
            where=path,
            remedy="choose a window that holds at least one hour without a hole",
        )
    hour = rows.select(pl.col("hour").cast(pl.Datetime("us"))).to_series()
    return Closes(
        symbol=symbol,
        open_time=traded["hour"].cast(pl.Datetime("us")).to_numpy(),
        close=traded["close"].to_numpy(),
        first=hour[0].date(),
        last=hour[-1].date(),
        base=_BASES[fullest],
    )
