"""What a large order costs: a market buy walked through recorded order books.

An order of notional ``Q`` takes the asks from the best on until ``Q`` is spent. It buys
``q`` coins at the average price ``Q/q``; its cost in basis points against the middle of the
best bid and ask is ``1e4 (Q/q / mid - 1)``. It is never below half the spread and never
falls with ``Q``. An order that the visible book cannot fill has no cost, and that is said.
"""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import dataframely as dy
import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import Field
from scipy.special import stdtrit

from remeasure.errors import DataError
from remeasure.ledger.measurement import WHOLE, Measurement, not_run
from remeasure.model import Model
from remeasure.store.frames import read_json, write_frame
from remeasure.store.schema import declare
from remeasure.store.tables import read_table
from remeasure.studies.crypto.book_files import BOOKS
from remeasure.studies.crypto.published import answer_all, measurable
from remeasure.studies.crypto.series import coin
from remeasure.studies.crypto.settings import Symbol

OUTPUTS = ("fig_depth", "stat_depth_million")
COST = "cost of a $100K market buy against mid"
COST_MILLION = "cost of a $1M market buy"
ROUNDED = "text rounding of $100K cost"
FILLABLE = "$1M fillable in the visible book"
HUNDRED, MILLION = 100_000, 1_000_000

#: Day on which the publication took its books. Books of another day are another market.
TAKEN = date(2026, 10, 31)

Floats = npt.NDArray[np.float64]

COSTS = declare(
    "cost of market buys",
    {
        "coin": dy.String(),
        "rank": dy.Int64(min_exclusive=0),
        "size_usd": dy.Int64(min_exclusive=0),
        "books": dy.Int64(min_exclusive=0),
        "filled": dy.Int64(min=0),
        "cost_bp": dy.Float64(min=0, nullable=True),
        "low_bp": dy.Float64(nullable=True),
        "high_bp": dy.Float64(nullable=True),
        "half_spread_bp": dy.Float64(min_exclusive=0),
        "first": dy.Datetime(),
        "last": dy.Datetime(),
    },
    unique=["coin", "size_usd"],
)
"""One row a contract and size: how many of its books fill the order; the mean cost over all
books with a 95% interval, missing unless every book fills it; times of the first and last."""

_SCHEMA = {
    "coin": pl.String(),
    "rank": pl.Int64(),
    "size_usd": pl.Int64(),
    "books": pl.Int64(),
    "filled": pl.Int64(),
    "cost_bp": pl.Float64(),
    "low_bp": pl.Float64(),
    "high_bp": pl.Float64(),
    "half_spread_bp": pl.Float64(),
    "first": pl.Datetime("us"),
    "last": pl.Datetime("us"),
}


class DepthSettings(Model):
    """Order books: contracts by rank of turnover, books of each, and sizes of orders.

    The ranks are those to measure; which contract has one, the table of books says.
    """

    contracts: dict[Annotated[int, Field(ge=1)], Symbol]
    snapshots: int = Field(ge=1)
    sizes_usd: tuple[Annotated[int, Field(ge=1)], ...] = Field(min_length=1)


class DepthStep(Model):
    """What measuring needs: None where this run has no order books."""

    depth: DepthSettings | None


def buy_cost(prices: Floats, quantities: Floats, middle: float, notional: Floats) -> Floats:
    """Cost of market buys against the middle price, in basis points.

    Parameters
    ----------
    prices, quantities
        Asks from the best on, prices ascending, shape ``(levels,)``.
    middle
        Middle of the best bid and ask.
    notional
        Sizes of the orders in the currency of the prices, shape ``(orders,)``, positive.

    Returns
    -------
    shape ``(orders,)``; NaN where the levels cannot fill the order.

    Examples
    --------
    Two levels, 1 coin at 101 and 1 at 103, the middle at 100: 204 buys both at 102.

    >>> buy_cost(np.array([101.0, 103]), np.ones(2), 100, np.array([50.0, 204, 205]))
    array([100., 200.,  nan])
    """
    spent = np.concatenate([[0.0], np.cumsum(prices * quantities)])
    bought = np.concatenate([[0.0], np.cumsum(quantities)])
    # The level at which an order ends: all before it are emptied.
    level = np.searchsorted(spent[1:], notional, side="left")
    fillable = level < prices.size
    at = np.minimum(level, prices.size - 1)
    coins = bought[at] + (notional - spent[at]) / prices[at]
    return np.where(fillable, 1e4 * (notional / coins / middle - 1), np.nan)


def measure_depth(
    *, books: list[Path], costs: Path, settings: DepthStep, truth: Path | None = None
) -> list[Measurement]:
    """Mean cost of market buys by contract and size.

    Parameters
    ----------
    books
        DuckDB files with the table ``books``: one, or none where this run has no order books.
    costs
        Output, Parquet: see ``COSTS``.
    truth
        Of generated books: their cost in closed form, as `generate_books.generate_books` writes.

    Raises
    ------
    DataError
        When the database or the truth is missing or cannot be read, or lacks a rank.
    """
    depth = settings.depth
    rows: list[dict[str, Any]] = []
    spacing: list[float] = []
    for path in books if depth is not None else []:
        assert depth is not None  # noqa: S101 - no book is read without settings
        for rank in sorted(depth.contracts):
            levels = read_table(path, BOOKS, where="rank = ?", parameters=[rank])
            rows += _rows(rank, levels, depth.sizes_usd)
            times = levels["time"].unique().sort().diff().drop_nulls()
            spacing += [each.total_seconds() / 60 for each in times]
    table = pl.DataFrame(rows, schema=_SCHEMA)
    write_frame(table, costs, COSTS)
    planted: dict[str, Any] = {} if truth is None else read_json(truth)["contracts"]
    measured = [
        *(
            _cost(table, planted, depth, row.quantity, row.condition, row.output_id)
            for row in measurable(OUTPUTS)
            if row.quantity in (COST, ROUNDED, COST_MILLION)
        ),
        _fillable(table, planted, depth),
        *_design(table, spacing),
    ]
    return answer_all(measured, OUTPUTS, "this run has no order books")


def _rows(rank: int, levels: pl.DataFrame, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    if levels.is_empty():
        raise DataError(
            f"there is no order book of the contract of rank {rank}",
            where="the table books",
            remedy="parse the books again with the contracts of this run",
        )
    notional = np.array(sizes, dtype=np.float64)
    costs, halves = [], []
    for book in levels.partition_by("snapshot", maintain_order=True):
        asks = book.filter(pl.col("side") == "ask")
        prices, quantities = asks["price"].to_numpy(), asks["quantity"].to_numpy()
        bid = book.filter(pl.col("side") == "bid", pl.col("level") == 0)["price"].item()
        middle = (prices[0] + bid) / 2
        halves.append(1e4 * (prices[0] / middle - 1))
        costs.append(buy_cost(prices, quantities, middle, notional))
    every = np.array(costs)
    return [
        {
            "coin": coin(levels["symbol"][0]),
            "rank": rank,
            "size_usd": size,
            "books": len(costs),
            "filled": int(np.isfinite(own).sum()),
            **dict(zip(("cost_bp", "low_bp", "high_bp"), _mean(own), strict=True)),
            "half_spread_bp": float(np.mean(halves)),
            "first": levels["time"].min(),
            "last": levels["time"].max(),
        }
        for size, own in zip(sizes, every.T, strict=True)
    ]


def _mean(costs: Floats) -> tuple[float | None, float | None, float | None]:
    """Mean and its 95% interval by Student's t; nothing unless every book fills the order."""
    if not np.isfinite(costs).all():
        return None, None, None
    mean = float(costs.mean())
    if costs.size < 2:
        return mean, None, None
    error = float(stdtrit(costs.size - 1, 0.975)) * float(costs.std(ddof=1)) / math.sqrt(costs.size)
    return mean, mean - error, mean + error


def _contract(condition: str) -> tuple[int, str]:
    """Rank and coin that a row speaks of; 0 or '' where it names only the other."""
    words = condition.replace(",", "").split()
    if words[0] != "rank":
        return 0, words[0]
    return int(words[1]), words[2] if len(words) == 3 else ""


def _found(
    table: pl.DataFrame, depth: DepthSettings | None, condition: str, size: int
) -> dict[str, Any] | str:
    """The row of a contract and size, or why there is none."""
    if depth is None or table.is_empty():
        return "this run has no order books"
    rank, name = _contract(condition)
    # A rank alone is the contract that the publication found there.
    wanted = name or _PUBLISHED[rank]
    hits = table.filter(pl.col("coin") == wanted, pl.col("size_usd") == size)
    if not hits.height:
        return (
            f"orders of {size} USD are not among this run's sizes"
            if wanted in table["coin"].to_list()
            else f"{wanted} is not among this run's order books"
        )
    row = hits.row(0, named=True)
    if rank and row["rank"] != rank:
        return f"{wanted} has rank {row['rank']} in this run, not {rank}"
    return row


#: Coin by rank, as the printed costs name them.
_PUBLISHED = dict(
    _contract(row.condition) for row in measurable(["fig_depth"]) if row.quantity == COST
)


def _covered(row: dict[str, Any]) -> str:
    days = (row["first"].date(), row["last"].date())
    return WHOLE if set(days) == {TAKEN} else f"order books of {days[0]}, not of {TAKEN}"


def _cost(
    table: pl.DataFrame,
    planted: dict[str, Any],
    depth: DepthSettings | None,
    quantity: str,
    condition: str,
    output: str,
) -> Measurement:
    size = MILLION if quantity == COST_MILLION else HUNDRED
    row = _found(table, depth, condition, size)
    if isinstance(row, str):
        return not_run(output, quantity, condition, row)
    if row["cost_bp"] is None:
        reason = f"{row['filled']} of {row['books']} books fill an order of {size} USD"
        return not_run(output, quantity, condition, reason)
    return Measurement(
        output_id=output,
        quantity=quantity,
        condition=condition,
        value=row["cost_bp"],
        low=row["low_bp"],
        high=row["high_bp"],
        n=row["books"],
        truth=planted.get(f"{row['coin']}USDT", {}).get(str(size)),
        coverage=_covered(row),
        note="interval as if the books were independent",
    )


def _fillable(
    table: pl.DataFrame, planted: dict[str, Any], depth: DepthSettings | None
) -> Measurement:
    key = ("stat_depth_million", FILLABLE, "rank 200, 0 = no")
    row = _found(table, depth, "rank 200", MILLION)
    if isinstance(row, str):
        return not_run(*key, row)
    costs = planted.get(f"{row['coin']}USDT")
    return Measurement(
        output_id=key[0],
        quantity=key[1],
        condition=key[2],
        value=int(row["filled"] == row["books"]),
        n=row["books"],
        truth=None if costs is None else int(costs[str(MILLION)] is not None),
        coverage=_covered(row),
        note=f"{row['filled']} of {row['books']} books fill it",
    )


def _design(table: pl.DataFrame, spacing: list[float]) -> list[Measurement]:
    """How the books were taken: number, spacing, and the sizes of the orders."""
    if table.is_empty():
        return []
    values = {
        "snapshots": int(table["books"].to_numpy().min()),
        "spacing of snapshots": float(np.mean(spacing)) if spacing else None,
        "smallest order size": int(table["size_usd"].to_numpy().min()),
        "largest order size": int(table["size_usd"].to_numpy().max()),
    }
    return [
        Measurement(output_id="fig_depth", quantity=quantity, value=value)
        if value is not None
        else not_run("fig_depth", quantity, "", "one book has no spacing")
        for quantity, value in values.items()
    ]
