"""Test positions: one from each test game in order, drawn by a seeded generator."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import chess
import dataframely as dy
import polars as pl

from remeasure.errors import DataError
from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.store.frames import read_frame, read_json, write_frame
from remeasure.store.schema import declare
from remeasure.studies.gpt import article
from remeasure.studies.gpt.chess_text import moves_of, prompt
from remeasure.studies.gpt.games import GAMES
from remeasure.studies.gpt.published import OTHER_FILE, answer, keys, measurement
from remeasure.studies.gpt.settings import PositionSettings

POSITIONS = declare(
    "test positions",
    {
        "game": dy.Int64(),
        "half_moves": dy.Int64(min=1),
        "prompt": dy.String(),
        "spaced": dy.String(),
        "fen": dy.String(),
        "played": dy.String(),
        "legal": dy.Int64(min=1),
    },
)

ASKED = tuple(
    key
    for key in keys("stat_position_example")
    if key[2] != "positions[0]" and "setting" not in key[2]
)


class PositionsStep(Model):
    """Settings of `draw_positions`; ``longest`` bounds the prompts, in characters."""

    positions: PositionSettings
    longest: int


def drawn(texts: Sequence[str], settings: PositionSettings, longest: int) -> pl.DataFrame:
    """Positions of test games, as `POSITIONS`.

    From each game in order a number of half-moves is drawn, ``randrange(1, min(moves, 70))``;
    it is drawn even where the position is then left out because its prompt is too long, so
    that later games keep theirs.

    Raises
    ------
    DataError
        When a game cannot be replayed.
    """
    rng = random.Random(settings.seed)  # noqa: S311
    found: list[tuple[int, int, str, str, str, str, int]] = []
    for number, text in enumerate(texts):
        if len(found) == settings.count:
            break
        moves = moves_of(text)
        upto = rng.randrange(1, min(len(moves), settings.largest))
        asked = prompt(moves[:upto], "characters")
        if len(asked) > longest:
            continue
        board = replayed(moves[:upto], number)
        found.append(
            (
                number,
                upto,
                asked,
                prompt(moves[:upto], "spaced"),
                board.fen(),
                moves[upto],
                board.legal_moves.count(),
            )
        )
    return pl.DataFrame(
        found,
        schema=POSITIONS.types,
        orient="row",
    )


def replayed(moves: Sequence[str], number: int) -> chess.Board:
    """The board after some half-moves; DataError where one is not legal."""
    board = chess.Board()
    for place, move in enumerate(moves):
        try:
            board.push_san(move)
        except ValueError as error:
            raise DataError(
                f"half-move {place + 1} of a game is not legal: {error}",
                where=f"test game {number}",
                remedy="give games of standard chess from the initial position",
            ) from error
    return board


def draw_positions(
    *, games: Path, summary: Path, positions: Path, settings: PositionsStep
) -> list[Measurement]:
    """Step: draw the test positions and write both forms of their prompts.

    Parameters
    ----------
    games, summary
        Inputs, as ``games.clean_games`` writes them.
    positions
        Output, Parquet as `POSITIONS`.

    Raises
    ------
    DataError
        When no test game gives a position.
    """
    texts = read_frame(games, GAMES).filter("test")["text"].to_list()
    found = drawn(texts, settings.positions, settings.longest)
    if found.height < settings.positions.monitored:
        raise DataError(
            f"{len(texts)} test games give {found.height} positions, training is watched on"
            f" {settings.positions.monitored}",
            where="gpt.positions, gpt.split.held_out",
            remedy="hold out more games, or ask for fewer positions",
        )
    write_frame(found, positions, POSITIONS)
    if read_json(summary)["coverage"] != WHOLE or settings != _published():
        return answer([], ASKED, OTHER_FILE)
    first = found.row(0, named=True)
    values = {"GPT-2 gets": "spaced", "our model gets": "prompt", "the player played": "played"}
    return answer([measurement(key, first[values[key[1]]]) for key in ASKED], ASKED, "")


def _published() -> PositionsStep:
    return PositionsStep(
        positions=PositionSettings(
            count=article.POSITIONS,
            largest=article.LARGEST,
            seed=article.SEED,
            monitored=article.MONITORED,
        ),
        longest=article.CHESS.context - article.ROOM,
    )
