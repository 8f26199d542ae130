"""Tables of results as accessible fragments of HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from remeasure.report.numbers import grouped, rounded
from remeasure.report.pages import environment

PACKAGE_FILES = ("templates/table.html",)


@dataclass(frozen=True, kw_only=True)
class Column:
    """How a column of a frame is shown.

    Attributes
    ----------
    name
        In the frame.
    title
        In the head of the table.
    unit
        Under the title; empty for none.
    decimals
        Digits after the point of a float; None for four significant digits.
    show
        A function of the value that returns its text, for everything else.
    """

    name: str
    title: str
    unit: str = ""
    decimals: int | None = None
    show: Callable[[Any], str] | None = None

    def text(self, value: object) -> str:
        """What a cell says; a dash where there is no value."""
        if value is None:
            return "\N{EN DASH}"
        if self.show is not None:
            return self.show(value)
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, int):
            return grouped(str(value))
        if isinstance(value, float):
            if self.decimals is None:
                return rounded(value)
            text = f"{value:.{self.decimals}f}"
            # No minus before a rounded zero: "-0.00" reads as a loss.
            return grouped(text.lstrip("-") if re.fullmatch(r"-0(\.0*)?", text) else text)
        return str(value)


def html_table(
    frame: pl.DataFrame, *, caption: str, columns: Sequence[Column], note: str = ""
) -> str:
    """Render a frame as an HTML fragment: caption, scopes, numbers aligned on the right.

    The first column names the rows (``scope="row"``); columns of numbers are
    those with a numeric type in the frame.

    Parameters
    ----------
    frame
        One row a row of the table, in order.
    caption
        What the table shows.
    columns
        Which columns, in which order.
    note
        A line under the table, as for the origin of its data.

    Raises
    ------
    ValueError
        For an empty caption or a column that the frame lacks.
    """
    if not caption.strip():
        raise ValueError("a table needs a caption")
    absent = [column.name for column in columns if column.name not in frame.columns]
    if absent:
        raise ValueError(f"the frame has no columns {', '.join(absent)}")
    numeric = [frame.schema[column.name].is_numeric() for column in columns]
    rows = [
        [column.text(value) for column, value in zip(columns, row, strict=True)]
        for row in zip(*(frame[column.name] for column in columns), strict=True)
    ]
    return (
        environment()
        .get_template("table.html")
        .render(caption=caption, columns=columns, numeric=numeric, rows=rows, note=note)
    )
