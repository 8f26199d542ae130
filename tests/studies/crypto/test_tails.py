"""Extreme hours, against pandas, planted outliers, resampling by hand and simulated coverage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import zscore

from answers import answer, answered, printed_rows
from candle_tables import hour_grid, walk, write_hours
from remeasure.stats.bootstrap import draw_blocks
from remeasure.studies.crypto.settings import TailsSettings
from remeasure.studies.crypto.tails import (
    OUTPUTS,
    TailsStep,
    binned,
    count_interval,
    measure_tails,
    standardised,
)

COINS = ("BTCUSDT", "ETHUSDT", "SOLUSDT")


def settings(threshold: float = 6.0, coins: tuple[str, ...] = COINS) -> TailsStep:
    return TailsStep(coins=coins, tails=TailsSettings(threshold=threshold, bin_width=0.25))


@pytest.fixture(scope="module")
def hours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 days of three coins; BTC lacks an hour."""
    times = hour_grid("2024-01-01", 4800)
    series = {symbol: (times, walk(index, 4800)) for index, symbol in enumerate(COINS)}
    series["BTCUSDT"] = (np.delete(times, 1000), np.delete(series["BTCUSDT"][1], 1000))
    return write_hours(tmp_path_factory.mktemp("tails") / "hours.duckdb", series)


def run(hours: Path, folder: Path, step: TailsStep) -> tuple[list, pl.DataFrame, pl.DataFrame]:
    tails, histogram = folder / "tails.parquet", folder / "histogram.parquet"
    measured = measure_tails(
        hours=hours,
        tails=tails,
        histogram=histogram,
        settings=step,
        rng=np.random.default_rng(1),
    )
    return measured, pl.read_parquet(tails), pl.read_parquet(histogram)


def test_every_row_is_answered_once(hours: Path, tmp_path: Path) -> None:
    measured, *_ = run(hours, tmp_path, settings())
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    assert all(each.value is not None for each in measured)


def test_counts_against_pandas(hours: Path, tmp_path: Path) -> None:
    measured, table, _ = run(hours, tmp_path, settings())
    closes = pd.Series(np.delete(walk(0, 4800), 1000))
    returns = np.log(closes / closes.shift(1)).dropna()
    beyond = int(((returns - returns.mean()) / returns.std() > 6).sum())
    beyond += int(((returns - returns.mean()) / returns.std() < -6).sum())
    found = answer(measured, "hours beyond 6 sd", "BTC")
    assert beyond > 0
    assert (found.value, found.n) == (beyond, 4798)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= beyond <= found.high
    assert found.coverage == "candles 2024-01-01 to 2024-07-18 of 2021-01-01 to 2026-10-29"
    assert table["sd"][0] == pytest.approx(returns.std())
    assert table["coin"].to_list() == ["BTC", "ETH", "SOL"]


def test_planted_outliers_are_counted() -> None:
    rng = np.random.default_rng(2)
    returns = np.clip(rng.normal(size=5000), -3, 3)
    returns[[10, 400, 4000]] = [9.0, -9.0, 8.0]
    assert (np.abs(standardised(returns)) > 6).sum() == 3
    np.testing.assert_allclose(standardised(returns), zscore(returns, ddof=1), rtol=1e-12)


def test_normal_rows_are_exact(hours: Path, tmp_path: Path) -> None:
    measured, *_ = run(hours, tmp_path, settings())
    printed = printed_rows("crypto", OUTPUTS)
    exact = [each for each in measured if printed[answered([each])[0]]["kind"] == "exact"]
    assert len(exact) == 5
    for each in exact:
        row = printed[answered([each])[0]]
        tolerance = {"0.0001": 0.01, "58000": 0.01}.get(row["value"], 1e-5)
        assert float(each.value) == pytest.approx(float(row["value"]), rel=tolerance)


def test_histogram_holds_every_hour(hours: Path, tmp_path: Path) -> None:
    _, table, histogram = run(hours, tmp_path, settings())
    for coin, rows in histogram.group_by("coin", maintain_order=True):
        own = table.filter(pl.col("coin") == coin[0]).row(0, named=True)
        assert rows["count"].sum() == own["n"]
        # Bins meet at multiples of a quarter, so six sd is an edge.
        outer = rows.filter((pl.col("left") >= 6) | (pl.col("right") <= -6))
        assert outer["count"].sum() == own["beyond"]
        assert (rows["right"] - rows["left"]).to_list() == pytest.approx([0.25] * rows.height)
        assert rows["expected"].sum() == pytest.approx(own["n"], rel=1e-4)


def test_bins_against_numpy() -> None:
    z = np.random.default_rng(3).standard_t(4, size=3000)
    table = binned(z, 0.5, "BTC")
    edges = np.append(table["left"].to_numpy(), table["right"][-1])
    np.testing.assert_array_equal(table["count"].to_numpy(), np.histogram(z, edges)[0])
    # A value on an edge belongs to the bin that begins there.
    on_edges = binned(np.array([-0.5, 0.0, 0.25, 0.5]), 0.5, "BTC")
    assert on_edges["left"].to_list() == [-0.5, 0.0, 0.5]
    assert on_edges["count"].to_list() == [1, 2, 1]


@pytest.mark.parametrize(("length", "a_day", "threshold"), [(40, 24, 4.0), (24, 2, 1.5)])
def test_interval_equals_resampling_by_hand(length: int, a_day: int, threshold: float) -> None:
    """The shortcut over block sums equals counting in resampled series, hour by hour."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        days = np.repeat(np.arange(length), a_day)[1:]
        returns = rng.standard_t(3, size=days.size)
        low, high = count_interval(
            returns, days, threshold, np.random.default_rng(5), block_days=3, resamples=200
        )
        counts = []
        for row in draw_blocks(length, 3, 200, np.random.default_rng(5)):
            drawn = [(first + step) % length for first in row for step in range(3)]
            sample = np.concatenate([returns[days == day] for day in drawn])
            beyond = np.abs(sample - sample.mean()) > threshold * sample.std(ddof=1)
            counts.append(beyond.sum() * returns.size / sample.size)
        assert (low, high) == pytest.approx(tuple(np.quantile(counts, [0.025, 0.975])))


def test_interval_covers_the_expected_count() -> None:
    """Independent t(4) hours: about nineteen intervals in twenty hold the mean count."""
    rng = np.random.default_rng(6)
    days = np.repeat(np.arange(120), 24)
    samples = rng.standard_t(4, size=(200, days.size))
    z = (samples - samples.mean(axis=1)[:, None]) / samples.std(axis=1, ddof=1)[:, None]
    truth = (np.abs(z) > 4).sum(axis=1).mean()
    intervals = [count_interval(row, days, 4.0, rng, resamples=300) for row in samples]
    covered = np.mean([low <= truth <= high for low, high in intervals])
    assert 0.85 <= covered <= 0.99


def test_other_thresholds_and_missing_coins_are_not_run(hours: Path, tmp_path: Path) -> None:
    measured, table, _ = run(hours, tmp_path, settings(5.0))
    assert table["threshold"].to_list() == [5.0] * 3
    found = answer(measured, "hours beyond 6 sd", "ETH")
    assert (found.value, found.note) == (None, "this run counts hours beyond 5 sd")
    measured, *_ = run(hours, tmp_path, settings(coins=("BTCUSDT",)))
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    found = answer(measured, "hours beyond 6 sd", "SOL")
    assert (found.value, found.note) == (None, "SOL is not among this run's coins")


def test_same_bytes_twice(hours: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        run(hours, folder, settings())
    for name in ("tails.parquet", "histogram.parquet"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
