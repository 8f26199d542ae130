"""Drawings: three forms of the free energy, the hierarchy, the blanket, and the scorecard."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.boxes import Box, draw_arrow, draw_box, draw_frame
from remeasure.draw.chart import WIDTH, Chart, listed, save_chart
from remeasure.draw.style import FONT, SMALL, Theme
from remeasure.store.frames import read_json
from remeasure.studies.free_energy.published import rows


@dataclass(frozen=True)
class Arrow:
    """An arrow between two points with a word beside it; ``bend`` curves it."""

    start: tuple[float, float]
    end: tuple[float, float]
    text: str = ""
    bend: float = 0.0
    series: int | None = None


#: Words of the three forms, by the names that ``forms.forms`` gives them.
FORMS = {
    "energy minus entropy": ("F = energy − entropy", "E[−ln p(u, v)] − H[q]", "can be computed"),
    "divergence plus surprisal": (
        "F = divergence + surprisal",
        "KL[q ‖ p(v | u)] − ln p(u)",
        "shows the bound: a divergence is never below 0",
    ),
    "complexity minus accuracy": (
        "F = complexity − accuracy",
        "KL[q ‖ p(v)] − E[ln p(u | v)]",
        "shows the trade: simple beliefs against a good fit",
    ),
}

#: Colours of the scorecard: the first word of a verdict that matches counts.
TONES = {"true": 2, "supported": 2, "mixed": 5, "weak": 1, "contested": 1, "not": 4}


def fig_decompose(
    *,
    forms_file: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Three ways to write the free energy.

    Parameters
    ----------
    forms_file
        JSON, as ``forms.measure_forms`` writes it.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = decompose(read_json(forms_file))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def fig_hierarchy(
    *,
    forms_file: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Predictions go down, errors go up.

    Parameters
    ----------
    forms_file
        JSON, as ``forms.measure_forms`` writes it.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = hierarchy(read_json(forms_file))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def fig_blanket(
    *,
    forms_file: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """What a Markov blanket separates.

    Parameters
    ----------
    forms_file
        JSON, as ``forms.measure_forms`` writes it.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = blanket(read_json(forms_file))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def fig_evidence(
    *,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """The scorecard of claims.

    Parameters
    ----------
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and origin (there is no data), as in ``draw.save.save_figure``.
    """
    chart = evidence()
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def decompose(found: dict[str, Any]) -> Chart:
    """One box a form; only forms that were found equal are drawn."""
    kept = [FORMS[name] for name in found["forms"]]
    # The first form stands on top.
    boxes = [
        Box(title, 6, 8.2 * (len(kept) - 1 - index) + 1, 44, 6.8, f"{formula}\n{words}", index)
        for index, (title, formula, words) in enumerate(kept)
    ]
    said = [f"{title}, {formula}, which {words}" for title, formula, words in kept]
    return Chart(
        draw=partial(_draw, boxes=boxes, arrows=[], height=8.2 * len(boxes) + 0.4),
        data=_data(boxes, []),
        alt_text=f"Drawing of {len(kept)} ways to write one number: {'; '.join(said)}.",
        size=(WIDTH, 0.82 * len(boxes) + 0.1),
    )


def hierarchy(found: dict[str, Any]) -> Chart:
    """Levels from left to right; predictions one way, errors the other."""
    levels = found["levels"]
    width, gap = 10.0, 5.0
    boxes = [
        Box(
            level.capitalize(),
            number * (width + gap),
            6.5,
            width,
            7.5,
            _level(number, len(levels)),
            4 if number == 0 else 0,
        )
        for number, level in enumerate(levels)
    ]
    arrows = []
    for low, high in pairwise(boxes):
        arrows += [
            Arrow((high.x, 12.4), (low.x + width, 12.4), series=0),
            Arrow((low.x + width, 8.6), (high.x, 8.6), series=1),
        ]
    middle = (boxes[0].x + boxes[-1].x + width) / 2
    arrows += [
        Arrow((middle, 16.6), (middle, 16.6), "predictions go down, to the senses", series=0),
        Arrow((middle, 3.4), (middle, 3.4), "errors go up, weighted by their precision", series=1),
    ]
    return Chart(
        draw=partial(_draw, boxes=boxes, arrows=arrows, height=20.0),
        data=_data(boxes, arrows),
        alt_text=(
            f"Drawing of {len(levels) - 1} levels above the senses, in a row: {listed(levels[1:])}."
            " Each level sends a prediction to the level below it; each sends back its prediction"
            " error, weighted by precision, to the level above."
        ),
        size=(WIDTH, 2.0),
    )


def blanket(found: dict[str, Any]) -> Chart:
    """Four kinds of state; nothing links inside and outside directly."""
    words = {
        "external": "the world\noutside",
        "sensory": "what reaches\nthe system",
        "active": "what the\nsystem does",
        "internal": "what goes\non inside",
    }
    places = {"external": (0, 8.5), "sensory": (20, 15), "active": (20, 2), "internal": (40, 8.5)}
    boxes = [
        Box(
            name.capitalize(),
            *places[name],
            15,
            8,
            words[name],
            1 if name in ("sensory", "active") else 0,
        )
        for name in found["parts"]
    ]
    arrows = [
        Arrow((11, 16.5), (20, 20)),
        Arrow((35, 20), (44, 16.5)),
        Arrow((44, 8.5), (35, 5)),
        Arrow((20, 5), (11, 8.5)),
    ]
    covariance = abs(float(found["covariance_given_blanket"]))
    return Chart(
        draw=partial(_draw, boxes=boxes, arrows=arrows, height=25.0),
        data=_data(boxes, arrows),
        alt_text=(
            "Drawing of a Markov blanket. External states act on sensory ones, these on internal"
            " ones, these on active ones, and these on external ones. External and internal states"
            " touch only through the blanket of sensory and active states: in a Gaussian example"
            f" their covariance, given the blanket, is {covariance:g}."
        ),
        size=(WIDTH, 2.5),
    )


def evidence() -> Chart:
    """One line a claim, its verdict in a coloured cell."""
    claims = [
        (row.condition, row.published)
        for row in rows().values()
        if row.output_id == "fig_evidence" and row.kind == "cited"
    ]
    said = [f"{claim}: {verdict}" for claim, verdict in claims]
    return Chart(
        draw=partial(_draw_evidence, claims=claims),
        data=pl.DataFrame(claims, schema=["claim", "verdict"], orient="row"),
        alt_text=f"Scorecard of {len(claims)} claims with the essay’s verdicts. {'; '.join(said)}.",
        size=(WIDTH, 0.42 * len(claims) + 0.1),
    )


def _level(number: int, count: int) -> str:
    if number == 0:
        return "what arrives"
    return (
        "fast, local\ncauses"
        if number == 1
        else "slow, global\ncauses"
        if number == count - 1
        else "causes of\ncauses"
    )


def _data(boxes: list[Box], arrows: list[Arrow]) -> pl.DataFrame:
    lines = [("box", box.title, " ".join(box.text.split())) for box in boxes]
    lines += [("arrow", arrow.text, "") for arrow in arrows]
    return pl.DataFrame(lines, schema=["kind", "title", "text"], orient="row")


def _draw(
    figure: Figure, theme: Theme, *, boxes: list[Box], arrows: list[Arrow], height: float
) -> None:
    ax = figure.add_subplot()
    ax.set_axis_off()
    ax.set_xlim(-0.6, 10 * WIDTH + 0.2)
    ax.set_ylim(0, height)
    for box in boxes:
        draw_box(ax, theme, box)
    for arrow in arrows:
        _arrow(ax, theme, arrow)


def _arrow(ax: Axes, theme: Theme, arrow: Arrow) -> None:
    colour = theme.muted if arrow.series is None else theme.colour(arrow.series)
    if arrow.start != arrow.end:
        draw_arrow(ax, arrow.start, arrow.end, colour=colour, bend=arrow.bend)
    if arrow.text:
        ink = theme.text if arrow.series is None else theme.ink(arrow.series)
        middle = ((arrow.start[0] + arrow.end[0]) / 2, (arrow.start[1] + arrow.end[1]) / 2)
        ax.text(*middle, arrow.text, ha="center", va="center", fontsize=SMALL, color=ink)


def _draw_evidence(figure: Figure, theme: Theme, *, claims: list[tuple[str, str]]) -> None:
    ax = figure.add_subplot()
    ax.set_axis_off()
    ax.set_xlim(-0.2, 10 * WIDTH + 0.2)
    ax.set_ylim(4.2 * len(claims), 0)
    for number, (claim, verdict) in enumerate(claims):
        y = 4.2 * number
        ax.text(0, y + 2.1, "\n".join(textwrap.wrap(claim, 48)), va="center", fontsize=FONT)
        word = verdict.replace(",", " ").split()[0]
        draw_frame(
            ax,
            theme,
            (34, y + 0.35),
            (21.6, 3.5),
            series=TONES.get(word, 0),
            rounding=0.6,
            pale=0.78,
        )
        ax.text(
            44.8,
            y + 2.1,
            "\n".join(textwrap.wrap(verdict, 28)),
            ha="center",
            va="center",
            fontsize=SMALL,
        )
