"""Charts of funding and order costs: what is drawn is what the results hold."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from remeasure.draw.chart import Chart
from remeasure.draw.save import check_axes
from remeasure.draw.style import THEMES
from remeasure.store.frames import write_frame
from remeasure.studies.crypto import chart_costs
from remeasure.studies.crypto.depth import COSTS
from remeasure.studies.crypto.funding import PERIODS

SIX = ("light_svg", "light_png", "dark_svg", "dark_png", "csv", "alt")


def outputs(folder: Path) -> dict[str, Path]:
    ends = ("light.svg", "light.png", "dark.svg", "dark.png", "csv", "alt.txt")
    return {name: folder / f"figure.{end}" for name, end in zip(SIX, ends, strict=True)}


def drawing(chart: Chart, theme: int = 0) -> Figure:
    with THEMES[theme].context():
        figure = Figure(figsize=chart.size, layout="constrained")
        chart.draw(figure, THEMES[theme])
        check_axes(figure)
        figure.draw_without_rendering()
    return figure


def diamonds(figure: Figure) -> list[list[float]]:
    """Published values by axes, in order of x."""
    return [
        [
            float(y)
            for line in ax.lines
            if line.get_marker() == "D"
            for y in np.asarray(line.get_ydata())
            if np.isfinite(y)
        ]
        for ax in figure.axes
    ]


def periods(coins: tuple[str, ...] = ("BTC", "ETH")) -> pl.DataFrame:
    nothing = [None] * 2
    rows = []
    for shift, coin in enumerate(coins):
        for year in (2021, 2022):
            for month in range(1, 13):
                days = (date(year, month, 1), date(year, month, 28))
                value = 3.0 * month - 6 + shift
                rows.append((coin, "month", *days, 84, 28.0, value, *nothing, 20.0, *nothing))
            days = (date(year, 1, 1), date(year, 12, 31))
            ends = (9.5, 19.5, 20.0, 10.0, 30.0)
            rows.append((coin, "year", *days, 1095, 365.0, 13.5 + shift, *ends))
    kinds = [pl.String] * 2 + [pl.Date] * 2 + [pl.Int64] + [pl.Float64] * 7
    return pl.DataFrame(rows, schema=dict(zip(PERIODS.columns, kinds, strict=True)), orient="row")


def test_funding_is_drawn_from_its_result(tmp_path: Path) -> None:
    write_frame(periods(), tmp_path / "periods.parquet", PERIODS)
    paths = outputs(tmp_path)
    chart_costs.fig_funding(periods=tmp_path / "periods.parquet", **paths, origin="generated")
    first = {name: path.read_bytes() for name, path in paths.items()}
    chart_costs.fig_funding(periods=tmp_path / "periods.parquet", **paths, origin="generated")
    assert first == {name: path.read_bytes() for name, path in paths.items()}
    text = paths["alt"].read_text()
    assert text.startswith("Generated data. ")
    assert "2021 13.5 (10 to 20), published 30.6" in text
    assert "Its 24 months reach from −3 in 2021-01 to 30 in 2022-12" in text
    table = pl.read_csv(paths["csv"])
    assert table.filter(pl.col("span") == "month").height == 48
    assert table["published"].drop_nulls().sort().to_list() == [
        3.1, 4.2, 5.1, 7.9, 11.9, 17.2, 30.6, 37.5,
    ]  # fmt: skip


@pytest.mark.parametrize("theme", [0, 1])
def test_bars_lines_and_diamonds_of_funding(theme: int) -> None:
    figure = drawing(chart_costs.funding(periods()), theme)
    assert diamonds(figure) == [[17.2, 30.6, 4.2, 7.9, 11.9, 5.1, 3.1], [37.5]]
    for shift, ax in enumerate(figure.axes):
        heights = [bar.get_height() for bar in ax.patches]
        assert heights == [3.0 * month - 6 + shift for month in range(1, 13)] * 2
        middle = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
        assert np.allclose(middle[:12], 2021 + (np.arange(12) + 0.5) / 12)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "month", "year", "95% interval", "published",
    ]  # fmt: skip


def test_funding_that_was_not_measured_leaves_the_printed_values() -> None:
    chart = chart_costs.funding(periods(("BTC",)))
    assert "ETH: 2021 not measured, published 37.5." in chart.alt_text
    figure = drawing(chart)
    assert [text.get_text() for text in figure.axes[1].texts] == ["not measured"]
    assert diamonds(drawing(chart_costs.funding(periods(()))))[1] == [37.5]


# --- depth ----------------------------------------------------------------------------------

CONTRACTS = {
    1: "BTC", 2: "ETH", 5: "HYPE", 10: "XRP", 25: "AVAX", 50: "PENGU", 100: "1000FLOKI", 200: "MET",
}  # fmt: skip
COSTS_OF = (1000, 10_000, 100_000, 1_000_000)


def costs(contracts: dict[int, str] = CONTRACTS) -> pl.DataFrame:
    rows = []
    moment = datetime(2026, 10, 31, 12)
    for rank, coin in contracts.items():
        for size in COSTS_OF:
            filled = 2 if rank == 200 and size == 1_000_000 else 6
            cost = 0.02 * rank * (size / 1000) ** 0.5 if filled == 6 else None
            ends = (None, None) if cost is None else (0.9 * cost, 1.1 * cost)
            rows.append((coin, rank, size, 6, filled, cost, *ends, 0.01, moment, moment))
    kinds = [pl.String] + [pl.Int64] * 4 + [pl.Float64] * 4 + [pl.Datetime("us")] * 2
    return pl.DataFrame(rows, schema=dict(zip(COSTS.columns, kinds, strict=True)), orient="row")


def test_depth_is_drawn_from_its_result(tmp_path: Path) -> None:
    write_frame(costs(), tmp_path / "costs.parquet", COSTS)
    paths = outputs(tmp_path)
    chart_costs.fig_depth(costs=tmp_path / "costs.parquet", **paths, origin="mirror")
    text = paths["alt"].read_text()
    assert "HYPE (rank 5) 1 (0.90 to 1.10), published 3.22" in text
    assert "MET (rank 200) filled by 2 of 6 books." in text
    table = pl.read_csv(paths["csv"])
    assert table.height == 32
    known = table.drop_nulls("published")
    assert known["coin"].to_list() == [
        "BTC", "BTC", "ETH", "ETH", "HYPE", "XRP", "AVAX", "PENGU", "1000FLOKI", "MET",
    ]  # fmt: skip
    assert known["published"].to_list() == [
        0.01, 0.18, 0.02, 1.3, 3.22, 1.07, 6.1, 10.56, 31.2, 86.88,
    ]  # fmt: skip


@pytest.mark.parametrize("theme", [0, 1])
def test_lines_crosses_and_diamonds_of_depth(theme: int) -> None:
    figure = drawing(chart_costs.depth(costs()), theme)
    (ax,) = figure.axes
    assert len(diamonds(figure)[0]) == 10
    crosses = [line for line in ax.lines if line.get_marker() == "x"]
    (end,) = crosses
    assert (end.get_xdata(), end.get_ydata()) == ([100_000], [pytest.approx(40)])
    curves = [
        np.asarray(line.get_ydata())
        for line in ax.lines
        if line.get_linestyle() != "None" and len(np.asarray(line.get_xdata())) >= 3
    ]
    assert len(curves) == 8
    for rank, curve in zip(CONTRACTS, curves, strict=True):
        sizes = np.array(COSTS_OF[: 3 if rank == 200 else 4])
        assert np.allclose(curve, 0.02 * rank * (sizes / 1000) ** 0.5)
    names = [text.get_text() for text in ax.texts]
    assert names == [f"{coin} ({rank})" for rank, coin in CONTRACTS.items()]


@pytest.mark.parametrize("contracts", [{}, {2: "ETH"}])
def test_depth_that_was_not_measured_leaves_the_printed_values(contracts: dict[int, str]) -> None:
    chart = chart_costs.depth(costs(contracts))
    assert "BTC (rank 1) not measured, published 0.01" in chart.alt_text
    figure = drawing(chart)
    assert len(diamonds(figure)[0]) == 10
    (ax,) = figure.axes
    names = [f"{coin} ({rank})" for rank, coin in contracts.items()]
    assert [text.get_text() for text in ax.texts] == (names or ["not measured"])
    legend = ax.get_legend()
    assert legend is not None
    keys = [text.get_text() for text in legend.get_texts()]
    assert ("95% interval" in keys) == bool(contracts)
