"""How often a forecast must be right before it pays: the break-even hit rate by bar length.

Who trades every bar at a round-trip cost c and is right with probability p earns
``(2 p - 1) m - c`` a bar, m the mean absolute move. The profit is zero at
``p* = 1/2 + c / (2 m)``: short bars move too little to pay for their own trading.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl
from numpy.random import Generator

from remeasure.errors import DataError
from remeasure.ledger.measurement import Measurement, not_run
from remeasure.model import Model
from remeasure.stats.bootstrap import fitting_block, ratio_interval
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare, one_of
from remeasure.store.tables import reader, select
from remeasure.studies.crypto import calendar
from remeasure.studies.crypto.coverage import coverage
from remeasure.studies.crypto.published import answer_all
from remeasure.studies.crypto.series import coin, read_closes
from remeasure.studies.crypto.settings import BreakevenSettings, Symbol

OUTPUTS = ("fig_breakeven",)
HEADLINE = ("tab_headline", "break-even hit rate", "hourly BTC, 10 bp round trip")

#: Round-trip cost of the publication in basis points: a taker's fee of 5 on each side.
COST_BP = 10.0
BASIS_POINT = 1e-4

#: Bar lengths as the publication names them.
NAMES = {"5m": "5 min", "15m": "15 min", "1h": "1 hour", "4h": "4 hours", "1d": "1 day"}

#: Volatility stays high or low for weeks. On real hours of 2022 to 2025 the standard error of a
#: mean absolute move is four times as large with blocks of two months as with single days, and
#: grows little after that.
BLOCK_DAYS = 60

MOVES = declare(
    "mean moves",
    {
        "coin": dy.String(),
        "bar": one_of(NAMES),
        "minutes": dy.Int64(min_exclusive=0),
        "candles": dy.String(),
        "first": dy.Date(),
        "last": dy.Date(),
        "n": dy.Int64(min_exclusive=0),
        "mean_bp": dy.Float64(min_exclusive=0),
        "low_bp": dy.Float64(),
        "high_bp": dy.Float64(),
    },
)
"""One row a coin and bar length: mean absolute log return of its non-overlapping bars in basis
points with a 95% interval; ``candles`` is the interval they were built from, ``first`` and
``last`` the days measured."""

BREAKEVEN = declare(
    "break-even hit rates",
    {
        "coin": dy.String(),
        "bar": one_of(NAMES),
        "minutes": dy.Int64(min_exclusive=0),
        "cost_bp": dy.Float64(min_exclusive=0),
        "percent": dy.Float64(min_exclusive=50),
        "low": dy.Float64(),
        "high": dy.Float64(),
    },
)
"""One row a coin, bar length and round-trip cost: hit rate in percent at which profit is zero,
with a 95% interval. Above 100 no hit rate pays."""


class BreakevenStep(Model):
    """What the break-even needs: the coins, bar lengths and costs."""

    coins: tuple[Symbol, ...]
    breakeven: BreakevenSettings


@dataclass(frozen=True)
class Source:
    """Candles of one coin from which bars can be built.

    Attributes
    ----------
    path, table, time
        Database, table and name of the column with the open time.
    interval
        Length of a candle.
    first, last
        Days with candles, both included, within the window asked for.
    """

    path: Path
    table: str
    time: str
    interval: str
    first: date
    last: date

    @property
    def days(self) -> int:
        """Number of days."""
        return (self.last - self.first).days + 1


def hit_rate_needed(move_bp: float, cost_bp: float) -> float:
    """Break-even hit rate ``1/2 + c / (2 m)`` as a probability; above 1 nothing pays.

    >>> round(hit_rate_needed(38, 10), 5)
    0.63158
    """
    if not move_bp > 0:
        raise ValueError(f"the mean move must be positive, not {move_bp}")
    return 0.5 + cost_bp / (2 * move_bp)


def move_implied(hit_rate: float, cost_bp: float) -> float:
    """Mean move at which a hit rate breaks even, the inverse of :func:`hit_rate_needed`."""
    if not hit_rate > 0.5:
        raise ValueError(f"a break-even hit rate lies above one half, not at {hit_rate}")
    return cost_bp / (2 * hit_rate - 1)


def choose(sources: list[Source], bar: str) -> Source | None:
    """The candles to build bars of this length from; None where all are too coarse.

    Suitable are candles that divide the bar. Among these the ones that reach over most
    days, and among equals the finest.
    """
    length = calendar.step(bar)
    suitable = [
        each for each in sources if length % calendar.step(each.interval) == np.timedelta64(0, "m")
    ]
    return min(suitable, key=lambda each: (-each.days, calendar.step(each.interval)), default=None)


def moves_by_day(source: Source, symbol: str, bar: str) -> pl.DataFrame:
    """Absolute log returns of non-overlapping bars, summed by UTC day.

    A bar is aligned to UTC midnight and closes with its last candle. A return needs the
    close of the bar before; bars without any candle are passed over.

    Returns
    -------
    frame with columns ``day`` (counted from the source's first day), ``total``, ``bars``,
    one row a day of the source, days without bars included.
    """
    with reader(source.path) as connection:
        rows = select(
            connection,
            # Names of table and column are fixed in code, the length of a bar is a number.
            f"""
            WITH bars AS (
                SELECT time_bucket(to_minutes(?), {source.time}, TIMESTAMP '2000-01-01') AS bar,
                       arg_max(close, {source.time}) AS close
                FROM {source.table}
                WHERE symbol = ? AND close IS NOT NULL AND {source.time} >= ?
                  AND {source.time} < ?
                GROUP BY bar
            ), returns AS (
                SELECT bar, abs(ln(close / lag(close) OVER (ORDER BY bar))) AS move FROM bars
            )
            SELECT bar, move FROM returns WHERE move IS NOT NULL ORDER BY bar
            """,  # noqa: S608
            [_minutes(bar), symbol, source.first, source.last + timedelta(days=1)],
        )
    day = rows["bar"].to_numpy().astype("datetime64[D]") - np.datetime64(source.first)
    index = day.astype(np.int64)
    return pl.DataFrame(
        {
            "day": np.arange(source.days),
            "total": np.bincount(index, rows["move"].to_numpy(), source.days),
            "bars": np.bincount(index, minlength=source.days),
        }
    )


def measure_breakeven(
    *,
    hours: Path,
    candles: list[Path],
    moves: Path,
    breakeven: Path,
    settings: BreakevenStep,
    rng: Generator,
) -> list[Measurement]:
    """Mean moves by bar length, and the hit rates that pay for trading every bar.

    All bar lengths are measured over this run's window, that of its hours, as far as candles
    reach.

    Parameters
    ----------
    hours
        DuckDB file with the table ``hours``.
    candles
        DuckDB files with a table ``candles`` each, of any intervals.
    moves, breakeven
        Outputs, Parquet: see ``MOVES`` and ``BREAKEVEN``.

    Raises
    ------
    DataError
        When a coin has too few hours, or candles of an unknown interval.
    """
    rows, measured = [], _formula()
    for closes in read_closes(hours, settings.coins):
        window = (closes.first, closes.last)
        sources = [Source(hours, "hours", "hour", "1h", *window)]
        for path in candles:
            source = _source(path, closes.symbol, *window)
            if source is not None:
                sources.append(source)
        for bar in settings.breakeven.bars:
            source = choose(sources, bar)
            if source is not None:
                rows.append(_row(source, closes.symbol, bar, settings.breakeven.resamples, rng))
    table = pl.DataFrame(rows, schema_overrides={"first": pl.Date, "last": pl.Date})
    write_frame(table, moves, MOVES)
    write_frame(_hit_rates(table, settings.breakeven.costs_bp), breakeven, BREAKEVEN)
    for length, name in NAMES.items():
        measured += _answers(table, length, name, settings)
    headline = _headline(measured)
    return [*answer_all(measured, OUTPUTS, "no step measures it"), headline]


def _minutes(bar: str) -> int:
    return int(calendar.step(bar) / np.timedelta64(1, "m"))


def _source(path: Path, symbol: str, first: date, last: date) -> Source | None:
    """The candles of a coin in one file, within the window; None where it has none there."""
    with reader(path) as connection:
        times = select(
            connection,
            """
            WITH steps AS (
                SELECT open_time, open_time - lag(open_time) OVER (ORDER BY open_time) AS step
                FROM candles WHERE symbol = ?
            )
            SELECT epoch_us(min(step)) // 60000000 AS minutes,
                   (min(open_time) FILTER (open_time >= ?))::DATE AS first,
                   (max(open_time) FILTER (open_time < ?))::DATE AS last
            FROM steps
            """,
            [symbol, first, last + timedelta(days=1)],
        ).row(0, named=True)
    if times["first"] is None or times["last"] is None or times["first"] > times["last"]:
        return None
    lengths = {_minutes(interval): interval for interval in calendar.STEPS}
    if times["minutes"] not in lengths:
        raise DataError(
            f"candles of {symbol} are {times['minutes']} minutes apart, no known interval",
            where=path,
            remedy=f"use candles of {', '.join(calendar.STEPS)}",
        )
    interval = lengths[times["minutes"]]
    return Source(path, "candles", "open_time", interval, times["first"], times["last"])


def _row(
    source: Source, symbol: str, bar: str, resamples: int, rng: Generator
) -> dict[str, object]:
    by_day = moves_by_day(source, symbol, bar)
    total, n = by_day["total"].to_numpy(), by_day["bars"].to_numpy()
    block = fitting_block(BLOCK_DAYS, source.days)
    low, high = ratio_interval(total, n, block, resamples, rng)
    return {
        "coin": coin(symbol),
        "bar": bar,
        "minutes": _minutes(bar),
        "candles": source.interval,
        "first": source.first,
        "last": source.last,
        "n": int(n.sum()),
        "mean_bp": float(total.sum() / n.sum() / BASIS_POINT),
        "low_bp": float(low / BASIS_POINT),
        "high_bp": float(high / BASIS_POINT),
    }


def _hit_rates(table: pl.DataFrame, costs_bp: tuple[float, ...]) -> pl.DataFrame:
    """Every row of moves at every cost; a larger move needs a lower hit rate."""
    costs = pl.DataFrame({"cost_bp": [float(cost) for cost in costs_bp]})
    crossed = table.join(costs, how="cross", maintain_order="left_right")
    return crossed.select(
        "coin",
        "bar",
        "minutes",
        "cost_bp",
        percent=50 + 50 * pl.col("cost_bp") / pl.col("mean_bp"),
        low=50 + 50 * pl.col("cost_bp") / pl.col("high_bp"),
        high=50 + 50 * pl.col("cost_bp") / pl.col("low_bp"),
    )


def _answers(
    table: pl.DataFrame, bar: str, name: str, settings: BreakevenStep
) -> list[Measurement]:
    keys = ("average absolute move", "hit rate needed at 10 bp")
    condition = f"BTC {name}"
    found = table.filter((pl.col("coin") == "BTC") & (pl.col("bar") == bar))
    if found.is_empty():
        reason = _reason(bar, name, settings)
        return [not_run("fig_breakeven", key, condition, reason) for key in keys]
    row = found.row(0, named=True)
    covered = coverage(
        row["first"], row["last"], symbol="BTCUSDT", base=row["candles"], what="bars"
    )
    move, low, high = row["mean_bp"], row["low_bp"], row["high_bp"]
    values = (
        (move, low, high),
        tuple(100 * hit_rate_needed(each, COST_BP) for each in (move, high, low)),
    )
    return [
        Measurement(
            output_id="fig_breakeven",
            quantity=quantity,
            condition=condition,
            value=value,
            low=bottom,
            high=top,
            n=row["n"],
            coverage=covered,
            note=f"bars built from {row['candles']} candles",
        )
        for quantity, (value, bottom, top) in zip(keys, values, strict=True)
    ]


def _reason(bar: str, name: str, settings: BreakevenStep) -> str:
    if "BTCUSDT" not in settings.coins:
        return "BTC is not among this run's coins"
    if bar not in settings.breakeven.bars:
        return f"this run's settings leave out bars of {name}"
    return f"this run has no candles of {name} or finer"


def _headline(measured: list[Measurement]) -> Measurement:
    """The headline repeats the hourly bar of the figure."""
    hourly = next(
        each
        for each in measured
        if each.quantity == "hit rate needed at 10 bp" and each.condition == "BTC 1 hour"
    )
    return replace(hourly, output_id=HEADLINE[0], quantity=HEADLINE[1], condition=HEADLINE[2])


def _formula() -> list[Measurement]:
    """The rows that are mathematics: the formula, and what a printed 94% implies."""
    rows = [
        ("formula 1/2 + c/(2m)", f"c=10 bp, m={move} bp", hit_rate_needed(move, COST_BP))
        for move in (19, 38, 78, 203)
    ]
    # Whatever rounds to 94%: the higher the hit rate, the smaller the move.
    implied = "move implied by a printed 94%"
    rows += [
        (implied, "lower bound", move_implied(0.945, COST_BP)),
        (implied, "upper bound", move_implied(0.935, COST_BP)),
    ]
    return [
        Measurement(output_id="fig_breakeven", quantity=quantity, condition=condition, value=value)
        for quantity, condition, value in rows
    ]
