"""Generated games: legal moves of a seeded random mover, in the published file's own columns.

At each half-move a coin decides whether to take; then one of the legal captures, if there are
any, else one of all legal moves, each as likely. Around the games that the filters keep stand
others that they must not keep: other time controls, weaker players, games that end too soon.
The text carries clocks, numbers before Black's moves and glyphs, as the real one does.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Final

import chess
import polars as pl

from remeasure.fetch.manifest import Manifest, RawFile, digest
from remeasure.fingerprint import fingerprint
from remeasure.model import Model
from remeasure.store.frames import CODEC, LEVEL, ROW_GROUP, write_json
from remeasure.studies.gpt.settings import FilterSettings, GeneratorSettings

#: Kinds of games: event, both ratings, half-moves at most (None: as the settings say).
#: The first three are kept by the published filters.
KINDS: Final = (
    ("Rated Blitz game", 1900, 2050, None),
    ("Rated Rapid swiss https://lichess.org/swiss/made", 1800, 1835, None),
    ("Rated Classical game", 2200, 1990, None),
    ("Rated Bullet game", 2300, 2310, 12),
    ("Rated UltraBullet tournament https://lichess.org/tournament/made", 2000, 2010, 12),
    ("Rated Correspondence game", 1850, 1900, 12),
    ("Rated Blitz game", 1799, 2100, 12),
    ("Rated Blitz game", 2100, 1799, 12),
    ("Rated Rapid game", 1900, 1900, 10),
)
#: Of twenty games, which kinds: fifteen are kept.
PATTERN: Final = (0, 0, 1, 0, 3, 0, 0, 1, 4, 0, 0, 2, 6, 0, 1, 7, 0, 0, 8, 0)
CORRESPONDENCE_EVERY: Final = 97
GLYPHS: Final = ("?", "!", "?!", "!?", "??")


class GenerateStep(Model):
    """Settings of `generate_games`.

    Attributes
    ----------
    generator
        Seed and number of games.
    filters
        What is kept, so that the truth knows how many.
    file
        Where the published file lies below the host, in the raw layout.
    raw
        Folder of raw data; files go to ``<raw>/generated/<world>/``.
    """

    generator: GeneratorSettings
    filters: FilterSettings
    file: str
    raw: str = "data/raw"


def world_id(settings: GeneratorSettings) -> str:
    """Name of the world: a hash of this code and of the settings."""
    text = json.dumps([fingerprint(__name__), settings.model_dump()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def played(rng: random.Random, half_moves: int) -> tuple[list[str], str]:
    """A game of at most so many half-moves, and its result."""
    board = chess.Board()
    moves: list[str] = []
    for _ in range(half_moves):
        choice = list(board.generate_legal_captures()) if rng.random() < 0.5 else []
        choice = choice or list(board.legal_moves)
        if not choice:
            break
        moves.append(board.san_and_push(choice[rng.randrange(len(choice))]))
    return moves, board.result()


def written(moves: list[str], result: str, rng: random.Random) -> str:
    """Movetext with clocks and now and then a glyph, as the archive writes it."""
    words = []
    seconds = 180
    for place, move in enumerate(moves):
        number = f"{place // 2 + 1}." if place % 2 == 0 else f"{place // 2 + 1}..."
        glyph = GLYPHS[rng.randrange(len(GLYPHS))] if rng.random() < 0.03 else ""
        clock = f"{{ [%clk 0:{seconds // 60:02d}:{seconds % 60:02d}] }}"
        words.append(f"{number} {move}{glyph} {clock}")
        seconds = max(1, seconds - rng.randrange(3))
    return " ".join([*words, result])


def games(settings: GeneratorSettings) -> pl.DataFrame:
    """The table of the published file: ``Event``, ``WhiteElo``, ``BlackElo``, ``movetext``.

    Also ``kind``, the place in `KINDS`, which the file does not hold.
    """
    rows = []
    kept = number = 0
    while kept < settings.games:
        kind = 5 if number % CORRESPONDENCE_EVERY == 96 else PATTERN[number % len(PATTERN)]
        event, white, black, most = KINDS[kind]
        rng = random.Random(f"{settings.seed}/{number}")  # noqa: S311
        moves, result = played(rng, most or settings.half_moves)
        rows.append((event, white, black, written(moves, result, rng), kind, len(moves)))
        kept += most is None and len(moves) > 10
        number += 1
    schema = {
        "Event": pl.String,
        "WhiteElo": pl.Int16,
        "BlackElo": pl.Int16,
        "movetext": pl.String,
        "kind": pl.Int64,
        "half_moves": pl.Int64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def truth_of(made: pl.DataFrame, filters: FilterSettings) -> dict[str, object]:
    """What counting the file must find: games, games by time control, games kept."""
    names = [KINDS[kind][0].split()[1] for kind in made["kind"]]
    rated = pl.min_horizontal("WhiteElo", "BlackElo") >= filters.minimum_rating
    wanted = pl.Series([not filters.classes or name in filters.classes for name in names])
    long_enough = pl.col("half_moves") > filters.minimum_spaces
    return {
        "games": made.height,
        "time_controls": dict(sorted(Counter(names).items())),
        "kept": made.filter(wanted, rated, long_enough).height,
    }


def generate_games(*, manifest: Path, truth: Path, settings: GenerateStep) -> None:
    """Step: play the games and write them as the published file would hold them.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.
    truth
        Output, JSON: see `truth_of`.
    """
    made = games(settings.generator)
    root = Path(settings.raw) / "generated" / world_id(settings.generator)
    body = io.BytesIO()
    made.drop("kind", "half_moves").write_parquet(
        body, compression=CODEC, compression_level=LEVEL, row_group_size=ROW_GROUP
    )
    target = root / settings.file
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".tmp-{os.getpid()}-{target.name}")
    temporary.write_bytes(body.getvalue())
    temporary.replace(target)
    write_json(truth_of(made, settings.filters), truth)
    entry = RawFile(settings.file, *digest(target))
    Manifest.of("gpt_games", "generated", root, [entry]).write(manifest)
