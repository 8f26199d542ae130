"""Result tables as Parquet and scalars as JSON: checked where they are written, same bytes always.

A Parquet file is written with a fixed codec, level and row-group size, so equal
frames give equal bytes. Every frame that is written has a declared table: it has exactly
its columns, in their order.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from remeasure.errors import DataError
from remeasure.store.schema import Table

#: Part of the bytes of every file: changing one changes all hashes.
CODEC: Final = "zstd"
LEVEL: Final = 3
ROW_GROUP: Final = 131_072


def checked(frame: pl.DataFrame, schema: Table, where: object = "") -> pl.DataFrame:
    """``frame`` itself, if it is the declared table with exactly its columns in their order.

    Raises
    ------
    DataError
        Names the table, the columns, the broken checks and the first offending values.
    """
    problems = schema.problems(frame)
    if problems:
        raise DataError(
            f"table {schema.name}: {' | '.join(problems)}",
            where=where,
            remedy="the step that writes this table is wrong, or the schema is: compare the two",
        )
    return frame


def write_frame(frame: pl.DataFrame, path: Path, schema: Table) -> None:
    """Check a frame and write it as Parquet; equal frames give equal bytes.

    Raises
    ------
    DataError
        When the frame breaks the schema; nothing is written then.
    """
    checked(frame, schema, path)
    frame.rechunk().write_parquet(
        path,
        compression=CODEC,
        compression_level=LEVEL,
        statistics=True,
        row_group_size=ROW_GROUP,
    )


def read_frame(path: Path, schema: Table | None = None) -> pl.DataFrame:
    """Read a Parquet file in its own order, checked where a schema is given.

    Raises
    ------
    DataError
        When the file is missing, no Parquet file, or breaks the schema.
    """
    if not path.is_file():
        raise DataError("there is no such table", where=path, remedy="run the rule that writes it")
    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(
            f"this file cannot be read as Parquet ({error})",
            where=path,
            remedy="delete it and run the rule that writes it again",
        ) from error
    return frame if schema is None else checked(frame, schema, path)


#: How Polars says that a table has other columns or types than was thought.
_SHAPE: Final = (
    pl.exceptions.ColumnNotFoundError,
    pl.exceptions.ComputeError,
    pl.exceptions.InvalidOperationError,
    pl.exceptions.SchemaError,
)
_NAMED: Final = re.compile(r'"([^"]+)"')


def misread(error: BaseException, tables: Iterable[Path]) -> DataError | None:
    """What went wrong with tables read without a schema, as a message; None for other errors.

    Parameters
    ----------
    error
        What a reader of the tables raised.
    tables
        The Parquet files that it read.

    Returns
    -------
    A `DataError` that names the column, and the tables that lack it or all tables with their
    columns and types.
    """
    if not isinstance(error, _SHAPE):
        return None
    first = str(error).splitlines()[0]
    schemas = {path: pl.read_parquet_schema(path) for path in tables if path.is_file()}
    if not schemas:
        return None
    name = _NAMED.search(first) if isinstance(error, pl.exceptions.ColumnNotFoundError) else None
    lacking = [str(path) for path, known in schemas.items() if name and name[1] not in known]
    described = [
        f"{path} ({', '.join(f'{column} {kind}' for column, kind in known.items())})"
        for path, known in schemas.items()
    ]
    what = f"lacks the column {name[1]}" if name and lacking else f"has another shape: {first}"
    return DataError(
        f"a table that this step reads {what}",
        where="; ".join(lacking or described),
        remedy="make the table again: snakemake --cores 1 --force with its path; if it stays so,"
        " this step and the one that writes the table disagree: please report it",
    )


def write_json(value: Any, path: Path) -> None:
    """Write mappings, lists, texts and numbers as JSON with sorted keys.

    Floats are written with the fewest digits that give the same number back.
    NumPy scalars and arrays become numbers and lists.

    Raises
    ------
    DataError
        When a number is not finite or a value has no JSON form; names its place.
    """
    plain = _plain(value, "$", path)
    text = json.dumps(plain, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises
    ------
    DataError
        When the file is missing or no JSON.
    """
    if not path.is_file():
        raise DataError("there is no such file", where=path, remedy="run the rule that writes it")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(
            f"this file is not JSON ({error})",
            where=path,
            remedy="delete it and run the rule that writes it again",
        ) from error


def _plain(value: Any, place: str, path: Path) -> Any:
    if isinstance(value, Mapping):
        plain = {str(key): _plain(item, f"{place}.{key}", path) for key, item in value.items()}
        if len(plain) == len(value):
            return plain
    elif isinstance(value, np.ndarray):
        return _plain(value.tolist(), place, path)
    elif isinstance(value, np.generic):
        return _plain(value.item(), place, path)
    elif value is None or isinstance(value, bool | int | str):
        return value
    elif isinstance(value, float):
        if math.isfinite(value):
            return value
    elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_plain(item, f"{place}[{i}]", path) for i, item in enumerate(value)]
    raise DataError(
        f"{value!r} at {place} has no place in a JSON file",
        where=path,
        remedy="write null where there is no number, and text, numbers, lists and mappings else",
    )
