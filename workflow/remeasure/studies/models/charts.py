"""Figures of the model room: parameters by part, and what a text costs in memory."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from remeasure.draw.chart import WIDTH, Chart, listed, numbers, save_chart
from remeasure.draw.style import SMALL, Theme, label_axes, log_axis
from remeasure.report.numbers import grouped, rounded
from remeasure.store.frames import read_frame
from remeasure.studies.models.parts import PARTS

#: Inches of a bar.
BAR = 0.175

#: What a decoder may keep, in the order of the legend, with its mark.
MARKS = {"keys and values": "o", "windows": "s", "latent": "^", "state": "D"}


def fig_parts(
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
    """Shares of parameters by part, a bar a model.

    Parameters
    ----------
    table
        Parquet, as ``definitions.PART_COUNTS``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = parts(read_frame(table))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_caches(
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
    """Bytes of one text, a mark a decoder.

    Parameters
    ----------
    table
        Parquet, as ``definitions.CACHES``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = caches(read_frame(table))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def count_text(count: int) -> str:
    """A large count for the eye.

    >>> count_text(110_000_000), count_text(6_920_000_000), count_text(2_720_000)
    ('110 M', '6.92 B', '2.72 M')
    """
    for size, name in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{rounded(count / size, 3)} {name}"
    return str(count)


def bytes_text(count: int) -> str:
    """Bytes for the eye, in units of a thousand.

    >>> bytes_text(17_200_000_000), bytes_text(1_470_000)
    ('17.2 GB', '1.47 MB')
    """
    for size, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{rounded(count / size, 3)} {name}"
    return f"{count} B"


def parts(table: pl.DataFrame) -> Chart:
    """Models in the order of the catalogue, largest part first in the words."""
    data = table.with_columns(
        (pl.col("parameters") / pl.col("parameters").sum().over("model")).alias("share"),
        pl.col("parameters").sum().over("model").alias("total"),
    )
    most = {
        part: data.filter(pl.col("part") == part).sort("share", descending=True).row(0, named=True)
        for part in PARTS[:-1]
    }
    words = [
        f"{part} most in {row['model']} ({100 * row['share']:.0f}%)"
        for part, row in most.items()
        if row["share"] > 0
    ]
    totals = data.unique("model").sort("total")
    least, last = totals.row(0, named=True), totals.row(-1, named=True)
    return Chart(
        draw=partial(_draw_parts, data=data),
        data=data,
        alt_text=(
            f"Stacked bars of {totals.height} models: share of parameters in"
            f" {listed(PARTS)}. Totals run from {count_text(least['total'])} ({least['model']}) to"
            f" {count_text(last['total'])} ({last['model']}). Largest shares: {listed(words)}."
        ),
        size=(WIDTH, 1.2 + BAR * totals.height),
    )


def caches(table: pl.DataFrame) -> Chart:
    """Decoders by what they keep of one text, most at the top."""
    data = table.sort("text", "model", descending=[True, False])
    tokens = int(data["tokens"][0])
    most, least = data.row(0, named=True), data.row(-1, named=True)
    known = [kind for kind in MARKS if kind in data["kind"].unique().to_list()]
    ranges = []
    for kind in known:
        own = data.filter(pl.col("kind") == kind)["text"]
        low, high = bytes_text(int(own.min())), bytes_text(int(own.max()))  # type: ignore[arg-type]
        ranges.append(f"{kind} {low}" if low == high else f"{kind} {low} to {high}")
    return Chart(
        draw=partial(_draw_caches, data=data),
        data=data,
        alt_text=(
            f"Memory that {data.height} decoders need for a text of {grouped(str(tokens))} tokens,"
            f" 16 bits a number, logarithmic: from {bytes_text(least['text'])} ({least['model']})"
            f" to {bytes_text(most['text'])} ({most['model']}). By what is kept:"
            f" {'; '.join(ranges)}."
        ),
        size=(WIDTH, 1.2 + BAR * data.height),
    )


def _draw_parts(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    models = data["model"].unique(maintain_order=True).to_list()
    places = np.arange(len(models))
    left = np.zeros(len(models))
    for number, part in enumerate(PARTS):
        own = data.filter(pl.col("part") == part)
        share = 100 * numbers(own, "share")
        # The fifth colour is near that of the rest.
        colour = theme.muted if part == "rest" else theme.colour(number + (number > 3))
        ax.barh(places, share, left=left, height=0.72, color=colour, label=part, linewidth=0)
        left = left + share
    totals = data.unique("model", maintain_order=True)["total"].to_list()
    for place, total in zip(places, totals, strict=True):
        ax.annotate(
            count_text(total),
            (100, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
        )
    ax.set_yticks(places, models, fontsize=SMALL)
    ax.set_ylim(len(models) - 0.4, -0.6)
    ax.set_xlim(0, 112)
    ax.set_xticks([0, 25, 50, 75, 100])
    ax.grid(visible=False, axis="y")
    label_axes(ax, x="share of parameters", y="model", x_unit="percent")
    figure.legend(loc="outside upper center", ncols=3)


def _draw_caches(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    places = np.arange(data.height)
    size = numbers(data, "text")
    for number, (kind, mark) in enumerate(MARKS.items()):
        own = (data["kind"] == kind).to_numpy()
        if not own.any():
            continue
        ax.plot(
            size[own],
            places[own],
            linestyle="none",
            marker=mark,
            markersize=5.5,
            color=theme.colour(number),
            label=kind,
        )
    for place, count in zip(places, data["text"], strict=True):
        ax.annotate(
            bytes_text(count),
            (count, place),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
        )
    ax.set_yticks(places, data["model"].to_list(), fontsize=SMALL)
    ax.set_ylim(data.height - 0.4, -0.6)
    ax.set_xlim(0.6 * size.min(), 8 * size.max())
    log_axis(ax, "x")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: bytes_text(round(value))))
    ax.grid(visible=False, axis="y")
    label_axes(ax, x=f"memory for {grouped(str(data['tokens'][0]))} tokens", y="decoder")
    figure.legend(loc="outside upper center", ncols=4)
