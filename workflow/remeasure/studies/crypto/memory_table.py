"""The table of answers: one file a model, the same from a network and from the simulation."""

from __future__ import annotations

from pathlib import Path

import dataframely as dy
import polars as pl

from remeasure.store.frames import checked, read_frame, write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.crypto.memory_questions import KINDS

_PRICE = pl.col("kind") == "price"
_MASSES = [pl.col(name).is_not_null() for name in ("mass_up", "mass_down")]

ANSWERS = declare(
    "answers of language models",
    {
        "model": dy.String(min_length=1),
        "kind": one_of(KINDS),
        "first": dy.Date(),
        "last": dy.Date(),
        "text": dy.String(nullable=True),
        "mass_up": dy.Float64(min=0, max=1, nullable=True),
        "mass_down": dy.Float64(min=0, max=1, nullable=True),
    },
    unique=["model", "kind", "first"],
    rules={
        "a price has a text, a direction two masses": (
            (_PRICE & pl.col("text").is_not_null() & ~_MASSES[0] & ~_MASSES[1])
            | (~_PRICE & pl.col("text").is_null() & _MASSES[0] & _MASSES[1])
        ),
        "masses are probabilities of different words": (
            pl.col("mass_up") + pl.col("mass_down") <= 1 + 1e-6
        ),
    },
)
"""One row an answer, in the order of the questions.

``model`` is the label of the model; ``kind``, ``first`` and ``last`` are those of the question.
``text`` is the raw greedy answer to a price, at most 64 new tokens, possibly empty.
``mass_up`` and ``mass_down`` (probabilities, between 0 and 1) are the softmax mass at the place
of the answer over first tokens that spell up and down; both may be tiny, which means that the
model wanted to say something else."""

_TYPES = {
    "model": pl.String,
    "kind": pl.String,
    "first": pl.Date,
    "last": pl.Date,
    "text": pl.String,
    "mass_up": pl.Float64,
    "mass_down": pl.Float64,
}


def write_answers(answers: pl.DataFrame, path: Path) -> None:
    """Write the answers of one model.

    Parameters
    ----------
    answers
        The columns of `ANSWERS` in any order; ``text`` or the masses may be absent where no
        question of their kind was asked. Rows stay in their order.
    path
        Parquet file to write.

    Raises
    ------
    DataError
        When a row breaks the schema; nothing is written then.
    """
    absent = [pl.lit(None, each).alias(name) for name, each in _TYPES.items()]
    full = answers.with_columns(*(e for e in absent if e.meta.output_name() not in answers.columns))
    # A column of nothing but nulls has no type of its own.
    empty = [
        pl.col(name).cast(each) for name, each in _TYPES.items() if full[name].dtype == pl.Null
    ]
    write_frame(full.with_columns(empty).select(*_TYPES), path, ANSWERS)


def read_answers(*paths: Path) -> pl.DataFrame:
    """The answers of one or several files, in the order of the files.

    Raises
    ------
    DataError
        When a file is missing or breaks the schema, or two files hold answers of one model.
    """
    frames = [read_frame(path, ANSWERS) for path in paths]
    if not frames:
        return pl.DataFrame(schema=_TYPES)
    return checked(pl.concat(frames), ANSWERS, ", ".join(map(str, paths)))
