"""The ledger as a table: its columns, its schema, Parquet and CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import dataframely as dy
import polars as pl

from remeasure.errors import DataError
from remeasure.ledger.measurement import ORIGINS
from remeasure.ledger.reference import KINDS
from remeasure.ledger.verdict import VERDICTS, format_number
from remeasure.store.schema import declare, one_of

#: Columns of the CSV, fixed: people's spreadsheets rest on them.
COLUMNS = (
    "study",
    "output_id",
    "quantity",
    "condition",
    "kind",
    "published",
    "unit",
    "value",
    "low",
    "high",
    "n",
    "origin",
    "verdict",
    "reason",
    "step",
    "artifact",
)

_TEXT = dy.String()
_NAME = dy.String(min_length=1)
_NUMBER = dy.Float64(nullable=True)
_COUNT = dy.Int64(min=0, nullable=True)
_OPTIONAL = dy.String(min_length=1, nullable=True)

#: The Parquet file: the CSV's columns, then everything that the verdict rests on, so that it can
#: be judged again from this file alone. ``otherwise`` is the reason of ``not run`` that the
#: study's declaration gives; ``correct`` and ``proof`` are those of an erratum.
SCHEMA = declare(
    "ledger",
    {
        "study": _NAME,
        "output_id": _NAME,
        "quantity": _NAME,
        "condition": _TEXT,
        "kind": one_of(KINDS),
        "published": _NAME,
        "unit": _TEXT,
        "value": _OPTIONAL,
        "low": _NUMBER,
        "high": _NUMBER,
        "n": _COUNT,
        "origin": one_of(ORIGINS, nullable=True),
        "verdict": one_of(VERDICTS),
        "reason": _NAME,
        "step": _OPTIONAL,
        "artifact": _OPTIONAL,
        "value_number": _NUMBER,
        "value_text": _OPTIONAL,
        "truth": _NUMBER,
        "coverage": _OPTIONAL,
        "note": _TEXT,
        "digits": _COUNT,
        "source": _TEXT,
        "correct": _OPTIONAL,
        "proof": _OPTIONAL,
        "otherwise": _TEXT,
        "wider_than_published": dy.Bool(),
    },
    unique=["study", "output_id", "quantity", "condition"],
)

TYPES = SCHEMA.types


def validated(frame: pl.DataFrame, where: object) -> pl.DataFrame:
    """The frame, when it is a ledger; DataError otherwise."""
    problems = SCHEMA.problems(frame)
    if problems:
        raise DataError(
            f"this ledger breaks its schema: {' | '.join(problems)}",
            where=where,
            remedy="make it again: snakemake --cores 2",
        )
    return frame


def csv_text(frame: pl.DataFrame) -> str:
    """The ledger's CSV: fixed columns, shortest numbers, nulls empty, ``\\n`` line ends."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in frame.select(COLUMNS).iter_rows():
        writer.writerow(
            "" if cell is None else format_number(cell) if isinstance(cell, float) else cell
            for cell in row
        )
    return buffer.getvalue()


def read_csv(path: Path) -> pl.DataFrame:
    """The sixteen columns from a ledger's CSV; ``value`` stays text.

    Raises
    ------
    DataError
        When its header is not the ledger's.
    """
    header = path.read_text("utf-8").partition("\n")[0].split(",")
    if header != list(COLUMNS):
        raise DataError(
            f"the header is {','.join(header)}",
            where=path,
            remedy="make the ledger again: snakemake --cores 2",
        )
    types = {name: TYPES[name] for name in COLUMNS}
    frame = pl.read_csv(path, schema=types)
    return frame.with_columns(pl.col("condition", "unit").fill_null(""))


def read_ledger(path: Path) -> pl.DataFrame:
    """The whole ledger from its Parquet file.

    Raises
    ------
    DataError
        When it is not a ledger.
    """
    try:
        frame = pl.read_parquet(path)
    except pl.exceptions.ComputeError as error:
        raise DataError(
            f"this is not a Parquet file ({error})",
            where=path,
            remedy="make the ledger again: snakemake --cores 2",
        ) from error
    return validated(frame, path)
