"""Moves of every model at the test positions: legal or not, and the player's own or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import dataframely as dy
import numpy as np
import polars as pl
import torch

from remeasure.ledger.measurement import Measurement
from remeasure.ledger.reference import Key
from remeasure.model import Model
from remeasure.nn.device import device_of
from remeasure.stats.bootstrap import mean_interval
from remeasure.stats.proportion import wilson
from remeasure.store.frames import read_frame, read_json, write_frame
from remeasure.store.schema import declare
from remeasure.studies.gpt import article
from remeasure.studies.gpt.chess_model import ChessPlayer, Player, fresh, read
from remeasure.studies.gpt.chess_text import encode_stream
from remeasure.studies.gpt.games import GAMES
from remeasure.studies.gpt.judging import LEGAL, VERDICTS
from remeasure.studies.gpt.karvonen import karvonen_model, read_checkpoint
from remeasure.studies.gpt.move_tables import COUNTS, GAPS, SHARES, TRAINED, UNTRAINED
from remeasure.studies.gpt.ngram import Counted, CountingPlayer
from remeasure.studies.gpt.openai import WordPlayer, read_gpt2
from remeasure.studies.gpt.positions import POSITIONS
from remeasure.studies.gpt.published import (
    GPT2,
    KARVONEN,
    NEEDS_GPT2,
    NEEDS_KARVONEN,
    OURS,
    answer,
    keys,
    measurement,
)
from remeasure.studies.gpt.says import SAID, judged
from remeasure.studies.gpt.settings import BaselineSettings, Device, ModelSettings
from remeasure.studies.gpt.typed import frame_of

#: What the article calls the models that both have.
PUBLISHED: Final = {TRAINED: OURS, GPT2: GPT2, KARVONEN: KARVONEN}

MOVES = declare("moves of models", {"model": dy.String(), "position": dy.Int64(), **SAID.columns})
#: The row of `SHARES` that counts the player's own moves.
SAME: Final = "same move as the player"

ASKED: tuple[Key, ...] = (
    *keys("stat_gpt2_moves"),
    *keys("tab_gpt2_verdicts"),
    *keys("stat_chess_moves"),
    *keys("tab_verdicts_by_model"),
    *keys("stat_same_move"),
    *keys("fig_training", "dashed line: GPT-2"),
)


class MovesStep(Model):
    """Settings of `measure_moves`.

    Attributes
    ----------
    model, seed
        Sizes and seed of the fresh weights that training began with.
    baseline
        The n-gram.
    device, threads
        Where networks run.
    resamples
        Of the bootstrap over positions.
    """

    model: ModelSettings
    seed: int
    baseline: BaselineSettings
    device: Device
    threads: int
    resamples: int


def measure_moves(
    *,
    games: Path,
    positions: Path,
    summary: Path,
    weights: Path,
    training_facts: Path,
    gpt2: list[Path],
    karvonen: list[Path],
    moves: Path,
    shares: Path,
    gaps: Path,
    settings: MovesStep,
    rng: np.random.Generator,
) -> list[Measurement]:
    """Step: let every model say its likeliest move at every test position, and judge it.

    Parameters
    ----------
    games, positions, summary, weights, training_facts
        Inputs, as the steps before write them.
    gpt2, karvonen
        Inputs, JSON: manifests of published checkpoints, or nothing.
    moves, shares, gaps
        Outputs, Parquet: see `MOVES`, `SHARES`, `GAPS`.
    """
    torch.set_num_threads(settings.threads)
    found = read_frame(positions, POSITIONS)
    device = device_of(settings.device)
    room = article.ROOM
    trained = read(weights).to(device)
    texts = read_frame(games, GAMES).filter(~pl.col("test"))["text"].to_list()
    stream = encode_stream(texts)[: settings.baseline.characters]
    players: dict[str, Player] = {
        UNTRAINED: ChessPlayer(fresh(settings.model, settings.seed).to(device), device, room),
        COUNTS: CountingPlayer(Counted.of(stream, settings.baseline.order), 10**9),
        TRAINED: ChessPlayer(trained, device, room),
    }
    if gpt2:
        players[GPT2] = WordPlayer(*read_gpt2(gpt2[0], device), device)
    if karvonen:
        his = karvonen_model(read_checkpoint(karvonen[0])).to(device)
        players[KARVONEN] = ChessPlayer(his, device, room)
    said = pl.concat(
        judged(player, found).select(
            pl.lit(name).alias("model"),
            pl.int_range(pl.len(), dtype=pl.Int64).alias("position"),
            "move",
            "verdict",
            "same",
        )
        for name, player in players.items()
    )
    table = shares_of(said)
    write_frame(said, moves, MOVES)
    write_frame(table, shares, SHARES)
    write_frame(gaps_of(said, settings.resamples, rng), gaps, GAPS)
    of_games = read_json(summary)["coverage"]
    of_all = of_games
    if found.height != article.POSITIONS:
        of_all = f"{of_games}; {found.height} positions of {article.POSITIONS}"
    covered = {
        TRAINED: read_json(training_facts)["coverage"],
        GPT2: of_all,
        KARVONEN: of_all,
    }
    reason = {key: NEEDS_KARVONEN if KARVONEN in key[2] else NEEDS_GPT2 for key in ASKED}
    measured = {
        (each.output_id, each.quantity, each.condition): each for each in _answers(table, covered)
    }
    return [
        *answer(measured.values(), [key for key in ASKED if key in measured], ""),
        *(each for key in ASKED if key not in measured for each in answer([], [key], reason[key])),
    ]


def shares_of(said: pl.DataFrame) -> pl.DataFrame:
    """Shares of each verdict, and of the player's own moves, by model: `SHARES`."""
    lines = []
    for name in said["model"].unique(maintain_order=True):
        own = said.filter(pl.col("model") == name)
        counts = {each: int((own["verdict"] == each).sum()) for each in VERDICTS}
        counts[SAME] = int(own["same"].sum())
        for what, count in counts.items():
            low, high = wilson(count, own.height)
            lines.append((name, what, count, own.height, count / own.height, low, high))
    return frame_of(lines, SHARES)


def gaps_of(said: pl.DataFrame, resamples: int, rng: np.random.Generator) -> pl.DataFrame:
    """How many more moves of a model are legal than of another, at the same positions: `GAPS`.

    Our trained model against every other one. Positions come from different games, so they are
    resampled one by one, for both models together.
    """
    legal = {
        name: (own["verdict"] == LEGAL).cast(pl.Float64).to_numpy()
        for (name,), own in said.group_by("model", maintain_order=True)
    }
    lines = []
    for name, other in legal.items():
        if name == TRAINED:
            continue
        gap = legal[TRAINED] - other
        low, high = mean_interval(gap, 1, resamples, rng)
        lines.append((TRAINED, str(name), float(gap.mean()), float(low), float(high)))
    return frame_of(lines, GAPS)


def _answers(table: pl.DataFrame, covered: Mapping[str, str]) -> Iterator[Measurement]:
    for row in table.iter_rows(named=True):
        if row["model"] not in PUBLISHED:
            continue
        name = PUBLISHED[row["model"]]
        for key, scale in _rows_of(name, row["what"]):
            yield measurement(
                key,
                scale * row["share"],
                low=scale * row["low"],
                high=scale * row["high"],
                n=row["n"],
                coverage=covered[row["model"]],
            )


def _rows_of(name: str, what: str) -> Iterator[tuple[Key, float]]:
    """Rows that print a share, and the unit it is printed in."""
    short = {GPT2: ("stat_gpt2_moves", "gpt2"), OURS: ("stat_chess_moves", "ours")}
    if what == SAME:
        yield ("stat_same_move", "the move the player made", name), 100.0
        if name in short:
            yield (short[name][0], what, f"1,000 positions, {short[name][1]}"), 100.0
        return
    yield ("tab_verdicts_by_model", "share", f"{what}; {name}"), 1.0
    if name == GPT2:
        yield ("tab_gpt2_verdicts", "share", what), 1.0
    if what == LEGAL and name in short:
        yield (short[name][0], "legal moves", f"1,000 positions, {short[name][1]}"), 100.0
    if what == LEGAL and name == GPT2:
        yield ("fig_training", "dashed line: GPT-2", "200-position panel"), 1.0
