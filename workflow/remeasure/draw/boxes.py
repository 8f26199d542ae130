"""Boxes with words, and arrows between them: the pieces of every drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from remeasure.draw.colour import mix
from remeasure.draw.style import FONT, SMALL, Theme

#: Side on which an arrow leaves a box or enters it.
Side = Literal["left", "right", "top", "bottom"]

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """A box of a drawing: a title, words below it, and its place in tenths of an inch.

    Attributes
    ----------
    title, text
        Lines are broken where they stand.
    x, y, width, height
        Left edge, lower edge and size.
    series
        Number of the colour that marks it.
    """

    title: str
    x: float
    y: float
    width: float
    height: float
    text: str = ""
    series: int = 0

    def side(self, side: Side, shift: float = 0.0) -> Point:
        """The middle of one side, moved along it by ``shift``."""
        middle, centre = self.x + self.width / 2, self.y + self.height / 2
        return {
            "left": (self.x, centre + shift),
            "right": (self.x + self.width, centre + shift),
            "top": (middle + shift, self.y + self.height),
            "bottom": (middle + shift, self.y),
        }[side]


def draw_frame(
    ax: Axes,
    theme: Theme,
    corner: Point,
    size: Point,
    *,
    series: int,
    rounding: float = 0.8,
    aspect: float = 1.0,
    pale: float = 0.86,
) -> None:
    """A rounded frame, filled with a pale shade of its colour.

    Parameters
    ----------
    corner, size
        Lower left corner; width and height, in units of the axes.
    series
        Number of the colour.
    rounding, aspect
        Radius of the corners, and how far it is flattened where the axes' units differ.
    pale
        How much of the background is in the shade, from 0 to 1.
    """
    colour = theme.colour(series)
    ax.add_patch(
        FancyBboxPatch(
            corner,
            *size,
            boxstyle=f"round,pad=0,rounding_size={rounding:g}",
            mutation_aspect=aspect,
            facecolor=mix(colour, theme.background, pale),
            edgecolor=colour,
            linewidth=1.2,
        )
    )


def draw_box(ax: Axes, theme: Theme, box: Box) -> None:
    """A box with its title above its words; the axes' units are tenths of an inch."""
    draw_frame(ax, theme, (box.x, box.y), (box.width, box.height), series=box.series)
    middle, centre = box.x + box.width / 2, box.y + box.height / 2
    # A line of small text is 1.55 tenths of an inch high.
    up, down = 0.78 * (box.text.count("\n") + 1), 0.85
    title = ax.text(middle, centre + up, box.title, fontsize=FONT, fontweight="bold")
    words = ax.text(middle, centre - down, box.text, fontsize=SMALL, linespacing=1.25)
    for text in (title, words):
        text.set(ha="center", va="center")


def draw_arrow(
    ax: Axes, start: Point, end: Point, *, colour: str, bend: float = 0.0, dashed: bool = False
) -> None:
    """An arrow from point to point; ``bend`` curves it."""
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=11,
            shrinkA=1.5,
            shrinkB=1.5,
            linewidth=1.3,
            color=colour,
            connectionstyle=f"arc3,rad={bend}",
            linestyle="--" if dashed else "-",
        )
    )
