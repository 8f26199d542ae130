"""PGN files of any kind, against python-chess's own reader."""

from __future__ import annotations

import io
from pathlib import Path

import chess.pgn
import polars as pl
import pytest

from remeasure.studies.gpt.chess_text import cleaned, moves_of
from remeasure.studies.gpt.pgn_files import pgn_games

GAMES = """[Event "Rated Blitz game"]
[WhiteElo "1900"]
[BlackElo "2100"]

1. e4 {a comment; [Event "not one"] with
a break} e5 $1 2. Nf3 (2. Bc4 Nf6 (2... Bc5 3. Qh5) 3. d3) 2... Nc6 ; to the end of the line
3. Bb5 a6 4. Ba4 Nf6
5. 0-0 Be7 1/2-1/2

[Event "Chess960"]
[Variant "Chess960"]
[WhiteElo "2000"]

1. e4 e5 *

[Event "From a position"]
[FEN "8/8/8/8/8/8/4k3/4K2R w K - 0 1"]
[SetUp "1"]

1. O-O *

[Event "Casual"]
[WhiteElo "?"]
[BlackElo "?"]

% an escaped line
1. d4 d5 2. c4 dxc4 0-1
"""


def read(path: Path, piece: int) -> pl.DataFrame:
    return pl.concat(list(pgn_games(path, piece)))


def lines(frame: pl.DataFrame) -> list[list[str]]:
    return [moves_of(text) for text in frame.select(cleaned(pl.col("movetext")))["literal"]]


@pytest.mark.parametrize("piece", [7, 100, 1 << 20])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_games_are_read_whatever_the_pieces(tmp_path: Path, piece: int, ends: str) -> None:
    path = tmp_path / "games.pgn"
    path.write_bytes(GAMES.replace("\n", ends).encode())
    frame = read(path, piece)
    assert frame["Event"].to_list() == ["Rated Blitz game", "Casual"]
    assert frame["WhiteElo"].to_list() == [1900, None]
    assert lines(frame) == [
        ["e4", "e5", "Nf3", "Nc6", "Bb5", "a6", "Ba4", "Nf6", "O-O", "Be7"],
        ["d4", "d5", "c4", "dxc4"],
    ]


def test_the_same_main_lines_as_python_chess(tmp_path: Path, made: object) -> None:
    """Generated games, written by python-chess with comments, variations and wrapped lines."""
    texts = pl.read_parquet(made.at / "games.parquet")["text"].to_list()[:20]  # type: ignore[attr-defined]
    body = io.StringIO()
    wanted = []
    for number, text in enumerate(texts):
        game = chess.pgn.Game({"Event": f"Rated Rapid game {number}"})
        node: chess.pgn.GameNode = game
        for move in moves_of(text):
            board = node.board()
            other = next(iter(board.legal_moves))
            played = board.parse_san(move)
            if other != played and number % 2:
                node.add_variation(other, comment="(another) way")
            node = node.add_main_variation(played)
            node.comment = "[%clk 0:01:00]"
            node.nags.add(number % 5 + 1)
        wanted.append(moves_of(text))
        print(game, file=body, end="\n\n")
    path = tmp_path / "written.pgn"
    path.write_text(body.getvalue(), "utf-8")
    assert lines(read(path, 5000)) == wanted


def test_latin_letters_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "old.pgn"
    path.write_bytes('[Event "K\xf6ln"]\n\n1. e4 e5 *\n'.encode("latin-1"))
    assert read(path, 1000)["Event"].to_list() == ["Köln"]


def test_an_empty_file_has_no_games(tmp_path: Path) -> None:
    path = tmp_path / "empty.pgn"
    path.write_text("\n\n", "utf-8")
    assert sum(frame.height for frame in pgn_games(path)) == 0
