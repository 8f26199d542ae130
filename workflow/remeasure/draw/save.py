"""Saving a figure: two themes, two formats, its data, and the text for those who cannot see it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from remeasure.draw.style import COLUMN, THEMES, Theme, origin_label, settle_layout

#: Resolution of the PNG in dots an inch.
DPI = 200

Draw = Callable[[Figure, Theme], None]


def _named(ax: Axes, which: str) -> bool:
    """Whether an axes, or one that shares this axis with it, carries the axis label."""
    shared = ax.get_shared_x_axes() if which == "x" else ax.get_shared_y_axes()
    return any(
        (other.get_xlabel() if which == "x" else other.get_ylabel()).strip()
        for other in (ax, *shared.get_siblings(ax))
    )


def check_axes(figure: Figure) -> None:
    """Refuse unnamed axes.

    Every visible axes needs a label on x and on y, of its own or through a shared
    axis. Axes without scales (``ax.set_axis_off()``, for schematics) need none.

    Raises
    ------
    ValueError
        When the figure has no axes, or one of them lacks a label.
    """
    axes = [ax for ax in figure.get_axes() if ax.get_visible()]
    if not axes:
        raise ValueError("the figure has no visible axes")
    for number, ax in enumerate(axes, 1):
        # The key of a colour map has one axis, and names that.
        if not ax.axison or ax.get_label() == "<colorbar>":
            continue
        missing = [which for which in ("x", "y") if not _named(ax, which)]
        if missing:
            raise ValueError(f"axes {number} has no label on {' and '.join(missing)}")


def _alt(text: str, origin: str, *, needs_numbers: bool) -> str:
    text = " ".join(text.split())
    if not text:
        raise ValueError("the alt text is empty")
    if needs_numbers and not any(character.isdigit() for character in text):
        raise ValueError("the alt text holds no number: it must state the main ones")
    return f"Generated data. {text}" if origin == "generated" else text


def save_figure(
    draw: Draw,
    data: pl.DataFrame,
    *,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    alt_text: str,
    origin: str,
    coverage: str = "",
    size: tuple[float, float] = COLUMN,
    drawing: bool = False,
) -> None:
    """Draw a figure in both themes and write everything that belongs to it.

    Two calls with equal arguments write equal bytes: the SVG has a fixed salt and
    no date, the PNG no software and no time.

    Parameters
    ----------
    draw
        Called once a theme with an empty figure (constrained layout) and the theme;
        it adds axes and draws, and must not depend on anything but ``data``.
    data
        What is drawn, one row a mark; written as CSV with a column ``origin``.
    light_svg, light_png, dark_svg, dark_png, csv, alt
        Outputs.
    alt_text
        What the figure shows, in a sentence or two with the main numbers, made
        from ``data``.
    origin
        Where the data comes from, as in a step's ``origin``; ``generated`` is
        written on the figure's face and starts the alt text.
    coverage
        Note beside a real origin, as in ``2022-01 to 2025-12``: what the data cover.
    size
        Width and height in inches.
    drawing
        True for a schematic without data: its alt text needs no number.

    Raises
    ------
    ValueError
        When the alt text is empty or has no number, when an axes has no labels, or
        when ``data`` already has a column ``origin``.
    """
    text = _alt(alt_text, origin, needs_numbers=not drawing)
    if "origin" in data.columns:
        raise ValueError("the data already has a column named origin: it is added here")
    for theme, svg, png in zip(THEMES, (light_svg, dark_svg), (light_png, dark_png), strict=True):
        with theme.context():
            # No pyplot: a figure of its own leaves nothing open.
            figure = Figure(figsize=size, layout="constrained")
            draw(figure, theme)
            check_axes(figure)
            origin_label(figure, theme, origin=origin, coverage=coverage)
            settle_layout(figure)
            # Written by the canvases: savefig draws every figure twice to lay it out again.
            figure.set_layout_engine("none")
            FigureCanvasSVG(figure).print_svg(  # type: ignore[no-untyped-call]
                svg,
                metadata={
                    "Date": None,
                    "Creator": None,
                    "Format": None,
                    "Type": None,
                    "Description": text,
                },
            )
            figure.set_dpi(DPI)
            FigureCanvasAgg(figure).print_png(  # type: ignore[no-untyped-call]
                png, metadata={"Software": None}
            )
    data.with_columns(pl.lit(origin).alias("origin")).write_csv(csv)
    alt.write_text(text + "\n", "utf-8")
