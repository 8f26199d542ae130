"""Charts of what the market does: tails, memory, reversal, and the moves that fees eat."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MultipleLocator

from remeasure.draw.chart import (
    Chart,
    Row,
    as_printed,
    found,
    interval_key,
    legend_above,
    listed,
    numbers,
    said,
    span,
    whiskers,
)
from remeasure.draw.colour import mix
from remeasure.draw.style import (
    DASHES,
    MARKERS,
    SMALL,
    TALL,
    LineLabel,
    Theme,
    direct_labels,
    guide,
    interval_band,
    interval_bars,
    label_axes,
    log_axis,
    published,
)
from remeasure.report.numbers import interval, rounded
from remeasure.studies.crypto.published import BITCOIN, printed, rows

#: The threshold whose counts are printed, in standard deviations.
SIX = 6.0

#: Bins further out are left out of the frame, and counted at its edge.
FRAME = 25.0

#: Lags (hours) at which the article looks for a bump: days, and the week.
BUMPS = (24, 48, 72, 168)

#: Coins of the published shares.
REVERSAL_COINS = ("BTC", "ETH", "SOL")

#: The round-trip cost (bp) of the published break-even rates, and its bars by minutes.
PRINTED_COST = 10.0
BARS = {5: "5 min", 15: "15 min", 60: "1 hour", 240: "4 hours", 1440: "1 day"}


# --- tails ----------------------------------------------------------------------------------


def tails(counts: pl.DataFrame, histogram: pl.DataFrame) -> Chart:
    """Histogram of BTC's hourly returns in standard deviations, with the normal law.

    Parameters
    ----------
    counts, histogram
        As ``tails.TABLE`` and ``tails.HISTOGRAM``.
    """
    bins = histogram.filter(pl.col("coin") == BITCOIN)
    beyond = counts.select(
        "coin",
        "threshold",
        "beyond",
        beyond_low="low",
        beyond_high="high",
        beyond_expected="expected",
    )
    return Chart(
        draw=partial(_draw_tails, bins=bins, row=found(counts, coin=BITCOIN)),
        data=bins.join(beyond, on="coin", how="left", maintain_order="left"),
        alt_text=_tails_text(bins, counts),
    )


def _printed_beyond(coin: str) -> str:
    """The printed count of a coin, with its sample."""
    output = "fig_tails" if coin == BITCOIN else "stat_tails_other"
    count = printed(output, "hours beyond 6 sd", coin)
    return f"{count:g} of {printed('calendar', 'hourly returns', 'row to row'):,.0f}"


def _draw_tails(figure: Figure, theme: Theme, *, bins: pl.DataFrame, row: Row | None) -> None:
    ax = figure.add_subplot()
    count, law = numbers(bins, "count"), numbers(bins, "expected")
    floor, (_, top) = 0.6, span(count, law, default=(1, 10))
    threshold = SIX if row is None else float(row["threshold"])
    left, width = numbers(bins, "left"), numbers(bins, "right") - numbers(bins, "left")
    beyond = np.abs(left + width / 2) > threshold
    ax.bar(
        left,
        np.maximum(count - floor, 0),
        width,
        bottom=floor,
        align="edge",
        color=[theme.colour(1) if each else theme.colour(0) for each in beyond],
    )
    shown = law > floor / 50
    middle, law = (left + width / 2)[shown], law[shown]
    ax.plot(middle, law, color=theme.text, linestyle=DASHES[1])
    if law.size:
        half = int(np.argmax(law > law.max() / 10))
        ax.annotate(
            "normal law",
            (float(middle[half]), float(law[half])),
            xytext=(-5, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=SMALL,
            bbox={"facecolor": theme.background, "edgecolor": "none", "pad": 1},
        )
    _frame(ax, bins)
    for side in (-threshold, threshold):
        guide(ax, theme, x=side)
    ax.set_ylim(floor, top * 3)
    log_axis(ax, "y")
    label_axes(ax, x="hourly return of BTC", x_unit="standard deviations", y="hours in a bin")
    if row is not None:
        ax.text(
            0.99,
            0.98,
            _tails_face(row),
            transform=ax.transAxes,
            ha="right",
            va="top",
            fontsize=SMALL,
            linespacing=1.45,
            bbox={"facecolor": theme.background, "edgecolor": "none", "pad": 2},
        )


def _frame(ax: Axes, bins: pl.DataFrame) -> None:
    """Limits of the x axis; hours beyond them are told at the edge."""
    low, high = span(numbers(bins, "left"), numbers(bins, "right"), default=(-18, 18))
    ax.set_xlim(max(low, -FRAME), min(high, FRAME))
    for outside, end, x, side in (
        (pl.col("right") <= -FRAME, low, 0.01, "left"),
        (pl.col("left") >= FRAME, high, 0.99, "right"),
    ):
        hours = bins.filter(outside)["count"].sum()
        if hours:
            text = f"{hours} further out,\nto {rounded(end, 3)} sd"
            style: dict[str, Any] = {"ha": side, "va": "bottom", "fontsize": SMALL}
            ax.text(x, 0.09, text, transform=ax.transAxes, **style)


def _tails_face(row: Row) -> str:
    lines = [
        f"beyond ±{row['threshold']:g}:",
        f"{row['beyond']:,} of {row['n']:,} hours",
        f"95% interval {interval(row['low'], row['high'])}",
        f"a normal law: {rounded(row['expected'], 1)}",
    ]
    if row["threshold"] == SIX:
        lines.append(f"published: {_printed_beyond(BITCOIN)}")
    return "\n".join(lines)


def _tails_text(bins: pl.DataFrame, counts: pl.DataFrame) -> str:
    row = found(counts, coin=BITCOIN)
    if row is None:
        return (
            "This run has no returns of BTC. Published: "
            f"{_printed_beyond(BITCOIN)} hours beyond 6 standard deviations."
        )
    known = row["threshold"] == SIX
    low, high = span(numbers(bins, "left"), numbers(bins, "right"), default=(0, 0))
    text = (
        f"Histogram of {row['n']:,} hourly returns of BTC on a logarithmic scale, from"
        f" {rounded(low)} to {rounded(high)} standard deviations."
        f" Hours beyond {row['threshold']:g} standard deviations:"
        f" {said(row['beyond'], row['low'], row['high'])}"
    )
    text += f", published {_printed_beyond(BITCOIN)}" if known else ""
    text += f". A normal law would give {rounded(row['expected'], 2)}."
    others = [
        f"{each['coin']} {each['beyond']:,}"
        + (f" (published {_printed_beyond(each['coin'])})" if known else "")
        for each in counts.iter_rows(named=True)
        if each["coin"] in ("ETH", "SOL")
    ]
    return text + (f" The same count for {listed(others)}." if others else "")


# --- autocorrelation ------------------------------------------------------------------------


def autocorrelation(acf: pl.DataFrame, hour_of_day: pl.DataFrame) -> Chart:
    """Autocorrelation of BTC's returns and absolute returns; below, the mean move by hour.

    Parameters
    ----------
    acf, hour_of_day
        As ``autocorrelation.ACF`` and ``autocorrelation.HOUR_OF_DAY``.
    """
    lags = acf.filter(pl.col("coin") == BITCOIN)
    series = {
        name: lags.select(x="lag", value=name, low=f"{name}_low", high=f"{name}_high", band="band")
        for name in ("returns", "absolute")
    }
    series["absolute"] = series["absolute"].with_columns(lags["bump"])
    series["clock"] = hour_of_day.filter(pl.col("coin") == BITCOIN).select(
        x="hour", value="mean_bp", low="low_bp", high="high_bp"
    )
    names = {
        "returns": "autocorrelation of returns",
        "absolute": "autocorrelation of absolute returns",
        "clock": "mean absolute move by hour of the day (bp)",
    }
    data = [
        _with_printed(frame, _printed_memory(name)).select(
            pl.lit(names[name]).alias("series"), pl.all()
        )
        for name, frame in series.items()
    ]
    return Chart(
        draw=partial(_draw_memory, series=series),
        data=pl.concat(data, how="diagonal"),
        alt_text=_memory_text(series),
        size=TALL,
    )


def _printed_memory(name: str) -> dict[int, float]:
    """Printed values of a series by lag or hour."""
    if name == "returns":
        return {1: printed("fig_acf", "autocorrelation of returns", "BTC lag 1 h")}
    if name == "absolute":
        quantity = "autocorrelation of absolute returns"
        return {lag: printed("fig_acf", quantity, f"BTC lag {lag} h") for lag in (1, 168)}
    return {
        hour: printed("stat_hour_of_day", "mean absolute move", f"BTC {hour:02d}:00 UTC hour")
        for hour in (4, 14)
    }


def _with_printed(frame: pl.DataFrame, values: dict[int, float]) -> pl.DataFrame:
    """The frame with a column ``published``, and a row for each printed value that it lacks."""
    known = pl.DataFrame({"x": list(values), "published": list(values.values())})
    return frame.join(known, on="x", how="full", coalesce=True).sort("x")


def _draw_memory(figure: Figure, theme: Theme, *, series: dict[str, pl.DataFrame]) -> None:
    top, bottom = figure.subplots(2, 1, height_ratios=(3, 2))
    _draw_clock(bottom, theme, series["clock"])
    _draw_lags(top, theme, series)


def _draw_lags(ax: Axes, theme: Theme, series: dict[str, pl.DataFrame]) -> None:
    names = {"returns": "returns", "absolute": "absolute\nreturns"}
    ends = []
    for lag in BUMPS:
        guide(ax, theme, x=lag)
    for number, (name, title) in enumerate(names.items()):
        frame, colour = series[name], theme.colour(number)
        x, value = numbers(frame, "x"), numbers(frame, "value")
        low, high = numbers(frame, "low"), numbers(frame, "high")
        note = "95% interval" if number else ""
        interval_band(ax, x, low, high, colour=colour, label=note)
        ax.plot(x, value, color=colour)
        published(ax, list(_printed_memory(name)), list(_printed_memory(name).values()), theme)
        if x.size:
            ends.append(LineLabel(title, float(x[-1]), float(value[-1]), number))
    bumps = series["absolute"].filter(pl.col("bump"), pl.col("x").is_in(BUMPS))
    if bumps.height:
        height = numbers(bumps, "high") + 0.02
        style: dict[str, Any] = {"linestyle": "none", "marker": "v", "color": theme.text}
        ax.plot(numbers(bumps, "x"), height, label="local maximum", **style)
    for band in series["returns"]["band"].head(1):
        ax.axhspan(-band, band, color=theme.muted, alpha=0.35, linewidth=0, label="noise band")
    _, longest = span(numbers(series["returns"], "x"), default=(0, BUMPS[-1] + 4))
    ax.set_xlim(0, longest)
    ax.xaxis.set_major_locator(MultipleLocator(24))
    label_axes(ax, x="lag", x_unit="hours", y="autocorrelation")
    legend_above(ax)
    direct_labels(ax, ends, theme)


def _draw_clock(ax: Axes, theme: Theme, clock: pl.DataFrame) -> None:
    x = numbers(clock, "x")
    ax.bar(x, numbers(clock, "value"), 0.72, color=mix(theme.colour(0), theme.background, 0.45))
    whiskers(ax, theme, x, clock)
    known = _printed_memory("clock")
    published(ax, list(known), list(known.values()), theme, label=False)
    ax.set_xlim(-0.7, 23.7)
    ax.set_xticks(range(0, 24, 4), [f"{hour:02d}:00" for hour in range(0, 24, 4)])
    label_axes(ax, x="hour of the day", x_unit="UTC", y="mean absolute\nmove", y_unit="bp")


def _memory_text(series: dict[str, pl.DataFrame]) -> str:
    def point(name: str, lag: int) -> str:
        row = found(series[name], x=lag)
        value = "not measured" if row is None else said(row["value"], row["low"], row["high"], 2)
        return f"{value}, published {as_printed(_printed_memory(name)[lag])}"

    bumps = series["absolute"].filter(pl.col("bump"), pl.col("x").is_in(BUMPS))["x"].to_list()
    sentences = [
        "Autocorrelation of BTC's hourly returns and of their absolute values by lag.",
        f"Returns at one hour: {point('returns', 1)}.",
        f"Absolute returns at one hour: {point('absolute', 1)};",
        f"at one week: {point('absolute', 168)}.",
        f"Of the lags of {listed(BUMPS)} hours, absolute returns have a local maximum at"
        f" {listed(bumps) or 'none'}.",
    ]
    for band in series["returns"]["band"].head(1):
        sentences.append(f"Noise band: ±{rounded(band, 2)}.")
    clock = series["clock"].sort("value", "x")
    if clock.height:
        low, high = clock.row(0, named=True), clock.row(-1, named=True)
        sentences.append(
            "Below, the mean absolute move by hour of the day in UTC: largest at"
            f" {high['x']:02d}:00, {said(high['value'], high['low'], high['high'], 3)} basis"
            f" points, smallest at {low['x']:02d}:00, {said(low['value'], low['low'], low['high'], 3)}."  # noqa: E501
        )
    known = [f"{value:g} at {hour:02d}:00" for hour, value in _printed_memory("clock").items()]
    return " ".join([*sentences, f"Published: {listed(known)}."])


# --- reversal -------------------------------------------------------------------------------


def reversal(shares: pl.DataFrame) -> Chart:
    """Share of hours that move like the hour before: bars from 50%, by year, a panel a coin.

    Parameters
    ----------
    shares
        As ``reversal.REVERSAL``.
    """
    measured = shares.filter(pl.col("coin").is_in(REVERSAL_COINS)).rename({"percent": "value"})
    data = measured.join(_printed_shares(), on=["coin", "year"], how="full", coalesce=True).sort(
        "coin", "year"
    )
    return Chart(
        draw=partial(_draw_reversal, data=data),
        data=data.rename({"value": "percent"}),
        alt_text=_reversal_text(data),
    )


def _printed_shares() -> pl.DataFrame:
    shares = [
        (*row.condition.split(), float(row.number))
        for row in rows().values()
        if row.output_id == "fig_reversal" and row.number is not None and "share" in row.quantity
    ]
    frame = pl.DataFrame(shares, schema=["coin", "year", "published"], orient="row")
    return frame.with_columns(pl.col("year").cast(pl.Int64))


def _draw_reversal(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    panels = figure.subplots(1, len(REVERSAL_COINS), sharey=True)
    years = data["year"].unique().sort().to_list()
    whole, part = (mix(theme.colour(0), theme.background, share) for share in (0.3, 0.65))
    for ax, coin in zip(panels, REVERSAL_COINS, strict=True):
        own = data.filter(pl.col("coin") == coin)
        measured = own.drop_nulls("value")
        year = numbers(measured, "year")
        ax.bar(
            year,
            numbers(measured, "value") - 50,
            0.7,
            bottom=50,
            color=[whole if each == "whole" else part for each in measured["coverage"]],
        )
        whiskers(ax, theme, year, measured, label="95% interval" if year.size else "")
        published(ax, numbers(own, "year"), numbers(own, "published"), theme)
        guide(ax, theme, y=50)
        ax.set_xticks(years, [f"’{each % 100:02d}" for each in years])
        ax.set_xlim(years[0] - 0.7, years[-1] + 0.7)
        ax.set_title(coin)
        ax.set_xlabel("year")
    low, high = span(
        *(numbers(data, name) for name in ("low", "high", "published")), default=(49, 50)
    )
    panels[0].set_ylim(low - 0.3, high + 0.3)
    panels[0].set_ylabel("continuing hours (%)")
    handles, labels = panels[0].get_legend_handles_labels()
    if (data["coverage"] != "whole").any():
        handles, labels = [*handles, Patch(color=part)], [*labels, "part of a year"]
    figure.legend(handles, labels, loc="outside lower right", ncols=3)


def _reversal_text(data: pl.DataFrame) -> str:
    measured = data.drop_nulls("value")
    sentences = [
        "Share of hours that move in the direction of the hour before, in percent, by year for"
        f" {listed(REVERSAL_COINS)}; bars hang from 50."
    ]
    if measured.height:
        below = measured.filter(pl.col("value") < 50).height
        clear = measured.filter(pl.col("high") < 50).height
        sentences.append(
            f"{below} of {measured.height} measured bars lie below 50, {clear} of them with the"
            " whole interval."
        )
    for coin in REVERSAL_COINS:
        years = [_share(row) for row in data.filter(pl.col("coin") == coin).iter_rows(named=True)]
        sentences.append(f"{coin}: {', '.join(years)}.")
    return " ".join(sentences)


def _share(row: Row) -> str:
    value = "not measured" if row["value"] is None else f"{row['value']:.1f}"
    known = "" if row["published"] is None else f" (published {row['published']:.1f})"
    part = "" if row["coverage"] in (None, "whole") else " for part of the year"
    return f"{row['year']} {value}{part}{known}"


# --- break-even -----------------------------------------------------------------------------


def breakeven(rates: pl.DataFrame, moves: pl.DataFrame) -> Chart:
    """Break-even hit rate of BTC against the length of the bar, one line a round-trip cost.

    Parameters
    ----------
    rates, moves
        As ``breakeven.BREAKEVEN`` and ``breakeven.MOVES``.
    """
    own = rates.filter(pl.col("coin") == BITCOIN).select(
        "minutes", "cost_bp", "percent", "low", "high"
    )
    mean = moves.filter(pl.col("coin") == BITCOIN).select(
        "minutes", "mean_bp", mean_low="low_bp", mean_high="high_bp"
    )
    known = pl.DataFrame(
        [
            (minutes, *(printed("fig_breakeven", each, f"BTC {name}") for each in _QUANTITIES))
            for minutes, name in BARS.items()
        ],
        schema=["minutes", "published", "published_bp"],
        orient="row",
    ).with_columns(cost_bp=pl.lit(PRINTED_COST))
    data = (
        own.join(mean, on="minutes", how="left")
        .join(known, on=["minutes", "cost_bp"], how="full", coalesce=True)
        .sort("cost_bp", "minutes")
    )
    return Chart(
        draw=partial(_draw_breakeven, data=data), data=data, alt_text=_breakeven_text(data)
    )


_QUANTITIES = ("hit rate needed at 10 bp", "average absolute move")


def _draw_breakeven(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    measured = data.drop_nulls("percent")
    highest = measured["cost_bp"].max()
    for number, cost in enumerate(measured["cost_bp"].unique().sort()):
        own = measured.filter(pl.col("cost_bp") == cost)
        x, y = numbers(own, "minutes"), numbers(own, "percent")
        colour, marker = theme.colour(number), MARKERS[number % len(MARKERS)]
        ax.plot(x, y, color=colour, linestyle=DASHES[number % len(DASHES)])
        interval_bars(
            ax, x, y, numbers(own, "low"), numbers(own, "high"), colour=colour, marker=marker
        )
        top = cost == highest
        ax.annotate(
            f"{cost:g} bp a round trip" if top else f"{cost:g} bp",
            (x[0], y[0]),
            # Over the falling line there is room on the right for one name only.
            xytext=(9, 3) if top else (-7, 0),
            textcoords="offset points",
            ha="left" if top else "right",
            va="bottom" if top else "center",
            fontsize=SMALL,
            color=theme.ink(number),
        )
    published(ax, numbers(data, "minutes"), numbers(data, "published"), theme)
    _, top = span(*(numbers(data, name) for name in ("high", "published")), default=(50, 60))
    if top > 100:
        guide(ax, theme, y=100)
        ax.text(1750, 100.4, "always right", ha="right", va="bottom", fontsize=SMALL)
    ax.set_ylim(49.5, top + 2)
    ax.set_xlim(3, 1800)
    log_axis(ax, "x")
    ax.set_xticks(list(BARS), [_bar_name(minutes, data) for minutes in BARS])
    ax.minorticks_off()
    label_axes(
        ax, x="length of the bar, and BTC’s mean absolute move", y="hit rate needed", y_unit="%"
    )
    interval_key(ax, theme)
    legend_above(ax)


def _bar_name(minutes: int, data: pl.DataFrame) -> str:
    row = found(data.drop_nulls("mean_bp"), minutes=minutes)
    return BARS[minutes] if row is None else f"{BARS[minutes]}\n{rounded(row['mean_bp'], 3)} bp"


def _breakeven_text(data: pl.DataFrame) -> str:
    costs = data.drop_nulls("percent")["cost_bp"].unique().sort().to_list()
    sentences = [
        "Hit rate at which trading every bar of BTC breaks even, in percent, by length of the bar"
        f" at {listed(f'{cost:g}' for cost in costs)} basis points a round trip."
    ]
    for row in data.filter(pl.col("cost_bp") == PRINTED_COST).iter_rows(named=True):
        value = "not measured"
        if row["percent"] is not None:
            value = said(row["percent"], row["low"], row["high"], 3)
        sentences.append(
            f"{BARS.get(row['minutes'], row['minutes'])} at {PRINTED_COST:g}: {value}"
            + ("." if row["published"] is None else f", published {row['published']:g}.")
        )
    others = [
        f"{row['percent']:.1f} at {row['cost_bp']:g}"
        for row in data.filter(pl.col("minutes") == 60).drop_nulls("percent").iter_rows(named=True)
        if row["cost_bp"] != PRINTED_COST
    ]
    return " ".join(sentences) + (f" One hour needs {listed(others)}." if others else "")
