"""Figure of the round robin: matches won against points, one mark a strategy."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.chart import Chart, Row, legend_above, listed, numbers, save_chart
from remeasure.draw.labels import spread
from remeasure.draw.style import SMALL, TALL, Theme, label_axes, published
from remeasure.report.numbers import rounded
from remeasure.store.frames import read_frame
from remeasure.studies.game_theory.published import rows

POINTS, WON = "mean points per round", "matches won"


def fig_tournament(
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
    """Matches won against mean points a round.

    Parameters
    ----------
    table
        Parquet, as ``tournament.STANDINGS``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = tournament(read_frame(table))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def _printed(quantity: str) -> dict[str, float]:
    """Printed values of one quantity by strategy in lower case."""
    return {
        row.condition.partition(" (")[0].lower(): float(row.number)
        for row in rows().values()
        if row.output_id == "fig_tournament" and row.quantity == quantity and row.number is not None
    }


def tournament(table: pl.DataFrame) -> Chart:
    """One mark a strategy; diamonds where the article prints both numbers."""
    points, won = _printed(POINTS), _printed(WON)
    name = pl.col("strategy").str.to_lowercase()
    data = table.with_columns(
        name.replace_strict(points, default=None, return_dtype=pl.Float64).alias(
            "published points"
        ),
        name.replace_strict(won, default=None, return_dtype=pl.Float64).alias("published won"),
    )
    parts = [
        f"{row['strategy']} {rounded(row['points'], 4)} points, {row['won']} won"
        for row in data.iter_rows(named=True)
    ]
    nice = data.filter(pl.col("nice"))
    printed = [
        f"{row['strategy']} {row['published points']:.2f}"
        for row in data.drop_nulls("published points").iter_rows(named=True)
    ]
    return Chart(
        draw=partial(_draw, data=data),
        data=data,
        alt_text=(
            f"Mean points a round and matches won of {data.height} strategies in a round robin, a"
            f" stand-in for the article’s line-up, best first: {'; '.join(parts)}. The"
            f" {nice.height} that never defect first have the ranks"
            f" {listed(nice['rank'].to_list())}. Published: {listed(printed)}."
        ),
        size=TALL,
    )


def _draw(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    for nice, series, marker, text in (
        (True, 0, "o", "never defects first"),
        (False, 1, "s", "others"),
    ):
        own = data.filter(pl.col("nice") == nice)
        ax.plot(
            numbers(own, "points"),
            numbers(own, "won"),
            linestyle="none",
            marker=marker,
            color=theme.colour(series),
            label=text,
        )
    both = data.drop_nulls(["published points", "published won"])
    if both.height:
        published(ax, numbers(both, "published points"), numbers(both, "published won"), theme)
    low, high = float(numbers(data, "points").min()), float(numbers(data, "points").max())
    room = 0.08 * max(high - low, 0.1)
    ax.set_xlim(low - room, high + room)
    ax.set_ylim(-0.6, max(float(numbers(data, "won").max()), 4.0) + 1.6)
    label_axes(ax, x="mean points a round", y="matches won")
    legend_above(ax)
    crowd = data.filter(pl.col("won") <= 2).sort("points")
    _upright(ax, theme, crowd)
    for _, level in (
        data.filter(pl.col("won") > 2).sort("won", "points").group_by("won", maintain_order=True)
    ):
        for number, row in enumerate(level.iter_rows(named=True)):
            _over(ax, theme, row, up=number % 2 == 0)


def _over(ax: Axes, theme: Theme, row: Row, *, up: bool) -> None:
    """A name over or under its mark, by turns along a level."""
    ax.annotate(
        row["strategy"],
        (row["points"], row["won"]),
        xytext=(0, 8 if up else -8),
        textcoords="offset points",
        ha="center",
        va="bottom" if up else "top",
        fontsize=SMALL,
        color=theme.ink(0 if row["nice"] else 1),
    )


def _upright(ax: Axes, theme: Theme, crowd: pl.DataFrame) -> None:
    """Names over the marks of those who win little: upright, moved apart, tied to the marks."""
    low, high = ax.get_xlim()
    gap = 0.036 * (high - low)
    placed = spread(crowd["points"].to_list(), gap, low, high)
    for row, x in zip(crowd.iter_rows(named=True), placed, strict=True):
        ax.annotate(
            row["strategy"],
            (row["points"], row["won"]),
            xytext=(x, 3.1),
            rotation=90,
            ha="center",
            va="bottom",
            fontsize=SMALL,
            color=theme.ink(0 if row["nice"] else 1),
            arrowprops={
                "arrowstyle": "-",
                "color": theme.muted,
                "linewidth": 0.7,
                "shrinkA": 1,
                "shrinkB": 4,
            },
        )
