"""Charts of the forecasts: how they are made, what they earn, and what fees leave of it."""

from __future__ import annotations

from datetime import date
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.chart import (
    WIDTH,
    Chart,
    Row,
    as_printed,
    date_axis,
    day_number,
    day_numbers,
    found,
    interval_key,
    legend_above,
    listed,
    numbers,
    said,
)
from remeasure.draw.colour import mix
from remeasure.draw.style import (
    DASHES,
    MARKERS,
    SMALL,
    LineLabel,
    Theme,
    direct_labels,
    guide,
    interval_bars,
    label_axes,
    log_axis,
    published,
    thousands,
)
from remeasure.report.numbers import rounded
from remeasure.studies.crypto.coverage import LAST
from remeasure.studies.crypto.published import BITCOIN, printed

#: Fees a side (bp) of the published growth curves, and the words of their rows.
GROWTH_FEES = {
    0.0: "BTC, no fees",
    2.0: "BTC, 2 bp per side",
    5.0: "BTC, 5 bp per side (printed as practically zero)",
}

#: First day that the publication trades.
FIRST_DAY = date(2022, 1, 1)

#: Coins and fees (bp a side) of the published points of return against turnover.
FEE_COINS = ("BTC", "SOL")
PRINTED_FEES = {0.0: "return per year, no fees", 5.0: "return per year, 5 bp per side"}
PUBLISHED_BANDS = 6

#: The text quotes one of BTC's bands at two more fees: the fifth of the six.
QUOTED_BAND, QUOTED_FEES = 5, (1, 2)


# --- walk-forward ---------------------------------------------------------------------------


def walk_forward(identities: dict[str, Any]) -> Chart:
    """Schematic of the publication's expanding windows, with one boundary magnified.

    Parameters
    ----------
    identities
        Window, number of refits and gap, as ``calendar_identities.count`` gives them.
    """
    gap = int(identities["gap_hours"])
    window = identities["window"]
    windows = _windows(window["first"], window["last"], int(identities["folds"]), gap)
    return Chart(
        draw=partial(_draw_walk_forward, windows=windows, gap=gap),
        data=windows,
        alt_text=_walk_forward_text(windows, gap),
        size=(WIDTH, 4.0),
    )


def _windows(first: str, last: str, refits: int, gap_hours: int) -> pl.DataFrame:
    """One row a refit: what it learns from and what it predicts, ends excluded, UTC.

    The last month predicted is that of the window's last day.
    """
    months = np.datetime64(last, "M") - np.arange(refits - 1, -1, -1)
    start = months.astype("datetime64[us]")
    end = np.minimum((months + 1).astype("datetime64[us]"), np.datetime64(last, "D") + 1)
    return pl.DataFrame(
        {
            "month": np.datetime_as_string(months).tolist(),
            "train_from": np.full(refits, np.datetime64(first, "us")),
            "train_until": start - np.timedelta64(gap_hours, "h"),
            "test_from": start,
            "test_until": end,
        }
    )


def _draw_walk_forward(figure: Figure, theme: Theme, *, windows: pl.DataFrame, gap: int) -> None:
    ax = figure.add_subplot()
    begin, cut, start, end = (day_numbers(windows, name) for name in windows.columns[1:])
    row = np.arange(windows.height)
    ax.barh(row, cut - begin, 0.8, left=begin, color=_pale(theme))
    ax.barh(row, end - start, 0.8, left=start, color=theme.colour(1))
    ax.set_ylim(windows.height - 0.3, -0.7)
    ax.set_xlim(float(begin[0]), float(end[-1]))
    januaries = [index for index, month in enumerate(windows["month"]) if month.endswith("-01")]
    ax.set_yticks(januaries, [windows["month"][index] for index in januaries])
    date_axis(ax, windows["train_from"][0], windows["test_until"][-1])
    ax.grid(visible=False)
    label_axes(ax, x="hours learnt from and predicted", x_unit="UTC", y="month predicted")
    _draw_boundary(ax, theme, windows, gap)


def _pale(theme: Theme) -> str:
    return mix(theme.colour(0), theme.background, 0.6)


def _draw_boundary(ax: Axes, theme: Theme, windows: pl.DataFrame, gap: int) -> None:
    """The first boundary of training and test magnified, in the empty corner over the stairs."""
    inset = ax.inset_axes((0.47, 0.62, 0.52, 0.34))
    inset.set_axis_off()
    cut, start = (
        float(day_numbers(windows.head(1), name)[0]) for name in ("train_until", "test_from")
    )
    reach = 2.4
    inset.set_xlim(cut - reach, start + reach)
    inset.set_ylim(-1.6, 1.7)
    inset.barh([0], [reach], 1.1, left=cut - reach, color=_pale(theme))
    inset.barh([0], [reach], 1.1, left=start, color=theme.colour(1))
    style: dict[str, Any] = {"va": "center", "fontsize": SMALL}
    inset.text(
        cut - reach, 1.25, f"published: {windows.height} refits; the first boundary:", **style
    )
    inset.text(cut - reach / 2, 0, "training", ha="center", **style)
    inset.text(start + reach / 2, 0, "test month", ha="center", color=theme.background, **style)
    if gap:
        inset.text((cut + start) / 2, 0, f"{gap} h", ha="center", **style)
    inset.text(cut, -1.05, f"to {windows['train_until'][0]:%Y-%m-%d}", ha="right", **style)
    inset.text(start, -1.05, f"from {windows['test_from'][0]:%Y-%m-%d}", ha="left", **style)


def _walk_forward_text(windows: pl.DataFrame, gap: int) -> str:
    length = (windows["train_until"] - windows["train_from"]).dt.total_days()
    return (
        f"Schematic of the publication's expanding walk-forward: {windows.height} monthly refits"
        f" predict the months {windows['month'][0]} to {windows['month'][-1]}. Each learns from"
        f" everything since {windows['train_from'][0]:%Y-%m-%d} that ended at least {gap} hours"
        f" before its month: {length[0]:,} days for the first refit, {length[-1]:,} for the last."
    )


# --- growth ---------------------------------------------------------------------------------


def growth(curves: pl.DataFrame, fees: pl.DataFrame) -> Chart:
    """What one dollar becomes that follows BTC's forecasts, at three fees, and one that is held.

    Parameters
    ----------
    curves, fees
        As ``trading.CURVES`` and ``trading.FEES``; the latter for the intervals at the end.
    """
    own = curves.filter(
        pl.col("coin") == BITCOIN,
        (pl.col("strategy") == "held") | pl.col("fee_bp").is_in(list(GROWTH_FEES)),
    )
    ends = own.group_by("strategy", "fee_bp", maintain_order=True).last()
    plain = fees.filter(pl.col("coin") == BITCOIN, pl.col("band") == 0).select(
        pl.lit("plain").alias("strategy"), "fee_bp", low="final_low", high="final_high"
    )
    ends = ends.join(plain, on=["strategy", "fee_bp"], how="left", maintain_order="left")
    known = _printed_growth()
    data = pl.concat(
        [
            own.join(
                ends.select("strategy", "fee_bp", "day", "low", "high"),
                on=["strategy", "fee_bp", "day"],
                how="left",
                maintain_order="left",
            ),
            known,
        ],
        how="diagonal",
    )
    return Chart(
        draw=partial(_draw_growth, curves=own, ends=ends, known=known),
        data=data,
        alt_text=_growth_text(own, ends, known),
        size=(WIDTH, 3.8),
    )


def _printed_growth() -> pl.DataFrame:
    """Printed final values, at the publication's last day."""
    values = [
        *(("plain", fee, printed("fig_growth", "final value of $1", words))
          for fee, words in GROWTH_FEES.items()),
        ("held", 0.0, printed("fig_growth", "final value of $1", "BTC held")),
    ]  # fmt: skip
    frame = pl.DataFrame(values, schema=["strategy", "fee_bp", "published"], orient="row")
    return frame.with_columns(pl.lit(BITCOIN).alias("coin"), pl.lit(LAST).alias("day"))


def _curve_name(strategy: str, fee_bp: float) -> str:
    if strategy == "held":
        return "held"
    return f"{fee_bp:g} bp a side" if fee_bp else "no fees"


def _draw_growth(
    figure: Figure, theme: Theme, *, curves: pl.DataFrame, ends: pl.DataFrame, known: pl.DataFrame
) -> None:
    ax = figure.add_subplot()
    days = curves["day"].to_list() or [FIRST_DAY, LAST]
    first, last = min(days), max(days)
    # Right of the last day, one column a curve: measured end, interval, printed value.
    step = max((last - first).days, 30) / 40
    labels = []
    guide(ax, theme, y=1)
    for number, row in enumerate(known.iter_rows(named=True)):
        key = {"strategy": row["strategy"], "fee_bp": row["fee_bp"]}
        column = day_number(last) + (number + 1) * step
        end = found(ends, **key)
        if end is not None:
            own = curves.filter(*(pl.col(name) == value for name, value in key.items()))
            _draw_curve(ax, theme, own, number)
            _draw_end(ax, theme, end, column, number)
            labels.append(LineLabel(_curve_name(**key), column, end["value"], number))
        if row["published"] > 0:
            published(ax, [column], [row["published"]], theme)
    ax.set_xlim(day_number(first), day_number(last) + (known.height + 1) * step)
    date_axis(ax, first, last)
    log_axis(ax, "y")
    label_axes(ax, x="end of the day, UTC", y="value of one dollar", y_unit="USD")
    interval_key(ax, theme)
    legend_above(ax)
    direct_labels(ax, labels, theme)


def _draw_curve(ax: Axes, theme: Theme, curve: pl.DataFrame, number: int) -> None:
    ax.plot(
        day_numbers(curve, "day"),
        numbers(curve, "value"),
        color=theme.colour(number),
        linestyle=DASHES[number],
        linewidth=1.3,
    )


def _draw_end(ax: Axes, theme: Theme, end: Row, column: float, number: int) -> None:
    """Final value of a curve, with its interval where it has one."""
    value = end["value"]
    low, high = (value if end[name] is None else end[name] for name in ("low", "high"))
    if low == high:
        ax.plot([column], [value], marker=MARKERS[number], color=theme.colour(number))
        return
    colour, marker = theme.colour(number), MARKERS[number]
    interval_bars(ax, [column], [value], [low], [high], colour=colour, marker=marker)


def _growth_text(curves: pl.DataFrame, ends: pl.DataFrame, known: pl.DataFrame) -> str:
    sentences = ["Value of one dollar that follows BTC's forecasts every hour, logarithmic."]
    if curves.height:
        first, last = curves.select(pl.col("day").min(), last=pl.col("day").max()).row(0)
        sentences[0] = (
            f"Value of one dollar from {first} to {last} that follows"
            " BTC's forecasts every hour, on a logarithmic scale, with 95% intervals of its end."
        )
    for row in known.iter_rows(named=True):
        end = found(ends, strategy=row["strategy"], fee_bp=row["fee_bp"])
        value = "not measured"
        if end is not None:
            value = rounded(end["value"], 3)
            if end["low"] is not None:
                value += f" ({rounded(end['low'], 2)} to {rounded(end['high'], 2)})"
        name = _curve_name(row["strategy"], row["fee_bp"])
        printed_value = f"{row['published']:g}" if row["published"] else "practically zero"
        sentences.append(f"{name[0].upper()}{name[1:]}: {value}, published {printed_value}.")
    return " ".join(sentences)


# --- fees -----------------------------------------------------------------------------------


def fees(table: pl.DataFrame) -> Chart:
    """Return a year against one-way trades a day, a point a band and a line a fee.

    Parameters
    ----------
    table
        As ``trading.FEES``: bands in the order of the settings, as the publication numbers its.
    """
    measured = table.filter(pl.col("coin").is_in(FEE_COINS)).select(
        "coin",
        (pl.col("band").rle_id() + 1).over("coin").cast(pl.Int64).alias("number"),
        "band",
        "fee_bp",
        "sides_per_day",
        "sides_low",
        "sides_high",
        *(
            (100 * pl.col(f"return_{name}")).alias(f"percent_{name}")
            for name in ("per_year", "low", "high")
        ),
    )
    data = measured.join(
        _printed_fees(), on=["coin", "number", "fee_bp"], how="full", coalesce=True
    ).sort("coin", "fee_bp", "number")
    return Chart(
        draw=partial(_draw_fees, data=data),
        data=data,
        alt_text=_fees_text(data),
        size=(WIDTH, 3.9),
    )


def _printed_fees() -> pl.DataFrame:
    """Printed points: six bands a coin at two fees, and one band of BTC at two more."""
    points = [
        (coin, number, fee, _printed_sides(coin, number), printed("fig_fees", quantity, condition))
        for coin in FEE_COINS
        for number in range(1, PUBLISHED_BANDS + 1)
        for condition in (f"{coin} band {number} of {PUBLISHED_BANDS}",)
        for fee, quantity in PRINTED_FEES.items()
    ]
    points += [
        (
            BITCOIN,
            QUOTED_BAND,
            float(fee),
            _printed_sides(BITCOIN, QUOTED_BAND),
            printed("stat_band", "return per year", f"BTC band 0.05, {fee} bp per side"),
        )
        for fee in QUOTED_FEES
    ]
    return pl.DataFrame(
        points,
        schema={
            "coin": pl.String,
            "number": pl.Int64,
            "fee_bp": pl.Float64,
            "published_sides": pl.Float64,
            "published_percent": pl.Float64,
        },
        orient="row",
    )


def _printed_sides(coin: str, number: int) -> float:
    condition = f"{coin} band {number} of {PUBLISHED_BANDS}"
    return printed("fig_fees", "one-way trades per day", condition)


def _fee_name(fee_bp: float) -> str:
    return f"{fee_bp:g} bp" if fee_bp else "no fees"


def _draw_fees(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    panels = figure.subplots(1, len(FEE_COINS), sharey=True)
    levels = data["fee_bp"].unique().sort().to_list()
    drawn = data.drop_nulls("percent_per_year")
    last = max((FEE_COINS.index(coin) for coin in drawn["coin"]), default=0)
    for ax, coin in zip(panels, FEE_COINS, strict=True):
        own = data.filter(pl.col("coin") == coin)
        guide(ax, theme, y=0)
        for number, level in enumerate(levels):
            _draw_level(ax, theme, own.filter(pl.col("fee_bp") == level), number)
        published(ax, numbers(own, "published_sides"), numbers(own, "published_percent"), theme)
        ax.set_title(coin)
        ax.set_xlim(left=0)
        ax.set_xlabel("one-way trades a day")
    thousands(panels[0].yaxis)
    panels[0].set_ylabel("return a year (%)")
    interval_key(panels[0], theme)
    panels[0].legend(loc="lower left")
    for ax, coin in [(panels[last], FEE_COINS[last])]:
        ends = (
            drawn.filter(pl.col("coin") == coin)
            .sort("sides_per_day")
            .group_by("fee_bp", maintain_order=True)
            .last()
        )
        direct_labels(
            ax,
            [
                LineLabel(
                    _fee_name(row["fee_bp"]),
                    row["sides_per_day"],
                    row["percent_per_year"],
                    levels.index(row["fee_bp"]),
                )
                for row in ends.iter_rows(named=True)
            ],
            theme,
        )


def _draw_level(ax: Axes, theme: Theme, level: pl.DataFrame, number: int) -> None:
    measured = level.drop_nulls("percent_per_year").sort("sides_per_day")
    x, y = numbers(measured, "sides_per_day"), numbers(measured, "percent_per_year")
    colour = theme.colour(number)
    # Intervals of neighbouring fees overlap: side by side they stay apart.
    ax.vlines(
        x + (number - 1.5) * 0.12,
        numbers(measured, "percent_low"),
        numbers(measured, "percent_high"),
        color=colour,
        linewidth=1.0,
        alpha=0.65,
    )
    ax.plot(
        x,
        y,
        color=colour,
        linestyle=DASHES[number % len(DASHES)],
        marker=MARKERS[number % len(MARKERS)],
        markersize=4,
    )


def _fees_text(data: pl.DataFrame) -> str:
    sentences = [
        "Return a year in percent against one-way trades a day, one point a band and one line"
        f" a fee a side, for {listed(FEE_COINS)}."
    ]
    for row in data.filter(pl.col("number").is_in([1, QUOTED_BAND])).iter_rows(named=True):
        if row["fee_bp"] not in PRINTED_FEES:
            continue
        value = "not measured"
        if row["percent_per_year"] is not None:
            value = (
                f"{said(row['percent_per_year'], row['percent_low'], row['percent_high'], 3)} at"
                f" {rounded(row['sides_per_day'], 3)} trades"
            )
        sentences.append(
            f"{row['coin']}, band {row['number']}, {_fee_name(row['fee_bp'])}: {value}, published"
            f" {as_printed(row['published_percent'])} at {row['published_sides']:g}."
        )
    return " ".join(sentences)
