"""The synthetic market before its window: years of daily candles for questions about the past.

A longer window would be another world, so the years before are a world of their own, of the
same seed under a name of its own, brought to the price at which the window begins. They start
on the first day that any spot candle can have, whatever part of them is asked for: the history
of a coin depends on the seed, its name and the first day of the window, and on nothing else.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import date, timedelta

import numpy as np

from remeasure.studies.crypto import market
from remeasure.studies.crypto.market import FIRST_PRICE, PLACES, Candles

#: First day of the exchange's spot candles.
BEGIN = date(2017, 8, 17)


def history_seed(seed: int) -> int:
    """Seed of the years before the window of the world with ``seed``, 63 bits."""
    digest = hashlib.sha256(f"history of {seed}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def with_history(candles: Candles, symbol: str, first: date, *, seed: int, beta: float) -> Candles:
    """Candles of one coin with those of the years before the window in front.

    Parameters
    ----------
    candles
        Five-minute candles of the window; its first one opens at ``market.FIRST_PRICE``.
    symbol
        The coin.
    first
        First day of the window.
    seed, beta
        Of the world, as in ``market.simulate``.

    Returns
    -------
    Five-minute candles from `BEGIN` (or the coin's listing day, if that is later) on. The last
    one before the window closes at the price at which the window opens, but for rounding.
    """
    if first <= BEGIN:
        return candles
    shared = market.market(BEGIN, first - timedelta(days=1), history_seed(seed))
    coin = market.simulate_coin(shared, symbol, beta)
    before = coin.traded()
    if not before.open_time.size:
        return candles
    scale = FIRST_PRICE / float(coin.candles.close[-1])
    prices = {name: _scaled(getattr(before, name), scale) for name in _PRICES}
    # A price far below one coin's worth of digits may round to zero, which no candle can have.
    least = 10.0**-PLACES
    before = replace(before, **{name: np.maximum(each, least) for name, each in prices.items()})
    return Candles(
        **{
            name: np.concatenate([getattr(before, name), getattr(candles, name)])
            for name in vars(candles)
        }
    )


#: Columns that are prices or values: they move with the scale.
_PRICES = ("open", "high", "low", "close", "quote_volume", "taker_buy_quote_volume")


def _scaled(values: market.Floats, scale: float) -> market.Floats:
    """Values in the new scale, with the places that the archive prints."""
    return np.asarray(np.round(values * scale, PLACES))
