"""Drawings without data: how volume follows the outcome, and how a market is resolved."""

from __future__ import annotations

from pathlib import Path

from remeasure.draw.chart import save_chart
from remeasure.draw.flow import Flow, Stage, flow_chart

TRAP = Flow(
    stages=(
        Stage("1 Surprise", "a longshot\nbegins to win", 0),
        Stage("2 Trading", "everybody\ntrades it", 1),
        Stage("3 Volume", "its total\nvolume grows", 1),
        Stage("4 Sorting", "“big markets\nunderprice\nlongshots”", 3),
    ),
    back="the sorting has looked at the outcome",
    height=2.1,
)

UMA = Flow(
    stages=(
        Stage("1 Proposal", "a bond and\nan outcome\nare posted", 0),
        Stage("2 Dispute", "two hours for\nanybody to\nobject", 1),
        Stage("3 Again", "a new one,\nand a second\ndispute", 1),
        Stage("4 Vote", "holders of the\ntoken vote for\ntwo days", 2),
    ),
    height=1.8,
)


def flow_trap(
    *,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """How the volume trap closes.

    Parameters
    ----------
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and origin (``computed``: there is no data), as in ``draw.save.save_figure``.
    """
    chart = flow_chart(TRAP, "Drawing of the volume trap in four stages.")
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)


def flow_uma(
    *,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """How the oracle resolves a market.

    Parameters
    ----------
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and origin (``computed``: there is no data), as in ``draw.save.save_figure``.
    """
    chart = flow_chart(UMA, "Drawing of how a market is resolved; most end after the first stage.")
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin, drawing=True)
