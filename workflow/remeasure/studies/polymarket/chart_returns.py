"""Charts of money: returns by band, spreads, favourites held for months, and the volume trap."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from remeasure.draw.chart import (
    WIDTH,
    Chart,
    interval_key,
    legend_above,
    numbers,
    whiskers,
)
from remeasure.draw.colour import mix
from remeasure.draw.style import (
    MARKERS,
    SMALL,
    TALL,
    Theme,
    guide,
    label_axes,
    log_axis,
    published,
    thousands,
)
from remeasure.studies.polymarket.chart_parts import (
    scaled,
    told,
    whisker_points,
    with_printed,
)

Floats = NDArray[np.float64]

#: Bands that the first panel shows: cheap contracts move far more than dear ones.
CHEAP = 7

TRAP_NAMES = {
    "total": ("under $1K", "$1K-10K", "$10K-100K", "$100K-1M", "$1M-10M"),
    "week": ("under $100", "$100-1K", "$1K-10K", "$10K-100K"),
}
TRAP_WORDS = {"total": "total volume", "week": "week-before dollars"}
WAITS = {"month": "1 month", "quarter": "3 months", "half": "6 months"}
LONG_BANDS = ("90-95", "95-98", "98-99.5")


def returns(table: pl.DataFrame, net: pl.DataFrame) -> Chart:
    """Mean return by band with intervals, and what is left after half the spread.

    Parameters
    ----------
    table, net
        As ``band_returns.RETURNS`` and ``net_returns.NET``; spreads of this run's snapshot are
        taken, else the printed ones.
    """
    own = scaled(table.filter(pl.col("of") == "return").sort("band"), 100)
    data = with_printed(
        own,
        "fig_returns",
        [("mean return at mid, 1 week", f"{name} cents") for name in own["name"]],
    )
    which = "own" if (net["of"] == "own").any() else "printed"
    after = scaled(net.filter(pl.col("of") == which), 100).select("band", net="value")
    data = data.join(after, on="band", how="left", maintain_order="left")
    parts = [
        f"{row['name']} cents {told(row)}%"
        + ("" if row["net"] is None else f", net {row['net']:.1f}%")
        for row in data.iter_rows(named=True)
    ]
    source = "of one night" if which == "own" else "as printed"
    return Chart(
        draw=partial(_draw_returns, data=data),
        data=data.select(
            "name", "value", "low", "high", "truth", "net", "published", "n", "effective"
        ),
        alt_text=(
            "Mean return of contracts bought at the middle price a week before the close and held"
            f" to the end, both sides of every market, with 95% intervals; net of spreads {source}."
            f" By price: {'; '.join(parts)}."
        ),
        size=TALL,
    )


def _draw_returns(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    axes = figure.subplots(2, 1)
    for ax, own in ((axes[0], data.head(CHEAP)), (axes[1], data.tail(data.height - CHEAP))):
        x = np.arange(own.height, dtype=float)
        value = numbers(own, "value")
        colours = [theme.colour(1 if each < 0 else 2) for each in value]
        ax.bar(x, value, width=0.62, color=[mix(each, theme.background, 0.35) for each in colours])
        whiskers(ax, theme, x, own.with_columns(pl.col("low", "high").fill_null(pl.col("value"))))
        ax.plot(
            x,
            numbers(own, "net"),
            linestyle="none",
            marker="_",
            markersize=15,
            markeredgewidth=2.4,
            color=theme.colour(0),
            label="after half the spread",
            zorder=4,
        )
        published(ax, x, numbers(own, "published"), theme)
        guide(ax, theme, y=0)
        high = numbers(own, "high")
        top = _top(high, np.concatenate([value, numbers(own, "published")]))
        if top is not None:
            ax.set_ylim(top=top)
            _arrows(ax, theme, x, high, top)
        ax.set_xticks(x, own["name"].to_list(), fontsize=SMALL)
        label_axes(ax, x="price", x_unit="cents", y="return", y_unit="%")
        thousands(ax.yaxis)
    interval_key(axes[0], theme)
    legend_above(axes[0])


def _arrows(ax: Axes, theme: Theme, x: Floats, high: Floats, top: float) -> None:
    """Mark the intervals that end above the frame."""
    beyond = high > top
    (drawn,) = ax.plot(
        x[beyond],
        np.full(int(beyond.sum()), top),
        marker="^",
        color=theme.text,
        linestyle="none",
        clip_on=False,
    )
    drawn.set_in_layout(False)


def _top(high: Floats, reached: Floats) -> float | None:
    """Where the frame ends when one interval dwarfs all others; None where none does."""
    known = np.sort(high[np.isfinite(high)])
    if known.size < 3 or known[-1] <= 2 * max(known[-2], 0.0):
        return None
    return 1.25 * float(max(known[-2], np.nanmax(reached)))


def spread(table: pl.DataFrame) -> Chart:
    """Median half-spread by band, relative to the middle.

    Parameters
    ----------
    table
        As ``spread.SPREAD``.
    """
    own = scaled(table, 100)
    data = with_printed(
        own, "fig_spread", [("median (ask-mid)/mid", f"{name} cents") for name in own["name"]]
    )
    parts = [
        f"{row['name']} cents {row['value']:.1f}%"
        for row in data.drop_nulls("value").iter_rows(named=True)
    ]
    return Chart(
        draw=partial(_draw_spread, data=data),
        data=data.select("name", "value", "published", "n"),
        alt_text=(
            "Median distance from the middle price to the ask, as a share of the middle, over both"
            f" contracts of every market with two-sided quotes, {len(parts)} bands by price:"
            f" {'; '.join(parts) or 'no snapshot in this run'}."
        ),
        size=(WIDTH, 3.5),
    )


def _draw_spread(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    x = np.arange(data.height, dtype=float)
    ax.bar(x, numbers(data, "value"), width=0.62, color=theme.colour(0), label="median")
    published(ax, x, numbers(data, "published"), theme)
    ax.set_xticks(x, data["name"].to_list(), rotation=45, ha="right", fontsize=SMALL)
    ax.set_ylim(0.3, 130)
    log_axis(ax, "y")
    label_axes(ax, x="middle price", x_unit="cents", y="half-spread over middle", y_unit="%")
    legend_above(ax)


def long_dated(table: pl.DataFrame) -> Chart:
    """Win rate against price, and the yearly return, of favourites by band and horizon.

    Parameters
    ----------
    table
        As ``long_dated.LONG``.
    """
    quantities = {
        "cost": "mean price",
        "win": "win rate",
        "annual": "return held to the end",
    }
    own = scaled(
        table.filter(pl.col("name").is_in(LONG_BANDS), pl.col("of").is_in(list(quantities))), 100
    )
    data = with_printed(
        own,
        "fig_long",
        [
            (quantities[row["of"]], f"{WAITS[row['horizon']]}, {row['name']} cents")
            for row in own.iter_rows(named=True)
        ],
    )
    parts = [
        f"{WAITS[row['horizon']]}, {row['name']} cents: {told(row)}% a year"
        for row in data.filter(pl.col("of") == "annual").iter_rows(named=True)
    ]
    return Chart(
        draw=partial(_draw_long, data=data),
        data=data.select(
            "horizon", "name", "of", "value", "low", "high", "truth", "published", "n"
        ),
        alt_text=(
            "Contracts above 90 cents bought one, three and six months before the close: mean"
            f" price and win rate, and the compounded return a year. {'; '.join(parts)}."
        ),
        size=(WIDTH, 4.4),
    )


def _draw_long(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    left, right = figure.subplots(1, 2, sharey=True)
    order = [(horizon, name) for horizon in WAITS for name in LONG_BANDS]
    y = np.arange(len(order))[::-1].astype(float)

    def of(which: str) -> pl.DataFrame:
        return pl.concat(
            [
                data.filter(
                    pl.col("horizon") == horizon, pl.col("name") == name, pl.col("of") == which
                )
                for horizon, name in order
            ]
        )

    cost, win, annual = of("cost"), of("win"), of("annual")
    left.plot(
        numbers(cost, "value"),
        y,
        linestyle="none",
        marker="|",
        markersize=13,
        markeredgewidth=2.4,
        color=theme.colour(1),
        label="price",
    )
    whisker_points(left, y, win, colour=theme.colour(0), label="won", horizontal=True)
    published(left, numbers(win, "published"), y, theme)
    whisker_points(right, y, annual, colour=theme.colour(0), marker=MARKERS[1], horizontal=True)
    published(right, numbers(annual, "published"), y, theme)
    guide(right, theme, x=0)
    for ax in (left, right):
        ax.set_yticks(y, [f"{WAITS[horizon]}, {name} c" for horizon, name in order])
        ax.set_ylim(-0.6, len(order) - 0.4)
        ax.grid(visible=True, axis="x")
        ax.grid(visible=False, axis="y")
        for edge in (2.5, 5.5):
            ax.axhline(edge, color=theme.grid, linewidth=1.2)
    label_axes(left, x="price and win rate", x_unit="cents, %", y="wait, price")
    label_axes(right, x="return a year", x_unit="%", y="")
    legend_above(left)


def trap(table: pl.DataFrame) -> Chart:
    """Won per dollar paid for longshots, by total volume and by dollars of the week before.

    Parameters
    ----------
    table
        As ``trap.TRAP``.
    """
    own = table.filter(pl.col("contracts") == "longshots", pl.col("bin") >= 0)
    data = with_printed(
        own,
        "fig_trap",
        [
            (
                "win share / price, 2-20 cents",
                f"{TRAP_WORDS[row['panel']]} {TRAP_NAMES[row['panel']][row['bin']]}",
            )
            for row in own.iter_rows(named=True)
        ],
    )
    sentences = []
    for panel, words in TRAP_WORDS.items():
        parts = [
            f"{TRAP_NAMES[panel][row['bin']]} {told(row)}"
            for row in data.filter(pl.col("panel") == panel).iter_rows(named=True)
        ]
        sentences.append(f"By {words}: {'; '.join(parts)}")
    return Chart(
        draw=partial(_draw_trap, data=data),
        data=data.select("panel", "bin", "value", "low", "high", "truth", "published", "n"),
        alt_text=(
            "Share won over price paid for contracts of 2 to 20 cents a week before the close,"
            f" 1 would be fair. {'. '.join(sentences)}. Total volume is counted after the outcome"
            " and follows it: the left panel is a trap."
        ),
        size=(WIDTH, 3.6),
    )


def _draw_trap(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    axes = figure.subplots(1, 2, sharey=True, width_ratios=(5, 4))
    titles = {"total": "A trap: by total volume", "week": "By dollars of the week before"}
    highest = 1.2
    for number, (ax, panel) in enumerate(zip(axes, TRAP_NAMES, strict=True)):
        own = data.filter(pl.col("panel") == panel).sort("bin")
        x = numbers(own, "bin")
        value = numbers(own, "value")
        colour = mix(theme.colour(1 - number), theme.background, 0.3)
        ax.bar(x, value, width=0.62, color=colour)
        whiskers(ax, theme, x, own.with_columns(pl.col("low", "high").fill_null(pl.col("value"))))
        published(ax, x, numbers(own, "published"), theme)
        guide(ax, theme, y=1)
        names = [name.replace("under ", "< ") for name in TRAP_NAMES[panel]]
        ax.set_xticks(range(len(names)), names, rotation=35, ha="right", fontsize=SMALL)
        ax.set_title(titles[panel], fontsize=SMALL)
        label_axes(ax, x=TRAP_WORDS[panel], y="won per dollar paid")
        reached = np.concatenate([value, numbers(own, "published")])
        highest = max(highest, float(np.nanmax(reached)) * 1.35)
    axes[1].set_ylabel("")
    # The widest intervals leave the frame, and an arrow says so; the values never do.
    axes[0].set_ylim(0, highest)
    for ax, panel in zip(axes, TRAP_NAMES, strict=True):
        own = data.filter(pl.col("panel") == panel)
        _arrows(ax, theme, numbers(own, "bin"), numbers(own, "high"), highest)
    interval_key(axes[1], theme)
    axes[1].legend(loc="upper right")
