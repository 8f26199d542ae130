"""Figures of selection: what is drawn, said and printed, whole and missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from remeasure.draw.chart import Chart
from remeasure.draw.save import check_axes
from remeasure.draw.style import THEMES
from remeasure.fingerprint import sources
from remeasure.store.frames import write_frame, write_json
from remeasure.studies.crypto import chart_selection
from remeasure.studies.crypto.random_strategies import CURVE, NOISE
from remeasure.studies.crypto.rules_grid import GRID

SIX = ("light_svg", "light_png", "dark_svg", "dark_png", "csv", "alt")
PRINTED = {
    1: -0.55, 2: -0.23, 5: 0.11, 10: 0.32, 20: 0.51, 50: 0.71, 100: 0.84, 200: 0.95, 500: 1.1,
    1000: 1.2, 2000: 1.35, 5000: 1.44, 10000: 1.48, 20000: 1.56,
}  # fmt: skip


def grid(n: int = 132) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    early, later = rng.normal(-0.1, 0.6, n), rng.normal(-0.2, 0.5, n)
    rank = np.empty(n, dtype=np.int64)
    rank[np.argsort(-early)] = np.arange(1, n + 1)
    return pl.DataFrame(
        {
            "coin": ["BTC"] * n,
            "family": ["RSI"] * n,
            "rule": [f"RSI {index}/20" for index in range(n)],
            "first": np.arange(n),
            "second": np.full(n, 20.0),
            "rank": rank,
            "early": early,
            "early_se": np.full(n, 0.6),
            "later": later,
            "later_se": np.full(n, 0.6),
            "early_bars": np.full(n, 26265),
            "later_bars": np.full(n, 24792),
            "early_skewness": np.zeros(n),
            "early_kurtosis": np.full(n, 20.0),
            "sides_per_day": np.full(n, 1.5),
        }
    )


def summary() -> dict[str, Any]:
    values = {"best_early": 1.234, "best_later": -0.151, "losing": 12.0, "rank_correlation": 0.321}
    return {
        "estimates": {name: {"value": value, "se": 0.25} for name, value in values.items()},
        "periods": {
            "early": ["2021-01-01", "2023-12-31"],
            "later": ["2024-01-01", "2026-10-29"],
        },
    }


def noise() -> pl.DataFrame:
    n = list(PRINTED)
    best = [value + 0.02 for value in PRINTED.values()]
    return pl.DataFrame(
        {
            "n": n,
            "blocks": [20000 // each for each in n],
            "best": best,
            "low": [value - 0.1 for value in best],
            "high": [value + 0.1 for value in best],
        }
    )


def curve() -> pl.DataFrame:
    n = np.array([2, 10, 100, 1000, 20000])
    return pl.DataFrame({"n": n, "formula": np.log(n) / 5 - 0.4, "exact": np.log(n) / 5 - 0.41})


NOISE_SUMMARY = {"paths": 20000, "mean": -0.53, "sd": 0.551, "period": ["2021-01-01", "2023-12-31"]}


def drawing(chart: Chart) -> Figure:
    with THEMES[0].context():
        figure = Figure(figsize=chart.size, layout="constrained")
        chart.draw(figure, THEMES[0])
        check_axes(figure)
        figure.draw_without_rendering()
    return figure


def marks(ax: Axes, marker: str) -> list[tuple[float, float]]:
    return [
        (float(x), float(y))
        for line in ax.get_lines()
        if line.get_marker() == marker
        for x, y in zip(*line.get_data(), strict=True)
    ]


def test_strategies_best_mean_and_published_stand_where_they_should() -> None:
    chart = chart_selection.overfitting(grid(), summary())
    (ax,) = drawing(chart).axes
    best = grid().filter(pl.col("rank") <= 20)
    assert sorted(marks(ax, "s")) == sorted(best.select("early", "later").rows())
    others = grid().filter(pl.col("rank") > 20)
    assert sorted(marks(ax, "o")) == sorted(others.select("early", "later").rows())
    assert set(marks(ax, "P")) == {(1.234, -0.151)}
    assert marks(ax, "D") == [(1.56, 0.19)]
    low, high = ax.get_xlim()
    assert ax.get_ylim() == (low, high)
    assert ([low, high], [low, high]) in [
        (list(line.get_xdata()), list(line.get_ydata())) for line in ax.get_lines()
    ]
    # Nothing lies outside the frame, whiskers included.
    assert low < min(grid()["early"].min(), grid()["later"].min(), -0.151 - 0.49)
    assert high > max(grid()["early"].max(), grid()["later"].max(), 1.234 + 0.49)
    assert ax.get_xlabel() == "Sharpe ratio 2021-01 to 2023-12"
    for part in (
        "132 strategies",
        "1.23 (0.74 to 1.72), published 1.56",
        "12 of them lose, published 6",
        "published 0.45",
    ):
        assert part in chart.alt_text
    assert chart.data.filter(pl.col("best")).height == 20


def test_best_of_n_with_curve_and_published() -> None:
    chart = chart_selection.noise_chart(noise(), curve(), NOISE_SUMMARY)
    (ax,) = drawing(chart).axes
    assert marks(ax, "D") == list(PRINTED.items())
    assert marks(ax, "o") == noise().select("n", "best").rows()
    dashed = [line for line in ax.get_lines() if "formula" in str(line.get_label())]
    assert [list(line.get_ydata()) for line in dashed] == [curve()["formula"].to_list()]
    assert ax.get_xscale() == "log"
    assert "N = 20,000: 1.58 (1.48 to 1.68), published 1.56." in chart.alt_text
    assert "standard deviation 0.551" in chart.alt_text
    assert chart.data.drop_nulls("published").height == 14


def test_missing_results_leave_the_printed_ones() -> None:
    told = {"not_run": "this run has no hourly candles"}
    chart = chart_selection.overfitting(grid().clear(), told)
    assert marks(drawing(chart).axes[0], "D") == [(1.56, 0.19)]
    assert "not measured" in chart.alt_text
    chart = chart_selection.noise_chart(noise().clear(), curve().clear(), told)
    assert marks(drawing(chart).axes[0], "D") == list(PRINTED.items())
    assert "N = 5,000: not measured, published 1.44." in chart.alt_text
    few = chart_selection.noise_chart(noise().head(7), curve(), NOISE_SUMMARY)
    assert "N = 200: not measured" in few.alt_text
    drawing(few)


@pytest.mark.parametrize("name", ["fig_overfitting", "fig_noise"])
def test_steps_write_six_files_of_the_same_bytes(tmp_path: Path, name: str) -> None:
    write_frame(grid(), tmp_path / "grid.parquet", GRID)
    write_frame(noise(), tmp_path / "noise.parquet", NOISE)
    write_frame(curve(), tmp_path / "curve.parquet", CURVE)
    write_json(summary(), tmp_path / "grid.json")
    write_json(NOISE_SUMMARY, tmp_path / "noise.json")
    given = (
        {"grid": "grid.parquet", "summary": "grid.json"}
        if name == "fig_overfitting"
        else {"noise": "noise.parquet", "curve": "curve.parquet", "summary": "noise.json"}
    )
    found = []
    for turn in ("a", "b"):
        files = {part: tmp_path / f"{turn}.{part.replace('_', '.')}" for part in SIX}
        getattr(chart_selection, name)(
            **{key: tmp_path / file for key, file in given.items()}, **files, origin="generated"
        )
        assert files["alt"].read_text("utf-8").startswith("Generated data. ")
        found.append([path.read_bytes() for path in files.values()])
    assert found[0] == found[1]


def test_no_experiment_is_imported() -> None:
    stands_on = {Path(name).stem for name in sources("remeasure.studies.crypto.chart_selection")}
    assert not stands_on & {"rules_grid", "random_strategies", "deflated", "textbook_rules"}
