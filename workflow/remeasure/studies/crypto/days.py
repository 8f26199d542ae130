"""Days out of a table of candles: realised variance, and the return from close to close."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from remeasure.errors import DataError
from remeasure.store.tables import reader, select
from remeasure.studies.crypto import calendar
from remeasure.studies.crypto.series import coin
from remeasure.studies.crypto.settings import Dataset

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Days:
    """One coin by UTC day, on the regular grid of a window; arrays have shape (days,).

    Attributes
    ----------
    symbol
        As ``BTCUSDT``.
    day
        ``datetime64[D]``, ascending, none left out.
    variance
        Sum of the squared log returns of the day's candles; NaN on a day without any, or
        on which the price never moved. A day cut short by a halt is taken as it is.
    count
        Number of these returns.
    ret
        Log return from the last close of the day before; NaN where one of the two days has
        no candle.
    """

    symbol: str
    day: NDArray[np.datetime64]
    variance: Floats
    count: NDArray[np.int64]
    ret: Floats

    @property
    def coin(self) -> str:
        """The coin's name, as ``BTC``."""
        return coin(self.symbol)


def read_days(candles: Path, symbol: str, interval: str, window: Dataset) -> Days:
    """Days of one coin.

    A return belongs to the day in which its candle opens; the first one of a day reaches back
    to the last candle of the day before. Where the candle directly before is missing there is
    no return: the jump over a halt is no five-minute return.

    Parameters
    ----------
    candles
        DuckDB file with the table ``candles``.
    interval
        Length of the candles.
    window
        Days wanted, both ends included.

    Raises
    ------
    DataError
        When the coin has no candle in the window.
    """
    with reader(candles) as connection:
        rows = select(
            connection,
            """
            SELECT open_time, close FROM candles
            WHERE symbol = ? AND open_time >= ? AND open_time < ? ORDER BY open_time
            """,
            [symbol, window.first, window.last + timedelta(days=1)],
        )
    if rows.is_empty():
        raise DataError(
            f"there are no candles of {symbol} from {window.first} to {window.last}",
            where=candles,
            remedy="add the coin to crypto.spot, or leave it out of crypto.coins",
        )
    times = rows["open_time"].to_numpy().astype("datetime64[us]")
    return days_of(symbol, times, np.log(rows["close"].to_numpy()), interval, window)


def days_of(
    symbol: str, times: NDArray[np.datetime64], price: Floats, interval: str, window: Dataset
) -> Days:
    """Days of one coin from its candles; see `read_days`.

    Parameters
    ----------
    times, price
        Open time, ascending, and logarithm of the close of each candle, shape ``(n,)``.
    """
    day = np.arange(np.datetime64(window.first, "D"), np.datetime64(window.last, "D") + 1)
    number = (times.astype("datetime64[D]") - day[0]).astype(np.int64)
    joined = np.diff(times) == calendar.step(interval)
    moves = np.diff(price)[joined]
    variance = np.asarray(np.bincount(number[1:][joined], moves**2, day.size), np.float64)
    count = np.bincount(number[1:][joined], minlength=day.size)
    last = np.flatnonzero(np.append(number[1:] != number[:-1], True))
    close = np.full(day.size, np.nan)
    close[number[last]] = price[last]
    variance[variance == 0] = np.nan
    return Days(symbol, day, variance, count.astype(np.int64), np.diff(close, prepend=np.nan))
