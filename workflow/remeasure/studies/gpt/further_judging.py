"""Moves of the models of further seeds, judged as the first one's are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import torch

from remeasure.model import Model
from remeasure.nn.device import device_of
from remeasure.store.frames import read_frame, write_frame
from remeasure.studies.gpt import article
from remeasure.studies.gpt.chess_model import ChessPlayer, read
from remeasure.studies.gpt.move_tables import COUNTS, TRAINED
from remeasure.studies.gpt.moves import MOVES, gaps_of, shares_of
from remeasure.studies.gpt.positions import POSITIONS
from remeasure.studies.gpt.says import judged
from remeasure.studies.gpt.seeds import SEEDS, line_of
from remeasure.studies.gpt.settings import Device
from remeasure.studies.gpt.training import LOG
from remeasure.studies.gpt.typed import frame_of


class FurtherJudgingStep(Model):
    """Settings of `judge_further`.

    Attributes
    ----------
    further
        Seeds of the models, in the order of their files.
    device, threads
        Where networks run.
    resamples
        Of the bootstrap over positions.
    """

    further: tuple[int, ...]
    device: Device
    threads: int
    resamples: int


def judge_further(
    *,
    positions: Path,
    moves: Path,
    weights: list[Path],
    logs: list[Path],
    further: Path,
    settings: FurtherJudgingStep,
    rng: np.random.Generator,
) -> None:
    """Step: let the model of each further seed say its move at every test position.

    Parameters
    ----------
    positions, moves
        Inputs, as the steps ``positions`` and ``moves`` write them; of the latter, the n-gram's.
    weights, logs
        Inputs, as the trainings write them, one of each a seed.
    further
        Output, Parquet: see ``seeds.SEEDS``.
    """
    torch.set_num_threads(settings.threads)
    device = device_of(settings.device)
    found = read_frame(positions, POSITIONS)
    columns = ["model", "verdict", "same"]
    counted = read_frame(moves, MOVES).filter(pl.col("model") == COUNTS).select(columns)
    lines = []
    for seed, model, log in zip(settings.further, weights, logs, strict=True):
        player = ChessPlayer(read(model).to(device), device, article.ROOM)
        own = judged(player, found).with_columns(pl.lit(TRAINED).alias("model"))
        both = pl.concat([own.select(columns), counted])
        gaps = gaps_of(both, settings.resamples, rng)
        lines.append(line_of(seed, shares_of(both), gaps, read_frame(log, LOG)))
    write_frame(frame_of(lines, SEEDS), further, SEEDS)
