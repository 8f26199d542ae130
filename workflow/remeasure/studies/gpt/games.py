"""From raw files to cleaned games: time controls, filters, lengths, the split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import dataframely as dy
import numpy as np
import polars as pl
import pyarrow.parquet as pq

from remeasure.errors import DataError
from remeasure.fetch.manifest import Manifest
from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.store.frames import read_json, write_frame, write_json
from remeasure.store.schema import declare
from remeasure.studies.gpt import article
from remeasure.studies.gpt.chess_text import (
    ALPHABET,
    TIME_CONTROLS,
    cleaned,
    outside_alphabet,
    spaces,
    time_control,
)
from remeasure.studies.gpt.pgn_files import COLUMNS, pgn_games
from remeasure.studies.gpt.published import OTHER_FILE, answer, keys, measurement, unmeasured
from remeasure.studies.gpt.settings import FilterSettings, SplitSettings

#: Rows of the table read at once.
BATCH: Final = 1 << 16

GAMES = declare("cleaned games", {"text": dy.String(), "test": dy.Bool()})

#: Rows that this step answers; the quick and settled ones of the split are closed forms.
ASKED = (
    *(key for key in keys("stat_lichess_rows") if "computed" not in key[1]),
    *keys("tab_time_control", "games"),
    *(key for key in keys("stat_games_kept") if key[2] != "setting"),
    *keys("stat_vocab"),
    *(key for key in keys("stat_split") if key[2] != "setting"),
)


class GamesStep(Model):
    """Settings of `clean_games`."""

    filters: FilterSettings
    split: SplitSettings


def raw_batches(manifest: Manifest) -> Iterator[pl.DataFrame]:
    """Columns ``Event``, ``WhiteElo``, ``BlackElo``, ``movetext``, some thousands at a time.

    Raises
    ------
    DataError
        When a file is neither Parquet with these columns nor PGN.
    """
    for entry in manifest.files:
        path = manifest.file(entry)
        if path.suffix == ".pgn":
            yield from pgn_games(path)
            continue
        try:
            table = pq.ParquetFile(path)
            for batch in table.iter_batches(batch_size=BATCH, columns=list(COLUMNS)):
                frame = pl.from_arrow(batch)
                assert isinstance(frame, pl.DataFrame)  # noqa: S101
                yield frame.select(COLUMNS)
        except (OSError, ValueError, pl.exceptions.ColumnNotFoundError) as error:
            raise DataError(
                f"this file holds no table of games with the columns {', '.join(COLUMNS)}: {error}",
                where=path,
                remedy="give PGN files (.pgn), or the published Parquet table",
            ) from error


def kept(frame: pl.DataFrame, filters: FilterSettings) -> pl.DataFrame:
    """Cleaned games of a batch that pass the filters: columns ``text`` and ``odd``.

    ``odd`` marks a game with a character outside the alphabet.
    """
    wanted: list[pl.Expr] = [
        pl.min_horizontal(pl.col(name).fill_null(0) for name in ("WhiteElo", "BlackElo"))
        >= filters.minimum_rating,
        pl.col("movetext").is_not_null(),
    ]
    if filters.classes:
        wanted.append(time_control(pl.col("Event")).is_in(list(filters.classes)))
    text = pl.col("text")
    return (
        frame.filter(*wanted)
        .select(cleaned(pl.col("movetext")).alias("text"))
        .filter(spaces(text) >= filters.minimum_spaces)
        .with_columns(outside_alphabet(text).alias("odd"))
    )


def split(count: int, settings: SplitSettings) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The games in the order of a seeded permutation: the first ``held_out`` are for testing."""
    return np.random.default_rng(settings.seed).permutation(count)


def clean_games(
    *,
    manifest: Path,
    truth: list[Path],
    games: Path,
    summary: Path,
    settings: GamesStep,
    origin: str,
) -> list[Measurement]:
    """Step: read, count, clean and split the games.

    Parameters
    ----------
    manifest
        Input, JSON: raw files, PGN or the published table.
    truth
        Input, JSON: what a generator planted; none for real games.
    games
        Output, Parquet as `GAMES`: test games in the order of the permutation, then training
        games in that order.
    summary
        Output, JSON: counts, lengths, alphabet and the origin.

    Raises
    ------
    DataError
        When too few games are left to hold any out.
    """
    controls: Counter[str] = Counter()
    read = 0
    first = ""
    parts = []
    for frame in raw_batches(Manifest.read(manifest)):
        if not read and frame.height:
            first = frame["movetext"][0] or ""
        read += frame.height
        named = frame.select(time_control(pl.col("Event")).alias("name"))["name"].drop_nulls()
        controls.update(named.to_list())
        parts.append(kept(frame, settings.filters))
    every = pl.concat(parts) if parts else pl.DataFrame(schema={"text": str, "odd": bool})
    odd = int(every["odd"].sum())
    texts = every.filter(~pl.col("odd")).select("text")
    if texts.height <= settings.split.held_out:
        raise DataError(
            f"{texts.height} of {read} games pass the filters, {settings.split.held_out} are to be"
            " held out: nothing is left to learn from",
            where="gpt.filters, gpt.split.held_out",
            remedy="give more games, or loosen the filters (classes, minimum_rating)",
        )
    order = split(texts.height, settings.split)
    held = settings.split.held_out
    write_frame(
        texts[order].with_columns((pl.int_range(pl.len()) < held).alias("test")), games, GAMES
    )
    lengths = texts["text"].str.len_bytes().to_numpy()
    facts: dict[str, Any] = {
        "origin": origin,
        "read": read,
        "time_controls": {name: controls[name] for name in TIME_CONTROLS},
        "kept": texts.height,
        "foreign": odd,
        "test": held,
        "training": texts.height - held,
        "characters": int(lengths[order[held:]].sum()),
        "alphabet": "".join(sorted(set("".join(texts["text"].to_list())))),
        "median": float(np.median(lengths)),
        "ninetieth": float(np.percentile(lengths, 90)),
        "first_raw": first[:240],
        "first": texts["text"][0][:200],
        "coverage": coverage(settings, origin),
    }
    write_json(facts, summary)
    planted = read_json(truth[0]) if truth else {}
    return answer(_answers(facts, planted), ASKED, "")


def coverage(settings: GamesStep, origin: str) -> str:
    """``whole`` for the published file under the published filters; else what they are."""
    filters = settings.filters
    if origin in ("files", "generated"):
        return "other games than the published file's"
    published = (article.CLASSES, article.MINIMUM_RATING, article.MINIMUM_SPACES)
    if (filters.classes, filters.minimum_rating, filters.minimum_spaces) != published:
        return "other filters than the published ones"
    if (settings.split.held_out, settings.split.seed) != (article.HELD_OUT, article.SEED):
        return "another split than the published one"
    return WHOLE


def _answers(facts: dict[str, Any], planted: dict[str, Any]) -> Iterator[Measurement]:
    covered = facts["coverage"]
    named = facts["origin"] in ("public", "mirror")
    controls = planted.get("time_controls", {})
    for key in keys("stat_lichess_rows"):
        if key[1] == "games":
            yield measurement(key, facts["read"], truth=planted.get("games"), coverage=covered)
        elif "computed" not in key[1]:
            text = f"{facts['first_raw']} …"
            yield measurement(key, text) if named else unmeasured(key, OTHER_FILE)
    for key in keys("tab_time_control", "games"):
        name = key[2].partition(";")[0]
        count = facts["time_controls"][name]
        truth = controls.get(name, 0) if planted else None
        yield measurement(key, count, truth=truth, coverage=covered)
    for key in keys("stat_games_kept"):
        if key[1] == "games kept":
            note = f"{facts['foreign']} games with foreign characters left out"
            note = note if facts["foreign"] else ""
            yield measurement(
                key, facts["kept"], truth=planted.get("kept"), coverage=covered, note=note
            )
        elif key[2] != "setting":
            yield measurement(key, facts["first"]) if named else unmeasured(key, OTHER_FILE)
    values = {
        "characters": len(facts["alphabet"]),
        "alphabet": facts["alphabet"],
        "median length of a game": facts["median"],
        "90th percentile of length": facts["ninetieth"],
        "training games": facts["training"],
        "characters in the stream": facts["characters"] / 1e6,
    }
    for key in (*keys("stat_vocab"), *keys("stat_split")):
        if key[1] not in values or key[2] == "setting":
            continue
        same = key[1] in ("characters", "alphabet") and facts["alphabet"] == ALPHABET
        note = "every character of the published alphabet occurs, and no other" if same else ""
        yield measurement(key, values[key[1]], coverage=covered, note=note)
