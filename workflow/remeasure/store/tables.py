"""Typed tables in DuckDB: declared once, enforced by the database, hashed by content.

A table is declared as a :class:`Table`: every column with its SQL type, unit and
meaning, its constraints and its key. The database enforces the declaration when
rows are written; a violation becomes a :class:`~remeasure.errors.DataError` that
names the table, the column and the first offending rows.

Connections are single-threaded (DuckDB's floating-point sums differ from run to
run on two threads) and see neither the network nor any other file. Everybody but
the one step that writes a file opens it read-only.

The bytes of a DuckDB file differ each time that it is written. Records therefore
hold a hash of each table's *content* as well (:func:`content_hashes`), which
depends on the schema and on the rows in the order of the key, and on nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import duckdb
import numpy as np
import polars as pl

from remeasure.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

SqlType = Literal[
    "VARCHAR", "TIMESTAMP", "DATE", "DOUBLE", "BIGINT", "INTEGER", "SMALLINT", "BOOLEAN"
]

#: What each declared SQL type is in Polars; timestamps are UTC, in microseconds.
POLARS: Final[Mapping[str, pl.DataType]] = {
    "VARCHAR": pl.String(),
    "TIMESTAMP": pl.Datetime("us"),
    "DATE": pl.Date(),
    "DOUBLE": pl.Float64(),
    "BIGINT": pl.Int64(),
    "INTEGER": pl.Int32(),
    "SMALLINT": pl.Int16(),
    "BOOLEAN": pl.Boolean(),
}

#: One thread, no extension, no network, no file but the database itself.
CONFIGURATION: Final[dict[str, str | bool | int | float | list[str]]] = {
    "threads": 1,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "enable_external_access": False,
    "python_enable_replacements": False,
}

_INCOMING = "incoming rows"
_SHOWN = 5
_BATCH = 100_000


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name, sql
        Name and SQL type.
    unit
        Unit of the values, as in ``USDT``, ``h`` or ``1`` for a pure number; empty for text.
    meaning
        What a value says, in words; stored in the file as the column's comment.
    null
        Whether a value may be missing.
    check
        SQL condition that every value that is there fulfils, as in ``open > 0``.
        Values of type DOUBLE must be finite in any case.
    """

    name: str
    sql: SqlType
    unit: str = ""
    meaning: str
    null: bool = False
    check: str = ""

    def conditions(self) -> tuple[str, ...]:
        """SQL conditions of this column."""
        finite = (f"isfinite({quoted(self.name)})",) if self.sql == "DOUBLE" else ()
        return (*finite, self.check) if self.check else finite

    def ddl(self) -> str:
        """The column as it stands in CREATE TABLE."""
        parts = [quoted(self.name), self.sql]
        if not self.null:
            parts.append("NOT NULL")
        parts += [f"CHECK ({condition})" for condition in self.conditions()]
        return " ".join(parts)


@dataclass(frozen=True, kw_only=True)
class Table:
    """The declared schema of one table.

    Attributes
    ----------
    name, meaning
        Name, and what one row is.
    columns
        In order.
    key
        Primary key; rows are stored and read in its order.
    checks
        SQL conditions over several columns of one row.
    remedy
        What to do when a row breaks the schema.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    checks: tuple[str, ...] = ()
    remedy: str = "look at the rows in the raw file; if they are right, correct the schema"

    def ddl(self) -> str:
        """The CREATE TABLE statement."""
        key = ", ".join(map(quoted, self.key))
        parts = [column.ddl() for column in self.columns]
        parts += [f"CHECK ({check})" for check in self.checks]
        parts.append(f"PRIMARY KEY ({key})")
        return f"CREATE TABLE {quoted(self.name)} (\n  " + ",\n  ".join(parts) + "\n)"

    def schema(self) -> dict[str, pl.DataType]:
        """Names and Polars types of the columns, in order."""
        return {column.name: POLARS[column.sql] for column in self.columns}

    def column(self, name: str) -> Column:
        """The declared column called ``name``; KeyError when there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def empty(self) -> pl.DataFrame:
        """A frame of this schema without rows."""
        return pl.DataFrame(schema=self.schema())


def quoted(name: str) -> str:
    """``name`` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


@contextmanager
def reader(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database read-only.

    Raises
    ------
    DataError
        When the file is missing or not a DuckDB database.
    """
    if not path.is_file():
        raise DataError(
            "there is no such database", where=path, remedy="run the rule that writes it"
        )
    try:
        connection = duckdb.connect(str(path), read_only=True, config=CONFIGURATION)
    except duckdb.Error as error:
        raise DataError(
            f"this file cannot be opened as a database ({_first_line(error)})",
            where=path,
            remedy=f"delete it and make it again: snakemake --cores 1 --force {path}",
        ) from error
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def writer(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a new database to write to; all of it is in the file when the block ends.

    A file that is already there is replaced: no step adds to what another one wrote.
    """
    for old in (path, path.with_name(path.name + ".wal")):
        old.unlink(missing_ok=True)
    connection = duckdb.connect(str(path), config=CONFIGURATION)
    try:
        yield connection
        connection.execute("CHECKPOINT")
    finally:
        connection.close()


def select(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Sequence[Any] | None = None
) -> pl.DataFrame:
    """The rows of a query, ``?`` standing for the parameters. Give an ORDER BY."""
    table = connection.sql(query, params=None if parameters is None else list(parameters))
    frame = pl.from_arrow(table.to_arrow_table())
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 - from_arrow of a table is a frame
    return frame


def create(connection: duckdb.DuckDBPyConnection, table: Table) -> None:
    """Create an empty table with its constraints, and comments that say unit and meaning."""
    connection.execute(table.ddl())
    connection.execute(f"COMMENT ON TABLE {quoted(table.name)} IS {_text(table.meaning)}")
    for column in table.columns:
        unit = f" [{column.unit}]" if column.unit else ""
        connection.execute(
            f"COMMENT ON COLUMN {quoted(table.name)}.{quoted(column.name)}"
            f" IS {_text(column.meaning + unit)}"
        )


def insert(connection: duckdb.DuckDBPyConnection, table: Table, frame: pl.DataFrame) -> None:
    """Add rows to a table; the database checks every one.

    Parameters
    ----------
    connection
        An open database that holds the table.
    table
        Its declaration.
    frame
        Rows with exactly the declared columns, in order and of the declared types.
        They are stored in the order of the key.

    Raises
    ------
    DataError
        When columns or types differ, or a row breaks a constraint: names the
        table, the column and the first offending rows. Nothing is added then.
    """
    _assert_schema(table, dict(frame.schema), "the frame to be written")
    rows = frame.sort(table.key, maintain_order=True)
    connection.register(_INCOMING, rows.to_arrow(compat_level=pl.CompatLevel.oldest()))
    try:
        names = ", ".join(quoted(column.name) for column in table.columns)
        # The names in this statement are declared in code and quoted: nothing comes from data.
        connection.execute(
            f"INSERT INTO {quoted(table.name)} ({names})"  # noqa: S608
            f" SELECT {names} FROM {quoted(_INCOMING)}"
        )
    except duckdb.ConstraintException as error:
        raise _explained(connection, table, rows, error) from error
    finally:
        connection.unregister(_INCOMING)


def write_tables(path: Path, tables: Sequence[tuple[Table, pl.DataFrame]]) -> None:
    """Write a new database that holds these tables; see :func:`insert` for what is checked."""
    with writer(path) as connection:
        for table, frame in tables:
            create(connection, table)
            insert(connection, table, frame)


def read_table(
    path: Path,
    table: Table,
    *,
    columns: Sequence[str] | None = None,
    where: str = "",
    parameters: Sequence[Any] = (),
) -> pl.DataFrame:
    """Rows of a table in the order of its key.

    Parameters
    ----------
    path
        The database.
    table
        The declaration that the reader relies on.
    columns
        Names of the columns wanted; all when None.
    where
        SQL condition with ``?`` for each of ``parameters``.

    Raises
    ------
    DataError
        When the file has no such table or another schema than the declared one.
    """
    with reader(path) as connection:
        _assert_schema(table, _stored_schema(connection, table.name, path), path)
        names = table.schema() if columns is None else columns
        query = f"SELECT {', '.join(map(quoted, names))} FROM {quoted(table.name)}"  # noqa: S608
        if where:
            query += f" WHERE {where}"
        query += f" ORDER BY {', '.join(map(quoted, table.key))}"
        return select(connection, query, parameters or None)


def content_hash(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """SHA-256 of one table's schema and rows, stable over rewrites of the file.

    Hashed are the columns' names, types and nullability and the primary key, then,
    column by column, the bytes of the values in the order of the key (zero where
    missing), the lengths of texts, and the mask of missing values. A table without
    a primary key is ordered by all of its columns.

    Raises
    ------
    DataError
        When there is no such table.
    """
    described = _described(connection, name)
    key = _primary_key(connection, name)
    digest = hashlib.sha256(json.dumps([described, key]).encode())
    picked = ", ".join(
        quoted(column) if sql in POLARS else f"CAST({quoted(column)} AS VARCHAR)"
        for column, sql, _ in described
    )
    order = ", ".join(map(quoted, key or [column for column, _, _ in described]))
    rows = connection.sql(
        f"SELECT {picked} FROM {quoted(name)} ORDER BY {order}"  # noqa: S608
    )
    columns = [_ColumnHash() for _ in described]
    for batch in rows.to_arrow_reader(_BATCH):
        for column, values in zip(columns, batch.columns, strict=True):
            column.update(values)
    for column in columns:
        digest.update(column.digest())
    return digest.hexdigest()


def content_hashes(path: Path) -> dict[str, str]:
    """The content hash of every table in a database, by name, sorted."""
    with reader(path) as connection:
        names = select(
            connection,
            "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name",
        )["table_name"].to_list()
        return {name: content_hash(connection, name) for name in names}


class _ColumnHash:
    """Running hash of one column; how the rows are cut into batches does not matter."""

    def __init__(self) -> None:
        self._values, self._lengths, self._missing = (hashlib.sha256() for _ in range(3))
        self._rows = 0

    def update(self, array: pa.Array) -> None:
        series = pl.Series(pl.from_arrow(array))
        missing = series.is_null()
        self._rows += len(series)
        self._missing.update(missing.cast(pl.UInt8).to_numpy().tobytes())
        if series.dtype == pl.String:
            lengths = series.str.len_bytes().fill_null(0).cast(pl.UInt32)
            self._lengths.update(np.ascontiguousarray(lengths.to_numpy(), dtype="<u4").tobytes())
            self._values.update(series.str.join("", ignore_nulls=True).item().encode())
        else:
            self._values.update(_bytes(series, bool(missing.any())))

    def digest(self) -> bytes:
        parts = (self._values, self._lengths, self._missing)
        return self._rows.to_bytes(8, "little") + b"".join(part.digest() for part in parts)


def _bytes(series: pl.Series, missing: bool) -> bytes:
    """Little-endian bytes of the values, zero where missing."""
    series = series.cast(pl.UInt8) if series.dtype == pl.Boolean else series.to_physical()
    if missing:
        series = series.fill_null(0)
    values = series.to_numpy()
    return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes()


def _described(connection: duckdb.DuckDBPyConnection, name: str) -> list[tuple[str, str, bool]]:
    rows = select(
        connection,
        "SELECT column_name, data_type, is_nullable FROM duckdb_columns()"
        " WHERE table_name = ? AND NOT internal ORDER BY column_index",
        [name],
    ).rows()
    if not rows:
        raise DataError(
            f"there is no table {name!r}", where="the database", remedy="run the rule again"
        )
    return rows


def _primary_key(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    found = select(
        connection,
        "SELECT constraint_column_names AS names FROM duckdb_constraints()"
        " WHERE table_name = ? AND constraint_type = 'PRIMARY KEY' ORDER BY constraint_index",
        [name],
    )
    return found["names"][0].to_list() if found.height else []


def _stored_schema(
    connection: duckdb.DuckDBPyConnection, name: str, path: Path
) -> dict[str, pl.DataType | None]:
    try:
        return {column: POLARS.get(sql) for column, sql, _ in _described(connection, name)}
    except DataError as error:
        raise DataError(
            error.what, where=path, remedy=f"make it again: snakemake --cores 1 --force {path}"
        ) from error


def _assert_schema(table: Table, found: Mapping[str, pl.DataType | None], where: object) -> None:
    declared = table.schema()
    if list(found.items()) == list(declared.items()):
        return
    problems = [f"column {name} is missing" for name in declared if name not in found]
    problems += [f"column {name} is not declared" for name in found if name not in declared]
    problems += [
        f"column {name} is {found[name]}, declared {declared[name]}"
        for name in declared
        if name in found and found[name] != declared[name]
    ]
    raise DataError(
        f"table {table.name}: {'; '.join(problems) or 'the columns are in another order'}",
        where=where,
        remedy="write it again with this version of the code, or correct the declaration",
    )


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _explained(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    rows: pl.DataFrame,
    error: duckdb.ConstraintException,
) -> DataError:
    """Say which column, which rule and which rows: the database's own message has one of them."""
    for column in table.columns:
        if not column.null and rows[column.name].null_count():
            bad = rows.filter(pl.col(column.name).is_null())
            return _violation(table, bad, f"column {column.name}: a value is missing")
    conditions = [
        (f"column {column.name}", condition)
        for column in table.columns
        for condition in column.conditions()
    ]
    for place, condition in [*conditions, *(("several columns", check) for check in table.checks)]:
        bad = select(
            connection,
            f"SELECT * FROM {quoted(_INCOMING)} WHERE NOT ({condition})",  # noqa: S608
        )
        if bad.height:
            return _violation(table, bad, f"{place}: not true that {condition}")
    stored = select(
        connection,
        f"SELECT {', '.join(map(quoted, table.key))} FROM {quoted(table.name)}",  # noqa: S608
    )
    again = rows.is_empty() or rows.join(stored, on=list(table.key), how="semi")
    twice = rows.filter(rows.select(table.key).is_duplicated())
    bad = twice if twice.height or isinstance(again, bool) else again
    if bad.height:
        return _violation(table, bad, f"key ({', '.join(table.key)}): not unique")
    return DataError(
        f"table {table.name} refused its rows: {_first_line(error)}",
        where=f"table {table.name}",
        remedy=table.remedy,
    )


def _violation(table: Table, bad: pl.DataFrame, what: str) -> DataError:
    shown = "; ".join(
        ", ".join(f"{name}={value}" for name, value in row.items())
        for row in bad.head(_SHOWN).iter_rows(named=True)
    )
    more = f" (first {_SHOWN} shown)" if bad.height > _SHOWN else ""
    return DataError(
        f"table {table.name}, {what}, in {bad.height} row(s){more}: {shown}",
        where=f"table {table.name}",
        remedy=table.remedy,
    )
