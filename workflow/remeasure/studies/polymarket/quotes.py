"""Quotes of the night: what one share of the Senate market is, and who wins what on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from remeasure.ledger.measurement import Measurement, not_run
from remeasure.store.frames import write_json
from remeasure.store.tables import read_table
from remeasure.studies.polymarket.published import answer_all, printed
from remeasure.studies.polymarket.schema import BOOK_SNAPSHOT

OUTPUTS = ("fig_anatomy", "stat_quotes")

#: What the questions of the two markets say.
SENATE = r"(?i)democrat.*\bsenate\b.*2026"
HOUSE = r"(?i)democrat.*\bhouse\b.*2026"

NIGHT = "Senate Democrats, 31 Oct 2026"


def measure_quotes(*, quote: Path, snapshot: Path | None = None) -> list[Measurement]:
    """The Senate market's bid, ask and middle, and the arithmetic of a share bought at the ask.

    Parameters
    ----------
    snapshot
        DuckDB with the table ``book_snapshot``, or none.
    quote
        Output, JSON: ``bid`` and ``ask`` in dollars (null where there is none) and whose they
        are; the printed ones stand beside them.
    """
    books = read_table(snapshot, BOOK_SNAPSHOT) if snapshot else BOOK_SNAPSHOT.empty()
    senate, house = _market(books, SENATE), _market(books, HOUSE)
    bid, ask = (printed("fig_anatomy", f"best {side} Yes", NIGHT) / 100 for side in ("bid", "ask"))
    write_json(
        {
            "bid": None if senate is None else senate["bid"],
            "ask": None if senate is None else senate["ask"],
            "question": None if senate is None else senate["question"],
            "printed_bid": bid,
            "printed_ask": ask,
        },
        quote,
    )
    measured = [*_exact(bid, ask), *_senate(senate), *_house(house)]
    return answer_all(measured, OUTPUTS, "this run has no snapshot of order books")


def _market(books: pl.DataFrame, pattern: str) -> dict[str, Any] | None:
    """The one market whose question fits, with both sides quoted; the most traded of several."""
    fitting = books.filter(
        pl.col("question").str.contains(pattern), pl.col("bid") > 0, pl.col("ask") < 1
    )
    if fitting.is_empty():
        return None
    return fitting.sort("total_dollars", "market", descending=[True, False]).row(0, named=True)


def _exact(bid: float, ask: float) -> list[Measurement]:
    """What follows from the printed quotes alone, in cents."""
    bought = "bought at 72 cents"
    rows = {
        ("Yes plus No", "one share each"): 100 * ((bid + ask) / 2 + (1 - (bid + ask) / 2)),
        ("gain if Yes", bought): 100 * (1 - ask),
        ("loss if No", bought): -100 * ask,
        ("break-even probability", bought): 100 * ask,
        ("mid from bid and ask", "(71+72)/2"): 100 * (bid + ask) / 2,
    }
    return [
        Measurement(
            output_id="fig_anatomy",
            quantity=quantity,
            condition=condition,
            value=round(value, 10),
        )
        for (quantity, condition), value in rows.items()
    ]


def _senate(row: dict[str, Any] | None) -> list[Measurement]:
    if row is None:
        return []
    mid = (row["bid"] + row["ask"]) / 2
    values = {
        "Yes mid": mid,
        "No mid": 1 - mid,
        "best bid Yes": row["bid"],
        "best ask Yes": row["ask"],
    }
    found = [
        Measurement(
            output_id="fig_anatomy",
            quantity=quantity,
            condition=NIGHT,
            value=round(100 * value, 10),
        )
        for quantity, value in values.items()
    ]
    key = "stat_quotes", "dollars traded", "Senate control market, 31 Oct 2026"
    dollars = row["total_dollars"]
    if dollars is None:
        return [*found, not_run(*key, "the listing names no dollars for it")]
    output, quantity, condition = key
    return [
        *found,
        Measurement(output_id=output, quantity=quantity, condition=condition, value=dollars),
    ]


def _house(row: dict[str, Any] | None) -> list[Measurement]:
    if row is None:
        return []
    return [
        Measurement(
            output_id="stat_quotes",
            quantity="price Democrats win the House",
            condition="31 Oct 2026",
            value=round(50 * (row["bid"] + row["ask"]), 10),
        )
    ]
