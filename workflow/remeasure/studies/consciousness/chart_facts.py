"""Figures of quoted numbers: the survey, the test of two theories, the patients."""

from __future__ import annotations

from functools import partial
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.chart import WIDTH, Chart, numbers
from remeasure.draw.panels import sheet, squares, word_box
from remeasure.draw.style import FONT, SMALL, Theme, label_axes
from remeasure.studies.consciousness.essay import GRIDS, QUESTIONS, number, survey

#: The questions as they stand over their bars.
TITLES = {
    "mind": "The mind",
    "is there a hard problem": "Is there a hard problem?",
    "zombies": "Zombies",
    "consciousness": "Consciousness",
}

#: Colour and mark of a verdict.
VERDICTS = {"pass": (2, "✓"), "mixed": (5, "~"), "fail": (1, "✗")}

#: Theories in the order of the columns, and the predictions in that of the rows.
TESTED = ("integrated information theory", "the global workspace")

#: Height of a square and its gap in tenths of an inch.
PITCH = 1.24


def survey_chart(table: pl.DataFrame) -> Chart:
    """Four panels of horizontal bars."""
    answers = survey(table)
    said = []
    for question in QUESTIONS:
        own = answers.filter(question=question)
        parts = [f"{row['answer']} {row['share']:.0f}" for row in own.iter_rows(named=True)]
        said.append(f"{TITLES[question].rstrip('?')}: {', '.join(parts)}")
    people = number(table, "stat_survey", "philosophers surveyed")
    return Chart(
        draw=partial(_draw_survey, answers=answers, people=people),
        data=answers,
        alt_text=(
            f"{len(QUESTIONS)} bar charts of the percentage of {people:,} philosophers who accept"
            f" or lean toward an answer (Bourget and Chalmers 2023). {'; '.join(said)}. Other"
            " answers are left out, so shares do not add up to 100."
        ),
        size=(WIDTH, 4.9),
    )


def cogitate(table: pl.DataFrame) -> Chart:
    """Three predictions of two theories and the verdict on each."""
    own = table.filter(
        pl.col("output_id") == "fig_cogitate", pl.col("quantity").str.starts_with("verdict for ")
    ).select(
        pl.col("quantity").str.strip_prefix("verdict for ").alias("theory"),
        pl.col("condition").alias("prediction"),
        pl.col("value").alias("verdict"),
    )
    said = [
        f"{prediction}: " + ", ".join(f"{row['theory']} {row['verdict']}" for row in rows)
        for prediction, rows in _by_prediction(own).items()
    ]
    people, electrodes, lit = (
        number(table, "fig_cogitate", each)
        for each in ("participants", "prefrontal electrodes", "electrodes with offset ignition")
    )
    foot = (
        f"{people} participants; ignition at the stimulus's end in {lit} of {electrodes}"
        " prefrontal electrodes"
    )
    return Chart(
        draw=partial(_draw_cogitate, verdicts=own, foot=foot),
        data=own,
        alt_text=(
            f"Table of {len(said)} predictions of two theories with the essay's verdicts on the"
            f" test (Cogitate Consortium 2025). {'; '.join(said)}. {foot[0].upper()}{foot[1:]}."
        ),
        size=(WIDTH, 2.8),
    )


def patients(cells: pl.DataFrame) -> Chart:
    """Two grids of squares, one square a patient."""
    known = {}
    for grid in GRIDS:
        own = cells.filter(grid=grid)
        known[grid] = (own.filter("filled").height, own.height)
    said = [
        f"of {of} patients who {grid} at the bedside, {count} ({100 * count / of:.1f} percent)"
        " showed awareness in the scanner or the EEG"
        for grid, (count, of) in known.items()
    ]
    rows = max(int(cells["row"].max() or 0) + 1, 1)  # type: ignore[arg-type]
    return Chart(
        draw=partial(_draw_patients, cells=cells, known=known),
        data=cells,
        alt_text=(f"Two grids of squares, one a patient (Bodien et al. 2024): {'; '.join(said)}."),
        size=(WIDTH, 0.1 * (rows * PITCH + 8.5)),
    )


def _by_prediction(verdicts: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in verdicts.iter_rows(named=True):
        found.setdefault(row["prediction"], []).append(row)
    return found


def _draw_survey(figure: Figure, theme: Theme, *, answers: pl.DataFrame, people: int) -> None:
    heights = [answers.filter(question=question).height for question in QUESTIONS]
    panels = figure.subplots(
        len(QUESTIONS), 1, sharex=True, height_ratios=[each + 0.6 for each in heights]
    )
    for series, (ax, question) in enumerate(zip(panels, QUESTIONS, strict=True)):
        _bars(ax, theme, answers.filter(question=question), series)
        ax.set_title(TITLES[question])
        ax.set_ylabel("answer")
    panels[-1].set_xlim(0, 72)
    label_axes(
        panels[-1],
        x=f"share of {people:,} philosophers who accept or lean toward",
        y="answer",
        x_unit="%",
    )


def _bars(ax: Axes, theme: Theme, own: pl.DataFrame, series: int) -> None:
    places = list(range(own.height))
    share = numbers(own, "share")
    ax.barh(places, share, height=0.7, color=theme.colour(series))
    for place, value in zip(places, share, strict=True):
        ax.text(float(value) + 0.8, place, f"{value:.0f}%", va="center", fontsize=SMALL)
    names = [str(each).replace(" but not metaphysically", ",\nnot") for each in own["answer"]]
    ax.set_yticks(places, [each.replace("metaphysically ", "") for each in names])
    ax.set_ylim(own.height - 0.45, -0.55)
    ax.grid(visible=False)


def _draw_cogitate(figure: Figure, theme: Theme, *, verdicts: pl.DataFrame, foot: str) -> None:
    ax = sheet(figure, 28)
    lefts = {theory: 21.5 + 17.4 * number for number, theory in enumerate(TESTED)}
    for theory, left in lefts.items():
        words = theory.removeprefix("the ").replace(" theory", "\ntheory").replace("l w", "l\nw")
        ax.text(left + 8, 24.4, words, ha="center", va="center", fontweight="bold", fontsize=FONT)
    for place, (prediction, rows) in enumerate(_by_prediction(verdicts).items()):
        low = 16.2 - 5.8 * place
        ax.text(1, low + 2.5, prediction.replace("conscious ", "conscious\n"), va="center")
        for row in rows:
            series, mark = VERDICTS[row["verdict"]]
            word_box(
                ax,
                theme,
                (lefts[row["theory"]], low),
                (16, 5),
                f"{mark}  {row['verdict']}",
                series=series,
                bold=True,
                pale=0.7,
                fontsize=FONT,
            )
    ax.text(1, 1.4, foot, fontsize=SMALL, va="center")


def _draw_patients(
    figure: Figure, theme: Theme, *, cells: pl.DataFrame, known: dict[str, tuple[int, int]]
) -> None:
    height = 10 * figure.get_size_inches()[1]
    ax = sheet(figure, height)
    lefts = (1.5, 30.0)
    columns = int(cells["column"].max() or 0) + 1  # type: ignore[arg-type]
    pitch = min(PITCH, 25.0 / columns)
    for series, (left, (grid, (count, of))) in enumerate(zip(lefts, known.items(), strict=True)):
        own = cells.filter(grid=grid).select("column", "row", "filled")
        ax.text(left, height - 2.2, grid.capitalize(), fontweight="bold")
        ax.text(
            left,
            height - 4.5,
            f"{count} of {of} aware on the tests: {100 * count / of:.1f}%",
            fontsize=SMALL,
        )
        squares(ax, theme, own.rows(), corner=(left, height - 6.0), pitch=pitch, series=series)
