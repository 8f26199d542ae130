"""Figures of selection: the best rules of yesterday, and how good luck looks.

As in ``figures.py`` a figure computes no statistic, reads results by the names of their
columns and imports no experiment.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.chart import (
    Chart,
    Row,
    as_printed,
    found,
    legend_above,
    numbers,
    said,
    save_chart,
    span,
)
from remeasure.draw.colour import mix
from remeasure.draw.style import (
    DASHES,
    SMALL,
    TALL,
    Theme,
    guide,
    interval_bars,
    label_axes,
    log_axis,
    published,
)
from remeasure.report.numbers import rounded
from remeasure.store.frames import read_frame, read_json
from remeasure.studies.crypto.published import printed, rows

#: How many of the best are marked.
BEST = 20

Z95 = 1.959963984540054


def fig_overfitting(
    *,
    grid: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Sharpe ratios of every rule on every coin, early against later, the best marked.

    Parameters
    ----------
    grid, summary
        Parquet and JSON, as ``rules_grid.measure_grid`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = overfitting(read_frame(grid), read_json(summary))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_noise(
    *,
    noise: Path,
    curve: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Best Sharpe ratio among N random strategies, with the formula of the expected maximum.

    Parameters
    ----------
    noise, curve, summary
        Parquet and JSON, as ``random_strategies.measure_random`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = noise_chart(read_frame(noise), read_frame(curve), read_json(summary))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


# --- the best rules of yesterday ------------------------------------------------------------


def overfitting(grid: pl.DataFrame, summary: dict[str, Any]) -> Chart:
    """Scatter of all strategies, early against later period.

    Parameters
    ----------
    grid
        As ``rules_grid.GRID``.
    summary
        As ``rules_grid.measure_grid`` writes it.
    """
    strategies = grid.select(
        pl.lit("strategy").alias("series"),
        "coin",
        "rule",
        "rank",
        pl.col("rank").le(BEST).alias("best"),
        "early",
        "later",
    )
    printed_means = pl.DataFrame(
        {
            "series": ["published mean of the 20 best"],
            "early": [printed("fig_overfitting", "mean Sharpe of 20 best", "2021-2023")],
            "later": [printed("fig_overfitting", "mean Sharpe of the same 20", "2024..2026-10")],
        }
    )
    data = pl.concat([strategies, _means(summary), printed_means], how="diagonal")
    return Chart(
        draw=partial(_draw_overfitting, data=data, periods=summary.get("periods")),
        data=data,
        alt_text=_overfitting_text(data, summary),
        size=TALL,
    )


def _means(summary: dict[str, Any]) -> pl.DataFrame:
    """Mean of the best in both periods with 95% intervals; no row where nothing was measured."""
    estimates = summary.get("estimates")
    if estimates is None:
        return pl.DataFrame(schema={"series": pl.String})
    row: Row = {"series": "mean of the 20 best"}
    for name in ("early", "later"):
        each = estimates[f"best_{name}"]
        row[name] = each["value"]
        row[f"{name}_low"] = each["value"] - Z95 * each["se"]
        row[f"{name}_high"] = each["value"] + Z95 * each["se"]
    return pl.DataFrame([row])


def _draw_overfitting(
    figure: Figure, theme: Theme, *, data: pl.DataFrame, periods: dict[str, list[str]] | None
) -> None:
    ax = figure.add_subplot()
    own = data.filter(pl.col("series") == "strategy")
    ends = [name for name in data.columns if name.startswith(("early", "later"))]
    low, high = span(*(numbers(data, name) for name in ends), default=(-1.5, 2))
    low, high = low - 0.15, high + 0.15
    guide(ax, theme, x=0.0)
    guide(ax, theme, y=0.0)
    ax.plot([low, high], [low, high], color=theme.muted, linewidth=1.0)
    ax.annotate(
        "the same in both",
        (high, high),
        xytext=(-2, -12),
        textcoords="offset points",
        ha="right",
        va="top",
        rotation=45,
        rotation_mode="anchor",
        fontsize=SMALL,
        color=theme.muted,
    )
    if own.height:
        _points(ax, own.filter(~pl.col("best")), mix(theme.colour(0), theme.background, 0.35), "o")
        label = f"{BEST} best of {own.height}"
        _points(ax, own.filter(pl.col("best")), theme.colour(1), "s", label)
    mean = found(data, series="mean of the 20 best")
    if mean is not None:
        for horizontal in (False, True):
            name = "early" if horizontal else "later"
            interval_bars(
                ax,
                [mean["early"]],
                [mean["later"]],
                [mean[f"{name}_low"]],
                [mean[f"{name}_high"]],
                colour=theme.text,
                marker="P",
                horizontal=horizontal,
                label="" if horizontal else "their mean, 95% interval",
            )
    known = data.filter(pl.col("series") == "published mean of the 20 best")
    published(ax, numbers(known, "early"), numbers(known, "later"), theme)
    ax.set_xlim(low, high)
    ax.set_ylim(low, high)
    ax.set_aspect("equal", adjustable="box")
    label_axes(
        ax,
        x=f"Sharpe ratio {_years(periods, 'early')}",
        y=f"Sharpe ratio {_years(periods, 'later')}",
    )
    legend_above(ax)


def _points(ax: Axes, frame: pl.DataFrame, colour: str, marker: str, label: str = "") -> None:
    ax.plot(
        numbers(frame, "early"),
        numbers(frame, "later"),
        linestyle="none",
        marker=marker,
        markersize=5 if label else 3.2,
        markeredgewidth=0,
        color=colour,
        label=label or None,
        zorder=3 if label else 2,
    )


def _years(periods: dict[str, list[str]] | None, name: str) -> str:
    """``2021-01 to 2023-12``; the name of the period where nothing was measured."""
    if periods is None:
        return f"of the {name} period"
    first, last = (day[:7] for day in periods[name])
    return f"{first} to {last}"


def _overfitting_text(data: pl.DataFrame, summary: dict[str, Any]) -> str:
    estimates = summary.get("estimates")
    known = {
        name: as_printed(printed("fig_overfitting", *key))
        for name, key in {
            "best_early": ("mean Sharpe of 20 best", "2021-2023"),
            "best_later": ("mean Sharpe of the same 20", "2024..2026-10"),
            "rank_correlation": ("rank correlation of the two periods", "792 strategies"),
            "losing": ("of 20 best, losing later", ""),
        }.items()
    }
    if estimates is None:
        return (
            "Sharpe ratios of textbook rules in two periods: not measured. Published mean of the"
            f" {BEST} best: {known['best_early']}, later {known['best_later']}."
        )

    def told(name: str) -> str:
        each = estimates[name]
        value, error = each["value"], Z95 * each["se"]
        return f"{said(value, value - error, value + error, 3)}, published {known[name]}"

    count = data.filter(pl.col("series") == "strategy").height
    losing = estimates["losing"]["value"]
    return (
        f"Yearly Sharpe ratios after fees of {count} strategies, textbook rules on single coins,"
        f" in {_years(summary['periods'], 'early')} against {_years(summary['periods'], 'later')}."
        f" Mean of the {BEST} best of the first period: {told('best_early')}. The same {BEST} in"
        f" the second: {told('best_later')}; {losing:g} of them lose, published"
        f" {known['losing']}. Rank correlation of the two periods: {told('rank_correlation')}."
    )


# --- how good luck looks --------------------------------------------------------------------

_BEST_QUANTITY = "best Sharpe among N random strategies"


def noise_chart(noise: pl.DataFrame, curve: pl.DataFrame, summary: dict[str, Any]) -> Chart:
    """The best of N against N, logarithmic, with the curve of the formula.

    Parameters
    ----------
    noise, curve
        As ``random_strategies.NOISE`` and ``random_strategies.CURVE``.
    summary
        As ``random_strategies.measure_random`` writes it.
    """
    known = [
        (int(row.condition[2:]), float(row.number))
        for row in rows().values()
        if row.quantity == _BEST_QUANTITY and row.number is not None
    ]
    prints = pl.DataFrame(known, schema=["n", "published"], orient="row")
    points = noise.join(prints, on="n", how="full", coalesce=True).sort("n")
    data = pl.concat(
        [
            points.select(pl.lit("best of N").alias("series"), pl.all()),
            curve.select(pl.lit("expected").alias("series"), pl.all()),
        ],
        how="diagonal",
    )
    return Chart(
        draw=partial(_draw_noise, points=points, curve=curve),
        data=data,
        alt_text=_noise_text(points, summary),
    )


def _draw_noise(figure: Figure, theme: Theme, *, points: pl.DataFrame, curve: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    guide(ax, theme, y=0.0)
    if curve.height:
        ax.plot(
            numbers(curve, "n"),
            numbers(curve, "formula"),
            color=theme.colour(1),
            linestyle=DASHES[1],
            label="formula: mean + sd z(N)",
        )
    own = points.drop_nulls("best")
    if own.height:
        columns = (numbers(own, name) for name in ("n", "best", "low", "high"))
        interval_bars(ax, *columns, colour=theme.colour(0), label="best of N, 95% interval")
    published(ax, numbers(points, "n"), numbers(points, "published"), theme)
    ax.set_xlim(0.8, 1.25 * float(np.max(numbers(points, "n"))))
    log_axis(ax, "x")
    label_axes(ax, x="number of random strategies N", y="best Sharpe ratio a year")
    legend_above(ax)


def _noise_text(points: pl.DataFrame, summary: dict[str, Any]) -> str:
    sentences = ["Best yearly Sharpe ratio among N random strategies on BTC, logarithmic in N."]
    if "paths" in summary:
        first, last = summary["period"]
        sentences.append(
            f"{summary['paths']:,} paths on the hours from {first} to {last}: mean"
            f" {rounded(summary['mean'], 3)}, standard deviation {rounded(summary['sd'], 3)}."
        )
    for row in points.iter_rows(named=True):
        value = "not measured"
        if row["best"] is not None:
            value = said(row["best"], row["low"], row["high"], 3)
        sentences.append(f"N = {row['n']:,}: {value}, published {as_printed(row['published'])}.")
    return " ".join(sentences)
