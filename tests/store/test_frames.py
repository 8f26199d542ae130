"""Parquet and JSON: strict schemas, equal frames in equal bytes, no number that is none."""

from __future__ import annotations

import json
from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remeasure.errors import DataError
from remeasure.store.frames import misread, read_frame, read_json, write_frame, write_json
from remeasure.store.schema import declare

SHARES = declare(
    "shares",
    {
        "coin": dy.String(),
        "share": dy.Float64(min=0, max=1),
        "n": dy.Int64(nullable=True),
    },
)


def frame() -> pl.DataFrame:
    return pl.DataFrame({"coin": ["BTC", "ETH"], "share": [0.25, 0.5], "n": [7, None]})


def test_a_frame_comes_back_as_it_was(tmp_path: Path) -> None:
    write_frame(frame(), tmp_path / "f.parquet", SHARES)
    assert read_frame(tmp_path / "f.parquet", SHARES).equals(frame())


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (frame().with_columns(share=pl.lit(1.5)), ("column share", "1.5")),
        (frame().with_columns(share=pl.lit(None, pl.Float64)), ("column share", "null")),
        (frame().with_columns(share=pl.lit(1)), ("share", "Int")),
        (frame().with_columns(extra=1), ("extra",)),
        (frame().drop("n"), ("n",)),
        (frame().select("share", "coin", "n"), ("order",)),
    ],
)
def test_a_broken_schema_is_named_and_nothing_is_written(
    tmp_path: Path, wrong: pl.DataFrame, named: tuple[str, ...]
) -> None:
    with pytest.raises(DataError) as caught:
        write_frame(wrong, tmp_path / "f.parquet", SHARES)
    for word in (*named, "shares", "compare the two"):
        assert word in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_equal_frames_give_equal_bytes(tmp_path: Path) -> None:
    n = 150_000
    values = np.random.default_rng(1).normal(size=n)
    schema = declare("x", {"x": dy.Float64()})
    whole = pl.DataFrame({"x": values})
    pieces = pl.concat([whole[:1000], whole[1000:50_000], whole[50_000:]], rechunk=False)
    assert pieces.n_chunks() == 3
    sliced = pl.DataFrame({"x": np.concatenate([[0.0], values])})[1:]
    for name, each in (("a", whole), ("b", pieces), ("c", sliced)):
        write_frame(each, tmp_path / name, schema)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "c").read_bytes()


def test_reading_what_is_not_there_or_no_parquet(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such table"):
        read_frame(tmp_path / "f.parquet")
    (tmp_path / "f.parquet").write_bytes(b"no parquet")
    with pytest.raises(DataError, match="cannot be read"):
        read_frame(tmp_path / "f.parquet")
    write_frame(frame(), tmp_path / "g.parquet", SHARES)
    with pytest.raises(DataError, match="column"):
        read_frame(tmp_path / "g.parquet", declare("coins", {"coin": dy.String()}))


def test_a_table_of_another_shape_is_named_with_its_column(tmp_path: Path) -> None:
    """However Polars says it: the table without the column, or every table with its types."""
    paths = [tmp_path / name for name in ("a.parquet", "b.parquet")]
    write_frame(frame(), paths[0], SHARES)
    pl.DataFrame({"coin": [1], "hour": [2]}).write_parquet(paths[1])
    tables = [read_frame(path) for path in paths]
    for wrong in (
        lambda: tables[1]["share"],
        lambda: tables[1].select("share"),
        lambda: tables[1].filter(pl.col("share") > 0),
    ):
        with pytest.raises(pl.exceptions.PolarsError) as caught:
            wrong()
        found = misread(caught.value, paths)
        assert found is not None
        assert "lacks the column share" in found.what
        assert found.where == str(paths[1])
    for wrong in (
        lambda: tables[0].join(tables[1], on="coin"),
        lambda: tables[0].filter(pl.col("coin") > 1),
        lambda: tables[0].select(pl.col("coin").dt.year()),
    ):
        with pytest.raises(pl.exceptions.PolarsError) as caught:
            wrong()
        found = misread(caught.value, paths)
        assert found is not None
        assert f"{paths[0]} (coin String, share Float64, n Int64)" in found.where
    assert misread(ValueError("share"), paths) is None
    assert misread(caught.value, []) is None


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    )
)
def test_json_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = tmp_path_factory.getbasetemp() / "v.json"
    write_json(value, path)
    assert read_json(path) == value


def test_json_is_sorted_short_and_takes_numpy(tmp_path: Path) -> None:
    path = tmp_path / "v.json"
    write_json({"b": np.float64(0.1), "a": np.arange(2), "c": {"z": np.int64(3), "y": ()}}, path)
    assert path.read_text() == (
        '{\n  "a": [\n    0,\n    1\n  ],\n  "b": 0.1,\n'
        '  "c": {\n    "y": [],\n    "z": 3\n  }\n}\n'
    )


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"a": [1.0, float("nan")]}, r"\$\.a\[1\]"),
        ({"a": {"b": np.float64("inf")}}, r"\$\.a\.b"),
        ({"a": b"bytes"}, r"\$\.a"),
        ({1: "x", "1": "y"}, r"at \$ "),
        (object(), r"at \$ "),
    ],
)
def test_json_refuses_what_is_no_number_and_names_its_place(
    tmp_path: Path, value: object, place: str
) -> None:
    with pytest.raises(DataError, match=place):
        write_json(value, tmp_path / "v.json")
    assert list(tmp_path.iterdir()) == []


def test_reading_json_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_json(tmp_path / "v.json")
    (tmp_path / "v.json").write_text("{")
    with pytest.raises(DataError, match="not JSON"):
        read_json(tmp_path / "v.json")
    assert json.loads("1") == 1
