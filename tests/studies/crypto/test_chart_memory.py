"""Figures and the table of what language models remember: drawn and said."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from answers import printed_rows
from remeasure.draw.chart import Chart
from remeasure.draw.save import check_axes
from remeasure.draw.style import THEMES
from remeasure.fingerprint import sources
from remeasure.store.frames import write_frame
from remeasure.studies.crypto import chart_memory, table_headline
from remeasure.studies.crypto.breakeven import BREAKEVEN
from remeasure.studies.crypto.direction import SCORES
from remeasure.studies.crypto.memory_direction import SHARES
from remeasure.studies.crypto.memory_models import SEVEN
from remeasure.studies.crypto.memory_prices import PRICE_YEARS, PRICES
from remeasure.studies.crypto.memory_strategy import CURVES
from remeasure.studies.crypto.random_strategies import NOISE

SIX = ("light_svg", "light_png", "dark_svg", "dark_png", "csv", "alt")
EXPERIMENTS = ("memory_direction", "memory_prices", "memory_strategy", "memory_networks")


def shares(*strangers: str) -> pl.DataFrame:
    rows = []
    models = [(m.label, True, m.release) for m in SEVEN] + [
        (s, False, "2024-11") for s in strangers
    ]
    for label, published, release in [*models, ("all models", True, None)]:
        for window, percent in (("before", 70.0), ("after", 45.0)):
            ends = (percent - 10, percent + 10, 1.0)
            rows.append(
                (label, published, release, "month", window, "median", 40, 28, percent, *ends)
            )
    return pl.DataFrame(rows, schema=SHARES.types, orient="row")


def prices() -> pl.DataFrame:
    days = pl.date_range(date(2018, 1, 1), date(2026, 9, 1), "1mo", eager=True)
    frames = []
    for model in SEVEN:
        late = np.arange(len(days)) > 70
        word = "zero" if model.label == "Qwen3.5 9B" else "refusal"
        value = [None if each else 110.0 for each in late]
        frames.append(
            pl.DataFrame({"day": days, "value": value}).select(
                pl.lit(model.label).alias("model"),
                pl.lit(True).alias("published"),
                pl.lit(model.release).alias("release"),
                "day",
                pl.lit(None, pl.String).alias("window"),
                pl.lit("text").alias("text"),
                pl.when(pl.col("value").is_null())
                .then(pl.lit(word))
                .otherwise(pl.lit("number"))
                .alias("class"),
                pl.col("value").cast(pl.Float64),
                pl.lit(100.0).alias("price"),
                pl.lit(0.1).alias("error"),
            )
        )
    return pl.concat(frames)


def years() -> pl.DataFrame:
    rows = [(m.label, True, None, 60, 60, 0, 0, 0, 0.123, 0.1, 0.15) for m in SEVEN]
    return pl.DataFrame(rows, schema=PRICE_YEARS.types, orient="row")


def curves() -> pl.DataFrame:
    months = pl.date_range(date(2018, 1, 1), date(2026, 9, 1), "1mo", eager=True)
    frames = [
        pl.DataFrame({"month": months}).select(
            pl.lit("OLMo 2 7B").alias("model"),
            pl.lit(True).alias("published"),
            pl.lit("2024-12").alias("release"),
            pl.lit(split).alias("split"),
            "month",
            pl.lit(rate).alias("factor"),
            pl.Series("value", rate ** np.arange(1, len(months) + 1)),
        )
        for split, rate in (("median", 1.05), ("half", 1.04), ("holding", 1.02))
    ]
    return pl.concat(frames)


def drawing(chart: Chart, theme: int = 0) -> Figure:
    with THEMES[theme].context():
        figure = Figure(figsize=chart.size, layout="constrained")
        chart.draw(figure, THEMES[theme])
        check_axes(figure)
    return figure


def diamonds(figure: Figure) -> int:
    return sum(
        len(np.asarray(line.get_xdata()))
        for ax in figure.axes
        for line in ax.lines
        if line.get_marker() == "D"
    )


def test_figures_are_written_twice_alike_and_name_the_stand_in(tmp_path: Path) -> None:
    write_frame(shares(), tmp_path / "shares", SHARES)
    first: dict[str, bytes] = {}
    for _ in range(2):
        paths = {name: tmp_path / f"fig.{name}" for name in SIX}
        inputs = {"shares": tmp_path / "shares"}
        chart_memory.fig_memory_direction(**inputs, **paths, origin="generated")
        bodies = {name: path.read_bytes() for name, path in paths.items()}
        assert first in ({}, bodies)
        first = bodies
    assert "not of a language model" in (tmp_path / "fig.alt").read_text()


def test_the_words_hold_errors_counts_and_printed_values() -> None:
    text = chart_memory.answers_chart(prices(), years(), "public").alt_text
    assert "language model." not in text
    assert "Mistral 7B v0.3, median error a year or more before release: 12 (10.0 to 15.0)" in text
    assert "71 numbers, 34 zeroes and 0 refusals" in text
    text = chart_memory.strategy_chart(curves(), "public").alt_text
    assert "Published: 245 at the release and 198 at the end" in text


@pytest.mark.parametrize("theme", [0, 1])
def test_published_values_stand_beside_measured_ones(theme: int) -> None:
    assert diamonds(drawing(chart_memory.direction_chart(shares(), "public"), theme)) == 16
    assert diamonds(drawing(chart_memory.strategy_chart(curves(), "public"), theme)) == 3
    figure = drawing(chart_memory.answers_chart(prices(), years(), "public"), theme)
    words = [text.get_text() for ax in figure.axes for text in ax.texts]
    assert words == [f"median error 12.3%\npublished {p}%" for p in (5, 9, 18, 10)]


def test_a_stranger_stands_below_the_seven_and_is_named_so() -> None:
    chart = chart_memory.direction_chart(shares("SmolLM2-135M"), "mirror")
    labels = [text.get_text() for text in drawing(chart).axes[0].get_yticklabels()]
    assert labels[7:] == ["all models", "SmolLM2-135M\n(not one of the seven)"]
    assert "SmolLM2-135M, none of the seven: before 70" in chart.alt_text


def test_nothing_measured_leaves_the_printed_values() -> None:
    chart = chart_memory.direction_chart(SHARES.empty(), "mirror")
    assert diamonds(drawing(chart)) == 16
    assert "before not measured, published 57" in chart.alt_text
    assert diamonds(drawing(chart_memory.strategy_chart(CURVES.empty(), "mirror"))) == 3
    drawing(chart_memory.answers_chart(PRICES.empty(), PRICE_YEARS.empty(), "mirror"))


def test_the_opening_table_has_every_printed_row(tmp_path: Path) -> None:
    noise = pl.DataFrame([(20_000, 1, 1.5, 1.4, 1.6)], schema=NOISE.types, orient="row")
    breakeven = pl.DataFrame(
        [("BTC", "1h", 60, 10.0, 64.0, 63.0, 65.0)], schema=BREAKEVEN.types, orient="row"
    )
    for name, frame, schema in (
        ("breakeven", breakeven, BREAKEVEN),
        ("noise", noise, NOISE),
        ("scores", SCORES.empty(), SCORES),
        ("shares", shares(), SHARES),
    ):
        write_frame(frame, tmp_path / name, schema)
    table_headline.tab_headline(
        breakeven=tmp_path / "breakeven",
        noise=tmp_path / "noise",
        scores=tmp_path / "scores",
        shares=tmp_path / "shares",
        table=tmp_path / "table.html",
        origin="generated",
    )
    text = (tmp_path / "table.html").read_text()
    assert text.count('scope="row"') == len(printed_rows("crypto", ("tab_headline",)))
    for value in ("64 (63.0 to 65.0)", "1.500 (1.40 to 1.60)", "70 (60 to 80)", "45 (35 to 55)"):
        assert value in text, text
    assert "simulated stand-in" in text


def test_charts_import_no_experiment() -> None:
    for module in (chart_memory.__name__, table_headline.__name__):
        loaded = " ".join(str(path) for path in sources(module))
        assert not any(f"{name}.py" in loaded for name in EXPERIMENTS)
