"""Measurements on disk, and what is no measurement."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remeasure.errors import DataError
from remeasure.ledger.measurement import Measurement
from remeasure.ledger.measurements import check, read_measurements, write_measurements


def made(**changes: Any) -> Measurement:
    fields: dict[str, Any] = {"output_id": "f", "quantity": "q", "condition": "c", "value": 2.0}
    return Measurement(**{**fields, **changes})


def write(path: Path, *measurements: Measurement, origin: str = "mirror") -> Path:
    write_measurements(path, measurements, step="m:f", artifact="r/t.parquet", origin=origin)
    return path


def test_measurements_survive_the_disk(tmp_path: Path) -> None:
    one = made(value=53.87, low=53.4, high=54.35, n=42142, truth=54.2, coverage="2025", note="hm")
    two = made(condition="", value="2025-03")
    three = made(condition="z", value=None, note="no candles")
    read = read_measurements(write(tmp_path / "m.parquet", three, one, two))
    assert [each.measurement for each in read] == [two, one, three]
    assert {(each.origin, each.step, each.artifact) for each in read} == {
        ("mirror", "m:f", "r/t.parquet")
    }


def test_columns_are_those_that_others_read(tmp_path: Path) -> None:
    schema = pl.read_parquet_schema(write(tmp_path / "m.parquet"))
    assert ",".join(schema) == (
        "output_id,quantity,condition,value_number,value_text,low,high,n,truth,coverage,note,"
        "origin,step,artifact"
    )
    assert schema["value_number"] == pl.Float64
    assert schema["value_text"] == pl.String
    assert schema["n"] == pl.Int64


@settings(max_examples=20, deadline=None)
@given(st.permutations(["a", "b", "c", "d"]))
def test_bytes_do_not_depend_on_the_order(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        first = write(Path(folder, "1.parquet"), *(made(quantity=each) for each in names))
        second = write(Path(folder, "2.parquet"), *(made(quantity=each) for each in sorted(names)))
        assert first.read_bytes() == second.read_bytes()


def test_numbers_of_numpy_become_plain_ones() -> None:
    checked = check(
        made(value=np.int64(3), low=np.float64(2), high=np.float32(4), n=np.int32(7), truth=3)
    )
    assert checked == made(value=3.0, low=2.0, high=4.0, n=7, truth=3.0)
    assert {type(checked.value), type(checked.low), type(checked.high)} == {float}
    assert type(checked.n) is int


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"value": float("nan")}, "value is nan"),
        ({"value": float("inf")}, "value is inf"),
        ({"low": float("-inf"), "high": 3.0}, "low is -inf"),
        ({"low": 1.0, "high": float("nan")}, "high is nan"),
        ({"truth": float("nan")}, "truth is nan"),
        ({"low": 1.0}, "one end"),
        ({"high": 3.0}, "one end"),
        ({"low": 3.0, "high": 1.0}, "above high"),
        ({"low": 2.1, "high": 3.0}, "outside its interval"),
        ({"low": 1.0, "high": 1.9}, "outside its interval"),
        ({"value": None, "low": 1.0, "high": 3.0}, "without a number"),
        ({"value": None, "truth": 3.0}, "without a number"),
        ({"value": "yes", "low": 1.0, "high": 3.0}, "without a number"),
        ({"value": " "}, "empty text"),
        ({"value": True}, "not a number"),
        ({"value": np.True_}, "not a number"),
        ({"value": 2**60 + 1}, "no float holds"),
        ({"n": -1}, "n is -1"),
        ({"n": 2.5}, "n is 2.5"),
        ({"coverage": ""}, "coverage is empty"),
    ],
)
def test_what_is_no_measurement_is_refused(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(DataError, match=words) as caught:
        write(tmp_path / "m.parquet", made(**changes))
    assert caught.value.where == "f: q (c)"
    assert not (tmp_path / "m.parquet").exists()


def test_unknown_origins_and_rows_measured_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="origin 'hearsay' is unknown"):
        write(tmp_path / "m.parquet", origin="hearsay")
    with pytest.raises(DataError, match=r"measured twice by the same step: f: q \(c\)"):
        write(tmp_path / "m.parquet", made(), made(value=3))


def test_files_that_are_no_measurements_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_measurements(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("hello")
    with pytest.raises(DataError, match="not a Parquet"):
        read_measurements(tmp_path / "text.parquet")
    good = pl.read_parquet(write(tmp_path / "m.parquet", made()))
    for bad in (
        good.drop("note"),
        good.with_columns(value_number=pl.lit(float("nan"))),
        good.with_columns(value_number=pl.lit(float("inf"))),
        good.with_columns(origin=pl.lit("hearsay")),
        good.with_columns(pl.col("n").cast(pl.Float64)),
        pl.concat([good, good]),
    ):
        bad.write_parquet(tmp_path / "bad.parquet")
        with pytest.raises(DataError, match="schema"):
            read_measurements(tmp_path / "bad.parquet")
