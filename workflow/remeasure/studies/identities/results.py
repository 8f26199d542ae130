"""What each article's step leaves behind: points for its figures, and its checks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandera.polars as pa
import polars as pl

from remeasure.store.frames import write_frame
from remeasure.studies.identities.sides import Sides

POINTS = pa.DataFrameSchema(
    {
        "figure": pa.Column(pl.String),
        "series": pa.Column(pl.String),
        "label": pa.Column(pl.String, nullable=True),
        "x": pa.Column(pl.Float64, nullable=True),
        "value": pa.Column(pl.Float64),
        "low": pa.Column(pl.Float64, nullable=True),
        "high": pa.Column(pl.Float64, nullable=True),
    },
    name="points of an article's figures",
)
"""One row a point: which figure (output id) and series, where it stands (``x``, or the words
``label`` of a bar) and its value, with a 95% interval where it has one."""

CHECKS = pa.DataFrameSchema(
    {
        "identity": pa.Column(pl.String),
        "one": pa.Column(pl.String),
        "other": pa.Column(pl.String),
        "cases": pa.Column(pl.Int64, pa.Check.ge(1)),
        "worst": pa.Column(pl.Float64),
        "allowed": pa.Column(pl.Float64),
        "unit": pa.Column(
            pl.String,
            pa.Check.isin(["exact", "epsilon", "absolute", "standard errors", "control"]),
        ),
    },
    name="identities of an article",
)
"""One row an identity, as ``sides.Check``."""


class Points:
    """Collects the points of an article's figures."""

    def __init__(self) -> None:
        self._rows: list[dict[str, object]] = []

    def add(
        self,
        figure: str,
        series: str,
        value: float,
        *,
        x: float | None = None,
        label: str | None = None,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        """One point; see ``POINTS``."""
        self._rows.append(
            {
                "figure": figure,
                "series": series,
                "label": label,
                "x": None if x is None else float(x),
                "value": float(value),
                "low": low,
                "high": high,
            }
        )

    def curve(self, figure: str, series: str, points: Iterable[tuple[float, float]]) -> None:
        """Many points of one series, as (x, value)."""
        for x, value in points:
            self.add(figure, series, value, x=x)

    def frame(self) -> pl.DataFrame:
        """All points in the order in which they came."""
        types = {name: column.dtype.type for name, column in POINTS.columns.items()}
        return pl.DataFrame(self._rows, schema=types)


def checks_frame(sides: Sides) -> pl.DataFrame:
    """The identities that held, in the order in which they were checked."""
    types = {name: column.dtype.type for name, column in CHECKS.columns.items()}
    return pl.DataFrame([vars(check) for check in sides.checks], schema=types)


def write_results(points: Points, sides: Sides, series: Path, checks: Path) -> None:
    """Write both tables of an article.

    Raises
    ------
    DataError
        When one breaks its schema.
    """
    write_frame(points.frame(), series, POINTS)
    write_frame(checks_frame(sides), checks, CHECKS)
