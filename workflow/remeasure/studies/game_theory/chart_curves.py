"""Figures made of curves: the shadow of the future, forgiveness, the stag hunt."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.chart import Chart, as_printed, found, listed, numbers, save_chart
from remeasure.draw.style import (
    DASHES,
    SMALL,
    LineLabel,
    Theme,
    direct_labels,
    guide,
    label_axes,
)
from remeasure.report.numbers import rounded
from remeasure.store.frames import read_frame, read_json

WIDE = (5.6, 3.2)


def fig_shadow(
    *,
    curves: Path,
    game: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Points against tit for tat by the chance of another round.

    Parameters
    ----------
    curves
        Parquet, as ``dilemma.SHADOW``.
    game
        JSON with the thresholds, as ``dilemma.measure_dilemma`` writes it.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = shadow(read_frame(curves), read_json(game))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_forgiveness(
    *,
    table: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """What forgiving costs against invaders, and what it repairs.

    Parameters
    ----------
    table
        Parquet, as ``forgiveness.CURVES``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = forgiveness(read_frame(table))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_stag(
    *,
    curves: Path,
    points: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """The stag hunt's two catches and the direction of change.

    Parameters
    ----------
    curves
        Parquet, as ``stag_hunt.CURVES``.
    points
        JSON, as ``stag_hunt.measure_stag`` writes it.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = stag(read_frame(curves), read_json(points))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def shadow(curves: pl.DataFrame, game: dict[str, Any]) -> Chart:
    """Three curves over w with marks at both thresholds."""
    marks = (float(game["defection_threshold"]), float(game["alternation_threshold"]))
    first, last = curves.row(0, named=True), curves.row(-1, named=True)
    return Chart(
        draw=partial(_draw_shadow, curves=curves, marks=marks),
        data=curves,
        alt_text=(
            "Points a round against tit for tat by the chance of another round, from 0 to 1."
            f" Cooperating earns {rounded(first['cooperating'])} everywhere. Always defecting falls"
            f" from {rounded(first['defecting'])} to {rounded(last['defecting'])} and crosses it at"
            f" {rounded(marks[0])}; defecting and making up in turns falls from"
            f" {rounded(first['alternating'])} to {rounded(last['alternating'])} and crosses it at"
            f" {rounded(marks[1])}."
        ),
        size=WIDE,
    )


def forgiveness(table: pl.DataFrame) -> Chart:
    """Two panels over q: invaders without mistakes, residents with mistakes."""
    first, last = table.row(0, named=True), table.row(-1, named=True)
    passes = [_crossing(table, name) for name in ("alternating", "defecting")]
    return Chart(
        draw=partial(_draw_forgiveness, table=table),
        data=table,
        alt_text=(
            "Points a round by the probability to forgive a defection, from 0 to 1. Left, without"
            f" mistakes: residents earn {rounded(first['resident'])}; an invader that alternates"
            f" earns {rounded(first['alternating'])} to {rounded(last['alternating'])} and passes"
            f" them at {rounded(passes[0], 3)}, one that always defects"
            f" {rounded(first['defecting'])} to {rounded(last['defecting'])} and passes them at"
            f" {rounded(passes[1], 3)}. Right, with mistakes: residents earn"
            f" {rounded(first['with_mistakes'])} to {rounded(last['with_mistakes'])} from each"
            " other."
        ),
        size=WIDE,
    )


def stag(curves: pl.DataFrame, points: dict[str, Any]) -> Chart:
    """Two lines over p; arrows along the axis show where the share moves."""
    crossing = float(points["crossing"])
    stable = [f"{each['p']:g}" for each in points["fixed_points"] if each["stable"]]
    last = curves.row(-1, named=True)
    return Chart(
        draw=partial(_draw_stag, curves=curves, crossing=crossing),
        data=curves,
        alt_text=(
            "Expected catch against the share of others who hunt the stag. The stag hunter’s rises"
            f" from 0 to {rounded(last['stag'])}, the hare hunter’s is {rounded(last['hare'])}"
            f" throughout; they cross at {rounded(crossing)}. Below it the share of stag hunters"
            f" falls, above it it rises: it comes to rest at {listed(stable)}."
        ),
        size=WIDE,
    )


def _crossing(table: pl.DataFrame, name: str) -> float:
    """Where a curve passes the residents', between two points of the table."""
    gap = numbers(table, name) - numbers(table, "resident")
    return float(np.interp(0.0, gap, numbers(table, "q")))


def _mark(ax: Axes, theme: Theme, x: float, text: str) -> None:
    guide(ax, theme, x=x)
    ax.annotate(
        text,
        (x, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(3, -2),
        textcoords="offset points",
        ha="left",
        va="top",
        fontsize=SMALL,
        color=theme.text,
    )


def _lines(
    ax: Axes, theme: Theme, frame: pl.DataFrame, x: str, named: dict[str, str]
) -> list[LineLabel]:
    """Draw columns as lines and give their labels at the right edge."""
    at, labels = numbers(frame, x), []
    for number, (column, text) in enumerate(named.items()):
        y = numbers(frame, column)
        ax.plot(at, y, color=theme.colour(number), linestyle=DASHES[number])
        labels.append(LineLabel(text, float(at[-1]), float(y[-1]), number))
    return labels


def _draw_shadow(
    figure: Figure, theme: Theme, *, curves: pl.DataFrame, marks: tuple[float, float]
) -> None:
    ax = figure.add_subplot()
    labels = _lines(
        ax,
        theme,
        curves,
        "w",
        {
            "cooperating": "cooperating",
            "defecting": "always\ndefecting",
            "alternating": "defecting and\nmaking up",
        },
    )
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 5.2)
    for mark, text in zip(marks, ("1/2", "2/3"), strict=True):
        _mark(ax, theme, mark, text)
    label_axes(ax, x="chance w of another round", y="points a round")
    direct_labels(ax, labels, theme)


def _draw_forgiveness(figure: Figure, theme: Theme, *, table: pl.DataFrame) -> None:
    left, right = figure.subplots(1, 2)
    q = numbers(table, "q")
    named = {
        "resident": "residents",
        "alternating": "alternating invader",
        "defecting": "invader that always defects",
    }
    for number, (column, text) in enumerate(named.items()):
        left.plot(
            q,
            numbers(table, column),
            color=theme.colour(number),
            linestyle=DASHES[number],
            label=text,
        )
    left.set_title("without mistakes")
    left.set_ylim(0, 5.2)
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper left", ncols=3)
    _mark(left, theme, _crossing(table, "alternating"), "1/3")
    right.plot(q, numbers(table, "with_mistakes"), color=theme.colour(0))
    right.set_title("among residents who err")
    right.set_ylim(2.2, 3.02)
    for ax in (left, right):
        ax.set_xlim(0, 1)
        label_axes(ax, x="probability q to forgive", y="points a round")
    first, last = found(table, q=0.0), found(table, q=1.0)
    for row, align in ((first, "left"), (last, "right")):
        if row is not None:
            right.annotate(
                rounded(row["with_mistakes"], 3),
                (row["q"], row["with_mistakes"]),
                xytext=(6 if align == "left" else -2, 0 if align == "left" else -12),
                textcoords="offset points",
                ha=align,
                va="center",
                fontsize=SMALL,
            )


def _draw_stag(figure: Figure, theme: Theme, *, curves: pl.DataFrame, crossing: float) -> None:
    ax = figure.add_subplot()
    labels = _lines(
        ax, theme, curves, "p", {"stag": "hunting\nthe stag", "hare": "hunting\nthe hare"}
    )
    ax.set_xlim(0, 1)
    ax.set_ylim(-0.55, 4.3)
    _mark(ax, theme, crossing, as_printed(crossing))
    change, p = numbers(curves, "change"), numbers(curves, "p")
    for start in (0.15, 0.35, 0.55, 0.85):
        way = np.sign(change[int(np.argmin(np.abs(p - start)))])
        ax.annotate(
            "",
            (start + 0.06 * way, -0.3),
            (start - 0.06 * way, -0.3),
            arrowprops={"arrowstyle": "-|>", "color": theme.text, "linewidth": 1.4},
        )
    for at, rests in ((0.0, True), (crossing, False), (1.0, True)):
        ax.plot(
            [at],
            [-0.3],
            marker="o",
            markersize=7,
            color=theme.text,
            markerfacecolor=theme.text if rests else theme.background,
            clip_on=False,
            zorder=5,
        )
    ax.set_yticks(range(5))
    label_axes(ax, x="share of the others who hunt the stag", y="expected catch")
    direct_labels(ax, labels, theme)
