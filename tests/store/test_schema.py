"""Declared tables: what a frame must be, and what an error says when it is not."""

from __future__ import annotations

import math
from datetime import datetime

import dataframely as dy
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remeasure.store.schema import declare, of_type, one_of

HOURS = declare(
    "hours",
    {
        "coin": one_of(["BTC", "ETH"]),
        "hour": dy.Datetime(),
        "low": dy.Float64(min_exclusive=0),
        "high": dy.Float64(nullable=True),
    },
    unique=["coin", "hour"],
    rules={"low is not above high": pl.col("low") <= pl.col("high")},
)
TIME = datetime(2026, 1, 1)


def hours(**changed: object) -> pl.DataFrame:
    row = {"coin": "BTC", "hour": TIME, "low": 1.0, "high": 2.0} | changed
    rows = [row, {"coin": "ETH", "hour": TIME, "low": 1.0, "high": None}]
    return pl.DataFrame(rows, schema=HOURS.types)


def test_a_good_frame_has_no_problems() -> None:
    assert HOURS.problems(hours()) == []
    assert HOURS.problems(HOURS.empty()) == []
    assert HOURS.empty().schema == HOURS.types


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"coin": "SOL"}, "column coin: one of BTC, ETH; first offending: SOL"),
        ({"coin": None}, "column coin: takes no null; first offending: None"),
        ({"low": 0.0}, "column low: min exclusive 0; first offending: 0.0"),
        ({"low": math.nan, "high": None}, "column low: takes no NaN; first offending: nan"),
        ({"high": math.nan}, "column high: takes no NaN; first offending: nan"),
        ({"high": math.inf}, "column high: takes no infinity; first offending: inf"),
        (
            {"low": 3.0},
            "low is not above high; first offending: ('BTC', datetime.datetime(2026, 1, 1, 0, 0))",
        ),
        (
            {"coin": "ETH"},
            "no two rows are equal in coin, hour; first offending: "
            + ", ".join(["('ETH', datetime.datetime(2026, 1, 1, 0, 0))"] * 2),
        ),
    ],
)
def test_each_broken_check_is_said_with_what_breaks_it(
    changed: dict[str, object], said: str
) -> None:
    assert HOURS.problems(hours(**changed)) == [said]


def test_all_that_is_broken_is_said_at_once_and_five_values_of_each() -> None:
    number = declare("n", {"a": dy.Int64(max=0), "b": dy.Int64(unique=True)})
    frame = pl.DataFrame({"a": range(1, 9), "b": [0, 0, *range(2, 8)]})
    assert number.problems(frame) == [
        "column a: max 0; first offending: 1, 2, 3, 4, 5",
        "column b: takes no value twice; first offending: 0, 0",
    ]


def test_every_fault_of_the_shape_is_said() -> None:
    good = hours()
    assert HOURS.problems(good.drop("coin").with_columns(low=1, more=1)) == [
        "column coin is missing",
        "column more does not belong to it; found: hour, low, high, more",
        "column low: must be Float64; found: Int32",
    ]
    (order,) = HOURS.problems(good.select("hour", "coin", "low", "high"))
    assert "order" in order
    assert "hour, coin, low, high" in order
    milli = good.with_columns(pl.col("hour").cast(pl.Datetime("ms")))
    assert "must be Datetime(time_unit='us'" in HOURS.problems(milli)[0]


def test_columns_may_be_called_as_a_schemas_methods_are() -> None:
    names = ["sample", "filter", "columns", "validate", "name", "cast", "column_0", "primary_key"]
    odd = declare("odd", {name: dy.Int64(min=0) for name in names}, unique=names)
    assert odd.problems(pl.DataFrame({name: [1] for name in names})) == []
    assert len(odd.problems(pl.DataFrame({name: [-1] for name in names}))) == len(names)


def test_one_column_may_stand_in_several_tables() -> None:
    share = dy.Float64(min=0, max=1)
    first, second = declare("a", {"x": share}), declare("b", {"y": share, "z": share})
    assert first.problems(pl.DataFrame({"x": [2.0]})) == ["column x: max 1; first offending: 2.0"]
    assert second.problems(pl.DataFrame({"y": [1.0], "z": [0.0]})) == []


def test_a_table_must_have_the_columns_of_its_key() -> None:
    with pytest.raises(ValueError, match="no columns hour"):
        declare("x", {"coin": dy.String()}, unique=["coin", "hour"])


@pytest.mark.parametrize(
    "kind",
    [pl.Boolean, pl.Date, pl.Float64, pl.Int32, pl.Int64, pl.String, pl.Datetime("ms", "UTC")],
)
def test_a_column_of_a_type_has_that_type(kind: pl.DataType | type[pl.DataType]) -> None:
    assert of_type(kind, nullable=True).dtype == kind
    assert of_type(kind, nullable=True).nullable


@given(st.lists(st.none() | st.floats() | st.sampled_from([0.0, 1.0]), max_size=8))
def test_verdicts_are_those_of_plain_comparisons(values: list[float | None]) -> None:
    """Null only where it is allowed, never NaN, and within the limits."""
    frame = pl.DataFrame({"x": values}, schema={"x": pl.Float64})
    for nullable in (False, True):
        column = declare("x", {"x": dy.Float64(min=0, max_exclusive=1, nullable=nullable)})
        good = all(nullable if each is None else 0 <= each < 1 for each in values)
        assert (not column.problems(frame)) == good
