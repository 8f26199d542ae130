"""Colours that everybody can tell apart, numbers and marks that everybody can read."""

from __future__ import annotations

from itertools import combinations, pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from remeasure.draw import colour
from remeasure.draw.style import (
    DASHES,
    LIGHT,
    MARKERS,
    THEMES,
    LineLabel,
    Theme,
    direct_labels,
    guide,
    interval_bars,
    label_axes,
    log_axis,
    origin_label,
    plain_number,
    published,
    thousands,
)

#: Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
SIGHTS = {
    "all colours": np.eye(3),
    "no red cones": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "no green cones": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "no blue cones": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def linear(name: str) -> np.ndarray:
    channels = np.array(mpl.colors.to_rgb(name))
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    """CIE 1976 L*a*b* under D65."""
    xyz = TO_XYZ @ np.clip(light, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_contrast_agrees_with_known_pairs() -> None:
    assert colour.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert colour.contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=0.001)
    # Luminance against the same sum with matplotlib's own channels.
    weights = np.array([0.2126, 0.7152, 0.0722])
    assert colour.luminance("#0072b2") == pytest.approx(float(linear("#0072b2") @ weights))
    assert colour.mix("#000000", "#ffffff", 0.5) == "#808080"


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_contrast_of_marks_and_text(theme: Theme) -> None:
    for index, series in enumerate(theme.series):
        assert colour.contrast(series, theme.background) >= colour.MARK_CONTRAST
        assert colour.contrast(theme.ink(index), theme.background) >= colour.TEXT_CONTRAST
    for text in (theme.text, theme.muted):
        assert colour.contrast(text, theme.background) >= colour.TEXT_CONTRAST


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_series_stay_apart_for_every_sight(theme: Theme, sight: str) -> None:
    seen = [lab(SIGHTS[sight] @ linear(name)) for name in theme.series]
    nearest = min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2))
    assert nearest > 15


def test_series_differ_without_any_colour() -> None:
    looks = {(str(dash), marker) for dash, marker in zip(DASHES, MARKERS, strict=True)}
    assert len(looks) == len(LIGHT.series) == len(DASHES)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (12000, "12,000"),
        (0.25, "0.25"),
        (-3, "\N{MINUS SIGN}3"),
        (0.001, "0.001"),
        (1_000_000, "1,000,000"),
        (1e7, "$10^{7}$"),
        (2e-5, r"$2\times 10^{-5}$"),
        (-1e-6, "$-10^{-6}$"),
        (0.30000000000000004, "0.3"),
    ],
)
def test_plain_numbers(value: float, text: str) -> None:
    assert plain_number(value) == text


def tick_texts(figure: Figure, which: str) -> list[str]:
    figure.draw_without_rendering()
    axis = getattr(figure.axes[0], f"{which}axis")
    low, high = sorted(axis.get_view_interval())
    ticks = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
    return [label.get_text() for place, label in ticks if low <= place <= high]


def test_axes_have_readable_ticks() -> None:
    figure = Figure()
    ax = figure.add_subplot()
    ax.plot([1, 100_000], [0.5, 3.0])
    log_axis(ax, "x")
    log_axis(ax, "y", suffix=" %")
    assert tick_texts(figure, "x") == ["1", "10", "100", "1,000", "10,000", "100,000"]
    # Less than three decades: 2 and 5 are named too.
    assert tick_texts(figure, "y") == ["0.5 %", "1 %", "2 %"]
    linear_figure = Figure()
    ax = linear_figure.add_subplot()
    ax.plot([0, 1], [0, 60_000])
    thousands(ax.yaxis)
    assert "60,000" in tick_texts(linear_figure, "y")
    label_axes(ax, x="time", x_unit="hours", y="count")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (hours)", "count")


def test_intervals_are_drawn_from_end_to_end() -> None:
    figure = Figure()
    ax = figure.add_subplot()
    interval_bars(ax, [1, 2], [5, 7], [4, 6.5], [6.5, np.nan], colour="#000000")
    drawn = ax.collections[0].get_segments()
    assert [tuple(end) for end in drawn[0]] == [(1, 4), (1, 6.5)]
    with pytest.raises(ValueError, match="must hold its value"):
        interval_bars(ax, [1], [5], [5.5], [6], colour="#000000")


def test_published_values_are_open_diamonds_named_once() -> None:
    figure = Figure()
    ax = figure.add_subplot()
    published(ax, [1], [2], LIGHT)
    published(ax, [2], [3], LIGHT)
    guide(ax, LIGHT, x=1.5, y=2.5)
    assert ax.get_legend_handles_labels()[1] == ["published"]
    marks = ax.lines[:2]
    assert {mark.get_marker() for mark in marks} == {"D"}
    assert {mark.get_markerfacecolor() for mark in marks} == {"none"}
    assert len(ax.lines) == 4


def test_direct_labels_do_not_touch() -> None:
    with LIGHT.context():
        figure = Figure(figsize=(5.6, 3.5), layout="constrained")
        ax = figure.add_subplot()
        names = [f"line {number}" for number in range(6)]
        for number in range(6):
            ax.plot([0, 1], [0, 1 + number / 1000])
        ax.set_ylim(0, 1.2)
        direct_labels(
            ax, [LineLabel(name, 1, 1 + i / 1000, i) for i, name in enumerate(names)], LIGHT
        )
        figure.draw_without_rendering()
        texts = ax.texts
    # In the pixels in which matplotlib will draw them; the text's own extent, not its leader.
    extents = sorted(
        (mpl.text.Text.get_window_extent(text) for text in texts), key=lambda box: box.y0
    )
    assert [text.get_text() for text in texts] == names
    assert all(below.y1 <= above.y0 + 0.5 for below, above in pairwise(extents))
    assert all(box.x1 <= figure.bbox.x1 for box in extents)
    assert all(box.x0 >= ax.get_window_extent().x1 for box in extents)


def test_origin_is_written_on_the_face() -> None:
    def written(origin: str, coverage: str = "") -> list[str]:
        figure = Figure(layout="constrained")
        figure.add_subplot()
        origin_label(figure, LIGHT, origin=origin, coverage=coverage)
        figure.draw_without_rendering()
        if figure.texts:
            frame = figure.axes[0].get_tightbbox()
            assert frame is not None
            assert figure.texts[0].get_window_extent().y0 >= frame.y1
        return [text.get_text() for text in figure.texts]

    assert written("generated") == ["generated data"]
    assert written("mirror", "2022-01 to 2025-12") == [
        "real data, from a mirror, 2022-01 to 2025-12"
    ]
    assert written("computed") == []


def test_themes_ignore_the_settings_of_the_machine() -> None:
    with mpl.rc_context({"lines.linewidth": 9, "axes.labelsize": 30, "font.size": 40}):
        with LIGHT.context():
            assert mpl.rcParams["lines.linewidth"] == 1.7
            assert mpl.rcParams["axes.labelpad"] == mpl.rcParamsDefault["axes.labelpad"]
        assert mpl.rcParams["lines.linewidth"] == 9
