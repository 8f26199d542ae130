"""Small pieces that the study's charts share."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from remeasure.draw.chart import Floats, Row, numbers, said
from remeasure.draw.style import SMALL, Theme, interval_bars
from remeasure.studies.polymarket.published import rows

#: Estimates in a chart's data, in the unit that the chart shows.
VALUES = ("value", "low", "high")


def scaled(frame: pl.DataFrame, factor: float) -> pl.DataFrame:
    """Estimates times ``factor`` (100 for per cent, cents and points)."""
    return frame.with_columns(pl.col("value", "low", "high", "truth") * factor)


def with_printed(
    frame: pl.DataFrame, output: str, keys: Iterable[tuple[str, str] | None]
) -> pl.DataFrame:
    """The published number of each row, by quantity and condition; missing where there is none."""
    known = rows()
    found = []
    for key in keys:
        row = None if key is None else known.get((output, *key))
        found.append(None if row is None or row.number is None else float(row.number))
    return frame.with_columns(published=pl.Series(found, dtype=pl.Float64))


def whisker_points(
    ax: Axes,
    x: Floats,
    frame: pl.DataFrame,
    *,
    colour: str,
    label: str = "",
    marker: str = "o",
    horizontal: bool = False,
) -> None:
    """Points with intervals from the columns value, low and high; missing values are left out."""
    value, low, high = (numbers(frame, name) for name in VALUES)
    there = np.isfinite(value)
    at, value, low, high = x[there], value[there], low[there], high[there]
    interval_bars(
        ax,
        value if horizontal else at,
        at if horizontal else value,
        low,
        high,
        colour=colour,
        label=label,
        marker=marker,
        horizontal=horizontal,
    )


def outside(ax: Axes, theme: Theme, text: str, *, x: float, y: float, ha: str = "center") -> None:
    """A short note inside a plot, in axes coordinates."""
    ax.text(
        x, y, text, transform=ax.transAxes, fontsize=SMALL, color=theme.muted, ha=ha, va="center"
    )


def told(row: Row | None, digits: int = 3) -> str:
    """An estimate and its interval in words; ``not measured`` where there is none."""
    if row is None or row["value"] is None:
        return "not measured"
    return said(row["value"], row["low"], row["high"], digits)
