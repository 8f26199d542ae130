"""Figures of the study: drawn from results, told in words, and whole where results are not."""

from __future__ import annotations

import ast
import csv
import inspect
import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import remeasure.studies.crypto as crypto
from remeasure.draw.chart import Chart
from remeasure.draw.save import check_axes
from remeasure.draw.style import THEMES
from remeasure.evaluate.walk_forward import folds
from remeasure.fingerprint import sources
from remeasure.stats.normal import bin_probabilities
from remeasure.store.frames import write_frame
from remeasure.studies.crypto import chart_forecasts, chart_market, drawn, figures
from remeasure.studies.crypto.autocorrelation import ACF, HOUR_OF_DAY
from remeasure.studies.crypto.breakeven import BREAKEVEN, MOVES
from remeasure.studies.crypto.calendar_identities import count, measure_calendar
from remeasure.studies.crypto.outputs import STUDY
from remeasure.studies.crypto.reversal import REVERSAL
from remeasure.studies.crypto.tails import HISTOGRAM, TABLE
from remeasure.studies.crypto.trading import CURVES, FEES

HERE = Path(crypto.__file__).parent
SIX = ("light_svg", "light_png", "dark_svg", "dark_png", "csv", "alt")
COINS = ("BTC", "ETH", "SOL")
FEE_LEVELS = (0.0, 1.0, 2.0, 5.0)
BAND_WIDTHS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.08)


# --- small results, made by hand ------------------------------------------------------------


def tails_table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "coin": COINS,
            "n": [51057] * 3,
            "mean": [0.0] * 3,
            "sd": [0.01] * 3,
            "threshold": [6.0] * 3,
            "beyond": [83, 91, 77],
            "low": [61.2, 70.0, 60.0],
            "high": [109.4, 120.0, 99.0],
            "expected": [1.0074e-4] * 3,
        }
    )


def histogram() -> pl.DataFrame:
    edges = np.append(np.arange(-9, 9.5, 0.5), [40.0, 40.5])
    middle = (edges[:-1] + edges[1:]) / 2
    counts = np.where(middle == 40.25, 1, np.round(9000 * np.exp(-np.abs(middle))))
    counts[-2] = 0  # one wide empty bin up to a single hour far out
    return pl.concat(
        pl.DataFrame(
            {
                "coin": [coin] * counts.size,
                "left": edges[:-1],
                "right": edges[1:],
                "count": counts.astype(np.int64),
                "expected": 51057 * bin_probabilities(edges),
            }
        )
        for coin in COINS
    )


def acf() -> pl.DataFrame:
    lag = np.arange(1, 177)
    absolute = 0.1 + 0.2 / lag**0.5 + 0.02 * np.cos(2 * np.pi * lag / 24)
    near_end = (lag < 5) | (lag > 172)
    return pl.DataFrame(
        {
            "coin": ["BTC"] * lag.size,
            "lag": lag,
            "returns": -0.0123 / lag,
            "returns_low": -0.0123 / lag - 0.01,
            "returns_high": -0.0123 / lag + 0.01,
            "absolute": absolute,
            "absolute_low": absolute - 0.03,
            "absolute_high": absolute + 0.03,
            "band": [0.00867] * lag.size,
            "bump": [
                None if end else hour in (24, 72) for end, hour in zip(near_end, lag, strict=True)
            ],
        },
        schema_overrides={"bump": pl.Boolean},
    )


def hour_of_day() -> pl.DataFrame:
    hour = np.arange(24)
    mean = 40.25 + 15.5 * np.cos(2 * np.pi * (hour - 15) / 24)
    return pl.DataFrame(
        {
            "coin": ["BTC"] * 24,
            "hour": hour,
            "mean_bp": mean,
            "low_bp": mean - 3,
            "high_bp": mean + 3,
            "n": [2127] * 24,
        }
    )


def reversal() -> pl.DataFrame:
    """Four years of three coins; the last one of BTC is not whole, one of SOL above one half."""
    rows = [
        (coin, year, 4100, 8700, 100 * share, 100 * share - 1.1, 100 * share + 1.1, "whole")
        for index, coin in enumerate(COINS)
        for year in range(2022, 2026)
        for share in (0.461 + 0.004 * index + 0.0031 * (year - 2022),)
    ]
    rows[3] = (*rows[3][:-1], "candles 2025-01-01 to 2025-02-10 of 2025-01-01 to 2025-12-31")
    rows[-1] = (*rows[-1][:4], 50.6, 49.5, 51.7, "whole")
    return pl.DataFrame(rows, schema=list(REVERSAL.columns), orient="row")


def moves(bars: tuple[int, ...] = (5, 15, 60, 240, 1440)) -> pl.DataFrame:
    names = {5: "5m", 15: "15m", 60: "1h", 240: "4h", 1440: "1d"}
    mean = {minutes: 4.9 * minutes**0.5 for minutes in bars}
    return pl.DataFrame(
        [
            (
                coin, names[minutes], minutes, "5m", date(2021, 1, 1), date(2026, 10, 29), 1000,
                mean[minutes], 0.93 * mean[minutes], 1.07 * mean[minutes],
            )
            for coin in COINS
            for minutes in bars
        ],
        schema=list(MOVES.columns),
        orient="row",
    )  # fmt: skip


def breakeven(bars: tuple[int, ...] = (5, 15, 60, 240, 1440)) -> pl.DataFrame:
    costs = pl.DataFrame({"cost_bp": [2.0, 4.0, 10.0]})
    crossed = moves(bars).join(costs, how="cross", maintain_order="left_right")
    return crossed.select(
        "coin",
        "bar",
        "minutes",
        "cost_bp",
        percent=50 + 50 * pl.col("cost_bp") / pl.col("mean_bp"),
        low=50 + 50 * pl.col("cost_bp") / pl.col("high_bp"),
        high=50 + 50 * pl.col("cost_bp") / pl.col("low_bp"),
    )


def growth(days: int = 90, fees: tuple[float, ...] = FEE_LEVELS) -> pl.DataFrame:
    every = [date(2022, 1, 1) + timedelta(days=index) for index in range(days)]
    time = np.arange(1, days + 1) / 90
    curves = [("plain", fee, np.exp((1.1 - 0.9 * fee) * time)) for fee in fees]
    curves.append(("held", 0.0, np.exp(0.2 * time)))
    return pl.concat(
        pl.DataFrame(
            {
                "coin": [coin] * days,
                "strategy": [strategy] * days,
                "fee_bp": [fee] * days,
                "day": every,
                "value": value,
            }
        )
        for coin in ("BTC", "ETH")
        for strategy, fee, value in curves
    )


def fees(
    bands: tuple[float, ...] = BAND_WIDTHS, levels: tuple[float, ...] = FEE_LEVELS
) -> pl.DataFrame:
    rows = []
    for coin in COINS:
        for index, band in enumerate(bands):
            sides = 16.9 - 2.7 * index
            for fee in levels:
                annual = 0.61 - 0.07 * index - sides * 365 * fee * 1e-4
                final = float(np.exp(1.1 - 0.9 * fee - 0.1 * index))  # as growth() ends
                rows.append(
                    (
                        coin, band, fee, 42142, sides, sides - 0.2, sides + 0.2, annual,
                        annual - 0.5, annual + 0.5, final, final / 11, final * 11,
                    )
                )  # fmt: skip
    return pl.DataFrame(rows, schema=list(FEES.columns), orient="row")


def write_results(folder: Path) -> None:
    """Every result that a figure reads, checked against the schema of the step that writes it."""
    for name, frame, schema in (
        ("tails", tails_table(), TABLE),
        ("tails_histogram", histogram(), HISTOGRAM),
        ("acf", acf(), ACF),
        ("hour_of_day", hour_of_day(), HOUR_OF_DAY),
        ("reversal", reversal(), REVERSAL),
        ("breakeven", breakeven(), BREAKEVEN),
        ("moves", moves(), MOVES),
        ("growth", growth(), CURVES),
        ("fees", fees(), FEES),
    ):
        write_frame(frame, folder / f"{name}.parquet", schema)
    measure_calendar(identities=folder / "calendar.json")


# --- drawn once, read by many ---------------------------------------------------------------

Files = dict[str, Path]
Saved = Callable[[str], Files]

#: Figures of this module; those of the chart modules have tests of their own.
HERE_DRAWN = [name for name in drawn.FIGURES if drawn.module_of(name) == "figures"]


def save(name: str, results: Path, folder: Path) -> Files:
    """Run the step of one figure."""
    files = {part: folder / f"{name}.{part}" for part in SIX}
    given = {parameter: results / file for parameter, file in drawn.FIGURES[name]}
    origin = "computed" if name == "fig_walk_forward" else "generated"
    getattr(figures, name)(**given, **files, origin=origin)
    return files


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small results; read only."""
    folder = tmp_path_factory.mktemp("results")
    write_results(folder)
    return folder


@pytest.fixture(scope="module")
def saved(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """The files of a figure, drawn when first asked for; read only."""
    folder = tmp_path_factory.mktemp("figures")
    return cache(lambda name: save(name, results, folder))


def printed() -> dict[tuple[str, str, str], float]:
    """reference.csv, read without the project's reader."""
    with (HERE / "reference.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["output_id"], row["quantity"], row["condition"]): float(row["value"])
            for row in csv.DictReader(file)
            if re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?", row["value"])
        }


@pytest.mark.parametrize("name", HERE_DRAWN)
def test_six_files_lie_there_and_say_where_data_comes_from(saved: Saved, name: str) -> None:
    files = saved(name)
    assert all(path.stat().st_size > 0 for path in files.values())
    generated = name != "fig_walk_forward"
    for theme in ("light", "dark"):
        assert ("<!-- generated data -->" in files[f"{theme}_svg"].read_text("utf-8")) == generated
        assert files[f"{theme}_png"].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert files["light_png"].read_bytes() != files["dark_png"].read_bytes()
    assert files["alt"].read_text("utf-8").startswith("Generated data. ") == generated


@pytest.mark.parametrize("name", HERE_DRAWN)
def test_a_second_drawing_has_the_same_bytes(
    results: Path, saved: Saved, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    first, whole = saved(name), name == "fig_breakeven"
    write = Figure.savefig

    def without_most_pixels(figure: Figure, path: Path, **options: Any) -> None:
        """PNG takes half of the time and comes from the same artists: one figure stands for all."""
        if options["format"] == "svg" or whole:
            write(figure, path, **options)

    monkeypatch.setattr(Figure, "savefig", without_most_pixels)
    again = save(name, results, tmp_path)
    for part in SIX:
        if whole or not part.endswith("png"):
            digests = {sha256(files[part].read_bytes()).hexdigest() for files in (first, again)}
            assert len(digests) == 1, part


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fig_tails", ("83 (61 to 109), published 96 of 51,057", "0.00010", "ETH 91", "SOL 77")),
        ("fig_acf", ("−0.012 (−0.022 to −0.002), published −0.005", "at 24 and 72.", "±0.0087")),
        ("fig_acf", ("largest at 15:00, 55.8", "smallest at 03:00, 24.8", "29 at 04:00")),
        ("fig_walk_forward", ("58 monthly refits", "2022-01 to 2026-10", "24 hours", "364 days")),
        ("fig_reversal", ("11 of 12 measured bars lie below 50", "2022 46.1 (published 46.0)")),
        ("fig_reversal", ("2025 47.0 for part of the year (published 48.7)", "2021 not measured")),
        ("fig_breakeven", ("5 min at 10: 95.6 (92.6 to 99.1), published 94", "63.2 (62.3 to")),
        ("fig_growth", ("No fees: 3.00", "published 9.9", "2 bp a side: 0.497", "Held: 1.22")),
        ("fig_growth", ("2022-01-01 to 2022-03-31", "practically zero", "published 1.65")),
        ("fig_fees", ("BTC, band 1, no fees: 61 (11 to 111) at 16.9", "published 48 at 16")),
        ("fig_fees", ("SOL, band 5, 5 bp:", "published −15 at 4.3")),
    ],
)  # fmt: skip
def test_alt_texts_hold_the_main_numbers(saved: Saved, name: str, said: tuple[str, ...]) -> None:
    text = saved(name)["alt"].read_text("utf-8")
    assert [part for part in said if part not in text] == [], text


def test_csv_holds_what_is_drawn_beside_what_is_printed(saved: Saved) -> None:
    known = printed()
    reversals = pl.read_csv(saved("fig_reversal")["csv"])
    assert reversals.height == 18
    assert set(reversals["origin"]) == {"generated"}
    share = "share of hours continuing the previous direction"
    for row in reversals.iter_rows(named=True):
        key = ("fig_reversal", share, f"{row['coin']} {row['year']}")
        assert row["published"] == known[key]
    found = reversals.drop_nulls("percent").select("coin", "year", "percent", "low", "high")
    expected = reversal().select("coin", "year", "percent", "low", "high")
    assert found.select("coin", "year").equals(expected.select("coin", "year"))
    for column in ("percent", "low", "high"):
        assert found[column].to_list() == pytest.approx(expected[column].to_list())
    points = pl.read_csv(saved("fig_fees")["csv"])
    assert points.drop_nulls("published_percent").height == 26
    quoted = points.filter(pl.col("coin") == "BTC", pl.col("number") == 5).sort("fee_bp")
    assert quoted["published_percent"].to_list() == [57, 35, 13, -53]
    assert set(quoted["published_sides"]) == {6.0}
    assert set(quoted["band"]) == {0.05}
    first = points.filter(pl.col("coin") == "SOL", pl.col("number") == 1, pl.col("fee_bp") == 5)
    assert first["percent_per_year"].item() == pytest.approx(61 - 16.9 * 365 * 0.05)
    curves = pl.read_csv(saved("fig_growth")["csv"])
    assert set(curves["coin"]) == {"BTC"}
    ends = curves.drop_nulls("low")
    assert ends.select("fee_bp", "day").rows() == [(fee, "2022-03-31") for fee in (0, 2, 5)]
    assert (
        pl.read_csv(saved("fig_tails")["csv"])["count"].sum()
        == histogram().filter(pl.col("coin") == "BTC")["count"].sum()
    )


# --- what stands on the axes ----------------------------------------------------------------


def drawing(chart: Chart) -> Figure:
    """A chart drawn and rendered in the light theme."""
    with THEMES[0].context():
        figure = Figure(figsize=chart.size, layout="constrained")
        chart.draw(figure, THEMES[0])
        check_axes(figure)
        figure.draw_without_rendering()
    assert any(character.isdigit() for character in chart.alt_text)
    return figure


def diamonds(ax: Axes) -> list[tuple[float, float]]:
    """Published points of an axes, sorted."""
    found = [
        (float(x), float(y))
        for line in ax.get_lines()
        if line.get_marker() == "D"
        for x, y in zip(*line.get_data(), strict=True)
    ]
    return sorted(point for point in found if not np.isnan(point).any())


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_bars_of_reversal_hang_from_one_half_to_the_share() -> None:
    figure = drawing(chart_market.reversal(reversal()))
    known = printed()
    for ax, coin in zip(figure.axes, COINS, strict=True):
        own = reversal().filter(pl.col("coin") == coin)
        ends = [sorted((bar.get_y(), bar.get_y() + bar.get_height())) for bar in ax.patches]
        expected = [sorted((50, value)) for value in own["percent"]]
        assert np.allclose(ends, expected)
        assert diamonds(ax) == [
            (
                year,
                known[
                    "fig_reversal",
                    "share of hours continuing the previous direction",
                    f"{coin} {year}",
                ],
            )
            for year in range(2021, 2027)
        ]
        low, high = ax.get_ylim()
        assert low < own["low"].min()
        assert high > own["high"].max()
    # The year that is not whole is paler than the others.
    colours = [bar.get_facecolor() for bar in figure.axes[0].patches]
    assert len(set(colours[:3])) == 1
    assert sum(colours[3]) > sum(colours[0])
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["published", "95% interval", "part of a year"]


def test_diamonds_stand_at_the_printed_values() -> None:
    top, bottom = drawing(chart_market.autocorrelation(acf(), hour_of_day())).axes
    assert diamonds(top) == [(1, -0.005), (1, 0.29), (168, 0.16)]
    assert diamonds(bottom) == [(4, 29), (14, 56)]
    (ax,) = drawing(chart_market.breakeven(breakeven(), moves())).axes
    assert diamonds(ax) == [(5, 94), (15, 76), (60, 63), (240, 56), (1440, 52)]
    (ax,) = drawing(chart_forecasts.growth(growth(), fees())).axes
    assert sorted(y for _, y in diamonds(ax)) == [0.036, 1.65, 9.9]
    btc, sol = drawing(chart_forecasts.fees(fees())).axes
    assert len(diamonds(btc)) == 14
    assert len(diamonds(sol)) == 12
    assert (1.4, -9) in diamonds(sol)
    assert {(6, 57), (6, 35), (6, 13), (6, -53)} <= set(diamonds(btc))


def test_bumps_are_marked_where_the_result_says_so() -> None:
    top, _ = drawing(chart_market.autocorrelation(acf(), hour_of_day())).axes
    marked = [line.get_xdata() for line in top.get_lines() if line.get_marker() == "v"]
    assert [list(x) for x in marked] == [[24, 72]]


def test_tails_say_what_lies_beyond_and_what_the_frame_leaves_out() -> None:
    (ax,) = drawing(chart_market.tails(tails_table(), histogram())).axes
    assert "1 further out,\nto 40.5 sd" in texts(ax)
    face = next(text for text in texts(ax) if text.startswith("beyond"))
    assert face.splitlines() == [
        "beyond ±6:",
        "83 of 51,057 hours",
        "95% interval 61 to 109",
        "a normal law: 0.0001",
        "published: 96 of 51,057",
    ]
    own = histogram().filter(pl.col("coin") == "BTC")
    tops = [bar.get_y() + bar.get_height() for bar in ax.patches]
    assert np.allclose(tops, np.maximum(own["count"], 0.6))
    # Another threshold has no printed count.
    other = chart_market.tails(tails_table().with_columns(threshold=pl.lit(5.0)), histogram())
    assert "published" not in "".join(texts(drawing(other).axes[0]))
    assert "published" not in other.alt_text


def test_windows_are_those_of_the_splitter() -> None:
    identities = count()
    data = chart_forecasts.walk_forward(identities).data
    split = folds("2022-01", "2026-10", gap_hours=24)
    assert data["month"].to_list() == [fold.first for fold in split]
    for column, wanted in (
        ("train_until", [fold.cutoff for fold in split]),
        ("test_from", [fold.start for fold in split]),
        # The splitter's last month is whole, the window ends before it.
        ("test_until", [*(fold.end for fold in split[:-1]), np.datetime64("2026-10-30")]),
    ):
        assert (data[column].to_numpy() == np.array(wanted, dtype="datetime64[us]")).all()
    assert set(data["train_from"]) == {pl.Series([date(2021, 1, 1)]).cast(pl.Datetime("us"))[0]}


# --- results that are not whole -------------------------------------------------------------


def without(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.clear()


@pytest.mark.parametrize(
    ("chart", "said"),
    [
        (lambda: chart_market.tails(without(tails_table()), without(histogram())), "Published: 96"),
        (
            lambda: chart_market.autocorrelation(without(acf()), without(hour_of_day())),
            "not measured, published 0.29",
        ),
        (lambda: chart_market.reversal(without(reversal())), "2026 not measured (published 47.7)"),
        (
            lambda: chart_market.reversal(reversal().filter(pl.col("coin") == "SOL")),
            "BTC: 2021 not measured",
        ),
        (
            lambda: chart_market.breakeven(without(breakeven()), without(moves())),
            "1 day at 10: not measured, published 52",
        ),
        (
            lambda: chart_market.breakeven(breakeven((60, 1440)), moves((60, 1440))),
            "5 min at 10: not measured, published 94",
        ),
        (
            lambda: chart_market.breakeven(
                breakeven().filter(pl.col("cost_bp") == 2), moves()
            ),
            "1 hour at 10: not measured, published 63. 4 hours",
        ),
        (
            lambda: chart_forecasts.growth(without(growth()), without(fees())),
            "Held: not measured, published 1.65",
        ),
        (lambda: chart_forecasts.growth(growth(1), without(fees())), "No fees: 1.01, published"),
        (
            lambda: chart_forecasts.growth(growth(90, (0.0,)), fees(levels=(0.0,))),
            "5 bp a side: not measured",
        ),
        (lambda: chart_forecasts.fees(without(fees())), "SOL, band 5, 5 bp: not measured"),
        (
            lambda: chart_forecasts.fees(fees((0.0, 0.05), (0.0,)).filter(pl.col("coin") == "BTC")),
            "BTC, band 1, 5 bp: not measured",
        ),
        (lambda: chart_forecasts.fees(fees((0.0,))), "BTC, band 5, no fees: not measured"),
    ],
)  # fmt: skip
def test_missing_rows_leave_the_printed_ones(chart: Callable[[], Chart], said: str) -> None:
    made = chart()
    figure = drawing(made)
    assert said in made.alt_text
    if "tails" not in said and "96" not in said:
        assert any(diamonds(ax) for ax in figure.axes)


# --- the list that the rules read -----------------------------------------------------------


def declared(kind: str) -> set[str]:
    return {each.id for each in STUDY.outputs if each.kind == kind and not each.pending}


def test_every_declared_figure_and_table_is_drawn_from_files_that_rules_write() -> None:
    assert set(drawn.FIGURES) == declared("figure") | declared("drawing")
    assert set(drawn.TABLES) == declared("table")
    rules = "".join(path.read_text("utf-8") for path in sorted(HERE.glob("rules*.smk")))
    for every, outputs in ((drawn.FIGURES, SIX), (drawn.TABLES, ("table",))):
        for name, inputs in every.items():
            module = import_module(f"remeasure.studies.crypto.{drawn.module_of(name)}")
            step = inspect.signature(getattr(module, name))
            assert list(step.parameters) == [
                *(parameter for parameter, _ in inputs),
                *outputs,
                "origin",
            ]
            for _, file in inputs:
                assert f'=f"{{CRYPTO_RESULTS}}/{file}"' in rules, file


def test_the_list_imports_nothing_and_figures_import_no_experiment() -> None:
    tree = ast.parse((HERE / "drawn.py").read_text("utf-8"))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imported] == ["from __future__ import annotations"]
    for module in ("figures", "tables"):
        stands_on = {Path(name).stem for name in sources(f"remeasure.studies.crypto.{module}")}
        assert not stands_on & {"trading", "boosting", "tails", "breakeven", "features", "step"}
    assert "chart" not in {Path(name).stem for name in sources("remeasure.studies.crypto.tables")}
