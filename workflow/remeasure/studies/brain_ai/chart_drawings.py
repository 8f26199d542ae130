"""Drawings: the encoding model, five studies of vision, memory systems; and the model's errors."""

from __future__ import annotations

import textwrap
from functools import partial

import polars as pl
from matplotlib.figure import Figure

from remeasure.draw.chart import WIDTH, Chart, numbers
from remeasure.draw.flow import flow_chart
from remeasure.draw.panels import sheet, word_box
from remeasure.draw.style import FONT, SMALL, Theme, label_axes
from remeasure.studies.brain_ai.content import ENCODING, MEMORY, VISION


def encoding() -> Chart:
    """How an encoding model is fitted and scored; none is run here."""
    return flow_chart(
        ENCODING,
        f"Drawing of an encoding model in {len(ENCODING.stages)} stages, as described, not run:",
    )


def vision(table: pl.DataFrame) -> Chart:
    """Five studies, one below the other, by year."""
    rows = []
    for row in table.filter(output_id="fig_vision").iter_rows(named=True):
        year, words = VISION[row["condition"]]
        value = f"{row['value']}{'%' if row['unit'] == '%' else ''}"
        rows.append((year, row["condition"].partition(" (")[0], value, words))
    rows.sort()
    said = [f"{study}: {value} {words}" for _, study, value, words in rows]
    return Chart(
        draw=partial(_draw_vision, rows=rows),
        data=pl.DataFrame(rows, schema=["year", "study", "value", "finding"], orient="row"),
        alt_text=f"List of {len(rows)} studies of networks and visual cortex. {'. '.join(said)}.",
        size=(WIDTH, 3.1),
    )


def memory(table: pl.DataFrame) -> Chart:
    """Memory systems of a brain beside the stores of a model."""
    known = {
        row["quantity"]: f"{row['value']} {row['unit']}".strip()
        for row in table.filter(output_id="fig_memory").iter_rows(named=True)
    }
    replay = table.filter(output_id="stat_memory")["value"].item()
    detail = {"consolidation": f"replay in sleep,\n{replay} times compressed"}
    rows = [
        (system, detail.get(system, known.get(left, "")), store, known.get(right, ""))
        for system, left, store, right in MEMORY
    ]
    said = [
        f"{_with(system, size)}: {words if words == 'none' else _with(store, words)}"
        for system, size, store, words in rows
    ]
    return Chart(
        draw=partial(_draw_memory, rows=rows),
        data=pl.DataFrame(rows, schema=["brain", "size", "model", "model_size"], orient="row"),
        alt_text=f"Table of {len(rows)} memory systems and a model's stores. {'; '.join(said)}.",
        size=(WIDTH, 3.1),
    )


def dopamine(errors: pl.DataFrame) -> Chart:
    """One panel a trial."""
    names = errors["trial"].unique(maintain_order=True).to_list()
    # The same number of quiet steps stands on both sides.
    times = numbers(errors, "time")
    juice = int(times.max() + times.min())
    said = []
    for name in names:
        own = dict(errors.filter(trial=name).select("time", "error").iter_rows())
        said.append(f"{name} {_plain(own[0])} at the cue and {_plain(own[juice])} at the juice")
    return Chart(
        draw=partial(_draw_dopamine, errors=errors, names=names, juice=juice),
        data=errors,
        alt_text=(
            f"{len(names)} panels of the prediction error of a temporal-difference model over a"
            f" trial, with a cue at step 0 and juice at step {juice}: {'; '.join(said)}."
        ),
        size=(WIDTH, 2.7),
    )


def _with(name: str, words: str) -> str:
    """A name with what is said of it in brackets."""
    return f"{name} ({' '.join(words.split())})" if words else name


def _plain(value: float) -> str:
    return f"{round(value, 3) + 0.0:g}".replace("-", "\N{MINUS SIGN}")


def _draw_vision(figure: Figure, theme: Theme, *, rows: list[tuple[int, str, str, str]]) -> None:
    ax = sheet(figure, 31)
    ax.plot([9.2, 9.2], [3.2, 27.6], color=theme.muted, linewidth=1.4)
    for number, (year, study, value, words) in enumerate(rows):
        y = 27.6 - 6.1 * number
        ax.plot([9.2], [y], marker="o", markersize=8, color=theme.colour(0))
        ax.text(7.6, y, str(year), ha="right", va="center", fontweight="bold")
        ax.text(
            11.2, y, value, va="center", fontsize=FONT + 2, fontweight="bold", color=theme.ink(0)
        )
        ax.text(23.5, y + 1.1, study, va="center", fontsize=SMALL, color=theme.muted)
        ax.text(23.5, y - 1.5, "\n".join(textwrap.wrap(words, 48)), va="center", fontsize=SMALL)


def _draw_memory(figure: Figure, theme: Theme, *, rows: list[tuple[str, str, str, str]]) -> None:
    ax = sheet(figure, 31)
    for left, title in ((1, "Brain"), (30, "Model")):
        ax.text(left + 12.5, 28.4, title, ha="center", fontweight="bold", fontsize=FONT)
    for number, (system, size, store, words) in enumerate(rows):
        low = 20.4 - 6.6 * number
        absent = words == "none"
        owned = f"{system}\n{size}" if size else system
        right = "none" if absent else "\n".join([store, *textwrap.wrap(words, 34)])
        word_box(ax, theme, (1, low), (25, 5.9), owned, series=0)
        word_box(ax, theme, (30, low), (25, 5.9), right, series=1 if absent else 2, bold=absent)
        ax.plot(
            [26, 30],
            [low + 2.95] * 2,
            color=theme.muted,
            linewidth=1.2,
            linestyle="--" if absent else "-",
        )


def _draw_dopamine(
    figure: Figure, theme: Theme, *, errors: pl.DataFrame, names: list[str], juice: int
) -> None:
    panels = figure.subplots(1, len(names), sharey=True)
    for ax, name in zip(panels, names, strict=True):
        own = errors.filter(trial=name)
        time, values = numbers(own, "time"), numbers(own, "error")
        ax.axhline(0, color=theme.muted, linewidth=0.8)
        ax.vlines(time, 0, values, color=theme.colour(0), linewidth=2.6)
        ax.plot(time, values, linestyle="none", marker="o", markersize=3.4, color=theme.colour(0))
        for moment, words in ((0, "cue"), (juice, "juice")):
            ax.vlines(
                moment, -1.2, 1.16, color=theme.muted, linewidth=1.0, linestyle="--", zorder=1
            )
            withheld = words == "juice" and "withheld" in name
            ax.text(moment, 1.26, "no juice" if withheld else words, ha="center", fontsize=SMALL)
        ax.set_title(name.replace("withheld ", "withheld\n").capitalize(), loc="center")
        ax.set_ylim(-1.2, 1.5)
        ax.set_xlim(float(time[0]) - 0.5, float(time[-1]) + 0.5)
        label_axes(ax, x="step of the trial", y="prediction error" if name == names[0] else "")
