"""Figures of the article on BART."""

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
    direct_labels,
    guide,
    label_axes,
    log_axis,
    published,
    thousands,
)
from remeasure.studies.identities.chart_parts import (
    FigureStep,
    bars,
    curve,
    names,
    points,
    value_at,
)
from remeasure.studies.identities.claims import Book


def bits(data: pl.DataFrame) -> Chart:
    """Bits that each corruption hides, on a logarithmic scale."""
    said = listed(f"{row['label']} {row['value']:.2f}" for row in data.iter_rows(named=True))
    return Chart(
        draw=partial(_draw_bits, data=data),
        data=data,
        alt_text=(
            "Bits that a decoder has to guess of a document of 512 tokens after each corruption:"
            f" {said}."
        ),
    )


def _draw_bits(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    values = numbers(data, "value")
    bars(ax, theme, data["label"].to_list(), values)
    for place, value in enumerate(values):
        ax.annotate(
            f"{value:,.2f}", (value, place), xytext=(4, 0), textcoords="offset points",
            va="center", fontsize=SMALL, color=theme.text,
        )  # fmt: skip
    label_axes(ax, x="ambiguity", x_unit="bits", y="corruption")
    ax.set_xlim(1, 9000)
    log_axis(ax, "x")


def restored(data: pl.DataFrame) -> Chart:
    """Share restored after masking and deletion against concentration."""
    first, last = (float(numbers(data, "x")[place]) for place in (0, -1))
    ends = {name: (value_at(data, name, first), value_at(data, name, last)) for name in names(data)}
    said = listed(
        f"after {name} from {100 * high:.1f} to {100 * low:.1f}%"
        for name, (high, low) in ends.items()
    )
    return Chart(
        draw=partial(_draw_restored, data=data),
        data=data,
        alt_text=(
            "Share of corrupted tokens that the best decoder restores on random chains of three"
            f" states, as the concentration grows from {first:g} to {last:g}: {said}. Guessing"
            " restores 33.3%. Single samples of 40 documents scatter widely around these means."
        ),
    )


def _draw_restored(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    scaled = data.with_columns(pl.col("value", "low", "high") * 100)
    labels = [curve(ax, theme, scaled, name, index) for index, name in enumerate(names(data))]
    guide(ax, theme, y=100 / 3)
    ax.annotate(
        "guessing", (0.1, 100 / 3), xytext=(0, -11), textcoords="offset points", fontsize=SMALL,
        color=theme.muted,
    )  # fmt: skip
    case = Book("bart").case("bart_tab_reconstruction", "deletion accuracy", "27 of 80")
    published(ax, [case.number("concentration")], [100 * case.printed], theme)
    label_axes(
        ax, x="concentration of the chain's rows", y="restored (band: 40 documents)", y_unit="%"
    )
    ax.set_ylim(15, 102)
    log_axis(ax, "x")
    thousands(ax.yaxis)
    ax.legend(loc="upper right")
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
    "bart_tab_bits": bits,
    "bart_tab_reconstruction": restored,
}
