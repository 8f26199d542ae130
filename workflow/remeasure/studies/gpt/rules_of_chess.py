"""Rows that only need the rules of chess: replays, verdicts, prompts and cleaning."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import chess
import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.store.frames import write_json
from remeasure.studies.gpt import article
from remeasure.studies.gpt.chess_text import cleaned, prompt
from remeasure.studies.gpt.judging import verdict
from remeasure.studies.gpt.published import answer, keys, measurement

#: Seeds of the games against the random mover.
SEEDS = range(article.GAMES)

ASKED = (
    ("stat_lichess_rows", "cleaned form of the nine half-moves shown (computed)", "row 0"),
    *(key for key in keys("stat_position_example") if key[2] == "positions[0]"),
    *keys("stat_ruy_lopez", "verdict of 3...Nc6"),
    *keys("fig_chess_tokens", "half-moves in the line"),
    *keys("stat_shortest_win", "seed that gives Black's replies (computed)"),
    *keys("fig_shortest_win"),
)


def replay(moves: Sequence[str]) -> chess.Board:
    """The board after some half-moves."""
    board = chess.Board()
    for move in moves:
        board.push_san(move)
    return board


def half_moves(text: str) -> list[str]:
    """The half-moves of a line with spaced numbers, as ``1. e4 e5 2. Nf3``."""
    return [word for word in text.split() if not word.endswith(".")]


def seeds_of(moves: Sequence[str], seeds: Sequence[int] = SEEDS) -> list[int]:
    """Seeds of the random mover that give Black's half-moves, White's being fixed."""
    found = []
    for seed in seeds:
        rng = random.Random(seed)  # noqa: S311
        board = chess.Board()
        for place, move in enumerate(moves):
            if place % 2 == 0:
                board.push_san(move)
                continue
            drawn = rng.choice(list(board.legal_moves))
            if board.san(drawn) != move:
                break
            board.push(drawn)
        else:
            found.append(seed)
    return found


def title(board: chess.Board, count: int) -> str:
    """What stands over a drawn position."""
    end = "checkmate" if board.is_checkmate() else "no mate"
    return f"after {count} half-moves: {end}"


def measure_rules(*, replayed: Path) -> list[Measurement]:
    """Step: replays and verdicts.

    Parameters
    ----------
    replayed
        Output, JSON: the shortest win's last position, and the example position.
    """
    won = replay(article.SHORTEST_WIN)
    example = replay(article.EXAMPLE)
    write_json(
        {
            "fen": won.fen(),
            "title": title(won, len(article.SHORTEST_WIN)),
            "moves": prompt(article.SHORTEST_WIN, "spaced"),
            "example": example.fen(),
            "example_legal": example.legal_moves.count(),
        },
        replayed,
    )
    return answer(_answers(won, example), ASKED, "")


def _answers(won: chess.Board, example: chess.Board) -> Iterator[Measurement]:
    first = pl.DataFrame({"text": [article.FIRST_MOVES]}).select(cleaned(pl.col("text"))).item()
    ruy_lopez = replay(half_moves(article.RUY_LOPEZ))
    seeds = seeds_of(article.SHORTEST_WIN)
    from_print = "replayed from the printed moves"
    found: dict[tuple[str, str], float | int | str] = {
        ("stat_lichess_rows", ASKED[0][1]): str(first),
        ("stat_position_example", "FEN (computed)"): example.fen(),
        ("stat_position_example", "legal moves (computed)"): example.legal_moves.count(),
        ("stat_ruy_lopez", "verdict of 3...Nc6"): verdict(ruy_lopez, "Nc6"),
        ("fig_chess_tokens", "half-moves in the line"): len(half_moves(article.TEN_HALF_MOVES)),
        ("stat_shortest_win", "seed that gives Black's replies (computed)"): seeds[0]
        if len(seeds) == 1
        else f"{len(seeds)} seeds",
        ("fig_shortest_win", "final FEN (computed)"): won.fen(),
        ("fig_shortest_win", "checkmate"): str(won.is_checkmate()),
        ("fig_shortest_win", "title"): title(won, len(article.SHORTEST_WIN)),
    }
    for key in ASKED:
        yield measurement(key, found[key[:2]], note=from_print if "win" in key[0] else "")
