"""Autocorrelation step, against direct sums and pandas, and with a planted daily rhythm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from answers import answer, answered, printed_rows
from candle_tables import hour_grid, walk, write_hours
from remeasure.errors import DataError
from remeasure.studies.crypto.autocorrelation import (
    OUTPUTS,
    AutocorrelationStep,
    bump_heights,
    measure_autocorrelation,
)
from remeasure.studies.crypto.settings import AutocorrelationSettings

HOURS = 24 * 250


def rhythm(seed: int) -> np.ndarray:
    """Closes whose moves are three times as large at 14:00 UTC as at 02:00."""
    hour = np.arange(HOURS) % 24
    scale = 0.004 * (1 + 0.5 * np.cos(2 * np.pi * (hour - 14) / 24))
    moves = scale * np.random.default_rng(seed).normal(size=HOURS)
    return np.asarray(100 * np.exp(np.cumsum(moves)))


def settings(*coins: str) -> AutocorrelationStep:
    return AutocorrelationStep(
        coins=coins or ("BTCUSDT",),
        autocorrelation=AutocorrelationSettings(max_lag=176, block_hours=168, resamples=100),
    )


def run(path: Path, folder: Path, step: AutocorrelationStep) -> tuple[list, pl.DataFrame, ...]:
    acf, clock = folder / "acf.parquet", folder / "clock.parquet"
    measured = measure_autocorrelation(
        hours=path, acf=acf, hour_of_day=clock, settings=step, rng=np.random.default_rng(1)
    )
    return measured, pl.read_parquet(acf), pl.read_parquet(clock)


@pytest.fixture(scope="module")
def rhythmic(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray, np.ndarray]:
    times, closes = np.delete(hour_grid("2024-01-01", HOURS), 500), np.delete(rhythm(0), 500)
    path = tmp_path_factory.mktemp("acf") / "hours.duckdb"
    return write_hours(path, {"BTCUSDT": (times, closes)}), times, closes


def test_every_row_is_answered_once(rhythmic: tuple, tmp_path: Path) -> None:
    measured, *_ = run(rhythmic[0], tmp_path, settings())
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    assert all(each.value is not None for each in measured)
    band = answer(measured, "noise band")
    assert band.value == pytest.approx(0.00867, abs=5e-6)


def test_curve_against_direct_sums(rhythmic: tuple, tmp_path: Path) -> None:
    path, _, closes = rhythmic
    measured, acf, _ = run(path, tmp_path, settings())
    returns = np.diff(np.log(closes))
    for column, series in (("returns", returns), ("absolute", np.abs(returns))):
        z = series - series.mean()
        direct = [z[:-lag] @ z[lag:] / (z @ z) for lag in range(1, 177)]
        np.testing.assert_allclose(acf[column].to_numpy(), direct, atol=1e-12)
        assert (acf[f"{column}_low"] < acf[f"{column}_high"]).all()
    found = answer(measured, "autocorrelation of absolute returns", "BTC lag 168 h")
    assert (found.value, found.n) == (acf["absolute"][167], HOURS - 2)
    assert found.low < found.value < found.high


def test_clock_against_pandas(rhythmic: tuple, tmp_path: Path) -> None:
    path, times, closes = rhythmic
    measured, _, clock = run(path, tmp_path, settings())
    series = pd.Series(np.log(closes), index=pd.DatetimeIndex(times)).diff().dropna().abs()
    referee = 1e4 * series.groupby(series.index.hour).mean()
    np.testing.assert_allclose(clock["mean_bp"].to_numpy(), referee.to_numpy())
    assert clock["n"].to_list() == series.groupby(series.index.hour).size().to_list()
    for hour in (14, 4):
        found = answer(measured, f"BTC {hour:02d}:00 UTC hour")
        # The planted mean: sd x sqrt(2 / pi).
        truth = 40 * (1 + 0.5 * np.cos(2 * np.pi * (hour - 14) / 24)) * np.sqrt(2 / np.pi)
        assert found.low < truth < found.high


def test_planted_rhythm_shows_as_bumps(rhythmic: tuple, tmp_path: Path) -> None:
    measured, acf, _ = run(rhythmic[0], tmp_path, settings())
    for lag in (24, 48, 72):
        found = answer(measured, f"BTC, lag {lag} h, 1 = local maximum")
        assert (found.value, found.low, found.high) == (1, 1, 1)
    # Half a day later the curve has its troughs.
    assert not any(acf["bump"][lag - 1] for lag in (12, 36, 60))


def test_no_rhythm_no_bumps() -> None:
    lags = np.arange(1.0, 101)
    for monotone in (np.exp(-lags / 30), 1 - np.exp(-lags / 30)):
        assert not (np.nan_to_num(bump_heights(monotone)) > 0).any()
    hill = np.exp(-lags / 30) + 0.05 * np.exp(-(((lags - 49) / 2) ** 2))
    # The highest single lag lies an hour off 48, the bump is seen at both.
    heights = bump_heights(hill)
    assert (heights[[47, 48]] > 0).all()
    assert not (heights[[23, 71]] > 0).any()
    assert np.isnan(heights[[0, 3, 96, 99]]).all()
    assert not np.isnan(heights[[4, 95]]).any()
    stacked = bump_heights(np.stack([hill, hill]))
    np.testing.assert_array_equal(stacked, np.stack([heights, heights]))


def test_without_btc_rows_are_not_run(tmp_path: Path) -> None:
    path = write_hours(
        tmp_path / "hours.duckdb", {"ETHUSDT": (hour_grid("2024-01-01", 2400), walk(3, 2400))}
    )
    measured, acf, clock = run(path, tmp_path, settings("ETHUSDT"))
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    assert {each.quantity for each in measured if each.value is not None} == {"noise band"}
    assert acf.height == 176
    assert clock.height == 24


def test_too_few_hours_are_refused(tmp_path: Path) -> None:
    path = write_hours(
        tmp_path / "hours.duckdb", {"BTCUSDT": (hour_grid("2024-01-01", 100), walk(3, 100))}
    )
    with pytest.raises(DataError, match="too few for a lag of 176"):
        run(path, tmp_path, settings())
