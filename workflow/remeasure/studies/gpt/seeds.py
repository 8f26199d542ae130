"""How far trainings with other seeds differ: legal moves at the same positions, and the loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import dataframely as dy
import polars as pl

from remeasure.model import Model
from remeasure.store.frames import read_frame, write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.gpt.judging import LEGAL
from remeasure.studies.gpt.move_tables import COUNTS, GAPS, SHARES, TRAINED
from remeasure.studies.gpt.typed import frame_of

SEEDS = declare(
    "trainings by seed",
    {
        "seed": dy.Int64(min=0),
        "legal": dy.Int64(min=0),
        "n": dy.Int64(min=1),
        "share": dy.Float64(min=0, max=1),
        "low": dy.Float64(),
        "high": dy.Float64(),
        "gap": dy.Float64(min=-1, max=1),
        "gap_low": dy.Float64(),
        "gap_high": dy.Float64(),
        "loss": dy.Float64(),
    },
    unique=["seed"],
)
"""One row a training, the first seed first: legal moves of ``n`` positions, share less that of
the n-gram, both with 95% intervals over positions, and the loss of the last batch in nats."""

#: Columns of `SEEDS` that are pooled.
POOLED: Final = ("share", "gap", "loss")

SPREAD = declare(
    "spread over seeds",
    {
        "what": one_of(POOLED),
        "seeds": dy.Int64(min=1),
        "mean": dy.Float64(),
        "deviation": dy.Float64(min=0, nullable=True),
    },
    unique=["what"],
)
"""Mean and standard deviation (n - 1) over seeds; the latter is null where there is one seed."""


class SeedsStep(Model):
    """Settings of `pool_seeds`: the seed of the training that answers published rows."""

    first: int


def pool_seeds(
    *,
    shares: Path,
    gaps: Path,
    log: Path,
    further: list[Path],
    seeds: Path,
    spread: Path,
    settings: SeedsStep,
) -> None:
    """Step: put the training of the first seed and further ones together, and pool them.

    Parameters
    ----------
    shares, gaps, log
        Inputs, of the first seed, as the steps ``moves`` and ``training`` write them.
    further
        Input, as `SEEDS`, of the further seeds; nothing where there are none.
    seeds, spread
        Outputs, Parquet: see `SEEDS`, `SPREAD`.
    """
    first = line_of(
        settings.first,
        read_frame(shares, SHARES),
        read_frame(gaps, GAPS),
        read_frame(log),
    )
    table = pl.concat([frame_of([first], SEEDS), *(read_frame(each, SEEDS) for each in further)])
    write_frame(table, seeds, SEEDS)
    write_frame(spread_of(table), spread, SPREAD)


def line_of(seed: int, shares: pl.DataFrame, gaps: pl.DataFrame, log: pl.DataFrame) -> list[Any]:
    """A row of `SEEDS` out of tables in which the model of this seed is called ours.

    ``log`` is that of its training, as ``training.LOG``.
    """
    legal = shares.row(
        by_predicate=(pl.col("model") == TRAINED) & (pl.col("what") == LEGAL), named=True
    )
    gap = gaps.row(by_predicate=pl.col("less") == COUNTS, named=True)
    return [
        seed,
        *(legal[each] for each in ("count", "n", "share", "low", "high")),
        *(gap[each] for each in ("gap", "low", "high")),
        log["loss"][-1],
    ]


def spread_of(table: pl.DataFrame) -> pl.DataFrame:
    """`SPREAD` of `SEEDS`."""
    return pl.concat(
        table.select(
            pl.lit(each).alias("what"),
            pl.len().cast(pl.Int64).alias("seeds"),
            pl.col(each).mean().alias("mean"),
            pl.col(each).std(ddof=1).alias("deviation"),
        )
        for each in POOLED
    )
