"""Drawings without data: every word inside its box, every arrow between two boxes, whole files."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from remeasure.draw.chart import Chart
from remeasure.draw.style import THEMES
from remeasure.studies.crypto import chart_drawings
from remeasure.studies.crypto.chart_drawings import AGENT, CHAIN, agent, crash_chain

BOTH = pytest.mark.parametrize("made", [agent, crash_chain])


def drawn(chart: Chart, theme: int) -> Figure:
    with THEMES[theme].context():
        figure = Figure(figsize=chart.size, layout="constrained")
        chart.draw(figure, THEMES[theme])
        figure.draw_without_rendering()
    return figure


@BOTH
@pytest.mark.parametrize("theme", [0, 1])
def test_words_stay_in_their_boxes_and_boxes_in_the_frame(made, theme: int) -> None:
    figure = drawn(made(), theme)
    (ax,) = figure.axes
    frame = figure.bbox
    boxes = [each.get_window_extent() for each in ax.patches if isinstance(each, FancyBboxPatch)]
    words = [each for each in ax.texts if each.get_text() and not each.get_text().isdigit()]
    inside = 0
    for word in words:
        extent = word.get_window_extent()
        assert frame.x0 <= extent.x0 < extent.x1 <= frame.x1, word.get_text()
        assert frame.y0 <= extent.y0 < extent.y1 <= frame.y1, word.get_text()
        touched = [box for box in boxes if box.overlaps(extent)]
        for box in touched:
            assert box.x0 < extent.x0 < extent.x1 < box.x1, word.get_text()
            assert box.y0 < extent.y0 < extent.y1 < box.y1, word.get_text()
        inside += bool(touched)
    assert inside == 2 * len(boxes)
    for box in boxes:
        assert frame.x0 < box.x0 < box.x1 < frame.x1
        assert frame.y0 < box.y0 < box.y1 < frame.y1
    for index, word in enumerate(words):
        for other in words[:index]:
            assert not word.get_window_extent().overlaps(other.get_window_extent())


@BOTH
def test_the_text_names_every_box_and_point_of_attack(made) -> None:
    chart = made()
    drawing = AGENT if made is agent else CHAIN
    for box in drawing.boxes.values():
        assert box.title.lower().split()[-1] in chart.alt_text.lower()
    for number, text in drawing.marks.items():
        assert f"{number}, {text}" in chart.alt_text
    rows = chart.data
    assert rows.filter(pl.col("kind") == "box").height == len(drawing.boxes)
    ends = rows.filter(pl.col("kind") == "arrow")
    assert set(ends["from"]) | set(ends["to"]) == set(drawing.boxes)
    marked = sorted([each.mark for each in drawing.arrows if each.mark] + list(drawing.on_boxes))
    assert marked == sorted(drawing.marks)


@pytest.mark.parametrize("name", ["fig_agent", "fig_crash_chain"])
def test_six_files_the_same_twice_and_no_origin_on_the_face(tmp_path: Path, name: str) -> None:
    ends = {
        "light_svg": "light.svg",
        "light_png": "light.png",
        "dark_svg": "dark.svg",
        "dark_png": "dark.png",
        "csv": "csv",
        "alt": "alt.txt",
    }
    made = []
    for part in ("a", "b"):
        (tmp_path / part).mkdir()
        paths = {key: tmp_path / part / end for key, end in ends.items()}
        getattr(chart_drawings, name)(**paths, origin="computed")
        made.append([path.read_bytes() for path in paths.values()])
    assert made[0] == made[1]
    assert paths["alt"].read_text().startswith("Drawing of a ")
