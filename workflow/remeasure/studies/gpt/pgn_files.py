"""Games out of PGN files of any size, in the columns of the published table.

A file is read in pieces of some megabytes that end where a game ends; within a piece every
tag and every line of moves is taken apart by Polars, not game by game. PGN as specified by
Edwards (1994), section 8: tags, then movetext with comments, variations and glyphs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

#: Characters read at once.
PIECE: Final = 8 << 20

COLUMNS: Final = ("Event", "WhiteElo", "BlackElo", "movetext")

_GAME = re.compile(r"(?m)^(?=\[Event )")
#: Variations within variations that are looked into.
_DEPTH: Final = 12


def pgn_games(path: Path, piece: int = PIECE) -> Iterator[pl.DataFrame]:
    """The games of a file, some thousands at a time, in its order.

    Games that begin elsewhere than in the initial position, or follow other rules, are left
    out: their tags say so (``FEN``, ``Variant``).

    Parameters
    ----------
    path
        UTF-8 or Latin-1, any line ends; each game begins with its tag ``Event``.
    piece
        Characters read at once.

    Yields
    ------
    polars.DataFrame
        Columns `COLUMNS`: text, two integers (null where unknown), text.
    """
    for games in _pieces(path, piece):
        yield parsed(games)


def _pieces(path: Path, piece: int) -> Iterator[list[str]]:
    left = ""
    with path.open(encoding=_encoding(path, piece), errors="replace", newline=None) as file:
        while text := file.read(piece):
            *whole, left = _GAME.split(left + text)
            if whole := [each for each in whole if each.strip()]:
                yield whole
    if left.strip():
        yield [left]


def _encoding(path: Path, piece: int) -> str:
    try:
        with path.open(encoding="utf-8-sig") as file:
            while file.read(piece):
                pass
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def parsed(games: list[str]) -> pl.DataFrame:
    """Columns `COLUMNS` of games given as PGN text each."""
    raw = pl.col("raw")
    tags = {name: raw.str.extract(rf'\[{name} "([^"]*)"\]') for name in ("Event", "Variant", "FEN")}
    ratings = {
        name: raw.str.extract(rf'\[{name} "(\d+)"\]').cast(pl.Int64, strict=False)
        for name in ("WhiteElo", "BlackElo")
    }
    standard = tags["Variant"].fill_null("Standard").is_in(["Standard", "standard", ""])
    return (
        pl.DataFrame({"raw": games}, schema={"raw": pl.String})
        .filter(raw.str.contains(r"^\s*\["), standard, tags["FEN"].is_null())
        .select(
            tags["Event"].fill_null("").alias("Event"),
            *(each.alias(name) for name, each in ratings.items()),
            movetext(raw).alias("movetext"),
        )
    )


def movetext(raw: pl.Expr) -> pl.Expr:
    """The main line of a game's text: no tags, comments, variations or numbered glyphs."""
    line = (
        raw.str.replace_all(r'(?m)^\[\w+ ".*"\][ \t]*$', "")
        .str.replace_all(r"(?m)^%.*$", "")
        .str.replace_all(r"\{[^}]*\}", " ")
        .str.replace_all(r"(?m);.*$", "")
    )
    for _ in range(_DEPTH):
        line = line.str.replace_all(r"\([^()]*\)", " ")
    return (
        line.str.replace_all(r"\$\d+", "")
        .str.replace_all("0-0-0", "O-O-O", literal=True)
        .str.replace_all("0-0", "O-O", literal=True)
        .str.replace_all(r"\s+", " ")
        .str.strip_chars()
    )
