"""The generated market measured by itself: short here, whole in the default run."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from answers import answer
from remeasure.errors import DataError
from remeasure.ledger.measurement import Measurement
from remeasure.studies.crypto.published import measurable
from remeasure.studies.crypto.settings import (
    BoostingSettings,
    DirectionSettings,
    LeakAuditSettings,
    Period,
    RandomSettings,
    SyntheticSettings,
    TailsSettings,
    VolatilitySettings,
    WalkForwardSettings,
)
from remeasure.studies.crypto.synthetic import SyntheticStep, measure_synthetic

FIRST, LAST = date(2022, 11, 1), date(2023, 4, 30)


def step(first: date = FIRST, last: date = LAST) -> SyntheticStep:
    walk = WalkForwardSettings(
        first_test="2023-03",
        last_test="2023-04",
        gap_hours=24,
        refit_months=2,
        boosting=BoostingSettings(
            rounds=30,
            learning_rate=0.1,
            num_leaves=15,
            max_depth=4,
            min_data_in_leaf=200,
            feature_fraction=0.8,
            bagging_fraction=0.8,
            lambda_l2=1,
            max_bin=63,
        ),
    )
    return SyntheticStep(
        synthetic=SyntheticSettings(seed=7, beta=0.8, first=first, last=last),
        leak_audit=LeakAuditSettings(
            interval="5m", skip_bars=1, folds=3, target_hours=24, walk_forward=walk
        ),
        direction=DirectionSettings(block_hours=24, resamples=100),
        volatility=VolatilitySettings(block_days=10, resamples=100),
        random=RandomSettings(
            period=Period(first=first, last=last), fee_bp=5, paths=2000, flip_probability=1 / 24
        ),
        tails=TailsSettings(threshold=6, bin_width=0.25),
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Measurement], Path]:
    folder = tmp_path_factory.mktemp("synthetic")
    rows = measure_synthetic(
        manifest=folder / "m.manifest.json",
        summary=folder / "m.json",
        settings=step(),
        rng=np.random.default_rng(0),
    )
    return rows, folder


def test_every_row_is_measured_and_says_that_the_window_is_short(
    measured: tuple[list[Measurement], Path],
) -> None:
    rows, folder = measured
    assert len(rows) == len(measurable(["synthetic"]))
    assert all(row.value is not None for row in rows)
    assert all("simulated from 2022-11-01" in row.coverage for row in rows)
    manifest = json.loads((folder / "m.manifest.json").read_text("utf-8"))
    assert (manifest["origin"], manifest["files"]) == ("generated", [])


def test_what_is_planted_is_found_and_nothing_else(
    measured: tuple[list[Measurement], Path],
) -> None:
    rows, _ = measured
    for name in ("BTC", "ETH", "SOL"):
        found = answer(rows, "hit rate, beta 0.40", f"{name}, seed 7")
        best = answer(rows, "Bayes hit rate, beta 0.40", f"{name}, seed 7")
        nothing = answer(rows, "hit rate, beta 0", f"{name}, seed 7")
        error = 100 * 3 * (0.25 / found.n) ** 0.5
        assert 50 + error / 3 < found.value < best.value + error
        assert abs(nothing.value - 50) < error
    leaked = answer(rows, "hit rate with leaked next-hour high", "BTC, seed 7")
    assert leaked.value > 70
    mean = answer(rows, "random strategies mean Sharpe", "3 years, 0.628 volatility")
    assert mean.low - 0.05 <= mean.truth <= mean.high + 0.05


def test_a_window_without_tested_hours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="predicts no hour"):
        measure_synthetic(
            manifest=tmp_path / "m.manifest.json",
            summary=tmp_path / "m.json",
            settings=step(last=date(2023, 1, 31)),
            rng=np.random.default_rng(0),
        )
