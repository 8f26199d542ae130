"""Test positions, the split, windows and the learning rate: what the seeds must give."""

from __future__ import annotations

import random
import typing
from pathlib import Path

import chess
import numpy as np
import polars as pl
import pytest

from remeasure.errors import DataError
from remeasure.nn.train.schedules import warmup_cosine
from remeasure.studies.gpt import article
from remeasure.studies.gpt.chess_text import START, encode_stream, moves_of, prompt
from remeasure.studies.gpt.games import GamesStep, clean_games, split
from remeasure.studies.gpt.pgn_files import pgn_games
from remeasure.studies.gpt.positions import drawn
from remeasure.studies.gpt.settings import FilterSettings, PositionSettings, SplitSettings
from remeasure.studies.gpt.windows import drawn as drawn_windows
from remeasure.studies.gpt.windows import starts, window


def texts(made: typing.Any, *, test: bool) -> list[str]:
    frame = pl.read_parquet(made.at / "games.parquet")
    return frame.filter(pl.col("test") == test)["text"].to_list()


def test_positions_are_those_of_the_plain_recipe(made: typing.Any) -> None:
    """One draw a game, also for a game that is then left out: later positions keep theirs."""
    games = texts(made, test=True)
    longest = 40
    rng = random.Random(42)
    wanted, skipped = [], 0
    for number, text in enumerate(games):
        moves = moves_of(text)
        upto = rng.randrange(1, min(len(moves), 70))
        asked = prompt(moves[:upto], "characters")
        if len(asked) > longest:
            skipped += 1
            continue
        wanted.append((number, upto, asked, moves[upto]))
    settings = PositionSettings(count=1000, largest=70, seed=42, monitored=1)
    found = drawn(games, settings, longest)
    assert skipped > 3
    assert found.select("game", "half_moves", "prompt", "played").rows() == wanted
    few = drawn(games, settings.model_copy(update={"count": 3}), longest)
    assert few.rows() == found.head(3).rows()


def test_each_position_is_a_legal_one_of_its_game(made: typing.Any) -> None:
    for row in pl.read_parquet(made.at / "positions.parquet").iter_rows(named=True):
        board = chess.Board(row["fen"])
        assert board.legal_moves.count() == row["legal"]
        assert board.parse_san(row["played"])
        assert row["prompt"].endswith(" ") == (board.turn == chess.BLACK)
        assert not row["spaced"].endswith(" ")


def test_a_game_with_an_illegal_move_is_named() -> None:
    settings = PositionSettings(count=10, largest=70, seed=42, monitored=1)
    with pytest.raises(DataError, match="test game 0"):
        drawn([";1.Ke3 e5 2.e4 d5 3.d4 d6 4.a4 a5 5.b4 b5 6.c4"] * 10, settings, 500)


def test_the_split_is_numpys_permutation(made: typing.Any) -> None:
    given = SplitSettings(held_out=4000, seed=42)
    assert np.array_equal(split(9000, given), np.random.default_rng(42).permutation(9000))
    everything = texts(made, test=True) + texts(made, test=False)
    assert len(everything) == made.settings.generator.games
    assert len(texts(made, test=True)) == made.settings.split.held_out
    assert len(set(everything)) == len(everything)


def test_too_few_games_are_refused(tmp_path: Path, made: typing.Any) -> None:
    strict = FilterSettings(classes=("Classical",), minimum_rating=0, minimum_spaces=10)
    with pytest.raises(DataError, match="pass the filters"):
        clean_games(
            manifest=made.at / "games.manifest.json",
            truth=[],
            games=tmp_path / "games.parquet",
            summary=tmp_path / "games.json",
            settings=GamesStep(filters=strict, split=made.settings.split),
            origin="files",
        )
    assert list(pgn_games(Path("/dev/null"))) == []


# --- windows --------------------------------------------------------------------------------


def test_windows_begin_with_games_and_run_on_into_the_next() -> None:
    games = [";1.e4 e5", ";1.d4 d5 2.c4", ";1.Nf3", ";1.c4 e5"]
    stream = encode_stream(games)
    text = "".join(games)
    context = 11
    begins = starts(stream, context)
    wanted = [
        place
        for place, letter in enumerate(text)
        if letter == START and place + context + 1 <= len(text)
    ]
    assert begins.tolist() == wanted
    taken = window(stream, begins, context)
    assert taken.shape == (len(wanted), context + 1)
    for row, place in zip(taken, wanted, strict=True):
        assert np.array_equal(row, stream[place : place + context + 1])
    assert "e5;1.d4"[:2] in text[:12]
    assert (taken == stream[0]).sum() > len(wanted)  # windows hold later games, too


def test_a_window_may_end_with_the_last_character() -> None:
    stream = encode_stream([";1.e4", ";1.d4"])
    assert starts(stream, 9).tolist() == [0]
    assert starts(stream, 4).tolist() == [0, 5]
    assert starts(stream, 5).tolist() == [0]
    with pytest.raises(DataError, match="less than one window"):
        starts(stream, 10)


def test_windows_are_drawn_as_step_after_step() -> None:
    generator = np.random.default_rng(42)
    steps = np.stack([generator.integers(0, 246_000, 64) for _ in range(50)])
    assert np.array_equal(drawn_windows(246_000, 50, 64, 42), steps)
    assert np.array_equal(drawn_windows(246_000, 20, 64, 42), steps[:20])


def test_the_learning_rate_of_the_card() -> None:
    rate = warmup_cosine(article.RATE, article.STEPS, warm=article.WARM_UP, floor=article.FLOOR)
    wanted = {0: 3.333e-6, 149: 5e-4, 299: 1e-3, 300: 1e-3, 1850: 5.5e-4, 3399: 1.000002e-4}
    for step, value in wanted.items():
        assert rate(step) == pytest.approx(value, abs=1e-9)
