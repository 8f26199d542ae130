"""Declared tables: the database enforces them, violations are named, contents are hashed."""

from __future__ import annotations

import hashlib
import json
from datetime import date, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from remeasure.errors import DataError
from remeasure.store.tables import (
    Column,
    Table,
    content_hash,
    content_hashes,
    create,
    insert,
    read_table,
    reader,
    select,
    write_tables,
    writer,
)

PRICES = Table(
    name="prices",
    meaning="one price of one coin",
    columns=(
        Column(name="coin", sql="VARCHAR", meaning="which coin"),
        Column(name="time", sql="TIMESTAMP", unit="UTC", meaning="when"),
        Column(name="low", sql="DOUBLE", unit="USDT", meaning="lowest", check="low > 0"),
        Column(name="high", sql="DOUBLE", unit="USDT", meaning="the day's highest"),
        Column(name="trades", sql="BIGINT", unit="1", meaning="how many", null=True),
        Column(name="up", sql="BOOLEAN", meaning="whether it rose", null=True),
        Column(name="day", sql="DATE", meaning="which day", null=True),
    ),
    key=("coin", "time"),
    checks=("low <= high",),
    remedy="fetch the file again",
)


def rows(n: int = 4) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "coin": ["BTC", "ETH"] * (n // 2),
            "time": [datetime(2024, 1, 1) + timedelta(hours=hour) for hour in range(n)],
            "low": [1.5 + i for i in range(n)],
            "high": [2.5 + i for i in range(n)],
            "trades": [None if i % 3 == 0 else i for i in range(n)],
            "up": [None, True, False, True][:n] * (n // 4),
            "day": [date(2024, 1, 1), None] * (n // 2),
        },
        schema=PRICES.schema(),
    )


def refused(tmp_path: Path, frame: pl.DataFrame) -> str:
    with pytest.raises(DataError) as caught:
        write_tables(tmp_path / "t.duckdb", [(PRICES, frame)])
    return str(caught.value)


def replaced(column: str, values: list[object]) -> pl.DataFrame:
    new = pl.Series(column, values, dtype=PRICES.schema()[column])
    return rows().with_columns(new)


def test_what_is_written_is_read_in_the_order_of_the_key(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    write_tables(path, [(PRICES, rows().reverse())])
    assert read_table(path, PRICES).equals(rows().sort("coin", "time"))
    some = read_table(
        path, PRICES, columns=["time", "low"], where="coin = ? AND low > ?", parameters=["ETH", 3]
    )
    assert some.rows() == [(datetime(2024, 1, 1, 3), 4.5)]
    assert not list(tmp_path.glob("*.wal"))
    with reader(path) as connection:
        stored = select(connection, "SELECT * FROM prices")
        comments = select(
            connection, "SELECT comment FROM duckdb_columns() WHERE column_name = 'high'"
        )
    assert stored.equals(rows().sort("coin", "time"))
    assert comments["comment"].to_list() == ["the day's highest [USDT]"]


def test_the_database_itself_enforces_the_declaration(tmp_path: Path) -> None:
    with writer(tmp_path / "t.duckdb") as connection:
        create(connection, PRICES)
        insert(connection, PRICES, rows())
        line = "INSERT INTO prices VALUES ('SOL', TIMESTAMP '2024-01-01', {}, NULL, NULL, NULL)"
        for values in ("-1, 2", "NULL, 2", "3, 2", "1, 'inf'", "1, 'nan'"):
            with pytest.raises(duckdb.ConstraintException):
                connection.execute(line.format(values))
        connection.execute(line.format("1, 2"))
        with pytest.raises(duckdb.ConstraintException):
            connection.execute(line.format("1, 2"))


@pytest.mark.parametrize(
    ("column", "values", "named"),
    [
        ("low", [1.5, None, 3.5, 4.5], "column low: a value is missing, in 1 row(s)"),
        ("low", [1.5, -2.0, 0.0, 4.5], "column low: not true that low > 0, in 2 row(s)"),
        ("high", [9.0, 9.0, 9.0, float("inf")], 'column high: not true that isfinite("high")'),
        ("high", [9.0, 9.0, 9.0, float("nan")], 'column high: not true that isfinite("high")'),
        ("low", [1.5, 99.0, 3.5, 4.5], "several columns: not true that low <= high"),
        ("time", [datetime(2024, 1, 1)] * 4, "key (coin, time): not unique, in 4 row(s)"),
    ],
)
def test_a_violation_names_table_column_rows_and_remedy(
    tmp_path: Path, column: str, values: list[object], named: str
) -> None:
    message = refused(tmp_path, replaced(column, values))
    assert f"table prices, {named}" in message
    assert "coin=" in message
    assert "fetch the file again" in message


def test_a_key_that_is_already_stored_is_named(tmp_path: Path) -> None:
    with writer(tmp_path / "t.duckdb") as connection:
        create(connection, PRICES)
        insert(connection, PRICES, rows())
        with pytest.raises(DataError, match=r"not unique, in 1 row\(s\): coin=ETH.*03:00"):
            insert(connection, PRICES, rows().tail(1))
        assert select(connection, "SELECT count(*) AS n FROM prices")["n"][0] == 4


@pytest.mark.parametrize(
    ("frame", "named"),
    [
        (rows().drop("up"), "column up is missing"),
        (rows().with_columns(x=1), "column x is not declared"),
        (rows().with_columns(pl.col("low").cast(pl.Float32)), "column low is Float32, declared"),
        (rows().select("time", pl.all().exclude("time")), "in another order"),
    ],
)
def test_columns_and_types_must_be_the_declared_ones(
    tmp_path: Path, frame: pl.DataFrame, named: str
) -> None:
    assert named in refused(tmp_path, frame)


def test_a_reader_refuses_another_schema_a_missing_table_and_no_database(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with writer(path) as connection:
        connection.execute("CREATE TABLE prices (coin VARCHAR, time TIMESTAMP)")
    with pytest.raises(DataError, match="column low is missing"):
        read_table(path, PRICES)
    with writer(path):
        pass
    with pytest.raises(DataError, match="there is no table 'prices'"):
        read_table(path, PRICES)
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(DataError, match="cannot be opened"):
        read_table(path, PRICES)
    path.unlink()
    with pytest.raises(DataError, match="no such database"):
        read_table(path, PRICES)


def test_connections_are_closed_to_everything_but_their_file(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    (tmp_path / "x.csv").write_text("a\n1\n")
    write_tables(path, [(PRICES, rows())])
    with reader(path) as connection:
        assert select(connection, "SELECT current_setting('threads') AS n")["n"][0] == 1
        for query in (
            f"FROM read_csv('{tmp_path}/x.csv')",
            f"COPY prices TO '{tmp_path}/out.csv'",
            "INSTALL httpfs",
            "DELETE FROM prices",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(query)


def by_hand(frame: pl.DataFrame) -> str:
    """The content hash written down a second time, from Python values alone."""
    described = [[column.name, column.sql, column.null] for column in PRICES.columns]
    digest = hashlib.sha256(json.dumps([described, list(PRICES.key)]).encode())
    kinds = {"VARCHAR": None, "TIMESTAMP": "<i8", "DOUBLE": "<f8", "BIGINT": "<i8"}
    kinds |= {"BOOLEAN": "u1", "DATE": "<i4"}
    for column in PRICES.columns:
        values = frame.sort("coin", "time")[column.name].to_list()
        lengths = b""
        if column.sql == "VARCHAR":
            texts = [(value or "").encode() for value in values]
            data = b"".join(texts)
            lengths = np.array([len(text) for text in texts], "<u4").tobytes()
        else:
            epoch = {"TIMESTAMP": datetime(1970, 1, 1), "DATE": date(1970, 1, 1)}
            if column.sql == "TIMESTAMP":
                values = [int((v - epoch["TIMESTAMP"]).total_seconds() * 1e6) for v in values]
            if column.sql == "DATE":
                values = [None if v is None else (v - epoch["DATE"]).days for v in values]
            filled = [0 if value is None else value for value in values]
            data = np.array(filled, kinds[column.sql]).tobytes()
        original = frame.sort("coin", "time")[column.name].to_list()
        missing = bytes(value is None for value in original)
        digest.update(len(values).to_bytes(8, "little"))
        for part in (data, lengths, missing):
            digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def test_the_content_hash_is_what_it_is_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    write_tables(path, [(PRICES, rows())])
    assert content_hashes(path) == {"prices": by_hand(rows())}


def test_the_content_hash_survives_rewrites_and_sees_every_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hashed(frame: pl.DataFrame, name: str, pieces: int = 1) -> str:
        path = tmp_path / f"{name}.duckdb"
        with writer(path) as connection:
            create(connection, PRICES)
            for piece in range(pieces):
                insert(connection, PRICES, frame[piece::pieces])
            return content_hash(connection, "prices")

    frame = rows(400)
    truth = hashed(frame, "a")
    assert hashed(frame.sample(fraction=1, shuffle=True, seed=1), "b", pieces=7) == truth
    monkeypatch.setattr("remeasure.store.tables._BATCH", 7)
    assert hashed(frame, "c") == truth
    changes = {
        "one value": frame.with_columns(low=pl.col("low") + (pl.int_range(400) == 399) * 1e-12),
        "a null for a zero": frame.with_columns(trades=pl.col("trades").fill_null(0)),
        "a row less": frame.head(399),
        "text": frame.with_columns(coin=pl.col("coin").str.replace("ETH", "ETC")),
    }
    hashes = {name: hashed(changed, "d") for name, changed in changes.items()}
    assert len({truth, *hashes.values()}) == 5


def test_the_content_hash_sees_the_schema_and_other_types(tmp_path: Path) -> None:
    hashes = set()
    for ddl in (
        "CREATE TABLE t (a INTEGER)",
        "CREATE TABLE t (a BIGINT)",
        "CREATE TABLE t (b INTEGER)",
        "CREATE TABLE t (a INTEGER NOT NULL)",
        "CREATE TABLE t (a INTEGER PRIMARY KEY)",
        "CREATE TABLE t (a DECIMAL(9, 2))",
    ):
        with writer(tmp_path / "t.duckdb") as connection:
            connection.execute(ddl)
            connection.execute("INSERT INTO t VALUES (1), (2)")
        hashes.add(content_hashes(tmp_path / "t.duckdb")["t"])
    assert len(hashes) == 6
    with reader(tmp_path / "t.duckdb") as connection, pytest.raises(DataError, match="no table"):
        content_hash(connection, "absent")


def test_texts_that_join_alike_do_not_hash_alike(tmp_path: Path) -> None:
    hashes = set()
    for values in ("('ab'), ('c')", "('a'), ('bc')", "('abc'), ('')", "('abc'), (NULL)"):
        with writer(tmp_path / "t.duckdb") as connection:
            connection.execute("CREATE TABLE t (a VARCHAR)")
            connection.execute("INSERT INTO t VALUES " + values)  # noqa: S608
            hashes.add(content_hash(connection, "t"))
    assert len(hashes) == 4
