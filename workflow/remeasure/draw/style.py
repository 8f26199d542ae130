"""The one style of all figures: two themes, and the few marks that figures are made of.

Colours start from the palette of Okabe and Ito (2008, "Color Universal Design"),
darkened for the light theme and lightened for the dark one until every mark
has a contrast of at least 3 with its background, and spread in lightness so that
any two stay apart for readers with each kind of colour blindness. Text has a
contrast of at least 4.5. Lines differ in dash and marker too, never by colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import ArrayLike

from remeasure.draw.colour import readable
from remeasure.draw.labels import spread
from remeasure.draw.origins import ORIGIN_LABELS

#: Figure sizes in inches: one column of text, one panel; two panels or a taller plot.
COLUMN = (5.6, 3.5)
TALL = (5.6, 5.2)

#: Font sizes in points, for text that is read at column width.
FONT = 9.5
SMALL = 8.5

#: Dash patterns and markers, one a series.
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.6)), (0, (1.2, 1.4)), (0, (6, 1.5, 1.2, 1.5)), "-", "--")
MARKERS = ("o", "s", "^", "v", "P", "X")


@dataclass(frozen=True)
class Theme:
    """Colours of one theme (``#rrggbb``): background, text, quieter text, grid, series."""

    name: Literal["light", "dark"]
    background: str
    text: str
    muted: str
    grid: str
    series: tuple[str, ...]

    def colour(self, index: int) -> str:
        """Colour of the lines and marks of series ``index``."""
        return self.series[index % len(self.series)]

    def ink(self, index: int) -> str:
        """Colour of text that names series ``index``: its hue, readable."""
        return readable(self.colour(index), text=self.text, background=self.background)

    def rc(self) -> dict[str, Any]:
        """matplotlib settings of this theme; everything else stays at matplotlib's defaults."""
        return {
            "figure.facecolor": self.background,
            "figure.edgecolor": self.background,
            "figure.dpi": 100,
            "figure.constrained_layout.w_pad": 0.08,
            "figure.constrained_layout.h_pad": 0.06,
            "savefig.facecolor": self.background,
            "savefig.edgecolor": self.background,
            "axes.facecolor": self.background,
            "axes.edgecolor": self.muted,
            "axes.labelcolor": self.text,
            "axes.titlecolor": self.text,
            "axes.titlesize": FONT,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.labelsize": FONT,
            "axes.linewidth": 0.8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.grid.axis": "y",
            "axes.axisbelow": True,
            "axes.prop_cycle": cycler(color=list(self.series)),
            "grid.color": self.grid,
            "grid.linewidth": 0.7,
            "text.color": self.text,
            "xtick.color": self.muted,
            "xtick.labelcolor": self.text,
            "xtick.labelsize": SMALL,
            "ytick.color": self.muted,
            "ytick.labelcolor": self.text,
            "ytick.labelsize": SMALL,
            "legend.frameon": False,
            "legend.fontsize": SMALL,
            "legend.labelcolor": self.text,
            "lines.linewidth": 1.7,
            "lines.markersize": 5,
            "patch.linewidth": 0,
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans"],
            "font.size": FONT,
            "mathtext.fontset": "dejavusans",
            "svg.fonttype": "path",
            "svg.hashsalt": "remeasure",
        }

    @contextmanager
    def context(self) -> Iterator[None]:
        """Draw in this theme, whatever a matplotlibrc of the machine says."""
        with matplotlib.style.context(["default", self.rc()]):
            yield


LIGHT = Theme(
    name="light",
    background="#ffffff",
    text="#1b1f24",
    muted="#5b6470",
    grid="#e3e6ea",
    series=("#0072b2", "#a8380a", "#12a27b", "#8c1d74", "#1d2733", "#b58a2a"),
)
DARK = Theme(
    name="dark",
    background="#14171c",
    text="#e8eaed",
    muted="#9aa4b0",
    grid="#2b313a",
    series=("#56a0e8", "#e8714f", "#58d6ab", "#d45aa5", "#c9d6e2", "#f0c23c"),
)
THEMES = (LIGHT, DARK)


# --- axes -----------------------------------------------------------------------------------


def label_axes(ax: Axes, *, x: str, y: str, x_unit: str = "", y_unit: str = "") -> None:
    """Name both axes, units in brackets: ``lag (hours)``."""
    ax.set_xlabel(f"{x} ({x_unit})" if x_unit else x)
    ax.set_ylabel(f"{y} ({y_unit})" if y_unit else y)


def plain_number(value: float) -> str:
    """A number as people write it: ``12,000``, ``0.25``, ``−3``; powers of ten when far from 1."""
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e7 or size < 1e-4:
        exponent = math.floor(math.log10(size) + 1e-9)
        mantissa = size / 10**exponent
        front = "" if math.isclose(mantissa, 1) else rf"{mantissa:.3g}\times "
        sign = "-" if value < 0 else ""
        return rf"${sign}{front}10^{{{exponent}}}$"
    decimals = max(0, 3 - math.floor(math.log10(size)))
    text = f"{size:,.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return ("\N{MINUS SIGN}" if value < 0 else "") + text


def _format(axis: Axis, *, suffix: str = "") -> None:
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value) + suffix))


def thousands(axis: Axis, *, suffix: str = "") -> None:
    """Ticks with thousands separators, a true minus sign and, where wanted, a suffix (`` %``)."""
    _format(axis, suffix=suffix)


def log_axis(ax: Axes, which: Literal["x", "y"], *, suffix: str = "") -> None:
    """Logarithmic axis with plain numbers; 2 and 5 are labelled too where decades are few.

    Call it after the data and the limits are set.
    """
    axis: Axis = ax.xaxis if which == "x" else ax.yaxis
    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    low, high = sorted(ax.get_xlim() if which == "x" else ax.get_ylim())
    decades = math.log10(high / low)
    axis.set_major_locator(
        LogLocator(subs=(1.0, 2.0, 5.0) if decades < 2.5 else (1.0,), numticks=9)
    )
    axis.set_minor_locator(LogLocator(subs=tuple(range(2, 10)), numticks=99))
    axis.set_minor_formatter(NullFormatter())
    _format(axis, suffix=suffix)


# --- marks ----------------------------------------------------------------------------------


def interval_band(
    ax: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, *, colour: str, label: str = ""
) -> None:
    """Shade an interval along a curve: ``x``, ``low``, ``high`` of one length."""
    ax.fill_between(
        x,
        low,
        high,
        color=colour,
        alpha=0.22,
        linewidth=0,
        label=label or None,
    )


def interval_bars(
    ax: Axes,
    x: ArrayLike,
    y: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    colour: str,
    label: str = "",
    marker: str = "o",
    horizontal: bool = False,
) -> None:
    """Points with intervals. ``low`` and ``high`` are ends, not lengths, of the value's interval.

    The value is ``y``, or ``x`` when ``horizontal``; ends that are NaN draw the point alone.

    Raises
    ------
    ValueError
        When an interval does not hold its value.
    """
    import numpy as np

    value = np.asarray(x if horizontal else y, dtype=float)
    ends = np.array([value - np.asarray(low, float), np.asarray(high, float) - value])
    if np.any(ends < -1e-9 * np.maximum(1.0, np.abs(value))):
        raise ValueError("an interval must hold its value: low <= value <= high")
    ends = np.maximum(ends, 0.0)
    ax.errorbar(
        x,
        y,
        **{"xerr" if horizontal else "yerr": ends},
        fmt=marker,
        color=colour,
        ecolor=colour,
        elinewidth=1.4,
        capsize=3,
        capthick=1.4,
        label=label or None,
    )


def published(ax: Axes, x: ArrayLike, y: ArrayLike, theme: Theme, *, label: bool = True) -> None:
    """Mark published values: open diamonds in the text colour, one legend entry 'published'."""
    known = any(text == "published" for text in ax.get_legend_handles_labels()[1])
    ax.plot(
        x,
        y,
        linestyle="none",
        marker="D",
        markersize=6.5,
        markerfacecolor="none",
        markeredgecolor=theme.text,
        markeredgewidth=1.3,
        zorder=5,
        clip_on=False,
        label="published" if label and not known else None,
    )


def guide(ax: Axes, theme: Theme, *, x: float | None = None, y: float | None = None) -> None:
    """A thin line at one value that matters, as 50% or zero."""
    style: dict[str, Any] = {"color": theme.muted, "linewidth": 1.0, "linestyle": (0, (4, 2))}
    if y is not None:
        ax.axhline(y, zorder=1.5, **style)
    if x is not None:
        ax.axvline(x, zorder=1.5, **style)


@dataclass(frozen=True)
class LineLabel:
    """A name written beside the right end of a line: its text, end point and series number."""

    text: str
    x: float
    y: float
    series: int


def settle_layout(figure: Figure) -> None:
    """Put the axes where the layout engine wants them, without drawing anything."""
    engine = figure.get_layout_engine()
    if engine is None:
        return
    engine.execute(figure)
    # An axes of a fixed shape shrinks within its first place: room is shared out once more.
    if any(ax.get_aspect() != "auto" for ax in figure.get_axes()):
        engine.execute(figure)


def direct_labels(ax: Axes, labels: Sequence[LineLabel], theme: Theme) -> None:
    """Write names at the right edge of ``ax``, moved apart where they would touch.

    Call it last, when limits and scales are set. A label that had to move is tied
    to its line's end by a thin leader.
    """
    figure = ax.get_figure(root=True)
    if figure is None or not labels:
        return
    settle_layout(figure)
    height = ax.get_window_extent().height
    points = figure.dpi / 72
    lines = max(label.text.count("\n") + 1 for label in labels)
    gap = SMALL * 1.35 * lines * points / height
    to_axes = ax.transData + ax.transAxes.inverted()
    wanted = [float(to_axes.transform((label.x, label.y))[1]) for label in labels]
    # A line that ends outside the frame is named at the frame's edge.
    wanted = [min(max(position, 0.0), 1.0) for position in wanted]
    for label, ideal, placed in zip(labels, wanted, spread(wanted, gap, 0.0, 1.0), strict=True):
        moved = abs(placed - ideal) > 0.15 * gap
        ax.annotate(
            label.text,
            xy=(1.0, ideal),
            xycoords="axes fraction",
            xytext=(1.0 + (16 if moved else 6) * points / ax.get_window_extent().width, placed),
            textcoords="axes fraction",
            va="center",
            ha="left",
            fontsize=SMALL,
            color=theme.ink(label.series),
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": theme.colour(label.series),
                "linewidth": 0.7,
                "shrinkA": 1.5,
                "shrinkB": 1.5,
            }
            if moved
            else None,
        )


# --- the face -------------------------------------------------------------------------------


def origin_label(figure: Figure, theme: Theme, *, origin: str, coverage: str = "") -> None:
    """Say on the figure's face where its data comes from; nothing for pure mathematics.

    Room for the line is taken from the layout, so it never lies on the plot.
    ``generated`` is framed and bold; a real origin is a quiet note that may carry
    its ``coverage``.
    """
    text = ORIGIN_LABELS.get(origin)
    if text is None:
        return
    generated = origin == "generated"
    if coverage:
        text += f", {coverage}"
    height = figure.get_size_inches()[1]
    room = 0.27 / height
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.set(rect=(0.0, 0.0, 1.0, 1.0 - room))  # type: ignore[call-arg]
    figure.text(
        0.994,
        1.0 - 0.06 / height,
        text,
        ha="right",
        va="top",
        fontsize=SMALL,
        fontweight="bold" if generated else "normal",
        color=theme.text if generated else theme.muted,
        bbox={
            "boxstyle": "square,pad=0.25",
            "facecolor": theme.background,
            "edgecolor": theme.text,
            "linewidth": 0.9,
        }
        if generated
        else None,
    ).set_in_layout(False)
