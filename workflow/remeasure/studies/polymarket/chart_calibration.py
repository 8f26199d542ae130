"""Charts of calibration: the reliability diagram, three forecasters, and the recalibration."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.chart import WIDTH, Chart, found, numbers
from remeasure.draw.style import (
    DASHES,
    SMALL,
    Theme,
    interval_band,
    label_axes,
    published,
)
from remeasure.studies.polymarket.chart_parts import scaled, told, whisker_points, with_printed
from remeasure.studies.polymarket.sets import BINS

COPIES = {"market": "market prices", "bold": "bold copy", "timid": "timid copy"}
LONG_COPIES = {
    "market": "market prices",
    "bold": "bold copy (log-odds x2)",
    "timid": "timid copy (log-odds x0.5)",
}


def _conditions() -> list[str]:
    return [f"bin {low // 100}-{high // 100} cents (edges deduced)" for low, high in pairwise(BINS)]


def _diagonal(ax: Axes, theme: Theme) -> None:
    ax.plot([0, 100], [0, 100], color=theme.muted, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1.5)
    ax.set_xlim(-3, 103)
    ax.set_ylim(-3, 103)
    ax.set_xticks([0, 25, 50, 75, 100])
    ax.set_yticks([0, 25, 50, 75, 100])


def _points(bins: pl.DataFrame, copy: str) -> pl.DataFrame:
    """A row a bin: mean price beside the share with its interval, in per cent."""
    own = scaled(bins.filter(pl.col("copy") == copy), 100)
    price = own.filter(pl.col("of") == "price").select("bin", price="value")
    share = own.filter(pl.col("of") == "share").drop("of", "copy")
    return share.join(price, on="bin", how="left", maintain_order="left").with_columns(
        copy=pl.lit(copy)
    )


def calibration(bins: pl.DataFrame, scores: pl.DataFrame, histogram: pl.DataFrame) -> Chart:
    """Reliability diagram in 14 bins, and where prices are.

    Parameters
    ----------
    bins, scores, histogram
        As ``calibration.BINNED``, ``SCORES`` and ``HISTOGRAM``.
    """
    conditions = _conditions()
    points = with_printed(
        _points(bins, "market"),
        "fig_calibration",
        [("share resolved Yes", each) for each in conditions],
    )
    printed_price = with_printed(
        points.select("bin"), "fig_calibration", [("mean price", each) for each in conditions]
    )
    points = points.with_columns(published_price=printed_price["published"])
    bars = scaled(histogram, 100)
    gap = found(scores, copy="market", score="gap")
    floor = found(scores, copy="market", score="floor")
    data = pl.concat(
        [
            points.select(
                pl.lit("reliability").alias("panel"), "price", "value", "low", "high", "truth",
                "published", "published_price", "n",
            ),
            bars.select(
                pl.lit("histogram").alias("panel"),
                (pl.col("left") / 100).alias("price"),
                "value",
                "low",
                "high",
                "truth",
                pl.lit(None, dtype=pl.Float64).alias("published"),
                pl.lit(None, dtype=pl.Float64).alias("published_price"),
                "n",
            ),
        ]
    )  # fmt: skip
    listed = "; ".join(
        f"at {row['price']:.1f} cents {row['value']:.1f}%"
        for row in points.drop_nulls("value").iter_rows(named=True)
    )
    words = _gap_words(gap, floor)
    return Chart(
        draw=partial(_draw_calibration, points=points, bars=bars, words=words),
        data=data,
        alt_text=(
            "Reliability diagram: share of markets that resolved to the first outcome against its"
            f" mean price a week before the close, with 95% intervals: {listed}. {words}. Beside"
            " it the distribution of prices, in bins of five cents: the first holds"
            f" {bars['value'][0] or 0:.0f}% of the weight."
        ),
        size=(WIDTH, 3.6),
    )


def _gap_words(gap: dict[str, float] | None, floor: dict[str, float] | None) -> str:
    if gap is None or gap["value"] is None:
        return "Average gap not measured"
    points = {name: None if gap[name] is None else 100 * gap[name] for name in gap if name in _ENDS}
    words = f"Average gap {told(points, 2)} points"
    return words if floor is None else f"{words}; chance alone: {100 * floor['value']:.2f}"


_ENDS = ("value", "low", "high")


def _draw_calibration(
    figure: Figure, theme: Theme, *, points: pl.DataFrame, bars: pl.DataFrame, words: str
) -> None:
    left, right = figure.subplots(1, 2, width_ratios=(1.55, 1))
    _diagonal(left, theme)
    whisker_points(left, numbers(points, "price"), points, colour=theme.colour(0), label="measured")
    published(left, numbers(points, "published_price"), numbers(points, "published"), theme)
    label_axes(left, x="price of the first outcome", x_unit="cents", y="resolved to it", y_unit="%")
    left.set_title(words.replace("; ", "\n"), fontsize=SMALL, fontweight="normal")
    left.legend(loc="upper left")
    right.bar(
        numbers(bars, "left") / 100,
        numbers(bars, "value"),
        width=4.4,
        align="edge",
        color=theme.colour(0),
    )
    right.set_xlim(0, 100)
    right.set_xticks([0, 25, 50, 75, 100])
    label_axes(right, x="price", x_unit="cents", y="of all weight", y_unit="%")


def forecasters(bins: pl.DataFrame, scores: pl.DataFrame) -> Chart:
    """Reliability of the market and of its bold and timid copies, with their Brier scores.

    Parameters
    ----------
    bins, scores
        As ``calibration.BINNED`` and ``SCORES``.
    """
    points = pl.concat([_points(bins, copy) for copy in COPIES])
    briers = with_printed(
        pl.concat(
            [scores.filter(pl.col("copy") == copy, pl.col("score") == "brier") for copy in COPIES]
        ),
        "fig_forecasters",
        [("Brier score", words) for words in LONG_COPIES.values()],
    )
    base = found(scores, copy="market", score="base")
    rate = 100 * base["value"] if base and base["value"] is not None else None
    uncertainty = found(scores, copy="market", score="uncertainty")
    sentences = [f"{LONG_COPIES[row['copy']]} {told(row)}" for row in briers.iter_rows(named=True)]
    return Chart(
        draw=partial(_draw_forecasters, points=points, briers=briers, rate=rate),
        data=points.select("copy", "bin", "price", "value", "low", "high", "truth", "n"),
        alt_text=(
            "Three reliability diagrams of the same markets a week before the close. Brier scores"
            f" (smaller is better): {'; '.join(sentences)}; always saying the base rate"
            f" {told(uncertainty)}. A grey square marks the base rate,"
            f" {'not measured' if rate is None else f'{rate:.0f}%'}."
        ),
        size=(WIDTH, 2.9),
    )


def _draw_forecasters(
    figure: Figure,
    theme: Theme,
    *,
    points: pl.DataFrame,
    briers: pl.DataFrame,
    rate: float | None,
) -> None:
    axes = figure.subplots(1, 3, sharey=True)
    for number, (ax, copy) in enumerate(zip(axes, COPIES, strict=True)):
        own = points.filter(pl.col("copy") == copy)
        _diagonal(ax, theme)
        if rate is not None:
            ax.plot([rate], [rate], marker="s", markersize=8, color=theme.muted, linestyle="none")
            if not number:
                ax.text(
                    rate + 9, rate - 9, "base rate", fontsize=SMALL, color=theme.muted, va="top"
                )
        whisker_points(ax, numbers(own, "price"), own, colour=theme.colour(number))
        row = found(briers, copy=copy)
        value = "" if row is None or row["value"] is None else f"\nBrier {row['value']:.3f}"
        ax.set_title(f"{COPIES[copy]}{value}", fontsize=SMALL)
        ax.set_xticks([0, 50, 100])
        label_axes(ax, x="price", x_unit="cents", y="resolved to it", y_unit="%")
        if number:
            ax.set_ylabel("")


def recalibration(curves: pl.DataFrame, fits: pl.DataFrame) -> Chart:
    """Fitted curves against the diagonal, a week and a month before the close.

    Parameters
    ----------
    curves, fits
        As ``recalibration.CURVES`` and ``FITS``.
    """
    words = {"week": "1 week before the close", "month": "1 month before the close"}
    slopes = with_printed(
        pl.concat(
            [fits.filter(pl.col("horizon") == each, pl.col("of") == "slope") for each in words]
        ),
        "fig_recalibration",
        [("slope a", f"1 {each}") for each in words if each in fits["horizon"].to_list()],
    )
    sentences = []
    for horizon, title in words.items():
        slope = found(slopes, horizon=horizon)
        gain = found(fits, horizon=horizon, of="improvement")
        printed = "" if slope is None else f" (published {slope['published']:g})"
        sentences.append(
            f"{title}: slope {told(slope)}{printed}, Brier score before less after on later"
            f" markets {told(gain, 2)}"
        )
    return Chart(
        draw=partial(_draw_recalibration, curves=curves, fits=fits, words=words),
        data=curves,
        alt_text=(
            "Recalibrated probability against price, fitted on markets closed before the split,"
            f" with 95% bands. {'; '.join(sentences)}."
        ),
        size=(WIDTH, 3.2),
    )


def _draw_recalibration(
    figure: Figure,
    theme: Theme,
    *,
    curves: pl.DataFrame,
    fits: pl.DataFrame,
    words: dict[str, str],
) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    for number, (ax, (horizon, title)) in enumerate(zip(axes, words.items(), strict=True)):
        own = curves.filter(pl.col("horizon") == horizon)
        _diagonal(ax, theme)
        x = 100 * numbers(own, "price")
        colour = theme.colour(number)
        interval_band(ax, x, 100 * numbers(own, "low"), 100 * numbers(own, "high"), colour=colour)
        ax.plot(x, 100 * numbers(own, "probability"), color=colour, linestyle=DASHES[0])
        slope = found(fits, horizon=horizon, of="slope")
        gain = found(fits, horizon=horizon, of="improvement")
        notes = [f"slope {told(slope, 3)}" if slope else "not fitted"]
        if gain is not None and gain["value"] is not None:
            notes.append(f"Brier gain {np.round(gain['value'], 4):+.4f}".replace("-", "\u2212"))
            if gain["low"] is not None:
                notes.append(f"({gain['low']:+.4f} to {gain['high']:+.4f})".replace("-", "\u2212"))
        ax.text(3, 97, "\n".join(notes), fontsize=SMALL, va="top", color=theme.text)
        ax.set_title(title, fontsize=SMALL)
        label_axes(ax, x="price", x_unit="cents", y="recalibrated", y_unit="%")
        if number:
            ax.set_ylabel("")
