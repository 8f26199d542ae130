"""Chart of the contest: account values of six models, and where luck alone would take them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from remeasure.draw.chart import Chart, as_printed, legend_above, numbers, save_chart, span
from remeasure.draw.colour import mix
from remeasure.draw.style import (
    DASHES,
    SMALL,
    TALL,
    LineLabel,
    Theme,
    direct_labels,
    guide,
    interval_band,
    label_axes,
    log_axis,
    published,
)
from remeasure.report.numbers import rounded
from remeasure.store.frames import read_frame
from remeasure.studies.crypto.published import rows

CAPITAL = 10_000.0
HELD = "Bitcoin held"
SEASON_DAYS = 17


def fig_arena(
    *,
    paths: Path,
    bands: Path,
    light_svg: Path,
    light_png: Path,
    dark_svg: Path,
    dark_png: Path,
    csv: Path,
    alt: Path,
    origin: str,
) -> None:
    """Account values over the season, with the bands of an account without skill.

    Parameters
    ----------
    paths, bands
        Parquet, as ``arena.PATHS`` and ``arena.BANDS``.
    light_svg, light_png, dark_svg, dark_png, csv, alt, origin
        Outputs and the origin of the results, as in ``draw.save.save_figure``.

    Raises
    ------
    DataError
        When a result is missing or cannot be read.
    """
    chart = arena(read_frame(paths), read_frame(bands))
    save_chart(chart, light_svg, light_png, dark_svg, dark_png, csv, alt, origin)


def arena(paths: pl.DataFrame, bands: pl.DataFrame) -> Chart:
    """One line an account on a logarithmic axis over the bands.

    Parameters
    ----------
    paths, bands
        As ``arena.PATHS`` and ``arena.BANDS``.
    """
    known = _printed_returns()
    data = (
        paths.join(bands, on="hour", how="left")
        .join(known, on="account", how="full", coalesce=True)
        .sort("account", "hour")
    )
    return Chart(
        draw=partial(_draw, paths=paths, bands=bands, known=known),
        data=data,
        alt_text=_text(paths, bands, known),
        size=TALL,
    )


def _printed_returns() -> pl.DataFrame:
    """Printed final returns in percent: ``account``, ``published``, in the printed order."""
    known = [
        (row.condition, float(row.number))
        for row in rows().values()
        if row.output_id == "fig_arena"
        and row.quantity == "final return"
        and row.number is not None
    ]
    return pl.DataFrame(known, schema=["account", "published"], orient="row")


def _draw(
    figure: Figure, theme: Theme, *, paths: pl.DataFrame, bands: pl.DataFrame, known: pl.DataFrame
) -> None:
    ax = figure.add_subplot()
    day = numbers(bands, "hour") / 24
    for name in ("light", "dark"):
        low, high = numbers(bands, f"{name}_low"), numbers(bands, f"{name}_high")
        interval_band(ax, day, low, high, colour=theme.muted)
    ends = []
    models = [name for name in known["account"] if name != HELD]
    for number, name in enumerate([*models, HELD]):
        own = paths.filter(pl.col("account") == name).sort("hour")
        if not own.height:
            continue
        x, y = numbers(own, "hour") / 24, numbers(own, "dollars")
        held = name == HELD
        colour = theme.text if held else theme.colour(number)
        ax.plot(x, y, color=colour, linestyle=DASHES[2] if held else "-", linewidth=1.3)
        # Bitcoin's name takes the ink of the darkest series.
        ends.append(LineLabel(name, float(x[-1]), float(y[-1]), 4 if held else number))
    guide(ax, theme, y=CAPITAL)
    final = CAPITAL * (1 + numbers(known, "published") / 100)
    published(ax, np.full(final.size, float(SEASON_DAYS)), final, theme)
    lowest, top = span(
        numbers(paths, "dollars"),
        numbers(bands, "light_low"),
        numbers(bands, "light_high"),
        final,
        default=(5000, 15_000),
    )
    ax.set_ylim(lowest / 1.1, top * 1.1)
    ax.set_xlim(0, SEASON_DAYS)
    log_axis(ax, "y")
    label_axes(ax, x="time since the start", x_unit="days", y="value of the account", y_unit="USD")
    if day.size:
        # The inner band lies on the outer one: the key shows both as they look.
        for title, share in (("without skill: 95%", 0.78), ("68%", 0.61)):
            ax.fill_between([], [], color=mix(theme.muted, theme.background, share), label=title)
    legend_above(ax)
    direct_labels(ax, ends, theme)
    if paths.filter(pl.col("account") != HELD).is_empty():
        ax.text(
            0.5, 0.9, "accounts not measured", transform=ax.transAxes, ha="center", fontsize=SMALL
        )


def _text(paths: pl.DataFrame, bands: pl.DataFrame, known: pl.DataFrame) -> str:
    parts = []
    for name, value in known.iter_rows():
        own = paths.filter(pl.col("account") == name).sort("hour")
        said = "not measured"
        if own.height:
            said = rounded(100 * (own["dollars"][-1] / CAPITAL - 1), 3)
        parts.append(f"{name} {said}, published {as_printed(value)}")
    sentences = [
        "Value of six accounts over a season of 17 days, logarithmic, each from 10,000 USD."
        f" Final return in percent: {'; '.join(parts)}."
    ]
    if bands.height:
        last = bands.row(-1, named=True)
        sentences.append(
            "At the end an account without skill lies between"
            f" {rounded(last['light_low'], 3)} and {rounded(last['light_high'], 3)} USD in 95 of"
            f" 100 cases, between {rounded(last['dark_low'], 3)} and"
            f" {rounded(last['dark_high'], 3)} USD in 68."
        )
    return " ".join(sentences)
