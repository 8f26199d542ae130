"""Figures of volatility and sizing: marks, words, and whole where results are not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.chart import Chart
from remeasure.draw.save import check_axes
from remeasure.draw.style import THEMES
from remeasure.fingerprint import sources
from remeasure.store.frames import write_frame
from remeasure.studies.crypto import chart_volatility
from remeasure.studies.crypto.targeting import CURVES, TARGETING
from remeasure.studies.crypto.volatility import DAYS, SCORES

COINS = ("BTC", "ETH", "SOL")
SIX = {
    "light_svg": "light.svg",
    "light_png": "light.png",
    "dark_svg": "dark.svg",
    "dark_png": "dark.png",
    "csv": "csv",
    "alt": "alt.txt",
}


def days(first: date = date(2025, 1, 1), n: int = 500) -> pl.DataFrame:
    log = -7 + np.sin(np.arange(n) / 40)
    frame = {
        "day": [first + timedelta(days=day) for day in range(n)],
        "returns": [288] * n,
        "variance": np.exp(log),
        "ret": np.full(n, 0.01),
        "log_forecast": [None, *log[:-1]],
        "residual_sd": [None] + [0.5] * (n - 1),
        "ret_forecast": [None] + [0.0] * (n - 1),
    }
    return pl.concat(
        pl.DataFrame(frame).select(pl.lit(coin).alias("coin"), pl.all()) for coin in COINS
    )


def scores(coins: tuple[str, ...] = COINS) -> pl.DataFrame:
    rows = []
    for coin in coins:
        for target, benchmark, value in (
            ("log variance", "mean of the days fitted on", 0.5),
            ("returns", "zero", -0.01),
        ):
            for variant in ("7/30 days, log of mean", "5/22 days, log of mean"):
                rows.append(
                    {
                        "coin": coin,
                        "target": target,
                        "variant": variant,
                        "benchmark": benchmark,
                        "published_way": variant.startswith("7"),
                        "days": 470,
                        "r2": value,
                        "low": value - 0.02,
                        "high": value + 0.03,
                    }
                )
    return pl.DataFrame(rows)


def curves(n: int = 90) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame(
            {
                "coin": [coin] * n,
                "position": [position] * n,
                "day": [date(2022, 1, 1) + timedelta(days=day) for day in range(n)],
                "weight": [1.0] * n,
                "pnl": [0.0] * n,
                "volatility": [None] * 29 + np.linspace(0.4, 0.9, n - 29).tolist(),
            }
        )
        for coin in COINS
        for position in ("held", "sized", "sized, at most 1")
    )


def targeting(target: float = 0.5) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "coin": coin,
                "position": position,
                "target": target,
                "days": 90,
                "mean_weight": 1.0,
                "volatility": value,
                "volatility_low": value - 0.1,
                "volatility_high": value + 0.1,
                "sharpe": 0.5,
                "sharpe_low": -1.0,
                "sharpe_high": 1.5,
                "drawdown": 0.7,
                "rolling_low": 0.4,
                "rolling_high": 0.9,
            }
            for coin in COINS
            for position, value in (("held", 0.9), ("sized", 0.5), ("sized, at most 1", 0.45))
        ]
    )


def drawing(chart: Chart) -> Figure:
    with THEMES[0].context():
        figure = Figure(figsize=chart.size, layout="constrained")
        chart.draw(figure, THEMES[0])
        check_axes(figure)
        figure.draw_without_rendering()
    assert any(character.isdigit() for character in chart.alt_text)
    return figure


def diamonds(ax: Axes) -> list[float]:
    return sorted(
        float(y) for line in ax.get_lines() if line.get_marker() == "D" for y in line.get_ydata()
    )


def test_the_hand_made_results_fit_the_schemas(tmp_path: Path) -> None:
    for frame, schema in (
        (days(), DAYS),
        (scores(), SCORES),
        (curves(), CURVES),
        (targeting(), TARGETING),
    ):
        write_frame(frame, tmp_path / "result.parquet", schema)


def test_steps_write_six_files(tmp_path: Path) -> None:
    results = {"days": days(), "scores": scores(), "curves": curves(), "targeting": targeting()}
    paths = {name: tmp_path / f"{name}.parquet" for name in results}
    for name, frame in results.items():
        frame.write_parquet(paths[name])
    for step, inputs in (
        (chart_volatility.fig_volatility, ("days", "scores")),
        (chart_volatility.fig_targeting, ("curves", "targeting")),
    ):
        made = {name: tmp_path / f"{step.__name__}.{end}" for name, end in SIX.items()}
        step(**{name: paths[name] for name in inputs}, **made, origin="generated")
        assert all(path.stat().st_size > 100 for path in made.values())
        assert made["alt"].read_text("utf-8").startswith("Generated data. ")
        assert set(pl.read_csv(made["csv"])["origin"]) == {"generated"}


def test_volatility_shows_both_curves_bars_and_printed_values() -> None:
    chart = chart_volatility.volatility(days(), scores())
    top, bottom = drawing(chart).axes
    assert diamonds(bottom) == [-0.008, -0.006, -0.003, 0.54, 0.57, 0.63]
    heights = sorted(bar.get_height() for bar in bottom.patches)
    assert heights == pytest.approx([-0.01] * 3 + [0.5] * 3)
    realised, forecast = (line.get_ydata() for line in top.get_lines()[:2])
    # The forecast made by hand is the value of the day before.
    np.testing.assert_allclose(forecast[1:], realised[:-1])
    assert "BTC 0.500 (0.480 to 0.530), published 0.54" in chart.alt_text
    drawn = chart.data.drop_nulls("day")
    assert drawn["coin"].unique().to_list() == ["BTC"]


@pytest.mark.parametrize(
    ("first", "n", "begin"),
    [
        (date(2024, 1, 1), 1033, "2025-07-01"),  # to 2026-10-29: the published panel
        (date(2022, 1, 1), 730, "2022-09-01"),  # sixteen months to December 2023
        (date(2025, 9, 1), 100, "2025-09-02"),
    ],
)
def test_the_upper_panel_has_the_published_days_or_the_last_months(
    first: date, n: int, begin: str
) -> None:
    chart = chart_volatility.volatility(days(first, n), scores())
    assert str(chart.data["day"].min()) == begin


def test_sizing_shows_target_ends_and_printed_values() -> None:
    chart = chart_volatility.sizing(curves(), targeting())
    (ax,) = drawing(chart).axes
    assert diamonds(ax) == [48, 93]
    labels = ax.get_legend_handles_labels()[1]
    assert labels == ["target 50%", "published", "whole time, 95% interval"]
    assert {text.get_text() for text in ax.texts} == {"held", "sized to\n50%"}
    assert "Held: over the whole time 90 (80 to 100) percent, published 93" in chart.alt_text
    assert "largest drawdown 70 percent, published 72" in chart.alt_text
    assert set(chart.data["position"]) == {"held", "sized"}
    other = chart_volatility.sizing(curves(), targeting(0.3))
    assert "target 30%" in drawing(other).axes[0].get_legend_handles_labels()[1]


@pytest.mark.parametrize(
    ("chart", "said"),
    [
        (
            lambda: chart_volatility.volatility(days().clear(), scores().clear()),
            "BTC not measured, published 0.54",
        ),
        (
            lambda: chart_volatility.volatility(days(), scores(("BTC",))),
            "SOL not measured, published −0.008",
        ),
        (
            lambda: chart_volatility.sizing(curves().clear(), targeting().clear()),
            "Held: over the whole time not measured, published 93",
        ),
        (
            lambda: chart_volatility.sizing(curves(30), targeting()),
            "over 30 days between 40 and 40",
        ),
    ],
)
def test_missing_rows_leave_the_printed_ones(chart: Callable[[], Chart], said: str) -> None:
    made = chart()
    figure = drawing(made)
    assert said in made.alt_text
    assert any(diamonds(ax) for ax in figure.axes)


def test_charts_stand_on_no_experiment() -> None:
    module = "remeasure.studies.crypto.chart_volatility"
    stands_on = {Path(name).stem for name in sources(module)}
    assert not stands_on & {"volatility", "targeting", "crash", "days", "step"}
