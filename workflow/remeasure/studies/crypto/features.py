"""Hours out of candles, and the twenty features of each hour: study card, table T1.

Two conventions differ on purpose. *Returns of hours* are taken from row to row,
whatever lies between (`row_returns`). *Features* live on the regular grid of UTC
hours, where a lost hour stays missing: any feature whose window touches it is
missing, and a row with a missing feature does not exist. One lost hour therefore
costs 170 rows: the one that should have predicted it, the 168 whose windows hold it
and the one whose longest return starts at it.

An hour lost in part is kept as a bar of the candles that there are.

A feature of hour t is known at the close of hour t and depends on the 169 hours up to
it, bit for bit: window sums are made of the window's own values in a fixed order, not
carried along, so neither later nor earlier rows can change them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from remeasure.errors import ConfigError, DataError
from remeasure.model import Model
from remeasure.store.tables import Column, Table, create, insert, read_table, writer
from remeasure.studies.crypto import calendar
from remeasure.studies.crypto.settings import Dataset, Interval, Symbol
from remeasure.studies.crypto.sources import read_candles

Floats = npt.NDArray[np.float64]

#: Names of the twenty features, in the order of the card.
FEATURES: Final[tuple[str, ...]] = (
    "ret_1", "ret_2", "ret_4", "ret_8", "ret_24", "ret_72", "ret_168",
    "btc_1", "btc_4", "btc_24",
    "vol_1", "vol_24", "vol_168", "vol_ratio",
    "taker_1", "taker_24",
    "range_1", "hour", "dow", "coin",
)  # fmt: skip

#: Hours over which returns of the coin and of Bitcoin, and volatility, are taken.
RETURNS: Final = (1, 2, 4, 8, 24, 72, 168)
LEADER_RETURNS: Final = (1, 4, 24)
VOLATILITIES: Final = (1, 24, 168)
VOLUME_HOURS: Final = 168
TAKER_HOURS: Final = 24

#: Keeps the logarithm of a variance finite in an hour without a move.
TINY_VARIANCE: Final = 1e-12

LEADER: Final = "BTCUSDT"

_REMEDY = "compare the hour with the candles it is made of: this is a fault of the step"
_SUMS: Final = ("volume", "quote_volume", "trades", "taker_buy_volume")
_HOUR: Final = timedelta(hours=1)

HOURS: Final = Table(
    name="hours",
    meaning="one hour of one coin on the regular UTC grid; values are missing where it was lost",
    columns=(
        Column(name="symbol", sql="VARCHAR", meaning="trading pair, as BTCUSDT"),
        Column(name="hour", sql="TIMESTAMP", unit="UTC", meaning="start of the hour"),
        Column(name="open", sql="DOUBLE", unit="USDT", meaning="first price", null=True),
        Column(name="high", sql="DOUBLE", unit="USDT", meaning="highest price", null=True),
        Column(
            name="low", sql="DOUBLE", unit="USDT", meaning="lowest price", null=True,
            check="low > 0",
        ),
        Column(name="close", sql="DOUBLE", unit="USDT", meaning="last price", null=True),
        Column(
            name="volume", sql="DOUBLE", unit="coins", meaning="coins traded", null=True,
            check="volume >= 0",
        ),
        Column(
            name="quote_volume", sql="DOUBLE", unit="USDT", meaning="value traded", null=True,
            check="quote_volume >= 0",
        ),
        Column(
            name="trades", sql="BIGINT", unit="1", meaning="number of trades", null=True,
            check="trades >= 0",
        ),
        Column(
            name="taker_buy_volume", sql="DOUBLE", unit="coins", null=True,
            meaning="coins bought by takers", check="taker_buy_volume >= 0",
        ),
        Column(
            name="rv", sql="DOUBLE", unit="1", null=True, check="rv >= 0",
            meaning="realised variance: sum of squared log returns of the candles in the hour",
        ),
        Column(
            name="candles", sql="SMALLINT", unit="1", meaning="number of candles in the hour",
            check="candles BETWEEN 0 AND 12",
        ),
    ),
    key=("symbol", "hour"),
    checks=(
        "low <= least(open, close)",
        "high >= greatest(open, close)",
        "(candles = 0) = (close IS NULL)",
    ),
    remedy=_REMEDY,
)  # fmt: skip

_MEANINGS: Final[Mapping[str, tuple[str, str]]] = {
    **{f"ret_{k}": ("1", f"log return of the coin over the last {k} h") for k in RETURNS},
    **{f"btc_{k}": ("1", f"log return of Bitcoin over the last {k} h") for k in LEADER_RETURNS},
    **{
        f"vol_{n}": ("1", f"half the log of the realised variance of the last {n} h")
        for n in VOLATILITIES
    },
    "vol_ratio": ("1", f"log of volume over its mean of the last {VOLUME_HOURS} h"),
    "taker_1": ("1", "share of the hour's volume bought by takers"),
    "taker_24": ("1", f"share of the volume of the last {TAKER_HOURS} h bought by takers"),
    "range_1": ("1", "log of highest over lowest price of the hour"),
    "hour": ("h", "UTC hour of the day in which the known hour starts, 0 to 23"),
    "dow": ("1", "day of the week, Monday 0"),
    "coin": ("1", "number of the coin in the study's order, BTC 0"),
}
_WHOLE: Final = ("hour", "dow", "coin")

FEATURE_ROWS: Final = Table(
    name="features",
    meaning="what is known of one coin at the close of an hour, and what the next hour did",
    columns=(
        Column(name="symbol", sql="VARCHAR", meaning="trading pair, as BTCUSDT"),
        Column(
            name="known_hour",
            sql="TIMESTAMP",
            unit="UTC",
            meaning="start of the hour whose close makes the row known",
        ),
        Column(
            name="target_hour",
            sql="TIMESTAMP",
            unit="UTC",
            meaning="start of the predicted hour: known_hour plus one hour",
        ),
        *(
            Column(
                name=name,
                sql="SMALLINT" if name in _WHOLE else "DOUBLE",
                unit=_MEANINGS[name][0],
                meaning=_MEANINGS[name][1],
            )
            for name in FEATURES
        ),
        Column(name="ret_next", sql="DOUBLE", unit="1", meaning="log return of the target hour"),
        Column(name="up", sql="BOOLEAN", meaning="whether the target hour closes above the last"),
    ),
    key=("symbol", "target_hour"),
    checks=("target_hour = known_hour + INTERVAL 1 HOUR",),
    remedy=_REMEDY,
)


class HoursStep(Model):
    """Settings of `build_hours`.

    Attributes
    ----------
    interval, dataset
        The candles: length, coins and window.
    coins
        Coins of the study, in the order of their codes; other coins of the data set follow.
    """

    interval: Interval
    dataset: Dataset
    coins: tuple[Symbol, ...]


def build_hours(*, candles: Path, hours: Path, settings: HoursStep) -> None:
    """Step: hours and features of all coins of a data set.

    Where the candles have no taker volume (see `remeasure.studies.crypto.sources`) the
    table ``features`` has no rows; the table ``hours`` is complete.

    Parameters
    ----------
    candles
        Input, database with the table ``candles``.
    hours
        Output, database with the tables `HOURS` and `FEATURE_ROWS`.

    Raises
    ------
    ConfigError
        When candles are longer than an hour, or Bitcoin is not among the coins.
    DataError
        When a coin has no candles.
    """
    window = settings.dataset
    bars = {
        symbol: hourly_bars(
            read_candles(candles, symbol),
            interval=settings.interval,
            first=window.first,
            last=window.last,
        )
        for symbol in sorted(window.coins)
    }
    with writer(hours) as connection:
        create(connection, HOURS)
        create(connection, FEATURE_ROWS)
        for symbol, frame in bars.items():
            insert(connection, HOURS, frame.select(pl.lit(symbol).alias("symbol"), pl.all()))
        insert(connection, FEATURE_ROWS, pooled_features(bars, settings.coins))


def bars_an_hour(interval: str) -> int:
    """How many candles of an interval fill an hour.

    Raises
    ------
    ConfigError
        When the interval does not divide an hour.
    """
    hour, length = np.timedelta64(1, "h"), calendar.step(interval)
    if hour % length != np.timedelta64(0):
        raise ConfigError(
            f"hours cannot be made of {interval} candles",
            where="crypto.base",
            remedy="use 5m, 15m or 1h",
        )
    return int(hour // length)


def hourly_bars(
    candles: pl.DataFrame, *, interval: str, first: date, last: date, skip_bars: int = 0
) -> pl.DataFrame:
    """Hours of one coin on the regular grid of a window, out of its candles.

    Open of the first candle, close of the last, highest high, lowest low, sums of volumes.
    The realised variance is the sum of squared log returns from close to close; the return
    of a candle exists only where the candle directly before it does, also across the
    border of the hour. Hours without a candle are there with missing values.

    Parameters
    ----------
    candles
        Columns of `remeasure.studies.crypto.sources.CANDLES`, ascending in time.
    interval
        Length of the candles: 5m, 15m or 1h.
    first, last
        Days of the window, both included.
    skip_bars
        For the leak audit: hour t is made of the candles in
        ``[t - k * interval, t + 1 h - k * interval)``, so that it closes k candles early.

    Returns
    -------
    polars.DataFrame
        Columns of `HOURS` but the symbol, one row an hour of the window.

    Raises
    ------
    ConfigError
        When the interval does not divide an hour, or skip_bars is not below its count.
    """
    count = bars_an_hour(interval)
    if not 0 <= skip_bars < count:
        raise ConfigError(
            f"skip_bars is {skip_bars}, but an hour has {count} candles of {interval}",
            where="crypto.leak_audit.skip_bars",
            remedy=f"choose 0 to {count - 1}, or shorter candles",
        )
    length = pl.lit(calendar.step(interval).astype("timedelta64[us]"))
    stamp, close = pl.col("open_time"), pl.col("close")
    moved = (close / close.shift(1)).log()
    variance = pl.when(stamp.diff() == length).then(moved * moved).alias("rv")
    columns = [*("open", "high", "low", "close"), *_SUMS]
    rows = candles.select((stamp + length * skip_bars).alias("hour"), *columns, variance)
    if count == 1:
        bars = rows.with_columns(pl.lit(1, pl.Int16).alias("candles"))
    else:
        bars = rows.group_by(pl.col("hour").dt.truncate("1h"), maintain_order=True).agg(
            pl.col("open").first(),
            pl.col("high").max(),
            pl.col("low").min(),
            pl.col("close").last(),
            *(_sum_if_all(name) for name in _SUMS),
            # A missing return is left out, but an hour without any has no variance.
            pl.when(pl.col("rv").count() > 0).then(pl.col("rv").sum()),
            pl.len().cast(pl.Int16).alias("candles"),
        )
    return (
        hour_grid(first, last)
        .join(bars, on="hour", how="left", maintain_order="left")
        .with_columns(pl.col("candles").fill_null(0))
    )


def _sum_if_all(name: str) -> pl.Expr:
    return pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum())


def hour_grid(first: date, last: date) -> pl.DataFrame:
    """Every hour of the days from ``first`` to ``last`` (both included), column ``hour``."""
    begin = datetime.combine(first, time())
    end = datetime.combine(last, time()) + timedelta(days=1)
    hours = pl.datetime_range(begin, end, "1h", closed="left", time_unit="us", eager=True)
    return hours.alias("hour").to_frame()


def window_sum(values: pl.Series, hours: int) -> pl.Series:
    """Sum of the last ``hours`` values at each place; missing where one of them is.

    Sums of 1, 2, 4, 8 … values are made by doubling and put together by the binary digits
    of ``hours``. Each sum depends on its own window alone, in a fixed order, with a
    rounding error that grows with the logarithm of the window.

    Parameters
    ----------
    values
        Finite numbers, shape (n,).
    hours
        Length of the window, at least 1.

    Returns
    -------
    polars.Series
        Shape (n,), of the same name; the first ``hours - 1`` are missing.
    """
    if hours < 1:
        raise ValueError(f"a window of {hours} hours has no sum")
    part = values.cast(pl.Float64).to_numpy()  # missing values are NaN from here on
    total = np.zeros(len(values))
    done, size = 0, 1
    while True:
        if hours & size:
            total += _later(part, done)
            done += size
        if 2 * size > hours:
            return pl.Series(values.name, total, nan_to_null=True)
        part = part + _later(part, size)
        size *= 2


def _later(values: Floats, hours: int) -> Floats:
    """Values moved to a later place, NaN before the first."""
    moved = np.full_like(values, np.nan)
    moved[hours:] = values[: max(len(values) - hours, 0)]
    return moved


def hourly_features(
    bars: pl.DataFrame, leader: pl.DataFrame, *, coin: int, target: pl.DataFrame | None = None
) -> pl.DataFrame:
    """The twenty features of every hour of a coin, missing ones included.

    Parameters
    ----------
    bars, leader
        Hours of the coin and of Bitcoin on the same grid, from `hourly_bars`.
    coin
        Code of the coin.
    target
        Hours whose closes give the target; the coin's own when None. The leak audit gives
        the true hours here and hours that close early as ``bars`` and ``leader``.

    Returns
    -------
    polars.DataFrame
        Columns of `FEATURE_ROWS` but the symbol, one row an hour of the grid. An hour
        without volume has no taker share and no volume ratio. Use `complete` to keep the
        rows that have everything.

    Raises
    ------
    ValueError
        When the grids differ.
    """
    truth = bars if target is None else target
    if not (bars["hour"].equals(leader["hour"]) and bars["hour"].equals(truth["hour"])):
        raise ValueError("the hours of coin, leader and target are not on the same grid")
    frame = bars.with_columns(
        leader["close"].alias("leader"),
        truth["close"].alias("truth"),
        *(window_sum(bars["rv"], n).alias(f"rv_{n}") for n in VOLATILITIES),
        window_sum(bars["volume"], VOLUME_HOURS).alias("volume_long"),
        window_sum(bars["volume"], TAKER_HOURS).alias("volume_short"),
        window_sum(bars["taker_buy_volume"], TAKER_HOURS).alias("taker_short"),
    )
    hour, close, btc, truth_close = (pl.col(x) for x in ("hour", "close", "leader", "truth"))
    volume, ahead = _positive("volume"), truth_close.shift(-1)
    mean_volume = pl.col("volume_long") / VOLUME_HOURS
    return frame.select(
        hour.alias("known_hour"),
        (hour + _HOUR).alias("target_hour"),
        *((close / close.shift(k)).log().alias(f"ret_{k}") for k in RETURNS),
        *((btc / btc.shift(k)).log().alias(f"btc_{k}") for k in LEADER_RETURNS),
        *(
            (0.5 * (pl.col(f"rv_{n}") + TINY_VARIANCE).log()).alias(f"vol_{n}")
            for n in VOLATILITIES
        ),
        (volume / mean_volume).log().alias("vol_ratio"),
        (pl.col("taker_buy_volume") / volume).alias("taker_1"),
        (pl.col("taker_short") / _positive("volume_short")).alias("taker_24"),
        (pl.col("high") / pl.col("low")).log().alias("range_1"),
        hour.dt.hour().cast(pl.Int16).alias("hour"),
        (hour.dt.weekday().cast(pl.Int16) - 1).alias("dow"),
        pl.lit(coin, pl.Int16).alias("coin"),
        (ahead / truth_close).log().alias("ret_next"),
        (ahead > truth_close).alias("up"),
    )


def _positive(name: str) -> pl.Expr:
    """Zeros become missing: nothing can be a share of nothing."""
    return pl.when(pl.col(name) > 0).then(pl.col(name))


def complete(features: pl.DataFrame) -> pl.DataFrame:
    """Rows that have all twenty features and a target."""
    return features.drop_nulls([*FEATURES, "ret_next"])


def pooled_features(
    bars: Mapping[str, pl.DataFrame],
    coins: Sequence[str],
    targets: Mapping[str, pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """The complete rows of several coins as one table.

    Parameters
    ----------
    bars
        Hours of each coin by symbol, all on the same grid; Bitcoin among them.
    coins
        Coins of the study, in the order of their codes; others follow, sorted.
    targets
        Hours whose closes give the targets, see `hourly_features`.

    Returns
    -------
    polars.DataFrame
        Columns of `FEATURE_ROWS`, ordered by its key.

    Raises
    ------
    ConfigError
        When Bitcoin is not among the coins.
    """
    if LEADER not in bars:
        raise ConfigError(
            f"{LEADER} has no candles, but its returns are features of every coin",
            where="crypto.spot",
            remedy=f"add {LEADER} to the coins of the base interval",
        )
    codes = {symbol: code for code, symbol in enumerate([*coins, *sorted(set(bars) - set(coins))])}
    frames = [
        complete(
            hourly_features(
                bars[symbol],
                bars[LEADER],
                coin=codes[symbol],
                target=None if targets is None else targets[symbol],
            )
        ).select(pl.lit(symbol).alias("symbol"), pl.all())
        for symbol in sorted(bars)
    ]
    return pl.concat(frames)


def row_returns(bars: pl.DataFrame) -> pl.DataFrame:
    """Log returns from each traded hour to the next one that there is, gaps ignored.

    Parameters
    ----------
    bars
        Hours of one coin with ``hour`` and ``close``; lost hours may be missing or absent.

    Returns
    -------
    polars.DataFrame
        ``hour`` (the later one's start) and ``ret``; one row less than traded hours.
    """
    traded = bars.select("hour", "close").drop_nulls()
    moved = (traded["close"] / traded["close"].shift(1)).log().alias("ret")
    return pl.DataFrame([traded["hour"], moved]).slice(1)


def read_hours(path: Path, symbol: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Hours of one coin on the regular grid, lost ones with missing values.

    Parameters
    ----------
    path
        Database that `build_hours` wrote.
    columns
        Names of columns of `HOURS`; all but the symbol when None.

    Raises
    ------
    DataError
        When the database is missing or does not hold the coin.
    """
    names = columns or [column.name for column in HOURS.columns if column.name != "symbol"]
    frame = read_table(path, HOURS, columns=names, where="symbol = ?", parameters=[symbol])
    if frame.is_empty():
        raise DataError(
            f"there are no hours of {symbol}", where=path, remedy="add the coin to crypto.spot"
        )
    return frame


def read_features(path: Path, coins: Sequence[str]) -> pl.DataFrame:
    """Feature rows of some coins, ordered by symbol and hour, columns of `FEATURE_ROWS`.

    Raises
    ------
    DataError
        When a coin has no row with all twenty features.
    """
    marks = ", ".join("?" for _ in coins)
    frame = read_table(path, FEATURE_ROWS, where=f"symbol IN ({marks})", parameters=list(coins))
    absent = sorted(set(coins) - set(frame["symbol"].unique().to_list()))
    if absent:
        raise DataError(
            f"no hour of {', '.join(absent)} has all twenty features",
            where=path,
            remedy="use candles with taker volumes, and a window of more than 169 hours",
        )
    return frame
