"""Volatility targeting against brute force, pandas and constant volatility."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from answers import answer, answered, printed_rows
from remeasure.ledger.measurement import Measurement
from remeasure.stats.sharpe import sharpe
from remeasure.store.frames import write_frame
from remeasure.studies.crypto.settings import Dataset
from remeasure.studies.crypto.targeting import (
    OUTPUTS,
    TargetingSettings,
    TargetingStep,
    largest_drawdown,
    measure_targeting,
    positions,
    resampled_moments,
    rolling_volatility,
    weights,
)
from remeasure.studies.crypto.volatility import DAYS

COINS = ("BTCUSDT", "ETHUSDT", "SOLUSDT")
FIRST = date(2022, 1, 1)


def day_table(n: int = 400) -> pl.DataFrame:
    """Days of three coins; the true variance is forecast, the first 50 days are not."""
    rng = np.random.default_rng(5)
    frames = []
    for coin in ("BTC", "ETH", "SOL"):
        log = -7 + np.cumsum(0.05 * rng.normal(size=n))
        forecast = [None] * 50 + log[50:].tolist()
        frames.append(
            pl.DataFrame(
                {
                    "coin": [coin] * n,
                    "day": [FIRST + timedelta(days=day) for day in range(n)],
                    "returns": [288] * n,
                    "variance": np.exp(log),
                    "ret": np.exp(log / 2) * rng.normal(size=n),
                    "log_forecast": forecast,
                    "residual_sd": [None] * 50 + [0.6] * (n - 50),
                    "ret_forecast": [None] * 50 + [0.0] * (n - 50),
                }
            )
        )
    return pl.concat(frames)


def run(
    folder: Path, table: pl.DataFrame, target: float = 0.5
) -> tuple[list[Measurement], pl.DataFrame, pl.DataFrame]:
    write_frame(table, folder / "days.parquet", DAYS)
    curves, targeting = folder / "curves.parquet", folder / "targeting.parquet"
    measured = measure_targeting(
        days=folder / "days.parquet",
        curves=curves,
        targeting=targeting,
        settings=TargetingStep(
            coins=COINS,
            base="5m",
            candles=Dataset(coins=COINS, first=date(2021, 1, 1), last=date(2026, 10, 29)),
            first_test="2022-01",
            last_test="2026-10",
            targeting=TargetingSettings(target=target, caps=(1, 2), block_days=30, resamples=200),
        ),
        rng=np.random.default_rng(1),
    )
    return measured, pl.read_parquet(curves), pl.read_parquet(targeting)


def test_constant_volatility_gives_a_constant_weight() -> None:
    sigma = 0.8
    log = np.full(100, np.log(sigma**2 / 365))
    np.testing.assert_allclose(weights(log, 0.5), 0.5 / sigma, rtol=0, atol=1e-12)


def test_drawdown() -> None:
    assert largest_drawdown(np.full(50, 0.01)) == pytest.approx(0, abs=1e-12)
    assert largest_drawdown(np.full(50, -0.01)) == pytest.approx(1 - np.exp(-0.5), abs=1e-12)
    pnl = np.random.default_rng(6).normal(size=300) * 0.03
    value = np.exp(np.append(0, np.cumsum(pnl)))
    expected = max(1 - value[t] / value[: t + 1].max() for t in range(value.size))
    assert largest_drawdown(pnl) == pytest.approx(expected, abs=1e-12)


def test_rolling_volatility_equals_pandas() -> None:
    pnl = np.random.default_rng(7).normal(size=100) * 0.03
    expected = pd.Series(pnl).rolling(30).std() * np.sqrt(365)
    np.testing.assert_allclose(rolling_volatility(pnl), expected, rtol=1e-10)
    assert np.isnan(rolling_volatility(pnl[:29])).all()


def test_positions_by_hand() -> None:
    log = np.log(np.array([0.2, 0.5, 2.0]) ** 2 / 365)
    sd = np.full(3, 0.5)
    found = {each.name: each.weight for each in positions(log, sd, 0.5, (1, 2))}
    np.testing.assert_allclose(found["held"], [1, 1, 1])
    np.testing.assert_allclose(found["sized"], [2.5, 1, 0.25])
    np.testing.assert_allclose(found["sized, at most 1"], [1, 1, 0.25])
    np.testing.assert_allclose(found["sized, at most 2"], [2, 1, 0.25])
    mean = np.array([2.5, 1, 0.25]) * np.exp(-(0.5**2) / 4)
    np.testing.assert_allclose(found["sized by the mean variance"], mean)


def test_resampled_moments_of_single_days_equal_resampling() -> None:
    pnl = np.random.default_rng(8).normal(0.001, 0.03, 200)
    found = resampled_moments(pnl, 1, 50, np.random.default_rng(9))
    starts = np.random.default_rng(9).integers(0, 200, size=(50, 200), dtype=np.int64)
    for (sd, ratio), row in zip(found, starts, strict=True):
        assert sd == pytest.approx(pnl[row].std(ddof=1) * np.sqrt(365), rel=1e-9)
        assert ratio == pytest.approx(sharpe(pnl[row], 365), rel=1e-9)


def test_every_row_is_answered_once(tmp_path: Path) -> None:
    measured, curves, table = run(tmp_path, day_table())
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    assert all(each.value is not None for each in measured)
    own = day_table().filter(pl.col("coin") == "SOL").drop_nulls("log_forecast")
    pnl = (0.5 / (365 * own["log_forecast"].exp()).sqrt() * own["ret"]).to_numpy()
    sized = answer(measured, "realised volatility", "SOL sized to 50%")
    assert sized.value == pytest.approx(100 * pnl.std(ddof=1) * np.sqrt(365), rel=1e-12)
    assert (sized.n, sized.coverage) == (350, "whole")
    assert sized.low <= sized.value <= sized.high
    # The forecast is the true variance: the target is met within the error of 350 days.
    assert sized.value == pytest.approx(50, abs=3 * 50 / np.sqrt(2 * 350))
    found = answer(measured, "largest drawdown", "SOL sized")
    assert found.value == pytest.approx(100 * largest_drawdown(pnl), rel=1e-12)
    held = answer(measured, "highest 30-day volatility (over)", "SOL held")
    assert held.n == 321
    rolling = pd.Series(own["ret"].to_numpy()).rolling(30).std().max() * np.sqrt(365)
    assert held.value == pytest.approx(100 * rolling, rel=1e-9)
    btc = day_table().filter(pl.col("coin") == "BTC").drop_nulls("log_forecast")
    ratio = answer(measured, "Sharpe", "BTC held")
    assert ratio.value == pytest.approx(sharpe(btc["ret"], 365), rel=1e-12)
    assert table.height == 15
    assert curves.height == 15 * 350
    assert curves["volatility"].null_count() == 15 * 29


def test_another_target_or_a_missing_coin_is_not_run(tmp_path: Path) -> None:
    measured, *_ = run(tmp_path, day_table(), target=0.3)
    found = answer(measured, "realised volatility", "SOL sized to 50%")
    assert (found.value, found.note) == (None, "this run sizes to 30%, or has no such coin")
    assert answer(measured, "realised volatility", "SOL held, 2022..2026-10").value is not None
    measured, *_ = run(tmp_path, day_table().filter(pl.col("coin") == "BTC"))
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    assert answer(measured, "largest drawdown", "SOL sized").value is None


def test_without_any_forecast_nothing_is_run(tmp_path: Path) -> None:
    early = day_table(60).filter(pl.col("day") <= FIRST + timedelta(days=50))
    measured, curves, table = run(tmp_path, early)
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    assert [each.quantity for each in measured if each.value is not None] == ["target volatility"]
    assert curves.is_empty()
    assert table.is_empty()
