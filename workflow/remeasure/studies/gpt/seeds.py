"""How far trainings with other seeds differ: legal moves at the same positions, and the loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import dataframely as dy
import numpy as np
import polars as pl
import torch

from remeasure.model import Model
from remeasure.nn.device import device_of
from remeasure.store.frames import read_frame, write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.gpt import article
from remeasure.studies.gpt.chess_model import ChessPlayer, read
from remeasure.studies.gpt.judging import LEGAL
from remeasure.studies.gpt.moves import (
    COUNTS,
    GAPS,
    MOVES,
    SHARES,
    TRAINED,
    gaps_of,
    shares_of,
)
from remeasure.studies.gpt.positions import POSITIONS
from remeasure.studies.gpt.says import judged
from remeasure.studies.gpt.settings import Device
from remeasure.studies.gpt.training import LOG
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
    """Settings of `measure_seeds`.

    Attributes
    ----------
    first, further
        Seed of the training that answers published rows, and the others.
    device, threads
        Where networks run.
    resamples
        Of the bootstrap over positions.
    """

    first: int
    further: tuple[int, ...]
    device: Device
    threads: int
    resamples: int


def measure_seeds(
    *,
    positions: Path,
    moves: Path,
    shares: Path,
    gaps: Path,
    log: Path,
    weights: list[Path],
    logs: list[Path],
    seeds: Path,
    spread: Path,
    settings: SeedsStep,
    rng: np.random.Generator,
) -> None:
    """Step: judge the model of each further seed as ``moves`` judged the first, and pool all.

    Parameters
    ----------
    positions
        Input, as `POSITIONS`.
    moves, shares, gaps, log
        Inputs, of the first seed and of the n-gram, as the steps ``moves`` and ``training``
        write them.
    weights, logs
        Inputs, of the further seeds in the order of the settings; nothing where there are none.
    seeds, spread
        Outputs, Parquet: see `SEEDS`, `SPREAD`.
    """
    torch.set_num_threads(settings.threads)
    device = device_of(settings.device)
    found = read_frame(positions, POSITIONS)
    counted = read_frame(moves, MOVES).filter(pl.col("model") == COUNTS)
    lines = [
        _line(
            settings.first,
            read_frame(shares, SHARES),
            read_frame(gaps, GAPS),
            read_frame(log, LOG),
        )
    ]
    columns = ["model", "verdict", "same"]
    for seed, model, logged in zip(settings.further, weights, logs, strict=True):
        player = ChessPlayer(read(model).to(device), device, article.ROOM)
        own = judged(player, found).with_columns(pl.lit(TRAINED).alias("model"))
        both = pl.concat([own.select(columns), counted.select(columns)])
        lines.append(
            _line(
                seed,
                shares_of(both),
                gaps_of(both, settings.resamples, rng),
                read_frame(logged, LOG),
            )
        )
    table = frame_of(lines, SEEDS)
    write_frame(table, seeds, SEEDS)
    write_frame(spread_of(table), spread, SPREAD)


def _line(seed: int, shares: pl.DataFrame, gaps: pl.DataFrame, log: pl.DataFrame) -> list[Any]:
    """A row of `SEEDS` out of tables in which the model of this seed is called ours."""
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
