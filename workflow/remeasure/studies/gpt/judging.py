"""Is it a legal move? Five verdicts on what a model says (python-chess knows the rules)."""

from __future__ import annotations

from typing import Final

import chess

LEGAL: Final = "legal"
CHECK: Final = "leaves the king in check"
NOWHERE: Final = "no piece can do that"
AMBIGUOUS: Final = "ambiguous"
NO_MOVE: Final = "not a move"

#: In the order of the published table.
VERDICTS: Final = (LEGAL, CHECK, NOWHERE, AMBIGUOUS, NO_MOVE)


def bare(san: str) -> str:
    """A move without its marks of check and mate."""
    return san.rstrip("+#")


def parsed(board: chess.Board, text: str) -> chess.Move | None:
    """The legal move that a text names; None where there is none.

    python-chess also reads ``--``, ``Z0`` and the like, as a null move. To pass is not legal in
    chess, so that is none.
    """
    try:
        move = board.parse_san(text)
    except ValueError:
        return None
    return move or None


def verdict(board: chess.Board, text: str) -> str:
    """One of `VERDICTS` on a move in a position.

    Parameters
    ----------
    board
        The position; not changed.
    text
        What the model says, as in ``Nf3``. Longer forms (``Ng1f3``) and wrong marks of check
        are believed, as python-chess does; a null move is `NO_MOVE`.
    """
    try:
        return LEGAL if board.parse_san(text) else NO_MOVE
    except chess.InvalidMoveError:
        return NO_MOVE
    except chess.AmbiguousMoveError:
        return AMBIGUOUS
    except chess.IllegalMoveError:
        pass
    wanted = bare(text)
    for move in board.pseudo_legal_moves:
        if not board.is_legal(move) and bare(board.san(move)) == wanted:
            return CHECK
    return NOWHERE
