"""Flow diagrams: boxes in a row, what leads from each to the next, and an arrow back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.boxes import draw_arrow, draw_frame
from remeasure.draw.chart import WIDTH, Chart
from remeasure.draw.style import FONT, SMALL, Theme


@dataclass(frozen=True)
class Stage:
    """A box: title and text with their line breaks, number of its colour, words on its arrow."""

    title: str
    text: str
    series: int = 0
    then: str = ""


@dataclass(frozen=True)
class Flow:
    """A row of stages.

    Attributes
    ----------
    stages
        In order; the words ``then`` of a stage stand on the arrow to the next one.
    back
        Words on an arrow from the last stage to the one numbered ``to`` (from 0); empty for none.
    height
        Of the figure in inches.
    """

    stages: tuple[Stage, ...]
    back: str = ""
    to: int = 0
    height: float = 2.0

    def data(self) -> pl.DataFrame:
        """One row a stage: number, title, text and what leads to the next."""
        rows = [
            (number, _line(stage.title), _line(stage.text), _line(stage.then))
            for number, stage in enumerate(self.stages, 1)
        ]
        names = {"number": pl.Int64, "title": pl.String, "text": pl.String, "then": pl.String}
        return pl.DataFrame(rows, schema=names, orient="row")

    def words(self) -> str:
        """The whole flow as one sentence."""
        parts = []
        for number, stage in enumerate(self.stages, 1):
            then = f" ({_line(stage.then)})" if stage.then else ""
            parts.append(f"{number}, {_line(stage.title)}: {_line(stage.text)}{then}")
        return "; ".join(parts)


def flow_chart(flow: Flow, alt_text: str) -> Chart:
    """A chart of a flow; ``alt_text`` begins its description, the stages follow."""
    back = f" From the last stage back to stage {flow.to + 1}: {flow.back}." if flow.back else ""
    return Chart(
        draw=partial(_draw, flow=flow),
        data=flow.data(),
        alt_text=f"{alt_text} {flow.words()}.{back}",
        size=(WIDTH, flow.height),
    )


def _line(text: str) -> str:
    return " ".join(text.split())


def _draw(figure: Figure, theme: Theme, *, flow: Flow) -> None:
    ax = figure.add_subplot()
    ax.set_axis_off()
    count = len(flow.stages)
    gap = 0.55
    width = (10.0 - gap * (count - 1)) / count
    for number, stage in enumerate(flow.stages):
        left = number * (width + gap)
        _box(ax, theme, stage, left, width)
        if number + 1 < count:
            start, end = (left + width, 0.5), (left + width + gap, 0.5)
            draw_arrow(ax, start, end, colour=theme.muted)
            if stage.then:
                ax.text(left + width + gap / 2, 1.1, stage.then, ha="center", fontsize=SMALL)
    low = -0.08
    if flow.back:
        start = ((count - 0.5) * width + (count - 1) * gap, 0.0)
        end = ((flow.to + 0.5) * width + flow.to * gap, 0.0)
        draw_arrow(ax, start, end, colour=theme.muted, bend=-0.16, dashed=True)
        low = -0.62
        ax.text((start[0] + end[0]) / 2, low + 0.02, flow.back, ha="center", fontsize=SMALL)
    ax.set_xlim(-0.05, 10.05)
    ax.set_ylim(low - 0.05, 1.25 if any(stage.then for stage in flow.stages) else 1.06)


def _box(ax: Axes, theme: Theme, stage: Stage, left: float, width: float) -> None:
    draw_frame(ax, theme, (left, 0.0), (width, 1.0), series=stage.series, rounding=0.12, aspect=0.4)
    middle = left + width / 2
    ax.text(middle, 0.84, stage.title, ha="center", va="center", fontsize=FONT, fontweight="bold")
    ax.text(middle, 0.38, stage.text, ha="center", va="center", fontsize=SMALL, linespacing=1.25)
