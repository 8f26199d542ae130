"""Drawings on a sheet measured in tenths of an inch: words in boxes, and grids of squares."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from remeasure.draw.boxes import draw_frame
from remeasure.draw.chart import WIDTH
from remeasure.draw.style import SMALL, Theme

#: Width of a sheet in its own units.
SHEET = 10 * WIDTH


def sheet(figure: Figure, height: float) -> Axes:
    """Empty axes as wide as the figure, ``height`` tenths of an inch high, y upwards."""
    ax = figure.add_subplot()
    ax.set_axis_off()
    ax.set_xlim(0, SHEET)
    ax.set_ylim(0, height)
    return ax


def word_box(
    ax: Axes,
    theme: Theme,
    corner: tuple[float, float],
    size: tuple[float, float],
    words: str,
    *,
    series: int,
    bold: bool = False,
    pale: float = 0.86,
    fontsize: float = SMALL,
) -> None:
    """A rounded box with words in its middle, lines broken where they stand."""
    draw_frame(ax, theme, corner, size, series=series, pale=pale)
    ax.text(
        corner[0] + size[0] / 2,
        corner[1] + size[1] / 2,
        words,
        ha="center",
        va="center",
        fontsize=fontsize,
        fontweight="bold" if bold else "normal",
        linespacing=1.25,
    )


def squares(
    ax: Axes,
    theme: Theme,
    places: Sequence[tuple[int, int, bool]],
    *,
    corner: tuple[float, float],
    pitch: float,
    series: int,
) -> None:
    """Squares at (column, row), row 0 on top, coloured where the third entry says so.

    Parameters
    ----------
    corner
        Upper left corner of the square (0, 0).
    pitch
        From one square to the next.
    """
    side = 0.82 * pitch
    for filled in (True, False):
        corners = [
            (corner[0] + column * pitch, corner[1] - row * pitch - side)
            for column, row, own in places
            if own == filled
        ]
        # One collection, not a patch a square: hundreds of patches cost seconds.
        ax.add_collection(
            PolyCollection(
                [((x, y), (x + side, y), (x + side, y + side), (x, y + side)) for x, y in corners],
                facecolors=theme.colour(series) if filled else theme.grid,
                edgecolors=theme.colour(series) if filled else theme.muted,
                linewidths=0.4,
            ),
            autolim=False,
        )
