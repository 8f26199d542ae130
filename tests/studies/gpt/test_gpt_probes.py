"""Probes: classes of squares, which positions are asked, and what a probe can reach."""

from __future__ import annotations

import typing

import chess
import numpy as np
import polars as pl
import pytest
import torch

from remeasure.studies.gpt.boards import classes, letters
from remeasure.studies.gpt.chess_model import fresh
from remeasure.studies.gpt.chess_text import encode
from remeasure.studies.gpt.probes import (
    UNTRAINED,
    asked,
    counted,
    drawn_position,
    fitted,
    guesses,
    scored,
    shape,
    states,
)
from remeasure.studies.gpt.settings import ModelSettings, ProbeSettings

START = chess.Board()


def test_classes_of_the_initial_position() -> None:
    found = classes(START)
    assert found[:8].tolist() == [4, 2, 3, 5, 6, 3, 2, 4]
    assert found[8:16].tolist() == [1] * 8
    assert found[16:48].tolist() == [0] * 32
    assert found[48:56].tolist() == [7] * 8
    assert found[56:].tolist() == [10, 8, 9, 11, 12, 9, 8, 10]
    assert int((found > 0).sum()) == 32
    assert letters(found)[4] == "K"
    assert letters(found)[60] == "k"


def test_positions_stand_at_dots_within_the_text_that_is_read() -> None:
    text = ";1.e4 e5 2.Nf3 Nc6 3.Bb5 a6 4.Ba4"
    whole = asked([text], 512)
    assert whole.dots[0].tolist() == [place for place, c in enumerate(text) if c == "."]
    assert len(whole.boards) == 4
    assert np.array_equal(whole.boards[0], classes(START))
    board = chess.Board()
    for move in ("e4", "e5", "Nf3", "Nc6"):
        board.push_san(move)
    assert np.array_equal(whole.boards[2], classes(board))
    # The third dot is character 20, counted from 0: a text of 21 characters has it, one of 20 not.
    assert text[20] == "."
    assert [len(asked([text], longest).boards) for longest in (20, 21)] == [2, 3]


def test_every_game_brings_the_initial_position(made: typing.Any) -> None:
    texts = pl.read_parquet(made.at / "games.parquet").filter("test")["text"].to_list()[:5]
    found = asked(texts, 80)
    first = np.unique(found.game, return_index=True)[1]
    assert (found.boards[first] == classes(START)).all()
    assert found.game.tolist() == sorted(found.game.tolist())


def test_states_do_not_see_the_padding() -> None:
    sizes = ModelSettings(layers=2, width=16, heads=2, context=96)
    model = fresh(sizes, 1)
    texts = [
        ";1.e4 e5 2.Nf3 Nc6 3.Bb5 a6 4.Ba4 Nf6 5.O-O",
        ";1.d4 d5 2.c4",
        ";1.c4 e5 2.Nc3 Nf6 3.a3",
    ]
    together = states(model, asked(texts, 96), torch.device("cpu"))
    alone = torch.cat(
        [states(model, asked([text], 96), torch.device("cpu")) for text in texts], dim=1
    )
    assert together.shape[0] == 3
    assert torch.allclose(together, alone, atol=1e-6)
    ids = torch.from_numpy(encode(texts[1]).astype(np.int64))[None]
    with torch.inference_mode():
        last = model.unembed(together[-1])
        whole = model(ids)[0, 10]  # the second dot of the second game
    assert torch.allclose(last[5 + 1], whole, atol=1e-5)


def test_a_probe_reads_a_board_that_is_there_and_none_that_is_not() -> None:
    generator = np.random.default_rng(1)
    boards = 3 * generator.integers(0, 3, (1300, 64)).astype(np.uint8)
    target = torch.from_numpy(boards.astype(np.int64))
    there = torch.nn.functional.one_hot(target, 13).flatten(1).float()
    options = ProbeSettings(
        training_games=5, test_games=5, epochs=20, batch=100, rate=0.01, decay=0.0, seed=1
    )
    torch.manual_seed(1)
    seen = guesses(*fitted(there[:1100], target[:1100], options), there[1100:])
    assert (seen == boards[1100:]).mean() == 1.0
    noise = torch.randn(1300, 32)
    blind = guesses(*fitted(noise[:1100], target[:1100], options), noise[1100:])
    assert (blind == boards[1100:]).mean() < 0.45


def test_features_are_standardised_with_training_statistics_alone() -> None:
    features = torch.randn(200, 8) * 5 + 3
    boards = torch.zeros(200, 64, dtype=torch.int64)
    options = ProbeSettings(
        training_games=5, test_games=5, epochs=1, batch=50, rate=0.01, decay=0.0, seed=1
    )
    _, mean, spread = fitted(features[:100], boards[:100], options)
    assert torch.allclose(mean, features[:100].mean(0))
    assert torch.allclose(spread, features[:100].std(0) + 1e-5)


def test_scores_and_their_gap() -> None:
    """Ten games of four boards; our layer 1 has every occupied square right in half of them."""
    truth = np.zeros((40, 64), dtype=np.uint8)
    truth[:, :10] = 3
    game = np.repeat(np.arange(10), 4)
    wrong = truth.copy()
    wrong[:, :5] = 4
    half = truth.copy()
    half[game % 2 == 0, :5] = 4
    right = {
        UNTRAINED: [counted(wrong, truth), counted(wrong, truth)],
        "ours": [counted(wrong, truth), counted(half, truth)],
    }
    table, gap = scored(right, game, 500, np.random.default_rng(1))
    best = table.filter("best", pl.col("measure") == "occupied squares")
    assert best.select("model", "layer", "value").rows() == [(UNTRAINED, 0, 0.5), ("ours", 1, 0.75)]
    squares = table.filter("best", pl.col("measure") == "all squares")["value"].to_list()
    assert squares == pytest.approx([59 / 64, 61.5 / 64])
    boards = table.filter("best", pl.col("measure") == "whole board right")["value"].to_list()
    assert boards == [0.0, 0.5]
    assert gap["value"] == pytest.approx(0.25)
    # Games are the units: five of ten have it, so the gap's spread is 0.5 sqrt(0.25 / 10).
    assert gap["high"] - gap["low"] == pytest.approx(4 * 0.5 * np.sqrt(0.025), rel=0.2)


def test_words_for_curves() -> None:
    assert shape([0.52, 0.5, 0.51]) == "about half at every layer"
    assert shape([0.5, 0.6, 0.69]) == "still rising at the last layer"
    assert shape([0.5, 0.7, 0.6, 0.5, 0.4]) == "peak at layer 1 of 4"


def test_the_middle_position_is_drawn_unless_it_is_an_initial_one() -> None:
    boards = np.zeros((21, 64), dtype=np.uint8)
    boards[np.arange(21), np.arange(21)] = 1
    assert drawn_position(boards) == 10
    boards[10] = boards[0]
    assert drawn_position(boards) == 16
