"""Drawings: the whole path, words and patches, the model in short, and the course."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from remeasure.draw.boxes import Box, draw_arrow, draw_box, draw_frame
from remeasure.draw.chart import WIDTH, Chart, save_chart
from remeasure.draw.flow import Flow, Stage, flow_chart
from remeasure.draw.style import FONT, SMALL, Theme
from remeasure.report.numbers import grouped
from remeasure.studies.vit.published import printed, rows

#: The path of a photograph; numbers are filled in from the published rows.
HERO = "ViT-B/16 at 224 px"

#: Boxes of the drawing of two embeddings, in tenths of an inch.
EMBEDDINGS = (
    Box("a word", 1, 17, 10, 7, "number of its\ntoken", series=0),
    Box("a table", 17, 17, 17, 7, "a row for each token:\nproduct with a single 1", series=4),
    Box("a vector", 40, 17, 11, 7, "learned", series=2),
    Box("a patch", 1, 4, 10, 7, "16 × 16 pixels,\n{numbers} numbers", series=1),
    Box("a matrix", 17, 4, 17, 7, "every number counts;\na bias is added", series=4),
    Box("a vector", 40, 4, 11, 7, "learned", series=2),
)


def fig_hero(
    *,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """From pixels to a class.

    Parameters
    ----------
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    save_chart(hero(), light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def fig_embedding(
    *,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Words and patches.

    Parameters
    ----------
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = embedding()
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def fig_passport(
    *,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """The model in short.

    Parameters
    ----------
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = passport()
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def fig_family(
    *,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Where the lesson stands in its course.

    Parameters
    ----------
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = family()
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def _hero(quantity: str) -> int:
    return int(printed("fig_hero", quantity, HERO))


def hero() -> Chart:
    """The path of a photograph through the model."""
    image, patch, grid = (_hero(f"{part} side") for part in ("image", "patch", "grid"))
    flow = Flow(
        stages=(
            Stage("photo", f"{image} × {image}\npixels", 0),
            Stage(
                "patches",
                f"{grid} × {grid} of\n{patch} × {patch} px,\n{_hero('numbers per patch')} values",
                1,
            ),
            Stage(
                "vectors",
                f"{_hero('patches')} and the\nclass token,\n{_hero('vector width')} wide",
                2,
            ),
            Stage(
                "blocks",
                f"{_hero('encoder blocks')} over\n{_hero('sequence length')} tokens\nand places",
                3,
            ),
            Stage("class", "read from\nthe class\ntoken", 5),
        ),
        height=1.5,
    )
    return flow_chart(flow, f"How a Vision Transformer reads a photograph of {image} pixels:")


def embedding() -> Chart:
    """A word picks a row, a patch is multiplied."""
    count = int(printed("fig_embedding", "numbers per patch", "flattened"))
    boxes = tuple(
        Box(b.title, b.x, b.y, b.width, b.height, b.text.format(numbers=count), b.series)
        for b in EMBEDDINGS
    )
    data = pl.DataFrame(
        {"box": [b.title for b in boxes], "text": [" ".join(b.text.split()) for b in boxes]}
    )
    return Chart(
        draw=partial(_embedding, boxes=boxes),
        data=data,
        alt_text=(
            "Two ways to a vector. A word's token picks one row of a table, a product with a single"
            f" 1. A patch of {count} numbers is multiplied by a matrix, and a bias is added."
        ),
        size=(WIDTH, 2.7),
    )


def _embedding(figure: Figure, theme: Theme, *, boxes: tuple[Box, ...]) -> None:
    ax = figure.add_subplot()
    ax.set_axis_off()
    for box in boxes:
        draw_box(ax, theme, box)
    for left, right in ((0, 1), (1, 2), (3, 4), (4, 5)):
        draw_arrow(ax, boxes[left].side("right"), boxes[right].side("left"), colour=theme.muted)
    ax.set_xlim(0, 52)
    ax.set_ylim(2, 26)


def passport() -> Chart:
    """Quoted facts as a card."""
    facts = [
        (row.quantity, " ".join(part for part in (grouped(row.published), row.unit) if part))
        for row in rows().values()
        if row.output_id == "fig_passport"
    ]
    facts = [
        (name, value.removesuffix(" date").replace("numbers", "").strip()) for name, value in facts
    ]
    return Chart(
        draw=partial(_passport, facts=facts),
        data=pl.DataFrame(facts, schema=["fact", "value"], orient="row"),
        alt_text="ViT-B/16 as the article quotes it: "
        + "; ".join(f"{name} {value}" for name, value in facts)
        + ".",
        size=(WIDTH, 0.5 + 0.24 * len(facts)),
    )


def _passport(figure: Figure, theme: Theme, *, facts: list[tuple[str, str]]) -> None:
    ax = figure.add_subplot()
    ax.set_axis_off()
    height = len(facts) + 1.6
    draw_frame(ax, theme, (0, 0), (10, height), series=3, rounding=0.4, pale=0.93)
    ax.text(0.4, height - 0.8, "ViT-B/16", fontsize=FONT + 1.5, fontweight="bold", va="center")
    for place, (name, value) in enumerate(facts):
        y = height - 1.8 - place
        ax.text(0.4, y, name, fontsize=FONT, va="center", color=theme.muted)
        ax.text(4.6, y, value, fontsize=FONT, va="center")
    ax.set_xlim(-0.1, 10.1)
    ax.set_ylim(-0.1, height + 0.1)


def family() -> Chart:
    """The lessons of the course in a row: done, this one, still to come."""
    this = int(next(r for r in rows().values() if r.quantity == "highlighted lesson").published)
    done = int(next(r for r in rows().values() if r.quantity == "lessons marked done").published)
    condition = next(k[2] for k in rows() if k[:2] == ("fig_family", "highlighted lesson"))
    every = int(condition.rpartition(" ")[2])
    state = ["done" if n <= done else "this one" if n == this else "to come"
             for n in range(1, every + 1)]  # fmt: skip
    return Chart(
        draw=partial(_family, state=state),
        data=pl.DataFrame({"lesson": range(1, every + 1), "state": state}),
        alt_text=(
            f"A course of {every} lessons on Transformer architectures: {done} are done, lesson"
            f" {this} is this one, the Vision Transformer, and {every - this} are still to come."
        ),
        size=(WIDTH, 1.25),
    )


def _family(figure: Figure, theme: Theme, *, state: list[str]) -> None:
    ax = figure.add_subplot()
    ax.set_axis_off()
    series = {"done": 2, "this one": 3, "to come": 4}
    ax.plot([0, len(state) - 1], [0, 0], color=theme.muted, linewidth=1.2, zorder=1)
    for place, each in enumerate(state):
        this = each == "this one"
        ax.plot(
            place, 0, "o", markersize=20 if this else 17, markeredgewidth=1.3,
            markeredgecolor=theme.colour(series[each]),
            markerfacecolor=theme.background if each == "to come" else theme.colour(series[each]),
        )  # fmt: skip
        colour = theme.text if each == "to come" else theme.background
        ax.text(place, 0, str(place + 1), ha="center", va="center", fontsize=SMALL, color=colour)
    here = state.index("this one")
    ax.text(here, 0.62, "Vision Transformer", ha="center", fontsize=FONT, fontweight="bold")
    ax.text((here - 1) / 2, -0.85, "done", ha="center", fontsize=SMALL, color=theme.ink(2))
    ax.text((here + len(state)) / 2, -0.85, "to come", ha="center", fontsize=SMALL,
            color=theme.muted)  # fmt: skip
    ax.set_xlim(-0.6, len(state) - 0.4)
    ax.set_ylim(-1.1, 1.1)
