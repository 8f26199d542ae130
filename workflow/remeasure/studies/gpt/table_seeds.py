"""The table of trainings by seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from remeasure.report.numbers import grouped
from remeasure.report.tables import Column, html_table
from remeasure.store.frames import read_frame

ALONE = (
    "One seed was trained, so that the spread over seeds is not known:"
    " gpt.training.further_seeds names no other."
)


def tab_chess_seeds(*, seeds: Path, spread: Path, table: Path, origin: str) -> None:
    """Legal moves and loss of each seed's model, and their spread.

    Parameters
    ----------
    seeds, spread
        Parquet, as ``seeds.SEEDS`` and ``seeds.SPREAD``.
    table
        Output: a fragment of HTML.
    """
    trained, pooled = read_frame(seeds), read_frame(spread)
    lines: list[tuple[Any, ...]] = [
        (
            str(row["seed"]),
            row["share"],
            _ends(row["low"], row["high"]),
            row["gap"],
            _ends(row["gap_low"], row["gap_high"]),
            row["loss"],
        )
        for row in trained.iter_rows(named=True)
    ]
    if trained.height > 1:
        over = {row["what"]: row for row in pooled.iter_rows(named=True)}
        for what, title in (("mean", "mean"), ("deviation", "standard deviation")):
            share, gap, loss = (over[each][what] for each in ("share", "gap", "loss"))
            lines.append((title, share, "", gap, "", loss))
    schema = {
        "seed": pl.String,
        "share": pl.Float64,
        "ends": pl.String,
        "gap": pl.Float64,
        "gap_ends": pl.String,
        "loss": pl.Float64,
    }
    fragment = html_table(
        pl.DataFrame(lines, schema=schema, orient="row"),
        caption="The chess model by the seed of its training",
        columns=[
            Column(name="seed", title="seed"),
            Column(name="share", title="legal moves", unit="share", decimals=3),
            Column(name="ends", title="95% interval"),
            Column(name="gap", title="less the n-gram's", decimals=3),
            Column(name="gap_ends", title="95% interval"),
            Column(name="loss", title="last loss", unit="nats a character", decimals=3),
        ],
        note=_note(trained),
    )
    table.write_text(fragment, "utf-8")


def _note(trained: pl.DataFrame) -> str:
    """What differs between the rows, and of what the intervals and the deviation are."""
    positions = f"{grouped(str(trained['n'][0]))} test positions"
    if trained.height == 1:
        return f"{ALONE} Intervals are over {positions}; the last loss is of one batch."
    return (
        f"Seeds draw initial weights and windows; games and the {positions} are the same. Intervals"
        f" are over positions for one model, the deviation (n \N{MINUS SIGN} 1) is over"
        f" {trained.height} seeds; the last loss is of one batch. Seed {trained['seed'][0]} is the"
        " model of every other output."
    )


def _ends(low: float, high: float) -> str:
    """An interval as a cell shows it."""
    return f"{grouped(f'{low:.3f}')} to {grouped(f'{high:.3f}')}"
