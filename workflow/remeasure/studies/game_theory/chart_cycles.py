"""Figure of the imitating population: shares of strategies over time, two sets."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.chart import Chart, Floats, numbers, said, save_chart
from remeasure.draw.style import SMALL, TALL, LineLabel, Theme, direct_labels, label_axes
from remeasure.store.frames import read_frame
from remeasure.studies.game_theory.published import conditions, printed

MAJORITY = "time with a majority of defectors"

#: Order from the bottom, and the number of each strategy's colour.
STACK = {"Always defect": 1, "Tit for tat": 0, "Generous tit for tat": 5, "Always cooperate": 2}
LABELS = {"Generous tit for tat": "Generous\ntit for tat"}


def fig_cycles(
    *,
    paths: Path,
    averages: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Shares over time of one run of each set.

    Parameters
    ----------
    paths, averages
        Parquet, as ``cycles.PATHS`` and ``cycles.AVERAGES``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = cycles(read_frame(paths), read_frame(averages))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def cycles(paths: pl.DataFrame, averages: pl.DataFrame) -> Chart:
    """Two panels of stacked shares.

    Parameters
    ----------
    paths, averages
        As ``cycles.PATHS`` and ``cycles.AVERAGES``.
    """
    shares = averages.filter(pl.col("quantity") == "majority").filter(
        pl.col("steps") == pl.col("steps").max()
    )
    parts = []
    for row in shares.iter_rows(named=True):
        known = _published(row["set"])
        parts.append(
            f"{row['set'].capitalize()}: defectors had a majority in"
            f" {said(100 * row['value'], 100 * row['low'], 100 * row['high'], 3)} percent of the"
            f" time over {row['runs']} runs"
            + (f", published {known:g}" if known is not None else "")
        )
    return Chart(
        draw=partial(_draw, paths=paths, shares=shares),
        data=paths,
        alt_text=f"Shares of strategies in an imitating population over time. {'. '.join(parts)}.",
        size=TALL,
    )


def _published(words: str) -> float | None:
    """The printed share of time of one set; None where none is printed."""
    said_so = [each for each in conditions("fig_cycles", MAJORITY) if each.startswith(words)]
    return printed("fig_cycles", MAJORITY, said_so[0]) if said_so else None


def _draw(figure: Figure, theme: Theme, *, paths: pl.DataFrame, shares: pl.DataFrame) -> None:
    panels = figure.subplots(2, 1, sharex=True)
    for ax, row in zip(panels, shares.iter_rows(named=True), strict=True):
        known = _published(row["set"])
        printed_so = f", published {known:g}%" if known is not None else ""
        ax.set_title(
            f"{row['set']}\nmost players defect {100 * row['value']:.0f}% of the time"
            f" ({100 * row['low']:.0f}% to {100 * row['high']:.0f}%){printed_so}",
            fontsize=SMALL,
        )
        labels = _stack(ax, theme, paths.filter(pl.col("set") == row["set"]))
        ax.set_ylim(0, 100)
        label_axes(ax, x="" if ax is panels[0] else "steps, thousands", y="share", y_unit="%")
        direct_labels(ax, labels, theme)


def _stack(ax: Axes, theme: Theme, path: pl.DataFrame) -> list[LineLabel]:
    """Areas from the bottom; names at the height of their mean share."""
    labels, floor, level = [], np.zeros(path["step"].n_unique()), 0.0
    x: Floats = np.zeros(0)
    for name, series in STACK.items():
        own = path.filter(pl.col("strategy") == name)
        if not own.height:
            continue
        x, share = numbers(own, "step") / 1000, 100 * numbers(own, "share")
        ax.fill_between(x, floor, floor + share, color=theme.colour(series), linewidth=0)
        floor = floor + share
        mean = float(share.mean())
        words = LABELS.get(name, name)
        labels.append(LineLabel(words, float(x[-1]), level + mean / 2, series))
        level += mean
    ax.set_xlim(0, float(x[-1]))
    return labels
