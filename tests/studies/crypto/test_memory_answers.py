"""From answers to rows: scores, strategy and prices against plain arithmetic and planted truth."""

from __future__ import annotations

import json
import math
import re
import statistics
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import answer, answered, printed_rows
from memory_candles import SIMULATED, random_closes, write_daily
from remeasure.errors import DataError
from remeasure.ledger.measurement import Measurement
from remeasure.store.frames import read_frame
from remeasure.studies.crypto.memory_direction import called, measure_memory_direction
from remeasure.studies.crypto.memory_models import SEVEN, LanguageModel
from remeasure.studies.crypto.memory_prices import measure_memory_prices
from remeasure.studies.crypto.memory_questions import FIRST, LAST, questions
from remeasure.studies.crypto.memory_simulated import (
    SimulatedStep,
    median_error,
    simulate_answers,
)
from remeasure.studies.crypto.memory_simulated import answer as simulated
from remeasure.studies.crypto.memory_strategy import factors, grown, measure_memory_strategy
from remeasure.studies.crypto.memory_table import read_answers, write_answers
from remeasure.studies.crypto.memory_truth import daily_closes, with_truth
from remeasure.studies.crypto.memory_windows import MemoryStep

OUTPUTS = (
    "fig_memory_answers", "stat_memory_price_detail", "fig_memory_direction",
    "stat_memory_pooled", "fig_memory_strategy", "stat_memory_multiples",
)  # fmt: skip
HEADLINE = [key for key in printed_rows("crypto", ("tab_headline",)) if key[1] == "months right"]


class Answers:
    """Files of answers, and everything that the steps make of them."""

    def __init__(
        self,
        folder: Path,
        settings: MemoryStep,
        candles: list[Path],
        answers: list[Path],
        others: list[Path],
        truth: Path | None = None,
    ) -> None:
        rng = np.random.default_rng(0)
        self.folder, self.candles, self.truth = folder, candles, truth
        self.measured: list[Measurement] = measure_memory_direction(
            candles=candles,
            answers=answers,
            others=others,
            calls=folder / "calls",
            shares=folder / "shares",
            masses=folder / "masses",
            settings=settings,
            rng=rng,
        )
        self.measured += measure_memory_strategy(
            calls=folder / "calls",
            curves=folder / "curves",
            multiples=folder / "multiples",
            settings=settings,
            rng=rng,
        )
        self.measured += measure_memory_prices(
            candles=candles,
            answers=answers,
            others=others,
            prices=folder / "prices",
            years=folder / "years",
            settings=settings,
            truth=truth,
        )

    def table(self, name: str) -> pl.DataFrame:
        return read_frame(self.folder / name)

    def row(self, *key: str) -> Measurement:
        return answer(self.measured, *key)


def step(**changes: object) -> MemoryStep:
    known = {"answerer": "simulated", "models": SEVEN, "resamples": 200}
    return MemoryStep.model_validate(known | changes)


def simulate(folder: Path, first: str, last: str) -> tuple[list[Path], list[Path]]:
    closes = random_closes(first, last, seed=3)
    candles = [write_daily(folder / "daily.duckdb", first, closes)]
    files = [folder / f"{model.slug}.parquet" for model in SEVEN]
    simulate_answers(
        candles=candles,
        manifest=folder / "memory.manifest.json",
        answers=files,
        truth=folder / "truth.json",
        settings=SimulatedStep(
            first=date.fromisoformat(FIRST),
            last=date.fromisoformat(LAST),
            models=SEVEN,
            simulated=SIMULATED,
        ),
    )
    return candles, files


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    folder = tmp_path_factory.mktemp("memory")
    candles, files = simulate(folder, "2017-12-01", LAST)
    return Answers(folder, step(), candles, files, [], folder / "truth.json")


# --- rows -----------------------------------------------------------------------------------


def expected_keys() -> list[tuple[str, str, str]]:
    rows = printed_rows("crypto", OUTPUTS)
    return sorted([*(key for key, row in rows.items() if row["kind"] != "exact"), *HEADLINE])


def test_every_empirical_row_is_answered_once_and_says_who_answered(whole: Answers) -> None:
    assert answered(whole.measured) == expected_keys()
    for each in whole.measured:
        assert each.value is not None, each
        assert each.coverage == "whole", each
        assert "simulated answerer, not a language model" in each.note
        if each.low is not None and each.high is not None:
            assert each.low <= float(str(each.value)) <= each.high, each


def test_the_stand_ins_manifest_says_generated(whole: Answers) -> None:
    manifest = json.loads((whole.folder / "memory.manifest.json").read_text())
    assert (manifest["origin"], manifest["files"]) == ("generated", [])


def test_memory_is_found_before_the_cutoff_and_chance_after(whole: Answers) -> None:
    shares = whole.table("shares")
    for row in shares.iter_rows(named=True):
        share = row["percent"] / 100
        if row["window"] == "before":
            assert share > 0.6, row
        else:
            # Models answer for the same months, so pooled answers are fewer than they look.
            n = row["n"] if row["model"] != "all models" else row["n"] / 3
            assert abs(share - 0.5) <= 3 * math.sqrt(0.25 / n), row


def test_planted_prices_are_found_and_errors_equal_the_planted_law(whole: Answers) -> None:
    planted = 100 * median_error(SIMULATED.price_noise)
    rows = [each for each in whole.measured if each.output_id == "fig_memory_answers"]
    assert len(rows) == 4
    for each in rows:
        assert each.truth == pytest.approx(planted)
        assert each.low is not None
        assert each.high is not None
        assert each.low <= planted <= each.high
    assert whole.row("answers with a number after release").value == 0
    assert whole.row("first month answered 0").value == "2025-03"
    assert whole.row("self-reported cutoff contradicted by answers").value == "2023-06"


def test_median_errors_equal_a_count_by_hand(whole: Answers) -> None:
    close = dict(daily_closes(whole.candles).iter_rows())
    own = read_answers(whole.folder / "qwen2-5-7b.parquet").filter(pl.col("kind") == "price")
    errors = []
    for row in own.iter_rows(named=True):
        if row["first"] < date(2023, 10, 1):
            (number,) = re.findall(r"\d[\d,]*\.\d\d", row["text"])
            errors.append(abs(float(number.replace(",", "")) / close[row["first"]] - 1))
    assert len(errors) == 138
    measured = whole.row("fig_memory_answers", "Qwen2.5 7B, released 2024-09").value
    assert measured == pytest.approx(100 * statistics.median(errors))


def test_the_median_of_a_known_error_agrees_with_simulation() -> None:
    eps = np.random.default_rng(2).standard_normal(400_000)
    assert np.median(np.abs(np.exp(0.3 * eps) - 1)) == pytest.approx(median_error(0.3), rel=5e-3)


# --- less than everything -------------------------------------------------------------------


def test_prices_that_begin_with_2018_ask_104_months_and_say_so(tmp_path: Path) -> None:
    candles, files = simulate(tmp_path, "2018-01-01", "2025-12-31")
    found = Answers(tmp_path, step(), candles, files, [])
    assert answered(found.measured) == expected_keys()
    months = found.table("calls").filter(pl.col("kind") == "month", pl.col("model") == "OLMo 2 7B")
    assert months.height == 95  # 2018-02 to 2025-12
    assert found.row("months right", "OLMo 2 7B, before").coverage == "71 of 72 months"
    gone = found.row("months right", "Qwen3.5 9B, after")
    assert gone.value is None
    assert "within this run's candles" in gone.note


def test_without_answers_or_candles_every_row_says_why(tmp_path: Path) -> None:
    for name, changes, word in (
        ("none", {"answerer": "none"}, "no language model is asked"),
        ("daily", {"daily": False}, "no daily candles"),
        ("weights", {"answerer": "networks"}, "no weights"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        found = Answers(folder, step(**changes), [], [], [])
        assert answered(found.measured) == expected_keys()
        assert all(each.value is None and word in each.note for each in found.measured)


def test_a_part_of_the_seven_and_a_stranger(tmp_path: Path, whole: Answers) -> None:
    stranger = LanguageModel(label="SmolLM2-135M", release="2024-11")
    truth = with_truth(questions(FIRST, LAST), daily_closes(whole.candles))
    write_answers(simulated(stranger, truth, SIMULATED), tmp_path / "other")
    found = Answers(
        tmp_path,
        step(answerer="networks", others=(stranger,)),
        whole.candles,
        [whole.folder / "olmo-2-7b.parquet"],
        [tmp_path / "other"],
    )
    assert answered(found.measured) == expected_keys()
    own = whole.row("months right", "OLMo 2 7B, before")
    pooled = found.row("stat_memory_pooled", "months right", "before")
    assert pooled.value == own.value
    assert pooled.coverage == "72 of 525 answers, 1 of 7 models"
    assert "no weights of Qwen3 8B" in found.row("months right", "Qwen3 8B, before").note
    assert not any("simulated" in each.note for each in found.measured)
    apart = found.table("shares").filter(~pl.col("published"))
    assert set(apart["model"]) == {"SmolLM2-135M"}


# --- arithmetic -----------------------------------------------------------------------------


def masses(p: np.ndarray, mass: float = 0.5) -> pl.DataFrame:
    return pl.DataFrame({"mass_up": mass * p, "mass_down": mass * (1 - p)})


def test_the_median_of_105_distinct_values_gives_52_up() -> None:
    p = np.random.default_rng(0).permutation(np.linspace(0.1, 0.9, 105))
    assert called(masses(p))["median"].sum() == 52
    # Scaling both masses, as adding a constant to every logit of the two words does, is nothing.
    np.testing.assert_allclose(called(masses(p, 1e-6))["p_up"], p, rtol=1e-9)
    assert called(masses(p, 1e-6))["median"].equals(called(masses(p))["median"])


def test_a_model_that_always_says_the_same_never_calls_up() -> None:
    assert called(masses(np.full(9, 0.7)))["median"].sum() == 0
    silent = called(masses(np.full(9, 0.7), 0.0))
    assert silent["p_up"].null_count() == 9
    assert silent["half"].sum() == 0


def test_shares_equal_a_count_by_hand(whole: Answers) -> None:
    truth = with_truth(questions(FIRST, LAST), daily_closes(whole.candles))
    model = SEVEN[4]
    own = read_answers(whole.folder / f"{model.slug}.parquet").filter(pl.col("kind") == "month")
    p = {
        row["first"]: row["mass_up"] / (row["mass_up"] + row["mass_down"])
        for row in own.iter_rows(named=True)
    }
    middle = sorted(p.values())[52]
    hits = counted = 0
    for row in truth.filter(pl.col("kind") == "month").iter_rows(named=True):
        if row["first"] <= date(2024, 4, 1):
            counted += 1
            hits += (p[row["first"]] > middle) == (row["end"] > row["begin"])
    measured = whole.row("months right", f"{model.label}, before")
    assert counted == 76
    assert measured.value == pytest.approx(100 * hits / counted)


def test_the_dollar_compounds_month_by_month(whole: Answers) -> None:
    calls = whole.table("calls").filter(pl.col("kind") == "month", pl.col("model") == "OLMo 2 7B")
    value, at_release = 1.0, None
    for row in calls.iter_rows(named=True):
        if row["first"] == date(2024, 12, 1):
            at_release = value
        value *= 1 + (1 if row["median"] else -1) * (row["end"] / row["begin"] - 1)
    assert at_release is not None
    assert whole.row("OLMo 2 7B, 2018-01..2024-11").value == pytest.approx(at_release)
    assert whole.row("OLMo 2 7B, 2026-09").value == pytest.approx(value)
    change = whole.row("change after release").value
    assert change == pytest.approx(100 * (value / at_release - 1))
    held = whole.row("holding BTC, 2018-01..2024-11").value
    assert held == pytest.approx(calls["end"][82] / calls["begin"][0])


@given(st.lists(st.floats(0.2, 5.0), min_size=1, max_size=20))
def test_a_short_month_loses_what_a_long_one_wins_until_nothing_is_left(ratio: list[float]) -> None:
    end, begin = np.array(ratio), np.ones(len(ratio))
    long, short = (factors(np.full(len(ratio), up), begin, end) for up in (True, False))
    np.testing.assert_allclose(long, end)
    np.testing.assert_allclose(short, np.maximum(2 - end, 0))


def test_ruin_has_no_interval() -> None:
    ruined = grown(np.array([2.0, 0.0]), 100, np.random.default_rng(0))
    assert (ruined.multiple, ruined.low, ruined.high) == (0.0, None, None)


# --- the table ------------------------------------------------------------------------------


def test_adding_a_model_moves_no_other(whole: Answers) -> None:
    truth = with_truth(questions(FIRST, LAST), daily_closes(whole.candles))
    for model in SEVEN[:2]:
        again = simulated(model, truth, SIMULATED)
        stored = read_answers(whole.folder / f"{model.slug}.parquet")
        assert again.select(stored.columns).equals(stored)
    one, two = (simulated(model, truth, SIMULATED)["mass_up"] for model in SEVEN[:2])
    assert not one.equals(two)


def test_a_row_that_mixes_kinds_and_a_model_twice_are_refused(
    tmp_path: Path, whole: Answers
) -> None:
    path = whole.folder / "phi-4-mini.parquet"
    own = read_answers(path)
    with pytest.raises(DataError, match="a price has a text"):
        write_answers(own.with_columns(mass_up=pl.lit(0.1)), tmp_path / "bad")
    with pytest.raises(DataError, match="probabilities of different words"):
        write_answers(
            own.with_columns(mass_up="mass_down").with_columns(
                mass_up=pl.when(pl.col("mass_up") > 0).then(0.9),
                mass_down=pl.when(pl.col("mass_down") > 0).then(0.9),
            ),
            tmp_path / "bad",
        )
    with pytest.raises(DataError):
        read_answers(path, path)
