"""Figures of the article on T5."""

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
    SMALL,
    Theme,
    guide,
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


def limit(data: pl.DataFrame) -> Chart:
    """Ratio of score entries against the length of the input."""
    last = float(numbers(data, "x").max())
    said = listed(f"{value_at(data, name, last):.4f} for {name}" for name in names(data))
    return Chart(
        draw=partial(_draw_limit, data=data),
        data=data,
        alt_text=(
            "Attention scores of an encoder-decoder over those of a causal decoder against the"
            f" length of the input, for three lengths of the output. At {last:g} tokens the ratio"
            f" is {said}; it never reaches 2."
        ),
    )


def _draw_limit(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    for index, name in enumerate(names(data)):
        curve(ax, theme, data, name, index)
        ax.get_lines()[-1].set_label(f"output of {name.removeprefix('k=')} tokens")
    guide(ax, theme, y=2.0)
    cases = Book("t5").cases("t5_tab_cost_limit", "ratio")
    published(ax, [case.number("m") for case in cases], [case.printed for case in cases], theme)
    label_axes(ax, x="length of the input", x_unit="tokens", y="encoder-decoder over decoder")
    ax.set_ylim(0.95, 2.05)
    log_axis(ax, "x")
    ax.legend(loc="lower right")


def buckets(data: pl.DataFrame) -> Chart:
    """How many distances fall into each bucket."""
    values = numbers(data, "value")
    return Chart(
        draw=partial(_draw_buckets, data=data),
        data=data,
        alt_text=(
            f"Distances from 0 to 200 by bucket of relative position: {int((values == 1).sum())}"
            f" buckets hold one distance each, the following ones {int(values[8])} to"
            f" {int(values[-2])}, and the last {int(values[-1])}."
        ),
    )


def _draw_buckets(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    x, values = numbers(data, "x"), numbers(data, "value")
    ax.bar(x, values, color=theme.colour(0), width=0.7)
    for place, value in zip(x, values, strict=True):
        ax.annotate(
            f"{value:g}", (place, value), xytext=(0, 2), textcoords="offset points", ha="center",
            fontsize=SMALL, color=theme.text,
        )  # fmt: skip
    ax.set_xticks(x)
    label_axes(ax, x="bucket", y="distances from 0 to 200")


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
    "t5_tab_cost_limit": limit,
    "t5_tab_buckets": buckets,
}
