"""Five verdicts: the card's examples, and what python-chess would let pass."""

from __future__ import annotations

import chess
import pytest

from remeasure.studies.gpt.judging import VERDICTS, parsed, verdict
from remeasure.studies.gpt.rules_of_chess import half_moves, replay

RUY_LOPEZ = replay(half_moves("1. e4 e5 2. Nf3 Nc6 3. Bb5"))
PINNED = chess.Board("4r1k1/8/8/8/8/8/4N3/4K3 w - - 0 1")


@pytest.mark.parametrize(
    ("move", "wanted"),
    [
        ("Nc6", "no piece can do that"),
        ("a6", "legal"),
        ("a6+", "legal"),  # a wrong mark of check is believed
        ("a7a6", "legal"),  # and so is a longer form
        ("Ne7", "ambiguous"),
        ("xyz", "not a move"),
        ("", "not a move"),
        ("--", "not a move"),  # a null move is read by python-chess, and no move
        ("Z0", "not a move"),
        ("0000", "not a move"),
        ("O-O", "no piece can do that"),
        ("Qh4", "legal"),
        ("a8=Q", "no piece can do that"),
    ],
)
def test_verdicts_after_a_spanish_opening(move: str, wanted: str) -> None:
    before = RUY_LOPEZ.fen()
    assert verdict(RUY_LOPEZ, move) == wanted
    assert (parsed(RUY_LOPEZ, move) is not None) == (wanted == "legal")
    assert RUY_LOPEZ.fen() == before


@pytest.mark.parametrize("move", ["Nc3", "Nc3+", "Nd4", "Ng3"])
def test_a_pinned_knight_leaves_the_king_in_check(move: str) -> None:
    assert verdict(PINNED, move) == "leaves the king in check"


def test_a_check_that_is_ignored() -> None:
    board = chess.Board("4k3/8/8/8/8/8/4r3/K6R w - - 0 1")
    board.set_fen("4k3/8/8/8/8/8/r7/K6R w - - 0 1")
    assert verdict(board, "Rg1") == "leaves the king in check"
    assert verdict(board, "Kxa2") == "legal"
    assert verdict(board, "Rh9") == "not a move"


def test_every_verdict_is_known() -> None:
    said = [verdict(RUY_LOPEZ, move) for move in ("a6", "Nc6", "Ne7", "xyz")]
    assert set(said) | {verdict(PINNED, "Nc3")} == set(VERDICTS)
