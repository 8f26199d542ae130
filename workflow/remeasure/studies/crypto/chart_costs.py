"""Charts of what trading pays and costs: funding by month, and the price of a large order."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.chart import (
    Chart,
    Row,
    as_printed,
    interval_key,
    legend_above,
    numbers,
    said,
    save_chart,
    span,
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
    interval_bars,
    label_axes,
    log_axis,
    published,
)
from remeasure.report.numbers import rounded
from remeasure.store.frames import read_frame
from remeasure.studies.crypto.published import rows

FUNDED = ("BTC", "ETH")
AVERAGE = "average funding scaled to a year"
HUNDRED_COST = "cost of a $100K market buy against mid"
MILLION_COST = "cost of a $1M market buy"


# --- funding --------------------------------------------------------------------------------


def fig_funding(
    *,
    periods: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Funding of BTC and ETH by month, scaled to a year, with yearly averages.

    Parameters
    ----------
    periods
        Parquet, as ``funding.PERIODS``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = funding(read_frame(periods))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def funding(periods: pl.DataFrame) -> Chart:
    """Bars a month and a line a year, a panel a contract.

    Parameters
    ----------
    periods
        As ``funding.PERIODS``.
    """
    measured = periods.filter(pl.col("coin").is_in(FUNDED)).select(
        "coin",
        "span",
        "first",
        "last",
        "payments",
        "negative",
        "low",
        "high",
        value="percent",
        year=pl.col("first").dt.year().cast(pl.Int64),
    )
    known = _printed_averages().with_columns(span=pl.lit("year"))
    data = measured.join(known, on=["coin", "span", "year"], how="full", coalesce=True).sort(
        "coin", "span", "year", "first"
    )
    return Chart(
        draw=partial(_draw_funding, data=data),
        data=data.rename({"value": "percent"}),
        alt_text=_funding_text(data),
        size=TALL,
    )


def _printed_averages() -> pl.DataFrame:
    """Printed yearly averages: ``coin``, ``year``, ``published``."""
    known = [
        (coin, int(rest[:4]), float(row.number))
        for row in rows().values()
        if row.quantity == AVERAGE and row.number is not None
        for coin, rest in (row.condition.split(" ", 1),)
    ]
    return pl.DataFrame(known, schema=["coin", "year", "published"], orient="row")


def _draw_funding(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    panels = figure.subplots(len(FUNDED), 1, sharex=True, sharey=True)
    for number, (ax, coin) in enumerate(zip(panels, FUNDED, strict=True)):
        _draw_contract(ax, theme, number, data.filter(pl.col("coin") == coin))
        ax.set_title(f"{coin} perpetual")
        ax.set_ylabel("funding (% a year)")
    years = sorted(set(data["year"]))
    panels[-1].set_xticks([year + 0.5 for year in years], [str(year) for year in years])
    panels[-1].tick_params(axis="x", length=0)
    panels[-1].set_xlim(years[0], years[-1] + 1)
    panels[-1].set_xlabel("month, with the average of each year")
    entries = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
    order = ("month", "year", "95% interval", "published")
    figure.legend(
        [entries[name] for name in order], order, loc="outside lower right", ncols=len(order)
    )


def _draw_contract(ax: Axes, theme: Theme, number: int, own: pl.DataFrame) -> None:
    months = own.filter(pl.col("span") == "month")
    pale = mix(theme.colour(number), theme.background, 0.35)
    start = numbers(months, "year") + (months["first"].dt.month().to_numpy() - 0.5) / 12
    ax.bar(start, numbers(months, "value"), 0.8 / 12, color=pale, label="month")
    years = own.filter(pl.col("span") == "year")
    known = years.drop_nulls("value")
    year, value = numbers(known, "year"), numbers(known, "value")
    ax.hlines(value, year + 0.04, year + 0.96, color=theme.text, linewidth=1.4, label="year")
    interval_bars(
        ax,
        year + 0.5,
        value,
        numbers(known, "low"),
        numbers(known, "high"),
        colour=theme.text,
        marker="none",
        label="95% interval",
    )
    guide(ax, theme, y=0)
    if not known.height:
        ax.text(0.5, 0.5, "not measured", transform=ax.transAxes, ha="center", fontsize=SMALL)
    # Beside the interval, so that neither hides the other.
    published(ax, numbers(years, "year") + 0.72, numbers(years, "published"), theme)


def _funding_text(data: pl.DataFrame) -> str:
    sentences = [
        "Funding of perpetual contracts by month, scaled to a year, in percent, positive where"
        " longs pay; yearly averages with 95% intervals."
    ]
    for coin in FUNDED:
        own = data.filter(pl.col("coin") == coin)
        years = ", ".join(
            _year(row) for row in own.filter(pl.col("span") == "year").iter_rows(named=True)
        )
        sentences.append(f"{coin}: {years or 'not measured'}.")
        months = own.filter(pl.col("span") == "month").sort("value", "first")
        if months.height:
            low, high = months.row(0, named=True), months.row(-1, named=True)
            sentences.append(
                f"Its {months.height} months reach from {rounded(low['value'], 3)} in"
                f" {low['first']:%Y-%m} to {rounded(high['value'], 3)} in {high['first']:%Y-%m}."
            )
    return " ".join(sentences)


def _year(row: Row) -> str:
    value = "not measured"
    if row["value"] is not None:
        value = said(row["value"], row["low"], row["high"], 3)
    known = "" if row["published"] is None else f", published {as_printed(row['published'])}"
    return f"{row['year']} {value}{known}"


# --- depth ----------------------------------------------------------------------------------


def fig_depth(
    *,
    costs: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Cost of a market buy against the middle price, by size of the order.

    Parameters
    ----------
    costs
        Parquet, as ``depth.COSTS``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = depth(read_frame(costs))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def depth(costs: pl.DataFrame) -> Chart:
    """One line a contract, both axes logarithmic; a cross where the book ends.

    Parameters
    ----------
    costs
        As ``depth.COSTS``.
    """
    data = costs.select(
        "coin", "rank", "size_usd", "books", "filled", "cost_bp", "low_bp", "high_bp"
    ).join(_printed_costs(), on=["coin", "rank", "size_usd"], how="full", coalesce=True)
    data = data.sort("rank", "size_usd")
    return Chart(
        draw=partial(_draw_depth, data=data), data=data, alt_text=_depth_text(data), size=TALL
    )


def _printed_costs() -> pl.DataFrame:
    """Printed costs: ``coin``, ``rank``, ``size_usd``, ``published``."""
    ranks: dict[str, int] = {}
    known = []
    for row in rows().values():
        if row.number is None:
            continue
        if row.quantity == HUNDRED_COST:
            _, rank, coin = row.condition.split()
            ranks[coin] = int(rank)
            known.append((coin, int(rank), 100_000, float(row.number)))
        elif row.quantity == MILLION_COST:
            known.append((row.condition, ranks[row.condition], 1_000_000, float(row.number)))
    return pl.DataFrame(known, schema=["coin", "rank", "size_usd", "published"], orient="row")


def _draw_depth(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    ax = figure.add_subplot()
    ends = []
    coins = data["coin"].unique(maintain_order=True)
    for number, coin in enumerate(coins):
        own = data.filter(pl.col("coin") == coin)
        line = own.drop_nulls("cost_bp")
        x, y = numbers(line, "size_usd"), numbers(line, "cost_bp")
        colour = theme.colour(number)
        # After the last colour, colours begin again with other dashes and marks.
        style = number + number // len(theme.series)
        ax.plot(x, y, color=colour, linestyle=DASHES[style % len(DASHES)])
        # An interval may reach below zero, where a logarithmic axis has no place.
        bottom = np.maximum(numbers(line, "low_bp"), y / 50)
        interval_bars(
            ax,
            x,
            y,
            bottom,
            numbers(line, "high_bp"),
            colour=colour,
            marker=MARKERS[style % len(MARKERS)],
        )
        if line.height:
            ends.append(
                LineLabel(f"{coin} ({line['rank'][0]})", float(x[-1]), float(y[-1]), number)
            )
        if own.filter(pl.col("cost_bp").is_null(), pl.col("books").is_not_null()).height:
            known = "the book ends" in ax.get_legend_handles_labels()[1]
            ax.plot(
                x[-1:],
                y[-1:],
                linestyle="none",
                marker="x",
                markersize=10,
                markeredgewidth=1.6,
                color=theme.text,
                label=None if known else "the book ends",
            )
    if not ends:
        # Left of the published values and between two lines of the grid.
        ax.text(0.3, 0.6, "not measured", transform=ax.transAxes, ha="center", fontsize=SMALL)
    published(ax, numbers(data, "size_usd"), numbers(data, "published"), theme)
    ax.set_xlim(800, 1.25e6)
    lowest, top = span(numbers(data, "cost_bp"), numbers(data, "published"), default=(0.01, 100))
    ax.set_ylim(max(lowest, 1e-4) / 2, top * 2)
    log_axis(ax, "x")
    log_axis(ax, "y")
    label_axes(
        ax, x="size of the order", x_unit="USD", y="cost against the middle price", y_unit="bp"
    )
    if ends:
        interval_key(ax, theme)
    legend_above(ax)
    direct_labels(ax, ends, theme)


def _depth_text(data: pl.DataFrame) -> str:
    sentences = [
        "Cost of a market buy against the middle price in basis points, by size of the order, for"
        " perpetual contracts by rank of turnover."
    ]
    for size, words in ((100_000, "100,000"), (1_000_000, "1,000,000")):
        own = data.filter(pl.col("size_usd") == size)
        parts = [each for each in map(_cost, own.iter_rows(named=True)) if each]
        sentences.append(f"An order of {words} USD: {'; '.join(parts) or 'not measured'}.")
    return " ".join(sentences)


def _cost(row: Row) -> str:
    if row["cost_bp"] is not None:
        value = said(row["cost_bp"], row["low_bp"], row["high_bp"], 3)
    elif row["books"] is not None:
        value = f"filled by {row['filled']} of {row['books']} books"
    else:
        value = "not measured"
    known = "" if row["published"] is None else f", published {as_printed(row['published'])}"
    return f"{row['coin']} (rank {row['rank']}) {value}{known}"
