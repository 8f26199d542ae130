"""Figures of the article on ALBERT."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from remeasure.draw.chart import (
    Chart,
    listed,
    numbers,
    save_chart,
)
from remeasure.draw.style import (
    MARKERS,
    SMALL,
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
    value_at,
)
from remeasure.studies.identities.claims import Book


def iterated(data: pl.DataFrame) -> Chart:
    """Size of each step over the first, one layer repeated against many."""
    last = float(numbers(data, "x").max())
    said = listed(f"{name} {value_at(data, name, last):.2e}" for name in names(data))
    return Chart(
        draw=partial(_draw_iterated, data=data),
        data=data,
        alt_text=(
            f"Size of the step at each of {last:g} layers over the first step, gain 0.5, median"
            f" of many seeds. At the last layer: {said}. A repeated layer comes to rest, layers of"
            " their own do not."
        ),
    )


def _draw_iterated(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    labels = [
        curve(ax, theme, data, name, index, label=name.replace("layer ", "layer\n"))
        for index, name in enumerate(names(data))
    ]
    label_axes(ax, x="layer", y="step over the first (95% of seeds)")
    ax.set_ylim(1e-15, 5)
    log_axis(ax, "y")
    case = Book("albert").case(
        "albert_tab_iterated", "last over first step size", "unshared; gain 0.5"
    )
    published(ax, [float(numbers(data, "x").max())], [case.printed], theme)
    ax.legend(loc="lower left")
    direct_labels(ax, labels, theme)


def decoupled(data: pl.DataFrame) -> Chart:
    """Arithmetic against parameters, a point a model."""
    rows = {row["series"]: row for row in data.iter_rows(named=True)}
    large, deep = rows["BERT-large"], rows["ALBERT-xxlarge"]
    return Chart(
        draw=partial(_draw_decoupled, data=data),
        data=data,
        alt_text=(
            f"Attention arithmetic against parameters. BERT-large has {large['x']:.0f} million"
            f" parameters and {large['value']:.1f} billion multiply-accumulates, ALBERT-xxlarge"
            f" {deep['x']:.0f} million and {deep['value']:.1f} billion:"
            f" {deep['value'] / large['value']:.2f} times the arithmetic."
        ),
    )


def _draw_decoupled(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    for row in data.iter_rows(named=True):
        index = 0 if row["series"].startswith("BERT") else 1
        ax.plot(
            row["x"], row["value"], marker=MARKERS[index], markersize=7,
            color=theme.colour(index), linestyle="none",
        )  # fmt: skip
        right = row["x"] < 100
        ax.annotate(
            row["series"], (row["x"], row["value"]), xytext=(8 if right else -8, 0),
            textcoords="offset points", va="center", ha="left" if right else "right",
            fontsize=SMALL, color=theme.ink(index),
        )  # fmt: skip
    label_axes(
        ax, x="parameters", x_unit="millions", y="attention arithmetic", y_unit="billion MACs"
    )
    ax.set_xlim(8, 600)
    ax.set_ylim(10, 800)
    log_axis(ax, "x")
    log_axis(ax, "y")


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
    "albert_tab_iterated": iterated,
    "albert_tab_decoupled": decoupled,
}
