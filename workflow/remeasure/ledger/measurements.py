"""Measurements on disk: one Parquet file a step, checked where it is written and where it is read.

Lies at ``results/<run>/<study>/measurements/<module>.parquet``.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import NoReturn

import dataframely as dy
import polars as pl

from remeasure.errors import DataError
from remeasure.ledger.measurement import ORIGINS, Measurement
from remeasure.ledger.reference import Key
from remeasure.store.schema import declare, one_of


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A measurement and where it comes from.

    Attributes
    ----------
    measurement
        What the step said.
    origin
        Weakest origin of everything it rests on, one of ``ORIGINS``.
    step, artifact
        Which step measured it, and the result file that holds it.
    """

    measurement: Measurement
    origin: str
    step: str = ""
    artifact: str = ""


#: Columns of a measurements file. ``value_number`` or ``value_text`` holds the value, in the
#: unit of the reference row; both are null where the row could not be measured.
SCHEMA = declare(
    "measurements",
    {
        "output_id": dy.String(min_length=1),
        "quantity": dy.String(min_length=1),
        "condition": dy.String(),
        "value_number": dy.Float64(nullable=True),
        "value_text": dy.String(min_length=1, nullable=True),
        "low": dy.Float64(nullable=True),
        "high": dy.Float64(nullable=True),
        "n": dy.Int64(min=0, nullable=True),
        "truth": dy.Float64(nullable=True),
        "coverage": dy.String(min_length=1),
        "note": dy.String(),
        "origin": one_of(ORIGINS),
        "step": dy.String(),
        "artifact": dy.String(),
    },
    unique=["output_id", "quantity", "condition"],
)

_TYPES = SCHEMA.types


def describe(key: Key) -> str:
    """A key for people: ``output: quantity (condition)``."""
    return f"{key[0]}: {key[1]}" + (f" ({key[2]})" if key[2] else "")


def key_of(measurement: Measurement) -> Key:
    """Output, quantity, condition."""
    return (measurement.output_id, measurement.quantity, measurement.condition)


def _number(measurement: Measurement, name: str) -> float | None:
    value = getattr(measurement, name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real):
        _refuse(measurement, f"{name} is {value!r}, not a number", "write 1, 0, a number or text")
    if isinstance(value, Integral) and abs(int(value)) > 2**53:
        _refuse(measurement, f"{name} is {value}: no float holds it exactly", "give it as text")
    number = float(value)
    if not math.isfinite(number):
        _refuse(measurement, f"{name} is {number}", "give None and a note where there is no value")
    return number


def _count(measurement: Measurement) -> int | None:
    if measurement.n is None:
        return None
    try:
        n = operator.index(measurement.n)
    except TypeError:
        n = -1
    if n < 0 or isinstance(measurement.n, bool):
        _refuse(measurement, f"n is {measurement.n!r}", "give the number of observations, or None")
    return n


def _refuse(
    measurement: Measurement, what: str, remedy: str = "correct the measuring step"
) -> NoReturn:
    raise DataError(f"bad measurement: {what}", where=describe(key_of(measurement)), remedy=remedy)


def check(measurement: Measurement) -> Measurement:
    """The measurement with plain floats, or an error that says why it is none.

    Raises
    ------
    DataError
        NaN or infinity; a truth value (write 1, 0 or text); one end of an
        interval without the other; ``low > high``; a value outside its own
        interval; interval or truth without a number that they belong to;
        empty text or coverage; a negative ``n``.
    """
    value: float | str | None
    if isinstance(measurement.value, str):
        value = measurement.value
        if not value.strip():
            _refuse(measurement, "value is empty text", "give None and a note")
    else:
        value = _number(measurement, "value")
    low, high, truth = (_number(measurement, name) for name in ("low", "high", "truth"))
    if not isinstance(value, float) and not (low is None and high is None and truth is None):
        _refuse(measurement, "low, high or truth without a number as value")
    if (low is None) != (high is None):
        _refuse(measurement, "one end of the interval is missing", "give low and high, or neither")
    if low is not None and high is not None and isinstance(value, float):
        if low > high:
            _refuse(measurement, f"low {low!r} is above high {high!r}")
        if not low <= value <= high:
            _refuse(measurement, f"value {value!r} lies outside its interval [{low!r}, {high!r}]")
    if not measurement.coverage.strip():
        _refuse(measurement, "coverage is empty", "say whole, or what is missing")
    return replace(measurement, value=value, low=low, high=high, truth=truth, n=_count(measurement))


def _validated(frame: pl.DataFrame, where: Path) -> pl.DataFrame:
    problems = SCHEMA.problems(frame)
    if problems:
        raise DataError(
            f"these measurements break their schema: {' | '.join(problems)}",
            where=where,
            remedy="make the file again with the step that measures it",
        )
    return frame


def write_measurements(
    path: Path, measurements: Sequence[Measurement], *, step: str, artifact: str, origin: str
) -> None:
    """Write what one step measured, sorted by key: equal measurements give equal bytes.

    Parameters
    ----------
    path
        Where to write.
    measurements
        At most one for each reference row; may be empty.
    step, artifact, origin
        Which step measured, into which result file, and the weakest origin of its inputs.

    Raises
    ------
    DataError
        For measurements that :func:`check` refuses, a row measured twice, an unknown origin.
    """
    if origin not in ORIGINS:
        raise DataError(
            f"the origin {origin!r} is unknown", where=step, remedy=f"use {', '.join(ORIGINS)}"
        )
    checked = sorted((check(each) for each in measurements), key=key_of)
    twice = [key for key, count in Counter(map(key_of, checked)).items() if count > 1]
    if twice:
        raise DataError(
            "measured twice by the same step: " + "; ".join(map(describe, twice)),
            where=step,
            remedy="return one measurement for each reference row",
        )
    rows = [
        (
            *key_of(each),
            each.value if isinstance(each.value, float) else None,
            each.value if isinstance(each.value, str) else None,
            each.low,
            each.high,
            each.n,
            each.truth,
            each.coverage,
            each.note,
            origin,
            step,
            artifact,
        )
        for each in checked
    ]
    frame = pl.DataFrame(rows, schema=_TYPES, orient="row")
    _validated(frame, path).write_parquet(path)


def measured_from(row: dict[str, object]) -> Measured:
    """A measurement from a row with the columns of ``SCHEMA``."""
    fields: dict[str, object] = dict(row)
    number, text = fields.pop("value_number"), fields.pop("value_text")
    origin, step, artifact = (str(fields.pop(name)) for name in ("origin", "step", "artifact"))
    measurement = Measurement(value=number if text is None else text, **fields)  # type: ignore[arg-type]
    return Measured(measurement=check(measurement), origin=origin, step=step, artifact=artifact)


def read_measurements(path: Path) -> list[Measured]:
    """Read one file of measurements, checked again.

    Raises
    ------
    DataError
        When the file is missing, not Parquet, or breaks the schema.
    """
    try:
        frame = pl.read_parquet(path)
    except FileNotFoundError as error:
        raise DataError(
            "this file of measurements does not exist",
            where=path,
            remedy="run the workflow: snakemake --cores 2",
        ) from error
    except pl.exceptions.ComputeError as error:
        raise DataError(
            f"this is not a Parquet file ({error})", where=path, remedy="make it again"
        ) from error
    return [measured_from(row) for row in _validated(frame, path).iter_rows(named=True)]
