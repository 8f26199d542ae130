"""Figures of the article on Transformers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
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
    guide,
    interval_bars,
    label_axes,
    log_axis,
    published,
    thousands,
)
from remeasure.report.numbers import rounded
from remeasure.studies.identities.chart_parts import (
    FigureStep,
    curve,
    names,
    of,
    points,
    value_at,
)
from remeasure.studies.identities.claims import Book

PATH = "transformers_tab_path_length"
ENTROPY = "transformers_tab_entropy"
SINGLE = "transformers_stat_single_draw"
SHARE = "transformers_tab_quadratic_share"


def path_length(data: pl.DataFrame) -> Chart:
    """Layers or steps against length, both axes logarithmic."""
    last = float(numbers(data, "x").max())
    said = "; ".join(f"{name} {rounded(value_at(data, name, last), 5)}" for name in names(data))
    return Chart(
        draw=partial(_draw_lines, data=data, y="layers or steps to relate both ends", x="length"),
        data=data,
        alt_text=(
            f"Layers or steps until both ends of a sequence can depend on each other, at a length"
            f" of {last:g}: {said}. Recurrence and convolution grow with the length, attention"
            " does not."
        ),
    )


def _draw_lines(figure: Figure, theme: Theme, *, data: pl.DataFrame, x: str, y: str) -> None:
    ax = figure.add_subplot()
    labels = [curve(ax, theme, data, name, index) for index, name in enumerate(names(data))]
    label_axes(ax, x=x, y=y, x_unit="tokens")
    log_axis(ax, "x")
    log_axis(ax, "y")
    direct_labels(ax, labels, theme)


def entropy(data: pl.DataFrame) -> Chart:
    """Entropy against width, unscaled and scaled, with the printed values."""
    widths = numbers(of(data, "unscaled"), "x")
    first, last = float(widths[0]), float(widths[-1])
    scaled = numbers(of(data, "scaled"), "value")
    return Chart(
        draw=partial(_draw_entropy, data=data),
        data=data,
        alt_text=(
            f"Mean entropy of attention over 16 keys. Unscaled it falls from"
            f" {value_at(data, 'unscaled', first):.4f} nats at a width of {first:g} to"
            f" {value_at(data, 'unscaled', last):.4f} at {last:g}; divided by the root of the"
            f" width it stays between {scaled.min():.4f} and {scaled.max():.4f}. The ceiling,"
            f" log 16, is {value_at(data, 'ceiling log 16', first):.4f}."
        ),
    )


def _draw_entropy(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    labels = [
        curve(ax, theme, data, "unscaled", 0),
        curve(ax, theme, data, "scaled", 1, label="scaled\nby √d"),
    ]
    guide(ax, theme, y=float(of(data, "ceiling log 16")["value"][0]))
    rows = Book("transformers").cases(ENTROPY, "unscaled attention entropy")
    published(ax, [case.number("d") for case in rows], [case.printed for case in rows], theme)
    label_axes(ax, x="width of queries and keys", y="mean entropy", y_unit="nats")
    ax.set_ylim(0.04, 4.0)
    log_axis(ax, "x")
    log_axis(ax, "y")
    ax.annotate(
        "ceiling log 16",
        (float(numbers(data, "x").min()), float(of(data, "ceiling log 16")["value"][0])),
        xytext=(0, 4),
        textcoords="offset points",
        fontsize=SMALL,
        color=theme.muted,
    )
    ax.legend(loc="lower left")
    direct_labels(ax, labels, theme)


def single_draws(data: pl.DataFrame) -> Chart:
    """A strip of single draws for each width."""
    middle = numbers(of(data, "median"), "value")
    wrong = float(of(data, "rank 512 below 2048")["value"].item())
    return Chart(
        draw=partial(_draw_singles, data=data),
        data=data,
        alt_text=(
            f"Entropies of {of(data, 'd=8').height} single sequences at five widths from 8 to 2048."
            f" Their medians fall from {middle[0]:.3f} to {middle[-1]:.3f} nats, but single draws"
            f" overlap: at 512 and 2048 they rank in the wrong order in {100 * wrong:.2f}% of"
            " draws."
        ),
    )


def _draw_singles(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    found = [name for name in names(data) if name.startswith("d=")]
    for place, (name, median) in enumerate(
        zip(found, of(data, "median").iter_rows(named=True), strict=True)
    ):
        values = numbers(of(data, name), "value")
        # A fixed fan of offsets instead of random jitter.
        fan = 0.32 * (np.arange(values.size) * 0.618034 % 1.0 - 0.5) * 2
        ax.plot(
            place + fan, values, linestyle="none", marker="o", markersize=1.8, alpha=0.45,
            color=theme.colour(0), markeredgewidth=0,
        )  # fmt: skip
        interval_bars(
            ax,
            [place],
            [median["value"]],
            [median["low"]],
            [median["high"]],
            colour=theme.text,
            label="median and 95% of draws" if place == 0 else "",
        )
    ax.set_xticks(range(len(found)), [name.removeprefix("d=") for name in found])
    label_axes(ax, x="width of queries and keys", y="entropy of one sequence", y_unit="nats")
    ax.legend(loc="upper right")


def share(data: pl.DataFrame) -> Chart:
    """Quadratic share against length, with the printed values."""
    half = {name: 2 * int(name.removeprefix("d=")) for name in names(data)}
    said = ", ".join(f"{tokens} tokens at {name}" for name, tokens in half.items())
    return Chart(
        draw=partial(_draw_share, data=data),
        data=data,
        alt_text=(
            "Share of an attention layer's arithmetic that grows with the square of the length."
            f" It is 25% at 512 tokens for a width of 768, and half at {said}."
        ),
    )


def _draw_share(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    scaled = data.with_columns(pl.col("value") * 100)
    labels = [
        curve(ax, theme, scaled, name, index, marks=False) for index, name in enumerate(names(data))
    ]
    cases = Book("transformers").cases(SHARE, "quadratic share n/(2d+n)")
    published(
        ax, [case.number("n") for case in cases], [100 * case.printed for case in cases], theme
    )
    guide(ax, theme, y=50.0)
    label_axes(ax, x="length", x_unit="tokens", y="share of the quadratic term", y_unit="%")
    ax.set_ylim(0, 100)
    log_axis(ax, "x")
    thousands(ax.yaxis)
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
    "transformers_tab_path_length": path_length,
    "transformers_tab_entropy": entropy,
    "transformers_stat_single_draw": single_draws,
    "transformers_tab_quadratic_share": share,
}
