"""Games as text: time controls, cleaning, the alphabet, moves and prompts.

Columns are cleaned by Polars expressions; only single games are handled as Python strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

Format = Literal["characters", "spaced"]
Ids = npt.NDArray[np.uint8]

#: Time controls. UltraBullet stands first: its name holds that of another.
TIME_CONTROLS: Final = (
    "UltraBullet",
    "Bullet",
    "Blitz",
    "Rapid",
    "Classical",
    "Correspondence",
)

#: Every character of a cleaned game, sorted; the place of a character is its id.
ALPHABET: Final = " #+-.0123456789;=BKNOQRabcdefghx"
START: Final = ";"
_IDS: Final = {letter: place for place, letter in enumerate(ALPHABET)}

_RESULT: Final = r" ?(1-0|0-1|1/2-1/2|\*)$"
_CONTROL: Final = rf"(?i)({'|'.join(TIME_CONTROLS)})"
_ODD: Final = r"[^ #+\-.0-9;=BKNOQRa-hx]"


def time_control(event: pl.Expr) -> pl.Expr:
    """The time control that an event names; null where it names none.

    The archive writes ``Rated Blitz game``, exports of single players ``Rated blitz game``;
    of several names the first one in the text counts.
    """
    lower = event.str.extract(_CONTROL).str.to_lowercase()
    names = {name.lower(): name for name in TIME_CONTROLS}
    return lower.replace_strict(names, default=None, return_dtype=pl.String)


def cleaned(movetext: pl.Expr) -> pl.Expr:
    """A game's movetext as the models read it: ``;1.e4 e5 2.Nf3 …``.

    In this order: comments in braces, numbers before Black's moves, question and exclamation
    marks and the result go; a number keeps no space behind its dot; white space becomes single
    spaces.
    """
    bare = (
        movetext.str.replace_all(r"\{[^}]*\}", "")
        .str.replace_all(r"\d+\.\.\. ?", "")
        .str.replace_all(r"[?!]", "")
        .str.replace_all(r"(\d+)\.\s+", "${1}.")
        .str.replace_all(r"\s+", " ")
        .str.strip_chars()
        .str.replace(_RESULT, "")
    )
    return pl.concat_str(pl.lit(START), bare)


def spaces(text: pl.Expr) -> pl.Expr:
    """How many spaces a cleaned game has: its half-moves less one."""
    return text.str.count_matches(" ", literal=True)


def outside_alphabet(text: pl.Expr) -> pl.Expr:
    """Whether a cleaned game holds a character that no model has a place for."""
    return text.str.contains(_ODD)


def encode(text: str) -> Ids:
    """Ids of the characters of a text, shape ``(length,)``; KeyError for a foreign one."""
    return np.fromiter((_IDS[letter] for letter in text), np.uint8, len(text))


def encode_stream(texts: Sequence[str]) -> Ids:
    """Ids of many games one after the other, with nothing between them, shape ``(length,)``."""
    table = np.zeros(256, dtype=np.uint8)
    for letter, place in _IDS.items():
        table[ord(letter)] = place
    return table[np.frombuffer("".join(texts).encode("ascii"), dtype=np.uint8)]


def decode(ids: Sequence[int]) -> str:
    """The text of some ids."""
    return "".join(ALPHABET[each] for each in ids)


def moves_of(text: str) -> list[str]:
    """The half-moves of a cleaned game.

    >>> moves_of(";1.e4 e5 2.Nf3")
    ['e4', 'e5', 'Nf3']
    """
    return [word.rpartition(".")[2] for word in text.removeprefix(START).split(" ") if word]


def prompt(moves: Sequence[str], form: Format) -> str:
    """What a model reads before the next half-move.

    Parameters
    ----------
    moves
        All half-moves so far.
    form
        ``characters``, for chess models: begins with a semicolon, and ends with the number and
        its dot where White is to move, with a space where Black is. ``spaced``, for GPT-2: a
        space behind each number, none at the end.

    >>> prompt(["e4"], "characters"), prompt(["e4", "e5"], "characters")
    (';1.e4 ', ';1.e4 e5 2.')
    >>> prompt(["e4"], "spaced"), prompt(["e4", "e5"], "spaced")
    ('1. e4', '1. e4 e5 2.')
    """
    gap = " " if form == "spaced" else ""
    parts = [
        f"{place // 2 + 1}.{gap}{move} " if place % 2 == 0 else f"{move} "
        for place, move in enumerate(moves)
    ]
    if len(moves) % 2 == 0:
        parts.append(f"{len(moves) // 2 + 1}.")
    text = "".join(parts)
    return text.rstrip() if form == "spaced" else START + text
