"""Figures of the article on BERT."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from remeasure.draw.chart import (
    Chart,
    legend_above,
    numbers,
    save_chart,
)
from remeasure.draw.style import (
    MARKERS,
    SMALL,
    TALL,
    Theme,
    label_axes,
)
from remeasure.studies.identities.chart_parts import (
    FigureStep,
    of,
    points,
)


def chains(data: pl.DataFrame) -> Chart:
    """Accuracy from one neighbour and from both, a pair of bars a chain."""
    one, both = (numbers(of(data, name), "value") for name in ("left neighbour", "both neighbours"))
    gain = both - one
    labels = of(data, "left neighbour")["label"].to_list()
    best, least = int(gain.argmax()), int(gain.argmin())
    return Chart(
        draw=partial(_draw_chains, data=data),
        data=data,
        alt_text=(
            f"Best accuracy of predicting a token of {len(labels)} random chains from its left"
            f" neighbour and from both. The second neighbour adds from {gain[least]:.4f}"
            f" ({labels[least]}) to {gain[best]:.4f} ({labels[best]}), and never takes any away."
        ),
        size=TALL,
    )


def _draw_chains(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    labels = of(data, "left neighbour")["label"].to_list()
    places = np.arange(len(labels))
    for index, name in enumerate(("left neighbour", "both neighbours")):
        ax.barh(
            places + (index - 0.5) * 0.36,
            numbers(of(data, name), "value") * 100,
            height=0.34,
            color=theme.colour(index),
            label=name,
        )
    ax.set_yticks(places, labels)
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x")
    label_axes(ax, x="best accuracy", x_unit="%", y="states and concentration of the chain")
    legend_above(ax)


def bound(data: pl.DataFrame) -> Chart:
    """Gain against information under Pinsker's bound."""
    random = of(data, "random chains")
    cycles = of(data, "noisy cycles")
    most = float(numbers(cycles, "x").max())
    return Chart(
        draw=partial(_draw_bound, data=data),
        data=data,
        alt_text=(
            "Gain in accuracy from the right neighbour against the information it carries."
            f" {random.height} random chains and all nine printed ones lie below the curve of"
            " Pinsker's bound, as the step that made them demands. Noisy cycles carry up to"
            f" {most:.3f} nats and gain exactly 0."
        ),
    )


def _draw_bound(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    end = float(numbers(data, "x").max()) * 1.05
    x = np.linspace(0, end, 200)
    ax.plot(x, np.sqrt(x / 2), color=theme.text, linewidth=1.2)
    for index, name in enumerate(("random chains", "printed chains", "noisy cycles")):
        own = of(data, name)
        ax.plot(
            numbers(own, "x"), numbers(own, "value"), linestyle="none", marker=MARKERS[index],
            markersize=2.5 if index == 0 else 6, color=theme.colour(index), label=name,
            alpha=0.6 if index == 0 else 1.0, zorder=2 + index, clip_on=False,
        )  # fmt: skip
    label_axes(ax, x="information of the right neighbour", x_unit="nats", y="gain in accuracy")
    ax.set_xlim(0, end)
    ax.set_ylim(0, float(np.sqrt(end / 2)) * 1.02)
    ax.annotate(
        "bound √(I/2)", (0.42 * end, float(np.sqrt(0.21 * end))), xytext=(-6, 8),
        textcoords="offset points", ha="right", fontsize=SMALL, color=theme.text,
    )  # fmt: skip
    legend_above(ax)


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
    "bert_tab_chains": chains,
    "bert_tab_cmi_bound": bound,
}
