"""The grid of rules against a plain loop, selection on planted worlds, and the deflated best."""

from __future__ import annotations

import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError
from scipy import stats

from answers import answer, answered, printed_rows
from candle_tables import hour_grid, walk
from remeasure.errors import DataError
from remeasure.evaluate.positions import net_pnl
from remeasure.ledger.measurement import Measurement
from remeasure.stats.expected_maximum import approximate_maximum
from remeasure.stats.sharpe import sharpe
from remeasure.studies.crypto import deflated, rules_grid
from remeasure.studies.crypto.rules_grid import (
    EARLY,
    GRID,
    LATER,
    GridSettings,
    GridStep,
    Period,
    Record,
    coins_covered,
    measure_grid,
    sharpe_ratios,
)
from remeasure.studies.crypto.settings import KNOWN_COINS, Dataset
from remeasure.studies.crypto.textbook_rules import positions

DAYS = 160
SYMBOLS = ("BTCUSDT", "DOGEUSDT")
#: Early and later period of the small world, with days before, between and after.
EARLY_DAYS = Period(first=date(2023, 1, 11), last=date(2023, 3, 11))
LATER_DAYS = Period(first=date(2023, 3, 15), last=date(2023, 5, 31))

Run = tuple[list[Measurement], pl.DataFrame, dict[str, Any]]


def write(path: Path, coins: dict[str, tuple[np.ndarray, np.ndarray]]) -> Path:
    """Table ``candles`` with highs and lows around the closes."""
    frame = pl.concat(
        pl.DataFrame(
            {
                "symbol": [symbol] * times.size,
                "open_time": times,
                "high": close * 1.003,
                "low": close * 0.997,
                "close": close,
            }
        )
        for symbol, (times, close) in coins.items()
    )
    connection = duckdb.connect(str(path), config={"threads": 1})
    connection.register("incoming", frame.to_arrow(compat_level=pl.CompatLevel.oldest()))
    connection.execute("CREATE TABLE candles AS SELECT * FROM incoming")
    connection.close()
    return path


def world() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Two coins; one has lost some hours."""
    times = hour_grid("2023-01-01", DAYS * 24)
    kept = np.ones(times.size, dtype=bool)
    kept[1909:1912] = False
    return {
        "BTCUSDT": (times[kept], walk(1, times.size)[kept]),
        "DOGEUSDT": (times, walk(2, times.size)),
    }


def configured(
    first: date = date(2023, 1, 1),
    last: date = date(2023, 6, 9),
    early: Period = EARLY_DAYS,
    later: Period = LATER_DAYS,
    fee_bp: float = 5,
) -> GridStep:
    return GridStep(
        candles=Dataset(coins=SYMBOLS, first=first, last=last),
        grid=GridSettings(early=early, later=later, fee_bp=fee_bp, block_days=5, resamples=100),
    )


def run(folder: Path, candles: list[Path], step: GridStep) -> Run:
    grid, summary = folder / "grid.parquet", folder / "grid.json"
    measured = measure_grid(
        candles=candles, grid=grid, summary=summary, settings=step, rng=np.random.default_rng(0)
    )
    measured += deflated.measure_deflated(grid=grid, summary=summary)
    return measured, pl.read_parquet(grid), json.loads(summary.read_text())


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("grid")
    return run(folder, [write(folder / "candles.duckdb", world())], configured())


OUTPUTS = (*rules_grid.OUTPUTS, *deflated.OUTPUTS)


def test_every_row_is_answered_once(done: Run, tmp_path: Path) -> None:
    expected = sorted(printed_rows("crypto", OUTPUTS))
    assert answered(done[0]) == expected
    for files, step, reason in (
        ([], configured(), "this run has no hourly candles"),
        (
            [Path("unread")],
            configured(later=Period(first=date(2024, 1, 1), last=date(2024, 12, 31))),
            "the later period (2024-01-01 to 2024-12-31) lies outside this run's candles"
            " (2023-01-01 to 2023-06-09)",
        ),
        (
            [Path("unread")],
            configured(early=Period(first=date(2023, 1, 1), last=date(2023, 1, 20))),
            "the early period (2023-01-01 to 2023-01-20) has fewer than 30 days of candles",
        ),
    ):
        measured, grid, _ = run(tmp_path, files, step)
        assert answered(measured) == expected
        assert grid.is_empty()
        assert grid.columns == list(GRID.columns)
        for each in measured:
            exact = (
                printed_rows("crypto", OUTPUTS)[each.output_id, each.quantity, each.condition][
                    "kind"
                ]
                == "exact"
            )
            assert (each.value is not None) == exact
            assert exact or each.note == reason


def test_every_strategy_against_the_plain_way(done: Run) -> None:
    """66 rules on each coin; Sharpe ratios, moments and turnover as one would write them."""
    table = done[1]
    assert table.height == 132
    assert table.select("coin", "rule").n_unique() == 132
    assert ("DOGE", "MA 12/24") in table.select("coin", "rule").rows()
    assert np.isfinite(table.select("early", "later", "early_se", "later_se").to_numpy()).all()
    rows = iter(table.iter_rows(named=True))
    for symbol, (times, close) in world().items():
        returns, earned = np.diff(np.log(close)), times[1:]
        for rule, position in positions(close * 1.003, close * 0.997, close):
            row = next(rows)
            assert (row["coin"] + "USDT", row["rule"]) == (symbol, rule.name)
            pnl = net_pnl(position[:-1], returns, 5e-4)
            for name, period in (("early", EARLY_DAYS), ("later", LATER_DAYS)):
                own = pnl[
                    (earned >= np.datetime64(period.first))
                    & (earned < np.datetime64(period.last) + np.timedelta64(1, "D"))
                ]
                assert row[f"{name}_bars"] == own.size
                assert row[name] == pytest.approx(sharpe(own, 8760), abs=1e-9)
                if name == "early" and np.ptp(own) > 0:
                    assert row["early_skewness"] == pytest.approx(stats.skew(own), rel=1e-9)
                    raw = stats.kurtosis(own, fisher=False)
                    assert row["early_kurtosis"] == pytest.approx(raw, rel=1e-9)
    assert next(rows, None) is None


def test_the_best_are_followed(done: Run) -> None:
    measured, table, summary = done
    ordered = table.sort("early", descending=True, maintain_order=True)
    assert ordered["rank"].to_list() == list(range(1, 133))
    best = ordered.head(20)
    early = answer(measured, "mean Sharpe of 20 best")
    later = answer(measured, "mean Sharpe of the same 20")
    losing = answer(measured, "of 20 best, losing later")
    correlation = answer(measured, "rank correlation of the two periods")
    assert early.value == pytest.approx(best["early"].mean())
    assert later.value == pytest.approx(best["later"].mean())
    assert losing.value == (best["later"] < 0).sum()
    assert correlation.value == pytest.approx(
        stats.spearmanr(table["early"], table["later"]).statistic, abs=1e-12
    )
    for each in (early, later, losing, correlation):
        assert each.low < each.value < each.high
        assert each.coverage.startswith("two of twelve coins, candles 2023-01-11 to 2023-03-11 of")
    for family in ("RSI", "Bollinger"):
        own = table.filter(pl.col("family") == family)
        flag = answer(measured, f"{family} family profitable")
        earns = own["early"].mean() > 0 or own["later"].mean() > 0
        assert (flag.value, flag.n) == (int(earns), own.height)
        assert summary["estimates"][f"{family}, early"]["value"] == pytest.approx(
            own["early"].mean()
        )


def test_the_best_is_deflated(done: Run) -> None:
    measured, table, _ = done
    best = table.filter(pl.col("rank") == 1).row(0, named=True)
    luck = table["early"].std() * approximate_maximum(132)
    assert answer(measured, "in-sample Sharpe of best rule").value == best["early"]
    assert answer(measured, "later Sharpe of best rule").value == best["later"]
    maximum = answer(measured, "expected maximum by luck")
    assert maximum.value == pytest.approx(luck)
    assert f"around their own mean {table['early'].mean() + luck:.2f}" in maximum.note
    s, s0 = best["early"] / math.sqrt(8760), luck / math.sqrt(8760)
    variance = 1 - best["early_skewness"] * s + (best["early_kurtosis"] - 1) / 4 * s**2
    argument = (s - s0) * math.sqrt(best["early_bars"] - 1) / math.sqrt(variance)
    found = answer(measured, "deflated Sharpe ratio")
    assert found.value == pytest.approx(100 * stats.norm.cdf(argument), rel=1e-9)
    assert 0 <= found.low < found.value < found.high <= 100
    average = answer(measured, "fast average of best rule")
    crossover = best["family"] == "moving averages"
    assert average.value == (best["first"] if crossover else best["rule"])


def test_a_best_rule_without_averages_is_named(done: Run, tmp_path: Path) -> None:
    _, table, summary = done
    for family, value in (("RSI", "RSI 14/30"), ("moving averages", 12)):
        row = table.filter(pl.col("family") == family)[0]
        name = "RSI 14/30" if family == "RSI" else "MA 12/24"
        row = row.with_columns(rank=pl.lit(1), first=pl.lit(12), rule=pl.lit(name))
        row.write_parquet(tmp_path / "grid.parquet")
        (tmp_path / "grid.json").write_text(json.dumps(summary))
        found = deflated.measure_deflated(
            grid=tmp_path / "grid.parquet", summary=tmp_path / "grid.json"
        )
        assert answer(found, "fast average of best rule").value == value


def test_printed_inputs(done: Run) -> None:
    measured = done[0]
    assert answer(measured, "share of Sharpe kept").value == pytest.approx(0.19 / 1.56)
    assert answer(measured, "fee per side").value == 5
    for kurt, value in ((3, 0.3452), (30, 0.3454)):  # the card's 0.3439 is an erratum
        condition = f"T=26280, skew 0, kurtosis {kurt}"
        found = answer(measured, "DSR from printed inputs", condition)
        assert found.value == pytest.approx(value, abs=1e-4)
    implied = answer(measured, "trial sd implied if mean is zero")
    assert implied.value == pytest.approx(0.6399, abs=1e-4)
    assert answer(measured, "Euler-Mascheroni constant").value == pytest.approx(0.5772156649015329)


def test_coverage_in_words(tmp_path: Path) -> None:
    assert coins_covered(KNOWN_COINS) == "whole"
    assert coins_covered(KNOWN_COINS[:7]) == "seven of twelve coins"
    assert coins_covered(("BTCUSDT", "XUSDT")) == "one of twelve coins, and X"
    whole = GridSettings(
        early=Period(first=EARLY[0], last=EARLY[1]),
        later=Period(first=LATER[0], last=LATER[1]),
        fee_bp=5,
        block_days=30,
        resamples=100,
    )
    dataset = Dataset(coins=KNOWN_COINS, first=EARLY[0], last=LATER[1])
    assert set(rules_grid._coverage(dataset, whole).values()) == {"whole"}
    mirror = Dataset(coins=KNOWN_COINS[:7], first=date(2022, 1, 1), last=date(2025, 12, 31))
    told = rules_grid._coverage(mirror, whole.model_copy(update={"fee_bp": 2.0}))
    assert told["later"] == (
        "seven of twelve coins, fee 2 bp a side, not 5,"
        " candles 2024-01-01 to 2025-12-31 of 2024-01-01 to 2026-10-29"
    )
    assert "2022-01-01 to 2023-12-31" in told["both"]


def test_wrong_periods_and_empty_coins_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="before later begins"):
        configured(early=LATER_DAYS, later=EARLY_DAYS)
    with pytest.raises(ValidationError, match="must not be after"):
        Period(first=date(2024, 1, 1), last=date(2023, 1, 1))
    coins = {"BTCUSDT": world()["BTCUSDT"], "DOGEUSDT": tuple(x[:500] for x in world()["DOGEUSDT"])}
    with pytest.raises(DataError, match="DOGEUSDT has"):
        run(tmp_path, [write(tmp_path / "candles.duckdb", coins)], configured())


def test_ratios_of_sums() -> None:
    x = np.random.default_rng(1).normal(0.1, 1, (500, 3))
    x[:, 1] = 0.0  # never trades
    x[:, 2] = -7e-4  # never changes
    ours = sharpe_ratios(np.stack([x.sum(axis=0), (x**2).sum(axis=0)]), np.full(3, 500.0))
    assert ours == pytest.approx([sharpe(x[:, 0], 8760), 0, 0], abs=1e-9)


def test_standard_errors_of_independent_hours() -> None:
    """Hours without memory: the bootstrap gives sqrt(365 / days)."""
    rng = np.random.default_rng(4)
    pnl = rng.normal(0, 0.01, (400, 24, 5))
    record = Record(
        np.stack([pnl.sum(axis=1), (pnl**2).sum(axis=1)], axis=1), np.full((400, 5), 24.0)
    )
    errors = record.resampled(5, 600, rng).std(axis=0, ddof=1)
    assert errors.mean() == pytest.approx(math.sqrt(365 / 400), rel=0.1)


def test_same_seed_same_bytes(done: Run, tmp_path: Path) -> None:
    source = write(tmp_path / "candles.duckdb", world())
    found = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        run(folder, [source], configured())
        found.append([(folder / each).read_bytes() for each in ("grid.parquet", "grid.json")])
    assert found[0] == found[1]
