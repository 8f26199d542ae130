"""Every figure and table of the study, drawn from a small world and from nothing."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import polars as pl
import pytest

from polymarket_tables import Tables, forecast_rows, named, run_all, write_world
from remeasure.draw import save
from remeasure.studies.polymarket import drawn
from remeasure.studies.polymarket.chart_flows import TRAP, UMA
from remeasure.studies.polymarket.outputs import STUDY
from remeasure.studies.polymarket.table_cited import cited_frame
from remeasure.studies.polymarket.tables import shown

PARTS = ("light_svg", "light_png", "dark_svg", "dark_png", "csv", "alt")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("results")
    run_all(write_world(tmp_path_factory.mktemp("world"), named()), results)
    return results


@pytest.fixture(scope="module")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a world in which nothing was traded, without snapshot and series."""
    quiet = forecast_rows(named()).with_columns(week_dollars=pl.lit(0.0))
    tables = write_world(tmp_path_factory.mktemp("quiet"), named(), quiet)
    for file in ("snapshot.duckdb", "series.duckdb", "truth.parquet"):
        Tables.place(tables, file).unlink()
    results = tmp_path_factory.mktemp("empty")
    run_all(tables, results)
    return results


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few dots an inch: what is drawn is the same, and is drawn faster."""
    monkeypatch.setattr(save, "DPI", 30)


def draw(name: str, results: Path, folder: Path) -> dict[str, Path]:
    module = importlib.import_module(f"remeasure.studies.polymarket.{drawn.module_of(name)}")
    inputs = {
        parameter: results / file
        for parameter, file in {**drawn.FIGURES, **drawn.TABLES}[name]
        if (results / file).exists()
    }
    if name in drawn.TABLES:
        outputs = {"table": folder / f"{name}.html"}
    else:
        outputs = {part: folder / f"{name}.{part}" for part in PARTS}
    getattr(module, name)(**inputs, **outputs, origin="generated" if inputs else "computed")
    return outputs


OWN_TABLES = [name for name in drawn.TABLES if name not in ("tab_api_probe", "tab_intervals")]


@pytest.mark.parametrize("name", drawn.FIGURES)
def test_figures(name: str, results: Path, tmp_path: Path) -> None:
    files = draw(name, results, tmp_path)
    for part in ("light_png", "dark_png"):
        assert files[part].read_bytes().startswith(b"\x89PNG")
    alt = files["alt"].read_text("utf-8")
    if drawn.FIGURES[name]:
        assert alt.startswith("Generated data. ")
        assert re.search(r"\d", alt)
        assert "not measured" not in alt
    assert "nan" not in alt.lower().split()
    assert "None" not in alt
    # So small a world may have no month with three close calls.
    assert pl.read_csv(files["csv"]).height > 0 or name == "fig_crypto"


@pytest.mark.parametrize(
    "name",
    [
        "calibration",
        "convergence",
        "crypto",
        "election",
        "nobel",
        "recalibration",
        "topics",
        "trap",
    ],
)
def test_figures_of_nothing(name: str, nothing: Path, tmp_path: Path) -> None:
    alt = draw(f"fig_{name}", nothing, tmp_path)["alt"].read_text("utf-8")
    assert "nan" not in alt.lower().split()
    assert "None" not in alt


@pytest.mark.parametrize("name", OWN_TABLES)
def test_tables(name: str, results: Path, nothing: Path, tmp_path: Path) -> None:
    for folder in (results, nothing):
        text = draw(name, folder, tmp_path)["table"].read_text("utf-8")
        assert "<table" in text
        assert ">nan" not in text.lower()
        assert "None" not in text


def test_figures_and_tables_are_declared() -> None:
    declared = {output.id for output in STUDY.outputs}
    assert set(drawn.FIGURES) | set(drawn.TABLES) <= declared


def test_figures_are_the_same_twice(results: Path, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    one = draw("fig_trap", results, tmp_path / "one")
    two = draw("fig_trap", results, tmp_path / "two")
    for part in PARTS:
        assert one[part].read_bytes() == two[part].read_bytes(), part


def test_flows_say_what_they_show() -> None:
    assert len(TRAP.stages) == len(UMA.stages) == 4
    assert "begins to win" in TRAP.words()
    assert UMA.data()["number"].to_list() == [1, 2, 3, 4]


def test_quoted_facts_are_all_there() -> None:
    frame = cited_frame()
    assert frame.filter(pl.col("fact").str.contains("Brazil|Bolsonaro")).height == 1
    assert frame.height > 50


def test_shown() -> None:
    assert shown(0.12345, None, None, 100) == "12.35"
    assert shown(None, 1, 2) == "\N{EN DASH}"
    assert shown(1.5, 1.0, 2.0).startswith("1.500 (1.0\xa0to\xa02.0)")
