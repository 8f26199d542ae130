"""Figures made of numbers: the bound, the two ways to the peak, and two pairs of policies."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.chart import Chart, legend_above, numbers, save_chart
from remeasure.draw.style import COLUMN, DASHES, SMALL, Theme, guide, label_axes, published
from remeasure.report.numbers import rounded
from remeasure.store.frames import read_frame, read_json
from remeasure.studies.free_energy.published import printed

#: Highest free energy shown, above the surprisal: far from the best centre it leaves the frame.
SHOWN_ABOVE = 5.0

#: What tells the two policies of each example apart.
AXES = {"risk": "chance of the preferred outcome", "ambiguity": "where the policy leads"}


def fig_bound(
    *,
    table: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Free energy of Gaussian beliefs by centre, over the surprisal.

    Parameters
    ----------
    table
        Parquet, as ``bound.CURVES``.
    summary
        JSON, as ``bound.measure_bound`` writes it.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = bound(read_frame(table), read_json(summary))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_bogacz(
    *,
    density: Path,
    paths: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """The exact posterior, and two ways to its peak.

    Parameters
    ----------
    density, paths
        Parquet, as ``descent.DENSITY`` and ``descent.PATHS``.
    summary
        JSON, as ``descent.measure_descent`` writes it.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = bogacz(read_frame(density), read_frame(paths), read_json(summary))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_efe(
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
    """Risk of two policies, ambiguity of two others.

    Parameters
    ----------
    table
        Parquet, as ``policies.POLICIES``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = efe(read_frame(table))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def bound(table: pl.DataFrame, summary: dict[str, Any]) -> Chart:
    """Two curves over a line that none of them crosses."""
    best, surprisal = summary["best"], float(summary["surprisal"])
    lowest = table.sort("fixed").row(0, named=True)
    return Chart(
        draw=partial(_draw_bound, table=table, summary=summary),
        data=table,
        alt_text=(
            "Free energy in nats of Gaussian beliefs about a size, by the centre of the belief,"
            f" from {table['centre'][0]:g} to {table['centre'][-1]:g}. A level line marks the"
            f" surprisal, {rounded(surprisal)}. At the best width for each centre the free energy"
            f" falls to {rounded(best['free_energy'])} at {rounded(best['centre'], 3)}; at the"
            f" width {summary['width']:g} it falls to {rounded(lowest['fixed'])} at"
            f" {rounded(lowest['centre'], 3)} and rises more steeply on both sides. Of"
            f" {rounded(float(summary['beliefs']))} beliefs tried {summary['below']} lie below the"
            " surprisal."
        ),
        size=COLUMN,
    )


def bogacz(density: pl.DataFrame, paths: pl.DataFrame, summary: dict[str, Any]) -> Chart:
    """Left the density with peak and mean, right two guesses over time."""
    data = pl.concat(
        [
            density.select(
                pl.lit("posterior").alias("curve"),
                pl.col("size").alias("x"),
                pl.col("density").alias("y"),
            ),
            *(
                paths.select(
                    pl.lit(name).alias("curve"), pl.col("time").alias("x"), pl.col(name).alias("y")
                )
                for name in ("descent", "network")
            ),
        ]
    )
    network = numbers(paths, "network")
    return Chart(
        draw=partial(_draw_bogacz, density=density, paths=paths, summary=summary),
        data=data,
        alt_text=(
            "Left: the exact posterior density of the size, highest at"
            f" {rounded(summary['peak'], 3)}, with its mean at {rounded(summary['mean'], 3)}."
            f" Right: two guesses over time, from {rounded(float(network[0]))}. Gradient descent"
            f" falls straight to {rounded(float(paths['descent'][-1]), 3)}; the network with error"
            f" units swings down to {rounded(float(network.min()), 3)} and settles after"
            f" {rounded(float(paths['time'][-1]))} time units at {rounded(float(network[-1]), 3)}."
        ),
        size=(5.6, 3.2),
    )


def efe(table: pl.DataFrame) -> Chart:
    """Two panels of two bars each."""
    parts = [
        f"{row['example']} of {row['policy']} {rounded(row['value'], 3)}"
        + (
            f" (preferred outcome in {100 * row['preferred']:.0f} percent)"
            if row["preferred"] is not None
            else ""
        )
        for row in table.iter_rows(named=True)
    ]
    return Chart(
        draw=partial(_draw_efe, table=table),
        data=table,
        alt_text=f"Bars, in nats: {'; '.join(parts)}.",
        size=(5.6, 2.9),
    )


def _draw_bound(
    figure: Figure, theme: Theme, *, table: pl.DataFrame, summary: dict[str, Any]
) -> None:
    ax = figure.add_subplot()
    centre, surprisal = numbers(table, "centre"), float(summary["surprisal"])
    ax.axhline(surprisal, color=theme.text, linewidth=1.3, label="surprisal")
    for number, (column, text) in enumerate(
        (("best", "best width for each centre"), ("fixed", f"width {summary['width']:g}"))
    ):
        ax.plot(
            centre,
            numbers(table, column),
            color=theme.colour(number),
            linestyle=DASHES[number],
            label=text,
        )
    best = summary["best"]
    ax.plot([best["centre"]], [best["free_energy"]], marker="o", color=theme.colour(0))
    ax.annotate(
        f"best belief: {rounded(best['free_energy'])} nats,\ncentre {rounded(best['centre'], 3)}",
        (best["centre"], best["free_energy"]),
        xytext=(0.68, 0.22),
        textcoords="axes fraction",
        ha="left",
        va="center",
        fontsize=SMALL,
        arrowprops={"arrowstyle": "-", "color": theme.muted, "linewidth": 0.7, "shrinkB": 4},
    )
    ax.annotate(
        f"{rounded(surprisal)}",
        (centre[-1], surprisal),
        xytext=(-2, -4),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=SMALL,
    )
    ax.set_xlim(float(centre[0]), float(centre[-1]))
    ax.set_ylim(surprisal - 0.5, surprisal + SHOWN_ABOVE)
    label_axes(ax, x="centre of the belief", y="free energy", y_unit="nats")
    legend_above(ax)


def _draw_bogacz(
    figure: Figure,
    theme: Theme,
    *,
    density: pl.DataFrame,
    paths: pl.DataFrame,
    summary: dict[str, Any],
) -> None:
    left, right = figure.subplots(1, 2)
    size, height = numbers(density, "size"), numbers(density, "density")
    left.fill_between(size, 0, height, color=theme.colour(0), alpha=0.22, linewidth=0)
    left.plot(size, height, color=theme.colour(0))
    top = float(height.max())
    left.set_title("exact posterior")
    left.set_xlim(float(size[0]), float(size[-1]))
    left.set_ylim(0, 1.3 * top)
    for name, dash, side in (("mean", "dotted", "right"), ("peak", "solid", "left")):
        value = float(summary[name])
        left.plot([value, value], [0, 1.08 * top], color=theme.text, linewidth=1.1, linestyle=dash)
        left.annotate(
            f"{name} {rounded(value, 3)}",
            (value, 1.08 * top),
            xytext=(-2 if side == "right" else 2, 3),
            textcoords="offset points",
            ha=side,
            va="bottom",
            fontsize=SMALL,
        )
    label_axes(left, x="size", y="density")
    time = numbers(paths, "time")
    right.set_title("guess over time")
    right.plot(
        time, numbers(paths, "network"), color=theme.colour(1), linewidth=1.2, label="error units"
    )
    right.plot(
        time, numbers(paths, "descent"), color=theme.colour(0), linewidth=2.4, label="descent"
    )
    guide(right, theme, y=float(summary["peak"]))
    right.set_xlim(0, float(time[-1]))
    right.set_ylim(0.6, 3.1)
    right.legend(loc="upper right")
    label_axes(right, x="time", y="guessed size")


def _draw_efe(figure: Figure, theme: Theme, *, table: pl.DataFrame) -> None:
    panels = figure.subplots(1, 2)
    known = {
        "risk": ("policy 1 (82%)", "policy 2 (coin flip)"),
        "ambiguity": ("policy toward the murky state", "policy toward the clear state"),
    }
    for number, (ax, example) in enumerate(zip(panels, known, strict=True)):
        own = table.filter(pl.col("example") == example)
        values = numbers(own, "value")
        places = list(range(own.height))
        ax.bar(places, values, width=0.55, color=theme.colour(number))
        published(
            ax, places, [printed("fig_efe", example, words) for words in known[example]], theme
        )
        ax.set_xticks(places, [_policy(row) for row in own.iter_rows(named=True)])
        ax.set_xlim(-0.6, own.height - 0.4)
        ax.set_ylim(0, 1.22 * float(values.max()))
        for place, value in zip(places, values, strict=True):
            _value(ax, place, float(value))
        ax.set_title(example)
        label_axes(ax, x=AXES[example], y=example, y_unit="nats")
    panels[0].legend(loc="upper left")


def _policy(row: dict[str, Any]) -> str:
    """A policy below its bar."""
    if row["preferred"] is not None:
        return f"{100 * row['preferred']:.0f}%"
    return str(row["policy"]).removeprefix("policy toward ")


def _value(ax: Axes, place: float, value: float) -> None:
    """The number over a bar."""
    ax.annotate(
        rounded(value, 3),
        (place, value),
        xytext=(0, 8),
        textcoords="offset points",
        ha="center",
        fontsize=SMALL,
    )
