"""Positions as the probes see them: a class a square."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import chess
import numpy as np
import numpy.typing as npt

Classes = npt.NDArray[np.uint8]

#: White's pieces are 1 to 6, Black's six more; 0 is an empty square.
PIECES = "PNBRQK"


def classes(board: chess.Board) -> Classes:
    """What stands on each square, a1 to h1, then a2 …: shape ``(64,)``."""
    found = np.zeros(64, dtype=np.uint8)
    for square, piece in board.piece_map().items():
        found[square] = piece.piece_type + (0 if piece.color else 6)
    return found


def letters(found: Classes) -> list[str]:
    """One letter a square: capitals for White, small ones for Black, '' where it is empty."""
    names = ["", *PIECES, *PIECES.lower()]
    return [names[each] for each in found]


def boards_before_white(moves: Sequence[str]) -> Iterator[chess.Board]:
    """The board before each of White's half-moves, and after the last one if White is to move.

    The same board each time, moved on: copy it to keep it.

    Raises
    ------
    ValueError
        When a half-move is not legal.
    """
    board = chess.Board()
    for place, move in enumerate(moves):
        if place % 2 == 0:
            yield board
        board.push_san(move)
    if len(moves) % 2 == 0:
        yield board
