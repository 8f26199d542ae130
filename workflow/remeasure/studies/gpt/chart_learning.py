"""Figures on learning: loss and legal moves by step, and probes by layer."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from remeasure.draw.chart import WIDTH, Chart, found, numbers, save_chart
from remeasure.draw.style import (
    DASHES,
    MARKERS,
    LineLabel,
    Theme,
    direct_labels,
    guide,
    interval_band,
    interval_bars,
    label_axes,
)
from remeasure.report.numbers import rounded
from remeasure.store.frames import read_frame, read_json


def fig_training(
    *,
    log: Path,
    training_facts: Path,
    shares: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Loss and legal moves while the model learns.

    Parameters
    ----------
    log, training_facts, shares
        As ``training.LOG`` and its facts, and ``move_tables.SHARES`` for the baselines.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = training(read_frame(log), read_json(training_facts), read_frame(shares))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_probe_accuracy(
    *,
    accuracy: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """How well probes read occupied squares, by layer.

    Parameters
    ----------
    accuracy
        Parquet, as ``probes.ACCURACY``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = probe_accuracy(read_frame(accuracy))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


#: Levels that stand beside the curve of legal moves, where they were measured.
BESIDE = {"n-gram": "n-gram", "GPT-2, 124M": "GPT-2"}

#: The series whose ink is closest to that of a guide.
GUIDE = 4

#: Short names of models in the figure of probes.
SHORT = {"Karvonen's, 72 hours": "Karvonen's"}


def training(log: pl.DataFrame, facts: dict[str, Any], shares: pl.DataFrame) -> Chart:
    """Left the loss of every batch, right the share of legal moves."""
    looked = log.drop_nulls("legal")
    levels = {
        short: float(row["share"])
        for name, short in BESIDE.items()
        if (row := found(shares, model=name, what="legal")) is not None
    }
    data = log.select(
        "step",
        "loss",
        "legal",
        "low",
        "high",
        *(pl.lit(level).alias(name) for name, level in levels.items()),
    )
    first, last = looked.row(0, named=True), looked.row(-1, named=True)
    beside = " ".join(f"{name} has {rounded(100 * level, 3)}%." for name, level in levels.items())
    return Chart(
        draw=partial(_draw_training, log=log, levels=levels),
        data=data,
        alt_text=(
            f"Left: loss by step, from {rounded(float(log['loss'][0]), 3)} nats a character to"
            f" {rounded(float(log['loss'][-1]), 3)} after {last['step']} steps. Right: legal moves"
            f" on {facts['monitored']} positions, {rounded(100 * first['legal'], 3)}% after"
            f" {first['step']} steps and {rounded(100 * last['legal'], 3)}% at the end"
            f" ({rounded(100 * last['low'], 3)} to {rounded(100 * last['high'], 3)}%). {beside}"
        ),
        size=(WIDTH, 3.0),
    )


def probe_accuracy(accuracy: pl.DataFrame) -> Chart:
    """One line a model."""
    own = accuracy.filter(pl.col("measure") == "occupied squares").drop("measure")
    said = [
        f"{row['model']} {rounded(100 * row['value'], 3)}% at layer {row['layer']}"
        f" ({rounded(100 * row['low'], 3)} to {rounded(100 * row['high'], 3)}%)"
        for row in own.filter("best").iter_rows(named=True)
    ]
    return Chart(
        draw=partial(_draw_probes, own=own),
        data=own,
        alt_text=(
            "Accuracy of linear probes on occupied squares by layer, best layer of each model: "
            f"{'; '.join(said)}."
        ),
        size=(WIDTH, 3.3),
    )


def _draw_training(
    figure: Figure, theme: Theme, *, log: pl.DataFrame, levels: dict[str, float]
) -> None:
    left, right = figure.subplots(1, 2)
    step = numbers(log, "step")
    left.plot(step, numbers(log, "loss"), color=theme.colour(0), linewidth=1.3)
    left.set_xlim(0, float(step[-1]))
    left.set_ylim(0, None)
    label_axes(left, x="step", y="loss", y_unit="nats a character")
    looked = log.drop_nulls("legal")
    x, y, low, high = (numbers(looked, name) for name in ("step", "legal", "low", "high"))
    right.plot(x, y, color=theme.colour(0), linewidth=1.0)
    interval_bars(right, x, y, low, high, colour=theme.colour(0))
    right.set_xlim(0, 1.06 * float(step[-1]))
    right.set_ylim(0, 1)
    for level in levels.values():
        guide(right, theme, y=level)
    label_axes(right, x="step", y="legal moves", y_unit="share")
    end = right.get_xlim()[1]
    direct_labels(
        right, [LineLabel(name, end, level, GUIDE) for name, level in levels.items()], theme
    )


def _draw_probes(figure: Figure, theme: Theme, *, own: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    labels = []
    for series, ((name,), part) in enumerate(own.group_by("model", maintain_order=True)):
        x, y, low, high = (numbers(part, each) for each in ("layer", "value", "low", "high"))
        colour = theme.colour(series)
        interval_band(ax, x, low, high, colour=colour)
        ax.plot(x, y, color=colour, linestyle=DASHES[series], marker=MARKERS[series])
        text = SHORT.get(str(name), str(name))
        labels.append(LineLabel(text, float(x[-1]), float(y[-1]), series))
    last = int(own["layer"].max())  # type: ignore[arg-type]
    ax.set_xlim(-0.15, last + 0.15)
    ax.set_xticks(range(last + 1))
    ax.set_ylim(0, 1)
    label_axes(ax, x="layer", y="occupied squares right", y_unit="share")
    direct_labels(ax, labels, theme)
