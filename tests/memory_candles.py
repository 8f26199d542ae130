"""Daily candles and stand-ins for tests of the memory questions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from remeasure.store.tables import create, insert, writer
from remeasure.studies.crypto.memory_models import SimulatedSettings
from remeasure.studies.crypto.sources import CANDLES

SIMULATED = SimulatedSettings(
    seed=0, cutoff_months=12, remembered=0.6, strength=0.35, noise=0.1, price_noise=0.06
)


def write_daily(path: Path, first: str, closes: np.ndarray) -> Path:
    """Table ``candles`` with one candle of BTC a day from ``first`` on."""
    days = np.datetime64(first, "D") + np.arange(closes.size)
    flat = ("open", "high", "low", "close")
    frame = pl.DataFrame(
        {
            "symbol": ["BTCUSDT"] * closes.size,
            "open_time": days.astype("datetime64[us]"),
            **dict.fromkeys(flat, closes),
            "volume": np.ones(closes.size),
            "quote_volume": closes,
            "trades": np.ones(closes.size, dtype=np.int64),
            "taker_buy_volume": np.zeros(closes.size),
            "taker_buy_quote_volume": np.zeros(closes.size),
        }
    )
    with writer(path) as connection:
        create(connection, CANDLES)
        insert(connection, CANDLES, frame)
    return path


def random_closes(first: str, last: str, seed: int, sd: float = 0.03) -> np.ndarray:
    """Closes of a random walk in logarithms, one a day, both ends included."""
    days = int((np.datetime64(last, "D") - np.datetime64(first, "D")).astype(int)) + 1
    rng = np.random.default_rng(seed)
    return np.asarray(np.exp(np.log(10_000.0) + np.cumsum(rng.normal(0, sd, days))))
