"""Figures of the article on GPT."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from remeasure.draw.chart import (
    Chart,
    save_chart,
)
from remeasure.draw.style import (
    SMALL,
    TALL,
    Theme,
    direct_labels,
    guide,
    label_axes,
    log_axis,
    published,
)
from remeasure.report.numbers import rounded
from remeasure.studies.identities.chart_parts import (
    FigureStep,
    curve,
    names,
    points,
    value_at,
)
from remeasure.studies.identities.claims import Book

DRIFT, TEMPERATURE = "gpt_tab_drift", "gpt_tab_temperature"


def drift(data: pl.DataFrame) -> Chart:
    """Distance from the true law against steps, with its limit."""
    drifts = [name for name in names(data) if not name.startswith("limit")]
    said = "; ".join(
        f"{name}: {value_at(data, name, 1):.6f} after one step, limit"
        f" {value_at(data, f'limit, {name}', 1):.6f}"
        for name in drifts
    )
    return Chart(
        draw=partial(_draw_drift, data=data),
        data=data,
        alt_text=(
            "Distance in total variation between the law of a generated token and the true one,"
            f" over 16 steps. {said}. Both rise for a few steps and then stay at the distance of"
            " the stationary laws."
        ),
    )


def _draw_drift(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    drifts = [name for name in names(data) if not name.startswith("limit")]
    labels = [curve(ax, theme, data, name, index) for index, name in enumerate(drifts)]
    for name in drifts:
        guide(ax, theme, y=value_at(data, f"limit, {name}", 1))
    cases = [
        case
        for quantity in ("drift", "drift at t=1", "drift at t=4 (called the peak in the article)")
        for case in Book("gpt").cases(DRIFT, quantity)
        if case.has("t=") and case.number("t") <= 16
    ]
    published(ax, [case.number("t") for case in cases], [case.printed for case in cases], theme)
    label_axes(ax, x="generated tokens", y="total variation from the true law")
    ax.set_ylim(0, None)
    ax.set_xticks([1, 2, 4, 6, 8, 10, 12, 14, 16])
    ax.legend(loc="upper right", bbox_to_anchor=(1.0, 0.62))
    direct_labels(ax, labels, theme)


def temperature(data: pl.DataFrame) -> Chart:
    """Entropy and tokens for 90% of the probability, two panels."""
    return Chart(
        draw=partial(_draw_temperature, data=data),
        data=data,
        alt_text=(
            "One random law over 50257 tokens against temperature. Its entropy is"
            f" {value_at(data, 'entropy', 0.5):.3f} nats at 0.5, {value_at(data, 'entropy', 1):.3f}"
            f" at 1 and at most {value_at(data, 'ceiling', 1):.3f}; 90% of the probability need"
            f" {rounded(value_at(data, 'tokens', 0.5), 5)} tokens at 0.5 and"
            f" {rounded(value_at(data, 'tokens', 1), 5)} at 1."
        ),
        size=TALL,
    )


def _draw_temperature(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    top, bottom = figure.subplots(2, 1, sharex=True)
    curve(top, theme, data, "entropy", 0)
    curve(bottom, theme, data, "tokens", 1)
    guide(top, theme, y=value_at(data, "ceiling", 1))
    for ax, quantity in ((top, "entropy"), (bottom, "tokens for 90 % of the mass")):
        cases = Book("gpt").cases(TEMPERATURE, quantity)
        published(
            ax, [case.number("temperature") for case in cases], [c.printed for c in cases], theme
        )
    top.annotate(
        "ceiling log V", (0.1, value_at(data, "ceiling", 1)), xytext=(0, -12),
        textcoords="offset points", fontsize=SMALL, color=theme.muted,
    )  # fmt: skip
    label_axes(top, x="", y="entropy", y_unit="nats")
    label_axes(bottom, x="temperature", y="tokens for 90%")
    log_axis(bottom, "y")
    log_axis(bottom, "x")
    top.legend(loc="lower right")


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
    "gpt_tab_drift": drift,
    "gpt_tab_temperature": temperature,
}
