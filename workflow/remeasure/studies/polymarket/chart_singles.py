"""Charts of single markets, of crypto by month, and of the population."""

from __future__ import annotations

from datetime import date, datetime
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from remeasure.draw.chart import (
    WIDTH,
    Chart,
    date_axis,
    day_number,
    day_numbers,
    legend_above,
    numbers,
)
from remeasure.draw.colour import mix
from remeasure.draw.style import (
    DASHES,
    SMALL,
    TALL,
    LineLabel,
    Theme,
    direct_labels,
    guide,
    label_axes,
    log_axis,
    published,
    thousands,
)
from remeasure.studies.polymarket.chart_parts import outside, scaled, whisker_points, with_printed

TOPICS = ("sports", "crypto", "science", "politics", "culture", "economy")

#: What happened in the campaign of 2024.
CAMPAIGN = {
    datetime(2024, 6, 27): "first debate",
    datetime(2024, 7, 21): "Harris for Biden",
    datetime(2024, 9, 10): "second debate",
    datetime(2024, 11, 5): "vote",
}


# --- one share --------------------------------------------------------------------------------


def anatomy(quote: dict[str, Any]) -> Chart:
    """A dollar split into Yes and No, and what a buyer at the ask wins and loses.

    Parameters
    ----------
    quote
        As ``quotes.measure_quotes`` writes it; the printed quotes stand in where there is no own.
    """
    own = quote["bid"] is not None
    bid, ask = (100 * (quote[side] if own else quote[f"printed_{side}"]) for side in ("bid", "ask"))
    mid = (bid + ask) / 2
    data = pl.DataFrame(
        {
            "part": ["Yes", "No", "bid", "ask", "gain if Yes", "loss if No"],
            "cents": [mid, 100 - mid, bid, ask, 100 - ask, -ask],
            "published": [71.5, 28.5, None, None, None, None],
        }
    ).with_columns(
        published=pl.Series(
            [
                100 * (quote["printed_bid"] + quote["printed_ask"]) / 2,
                100 - 50 * (quote["printed_bid"] + quote["printed_ask"]),
                100 * quote["printed_bid"],
                100 * quote["printed_ask"],
                100 - 100 * quote["printed_ask"],
                -100 * quote["printed_ask"],
            ]
        )
    )
    whose = "this run’s snapshot" if own else "the printed quote"
    return Chart(
        draw=partial(_draw_anatomy, bid=bid, ask=ask),
        data=data,
        alt_text=(
            f"One share of Yes and one of No make a dollar. By {whose}: Yes {mid:g} cents, No"
            f" {100 - mid:g}; bid {bid:g}, ask {ask:g}. Who buys at {ask:g} gains {100 - ask:g} or"
            f" loses {ask:g} cents, and breaks even at a chance of {ask:g}%."
        ),
        size=(WIDTH, 2.6),
    )


def _draw_anatomy(figure: Figure, theme: Theme, *, bid: float, ask: float) -> None:
    ax = figure.add_subplot()
    mid = (bid + ask) / 2
    yes, no = (mix(theme.colour(n), theme.background, 0.25) for n in (0, 1))
    ax.barh([2], [mid], color=yes, height=0.55)
    ax.barh([2], [100 - mid], left=mid, color=no, height=0.55)
    ax.text(mid / 2, 2, f"Yes {mid:g}c", ha="center", va="center", color=theme.text)
    ax.text((100 + mid) / 2, 2, f"No {100 - mid:g}c", ha="center", va="center", color=theme.text)
    for price, name, side in ((bid, "bid", "right"), (ask, "ask", "left")):
        ax.plot([price, price], [1.66, 2.34], color=theme.text, linewidth=1.3)
        shift = -1 if side == "right" else 1
        ax.text(price + shift, 2.5, f"{name} {price:g}c", ha=side, fontsize=SMALL)
    ax.barh([1], [ask], color=mix(theme.colour(4), theme.background, 0.55), height=0.4)
    ax.text(ask / 2, 1, f"a buyer pays {ask:g}c", ha="center", va="center")
    ax.barh([0], [100 - ask], left=ask, color=yes, height=0.4)
    ax.text(ask - 1.5, 0, f"wins {100 - ask:g}c or loses {ask:g}c", ha="right", va="center")
    ax.axvline(ask, color=theme.muted, linewidth=1, linestyle=(0, (4, 2)), zorder=0)
    ax.set_xlim(0, 100)
    ax.set_ylim(-0.5, 2.9)
    ax.set_yticks([2, 1, 0], ["one dollar", "at the ask", "result"])
    ax.grid(visible=False)
    label_axes(ax, x="cents of one dollar; break-even chance", x_unit="%", y="one share")


# --- series -----------------------------------------------------------------------------------


def election(series: pl.DataFrame) -> Chart:
    """Price that Trump wins over the campaign.

    Parameters
    ----------
    series
        As ``single_markets.SERIES``.
    """
    ends = (
        {
            "first": (series["time"][0], series["price"][0]),
            "last": (series["time"][-1], series["price"][-1]),
        }
        if series.height
        else {}
    )
    words = "; ".join(
        f"{name} {moment:%Y-%m-%d} at {100 * price:.1f} cents"
        for name, (moment, price) in ends.items()
    )
    return Chart(
        draw=partial(_draw_election, series=series),
        data=series.select("time", "price"),
        alt_text=(
            "Price of the contract that Donald Trump wins the election of 2024, in cents:"
            f" {words or '0 points in this run'}. Marked: "
            + ", ".join(f"{name} {when:%d %B}" for when, name in CAMPAIGN.items())
            + "."
        ),
        size=(WIDTH, 3.4),
    )  # fmt: skip


def _draw_election(figure: Figure, theme: Theme, *, series: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    ax.plot(
        day_numbers(series, "time"), 100 * numbers(series, "price"), color=theme.colour(0), lw=1.3
    )
    for number, (when, name) in enumerate(CAMPAIGN.items()):
        guide(ax, theme, x=day_number(when))
        ax.text(
            day_number(when) - 2,
            94 - 8 * number,
            name,
            fontsize=SMALL,
            ha="right",
            color=theme.muted,
            bbox={"facecolor": theme.background, "edgecolor": "none", "pad": 1.0},
        )
    guide(ax, theme, y=50)
    ax.set_ylim(0, 100)
    first, last = date(2024, 1, 1), date(2024, 11, 10)
    ax.set_xlim(day_number(first), day_number(last))
    date_axis(ax, first, last)
    label_axes(ax, x="2024 (UTC)", y="price that Trump wins", y_unit="cents")


def nobel(series: pl.DataFrame) -> Chart:
    """Prices of the leading candidates in the two days before the announcement.

    Parameters
    ----------
    series
        As ``single_markets.SERIES``: the candidates shown.
    """
    last = (
        series.sort("time")
        .group_by("label", maintain_order=True)
        .agg(top=pl.col("price").max(), last=pl.col("price").last())
        .sort("top", "label", descending=[True, False])
    )
    words = [
        f"{row['label']} at most {100 * row['top']:.1f}, last {100 * row['last']:.1f}"
        for row in last.iter_rows(named=True)
    ]
    return Chart(
        draw=partial(_draw_nobel, series=series, order=last["label"].to_list()),
        data=series.select("label", "time", "price"),
        alt_text=(
            "Prices in cents of the candidates for the Nobel Peace Prize of 2025 from 8 October"
            f" 12:00 to 10 October 09:00 UTC: {'; '.join(words) or '0 candidates in this run'}."
        ),
        size=(WIDTH, 3.4),
    )


def _draw_nobel(figure: Figure, theme: Theme, *, series: pl.DataFrame, order: list[str]) -> None:
    ax = figure.add_subplot()
    for number, label in enumerate(order):
        own = series.filter(pl.col("label") == label).sort("time")
        x, y = day_numbers(own, "time"), 100 * numbers(own, "price")
        ax.plot(
            x,
            y,
            color=theme.colour(number),
            linestyle=DASHES[number % len(DASHES)],
            lw=1.4,
            label=label if len(label) <= 32 else f"{label[:31]}…",
        )
    start, end = datetime(2025, 10, 8, 12), datetime(2025, 10, 10, 9)
    ax.set_xlim(day_number(start), day_number(end))
    ax.set_ylim(0, 100)
    moments = [datetime(2025, 10, 8, 12), datetime(2025, 10, 9), datetime(2025, 10, 9, 12),
               datetime(2025, 10, 10)]  # fmt: skip
    ax.set_xticks(
        [day_number(each) for each in moments], [f"{each:%d Oct\n%H:%M}" for each in moments]
    )
    label_axes(ax, x="2025 (UTC)", y="price", y_unit="cents")
    if order:
        # Most candidates end at nothing: names beside their lines would lie on each other.
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.2)


# --- crypto and population ----------------------------------------------------------------------


def crypto(months: pl.DataFrame, pooled: pl.DataFrame) -> Chart:
    """Share of bullish close calls won by month, beside Bitcoin's return.

    Parameters
    ----------
    months, pooled
        As ``crypto_months.MONTHS`` and ``POOLED``.
    """
    own = scaled(months.filter(pl.col("of").is_in(["share", "price", "bitcoin"])), 100)
    quantities = {"share": "share of bullish bets won", "bitcoin": "Bitcoin monthly return"}
    data = with_printed(
        own,
        "fig_crypto",
        [
            (quantities[row["of"]], row["month"]) if row["of"] in quantities else None
            for row in own.iter_rows(named=True)
        ],
    )
    known = {row["of"]: row["value"] for row in pooled.iter_rows(named=True)}
    parts = [
        f"{row['month']} {row['value']:.0f}% of {row['n']}"
        for row in data.filter(pl.col("of") == "share").iter_rows(named=True)
    ]
    together = (
        f" Correlation with Bitcoin’s return {known['correlation']:.2f}."
        if known.get("correlation") is not None
        else ""
    )
    return Chart(
        draw=partial(_draw_crypto, data=data),
        data=data.select("month", "of", "value", "low", "high", "published", "n"),
        alt_text=(
            "Share of bullish bets on crypto prices at 30 to 70 cents that won, by month of the"
            f" close, {len(parts)} months: {'; '.join(parts) or 'none'}.{together} All bets of a"
            " month hang on one price."
        ),
        size=TALL,
    )


def _draw_crypto(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    if data.is_empty():
        ax = figure.add_subplot()
        outside(ax, theme, "no month with enough close calls", x=0.5, y=0.5)
        ax.set_ylim(0, 100)
        ax.set_xticks([])
        label_axes(ax, x="month of the close", y="share", y_unit="%")
        return
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(1.5, 1))
    order = data["month"].unique().sort().to_list()
    place = {month: float(number) for number, month in enumerate(order)}

    def of(which: str) -> tuple[pl.DataFrame, np.ndarray[tuple[int], np.dtype[np.float64]]]:
        own = data.filter(pl.col("of") == which).sort("month")
        return own, np.array([place[month] for month in own["month"]])

    share, x = of("share")
    whisker_points(top, x, share, colour=theme.colour(0), label="bullish bets won")
    published(top, x, numbers(share, "published"), theme)
    price, x = of("price")
    top.plot(
        x,
        numbers(price, "value"),
        color=theme.colour(1),
        linestyle="none",
        marker="_",
        markersize=11,
        markeredgewidth=2.2,
        label="mean price",
    )
    for row, at in zip(share.iter_rows(named=True), of("share")[1], strict=True):
        top.text(at, -7, str(row["n"]), ha="center", va="center", fontsize=SMALL - 1.5)
    returned, x = of("bitcoin")
    value = numbers(returned, "value")
    bottom.bar(x, value, width=0.62, color=[theme.colour(1 if v < 0 else 2) for v in value])
    published(bottom, x, numbers(returned, "published"), theme)
    guide(bottom, theme, y=0)
    guide(top, theme, y=50)
    top.set_ylim(-12, 104)
    top.set_yticks([0, 25, 50, 75, 100])
    bottom.set_xticks(range(len(order)), order, rotation=60, ha="right", fontsize=SMALL - 1)
    label_axes(top, x="", y="share", y_unit="%")
    label_axes(bottom, x="month of the close", y="Bitcoin", y_unit="%")
    thousands(bottom.yaxis)
    legend_above(top)


def population(counted: pl.DataFrame) -> Chart:
    """Resolved markets by year, and their topics.

    Parameters
    ----------
    counted
        As ``counts.POPULATION``.
    """
    years = sorted({*counted["year"].to_list(), 2024, 2025, 2026})
    totals = [int(counted.filter(pl.col("year") == year)["markets"].sum() or 0) for year in years]
    data = with_printed(
        pl.DataFrame({"year": years, "markets": totals}),
        "fig_population",
        [("resolved markets", f"closed in {year}") for year in years],
    )
    parts = [f"{year}: {total:,}" for year, total in zip(years, totals, strict=True)]
    shares = counted.join(
        data.select(pl.col("year").cast(pl.Int32), total="markets"), on="year", how="left"
    ).with_columns(share=100 * pl.col("markets") / pl.col("total"))
    return Chart(
        draw=partial(_draw_population, data=data, shares=shares),
        data=counted.join(
            data.select(pl.col("year").cast(pl.Int32), "published"), on="year", how="left"
        ),
        alt_text=(
            f"Resolved markets by year of the close: {', '.join(parts)}."
            " Beside it the topics of each year’s markets."
        ),
        size=(WIDTH, 3.5),
    )


def _draw_population(
    figure: Figure, theme: Theme, *, data: pl.DataFrame, shares: pl.DataFrame
) -> None:
    left, right = figure.subplots(1, 2)
    x = np.arange(data.height, dtype=float)
    years = data["year"].to_list()
    left.bar(x, numbers(data, "markets"), width=0.6, color=theme.colour(0), label="listed")
    published(left, x, numbers(data, "published"), theme)
    left.set_xticks(x, [str(year) for year in years])
    every = np.concatenate([numbers(data, "markets"), numbers(data, "published"), [1e3]])
    every = every[np.isfinite(every) & (every > 0)]
    left.set_ylim(every.min() / 3, every.max() * 3)
    log_axis(left, "y")
    label_axes(left, x="closed in", y="resolved markets")
    legend_above(left)
    bottom = np.zeros(data.height)
    labels = []
    for number, topic in enumerate(TOPICS):
        own = [
            float(shares.filter(pl.col("year") == year, pl.col("topic") == topic)["share"].sum())
            for year in years
        ]
        right.bar(x, own, width=0.6, bottom=bottom, color=theme.colour(number))
        labels.append(LineLabel(topic, float(x[-1]), float(bottom[-1] + own[-1] / 2), number))
        bottom = bottom + own
    right.set_xticks(x, [str(year) for year in years])
    right.set_ylim(0, 100)
    label_axes(right, x="closed in", y="of the year’s markets", y_unit="%")
    direct_labels(right, labels, theme)
