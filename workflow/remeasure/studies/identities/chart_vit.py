"""Figures of the article on the Vision Transformer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from remeasure.draw.chart import (
    Chart,
    legend_above,
    listed,
    save_chart,
)
from remeasure.draw.style import (
    Theme,
    direct_labels,
    label_axes,
    log_axis,
    published,
)
from remeasure.studies.identities.chart_parts import (
    FigureStep,
    curve,
    names,
    points,
    stacked,
    value_at,
)
from remeasure.studies.identities.claims import Book


def cost(data: pl.DataFrame) -> Chart:
    """Arithmetic of an attention layer by size of the patch."""
    sums = {
        row["label"]: row["value"]
        for row in data.group_by("label", maintain_order=True).agg(pl.col("value").sum())
        .iter_rows(named=True)
    }  # fmt: skip
    said = listed(f"{value:.2f} at {label}" for label, value in sums.items())
    return Chart(
        draw=partial(_draw_cost, data=data),
        data=data,
        alt_text=(
            "Billion multiply-accumulates of one attention layer on an image of 224 pixels by size"
            f" of the patch: {said}. The share of scores and mixing grows as patches shrink."
        ),
    )


def _draw_cost(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    stacked(ax, theme, data)
    label_axes(
        ax, x="multiply-accumulates of an attention layer", x_unit="billions",
        y="side of a patch (pixels)",
    )  # fmt: skip
    legend_above(ax)


def corner(data: pl.DataFrame) -> Chart:
    """Layers until one unit sees the whole image, against its side."""
    said = listed(f"{name} {value_at(data, name, 224):g}" for name in names(data))
    return Chart(
        draw=partial(_draw_corner, data=data),
        data=data,
        alt_text=(
            f"Layers until one unit sees a whole image against its side; at 224 pixels: {said}."
        ),
    )


def _draw_corner(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    labels = [
        curve(ax, theme, data, name, index, label=name.replace(", ", ",\n"))
        for index, name in enumerate(names(data))
    ]
    cases = [
        case
        for quantity in (
            "stride-1 convolution layers",
            "layers with stride 2 at every second layer",
        )
        for case in Book("vit").cases("vit_tab_corner", quantity)
    ]
    published(ax, [case.number("S") for case in cases], [case.printed for case in cases], theme)
    label_axes(ax, x="side of the image", x_unit="pixels", y="layers")
    log_axis(ax, "x")
    log_axis(ax, "y")
    ax.legend(loc="upper left")
    direct_labels(ax, labels, theme)


def draw(
    *,
    series: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    settings: FigureStep,
    origin: str,
) -> None:
    """Draw one figure of the article.

    Parameters
    ----------
    series
        Parquet, as ``results.POINTS``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When the result is missing or cannot be read.
    """
    chart = CHARTS[settings.figure](points(series, settings.figure))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


CHARTS: dict[str, Callable[[pl.DataFrame], Chart]] = {
    "vit_tab_cost": cost,
    "vit_tab_corner": corner,
}
