"""Real Lichess games: every game of the file is read, and its moves are those of python-chess."""

from __future__ import annotations

import os
import re
from pathlib import Path

import chess.pgn
import polars as pl
import pytest

from remeasure.fetch.origins import Files, resolve
from remeasure.store.frames import read_json
from remeasure.studies.gpt.chess_text import ALPHABET, cleaned, moves_of
from remeasure.studies.gpt.games import GamesStep, clean_games
from remeasure.studies.gpt.pgn_files import pgn_games
from remeasure.studies.gpt.settings import FilterSettings, SplitSettings

FILE = (
    Path(os.environ.get("REMEASURE_FILES", "../shared/data"))
    / "chess_pgn/lichess_SeabassEngine_2024-12-02.pgn"
)

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not FILE.is_file(), reason=f"no games at {FILE}: set REMEASURE_FILES"),
]


def test_every_standard_game_is_read() -> None:
    """Counted by the words of the file itself: one game has another start."""
    text = FILE.read_text("utf-8")
    frame = pl.concat(list(pgn_games(FILE, 300_000)))
    assert frame.height == text.count('[Variant "Standard"]')
    assert frame["WhiteElo"].sum() == sum(
        int(rating)
        for game in text.split("[Event ")
        if '[Variant "Standard"]' in game
        for rating in re.findall(r'\[WhiteElo "(\d+)"\]', game)
    )


def test_moves_are_those_that_python_chess_reads() -> None:
    frame = pl.concat(list(pgn_games(FILE)))
    ours = frame.select(cleaned(pl.col("movetext")).alias("text"))["text"].to_list()
    with FILE.open(encoding="utf-8") as file:
        for text in ours[:40]:
            game = chess.pgn.read_game(file)
            assert game is not None
            board, wanted = game.board(), []
            for move in game.mainline_moves():
                wanted.append(board.san_and_push(move))
            assert moves_of(text) == wanted


def test_the_step_counts_and_splits_them(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    resolve("gpt_games", Files((FILE.resolve(),))).write(manifest)
    measured = clean_games(
        manifest=manifest,
        truth=[],
        games=tmp_path / "games.parquet",
        summary=tmp_path / "games.json",
        settings=GamesStep(
            filters=FilterSettings(
                classes=("Bullet", "Blitz", "Rapid"), minimum_rating=0, minimum_spaces=10
            ),
            split=SplitSettings(held_out=400, seed=42),
        ),
        origin="files",
    )
    facts = read_json(tmp_path / "games.json")
    events = re.findall(r'\[Event "(.*)"\]', FILE.read_text("utf-8"))
    blitz = sum("blitz" in event.lower() for event in events)
    assert blitz - 1 <= facts["time_controls"]["Blitz"] <= blitz
    assert sum(facts["time_controls"].values()) == facts["read"] == len(events) - 1
    assert facts["foreign"] == 0
    assert facts["alphabet"] == ALPHABET
    kept = [each for each in measured if each.quantity == "games kept"]
    assert kept[0].coverage == "other games than the published file's"
