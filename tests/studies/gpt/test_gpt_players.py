"""Players: characters with a cache, counting, games against a random mover, the bounds of both."""

from __future__ import annotations

import random
import typing
from collections import Counter

import chess
import numpy as np
import polars as pl
import pytest
import torch

from remeasure.studies.gpt import article
from remeasure.studies.gpt.arena import play
from remeasure.studies.gpt.chess_model import LONGEST, ChessPlayer, fresh, read
from remeasure.studies.gpt.chess_text import ALPHABET, decode, encode, encode_stream, prompt
from remeasure.studies.gpt.moves import gaps_of, shares_of
from remeasure.studies.gpt.ngram import Counted, CountingPlayer, followers, grams
from remeasure.studies.gpt.rules_of_chess import half_moves
from remeasure.studies.gpt.settings import ArenaSettings, ModelSettings

SIZES = ModelSettings(layers=2, width=16, heads=2, context=96)
ARENA = ArenaSettings(games=3, half_moves=150, tries=5)


class Scripted:
    """Says given moves, each once; a list of tries where White needs several."""

    form: typing.Any = "characters"

    def __init__(self, said: list[str], longest: int = 10**6) -> None:
        self.said, self.longest, self.heard = list(said), longest, []

    def word(self, text: str, generator: torch.Generator | None = None) -> str:
        self.heard.append((text, generator is not None))
        return self.said.pop(0) if self.said else "xyz"


def test_what_was_read_before_changes_nothing() -> None:
    """With the memory of earlier prompts and without, in any order: the same words."""
    model = fresh(SIZES, 3)
    with torch.no_grad():
        for each in model.parameters():
            each.mul_(4)  # far from flat, so that words differ from prompt to prompt
    player = ChessPlayer(model)
    moves = half_moves("1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6")
    order = [3, 4, 5, 2, 8, 0, 8, 7, 1]
    heard = [player.word(prompt(moves[:upto], "characters")) for upto in order]
    alone = [ChessPlayer(model).word(prompt(moves[:upto], "characters")) for upto in order]
    assert heard == alone
    assert len(set(heard)) > 1
    assert all(len(word) <= LONGEST and " " not in word for word in heard)
    assert player.longest == 86


def test_scores_are_those_of_the_whole_text() -> None:
    model = fresh(SIZES, 5)
    player = ChessPlayer(model)
    text = ";1.e4 e5 2.Nf3 Nc6 3."
    for end in (5, 9, 9, 14, 6, len(text)):
        ids = encode(text[:end]).tolist()
        with torch.inference_mode():
            whole = model(torch.tensor([ids]))[0, -1]
        assert torch.allclose(player.scores(ids), whole, atol=1e-5)


def test_samples_follow_their_generator() -> None:
    player = ChessPlayer(fresh(SIZES, 3))
    words = [
        [player.word(";1.", torch.Generator().manual_seed(seed)) for _ in range(2)]
        for seed in (1, 1, 2)
    ]
    assert words[0] == words[1]
    assert words[0] != words[2]


def test_the_control_has_the_weights_that_training_began_with(made: typing.Any) -> None:
    first, second = fresh(made.settings.model, 42), fresh(made.settings.model, 42)
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)
    trained = read(made.at / "chess_model.safetensors")
    assert not torch.equal(trained.embed.weight, first.embed.weight)


# --- games ----------------------------------------------------------------------------------


def test_the_shortest_win_is_played_again_with_seed_nine() -> None:
    white = list(article.SHORTEST_WIN[::2])
    result, moves, illegal = play(Scripted(white), 9, ARENA)
    assert (result, moves, illegal) == ("1-0", list(article.SHORTEST_WIN), 0)
    other = play(Scripted(white), 8, ARENA)
    assert other[1][1] != article.SHORTEST_WIN[1]


def test_five_tries_then_forfeit() -> None:
    player = Scripted(["xyz", "--", "Ke2", "e5", "Nd2"])
    assert play(player, 0, ARENA) == ("forfeit", [], 5)
    assert [sampled for _, sampled in player.heard] == [False, True, True, True, True]
    assert play(Scripted(["xyz", "", "e4"]), 0, ARENA)[2] == 2 + 5


def test_played_moves_are_written_in_standard_notation() -> None:
    moves = play(Scripted(["e2e4+"]), 0, ARENA)[1]
    assert moves[0] == "e4"


def test_games_without_room_or_end_are_unfinished() -> None:
    class Shuffler:
        form: typing.Any = "characters"

        def __init__(self, longest: int) -> None:
            self.longest = longest
            self.board = chess.Board()

        def word(self, text: str, generator: torch.Generator | None = None) -> str:
            board = chess.Board()
            for word in text.removeprefix(";").split(" "):
                if move := word.rpartition(".")[2]:
                    board.push_san(move)
            return board.san(random.Random(len(text)).choice(list(board.legal_moves)))

    short = ArenaSettings(games=1, half_moves=10, tries=1)
    result, moves, _ = play(Shuffler(10**6), 1, short)
    assert (result, len(moves)) == ("unfinished", 10)
    result, moves, _ = play(Shuffler(30), 1, ARENA)
    assert result == "unfinished"
    assert len(prompt(moves, "characters")) > 30
    assert len(prompt(moves[:-2], "characters")) <= 30


# --- the baseline ---------------------------------------------------------------------------

TEXT = "".join(f";1.e4 e5 2.{move} Nc6 3.Bb5" for move in ("Nf3", "Nf3", "d4", "Nc3")) * 3


def test_counting_is_counting() -> None:
    stream = encode_stream([TEXT])
    for context in (0, 1, 3, 7):
        tally: dict[str, Counter[str]] = {}
        for place in range(len(TEXT) - context):
            before = TEXT[place : place + context]
            tally.setdefault(before, Counter())[TEXT[place + context]] += 1
        wanted = {
            before: min(after, key=lambda letter: (-after[letter], ALPHABET.index(letter)))
            for before, after in tally.items()
        }
        contexts, after = followers(stream, context)
        assert len(contexts) == len(wanted)
        codes = {int(code): ALPHABET[letter] for code, letter in zip(contexts, after, strict=True)}
        for before, letter in wanted.items():
            code = int(grams(encode(before), context)[0]) if context else 0
            assert codes[code] == letter


def test_the_baseline_backs_off_and_spells_moves() -> None:
    player = CountingPlayer(Counted.of(encode_stream([TEXT]), 10), 10**6)
    assert player.word(";1.e4 e5 2.") == "Nf3"
    assert player.word(";1.d4 d5 2.Nf3 ") == "Nc6"
    assert player.word(";1.a3 h6 2.Nc3 ") == "Nc6"
    assert len(CountingPlayer(Counted.of(encode_stream([";" * 40]), 4), 10).word(";")) == 8


def test_twelve_characters_fit_into_a_code() -> None:
    stream = encode("x" * 12 + ";" + "x" * 12)
    assert len(np.unique(grams(stream, 12))) == 13
    assert decode(stream.tolist())[12] == ";"


# --- shares ---------------------------------------------------------------------------------


def test_shares_and_paired_gaps() -> None:
    verdicts = {
        "ours": ["legal"] * 60 + ["ambiguous"] * 40,
        "untrained": ["not a move"] * 100,
        "n-gram": ["legal"] * 50 + ["no piece can do that"] * 50,
    }
    said = pl.concat(
        pl.DataFrame(
            {
                "model": [name] * 100,
                "position": list(range(100)),
                "move": ["e4"] * 100,
                "verdict": found,
                "same": [place < 7 for place in range(100)],
            }
        )
        for name, found in verdicts.items()
    )
    shares = shares_of(said)
    of_verdicts = shares.filter(pl.col("what") != "same move as the player")
    sums = of_verdicts.group_by("model").agg(pl.col("share").sum())["share"]
    assert sums.to_list() == pytest.approx([1.0, 1.0, 1.0])
    own = shares.row(
        by_predicate=(pl.col("model") == "ours") & (pl.col("what") == "legal"), named=True
    )
    assert own["share"] == 0.6
    assert own["low"] == pytest.approx(0.502, abs=0.002)
    gaps = gaps_of(said, 2000, np.random.default_rng(1))
    assert dict(gaps.select("less", "gap").rows()) == {
        "untrained": pytest.approx(0.6),
        "n-gram": pytest.approx(0.1),
    }
    row = gaps.filter(pl.col("less") == "n-gram").row(0, named=True)
    # Paired: ten of a hundred positions differ, so the spread is that of a share of 0.1.
    assert row["high"] - row["low"] == pytest.approx(4 * 0.03, rel=0.15)
