"""What the charts of this study share: reading points, curves with direct labels, bars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from remeasure.draw.chart import Floats, numbers
from remeasure.draw.style import DASHES, MARKERS, LineLabel, Theme, interval_band
from remeasure.model import Model
from remeasure.store.frames import read_frame


class FigureStep(Model):
    """Which figure is drawn: the id of its output."""

    figure: str


def points(path: Path, figure: str) -> pl.DataFrame:
    """The points of one figure, without columns that it does not use.

    Raises
    ------
    DataError
        When the result is missing or cannot be read.
    """
    frame = read_frame(path).filter(pl.col("figure") == figure).drop("figure")
    return frame.select(
        name for name in frame.columns if name == "value" or frame[name].null_count() < frame.height
    )


def of(data: pl.DataFrame, series: str) -> pl.DataFrame:
    """The points of one series."""
    return data.filter(pl.col("series") == series)


def names(data: pl.DataFrame) -> list[str]:
    """The series in the order of the data."""
    return data["series"].unique(maintain_order=True).to_list()


def value_at(data: pl.DataFrame, series: str, x: float) -> float:
    """The value of a series at one x."""
    return float(of(data, series).filter(pl.col("x") == x)["value"].item())


def curve(
    ax: Axes,
    theme: Theme,
    data: pl.DataFrame,
    series: str,
    index: int,
    *,
    label: str | None = None,
    marks: bool = True,
) -> LineLabel:
    """Draw one series as a line, with its interval where it has one; returns its direct label."""
    own = of(data, series)
    x, y = numbers(own, "x"), numbers(own, "value")
    if "low" in own.columns and own["low"].null_count() == 0:
        interval_band(ax, x, numbers(own, "low"), numbers(own, "high"), colour=theme.colour(index))
    ax.plot(
        x,
        y,
        color=theme.colour(index),
        linestyle=DASHES[index % len(DASHES)],
        marker=MARKERS[index % len(MARKERS)] if marks else None,
        markersize=4.5,
    )
    return LineLabel(series if label is None else label, float(x[-1]), float(y[-1]), index)


def bars(ax: Axes, theme: Theme, labels: Sequence[str], values: Floats, *, index: int = 0) -> None:
    """Horizontal bars from top to bottom, one a label."""
    places = np.arange(len(labels))
    ax.barh(places, values, color=theme.colour(index), height=0.62)
    ax.set_yticks(places, labels)
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x")


def stacked(ax: Axes, theme: Theme, data: pl.DataFrame) -> None:
    """Horizontal bars of series on top of each other, one a label from top to bottom."""
    labels = data["label"].unique(maintain_order=True).to_list()
    places = np.arange(len(labels))
    start = np.zeros(len(labels))
    for index, name in enumerate(names(data)):
        values = numbers(of(data, name), "value")
        ax.barh(places, values, left=start, color=theme.colour(index), height=0.62, label=name)
        start = start + values
    ax.set_yticks(places, labels)
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x")
