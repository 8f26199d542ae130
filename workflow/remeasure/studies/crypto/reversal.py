"""How often an hour goes on in the direction of the hour before, by coin and calendar year."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl
from numpy.typing import NDArray

from remeasure.ledger.measurement import WHOLE, Measurement, not_run
from remeasure.model import Model
from remeasure.stats.proportion import wilson
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.studies.crypto.coverage import FIRST, LAST, base_note, coverage, outside
from remeasure.studies.crypto.published import answer_all
from remeasure.studies.crypto.series import Closes, read_closes
from remeasure.studies.crypto.settings import Symbol

OUTPUTS = ("fig_reversal",)
SHARE = "share of hours continuing the previous direction"

COINS = ("BTC", "ETH", "SOL")
YEARS = range(FIRST.year, LAST.year + 1)

REVERSAL = declare(
    "reversal",
    {
        "coin": dy.String(),
        "year": dy.Int64(),
        "same": dy.Int64(min=0),
        "n": dy.Int64(min_exclusive=0),
        "percent": dy.Float64(min=0, max=100),
        "low": dy.Float64(),
        "high": dy.Float64(),
        "coverage": dy.String(),
    },
)
"""One row a coin and calendar year with data: ``same`` of ``n`` hours moved as the hour before,
in percent with a 95% interval; ``coverage`` of the year (of 2026: up to the publication's last
day), ``whole`` or in words."""


class ReversalStep(Model):
    """What the reversal needs: the coins."""

    coins: tuple[Symbol, ...]


def continuations(
    open_time: NDArray[np.datetime64], close: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Year and verdict of every hour that has a direction, and whose hour before has one.

    An hour's move is its close against the close of the hour before. An hour counts when
    it and the two hours before it were traded (a move across a halt is no move of an hour)
    and neither of the two moves is exactly zero: a flat hour has no direction to continue.
    It belongs to the year in which it opens; the hour before may lie in the year before.

    This is the one reading of "the same direction as the hour before" that gives the
    printed shares of all twelve coin-years 2022 to 2025 on real candles. Counting flat
    hours as breaks (or as continuations) misses SOL by up to 3 points, moves from open to
    close miss two coin-years. Moves across the halt of 2023 change no printed digit.

    Parameters
    ----------
    open_time, close
        Traded hours, shape (n,), ascending.

    Returns
    -------
    year, same
        For each hour that counts.
    """
    direction = np.sign(np.diff(close))
    direction[np.diff(open_time) != np.timedelta64(1, "h")] = 0
    now, before = direction[1:], direction[:-1]
    counts = (now != 0) & (before != 0)
    year = open_time[2:][counts].astype("datetime64[Y]").astype(np.int64) + 1970
    return year, now[counts] == before[counts]


def measure_reversal(*, hours: Path, reversal: Path, settings: ReversalStep) -> list[Measurement]:
    """Share of hours that continue the direction of the hour before, by coin and year.

    Parameters
    ----------
    hours
        DuckDB file with the table ``hours``.
    reversal
        Output, Parquet: see ``REVERSAL``.

    Raises
    ------
    DataError
        When a coin has too few hours.
    """
    every = read_closes(hours, settings.coins)
    table = pl.DataFrame([row for closes in every for row in _years(closes)])
    write_frame(table, reversal, REVERSAL)
    by_coin = {closes.coin: closes for closes in every}
    measured = [_answer(coin, year, by_coin, table) for coin in COINS for year in YEARS]
    measured.append(_below_half(measured))
    return answer_all(measured, OUTPUTS, "no step measures it")


def own_window(year: int) -> tuple[date, date]:
    """The days of a calendar year, up to the publication's last day in its last year."""
    last = date(year, 12, 31)
    return date(year, 1, 1), min(last, LAST) if year == LAST.year else last


def _years(closes: Closes) -> list[dict[str, object]]:
    year, same = continuations(closes.open_time, closes.close)
    rows: list[dict[str, object]] = []
    for each in np.unique(year).tolist():
        continued, n = int(same[year == each].sum()), int((year == each).sum())
        low, high = wilson(continued, n)
        first, last = own_window(each)
        rows.append(
            {
                "coin": closes.coin,
                "year": each,
                "same": continued,
                "n": n,
                "percent": 100 * continued / n,
                "low": 100 * low,
                "high": 100 * high,
                "coverage": coverage(
                    max(closes.first, date(each, 1, 1)),
                    min(closes.last, date(each, 12, 31)),
                    published_first=first,
                    published_last=last,
                    symbol=closes.symbol,
                    base=closes.base,
                ),
            }
        )
    return rows


def _answer(coin: str, year: int, every: dict[str, Closes], table: pl.DataFrame) -> Measurement:
    condition = f"{coin} {year}"
    if coin not in every:
        return not_run("fig_reversal", SHARE, condition, f"{coin} is not among this run's coins")
    closes = every[coin]
    row = table.filter((pl.col("coin") == coin) & (pl.col("year") == year))
    if row.is_empty():
        reason = outside(condition, closes.first, closes.last)
        return not_run("fig_reversal", SHARE, condition, reason)
    values = row.row(0, named=True)
    return Measurement(
        output_id="fig_reversal",
        quantity=SHARE,
        condition=condition,
        value=values["percent"],
        low=values["low"],
        high=values["high"],
        n=values["n"],
        coverage=values["coverage"],
        note=base_note(closes.base),
    )


def _below_half(bars: list[Measurement]) -> Measurement:
    """How many of the bars lie below one half."""
    measured = [bar for bar in bars if isinstance(bar.value, float)]
    if not measured:
        reason = "none of the 18 coin-years lies within this run's candles"
        return not_run("fig_reversal", "bars below 50%", "of 18", reason)
    below = sum(float(bar.value) < 50 for bar in measured if bar.value is not None)
    clear = sum(bar.high < 50 for bar in measured if bar.high is not None)
    whole = sum(bar.coverage == WHOLE for bar in measured)
    return Measurement(
        output_id="fig_reversal",
        quantity="bars below 50%",
        condition="of 18",
        value=below,
        n=len(measured),
        coverage=WHOLE
        if whole == len(bars)
        else f"{whole} of {len(bars)} coin-years whole, {len(measured)} measured",
        note=f"{below} of {len(measured)} measured; {clear} of them with the whole interval below",
    )
