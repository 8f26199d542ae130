"""What a player says at test positions, judged."""

from __future__ import annotations

from collections.abc import Mapping

import chess
import dataframely as dy
import polars as pl

from remeasure.store.schema import declare, one_of
from remeasure.studies.gpt.chess_model import Player
from remeasure.studies.gpt.judging import VERDICTS, bare, verdict

#: What was said at each position.
SAID = declare(
    "moves said",
    {
        "move": dy.String(),
        "verdict": one_of(VERDICTS),
        "same": dy.Bool(),
    },
)

#: Column of the positions that holds the prompt in each form.
PROMPTS: Mapping[str, str] = {"characters": "prompt", "spaced": "spaced"}


def judged(player: Player, positions: pl.DataFrame) -> pl.DataFrame:
    """The likeliest move at each position: `SAID`, in the order of the positions.

    ``same`` says whether it is the move that the player of the game made, marks of check
    apart.
    """
    said = [player.word(text) for text in positions[PROMPTS[player.form]]]
    verdicts = [
        verdict(chess.Board(fen), move) for fen, move in zip(positions["fen"], said, strict=True)
    ]
    same = [
        bare(move) == bare(played) for move, played in zip(said, positions["played"], strict=True)
    ]
    schema = {"move": pl.String, "verdict": pl.String, "same": pl.Boolean}
    return pl.DataFrame({"move": said, "verdict": verdicts, "same": same}, schema=schema)
