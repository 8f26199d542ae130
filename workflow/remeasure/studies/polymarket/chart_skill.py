"""Charts of accuracy and skill: the panel, the approach to the close, and topics."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from remeasure.draw.chart import WIDTH, Chart, found, legend_above, numbers
from remeasure.draw.style import (
    MARKERS,
    SMALL,
    TALL,
    Theme,
    guide,
    interval_band,
    label_axes,
    published,
)
from remeasure.studies.polymarket.chart_parts import (
    scaled,
    told,
    whisker_points,
    with_printed,
)

HORIZONS = ("month", "week", "day")
PANELS = {
    "favourite": ("favourite won", "favourite"),
    "always_no": ("always-No right", "always No"),
    "skill": ("Brier skill, all", "all prices"),
    "skill_inner": ("Brier skill, priced 2-98 cents", "2 to 98 cents"),
}
TOPICS = {
    "politics": ("Politics and world", "politics"),
    "sports": ("Sports", "sports"),
    "crypto": ("Crypto prices and events", "crypto"),
    "economy": ("Economy and markets", "economy"),
    "culture": ("Culture and media", "culture"),
    "science": ("Science, tech, weather", "science"),
}


def accuracy(table: pl.DataFrame) -> Chart:
    """How often the favourite won beside always No, and skill, on one panel.

    Parameters
    ----------
    table
        As ``accuracy.ACCURACY``.
    """
    own = scaled(table.filter(pl.col("score").is_in(list(PANELS))), 100)
    data = with_printed(
        own,
        "fig_accuracy",
        [(PANELS[row["score"]][0], f"1 {row['horizon']}") for row in own.iter_rows(named=True)],
    )
    sentences = []
    for horizon in HORIZONS:
        scores = [
            f"{name} {told(found(data, horizon=horizon, score=score))}%"
            for score, (_, name) in PANELS.items()
        ]
        sentences.append(f"1 {horizon} before the close: {', '.join(scores)}")
    return Chart(
        draw=partial(_draw_accuracy, data=data),
        data=data.select("horizon", "score", "value", "low", "high", "truth", "published", "n"),
        alt_text=(
            "Left: how often the favourite won and how often always saying No was right. Right:"
            " share of the base rate’s error that prices remove, for all markets and for those"
            f" priced 2 to 98 cents. {'; '.join(sentences)}."
        ),
        size=(WIDTH, 3.3),
    )


def _draw_accuracy(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    axes = figure.subplots(1, 2)
    for ax, scores, title in (
        (axes[0], ("favourite", "always_no"), "right"),
        (axes[1], ("skill", "skill_inner"), "error removed"),
    ):
        for number, score in enumerate(scores):
            own = pl.concat(
                [
                    data.filter(pl.col("score") == score, pl.col("horizon") == each)
                    for each in HORIZONS
                ]
            )
            x = np.asarray(np.arange(3) + 0.22 * (number - 0.5), dtype=np.float64)
            whisker_points(
                ax,
                x,
                own,
                colour=theme.colour(number),
                label=PANELS[score][1],
                marker=MARKERS[number],
            )
            published(ax, x, numbers(own, "published"), theme)
        ax.set_xticks(range(3), [f"1 {each}" for each in HORIZONS])
        ax.set_xlim(-0.5, 2.5)
        label_axes(ax, x="before the close", y=title, y_unit="%")
        ax.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2, columnspacing=0.9
        )


def convergence(table: pl.DataFrame) -> Chart:
    """Brier score and share of extreme prices by days before the close, one fixed set.

    Parameters
    ----------
    table
        As ``convergence.CONVERGENCE``.
    """
    words = {60.0: "60 days", 30.0: "30 days", 7.0: "7 days", 0.5: "0.5 days"}
    extreme = {60.0: "60 days", 0.5: "half a day"}
    keys: list[tuple[str, str] | None] = []
    for row in table.iter_rows(named=True):
        if row["score"] == "brier" and row["days"] in words:
            keys.append(("Brier score", f"{words[row['days']]} before close"))
        elif row["score"] == "extreme" and row["days"] in extreme:
            keys.append(("share below 1 or above 99 cents", extreme[row["days"]]))
        else:
            keys.append(None)
    data = with_printed(table, "fig_convergence", keys)
    parts = [f"{day:g} days before {told(found(data, days=day, score='brier'))}" for day in words]
    base = found(data, days=7.0, score="uncertainty")
    shares = [
        f"{day:g} days before {100 * each['value']:.0f}%"
        for day in words
        if (each := found(data, days=day, score="extreme")) and each["value"] is not None
    ]
    return Chart(
        draw=partial(_draw_convergence, data=data),
        data=data.select("days", "score", "value", "low", "high", "truth", "published", "n"),
        alt_text=(
            f"Brier score of the same markets: {'; '.join(parts)}; always saying the base rate"
            f" {told(base)}. Share of prices below 1 or above 99 cents:"
            f" {'; '.join(shares) or 'not measured'}."
        ),
        size=TALL,
    )


def _draw_convergence(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    top, bottom = figure.subplots(2, 1, sharex=True)
    for ax, score, factor, number in ((top, "brier", 1, 0), (bottom, "extreme", 100, 1)):
        own = data.filter(pl.col("score") == score).sort("days")
        x, colour = numbers(own, "days"), theme.colour(number)
        value, low, high = (factor * numbers(own, name) for name in ("value", "low", "high"))
        interval_band(ax, x, low, high, colour=colour)
        ax.plot(x, value, color=colour, marker=MARKERS[number], label="measured")
        printed = numbers(own, "published") * (1 if score == "extreme" else factor)
        published(ax, x, printed, theme)
    base = data.filter(pl.col("score") == "uncertainty").drop_nulls("value")
    if base.height:
        level = float(numbers(base, "value")[0])
        guide(top, theme, y=level)
        below = 0.98 * level
        top.text(62, below, "base rate always", fontsize=SMALL, va="top", color=theme.muted)
        top.set_ylim(0, 1.16 * level)
    bottom.set_ylim(0, 100)
    bottom.set_xscale("log")
    bottom.set_xlim(75, 0.42)
    ticks = [60, 30, 14, 7, 3, 1, 0.5]
    bottom.xaxis.set_major_locator(FixedLocator(ticks))
    bottom.xaxis.set_minor_locator(NullLocator())
    bottom.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    label_axes(top, x="", y="Brier score")
    label_axes(bottom, x="days before the close", y="below 1 or above 99 cents", y_unit="%")
    legend_above(top)


def topics(table: pl.DataFrame) -> Chart:
    """Skill and calibration gap by topic.

    Parameters
    ----------
    table
        As ``topic_scores.TOPIC_SCORES``.
    """
    own = scaled(table.filter(pl.col("score").is_in(["skill", "gap"])), 100)
    quantities = {"skill": "Brier skill, 1 week", "gap": "average gap, 1 week"}
    data = with_printed(
        own,
        "fig_topics",
        [(quantities[row["score"]], TOPICS[row["topic"]][0]) for row in own.iter_rows(named=True)],
    )
    sentences = [
        f"{name}: skill {told(found(data, topic=topic, score='skill'))}%, gap"
        f" {told(found(data, topic=topic, score='gap'))} points"
        for topic, (_, name) in TOPICS.items()
    ]
    return Chart(
        draw=partial(_draw_topics, data=data),
        data=data.select("topic", "score", "value", "low", "high", "truth", "published", "n"),
        alt_text=f"Skill and average gap 1 week before the close by topic. {'; '.join(sentences)}.",
        size=(WIDTH, 3.3),
    )


def _draw_topics(figure: Figure, theme: Theme, *, data: pl.DataFrame) -> None:
    axes = figure.subplots(1, 2, sharey=True)
    y = np.arange(len(TOPICS))[::-1].astype(float)
    for number, (ax, score, title, unit) in enumerate(
        (
            (axes[0], "skill", "error removed", "%"),
            (axes[1], "gap", "average gap", "points"),
        )
    ):
        own = pl.concat(
            [data.filter(pl.col("topic") == topic, pl.col("score") == score) for topic in TOPICS]
        )
        whisker_points(ax, y, own, colour=theme.colour(number), horizontal=True)
        published(ax, numbers(own, "published"), y, theme)
        ax.set_yticks(y, [name for _, name in TOPICS.values()])
        ax.set_ylim(-0.6, len(TOPICS) - 0.4)
        ax.grid(visible=True, axis="x")
        ax.grid(visible=False, axis="y")
        ax.set_xlim(left=0 if score == "gap" else None)
        label_axes(ax, x=title, x_unit=unit, y="topic")
    axes[1].set_ylabel("")
    legend_above(axes[0])
