"""Chart of ready-made forecasters: their hit rates and R2 beside those of models of the task."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.chart import Chart, as_printed, legend_above, numbers, said, save_chart, span
from remeasure.draw.colour import mix
from remeasure.draw.style import (
    MARKERS,
    SMALL,
    TALL,
    Theme,
    guide,
    interval_bars,
    label_axes,
    published,
    thousands,
)
from remeasure.store.frames import read_frame
from remeasure.studies.crypto.foundation_table import CHRONOS, KRONOS, is_of
from remeasure.studies.crypto.published import printed

COINS = ("BTC", "ETH", "SOL")
RATE_MODELS = ("LightGBM", CHRONOS, KRONOS)
R2_MODELS = ("HAR", CHRONOS)

#: Quantities of the printed rows, by panel.
RATE, R2 = "hit rate 2026", "R2 of log volatility 2026 against 512-day mean"

#: A model has one colour in both panels: HAR takes that of no model of the other.
SERIES = {"LightGBM": 0, CHRONOS: 1, KRONOS: 2, "HAR": 3}

COIN_FLIP = 50.0


def fig_foundation(
    *,
    rates: Path,
    scores: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Hit rates of the hours, and R2 of log variance of the days, by coin and model.

    Parameters
    ----------
    rates, scores
        Parquet, as ``foundation.RATES`` and ``foundation.SCORES``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = foundation(read_frame(rates), read_frame(scores))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def foundation(rates: pl.DataFrame, scores: pl.DataFrame) -> Chart:
    """Above, hit rates with intervals around one half; below, R2 as bars.

    Parameters
    ----------
    rates, scores
        As ``foundation.RATES`` and ``foundation.SCORES``.
    """
    measured = rates.select(
        "model",
        "coin",
        value=100 * pl.col("hit_rate"),
        low=100 * pl.col("low"),
        high=100 * pl.col("high"),
        n="hours",
        lead=100 * pl.col("lead"),
    )
    hit = _marks(measured, RATE, RATE_MODELS)
    r2 = _marks(scores.select("model", "coin", "low", "high", value="r2", n="days"), R2, R2_MODELS)
    return Chart(
        draw=partial(_draw, hit=hit, r2=r2),
        data=pl.concat([hit, r2], how="diagonal"),
        alt_text=f"{_text(hit, 'Hit rate in percent')} {_text(r2, 'R² of log volatility')}",
        size=TALL,
    )


def _marks(measured: pl.DataFrame, quantity: str, models: tuple[str, ...]) -> pl.DataFrame:
    """Measured beside printed values, one row a model and coin, in the printed order.

    A model of another size than the published one stands under the printed name, with its
    own in ``weights``.
    """
    known = pl.DataFrame(
        [
            {
                "quantity": quantity,
                "model": model,
                "coin": coin,
                "published": printed("fig_foundation", quantity, f"{coin} {model}"),
            }
            for model in models
            for coin in COINS
        ]
    )
    printed_name = {
        name: model for name in measured["model"].unique() for model in models if is_of(name, model)
    }
    named = measured.with_columns(
        pl.col("model").alias("weights"), pl.col("model").replace(printed_name)
    )
    return known.join(named, on=["model", "coin"], how="left", maintain_order="left")


def _draw(figure: Figure, theme: Theme, *, hit: pl.DataFrame, r2: pl.DataFrame) -> None:
    top, bottom = figure.subplots(2, 1, height_ratios=(3, 2))
    _draw_rates(top, theme, hit)
    _draw_r2(bottom, theme, r2)


def _note(ax: Axes, theme: Theme, marks: pl.DataFrame, models: tuple[str, ...]) -> None:
    """Which models this run has not measured, and which with other weights, inside the plot."""
    weights = {
        model: marks.filter(pl.col("model") == model)["weights"].drop_nulls() for model in models
    }
    absent = [model for model, names in weights.items() if names.is_empty()]
    other = [model for model, names in weights.items() if names.len() and names[0] != model]
    lines = [
        f"{words}: {', '.join(names)}"
        for words, names in (("not measured", absent), ("not the published weights", other))
        if names
    ]
    ax.text(
        0.995,
        0.985,
        "\n".join(lines),
        transform=ax.transAxes,
        ha="right",
        va="top",
        fontsize=SMALL,
        color=theme.muted,
        bbox={"facecolor": theme.background, "pad": 1.5},
        zorder=6,
    )


def _places(models: tuple[str, ...], number: int) -> np.ndarray:
    """Where the marks of one model stand, one a coin."""
    return np.arange(len(COINS)) + (number - (len(models) - 1) / 2) * 0.26


def _draw_rates(ax: Axes, theme: Theme, hit: pl.DataFrame) -> None:
    guide(ax, theme, y=COIN_FLIP)
    for number, model in enumerate(RATE_MODELS):
        own = hit.filter(pl.col("model") == model)
        value = numbers(own, "value")
        there = np.isfinite(value)
        x = _places(RATE_MODELS, number)
        ends = (numbers(own, end)[there] for end in ("low", "high"))
        interval_bars(
            ax,
            x[there],
            value[there],
            *ends,
            colour=theme.colour(SERIES[model]),
            marker=MARKERS[number],
            label=model,
        )
        published(ax, x, numbers(own, "published"), theme, label=number == len(RATE_MODELS) - 1)
    low, high = span(
        *(numbers(hit, name) for name in ("low", "high", "published")), default=(48.5, 54.5)
    )
    ax.set_ylim(low - 0.4, high + 0.15 * (high - low))
    _note(ax, theme, hit, RATE_MODELS)
    ax.set_xticks(range(len(COINS)), COINS)
    ax.set_xlim(-0.6, len(COINS) - 0.4)
    thousands(ax.yaxis)
    label_axes(ax, x="coin", y="hours called right", y_unit="%")
    legend_above(ax)


def _draw_r2(ax: Axes, theme: Theme, r2: pl.DataFrame) -> None:
    for number, model in enumerate(R2_MODELS):
        own = r2.filter(pl.col("model") == model)
        value = numbers(own, "value")
        there = np.isfinite(value)
        x = _places(R2_MODELS, number)
        colour = mix(theme.colour(SERIES[model]), theme.background, 0.3)
        ax.bar(x[there], value[there], 0.22, color=colour)
        ax.fill_between([], [], color=colour, label=model)  # the key, with or without bars
        ends = (numbers(own, end)[there] for end in ("low", "high"))
        interval_bars(ax, x[there], value[there], *ends, colour=theme.text, marker="none")
        published(ax, x, numbers(own, "published"), theme, label=False)
    guide(ax, theme, y=0)
    low, high = span(*(numbers(r2, name) for name in ("low", "high", "published")), default=(0, 1))
    ax.set_ylim(max(low, -1) - (0.05 if low < 0 else 0), 1.22 * high)
    _note(ax, theme, r2, R2_MODELS)
    ax.set_xticks(range(len(COINS)), COINS)
    ax.set_xlim(-0.6, len(COINS) - 0.4)
    thousands(ax.yaxis)
    label_axes(ax, x="coin", y="R² of log volatility")
    legend_above(ax)


def _text(marks: pl.DataFrame, title: str) -> str:
    parts = []
    for row in marks.iter_rows(named=True):
        value = "not measured"
        if row["value"] is not None:
            value = said(row["value"], row["low"], row["high"], 3)
        parts.append(
            f"{row['coin']} {row['model']} {value}, published {as_printed(row['published'])}"
        )
    return f"{title}: {'; '.join(parts)}."
