"""Figures of the article on XLNet."""

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
    SMALL,
    Theme,
    direct_labels,
    label_axes,
    log_axis,
    published,
)
from remeasure.studies.identities.chart_parts import (
    FigureStep,
    bars,
    curve,
    of,
    points,
    value_at,
)
from remeasure.studies.identities.claims import Book


def pairs(data: pl.DataFrame) -> Chart:
    """Loss of not knowing the position, a bar a pair."""
    own = data.sort("value", descending=True)
    rows = own.to_dicts()
    return Chart(
        draw=partial(_draw_pairs, data=own),
        data=own,
        alt_text=(
            "Loss in nats of a prediction that does not know which of two positions it is for:"
            f" most for {rows[0]['label']} with {rows[0]['value']:.6f}, least for"
            f" {rows[-1]['label']} with {rows[-1]['value']:.6f}."
        ),
    )


def _draw_pairs(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    values = numbers(data, "value")
    bars(ax, theme, data["label"].to_list(), values)
    for place, value in enumerate(values):
        ax.annotate(
            f"{value:.4f}", (value, place), xytext=(4, 0), textcoords="offset points",
            va="center", fontsize=SMALL, color=theme.text,
        )  # fmt: skip
    label_axes(ax, x="loss", x_unit="nats", y="target positions")
    ax.set_xlim(0, float(values.max()) * 1.15)


def streams(data: pl.DataFrame) -> Chart:
    """Response of the content stream against the size of the change."""
    first, last = (float(numbers(of(data, "content stream"), "x")[place]) for place in (0, -1))
    changed = float(of(data, "query stream")["value"].item())
    return Chart(
        draw=partial(_draw_streams, data=data),
        data=data,
        alt_text=(
            "Response of the content stream to a change of the target's own content, for random"
            f" models: {value_at(data, 'content stream', first):.2e} at a change of {first:.0e},"
            f" {value_at(data, 'content stream', last):.3g} at {last:g}. The query stream changed"
            f" in {changed:g} of 1200 cases."
        ),
    )


def _draw_streams(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    label = curve(ax, theme, data, "content stream", 0, label="content\nstream")
    cases = Book("xlnet").cases("xlnet_tab_two_stream", "mean content response")
    published(ax, [case.number("scale") for case in cases], [case.printed for case in cases], theme)
    label_axes(ax, x="size of the change of the target", y="change of the output (95% of models)")
    log_axis(ax, "x")
    log_axis(ax, "y")
    changed = float(of(data, "query stream")["value"].item())
    ax.annotate(
        f"query stream: {changed:g} of 1200 changed", (0.98, 0.05), xycoords="axes fraction",
        ha="right", fontsize=SMALL, color=theme.ink(1),
    )  # fmt: skip
    ax.legend(loc="upper left")
    direct_labels(ax, [label], theme)


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
    "xlnet_tab_two_stream": streams,
    "xlnet_tab_pairs": pairs,
}
