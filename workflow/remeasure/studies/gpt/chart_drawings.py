"""Drawings: the idea, the objective, two norms, the cache, GPT-2 in short, and the family."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from remeasure.draw.boxes import Box, draw_arrow, draw_box
from remeasure.draw.chart import WIDTH, Chart, listed, save_chart
from remeasure.draw.colour import mix
from remeasure.draw.style import FONT, SMALL, Theme
from remeasure.report.numbers import grouped
from remeasure.studies.gpt.published import rows

#: The text of the drawn objective; each character is a token of our model.
TEXT = ";1.e4 e5"


@dataclass(frozen=True)
class Arrow:
    """An arrow between two points with words beside it."""

    start: tuple[float, float]
    end: tuple[float, float]
    text: str = ""
    above: float = 1.2
    series: int | None = None


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
    """Characters in, the next one out, and a probe that reads the board.

    Parameters
    ----------
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = hero()
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def fig_objective(
    *,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Targets moved by one place, and the triangular mask.

    Parameters
    ----------
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = objective()
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def fig_prenorm(
    *,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Where the norm stands in a block.

    Parameters
    ----------
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = norms()
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def fig_kvcache(
    *,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """What is kept and what is computed.

    Parameters
    ----------
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = cache()
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
    """Quoted facts on GPT-2.

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
    """Three families of Transformers.

    Parameters
    ----------
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.
    """
    chart = family()
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def hero() -> Chart:
    """Three boxes in a row, two below."""
    boxes = [
        Box("A game", 0, 11, 14, 7.5, ";1.e4 e5 2.Nf3\nNc6 3.Bb"),
        Box("Chess GPT", 21, 11, 14, 7.5, "layers of attention\nand networks", 4),
        Box("Next character", 42, 11, 14, 7.5, "5", 2),
        Box("Linear probe", 21, 0.5, 14, 7, "one map\na layer", 1),
        Box("A board", 42, 0.5, 14, 7, "what stands on\n64 squares?", 3),
    ]
    arrows = [
        Arrow((14, 14.7), (21, 14.7), "reads"),
        Arrow((35, 14.7), (42, 14.7), "guesses"),
        Arrow((28, 11), (28, 7.5), series=1),
        Arrow((35, 4), (42, 4), "sees", series=1),
    ]
    return _chart(
        boxes,
        arrows,
        1.9,
        "Drawing. A game as text goes into a chess GPT, which guesses the next character. A linear"
        " probe on its states is asked for the board.",
    )


def norms() -> Chart:
    """Two columns: norms after the sum, and before each half block."""
    columns = (
        ("post-norm (GPT-1)", ("Attention", "Add", "Norm", "Network", "Add", "Norm")),
        ("pre-norm (GPT-2)", ("Norm", "Attention", "Add", "Norm", "Network", "Add")),
    )
    series = {"Norm": 1, "Attention": 0, "Network": 0, "Add": 4}
    boxes, arrows = [], []
    for column, (title, parts) in enumerate(columns):
        x = 5.0 + 28 * column
        arrows.append(Arrow((x + 9, 33), (x + 9, 33), title, above=0))
        for place, part in enumerate(parts):
            y = 27.0 - 5.2 * place
            boxes.append(Box(part, x + 2, y, 14, 3.6, "", series[part]))
            if place:
                arrows.append(Arrow((x + 9, y + 5.2), (x + 9, y + 3.6)))
    return _chart(
        boxes,
        arrows,
        3.5,
        "Drawing of two blocks from top to bottom. Post-norm, as in GPT-1: "
        + listed(part.lower() for part in columns[0][1])
        + ". Pre-norm, as in GPT-2: "
        + listed(part.lower() for part in columns[1][1])
        + ". In pre-norm the sums are never normed, so a straight way leads through all blocks.",
    )


def family() -> Chart:
    """Three boxes; the decoders are this study's."""
    boxes = [
        Box("Encoders", 0, 1, 16.5, 9, "read both ways:\nBERT and its kin", 4),
        Box("Encoder-decoders", 19.5, 1, 16.5, 9, "read, then write:\nT5, BART", 4),
        Box("Decoders", 39, 1, 16.5, 9, "write on: GPT\n(this study)", 1),
        Box("Transformer, 2017", 18, 14, 19.5, 5, "", 0),
    ]
    arrows = [Arrow((27.7, 14), (x, 10)) for x in (8.2, 27.7, 47.2)]
    return _chart(
        boxes,
        arrows,
        2.0,
        "Drawing of three families that come from the Transformer of 2017: encoders such as BERT,"
        " encoder-decoders such as T5 and BART, and decoders such as GPT, which this study"
        " measures.",
    )


def objective() -> Chart:
    """Tokens, their targets, and who may look at whom."""
    pairs = list(pairwise(TEXT))
    data = pl.DataFrame(
        [(place, a, b, place + 1) for place, (a, b) in enumerate(pairs)],
        schema=["place", "token", "target", "tokens_seen"],
        orient="row",
    )
    return Chart(
        draw=partial(_draw_objective, pairs=pairs),
        data=data,
        alt_text=(
            f"Drawing of {len(pairs)} tokens, each with the next one as its target: "
            + listed(f"{_shown(a)} to {_shown(b)}" for a, b in pairs)
            + ". Beside it a square mask whose lower triangle is filled: each token sees itself"
            " and those before it."
        ),
        size=(WIDTH, 2.7),
    )


def cache() -> Chart:
    """Two rows of tokens: all computed, or one computed and the others kept."""
    data = pl.DataFrame(
        [
            (way, place, "computed" if way == "without" or place == _LAST else "kept")
            for way in ("without", "with")
            for place in range(_LAST + 1)
        ],
        schema=["cache", "token", "keys_and_values"],
        orient="row",
    )
    return Chart(
        draw=_draw_cache,
        data=data,
        alt_text=(
            f"Drawing of {_LAST + 1} tokens, twice. Without a cache, keys and values of all"
            f" {_LAST + 1} are computed for the next token. With a cache {_LAST} of them are kept"
            " and only the newest is computed; its query looks at all."
        ),
        size=(WIDTH, 2.5),
    )


def passport() -> Chart:
    """Facts in two columns."""
    facts = [
        (
            row.quantity,
            row.published if row.unit == "date" else f"{grouped(row.published)} {row.unit}".strip(),
        )
        for row in rows().values()
        if row.output_id == "fig_passport"
    ]
    said = "; ".join(f"{name}: {value}" for name, value in facts)
    return Chart(
        draw=partial(_draw_passport, facts=facts),
        data=pl.DataFrame(facts, schema=["fact", "value"], orient="row"),
        alt_text=f"Quoted facts on GPT-2. {said}.",
        size=(WIDTH, 0.27 * len(facts) + 0.45),
    )


# --- drawing --------------------------------------------------------------------------------

#: Number of the newest token of the drawn cache.
_LAST = 6


def _shown(letter: str) -> str:
    return "a space" if letter == " " else letter


def _chart(boxes: list[Box], arrows: list[Arrow], height: float, alt_text: str) -> Chart:
    lines = [("box", box.title, " ".join(box.text.split())) for box in boxes]
    lines += [("arrow", arrow.text, "") for arrow in arrows]
    return Chart(
        draw=partial(_draw, boxes=boxes, arrows=arrows, height=10 * height),
        data=pl.DataFrame(lines, schema=["kind", "title", "text"], orient="row"),
        alt_text=alt_text,
        size=(WIDTH, height),
    )


def _field(figure: Figure, height: float) -> Axes:
    """An axes without scales whose unit is a tenth of an inch."""
    ax = figure.add_subplot()
    ax.set_axis_off()
    ax.set_xlim(-0.4, 10 * WIDTH + 0.4)
    ax.set_ylim(0, height)
    return ax


def _draw(
    figure: Figure, theme: Theme, *, boxes: list[Box], arrows: list[Arrow], height: float
) -> None:
    ax = _field(figure, height)
    for box in boxes:
        if box.text:
            draw_box(ax, theme, box)
        else:
            draw_box(ax, theme, Box("", box.x, box.y, box.width, box.height, "", box.series))
            middle = (box.x + box.width / 2, box.y + box.height / 2)
            ax.text(*middle, box.title, ha="center", va="center", fontsize=FONT, fontweight="bold")
    for arrow in arrows:
        colour = theme.muted if arrow.series is None else theme.colour(arrow.series)
        if arrow.start != arrow.end:
            draw_arrow(ax, arrow.start, arrow.end, colour=colour)
        if arrow.text:
            x = (arrow.start[0] + arrow.end[0]) / 2
            y = (arrow.start[1] + arrow.end[1]) / 2 + arrow.above
            ax.text(x, y, arrow.text, ha="center", va="center", fontsize=SMALL)


def _cell(
    ax: Axes, theme: Theme, corner: tuple[float, float], size: float, text: str, series: int | None
) -> None:
    """A square with a letter; without a colour it is empty."""
    colour = theme.muted if series is None else theme.colour(series)
    face = theme.background if series is None else mix(colour, theme.background, 0.75)
    ax.add_patch(Rectangle(corner, size, size, facecolor=face, edgecolor=colour, linewidth=0.9))
    middle = (corner[0] + size / 2, corner[1] + size / 2)
    ax.text(*middle, text, ha="center", va="center", fontsize=FONT, family="monospace")


def _draw_objective(figure: Figure, theme: Theme, *, pairs: list[tuple[str, str]]) -> None:
    ax = _field(figure, 27)
    size, gap = 3.2, 3.9
    for place, (token, target) in enumerate(pairs):
        x = 0.5 + gap * place
        _cell(ax, theme, (x, 5.5), size, token.replace(" ", "\N{OPEN BOX}"), 0)
        _cell(ax, theme, (x, 16.5), size, target.replace(" ", "\N{OPEN BOX}"), 2)
        draw_arrow(ax, (x + size / 2, 9.2), (x + size / 2, 16.2), colour=theme.muted)
    ax.text(0.5, 2.8, "read", fontsize=SMALL, va="center")
    ax.text(0.5, 22.6, "to be guessed: the next token", fontsize=SMALL, va="center")
    small, left = 2.6, 35.5
    for row in range(len(pairs)):
        for column in range(len(pairs)):
            seen = column <= row
            corner = (left + small * column, 4.0 + small * (len(pairs) - 1 - row))
            _cell(ax, theme, corner, small, "", 0 if seen else None)
        letter = pairs[row][0].replace(" ", "\N{OPEN BOX}")
        y = 4.0 + small * (len(pairs) - 0.5 - row)
        ax.text(left - 1.3, y, letter, ha="center", va="center", fontsize=SMALL, family="monospace")
    ax.text(left, 24.2, "each sees what is filled", fontsize=SMALL, va="center")


def _draw_cache(figure: Figure, theme: Theme) -> None:
    ax = _field(figure, 25)
    size, gap, left = 3.2, 4.6, 17.0
    for row, (title, y) in enumerate((("without a cache", 15.0), ("with a cache", 4.0))):
        ax.text(0, y + size / 2, title, va="center", fontsize=FONT, fontweight="bold")
        for place in range(_LAST + 1):
            fresh = row == 0 or place == _LAST
            corner = (left + gap * place, y)
            _cell(ax, theme, corner, size, f"{place + 1}", 1 if fresh else 4)
            if place < _LAST:
                start = (left + gap * _LAST + size / 2, y + size)
                end = (left + gap * place + size / 2, y + size)
                ax.annotate(
                    "",
                    end,
                    xytext=start,
                    arrowprops={
                        "arrowstyle": "-|>",
                        "color": theme.muted,
                        "linewidth": 0.8,
                        "connectionstyle": "arc3,rad=0.22",
                    },
                )
    for x, text, series in ((left, "computed now", 1), (left + 18, "kept from before", 4)):
        _cell(ax, theme, (x, 0.2), 1.8, "", series)
        ax.text(x + 2.6, 1.1, text, va="center", fontsize=SMALL)


def _draw_passport(figure: Figure, theme: Theme, *, facts: list[tuple[str, str]]) -> None:
    height = 2.7 * len(facts) + 4.0
    ax = _field(figure, height)
    ax.text(0.5, height - 2.2, "GPT-2", fontsize=FONT + 2, fontweight="bold", va="center")
    for number, (name, value) in enumerate(facts):
        y = height - 5.0 - 2.7 * number
        ax.text(0.5, y, name, va="center", fontsize=FONT, color=theme.muted)
        ax.text(31, y, value, va="center", fontsize=FONT)
        ax.axhline(y + 1.35, color=theme.grid, linewidth=0.8)
