"""Charts of volatility: what HAR forecasts of it, and positions sized by the forecast."""

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
    as_printed,
    date_axis,
    day_number,
    day_numbers,
    found,
    legend_above,
    numbers,
    said,
    save_chart,
    span,
)
from remeasure.draw.colour import mix
from remeasure.draw.style import (
    DASHES,
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
from remeasure.studies.crypto.published import BITCOIN, printed

COINS = ("BTC", "ETH", "SOL")

#: First day of the published left panel, and how many months it shows.
SINCE, MONTHS = date(2025, 7, 1), 16

#: The two targets of the regression: name in the result, in the figure, and printed quantity.
TARGETS = {
    "log variance": ("volatility", "out-of-sample R2 of log variance, HAR"),
    "returns": ("returns", "out-of-sample R2 of daily returns, same regression"),
}

#: The coin of the published sizing, the days of its rolling volatility, and its two positions.
SIZED_COIN, ROLLING = "SOL", 30
POSITIONS = {
    "held": ("held", "SOL held, 2022..2026-10", "SOL held"),
    "sized": ("sized to 50%", "SOL sized to 50%", "SOL sized"),
}


def fig_volatility(
    *,
    days: Path,
    scores: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """BTC's realised volatility with its forecast, and R2 of volatility against returns.

    Parameters
    ----------
    days, scores
        Parquet, as ``volatility.DAYS`` and ``volatility.SCORES``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = volatility(read_frame(days), read_frame(scores))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def fig_targeting(
    *,
    curves: Path,
    targeting: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Volatility over 30 days of holding SOL and of the position sized by the forecast.

    Parameters
    ----------
    curves, targeting
        Parquet, as ``targeting.CURVES`` and ``targeting.TARGETING``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = sizing(read_frame(curves), read_frame(targeting))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def _ends(frame: pl.DataFrame, column: str) -> tuple[float, float]:
    """Smallest and largest number of a column that has one."""
    values = numbers(frame.drop_nulls(column), column)
    return float(values.min()), float(values.max())


# --- volatility -----------------------------------------------------------------------------


def volatility(days: pl.DataFrame, scores: pl.DataFrame) -> Chart:
    """Realised daily volatility of BTC with the forecast of the day before; below, R2 by coin.

    Parameters
    ----------
    days, scores
        As ``volatility.DAYS`` and ``volatility.SCORES``.
    """
    recent = _recent(days)
    bars = _bars(scores)
    return Chart(
        draw=partial(_draw_volatility, recent=recent, bars=bars),
        data=pl.concat([recent, bars], how="diagonal"),
        alt_text=_volatility_text(recent, bars),
        size=TALL,
    )


def _recent(days: pl.DataFrame) -> pl.DataFrame:
    """BTC's days of the published panel; of a run that ends earlier, its last 16 months."""
    own = days.filter(pl.col("coin") == BITCOIN).drop_nulls(["log_forecast", "variance"])
    if own.height:
        last = own["day"].max()
        assert isinstance(last, date)  # noqa: S101 - a column of days without nulls
        month = last.year * 12 + last.month - MONTHS
        own = own.filter(pl.col("day") >= min(SINCE, date(month // 12, month % 12 + 1, 1)))
    return own.select(
        "coin",
        "day",
        realised_percent=100 * pl.col("variance").sqrt(),
        forecast_percent=100 * (pl.col("log_forecast") / 2).exp(),
    )


def _bars(scores: pl.DataFrame) -> pl.DataFrame:
    """Measured and printed R2, one row a coin and target."""
    known = pl.DataFrame(
        [
            {"coin": coin, "target": target, "published": printed("fig_volatility", quantity, coin)}
            for target, (_, quantity) in TARGETS.items()
            for coin in COINS
        ]
    )
    measured = scores.filter("published_way").select(
        "coin", "target", "benchmark", "r2", "low", "high", scored_days="days"
    )
    return known.join(measured, on=["coin", "target"], how="left", maintain_order="left")


def _draw_volatility(
    figure: Figure, theme: Theme, *, recent: pl.DataFrame, bars: pl.DataFrame
) -> None:
    top, bottom = figure.subplots(2, 1, height_ratios=(3, 2))
    _draw_recent(top, theme, recent)
    _draw_bars(bottom, theme, bars)


def _draw_recent(ax: Axes, theme: Theme, recent: pl.DataFrame) -> None:
    days = recent["day"].to_list() or [SINCE, date(2026, 10, 29)]
    x = day_numbers(recent, "day") if recent.height else np.empty(0)
    pale = mix(theme.colour(0), theme.background, 0.35)
    ax.plot(x, numbers(recent, "realised_percent"), color=pale, linewidth=0.9, label="realised")
    ax.plot(
        x,
        numbers(recent, "forecast_percent"),
        color=theme.colour(1),
        linewidth=1.5,
        label="forecast of the day before",
    )
    ax.set_xlim(day_number(days[0]), day_number(days[-1]))
    date_axis(ax, days[0], days[-1])
    if recent.height:
        log_axis(ax, "y")
    label_axes(ax, x="day, UTC", y="volatility of BTC", y_unit="% a day")
    legend_above(ax)


def _draw_bars(ax: Axes, theme: Theme, bars: pl.DataFrame) -> None:
    _, top = span(numbers(bars, "high"), numbers(bars, "published"), default=(-0.05, 0.7))
    for number, (target, (name, _)) in enumerate(TARGETS.items()):
        own = bars.filter(pl.col("target") == target)
        x = np.arange(own.height) + 0.4 * number - 0.2
        colour = mix(theme.colour(number), theme.background, 0.3)
        value = numbers(own, "r2")
        there = np.isfinite(value)
        ax.bar(x[there], value[there], 0.34, color=colour, label=name)
        ends = (numbers(own, end)[there] for end in ("low", "high"))
        interval_bars(
            ax,
            x[there],
            value[there],
            *ends,
            colour=theme.text,
            marker="none",
            label="" if number else "95% interval",
        )
        published(ax, x, numbers(own, "published"), theme)
    guide(ax, theme, y=0)
    low, _ = span(numbers(bars, "low"), numbers(bars, "r2"), default=(-0.05, 0.7))
    ax.set_ylim(max(low * 1.1, -1.0), top + 0.05)
    ax.set_xticks(range(len(COINS)), COINS)
    ax.set_xlim(-0.6, len(COINS) - 0.4)
    label_axes(ax, x="coin", y="out-of-sample R²")
    legend_above(ax)


def _volatility_text(recent: pl.DataFrame, bars: pl.DataFrame) -> str:
    sentences = []
    if recent.height:
        low, high = _ends(recent, "realised_percent")
        sentences.append(
            f"Realised daily volatility of BTC from {recent['day'][0]} to {recent['day'][-1]},"
            f" between {rounded(low, 2)} and {rounded(high, 2)} percent, with the forecast made the"
            " day before, which follows it."
        )
    for target, (name, _) in TARGETS.items():
        parts = []
        for row in bars.filter(pl.col("target") == target).iter_rows(named=True):
            value = "not measured"
            if row["r2"] is not None:
                value = said(row["r2"], row["low"], row["high"], 3)
            parts.append(f"{row['coin']} {value}, published {as_printed(row['published'])}")
        sentences.append(f"Out-of-sample R² of {name}: {'; '.join(parts)}.")
    return " ".join(sentences)


# --- targeting ------------------------------------------------------------------------------


def sizing(curves: pl.DataFrame, targeting: pl.DataFrame) -> Chart:
    """Volatility over 30 days of holding SOL and of sizing it, with the target.

    Parameters
    ----------
    curves, targeting
        As ``targeting.CURVES`` and ``targeting.TARGETING``.
    """
    rolling = curves.filter(
        pl.col("coin") == SIZED_COIN, pl.col("position").is_in(list(POSITIONS))
    ).select("coin", "position", "day", "weight", percent=100 * pl.col("volatility"))
    totals = _totals(targeting)
    return Chart(
        draw=partial(_draw_sizing, rolling=rolling, totals=totals),
        data=pl.concat([rolling, totals], how="diagonal"),
        alt_text=_sizing_text(rolling, totals),
    )


def _totals(targeting: pl.DataFrame) -> pl.DataFrame:
    """Measured and printed volatility and drawdown of both positions, in percent."""
    known = pl.DataFrame(
        [
            {
                "position": name,
                "published": printed("fig_targeting", "realised volatility", volatility),
                "published_drawdown": printed("fig_targeting", "largest drawdown", drawdown),
                "target_percent": printed("fig_targeting", "target volatility", ""),
            }
            for name, (_, volatility, drawdown) in POSITIONS.items()
        ]
    )
    measured = targeting.filter(pl.col("coin") == SIZED_COIN).select(
        "position",
        value=100 * pl.col("volatility"),
        low=100 * pl.col("volatility_low"),
        high=100 * pl.col("volatility_high"),
        drawdown=100 * pl.col("drawdown"),
        own_target=100 * pl.col("target"),
    )
    # A run with another target has its own line; the printed one stays in the data.
    return (
        known.join(measured, on="position", how="left", maintain_order="left")
        .with_columns(pl.coalesce("own_target", "target_percent").alias("target_percent"))
        .drop("own_target")
    )


def _draw_sizing(
    figure: Figure, theme: Theme, *, rolling: pl.DataFrame, totals: pl.DataFrame
) -> None:
    ax = figure.add_subplot()
    days = rolling["day"].to_list() or [date(2022, 1, 1), date(2026, 10, 29)]
    first, last = min(days), max(days)
    step = max((last - first).days, 30) / 30
    labels = []
    target = totals["target_percent"][0]
    guide(ax, theme, y=target)
    ax.get_lines()[0].set_label(f"target {target:g}%")
    for number, name in enumerate(POSITIONS):
        own = rolling.filter(pl.col("position") == name)
        if own.height:
            ax.plot(
                day_numbers(own, "day"),
                numbers(own, "percent"),
                color=theme.colour(number),
                linestyle=DASHES[number],
                linewidth=1.3,
            )
        column = day_number(last) + (number + 1) * step
        row = found(totals, position=name)
        if row is None:
            continue
        if row["value"] is not None:
            interval_bars(
                ax,
                [column],
                [row["value"]],
                [row["low"]],
                [row["high"]],
                colour=theme.colour(number),
                marker="o" if number == 0 else "s",
                label="" if number else "whole time, 95% interval",
            )
            title = "held" if name == "held" else f"sized to\n{target:g}%"
            labels.append(LineLabel(title, column, row["value"], number))
        published(ax, [column], [row["published"]], theme)
    ax.set_xlim(day_number(first), day_number(last) + 3 * step)
    date_axis(ax, first, last)
    log_axis(ax, "y")
    label_axes(ax, x="end of the 30 days, UTC", y=f"volatility of {SIZED_COIN}", y_unit="% a year")
    legend_above(ax)
    direct_labels(ax, labels, theme)


def _sizing_text(rolling: pl.DataFrame, totals: pl.DataFrame) -> str:
    sentences = [f"Volatility over {ROLLING} days of two positions in {SIZED_COIN}, a year."]
    for name in POSITIONS:
        row: dict[str, Any] | None = found(totals, position=name)
        if row is None:
            continue
        title = "Held" if name == "held" else f"Sized to {row['target_percent']:g}%"
        value, drawdown = "not measured", "not measured"
        if row["value"] is not None:
            value = f"{said(row['value'], row['low'], row['high'], 3)} percent"
            drawdown = f"{rounded(row['drawdown'], 3)} percent"
        sentence = (
            f"{title}: over the whole time {value}, published {row['published']:g};"
            f" largest drawdown {drawdown}, published {row['published_drawdown']:g}"
        )
        own = rolling.filter(pl.col("position") == name).drop_nulls("percent")
        if own.height:
            low, high = _ends(own, "percent")
            sentence += f"; over {ROLLING} days between {rounded(low, 2)} and {rounded(high, 2)}"
        sentences.append(f"{sentence}.")
    return " ".join(sentences)
