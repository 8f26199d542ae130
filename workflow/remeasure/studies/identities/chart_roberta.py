"""Figures of the article on RoBERTa."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from remeasure.draw.chart import (
    Chart,
    numbers,
    save_chart,
)
from remeasure.draw.style import (
    Theme,
    direct_labels,
    guide,
    interval_bars,
    label_axes,
    log_axis,
    published,
)
from remeasure.studies.identities.chart_parts import (
    FigureStep,
    curve,
    names,
    of,
    points,
    value_at,
)
from remeasure.studies.identities.claims import Book


def scaling(data: pl.DataFrame) -> Chart:
    """Loss over the law against the number of samples."""
    first, last = float(numbers(data, "x").min()), float(numbers(data, "x").max())
    said = "; ".join(
        f"{name} {value_at(data, name, first):.3f} at {first:g} and"
        f" {value_at(data, name, last):.3f} at {last:g}"
        for name in names(data)
    )
    return Chart(
        draw=partial(_draw_scaling, data=data),
        data=data,
        alt_text=(
            "Expected loss of an estimated chain over the law K(K-1)/(2N) against the number of"
            f" samples, exact: {said}. Rare states of the larger chain hold it below one. Bands:"
            " where averages of 400 trials fall."
        ),
    )


def _draw_scaling(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    labels = [curve(ax, theme, data, name, index) for index, name in enumerate(names(data))]
    guide(ax, theme, y=1.0)
    label_axes(ax, x="samples", y="loss over K(K−1)/(2N)")
    log_axis(ax, "x")
    direct_labels(ax, labels, theme)


def static(data: pl.DataFrame) -> Chart:
    """Share of tokens that no mask covers against the number of masks."""
    return Chart(
        draw=partial(_draw_static, data=data),
        data=data,
        alt_text=(
            "Share of tokens that none of P static masks covers: 15% masked leave"
            f" {100 * value_at(data, 'formula', 1):.1f}% after one mask,"
            f" {100 * value_at(data, 'formula', 10):.2f}% after 10 and"
            f" {100 * value_at(data, 'formula', 40):.2f}% after 40; simulated masks agree."
        ),
    )


def _draw_static(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    scaled = data.with_columns(pl.col("value", "low", "high") * 100)
    curve(ax, theme, scaled.drop("low", "high"), "formula", 0, marks=False)
    own = of(scaled, "simulated masks")
    columns = [numbers(own, name) for name in ("x", "value", "low", "high")]
    interval_bars(ax, *columns, colour=theme.colour(1), label="simulated masks", marker="s")
    cases = Book("roberta").cases("roberta_tab_static", "share of positions never masked")
    published(
        ax,
        [float(case.row.condition.split()[0]) for case in cases],
        [100 * case.printed for case in cases],
        theme,
    )
    label_axes(ax, x="static masks", y="tokens never masked", y_unit="%")
    ax.set_ylim(0.1, 120)
    log_axis(ax, "y")
    log_axis(ax, "x")
    ax.legend(loc="lower left")


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
    "roberta_tab_scaling": scaling,
    "roberta_tab_static": static,
}
