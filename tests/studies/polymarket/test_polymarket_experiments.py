"""All experiments on one small world: every row once, planted truths, and what must not matter."""

from __future__ import annotations

import csv
import importlib
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import remeasure.studies
from answers import answer, answered, printed_rows
from polymarket_tables import Tables, forecast_rows, named, run, run_all, write_world
from remeasure.ledger.measurement import Measurement
from remeasure.ledger.measurements import check
from remeasure.ledger.verdict import agrees
from remeasure.studies.polymarket import drawn
from remeasure.studies.polymarket.published import rows
from remeasure.studies.polymarket.schema import FORECASTS

Answers = dict[str, list[Measurement]]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return write_world(tmp_path_factory.mktemp("world"), named())


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def answers(tables: Tables, results: Path) -> Answers:
    return run_all(tables, results)


def outputs_of(name: str) -> tuple[str, ...]:
    module = drawn.EXPERIMENTS[name][0].partition(":")[0]
    return importlib.import_module(f"remeasure.studies.polymarket.{module}").OUTPUTS


def test_every_row_is_answered_once(answers: Answers) -> None:
    for name, measured in answers.items():
        if name in drawn.EXPERIMENTS:
            assert answered(measured) == sorted(printed_rows("polymarket", outputs_of(name))), name
        for each in measured:
            check(each)


def test_every_output_belongs_to_one_experiment() -> None:
    owners = Counter(output for name in drawn.EXPERIMENTS for output in outputs_of(name))
    folder = Path(remeasure.studies.__file__).parent / "polymarket"
    with (folder / "reference.csv").open(encoding="utf-8", newline="") as file:
        asked = {row["output_id"] for row in csv.DictReader(file) if row["kind"] != "cited"}
    assert set(owners.values()) == {1}
    assert asked - {"check_synthetic"} <= set(owners) <= asked


def test_exact_rows_are_equal_at_the_printed_precision(answers: Answers) -> None:
    known, exact = rows(), 0
    for measured in answers.values():
        for each in measured:
            row = known[each.output_id, each.quantity, each.condition]
            if row.kind == "exact" and each.coverage == "whole":
                assert each.value is not None
                assert agrees(row, each.value), (row, each.value)
                exact += 1
    assert exact >= 77


def test_planted_truths_lie_in_their_intervals(answers: Answers) -> None:
    """Nineteen in twenty, nearly; a fault of the estimators would miss many more."""
    inside = [
        each.low <= each.truth <= each.high
        for measured in answers.values()
        for each in measured
        if each.truth is not None and each.low is not None and each.high is not None
    ]
    assert len(inside) > 120
    assert np.mean(inside) > 0.88


def test_the_trap_appears_and_vanishes(tmp_path: Path) -> None:
    tables = write_world(tmp_path / "world", named(seed=5, events=6000))
    measured = run(tables, "trap", tmp_path / "results")
    total = [
        float(answer(measured, f"total volume {name}").value)
        for name in ("under $1K", "$1K-10K", "$10K-100K", "$100K-1M")
    ]
    assert total == sorted(total)
    assert total[-1] > 3 * total[0]
    for name in ("$1K-10K", "$10K-100K"):
        week = answer(measured, f"week-before dollars {name}")
        assert week.low is not None
        assert week.truth is not None
        assert week.low <= week.truth <= week.high


def test_volume_after_the_forecast_changes_nothing_but_the_trap(
    tables: Tables, answers: Answers, tmp_path: Path
) -> None:
    """Whole-life dollars multiplied at random: only the left panel and its favourites move."""
    rng = np.random.default_rng(9)
    frame = forecast_rows(named())
    markets = frame["market"].unique().sort()
    more = dict(zip(markets, rng.lognormal(1, 1, markets.len()), strict=True))
    changed = frame.with_columns(
        total_dollars=pl.col("total_dollars") * pl.col("market").replace_strict(more)
    )
    other = write_world(tmp_path / "world", named(), changed)
    for name in ("calibration", "accuracy", "returns", "topics", "long", "convergence", "crypto"):
        assert run(other, name, tmp_path / "results") == answers[name], name
    before = {(m.output_id, m.quantity, m.condition): m for m in answers["trap"]}
    for each in run(other, "trap", tmp_path / "results"):
        same = each == before[each.output_id, each.quantity, each.condition]
        assert same == ("total volume" not in each.condition), each


def test_scale_of_weights_and_order_of_rows_are_nothing(
    tables: Tables, answers: Answers, tmp_path: Path
) -> None:
    frame = forecast_rows(named()).with_columns(weight=pl.col("weight") * 4, pi=pl.col("pi") / 4)
    other = write_world(tmp_path / "world", named(), frame.sample(fraction=1, shuffle=True, seed=1))
    for name in ("calibration", "returns", "recalibration"):
        for one, two in zip(run(other, name, tmp_path / "results"), answers[name], strict=True):
            assert one.value == pytest.approx(two.value, rel=1e-12), one


def test_nothing_traded_is_not_run(tables: Tables, tmp_path: Path) -> None:
    """A world without a single really traded market answers all rows, with reasons."""
    quiet = forecast_rows(named()).with_columns(week_dollars=pl.lit(0.0))
    other = write_world(tmp_path / "world", named(), quiet.select(FORECASTS.schema().keys()))
    for name in ("calibration", "accuracy", "returns", "topics", "long", "convergence", "crypto",
                 "recalibration"):  # fmt: skip
        measured = run(other, name, tmp_path / "results")
        assert answered(measured) == sorted(printed_rows("polymarket", outputs_of(name)))
        for each in measured:
            check(each)
            assert each.value is not None or each.note


def test_without_snapshot_or_series(tmp_path: Path) -> None:
    tables = write_world(tmp_path / "world", named())
    for file in ("snapshot.duckdb", "series.duckdb", "population.duckdb", "sample.duckdb"):
        tables.place(file).unlink()
    (tables.folder / "truth.parquet").unlink()
    for name in ("quotes", "counts", "spread", "singles", "crypto", "long", "definitions"):
        measured = run(tables, name, tmp_path / "results")
        for each in measured:
            check(each)
            assert each.truth is None
            assert each.value is not None or each.note


def test_same_bytes_twice(tables: Tables, results: Path, answers: Answers, tmp_path: Path) -> None:
    for name in ("calibration", "returns", "recalibration", "trap"):
        run(tables, name, tmp_path)
        for _, file in drawn.EXPERIMENTS[name][2]:
            assert (tmp_path / file).read_bytes() == (results / file).read_bytes(), file
