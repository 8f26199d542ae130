"""Figures of the article on DistilBERT."""

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
    TALL,
    LineLabel,
    Theme,
    direct_labels,
    guide,
    label_axes,
    log_axis,
    published,
)
from remeasure.studies.identities.chart_parts import (
    FigureStep,
    curve,
    of,
    points,
    value_at,
)
from remeasure.studies.identities.claims import Book


def gradients(data: pl.DataFrame) -> Chart:
    """Scaled gradient against temperature, with its limit."""
    last = float(numbers(of(data, "scaled gradient"), "x").max())
    return Chart(
        draw=partial(_draw_gradients, data=data),
        data=data,
        alt_text=(
            "Mean gradient of the soft loss times the squared temperature:"
            f" {value_at(data, 'scaled gradient', 0.5):.4f} at a temperature of 0.5,"
            f" {value_at(data, 'scaled gradient', 4):.4f} at 4 and"
            f" {value_at(data, 'scaled gradient', last):.4f} at {last:g}; its limit is"
            f" {float(of(data, 'limit')['value'].item()):.4f}."
        ),
    )


def _draw_gradients(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    curve(ax, theme, data, "scaled gradient", 0)
    goal = float(of(data, "limit")["value"].item())
    guide(ax, theme, y=goal)
    ax.annotate(
        "limit", (0.5, goal), xytext=(0, 4), textcoords="offset points", fontsize=SMALL,
        color=theme.muted,
    )  # fmt: skip
    cases = Book("distilbert").cases("distilbert_tab_tau", "scaled gradient tau^2 |g|")
    published(ax, [case.number("tau") for case in cases], [case.printed for case in cases], theme)
    label_axes(ax, x="temperature τ", y="τ² times the mean gradient")
    ax.set_ylim(0.45, 1.0)
    log_axis(ax, "x")
    ax.legend(loc="lower right")


def samples(data: pl.DataFrame) -> Chart:
    """Loss of both students against samples, a panel a chain."""
    return Chart(
        draw=partial(_draw_samples, data=data),
        data=data,
        alt_text=(
            "Excess loss of students of hard labels and of whole rows. With five states and 100"
            f" samples labels still cost {value_at(data, 'labels, K=5', 100):.4f} nats and rows"
            f" {value_at(data, 'rows, K=5', 100):.1e}; with ten states"
            f" {value_at(data, 'labels, K=10', 100):.4f} and"
            f" {value_at(data, 'rows, K=10', 100):.1e}. At 1000 samples labels cost"
            f" {value_at(data, 'labels, K=5', 1000):.4f} and"
            f" {value_at(data, 'labels, K=10', 1000):.4f}."
        ),
        size=TALL,
    )


def _draw_samples(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    panels = figure.subplots(2, 1, sharex=True)
    for ax, states in zip(panels, (5, 10), strict=True):
        labels = [
            curve(ax, theme, data, f"labels, K={states}", 0, label="labels"),
            curve(ax, theme, data, f"rows, K={states}", 1, label="whole rows"),
            curve(ax, theme, data, f"law, K={states}", 2, label="K(K−1)/(2N)", marks=False),
        ]
        ax.set_title(f"{states} states")
        quantity = "excess loss of the hard-label student"
        cases = Book("distilbert").cases("distilbert_tab_samples", quantity, f"K={states};")
        published(ax, [case.number("N") for case in cases], [c.printed for c in cases], theme)
        ax.set_ylim(1e-4, 6)
        label_axes(ax, x="samples" if states == 10 else "", y="excess loss", y_unit="nats")
        log_axis(ax, "x")
        log_axis(ax, "y")
        # Rows leave the panel: they are named where they end inside it.
        rows = of(data, f"rows, K={states}").filter(pl.col("value") > 1e-4)
        labels[1] = LineLabel("whole rows", labels[0].x, float(rows["value"][-1]), 1)
        direct_labels(ax, labels, theme)
    panels[0].legend(loc="lower left")


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
    "distilbert_tab_tau": gradients,
    "distilbert_tab_samples": samples,
}
