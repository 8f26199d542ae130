"""The numbers that open the article: one line each, measured beside printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from remeasure.draw.chart import found, said
from remeasure.draw.origins import ORIGIN_LABELS
from remeasure.report.numbers import grouped
from remeasure.report.tables import Column, html_table
from remeasure.store.frames import read_frame
from remeasure.studies.crypto.published import rows

OUTPUT = "tab_headline"

#: The most random strategies that the best is taken of.
MOST = 20_000


def tab_headline(
    *,
    breakeven: Path,
    noise: Path,
    scores: Path,
    shares: Path,
    table: Path,
    origin: str,
) -> None:
    """What the article opens with: break-even, the best of luck, memory, the next hour.

    Parameters
    ----------
    breakeven, noise, scores, shares
        Parquet, as ``breakeven.BREAKEVEN``, ``random_strategies.NOISE``, ``direction.SCORES``
        and ``memory_direction.SHARES``.
    table
        Output: a fragment of HTML.
    origin
        Of the results; generated ones hold answers of a stand-in for the language models.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    found_values = _measured(
        read_frame(breakeven), read_frame(noise), read_frame(scores), read_frame(shares)
    )
    printed = [row for row in rows().values() if row.output_id == OUTPUT]
    frame = pl.DataFrame(
        [
            (
                f"{row.quantity}, {row.condition}" if row.condition else row.quantity,
                found_values.get((row.quantity, row.condition)),
                grouped(row.published),
                row.unit,
            )
            for row in printed
        ],
        schema=dict.fromkeys(("number", "measured", "published", "unit"), pl.String),
        orient="row",
    )
    label = ORIGIN_LABELS.get(origin, "")
    notes = [label[:1].upper() + label[1:]] if label else []
    if origin == "generated":
        notes.append("the answers of language models are those of a simulated stand-in")
    fragment = html_table(
        frame,
        caption="The numbers that open the article, with 95% intervals, beside what was printed",
        columns=[
            Column(name="number", title="number"),
            Column(name="measured", title="measured"),
            Column(name="published", title="published"),
            Column(name="unit", title="unit"),
        ],
        note="; ".join(notes) + "." if notes else "",
    )
    table.write_text(fragment, "utf-8")


def _measured(
    breakeven: pl.DataFrame, noise: pl.DataFrame, scores: pl.DataFrame, shares: pl.DataFrame
) -> dict[tuple[str, str], str]:
    """Values in words by quantity and condition; what this run lacks is absent."""
    values: dict[tuple[str, str], str] = {}

    def put(key: tuple[str, str], row: dict[str, Any] | None, names: str, scale: float = 1) -> None:
        value, low, high = ((row or {}).get(name) for name in names.split())
        if value is None:
            return
        ends = (None, None) if low is None or high is None else (scale * low, scale * high)
        values[key] = said(scale * value, *ends)

    row = found(breakeven, coin="BTC", bar="1h", cost_bp=10.0)
    put(("break-even hit rate", "hourly BTC, 10 bp round trip"), row, "percent low high")
    row = found(noise, n=MOST)
    put(("best Sharpe of 20,000 random strategies", ""), row, "best low high")
    pooled = shares.filter(
        (pl.col("model") == "all models")
        & (pl.col("kind") == "month")
        & (pl.col("split") == "median")
    )
    for window, condition in (
        ("before", "a year or more before release, pooled"),
        ("after", "after release, pooled"),
    ):
        put(("months right", condition), found(pooled, window=window), "percent low high")
    row = found(scores, coin="BTC")
    put(("hit rate", "BTC next hour"), row, "hit_rate hit_low hit_high", 100)
    return values
