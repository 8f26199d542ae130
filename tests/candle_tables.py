"""Small databases of hours and candles for tests: only the columns that the steps read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

Series = tuple[np.ndarray, np.ndarray]


def write_hours(path: Path, coins: Mapping[str, Series], *, per_hour: int = 12) -> Path:
    """Table ``hours`` on the regular grid from each coin's first to last hour.

    ``coins`` maps a symbol to its open times (datetime64) and closes; hours that lie between
    and are not given stand in the table without a price.
    """
    frames = []
    for symbol, (times, closes) in coins.items():
        times = times.astype("datetime64[us]")
        grid = np.arange(times[0], times[-1] + 1, np.timedelta64(1, "h"))
        given = pl.DataFrame({"hour": times, "close": closes}).with_columns(
            candles=pl.lit(per_hour, pl.Int64)
        )
        frames.append(
            pl.DataFrame({"hour": grid})
            .join(given, on="hour", how="left", maintain_order="left")
            .select(
                symbol=pl.lit(symbol),
                hour="hour",
                close="close",
                candles=pl.col("candles").fill_null(0),
            )
        )
    return _write(path, "hours", pl.concat(frames))


def write_candles(path: Path, coins: Mapping[str, Series]) -> Path:
    """Table ``candles`` with the open times and closes of each coin."""
    frames = [
        pl.DataFrame({"open_time": times.astype("datetime64[us]"), "close": closes}).select(
            pl.lit(symbol).alias("symbol"), "open_time", "close"
        )
        for symbol, (times, closes) in coins.items()
    ]
    return _write(path, "candles", pl.concat(frames))


def hour_grid(first: str, hours: int) -> np.ndarray:
    """``hours`` consecutive hours from ``first``."""
    return np.datetime64(first, "us") + np.arange(hours) * np.timedelta64(1, "h")


def walk(seed: int, n: int, *, sd: float = 0.005, start: float = 100.0) -> np.ndarray:
    """Closes of a heavy-tailed random walk with volatility clusters, shape (n,)."""
    rng = np.random.default_rng(seed)
    log_volatility = np.zeros(n)
    for index in range(1, n):
        log_volatility[index] = 0.97 * log_volatility[index - 1] + 0.15 * rng.normal()
    returns = sd * np.exp(log_volatility) * rng.standard_t(5, size=n)
    return np.asarray(start * np.exp(np.cumsum(returns)))


def _write(path: Path, name: str, frame: pl.DataFrame) -> Path:
    connection = duckdb.connect(str(path), config={"threads": 1})
    connection.register("incoming", frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM incoming")  # noqa: S608
    connection.close()
    return path
