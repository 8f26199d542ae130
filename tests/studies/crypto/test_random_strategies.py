"""Random strategies: moments against dense positions, laws against closed forms, the step."""

from __future__ import annotations

import json
import math
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from answers import answer, answered, printed_rows
from candle_tables import hour_grid, walk, write_candles
from remeasure.evaluate.positions import net_pnl
from remeasure.stats.expected_maximum import approximate_maximum, mean_block_maximum
from remeasure.stats.sharpe import sharpe
from remeasure.studies.crypto.market import aggregate, simulate
from remeasure.studies.crypto.random_strategies import (
    BEST_QUANTITY,
    HEADLINE,
    OUTPUTS,
    RandomSettings,
    RandomStep,
    best_of,
    draw_flips,
    measure_random,
    moments,
    random_sharpes,
    theory,
)
from remeasure.studies.crypto.rules_grid import Period
from remeasure.studies.crypto.settings import Dataset

FEE = 5e-4


def dense(flips: np.ndarray, signs: np.ndarray, bars: int) -> np.ndarray:
    """Positions hour by hour, one loop a path."""
    out = np.empty((signs.size, bars), dtype=np.int8)
    for path in range(signs.size):
        own = set(flips[path].tolist())
        s = int(signs[path])
        for t in range(bars):
            s = -s if t in own else s
            out[path, t] = s
    return out


@pytest.mark.parametrize(("probability", "seed"), [(1 / 24, 0), (0.5, 1), (0.002, 2)])
def test_moments_against_dense_positions(probability: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bars, paths = 1500, 40
    returns = 0.01 * rng.standard_t(4, bars)
    signs = rng.choice([-1.0, 1.0], paths)
    flips = draw_flips(paths, bars, probability, rng)
    assert flips.min() >= 1
    assert flips.max() == bars
    total, squares = moments(flips, signs, returns, FEE)
    for path, position in enumerate(dense(flips, signs, bars)):
        pnl = net_pnl(position, returns, FEE)
        assert total[path] == pytest.approx(pnl.sum(), abs=1e-10)
        assert squares[path] == pytest.approx((pnl**2).sum(), abs=1e-10)


def test_an_odd_and_an_even_number_of_columns_agree() -> None:
    rng = np.random.default_rng(5)
    returns, signs = 0.01 * rng.normal(size=300), np.array([1.0, -1.0])
    flips = draw_flips(2, 300, 0.1, rng)
    longer = np.concatenate([flips, np.full((2, 1), 300)], axis=1)
    for ours, theirs in zip(
        moments(flips, signs, returns, FEE), moments(longer, signs, returns, FEE), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-13)


def test_sharpes_against_the_plain_ratio() -> None:
    returns = 0.01 * np.random.default_rng(8).standard_t(4, 800)
    ours = random_sharpes(returns, 25, 1 / 24, FEE, np.random.default_rng(9))
    rng = np.random.default_rng(9)
    signs = 2.0 * rng.integers(0, 2, 25) - 1
    for ratio, position in zip(
        ours, dense(draw_flips(25, 800, 1 / 24, rng), signs, 800), strict=True
    ):
        assert ratio == pytest.approx(sharpe(net_pnl(position, returns, FEE), 8760), abs=1e-10)


def test_flips_come_as_often_as_they_should() -> None:
    """Reversals of a path are binomial, and any hour but the first is as likely as another."""
    flips = draw_flips(4000, 500, 1 / 24, np.random.default_rng(3))
    count = (flips < 500).sum(axis=1)
    mean, variance = 499 / 24, 499 / 24 * 23 / 24
    assert count.mean() == pytest.approx(mean, abs=4 * math.sqrt(variance / 4000))
    assert count.var() == pytest.approx(variance, rel=0.1)
    hours = np.bincount(flips[flips < 500], minlength=500)
    assert hours[0] == 0
    assert np.abs(hours[1:] - 4000 / 24).max() < 5 * math.sqrt(4000 / 24)


def test_too_few_reversals_drawn_at_once_are_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remeasure.studies.crypto.random_strategies.MARGIN", -2.0)
    flips = draw_flips(50, 2000, 0.1, np.random.default_rng(4))
    assert (flips[:, -1] == 2000).all()
    assert (np.diff(np.where(flips < 2000, flips, 2000 + np.arange(flips.shape[1]))) > 0).all()


def test_slices_bound_the_memory_and_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    returns = 0.01 * np.random.default_rng(8).normal(size=500)
    whole = random_sharpes(returns, 60, 1 / 24, FEE, np.random.default_rng(1))
    monkeypatch.setattr("remeasure.studies.crypto.random_strategies.SLICE_BYTES", 4 * 8 * 7 * 22)
    part = random_sharpes(returns, 60, 1 / 24, FEE, np.random.default_rng(1))
    np.testing.assert_allclose(part, whole, atol=1e-12)


def test_laws_of_the_paths() -> None:
    """Mean and spread from many paths agree with what follows without drawing any."""
    returns = 0.007 * np.random.default_rng(6).standard_t(4, 4000)
    # Memory in the returns: a reversal widens or narrows the spread.
    for returns_ in (returns, returns[1:] - 0.3 * returns[:-1], returns[1:] + 0.3 * returns[:-1]):
        known = theory(returns_, 1 / 24, FEE)
        sharpes = random_sharpes(returns_, 40_000, 1 / 24, FEE, np.random.default_rng(7))
        error = sharpes.std() / math.sqrt(sharpes.size)
        assert sharpes.mean() == pytest.approx(known.mean, abs=4 * error)
        assert sharpes.std() == pytest.approx(known.sd, rel=0.015)


@pytest.fixture(scope="module")
def market() -> np.ndarray:
    """Hourly returns of three years of the synthetic market."""
    coin = simulate(("BTCUSDT",), date(2021, 1, 1), date(2023, 12, 31), seed=7, beta=0.40)
    return np.diff(np.log(aggregate(coin["BTCUSDT"].traded(), "1h").close))


def test_three_years_of_the_synthetic_market(market: np.ndarray) -> None:
    """Mean, spread and maxima are those of pure luck.

    With 20,000 paths the ten blocks of 2,000 have a standard error of 0.06, so more are drawn.
    """
    sharpes = random_sharpes(market, 60_000, 1 / 24, FEE, np.random.default_rng(0))
    sigma = market.std(ddof=1) * math.sqrt(8760)
    mean, sd = sharpes.mean(), sharpes.std(ddof=1)
    assert mean == pytest.approx(-0.365 / sigma, abs=0.03)
    assert sd == pytest.approx(0.577, abs=0.06)
    for n in (5, 10, 20, 50, 100, 200, 500, 1000, 2000):
        expected = mean + sd * approximate_maximum(n)
        assert mean_block_maximum(sharpes, n) == pytest.approx(expected, abs=0.08), n


def test_interval_of_the_best_covers_other_draws() -> None:
    """The best of 50 of many other draws scatters as the standard error says."""
    returns = 0.007 * np.random.default_rng(6).normal(size=500)
    rng = np.random.default_rng(2)
    found = [best_of(random_sharpes(returns, 200, 1 / 24, 0.0, rng), 50) for _ in range(400)]
    best, errors = np.array(found).T
    assert best.std(ddof=1) == pytest.approx(errors.mean(), rel=0.12)


# --- the step -------------------------------------------------------------------------------


def configured(
    first: date = date(2021, 1, 1),
    last: date = date(2021, 3, 31),
    coins: tuple[str, ...] = ("BTCUSDT",),
    paths: int = 20_000,
    **options: float,
) -> RandomStep:
    return RandomStep(
        candles=Dataset(coins=coins, first=first, last=last),
        random=RandomSettings(
            **{
                "period": Period(first=date(2021, 1, 1), last=date(2023, 12, 31)),
                "fee_bp": 5,
                "paths": paths,
                "flip_probability": 1 / 24,
                **options,
            }
        ),
    )


@pytest.fixture(scope="module")
def candles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    times = hour_grid("2021-01-01", 90 * 24)
    return write_candles(
        tmp_path_factory.mktemp("random") / "candles.duckdb", {"BTCUSDT": (times, walk(1, 2160))}
    )


def run(
    folder: Path, candles: list[Path], step: RandomStep, origin: str = "generated"
) -> tuple[list, pl.DataFrame, dict]:
    files = {name: folder / name for name in ("noise", "curve", "summary")}
    measured = measure_random(
        candles=candles, settings=step, rng=np.random.default_rng(0), origin=origin, **files
    )
    return measured, pl.read_parquet(files["noise"]), json.loads(files["summary"].read_text())


def test_every_row_is_answered_once(candles: Path, tmp_path: Path) -> None:
    expected = sorted([*printed_rows("crypto", OUTPUTS), HEADLINE])
    for files, step, reason in (
        ([candles], configured(), ""),
        ([candles], configured(paths=1000), "this run draws only 1000 paths"),
        ([], configured(), "this run has no hourly candles"),
        ([candles], configured(coins=("ETHUSDT",)), "this run has no hourly candles of BTC"),
        (
            [candles],
            configured(date(2024, 1, 1), date(2024, 3, 1)),
            "the period of the random strategies (2021-01-01 to 2023-12-31) lies outside this"
            " run's candles (2024-01-01 to 2024-03-01)",
        ),
    ):
        measured, noise, _ = run(tmp_path, files, step)
        assert answered(measured) == expected
        headline, last = answer(measured, *HEADLINE), answer(measured, BEST_QUANTITY, "N=20000")
        assert (headline.value, headline.note) == (last.value, last.note)
        assert (headline.value is None) == bool(reason)
        assert noise.height == (
            0 if not files or "BTC" in reason or "outside" in reason else noise.height
        )
        if reason:
            assert headline.note == reason
        # Mathematics needs no candles.
        assert answer(measured, "z(N), Bailey-Lopez de Prado", "N=792").value == pytest.approx(
            3.188208, abs=1e-6
        )
        implied = answer(measured, "volatility implied by mean -0.55")
        assert implied.value == pytest.approx(0.664, abs=5e-4)


def test_values_intervals_and_words(candles: Path, tmp_path: Path) -> None:
    measured, noise, summary = run(tmp_path, [candles], configured())
    assert noise["n"].to_list() == [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000,
    ]  # fmt: skip
    assert noise["blocks"].to_list() == [20_000 // n for n in noise["n"]]
    assert (noise["best"].diff().drop_nulls() > 0).all()
    assert (noise["low"] < noise["best"]).all()
    assert (noise["best"] < noise["high"]).all()
    first = answer(measured, BEST_QUANTITY, "N=1")
    assert first.value == pytest.approx(summary["mean"])
    assert first.truth == summary["theory"]["mean"]
    assert first.low < first.truth < first.high
    assert first.coverage == "candles 2021-01-01 to 2021-03-31 of 2021-01-01 to 2023-12-31"
    real, *_ = run(tmp_path, [candles], configured(), "mirror")
    assert answer(real, BEST_QUANTITY, "N=1").truth is None
    other, *_ = run(tmp_path, [candles], configured(paths=500, fee_bp=2, flip_probability=0.1))
    assert answer(other, BEST_QUANTITY, "N=500").coverage.endswith(
        "500 of 20,000 paths, fee 2 bp a side, not 5, reversals with probability 0.1, not 1/24"
    )


def test_same_seed_same_bytes(candles: Path, tmp_path: Path) -> None:
    found = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        run(folder, [candles], configured(paths=500))
        found.append([(folder / each).read_bytes() for each in ("noise", "curve", "summary")])
    assert found[0] == found[1]
