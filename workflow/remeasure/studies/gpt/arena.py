"""Whole games against a random mover: does legality last, and does it win?"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import chess
import dataframely as dy
import numpy as np
import polars as pl
import torch

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.ledger.reference import Key
from remeasure.model import Model
from remeasure.nn.device import device_of
from remeasure.stats.bootstrap import mean_interval
from remeasure.stats.proportion import wilson
from remeasure.store.frames import read_json, write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.gpt import article
from remeasure.studies.gpt.chess_model import ChessPlayer, Player, read
from remeasure.studies.gpt.chess_text import prompt
from remeasure.studies.gpt.judging import parsed
from remeasure.studies.gpt.karvonen import karvonen_model, read_checkpoint
from remeasure.studies.gpt.published import (
    KARVONEN,
    NEEDS_KARVONEN,
    OURS,
    answer,
    keys,
    measurement,
)
from remeasure.studies.gpt.settings import ArenaSettings, Device
from remeasure.studies.gpt.typed import frame_of

#: How a game can end: by the rules, without a legal try, or out of room.
RESULTS: Final = ("1-0", "1/2-1/2", "forfeit", "unfinished", "0-1")

PLAYED = declare(
    "games against a random mover",
    {
        "model": dy.String(),
        "seed": dy.Int64(),
        "result": one_of(RESULTS),
        "half_moves": dy.Int64(),
        "illegal": dy.Int64(),
        "moves": dy.String(),
    },
)

SHORTEST = tuple(key for key in keys("stat_shortest_win") if "computed" not in key[1])
ASKED: tuple[Key, ...] = (
    *(key for key in keys("tab_games_vs_random") if key[2] != "setting"),
    *SHORTEST,
)


class ArenaStep(Model):
    """Settings of `measure_games`: games, device, threads, and resamples over games."""

    arena: ArenaSettings
    device: Device
    threads: int
    resamples: int


def play(player: Player, seed: int, settings: ArenaSettings) -> tuple[str, list[str], int]:
    """A game of a player, White, against a random mover.

    Black draws from python-chess's own list of legal moves. White has its likeliest move, then
    tries drawn with a generator of the same seed; a game without a legal try is forfeit, one
    whose text fills the model's room, or that has too many half-moves, is unfinished.

    Returns
    -------
    tuple
        Result, moves in standard notation, tries that were not legal.
    """
    board, moves, illegal = chess.Board(), list[str](), 0
    rng = random.Random(seed)  # noqa: S311
    generator = torch.Generator().manual_seed(seed)
    while not board.is_game_over():
        if len(moves) >= settings.half_moves:
            return "unfinished", moves, illegal
        if board.turn == chess.WHITE:
            text = prompt(moves, player.form)
            if len(text) > player.longest:
                return "unfinished", moves, illegal
            move = None
            for number in range(settings.tries):
                move = parsed(board, player.word(text, generator if number else None))
                if move is not None:
                    break
                illegal += 1
            if move is None:
                return "forfeit", moves, illegal
        else:
            move = rng.choice(list(board.legal_moves))
        moves.append(board.san_and_push(move))
    return board.result(), moves, illegal


def measure_games(
    *,
    weights: Path,
    training_facts: Path,
    karvonen: list[Path],
    played: Path,
    settings: ArenaStep,
    rng: np.random.Generator,
) -> list[Measurement]:
    """Step: games of the chess models against the random mover.

    Parameters
    ----------
    weights, training_facts
        Inputs, as the steps before write them.
    karvonen
        Input, JSON: the manifest of Karvonen's checkpoint, or nothing.
    played
        Output, Parquet: see `PLAYED`.
    """
    torch.set_num_threads(settings.threads)
    device = device_of(settings.device)
    players = {"ours": ChessPlayer(read(weights).to(device), device, article.ROOM)}
    if karvonen:
        his = karvonen_model(read_checkpoint(karvonen[0])).to(device)
        players[KARVONEN] = ChessPlayer(his, device, article.ROOM)
    lines = []
    for name, player in players.items():
        for seed in range(settings.arena.games):
            result, moves, illegal = play(player, seed, settings.arena)
            text = prompt(moves, "spaced") if moves else ""
            lines.append((name, seed, result, len(moves), illegal, text))
    table = frame_of(lines, PLAYED)
    write_frame(table, played, PLAYED)
    own = read_json(training_facts)["coverage"]
    measured = list(_answers(table, _covered(own, settings.arena), settings, rng))
    return answer(measured, ASKED, NEEDS_KARVONEN)


def _covered(own: str, arena: ArenaSettings) -> Mapping[str, str]:
    """Coverage of each model's games."""
    same = (arena.games, arena.half_moves, arena.tries) == (
        article.GAMES,
        article.HALF_MOVES,
        article.TRIES,
    )
    games = "" if same else f"{arena.games} games of at most {arena.half_moves} half-moves"
    both = "; ".join(each for each in (own if own != WHOLE else "", games) if each)
    return {"ours": both or WHOLE, KARVONEN: games or WHOLE}


def _answers(
    table: pl.DataFrame,
    covered: Mapping[str, str],
    settings: ArenaStep,
    rng: np.random.Generator,
) -> Iterator[Measurement]:
    output = "tab_games_vs_random"
    for (name,), own in table.group_by("model", maintain_order=True):
        condition = OURS if name == "ours" else str(name)
        count, scale = own.height, article.GAMES / own.height
        note = "" if scale == 1 else f"counts of {count} games, per {article.GAMES}"
        for result in RESULTS:
            hits = int((own["result"] == result).sum())
            low, high = wilson(hits, count)
            yield measurement(
                (output, f"games ending {result}", condition),
                scale * hits,
                low=article.GAMES * low,
                high=article.GAMES * high,
                n=count,
                coverage=covered[str(name)],
                note=note,
            )
        tries = own["illegal"].cast(pl.Float64).to_numpy()
        ends = mean_interval(tries, 1, settings.resamples, rng)
        yield measurement(
            (output, "illegal tries per game", condition),
            float(tries.mean()),
            low=float(ends[0]),
            high=float(ends[1]),
            n=count,
            coverage=covered[str(name)],
        )
    if table["model"].n_unique() < 2:
        return
    won = table.filter(pl.col("result") == "1-0").sort("half_moves", "seed")
    if won.height:
        best = won.row(0, named=True)
        name = OURS if best["model"] == "ours" else best["model"]
        values = (name, best["moves"], best["half_moves"])
        for key, value in zip(SHORTEST, values, strict=True):
            yield measurement(key, value, coverage=covered[KARVONEN])
