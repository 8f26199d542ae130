"""What the publication leaves open, tried each way: one line a reading, side by side.

The first reading of each question is the one that the ledger uses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from remeasure.draw.origins import ORIGIN_LABELS
from remeasure.report.numbers import grouped
from remeasure.report.tables import Column, html_table
from remeasure.store.frames import read_frame

Row = dict[str, Any]
Line = tuple[str, str, dict[str, str]]

#: The last column is for what pools the coins.
EVERY = "all coins"
COLUMNS = ("BTC", "ETH", "SOL", EVERY)
TARGETS = {"log variance": "R² of log variance", "returns": "R² of daily returns"}
Z95 = 1.96


def tab_variants(
    *, volatility: Path, targeting: Path, crash: Path, grid: Path, table: Path, origin: str
) -> None:
    """Every reading that this run has measured, by coin.

    Parameters
    ----------
    volatility, targeting, crash
        Parquet, as ``volatility.SCORES``, ``targeting.TARGETING`` and ``crash.CRASH``.
    grid
        JSON, as ``rules_grid.measure_grid`` writes it.
    table
        Output: a fragment of HTML.
    origin
        Of the results.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    lines = [
        *_volatility(read_frame(volatility)),
        *_sizes(read_frame(targeting)),
        *_crash(read_frame(crash)),
        *_luck(json.loads(grid.read_text("utf-8"))),
    ]
    frame = pl.DataFrame(
        {
            "question": [question for question, _, _ in lines],
            "reading": [reading for _, reading, _ in lines],
            **{
                coin: pl.Series([cells.get(coin) for _, _, cells in lines], dtype=pl.String)
                for coin in COLUMNS
            },
        }
    )
    label = ORIGIN_LABELS.get(origin, "")
    fragment = html_table(
        frame,
        caption="Open points, each way, with 95% intervals where a value has one",
        columns=[
            Column(name="question", title="quantity"),
            Column(name="reading", title="reading"),
            *(Column(name=coin, title=coin) for coin in COLUMNS),
        ],
        note=f"{label[:1].upper()}{label[1:]}." if label else "",
    )
    table.write_text(fragment, "utf-8")


def _cell(value: float, low: float | None, high: float | None, decimals: int) -> str:
    def told(number: float) -> str:
        # No minus before a rounded zero.
        return grouped(f"{round(number, decimals) + 0.0:.{decimals}f}")

    ends = f" ({told(low)}\xa0to\xa0{told(high)})" if low is not None and high is not None else ""
    return told(value) + ends


def _by_coin(rows: pl.DataFrame, columns: tuple[str, ...], decimals: int) -> dict[str, str]:
    """A cell for each coin of some rows: the value, and the interval where there is one."""
    cells: dict[str, str] = {}
    for row in rows.iter_rows(named=True):
        value, low, high = (*(row[name] for name in columns), None, None)[:3]
        cells[row["coin"]] = _cell(value, low, high, decimals)
    return cells


def _volatility(scores: pl.DataFrame) -> Iterator[Line]:
    """R2 by lengths, averaging and benchmark; the published way first."""
    for target, question in TARGETS.items():
        own = scores.filter(pl.col("target") == target)
        for (variant, benchmark), rows in own.group_by(
            ["variant", "benchmark"], maintain_order=True
        ):
            reading = f"{variant}; against the {benchmark}".replace("the zero", "zero")
            yield question, reading, _by_coin(rows, ("r2", "low", "high"), 3)


def _sizes(table: pl.DataFrame) -> Iterator[Line]:
    """Volatility, drawdown and Sharpe ratio of each way to size a position."""
    for title, columns, decimals in (
        ("volatility a year", ("volatility", "volatility_low", "volatility_high"), 3),
        ("largest drawdown", ("drawdown",), 3),
        ("Sharpe ratio", ("sharpe", "sharpe_low", "sharpe_high"), 2),
    ):
        for (position,), rows in table.group_by(["position"], maintain_order=True):
            yield title, str(position), _by_coin(rows, columns, decimals)


def _crash(table: pl.DataFrame) -> Iterator[Line]:
    """The fall of one day by convention and window."""
    for (convention, window), rows in table.group_by(["convention", "window"], maintain_order=True):
        whose = "its own window" if window == "own" else f"{window} window".replace("'", "’")
        yield "fall within 80 minutes, %", f"{convention}, {whose}", _by_coin(rows, ("percent",), 1)


def _luck(grid: Row) -> Iterator[Line]:
    """How far the best rule stands above luck, by what luck starts from; of all coins."""
    estimates = grid.get("estimates")
    if estimates is None:
        return
    for name, reading in (
        ("excess", "trials centred on zero"),
        ("excess_with_mean", "trials centred on their mean"),
    ):
        value, error = estimates[name]["value"], Z95 * estimates[name]["se"]
        cell = _cell(value, value - error, value + error, 2)
        yield "best rule’s Sharpe ratio less the best by luck", reading, {EVERY: cell}
