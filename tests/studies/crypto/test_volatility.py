"""Daily variances and their forecasts, against brute force, cut files and halts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from answers import answer, answered, printed_rows
from candle_tables import write_candles
from remeasure.errors import DataError
from remeasure.ledger.measurement import Measurement
from remeasure.stats.har import r_squared
from remeasure.studies.crypto.days import read_days
from remeasure.studies.crypto.settings import Dataset
from remeasure.studies.crypto.volatility import (
    MAIN,
    OUTPUTS,
    VARIANTS,
    VolatilitySettings,
    VolatilityStep,
    forecasts,
    measure_volatility,
    predicted_days,
    refit_coverage,
)

COINS = ("BTCUSDT", "ETHUSDT", "SOLUSDT")
WINDOW = Dataset(coins=COINS, first=date(2024, 1, 1), last=date(2024, 7, 18))
HOURS = 200 * 24
R2 = "out-of-sample R2 of log variance, HAR"
R2_RETURNS = "out-of-sample R2 of daily returns, same regression"


def clustered(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Hourly closes of 200 days whose log variance is a slow autoregression by the day."""
    rng = np.random.default_rng(seed)
    log = np.zeros(200)
    for day in range(1, 200):
        log[day] = 0.97 * log[day - 1] + 0.25 * rng.normal()
    returns = 0.005 * np.repeat(np.exp(log / 2), 24) * rng.normal(size=HOURS)
    times = np.datetime64("2024-01-01", "us") + np.arange(HOURS) * np.timedelta64(1, "h")
    return times, 100 * np.exp(np.cumsum(returns))


@pytest.fixture(scope="module")
def series() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Three coins; ETH lacks five hours of 2 March and all of 1 July."""
    coins = {symbol: clustered(seed) for seed, symbol in enumerate(COINS)}
    times, closes = coins["ETHUSDT"]
    gone = (times >= np.datetime64("2024-03-02T03")) & (times < np.datetime64("2024-03-02T08"))
    gone |= times.astype("datetime64[D]") == np.datetime64("2024-07-01")
    coins["ETHUSDT"] = (times[~gone], closes[~gone])
    return coins


@pytest.fixture(scope="module")
def candles(
    series: Mapping[str, tuple[np.ndarray, np.ndarray]], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    return write_candles(tmp_path_factory.mktemp("volatility") / "candles.duckdb", series)


def settings(coins: tuple[str, ...] = COINS, base: str = "1h") -> VolatilityStep:
    return VolatilityStep.model_validate(
        {
            "coins": coins,
            "base": base,
            "candles": WINDOW,
            "first_test": "2024-04",
            "last_test": "2024-12",
            "volatility": VolatilitySettings(block_days=20, resamples=100),
        }
    )


def run(
    candles: Path, folder: Path, step: VolatilityStep
) -> tuple[list[Measurement], pl.DataFrame, pl.DataFrame]:
    days, scores = folder / "days.parquet", folder / "scores.parquet"
    measured = measure_volatility(
        candles=candles, days=days, scores=scores, settings=step, rng=np.random.default_rng(1)
    )
    return measured, pl.read_parquet(days), pl.read_parquet(scores)


def test_days_equal_brute_force(
    series: Mapping[str, tuple[np.ndarray, np.ndarray]], candles: Path
) -> None:
    times, closes = series["ETHUSDT"]
    price = pd.Series(np.log(closes), index=pd.DatetimeIndex(times))
    on_grid = price.asfreq("1h")
    squares = on_grid.diff() ** 2
    last = price.groupby(price.index.date).last()
    found = read_days(candles, "ETHUSDT", "1h", WINDOW)
    assert found.day.size == 200
    for index, day in enumerate(found.day.astype(object)):
        own = squares[squares.index.date == day].dropna()
        assert found.count[index] == own.size
        if own.size:
            assert found.variance[index] == pytest.approx(own.sum(), rel=1e-12)
            before = last.get((pd.Timestamp(day) - pd.Timedelta(days=1)).date(), np.nan)
            assert found.ret[index] == pytest.approx(last[day] - before, nan_ok=True, abs=1e-12)
        else:
            assert np.isnan(found.variance[index])
    counts = dict(zip(found.day.astype(str), found.count, strict=True))
    assert counts["2024-01-01"] == 23
    assert counts["2024-03-02"] == 24 - 6
    assert (counts["2024-07-01"], counts["2024-07-02"]) == (0, 23)


def test_a_coin_without_candles_is_refused(candles: Path) -> None:
    with pytest.raises(DataError, match="no candles of DOGEUSDT"):
        read_days(candles, "DOGEUSDT", "1h", WINDOW)


def test_every_row_is_answered_once(candles: Path, tmp_path: Path) -> None:
    measured, days, scores = run(candles, tmp_path, settings())
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    assert answer(measured, "5-minute returns per day").value == 288
    assert "24 returns a day, of 1h candles" in answer(measured, "5-minute returns per day").note
    assert answer(measured, "HAR coefficients").value == 4
    for coin in ("BTC", "ETH", "SOL"):
        for quantity in (R2, R2_RETURNS):
            found = answer(measured, quantity, coin)
            assert found.low <= found.value <= found.high
            assert found.coverage == (
                "candles 2024-04-01 to 2024-07-18 of 2022-01-01 to 2026-10-29, daily variances"
                " rebuilt from 1h, fitted on days from 2024-01-01, not 2021-01-01"
            )
    assert answer(measured, R2, "BTC").n == 109
    assert answer(measured, R2, "BTC").value > 0.2
    # The missing day costs its own score and the seventeen days that need it.
    assert answer(measured, R2, "ETH").n == 109 - 18
    assert days.height == 600
    assert scores["variant"].n_unique() == len(VARIANTS)
    assert scores["published_way"].sum() == 6


def test_scores_are_those_of_the_days(candles: Path, tmp_path: Path) -> None:
    measured, days, _ = run(candles, tmp_path, settings())
    own = days.filter(pl.col("coin") == "BTC").with_columns(y=pl.col("variance").log())
    predicted = own.drop_nulls("log_forecast")
    # The mean of all days fitted on: those before the month of the predicted one.
    level = np.array(
        [
            own.slice(30).filter(pl.col("day") < day.replace(day=1))["y"].mean()
            for day in predicted["day"]
        ]
    )
    expected = r_squared(predicted["y"].to_numpy(), predicted["log_forecast"].to_numpy(), level)
    assert answer(measured, R2, "BTC").value == pytest.approx(expected, rel=1e-12)
    returns = predicted.drop_nulls("ret_forecast")
    errors = ((returns["ret"] - returns["ret_forecast"]) ** 2).sum()
    found = answer(measured, R2_RETURNS, "BTC").value
    assert found == pytest.approx(1 - errors / (returns["ret"] ** 2).sum(), rel=1e-9)


def test_forecasts_are_made_from_the_past_alone(
    series: Mapping[str, tuple[np.ndarray, np.ndarray]], candles: Path, tmp_path: Path
) -> None:
    """A file that ends with the day before gives the same forecast of the day after."""
    whole = forecasts(read_days(candles, "BTCUSDT", "1h", WINDOW), "2024-04", "2024-12", MAIN)
    times, closes = series["BTCUSDT"]
    for number, end in enumerate((95, 121, 150, 181, 199)):
        kept = slice(0, end * 24)
        path = write_candles(
            tmp_path / f"{number}.duckdb", {"BTCUSDT": (times[kept], closes[kept])}
        )
        cut = forecasts(read_days(path, "BTCUSDT", "1h", WINDOW), "2024-04", "2024-12", MAIN)
        for target, found in cut.items():
            np.testing.assert_array_equal(
                found.forecast[91 : end + 1], whole[target].forecast[91 : end + 1]
            )
            assert np.isnan(found.forecast[end + 1 :]).all()


def test_missing_coins_are_not_run(candles: Path, tmp_path: Path) -> None:
    measured, *_ = run(candles, tmp_path, settings(("BTCUSDT",)))
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    found = answer(measured, R2, "SOL")
    assert (found.value, found.note) == (None, "this run predicts no volatility of this coin")


def test_too_few_days_to_fit_on_are_not_run(candles: Path, tmp_path: Path) -> None:
    step = settings().model_copy(update={"first_test": "2024-02", "last_test": "2024-02"})
    measured, days, scores = run(candles, tmp_path, step)
    assert scores.filter("published_way").is_empty()
    assert days["log_forecast"].is_null().all()
    assert answer(measured, R2, "BTC").value is None


def test_whole_means_the_published_window() -> None:
    full = Dataset(coins=COINS, first=date(2021, 1, 1), last=date(2026, 10, 29))
    assert predicted_days("2022-01", "2026-10", full) == (date(2022, 1, 1), date(2026, 10, 29))
    assert refit_coverage("2022-01", "2026-10", full, "5m", "BTCUSDT") == "whole"
    hourly = refit_coverage("2022-01", "2026-10", full, "1h", "BTCUSDT")
    assert hourly == "daily variances rebuilt from 1h"


def test_same_bytes_twice(candles: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        run(candles, tmp_path / name, settings())
    for name in ("days.parquet", "scores.parquet"):
        first, second = (tmp_path / each / name for each in ("first", "second"))
        assert first.read_bytes() == second.read_bytes()
