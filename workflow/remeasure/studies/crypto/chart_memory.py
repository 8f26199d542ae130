"""Figures of what language models remember: prices, directions, and a dollar traded on them.

As in ``figures.py`` a figure computes no statistic, reads results by the names of their columns
and imports no experiment. Models that are none of the publication's are named as such.
"""

from __future__ import annotations

from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.chart import (
    Chart,
    Row,
    as_printed,
    date_axis,
    day_number,
    day_numbers,
    found,
    listed,
    numbers,
    said,
    save_chart,
    span,
)
from remeasure.draw.style import (
    DASHES,
    MARKERS,
    SMALL,
    TALL,
    LineLabel,
    Theme,
    direct_labels,
    guide,
    interval_bars,
    label_axes,
    log_axis,
    published,
)
from remeasure.report.numbers import rounded
from remeasure.store.frames import read_frame
from remeasure.studies.crypto.published import printed, rows

#: Models whose answers about prices are printed, with their release, and the traded one.
ANSWERING = {
    "Mistral 7B v0.3": "2024-05",
    "Qwen2.5 7B": "2024-09",
    "Olmo 3 7B": "2025-11",
    "Qwen3.5 9B": "2026-02",
}
TRADED, RELEASED = "OLMo 2 7B", "2024-12"

#: Days of the figures, whatever part of them was asked.
BEGIN, END = date(2018, 1, 1), date(2026, 10, 29)

WINDOWS = {"before": "a year or more before release", "after": "after release"}
POOLED = "all models"
STAND_IN = "answers of a simulated stand-in, not of a language model"


def fig_memory_answers(
    *,
    prices: Path,
    years: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Prices that four models give for the 1st and 15th of each month, beside the true ones.

    Parameters
    ----------
    prices, years
        Parquet, as ``memory_prices.measure_memory_prices`` writes them.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = answers_chart(read_frame(prices), read_frame(years), origin)
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_memory_direction(
    *,
    shares: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Share of months called right before and after release, a row a model.

    Parameters
    ----------
    shares
        Parquet, as ``memory_direction.measure_memory_direction`` writes it.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When the result is missing or cannot be read.
    """
    chart = direction_chart(read_frame(shares), origin)
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_memory_strategy(
    *,
    curves: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """One dollar on the monthly calls of one model, and held, with its release marked.

    Parameters
    ----------
    curves
        Parquet, as ``memory_strategy.measure_memory_strategy`` writes it.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When the result is missing or cannot be read.
    """
    chart = strategy_chart(read_frame(curves), origin)
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


# --- prices ---------------------------------------------------------------------------------

_ERROR = "median price error, dates a year or more before release"


def answers_chart(prices: pl.DataFrame, years: pl.DataFrame, origin: str) -> Chart:
    """A panel a model: the price as a line, numbers as points, zeros and refusals below.

    Parameters
    ----------
    prices, years
        As ``memory_prices.PRICES`` and ``memory_prices.PRICE_YEARS``.
    origin
        Of the results; generated ones come from a stand-in.
    """
    own = prices.filter("published", pl.col("model").is_in(list(ANSWERING)))
    errors = {name: found(years.filter(pl.col("year").is_null()), model=name) for name in ANSWERING}
    return Chart(
        draw=partial(_draw_answers, prices=own, known=_known(prices), errors=errors, origin=origin),
        data=own.drop("published"),
        alt_text=_answers_text(own, errors, origin),
        size=TALL,
    )


def _known(prices: pl.DataFrame) -> pl.DataFrame:
    """True prices by day, whichever model was asked for them."""
    return prices.drop_nulls("price").unique("day", maintain_order=True).sort("day")


def _printed_error(name: str) -> str:
    when = f"{name}, released {ANSWERING[name]}"
    return as_printed(printed("fig_memory_answers", _ERROR, when))


def _draw_answers(
    figure: Figure,
    theme: Theme,
    *,
    prices: pl.DataFrame,
    known: pl.DataFrame,
    errors: dict[str, Row | None],
    origin: str,
) -> None:
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    low, high = span(
        numbers(known, "price"), numbers(prices, "value"), default=(10_000.0, 10_000.0)
    )
    floor = low / 2.2
    for ax, (name, release) in zip(panels.flat, ANSWERING.items(), strict=True):
        _panel(ax, theme, prices.filter(pl.col("model") == name), known, floor)
        guide(ax, theme, x=day_number(_begin(release)))
        row = errors[name]
        measured = row is not None and row["median_error"] is not None
        value = f"{100 * row['median_error']:.1f}%" if row and measured else "not measured"
        ax.set_title(name)
        ax.text(
            0.03,
            0.97,
            f"median error {value}\npublished {_printed_error(name)}%",
            transform=ax.transAxes,
            va="top",
            fontsize=SMALL,
            zorder=5,
            bbox={"facecolor": theme.background, "edgecolor": "none", "pad": 1.5},
        )
    first = panels[0, 0]
    first.plot([], [], color=theme.muted, linewidth=1.0, linestyle=(0, (4, 2)), label="release")
    first.set_ylim(floor / 1.5, high * (high / floor) ** 0.4)  # the label stands above
    log_axis(first, "y")
    if known.is_empty():
        first.set_yticks([], minor=False)
        first.set_yticks([], minor=True)
    first.set_xlim(day_number(BEGIN) - 150, day_number(END) + 150)
    date_axis(first, BEGIN, END)
    for ax in panels[1]:
        ax.set_xlabel("day asked")
    for ax in panels[:, 0]:
        ax.set_ylabel("price of BTC ($)")
    handles, labels = first.get_legend_handles_labels()
    if handles:
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=5,
            handlelength=1.4,
            title=STAND_IN if origin == "generated" else None,
            title_fontsize=SMALL,
        )


def _panel(ax: Axes, theme: Theme, own: pl.DataFrame, known: pl.DataFrame, floor: float) -> None:
    """One model: every class has its entry in the legend, whether or not it occurs here."""
    line: dict[str, Any] = {"color": theme.text, "linewidth": 0.9, "zorder": 3, "label": "price"}
    ax.plot(day_numbers(known, "day"), numbers(known, "price"), **line)
    for number, (name, label, marker) in enumerate(
        (("number", "number", "o"), ("zero", "zero", "v"), ("refusal", "refusal", "x"))
    ):
        rows_ = own.filter(pl.col("class") == name)
        height = numbers(rows_, "value") if name == "number" else np.full(rows_.height, floor)
        filled: dict[str, Any] = {} if marker == "x" else {"markeredgewidth": 0}
        ax.plot(
            day_numbers(rows_, "day"),
            height,
            linestyle="none",
            marker=marker,
            markersize=3.2,
            color=theme.colour(number),
            label=label,
            **filled,
        )


def _answers_text(prices: pl.DataFrame, errors: dict[str, Row | None], origin: str) -> str:
    sentences = [
        "BTC's price on the 1st and 15th of each month, logarithmic, and what four models answer"
        " when asked for it; zeros and refusals lie below.",
        *_stand_in(origin),
    ]
    for name in ANSWERING:
        row, own = errors[name], prices.filter(pl.col("model") == name)
        value = "not measured"
        if row is not None and row["median_error"] is not None:
            ends = [None if row[end] is None else 100 * row[end] for end in ("low", "high")]
            value = f"{said(100 * row['median_error'], ends[0], ends[1], 2)} percent"
        counts = {each: int((own["class"] == each).sum()) for each in ("number", "zero", "refusal")}
        told = listed(f"{count} {each}{_plural(each, count)}" for each, count in counts.items())
        sentences.append(
            f"{name}, median error a year or more before release: {value}, published"
            f" {_printed_error(name)}" + (f"; {told}." if own.height else ".")
        )
    return " ".join(sentences)


def _plural(word: str, count: int) -> str:
    return "" if count == 1 else "es" if word == "zero" else "s"


def _begin(month: str) -> date:
    """First day of ``YYYY-MM``."""
    return date.fromisoformat(f"{month}-01")


def _say_stand_in(ax: Axes, origin: str) -> None:
    """Write on the face that no language model answered."""
    if origin == "generated":
        ax.set_title(STAND_IN, fontsize=SMALL, fontweight="normal")


def _stand_in(origin: str) -> list[str]:
    return [f"These are {STAND_IN}."] if origin == "generated" else []


# --- directions -----------------------------------------------------------------------------


def direction_chart(shares: pl.DataFrame, origin: str) -> Chart:
    """A row a model and one for all together: shares before and after, with intervals.

    Parameters
    ----------
    shares
        As ``memory_direction.SHARES``.
    origin
        Of the results; generated ones come from a stand-in.
    """
    measured = shares.filter(pl.col("kind") == "month", pl.col("split") == "median").select(
        "model", "window", "published", "n", "hits", value="percent", low="low", high="high"
    )
    known = _printed_shares()
    data = measured.rename({"published": "of_publication"}).join(
        known, on=["model", "window"], how="full", coalesce=True
    )
    names = [name for name in known["model"].unique(maintain_order=True) if name != POOLED]
    others = data.filter(~pl.col("of_publication"))["model"].unique(maintain_order=True).to_list()
    order = [*names, POOLED, *others]
    place = pl.DataFrame({"model": order, "row": range(len(order))})
    data = data.join(place, on="model").sort("row", pl.col("window") == "after").drop("row")
    return Chart(
        draw=partial(_draw_direction, data=data, order=order, others=others, origin=origin),
        data=data,
        alt_text=_direction_text(data, order, others, origin),
        size=TALL,
    )


def _printed_shares() -> pl.DataFrame:
    """Printed shares by model and window; all models together under `POOLED`."""
    shares = [
        (*row.condition.rsplit(", ", 1), float(row.number))
        for row in rows().values()
        if row.output_id == "fig_memory_direction"
        and row.quantity == "months right"
        and row.number is not None
    ]
    shares += [
        (POOLED, window, printed("stat_memory_pooled", "months right", window))
        for window in WINDOWS
    ]
    return pl.DataFrame(shares, schema=["model", "window", "published"], orient="row")


def _draw_direction(
    figure: Figure,
    theme: Theme,
    *,
    data: pl.DataFrame,
    order: list[str],
    others: list[str],
    origin: str,
) -> None:
    ax = figure.add_subplot()
    height = {name: -float(number) for number, name in enumerate(order)}
    guide(ax, theme, x=50)
    for number, (window, title) in enumerate(WINDOWS.items()):
        own = data.filter(pl.col("window") == window)
        shift = 0.16 if window == "before" else -0.16
        y = np.array([height[name] + shift for name in own["model"]])
        there = ~np.isnan(numbers(own, "value"))
        interval_bars(
            ax,
            numbers(own, "value")[there],
            y[there],
            numbers(own, "low")[there],
            numbers(own, "high")[there],
            colour=theme.colour(number),
            marker=MARKERS[number],
            horizontal=True,
            label=title,
        )
        published(ax, numbers(own, "published"), y, theme)
    ax.axhline(height[POOLED] + 0.5, color=theme.grid, linewidth=1.0)
    if others:
        ax.axhline(height[POOLED] - 0.5, color=theme.muted, linewidth=1.0)
    names = [f"{name}\n(not one of the seven)" if name in others else name for name in order]
    ax.set_yticks([height[name] for name in order], names)
    ax.set_ylim(min(height.values()) - 0.55, 0.55)
    low, high = span(
        *(numbers(data, name) for name in ("low", "high", "published")), default=(40, 60)
    )
    ax.set_xlim(max(0.0, low - 2), min(100.0, high + 2))
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x")
    label_axes(ax, x="months called right (%), 95% intervals", y="model")
    _say_stand_in(ax, origin)
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower right", ncols=3, columnspacing=1.2, handletextpad=0.4
    )


def _direction_text(data: pl.DataFrame, order: list[str], others: list[str], origin: str) -> str:
    sentences = [
        "Share of months whose direction each model calls right, in percent, for months at least"
        " a year before its release and months after it.",
        *_stand_in(origin),
    ]
    for name in order:
        told = []
        for window in WINDOWS:
            row = found(data, model=name, window=window)
            if row is None:
                continue
            value = "not measured"
            if row["value"] is not None:
                value = f"{said(row['value'], row['low'], row['high'], 3)} of {row['n']}"
            known = row["published"]
            told.append(
                f"{window} {value}" + (f", published {known:g}" if known is not None else "")
            )
        title = f"{name}, none of the seven" if name in others else name
        sentences.append(f"{title}: {'; '.join(told)}.")
    return " ".join(sentences)


# --- a dollar -------------------------------------------------------------------------------

_LINES = {
    "median": "on its calls",
    "half": "calls at one half",
    "holding": "held",
}


def strategy_chart(curves: pl.DataFrame, origin: str) -> Chart:
    """A dollar on the calls of `TRADED`, at both thresholds, and held, logarithmic.

    Parameters
    ----------
    curves
        As ``memory_strategy.CURVES``.
    origin
        Of the results; generated ones come from a stand-in.
    """
    own = curves.filter(pl.col("model") == TRADED).select(
        "model", "release", "split", "month", "value"
    )
    return Chart(
        draw=partial(_draw_strategy, curves=own, origin=origin),
        data=own,
        alt_text=_strategy_text(own, origin),
    )


def _printed_dollars() -> dict[str, tuple[date, float]]:
    """Printed values by name: the month (its first day) at whose end they hold, and dollars."""
    output, early = "fig_memory_strategy", "2018-01..2024-11"
    return {
        "traded": (_begin("2024-11"), printed(output, "value of $1", f"{TRADED}, {early}")),
        "held": (_begin("2024-11"), printed(output, "value of $1", f"holding BTC, {early}")),
        "end": (_begin("2026-09"), printed(output, "value of $1 at the end", f"{TRADED}, 2026-09")),
    }


def _draw_strategy(figure: Figure, theme: Theme, *, curves: pl.DataFrame, origin: str) -> None:
    ax = figure.add_subplot()
    prints = _printed_dollars()
    known = pl.DataFrame(
        list(prints.values()), schema={"month": pl.Date, "value": pl.Float64}, orient="row"
    ).with_columns(_end())
    guide(ax, theme, y=1.0)
    guide(ax, theme, x=day_number(_begin(RELEASED)))
    ends = []
    for number, (split, title) in enumerate(_LINES.items()):
        own = curves.filter(pl.col("split") == split).with_columns(_end())
        if own.is_empty():
            continue
        x = np.concatenate([[day_number(own["month"][0])], day_numbers(own, "end")])
        value = np.concatenate([[1.0], numbers(own, "value")])
        width = 1.2 if split == "half" else 1.7
        ax.plot(x, value, color=theme.colour(number), linestyle=DASHES[number], linewidth=width)
        last = float(value[-1])
        ends.append(LineLabel(f"{title}\n${rounded(last, 3)}", float(x[-1]), last, number))
    published(ax, day_numbers(known, "end"), numbers(known, "value"), theme)
    low, high = span(numbers(curves, "value"), numbers(known, "value"), default=(0.9, 2.0))
    ax.set_ylim(max(low, 1e-4) / 1.4, high * 2)
    log_axis(ax, "y")
    months = pl.concat([curves.select("month"), known.select("month")]).with_columns(_end())
    first, last_day = BEGIN, months["end"].sort().to_list()[-1]
    ax.set_xlim(day_number(first), day_number(last_day) + 20)
    date_axis(ax, first, last_day)
    ax.annotate(
        "release",
        (day_number(_begin(RELEASED)), 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(-4, -2),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=SMALL,
        color=theme.muted,
    )
    label_axes(ax, x="end of the month", y="value of one dollar", y_unit="$")
    _say_stand_in(ax, origin)
    ax.legend(loc="upper left")
    direct_labels(ax, ends, theme)


def _end() -> pl.Expr:
    """The day after a month, from its first day ``month``."""
    return pl.col("month").dt.offset_by("1mo").alias("end")


def _strategy_text(curves: pl.DataFrame, origin: str) -> str:
    prints = _printed_dollars()
    sentences = [
        f"One dollar that is long where {TRADED} calls the month up and short where it does not,"
        " without costs, beside a dollar held, logarithmic; the release is marked.",
        *_stand_in(origin),
    ]
    for split, title in _LINES.items():
        own = curves.filter(pl.col("split") == split)
        early = own.filter(pl.col("month").dt.strftime("%Y-%m") < RELEASED)
        if early.height:
            sentences.append(
                f"{title.capitalize()}: {rounded(early['value'][-1], 3)} dollars at the release,"
                f" {rounded(own['value'][-1], 3)} at the end."
            )
    if curves.is_empty():
        sentences.append("Not measured.")
    sentences.append(
        f"Published: {prints['traded'][1]:g} at the release and {prints['end'][1]:g} at the end;"
        f" {prints['held'][1]:g} held to the release."
    )
    return " ".join(sentences)
