"""Games as text: the card's own examples, and the traps of its data."""

from __future__ import annotations

import chess
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remeasure.studies.gpt import article
from remeasure.studies.gpt.chess_text import (
    ALPHABET,
    TIME_CONTROLS,
    cleaned,
    decode,
    encode,
    encode_stream,
    moves_of,
    outside_alphabet,
    prompt,
    time_control,
)
from remeasure.studies.gpt.games import kept
from remeasure.studies.gpt.published import rows
from remeasure.studies.gpt.settings import FilterSettings


def clean(text: str) -> str:
    return str(pl.DataFrame({"text": [text]}).select(cleaned(pl.col("text"))).item())


def test_the_first_game_is_cleaned_as_printed() -> None:
    assert clean(article.FIRST_MOVES) == ";1.Nc3 e5 2.e4 Bc5 3.Qh5 Nf6 4.Qxe5+ Be7 5.d3"


@pytest.mark.parametrize(
    ("raw", "wanted"),
    [
        ("1. e4 e5 2. Nf3 1-0", ";1.e4 e5 2.Nf3"),
        ("1. e4 e5 2. Nf3 1/2-1/2", ";1.e4 e5 2.Nf3"),
        ("1. e4 e5 2. Nf3 *", ";1.e4 e5 2.Nf3"),
        ("1. e4 e5 0-1", ";1.e4 e5"),
        ("1. e4?! e5!! 2. Nf3?? Nc6", ";1.e4 e5 2.Nf3 Nc6"),
        ("1. e4 { [%eval 0.2] [%clk 0:03:00] } 1... e5 { ok } 2. Nf3", ";1.e4 e5 2.Nf3"),
        ("1.  e4\n e5  2. O-O-O#", ";1.e4 e5 2.O-O-O#"),
        ("", ";"),
        ("0-1", ";"),
        ("12. a8=Q+ { 1-0 is near } 1-0", ";12.a8=Q+"),
    ],
)
def test_cleaning(raw: str, wanted: str) -> None:
    assert clean(raw) == wanted


def test_a_cleaned_game_stays_as_it_is() -> None:
    text = clean(article.FIRST_MOVES)
    assert clean(text.removeprefix(";")) == text


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        ("Rated UltraBullet game", "UltraBullet"),
        ("Rated Bullet tournament https://lichess.org/tournament/abc", "Bullet"),
        ("Rated Blitz swiss https://lichess.org/swiss/abc", "Blitz"),
        ("Rated blitz game", "Blitz"),
        ("Casual correspondence game", "Correspondence"),
        ("Linares", None),
        ("", None),
    ],
)
def test_time_controls(event: str, wanted: str | None) -> None:
    assert pl.DataFrame({"e": [event]}).select(time_control(pl.col("e"))).item() == wanted


def test_ultrabullet_stands_before_bullet() -> None:
    assert TIME_CONTROLS.index("UltraBullet") < TIME_CONTROLS.index("Bullet")


def table(*games: tuple[str, int | None, int | None, str]) -> pl.DataFrame:
    schema = {"Event": pl.String, "WhiteElo": pl.Int64, "BlackElo": pl.Int64, "movetext": pl.String}
    return pl.DataFrame(list(games), schema=schema, orient="row")


LINE = "1. a4 a5 2. b4 b5 3. c4 c5 4. d4 d5 5. e4 e5"


def test_filters_ask_both_players_and_at_least_eleven_half_moves() -> None:
    filters = FilterSettings(classes=article.CLASSES, minimum_rating=1800, minimum_spaces=10)
    games = table(
        ("Rated Blitz game", 1800, 1800, f"{LINE} 6. f4"),
        ("Rated Blitz game", 1800, 1800, LINE),  # ten half-moves: nine spaces
        ("Rated Blitz game", 1799, 2400, f"{LINE} 6. f4"),
        ("Rated Blitz game", 2400, 1799, f"{LINE} 6. f4"),
        ("Rated Blitz game", None, 2400, f"{LINE} 6. f4"),
        ("Rated Bullet game", 2400, 2400, f"{LINE} 6. f4"),
        ("Rated UltraBullet game", 2400, 2400, f"{LINE} 6. f4"),
        ("Rated Classical game", 2400, 2400, f"{LINE} 6. f4 f5 1-0"),
    )
    found = kept(games, filters)["text"].to_list()
    assert [len(moves_of(text)) for text in found] == [11, 12]
    every = FilterSettings(classes=(), minimum_rating=0, minimum_spaces=1)
    assert kept(games, every).height == games.height


def test_the_alphabet_is_the_printed_one_sorted() -> None:
    printed = next(row for row in rows().values() if row.quantity == "alphabet")
    assert printed.published == ALPHABET
    assert "".join(sorted(ALPHABET)) == ALPHABET
    assert len(set(ALPHABET)) == 32


def test_foreign_characters_are_noticed() -> None:
    texts = pl.DataFrame({"t": [f";1.{ALPHABET}", ";1.e4 i5", ";1.e4 e9", ";1.P4 e5"]})
    found = texts.select(outside_alphabet(pl.col("t")))["t"].to_list()
    assert found == [any(c not in ALPHABET for c in text) for text in texts["t"]]
    assert found == [False, True, False, True]


@given(st.lists(st.text(ALPHABET, max_size=20), max_size=5))
def test_ids_are_ranks_both_ways(texts: list[str]) -> None:
    stream = encode_stream(texts)
    assert decode(stream.tolist()) == "".join(texts)
    assert np.array_equal(stream, encode("".join(texts)))


# --- prompts --------------------------------------------------------------------------------


def printed_prompt(quantity: str) -> str:
    return next(
        row.published
        for row in rows().values()
        if (row.output_id, row.quantity) == ("stat_position_example", quantity)
    )


def test_prompts_of_the_example_position() -> None:
    """GPT-2's ends without a space, ours with one: Black is to move."""
    ours, spaced = prompt(article.EXAMPLE, "characters"), prompt(article.EXAMPLE, "spaced")
    assert ours == printed_prompt("our model gets")
    assert spaced == printed_prompt("GPT-2 gets")
    assert ours.endswith("11.Bxf6 ")
    assert spaced.endswith("11. Bxf6")


def test_a_prompt_for_white_ends_with_the_number() -> None:
    assert prompt(article.EXAMPLE[:20], "characters").endswith(" Qc5 11.")
    assert prompt(article.EXAMPLE[:20], "spaced").endswith(" Qc5 11.")
    assert prompt([], "characters") == ";1."


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 80), st.randoms(use_true_random=False))
def test_a_prompt_is_the_beginning_of_its_game(half_moves: int, rng: object) -> None:
    board, moves = chess.Board(), []
    for _ in range(half_moves):
        legal = list(board.legal_moves)
        if not legal:
            break
        moves.append(board.san_and_push(rng.choice(legal)))  # type: ignore[attr-defined]
    whole = prompt(moves, "characters")
    assert moves_of(whole.rstrip(" "))[: len(moves)] == moves
    for upto in range(len(moves)):
        assert whole.startswith(prompt(moves[:upto], "characters"))
