"""Spot candles as the exchange's archive gives them: names, intervals, rows.

Only formats, no network: what a parser needs. Source: the exchange's
documentation of the archive (github.com/binance/binance-public-data). Daily files
appear the day after, so no candle of a day that is over needs another interface.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Literal

from remeasure.errors import ConfigError
from remeasure.fetch.archive import LIMITS, ZipLimits, read_member

#: Intervals of this project. A calendar month, which it does not use, would be ``1mo`` in paths.
Interval = Literal["5m", "15m", "1h", "1d"]

_SYMBOL = re.compile(r"[A-Z0-9]{2,20}")


def check_symbol(symbol: str) -> str:
    """The symbol itself; ConfigError when it cannot be one, and would make an odd URL."""
    if not _SYMBOL.fullmatch(symbol):
        raise ConfigError(
            f"{symbol!r} is not a symbol of the exchange",
            where="symbol",
            remedy="write it as in BTCUSDT",
        )
    return symbol


def check_window(first: date, last: date) -> None:
    """Raise ConfigError when a window of days (both ends included) is empty."""
    if first > last:
        raise ConfigError(
            f"the window ends ({last}) before it begins ({first})",
            where="window",
            remedy="swap first and last",
        )


def klines_csv(path: str, body: bytes, *, limits: ZipLimits = LIMITS) -> bytes:
    """The rows of a candle file as CSV in the column order of the archive.

    Parameters
    ----------
    path
        Its place in the raw layout.
    body
        Its bytes, as from `Manifest.read_verified`.

    Returns
    -------
    CSV as the zip holds it, with a header or without: open_time, open, high, low, close,
    volume, close_time, quote_volume, trades, taker_buy_volume, taker_buy_quote_volume,
    ignore. Times are in milliseconds or microseconds, as they came.

    Raises
    ------
    SourceError
        When the zip is not sound.
    """
    member = path.rpartition("/")[2].removesuffix(".zip") + ".csv"
    return read_member(body, member, limits=limits, where=path)
