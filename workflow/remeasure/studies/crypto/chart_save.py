"""From a chart to its files: what every figure step of the study ends with."""

from __future__ import annotations

from pathlib import Path

from remeasure.draw.save import save_figure
from remeasure.studies.crypto.chart import Chart


def save_chart(
    chart: Chart,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
    *,
    drawing: bool = False,
) -> None:
    """Save a chart in both themes with its data and alt text; see ``draw.save.save_figure``."""
    save_figure(
        chart.draw,
        chart.data,
        light_svg=light_svg,
        light_png=light_png,
        dark_svg=dark_svg,
        dark_png=dark_png,
        csv=csv,
        alt=alt,
        alt_text=chart.alt_text,
        origin=origin,
        size=chart.size,
        drawing=drawing,
    )
