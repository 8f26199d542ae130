"""Drawings without data: how a trading agent is built, and how a crash reaches the winners."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.boxes import Box, Side, draw_arrow, draw_box
from remeasure.draw.chart import WIDTH, Chart, save_chart
from remeasure.draw.style import SMALL, Theme


@dataclass(frozen=True)
class Arrow:
    """What goes from one box to another; ``enters`` is moved along its side by ``shift``.

    A ``mark`` is a numbered point of attack on the arrow; 0 for none. ``bend`` curves it.
    """

    start: str
    end: str
    leaves: Side = "right"
    enters: Side = "left"
    shift: float = 0.0
    mark: int = 0
    bend: float = 0.0
    text: str = ""


@dataclass(frozen=True)
class Drawing:
    """Boxes by name, arrows between them, and numbered points of attack on boxes.

    Attributes
    ----------
    height
        Of the figure in tenths of an inch; the width is that of all figures.
    marks
        By number: what the point of attack is.
    on_boxes
        By number: the box at whose upper right corner it stands.
    """

    boxes: dict[str, Box]
    arrows: tuple[Arrow, ...]
    height: float
    marks: dict[int, str]
    on_boxes: dict[int, str]

    def data(self) -> pl.DataFrame:
        """One row a box, an arrow and a point of attack."""
        rows = [("box", name, "", _line(box.title, box.text)) for name, box in self.boxes.items()]
        rows += [("arrow", each.start, each.end, each.text) for each in self.arrows]
        places = {each.mark: (each.start, each.end) for each in self.arrows}
        places |= {number: (box, "") for number, box in self.on_boxes.items()}
        rows += [("attack", *places[number], text) for number, text in self.marks.items()]
        return pl.DataFrame(
            rows, schema=dict.fromkeys(("kind", "from", "to", "text"), pl.String), orient="row"
        )


AGENT = Drawing(
    boxes={
        "prices": Box("Prices", 0, 25.5, 15.4, 5.5, "candles, order books"),
        "news": Box("News", 0, 18, 15.4, 5.5, "headlines, web pages"),
        "messages": Box("Messages", 0, 10.5, 15.4, 5.5, "posts, requests"),
        "model": Box(
            "Language model",
            21.4,
            17,
            14.6,
            14,
            "reads all inputs\nas one text,\nwrites the\nnext action",
            1,
        ),
        "memory": Box("Memory", 21.4, 10.5, 14.6, 4.2, "earlier notes", 0),
        "tools": Box("Tools and skills", 41.6, 25.5, 14, 5.5, "calls by name", 1),
        "checks": Box("Checks of risk", 41.6, 18, 14, 5.5, "limits, in plain code", 2),
        "exchange": Box("Exchange", 41.6, 10.5, 14, 5.5, "orders, keys, funds", 0),
    },
    arrows=(
        Arrow("prices", "model", shift=4),
        Arrow("news", "model", shift=-2.5, mark=1),
        Arrow("messages", "model", shift=-5, mark=2),
        Arrow("memory", "model", "top", "bottom"),
        Arrow("model", "tools", shift=0, mark=4),
        Arrow("tools", "checks", "bottom", "top"),
        Arrow("checks", "exchange", "bottom", "top"),
    ),
    height=34,
    marks={
        1: "forged or slanted news",
        2: "orders hidden in messages",
        3: "poisoned memory",
        4: "routers that change answers",
        5: "malicious skills",
        6: "stolen keys and accounts",
    },
    on_boxes={3: "memory", 5: "tools", 6: "exchange"},
)

CHAIN = Drawing(
    boxes={
        "liquidation": Box(
            "1 Liquidation",
            0.0,
            5,
            12.8,
            9.6,
            "Margin is gone,\nthe exchange\ncloses losing\npositions",
            0,
        ),
        "book": Box(
            "2 Thin book",
            14.4,
            5,
            12.8,
            9.6,
            "Forced orders\nfind few on the\nother side; some\nend below zero",
            0,
        ),
        "fund": Box(
            "3 Insurance",
            28.8,
            5,
            12.8,
            9.6,
            "The exchange’s\nfund takes the\nlosses beyond\nthe margin",
            2,
        ),
        "deleveraging": Box(
            "4 Deleveraging",
            43.2,
            5,
            12.8,
            9.6,
            "The fund is not\nenough; winning\npositions are\nclosed as well",
            1,
        ),
    },
    arrows=(
        Arrow("liquidation", "book"),
        Arrow("book", "fund"),
        Arrow("fund", "deleveraging"),
        Arrow(
            "book", "liquidation", "bottom", "bottom", bend=-0.35, text="the price falls further"
        ),
    ),
    height=17,
    marks={},
    on_boxes={},
)


def fig_agent(
    *,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """How a trading agent is built, and where it can be attacked.

    Parameters
    ----------
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and origin (``computed``: there is no data), as in ``draw.save.save_figure``.
    """
    chart = agent()
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def fig_crash_chain(
    *,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """The four steps from liquidation to auto-deleveraging.

    Parameters
    ----------
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and origin (``computed``: there is no data), as in ``draw.save.save_figure``.
    """
    chart = crash_chain()
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def agent() -> Chart:
    """The drawing of `fig_agent`."""
    places = [f"{number}, {text}" for number, text in AGENT.marks.items()]
    return Chart(
        draw=partial(_draw, drawing=AGENT),
        data=AGENT.data(),
        alt_text=(
            "Drawing of a trading agent. Prices, news, messages and its own memory reach a"
            " language model as one text. The model writes the next action and calls tools and"
            " skills by name; checks of risk in plain code stand between these and the exchange,"
            f" which holds the keys and the funds. Points of attack: {'; '.join(places)}."
        ),
        size=(WIDTH, AGENT.height / 10),
    )


def crash_chain() -> Chart:
    """The drawing of `fig_crash_chain`."""
    steps = [_line(box.title, box.text) for box in CHAIN.boxes.values()]
    return Chart(
        draw=partial(_draw, drawing=CHAIN),
        data=CHAIN.data(),
        alt_text=(
            f"Drawing of a chain of {len(steps)} steps: {'; '.join(steps)}. An arrow leads from"
            " the second step back to the first: forced orders push the price further down and"
            " cause more liquidations."
        ),
        size=(WIDTH, CHAIN.height / 10),
    )


def _line(title: str, text: str) -> str:
    """Title and words of a box on one line: ``1 Liquidation: margin is gone``."""
    title, text = " ".join(title.split()), " ".join(text.split())
    return f"{title}: {text[:1].lower()}{text[1:]}" if text else title


def _draw(figure: Figure, theme: Theme, *, drawing: Drawing) -> None:
    ax = figure.add_subplot()
    ax.set_axis_off()
    ax.set_xlim(-0.4, 10 * WIDTH + 0.4)
    ax.set_ylim(0, drawing.height - 2.2)
    for box in drawing.boxes.values():
        draw_box(ax, theme, box)
    for arrow in drawing.arrows:
        _draw_arrow(ax, theme, arrow, drawing)
    for number, name in drawing.on_boxes.items():
        box = drawing.boxes[name]
        _draw_mark(ax, theme, number, box.x + box.width, box.y + box.height)
    _draw_key(ax, theme, drawing.marks)


def _draw_arrow(ax: Axes, theme: Theme, arrow: Arrow, drawing: Drawing) -> None:
    start = drawing.boxes[arrow.start].side(arrow.leaves)
    end = drawing.boxes[arrow.end].side(arrow.enters, arrow.shift)
    draw_arrow(ax, start, end, colour=theme.muted, bend=arrow.bend, dashed=bool(arrow.bend))
    middle = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    if arrow.mark:
        _draw_mark(ax, theme, arrow.mark, *middle)
    if arrow.text:
        lowest = middle[1] - abs(arrow.bend) * abs(start[0] - end[0]) / 2
        ax.text(middle[0], lowest - 0.5, arrow.text, ha="center", va="top", fontsize=SMALL)


def _draw_mark(ax: Axes, theme: Theme, number: int, x: float, y: float) -> None:
    ax.text(
        x,
        y,
        str(number),
        ha="center",
        va="center",
        fontsize=SMALL,
        fontweight="bold",
        color=theme.background,
        zorder=6,
        bbox={
            "boxstyle": "circle,pad=0.22",
            "facecolor": theme.colour(3),
            "edgecolor": theme.background,
            "linewidth": 1.0,
        },
    )


def _draw_key(ax: Axes, theme: Theme, marks: dict[int, str]) -> None:
    """The points of attack in words, three a row below the drawing."""
    for index, (number, text) in enumerate(marks.items()):
        x, y = 1.2 + 19.2 * (index % 3), 5.4 - 4.0 * (index // 3)
        _draw_mark(ax, theme, number, x, y)
        ax.text(x + 1.9, y, _wrapped(text), ha="left", va="center", fontsize=SMALL)


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, 18))
