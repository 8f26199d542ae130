"""Tiles, the race, what is taken for what, and the first mistakes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from numpy.typing import NDArray
from safetensors.numpy import load_file

from remeasure.draw.chart import WIDTH, Chart, listed, numbers, said, save_chart
from remeasure.draw.style import (
    DASHES,
    MARKERS,
    SMALL,
    LineLabel,
    Theme,
    direct_labels,
    label_axes,
    log_axis,
    published,
)
from remeasure.store.frames import read_frame, read_json
from remeasure.studies.vit.images import cut, picture, rising, two_lines
from remeasure.studies.vit.picture import SAMPLES, WRITTEN
from remeasure.studies.vit.published import printed, rows
from remeasure.studies.vit.runs import ACCURACY, CONFUSION, OTHERS

Tensors = dict[str, NDArray[Any]]
Told = dict[str, Any]

#: Colour of each learner, and how its mark is drawn.
SERIES = {"tuned": 3, "vit": 0, "cnn": 1, "probe": 2, "shipped": 4}


def fig_eurosat_samples(
    *,
    samples: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Two tiles of each class.

    Parameters
    ----------
    samples, summary
        As ``race.measure_race`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = shown(load_file(samples), read_json(summary))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_eurosat(
    *,
    accuracy: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Accuracy by labelled tiles.

    Parameters
    ----------
    accuracy, summary
        As ``race.measure_race`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = race(read_frame(accuracy, ACCURACY), read_json(summary))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_confusion(
    *,
    confusion: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """What is taken for what.

    Parameters
    ----------
    confusion, summary
        As ``race.measure_race`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = confused(read_frame(confusion, CONFUSION), read_json(summary))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_mistakes(
    *,
    samples: Path,
    summary: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """The first wrong tiles.

    Parameters
    ----------
    samples, summary
        As ``race.measure_race`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = mistakes(load_file(samples), read_json(summary))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def shown(samples: Tensors, told: Told) -> Chart:
    """Classes side by side, two tiles each."""
    classes: list[str] = told["classes"]
    return Chart(
        draw=partial(_shown, tiles=samples["samples"], classes=classes),
        data=pl.DataFrame(
            {"tile": range(len(told["samples"])), "class": told["samples"]},
        ),
        alt_text=(
            f"{told['set']}: {len(told['samples'])} training tiles, the first {SAMPLES} of each of"
            f" {len(classes)} classes: {listed(classes)}."
        ),
        size=(WIDTH, 0.98 * -(-len(classes) // 5) + 0.1),
    )


def _shown(figure: Figure, theme: Theme, *, tiles: NDArray[Any], classes: list[str]) -> None:
    side = tiles.shape[1]
    axes = figure.subplots(-(-len(classes) // 5), 5, squeeze=False)
    for ax in axes.flat:
        ax.set_axis_off()
    for place, (ax, name) in enumerate(zip(axes.flat, classes, strict=False)):
        own = tiles[SAMPLES * place : SAMPLES * (place + 1)]
        gap = np.full((side, side // 12, 3), 0, np.uint8)
        alpha = np.full((side, side * SAMPLES + gap.shape[1]), 255, np.uint8)
        alpha[:, side : side + gap.shape[1]] = 0
        both = np.concatenate([own[0], gap, own[1]], axis=1)
        picture(ax, np.dstack([both, alpha]))
        ax.set_title(two_lines(name).replace("\n", " ") if len(name) < 13 else two_lines(name),
                     fontsize=SMALL)  # fmt: skip


def race(accuracy: pl.DataFrame, told: Told) -> Chart:
    """Lines of the learners with their intervals; published values on EuroSAT alone."""
    alike = told["set"] == "EuroSAT"
    known = [
        (10 * budget, value)
        for budget in sorted(set(accuracy["budget"]))
        for name in dict.fromkeys(accuracy["name"])
        if alike and (value := _printed(name, budget)) is not None
    ]
    words = "; ".join(
        f"{row['name']} {said(row['value'], row['low'], row['high'], 3)}"
        f" at {row['budget']} labels a class"
        for row in accuracy.iter_rows(named=True)
    )
    return Chart(
        draw=partial(_race, accuracy=accuracy, known=known),
        data=accuracy,
        alt_text=f"Test accuracy on {told['set']}: {words}.{_others(accuracy)}",
        size=(WIDTH, 3.5),
    )


def _others(accuracy: pl.DataFrame) -> str:
    """Which learners are none of the publication's."""
    there = set(accuracy["learner"])
    names = [name for learner, name in OTHERS.items() if learner in there]
    return f" Not one of the article's learners: {listed(names)}." if names else ""


def _printed(name: str, budget: int) -> float | None:
    key = ("tab_eurosat", "test accuracy", f"{name}; {budget} labels per class")
    return printed(*key) if key in rows() else None


def _race(
    figure: Figure, theme: Theme, *, accuracy: pl.DataFrame, known: list[tuple[int, float]]
) -> None:
    ax = figure.add_subplot()
    labels = []
    learners = list(dict.fromkeys(accuracy["learner"]))
    for place, learner in enumerate(learners):
        own = accuracy.filter(pl.col("learner") == learner)
        series = SERIES[learner]
        # Marks of different learners at one budget stand a little apart.
        x = 10 * numbers(own, "budget") * 1.04 ** (place - (len(learners) - 1) / 2)
        value, low, high = (numbers(own, name) for name in ("value", "low", "high"))
        ax.errorbar(
            x, value, yerr=[value - low, high - value], color=theme.colour(series),
            marker=MARKERS[series], linestyle=DASHES[series], capsize=3, elinewidth=1.2,
        )  # fmt: skip
        name = own["name"][0] + ("\n(none of the article's)" if learner in OTHERS else "")
        labels.append(LineLabel(name, float(x[-1]), float(value[-1]), series))
    if known:
        published(ax, [x for x, _ in known], [y for _, y in known], theme)
        ax.legend(loc="lower right")
    least = min(float(numbers(accuracy, "low").min()), *(y for _, y in known), 0.9)
    ax.set_ylim(max(0.0, least - 0.08), 1.0)
    budgets = sorted(set(accuracy["budget"]))
    ax.set_xlim(10 * budgets[0] / 1.2, 10 * budgets[-1] * 1.2)
    log_axis(ax, "x")
    ax.set_xticks([10 * budget for budget in budgets], [f"{10 * budget:,}" for budget in budgets])
    ax.minorticks_off()
    label_axes(ax, x="labelled tiles (10 × labels a class)", y="test accuracy")
    direct_labels(ax, labels, theme)


def confused(confusion: pl.DataFrame, told: Told) -> Chart:
    """A matrix of shares."""
    worst = confusion.filter(pl.col("truth") != pl.col("guess")).sort(
        "share", descending=True, maintain_order=True
    )
    most = listed(
        f"{row['truth']} as {row['guess']} {row['share']:.2f}"
        for row in worst.head(3).iter_rows(named=True)
    )
    right = 1 - told["wrong"] / told["tested"]
    return Chart(
        draw=partial(_confused, confusion=confusion, classes=told["classes"]),
        data=confusion,
        alt_text=(
            f"{told['learner']} on {told['set']} at {told['budget']} labels a class: {right:.3f} of"
            f" {told['tested']:,} test tiles right; most often taken for another: {most}."
        ),
        size=(WIDTH, 4.7),
    )


def _confused(figure: Figure, theme: Theme, *, confusion: pl.DataFrame, classes: list[str]) -> None:
    ax = figure.add_subplot()
    ax.grid(visible=False)
    share = confusion["share"].to_numpy().reshape(len(classes), len(classes))
    ax.imshow(share, cmap=rising(theme), vmin=0, vmax=1, interpolation="nearest")
    for row, column in zip(*np.nonzero(share > WRITTEN), strict=True):
        value = share[row, column]
        ax.text(
            column, row, f"{value:.2f}".lstrip("0") if value < 0.995 else "1", ha="center",
            va="center", fontsize=SMALL, color=theme.background if value > 0.55 else theme.text,
        )  # fmt: skip
    names = [cut(name, 13) for name in classes]
    ax.set_xticks(range(len(classes)), names, rotation=45, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(len(classes)), names)
    for spine in ax.spines.values():
        spine.set_visible(False)
    label_axes(ax, x="guess", y="truth")


def mistakes(samples: Tensors, told: Told) -> Chart:
    """Wrong tiles with truth and guess."""
    pairs: list[list[str]] = told["mistakes"]
    words = listed(f"{truth} taken for {guess}" for truth, guess in pairs) or "none"
    return Chart(
        draw=partial(_mistakes, tiles=samples["mistakes"], pairs=pairs),
        data=pl.DataFrame(
            {"truth": [t for t, _ in pairs], "guess": [g for _, g in pairs]},
            schema={"truth": pl.String, "guess": pl.String},
        ),
        alt_text=(
            f"{told['learner']} on {told['set']}: {told['wrong']} of {told['tested']:,} test tiles"
            f" wrong; the first {len(pairs)}: {words}."
        ),
        size=(WIDTH, 1.38 * max(1, -(-len(pairs) // 6)) + 0.1),
    )


def _mistakes(figure: Figure, theme: Theme, *, tiles: NDArray[Any], pairs: list[list[str]]) -> None:
    axes = figure.subplots(max(1, -(-len(pairs) // 6)), 6, squeeze=False)
    for ax in axes.flat:
        ax.set_axis_off()
    for ax, tile, (truth, guess) in zip(axes.flat, tiles, pairs, strict=False):
        picture(ax, tile)
        ax.set_title(f"{cut(truth, 13)}\n→ {cut(guess, 9)}", fontsize=SMALL, fontweight="normal")
