"""What each article's step leaves behind: points for its figures, and its checks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import dataframely as dy
import polars as pl

from remeasure.store.frames import write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.identities.sides import Sides

POINTS = declare(
    "points of an article's figures",
    {
        "figure": dy.String(),
        "series": dy.String(),
        "label": dy.String(nullable=True),
        "x": dy.Float64(nullable=True),
        "value": dy.Float64(),
        "low": dy.Float64(nullable=True),
        "high": dy.Float64(nullable=True),
    },
)
"""One row a point: which figure (output id) and series, where it stands (``x``, or the words
``label`` of a bar) and its value, with a 95% interval where it has one."""

CHECKS = declare(
    "identities of an article",
    {
        "identity": dy.String(),
        "one": dy.String(),
        "other": dy.String(),
        "cases": dy.Int64(min=1),
        "worst": dy.Float64(),
        "allowed": dy.Float64(),
        "unit": one_of(["exact", "epsilon", "absolute", "standard errors", "control"]),
    },
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
        return pl.DataFrame(self._rows, schema=POINTS.types)


def checks_frame(sides: Sides) -> pl.DataFrame:
    """The identities that held, in the order in which they were checked."""
    return pl.DataFrame([vars(check) for check in sides.checks], schema=CHECKS.types)


def write_results(points: Points, sides: Sides, series: Path, checks: Path) -> None:
    """Write both tables of an article.

    Raises
    ------
    DataError
        When one breaks its schema.
    """
    write_frame(points.frame(), series, POINTS)
    write_frame(checks_frame(sides), checks, CHECKS)
