"""A chart before it is saved, how it is saved, and the small pieces that charts share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import matplotlib.dates as mdates
import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.axes import Axes

from remeasure.draw.save import Draw, save_figure
from remeasure.draw.style import COLUMN, Theme, interval_bars
from remeasure.report.numbers import interval, rounded

Floats = npt.NDArray[np.float64]
Row = dict[str, Any]

#: All figures have one width, so that their letters have one size on a page (inches).
WIDTH = COLUMN[0]


@dataclass(frozen=True)
class Chart:
    """What ``draw.save.save_figure`` needs of one figure.

    Attributes
    ----------
    draw
        Draws it in a theme.
    data
        What is drawn, one row a mark.
    alt_text
        The same in words, with the main numbers.
    size
        Width and height in inches.
    coverage
        Note beside a real origin: what of the figure it holds for.
    """

    draw: Draw
    data: pl.DataFrame
    alt_text: str
    size: tuple[float, float] = COLUMN
    coverage: str = ""


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
        coverage=chart.coverage,
        size=chart.size,
        drawing=drawing,
    )


def found(frame: pl.DataFrame, **wanted: object) -> Row | None:
    """The first row with these values; None where there is none."""
    hits = frame.filter(*(pl.col(name) == value for name, value in wanted.items()))
    return hits.row(0, named=True) if hits.height else None


def numbers(frame: pl.DataFrame, column: str) -> Floats:
    """A column as floats, shape ``(n,)``; a missing value is NaN."""
    return np.asarray(frame[column].cast(pl.Float64).to_numpy(), dtype=np.float64)


def span(*columns: Floats, default: tuple[float, float]) -> tuple[float, float]:
    """Smallest and largest number of all columns and of ``default``; NaN does not count."""
    every = np.concatenate([*columns, np.asarray(default)])
    return float(np.nanmin(every)), float(np.nanmax(every))


def whiskers(ax: Axes, theme: Theme, x: Floats, frame: pl.DataFrame, *, label: str = "") -> None:
    """Intervals of bars: columns ``value``, ``low`` and ``high``."""
    columns = (numbers(frame, name) for name in ("value", "low", "high"))
    interval_bars(ax, x, *columns, colour=theme.text, marker="none", label=label)


def interval_key(ax: Axes, theme: Theme) -> None:
    """A legend entry for intervals drawn as bars, whatever colours they have."""
    nowhere = [np.nan]
    ax.errorbar(
        nowhere, nowhere, nowhere, fmt="none", ecolor=theme.text, capsize=3, label="95% interval"
    )


def legend_above(ax: Axes) -> None:
    """A legend over the plot, where it hides nothing."""
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=4,
        borderaxespad=0.2,
        handlelength=1.6,
        columnspacing=1.4,
    )


# matplotlib.dates has no types: it is called here alone.


def day_number(moment: date) -> float:
    """A day or a moment as matplotlib counts it: days since 1970, UTC."""
    return float(mdates.date2num(moment))  # type: ignore[no-untyped-call]


def day_numbers(frame: pl.DataFrame, column: str) -> Floats:
    """A column of days or moments likewise, shape ``(n,)``."""
    return np.asarray(
        mdates.date2num(frame[column].to_numpy()),  # type: ignore[no-untyped-call]
        dtype=np.float64,
    )


def date_axis(ax: Axes, first: date, last: date) -> None:
    """Dates from ``first`` to ``last`` on the x axis, as few as can be read."""
    locator = mdates.AutoDateLocator(minticks=3, maxticks=8)  # type: ignore[no-untyped-call]
    ends = [day_number(first), day_number(last)]
    moments = mdates.num2date(ends)  # type: ignore[no-untyped-call]
    # Fixed ticks: an axis may go on beyond the last date, and has no dates there.
    ticks = np.asarray(locator.tick_values(*moments))  # type: ignore[no-untyped-call]
    ax.set_xticks(ticks[(ticks >= ends[0]) & (ticks <= ends[1])])
    ax.xaxis.set_major_formatter(
        mdates.ConciseDateFormatter(locator)  # type: ignore[no-untyped-call]
    )


# --- words ----------------------------------------------------------------------------------


def said(value: float, low: float | None, high: float | None, digits: int = 4) -> str:
    """A value and its interval as a sentence holds them.

    >>> said(0.2846, 0.25, 0.31, digits=2)
    '0.28 (0.250 to 0.310)'
    """
    ends = interval(low, high)
    return f"{rounded(value, digits)} ({ends})" if ends else rounded(value, digits)


def as_printed(value: float) -> str:
    """A printed number without padding, with a true minus: ``−0.005``, ``96``."""
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")


def listed(parts: Iterable[object]) -> str:
    """A list in words.

    >>> listed([24, 48, 72])
    '24, 48 and 72'
    """
    words = [str(part) for part in parts]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
