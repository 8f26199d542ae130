"""Trading the forecasts: identities, printed arithmetic, and every row answered once."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.ledger.verdict import agrees
from remeasure.store.frames import read_frame, write_frame
from remeasure.studies.crypto.forecasts import FORECASTS
from remeasure.studies.crypto.published import measurable, printed
from remeasure.studies.crypto.settings import (
    BoostingSettings,
    Dataset,
    TradingSettings,
    WalkForwardSettings,
)
from remeasure.studies.crypto.trading import (
    CURVES,
    FEES,
    MOVES,
    OUTPUTS,
    TradingStep,
    measure_trading,
)

COINS = ("BTCUSDT", "ETHUSDT", "SOLUSDT")
HOURS = 24 * 120
FIRST = np.datetime64("2022-01-01", "us")
#: Forecasts start after ten days and pause for a day and a half in the middle.
FORECAST = np.r_[240:1500, 1536:HOURS]

BOOSTING = BoostingSettings(
    rounds=1,
    learning_rate=0.1,
    num_leaves=4,
    max_depth=2,
    min_data_in_leaf=1,
    feature_fraction=1,
    bagging_fraction=1,
    lambda_l2=0,
    max_bin=255,
)


def step(**trading: object) -> TradingStep:
    return TradingStep(
        trading=TradingSettings.model_validate(
            {
                "bands": (0, 0.01, 0.02, 0.03, 0.05, 0.08),
                "fees_bp": (0, 1, 2, 5),
                "article_band": 0.05,
                "block_hours": 24,
                "resamples": 200,
                **trading,
            }
        ),
        coins=COINS,
        base="5m",
        candles=Dataset(coins=COINS, first=date(2021, 1, 1), last=date(2026, 10, 29)),
        walk_forward=WalkForwardSettings(
            first_test="2022-01",
            last_test="2026-10",
            gap_hours=24,
            refit_months=1,
            boosting=BOOSTING,
        ),
    )


class Run:
    """One call of the step on files of its own."""

    def __init__(self, folder: Path, settings: TradingStep, coins: tuple[str, ...] = COINS) -> None:
        self.hours, self.forecasts = folder / "hours.duckdb", folder / "forecasts.parquet"
        self.curves, self.fees = folder / "curves.parquet", folder / "fees.parquet"
        self.moves = folder / "moves.parquet"
        hour = FIRST + np.arange(HOURS) * np.timedelta64(1, "h")
        rng = np.random.default_rng(8)
        prices, forecasts = [], []
        for symbol in coins:
            returns = rng.standard_t(4, HOURS) * 0.003
            close = 100 * np.exp(np.cumsum(returns))
            p = 1 / (1 + np.exp(-rng.normal(0, 0.2, HOURS) - 8 * returns))
            prices.append(
                pl.DataFrame({"hour": hour, "close": close}).with_columns(symbol=pl.lit(symbol))
            )
            forecasts.append(
                pl.DataFrame(
                    {
                        "target_hour": hour[FORECAST],
                        "p": p[FORECAST],
                        "ret_next": returns[FORECAST],
                        "up": returns[FORECAST] > 0,
                        "ret_1": returns[FORECAST - 1],
                    }
                ).select(pl.lit(symbol).alias("symbol"), pl.all(), pl.lit("2022-01").alias("refit"))
            )
        self.prices = pl.concat(prices).with_columns(candles=pl.lit(12, pl.Int64))
        self.table = pl.concat(forecasts)
        with duckdb.connect(str(self.hours)) as connection:
            connection.register(
                "prices", self.prices.to_arrow(compat_level=pl.CompatLevel.oldest())
            )
            connection.execute("CREATE TABLE hours AS SELECT * FROM prices")
        write_frame(self.table, self.forecasts, FORECASTS)
        self.answers = measure_trading(
            hours=self.hours,
            forecasts=self.forecasts,
            curves=self.curves,
            fees=self.fees,
            moves=self.moves,
            settings=settings,
            rng=np.random.default_rng(1),
        )
        self.by_key = {(a.output_id, a.quantity, a.condition): a for a in self.answers}

    def value(self, *key: str) -> float:
        value = self.by_key[key].value  # type: ignore[index]
        assert isinstance(value, float | int)
        return float(value)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(tmp_path_factory.mktemp("trading"), step())


def interval_holds(answer: Measurement) -> bool:
    if answer.low is None or answer.high is None:
        return True
    assert isinstance(answer.value, float)
    return answer.low <= answer.value <= answer.high


def test_every_row_has_one_answer_with_a_value(run: Run) -> None:
    assert list(run.by_key) == [row.key for row in measurable(OUTPUTS)]
    assert len(run.answers) == len(run.by_key) == 57
    assert all(answer.value is not None for answer in run.answers)
    assert all(answer.coverage == WHOLE for answer in run.answers)
    assert all(interval_holds(answer) for answer in run.answers)


def test_exact_rows_equal_the_print(run: Run) -> None:
    exact = [row for row in measurable(OUTPUTS) if row.kind == "exact"]
    assert len(exact) == 4
    for row in exact:
        value = run.by_key[row.key].value
        assert value is not None
        assert agrees(row, value), (row.key, value)


def test_published_points_obey_the_fee_identity() -> None:
    """E4: each printed point lies on return(0) - 365 x fee x sides, within its rounding."""
    for name in ("BTC", "SOL"):
        for band in range(1, 7):
            at = f"{name} band {band} of 6"
            sides = printed("fig_fees", "one-way trades per day", at)
            gross = printed("fig_fees", "return per year, no fees", at)
            net = printed("fig_fees", "return per year, 5 bp per side", at)
            assert net == pytest.approx(gross - 100 * 365 * 5e-4 * sides, abs=1.5)


def test_fee_table_obeys_the_fee_identity(run: Run) -> None:
    table = read_frame(run.fees, FEES)
    assert table.height == 3 * 6 * 4
    for _, own in table.group_by("coin", "band", maintain_order=True):
        gross = own.filter(pl.col("fee_bp") == 0).row(0, named=True)
        for row in own.iter_rows(named=True):
            drag = 365 * row["fee_bp"] * 1e-4 * row["sides_per_day"]
            assert row["return_per_year"] == pytest.approx(
                gross["return_per_year"] - drag, rel=1e-9
            )
            sides = row["sides_per_day"] * row["hours"] / 24
            assert gross["final_value"] / row["final_value"] == pytest.approx(
                math.exp(row["fee_bp"] * 1e-4 * sides), rel=1e-9
            )


def test_wider_bands_trade_less(run: Run) -> None:
    table = read_frame(run.fees, FEES).filter(pl.col("fee_bp") == 0)
    for _, own in table.group_by("coin", maintain_order=True):
        assert own["sides_per_day"].is_sorted(descending=True)
        assert own["sides_per_day"][0] > own["sides_per_day"][-1]


def test_one_strategy_by_hand(run: Run) -> None:
    """The band of the text on BTC, bar by bar."""
    own = run.table.filter(pl.col("symbol") == "BTCUSDT")
    held, pnl, sides = 0, 0.0, 0
    for p, ret in own.select("p", "ret_next").iter_rows():
        now = 1 if p > 0.55 else -1 if p < 0.45 else held
        sides += abs(now - held)
        pnl += now * ret - 2e-4 * abs(now - held)
        held = now
    assert run.value("stat_band", "one-way trades per day", "BTC band 0.05") == pytest.approx(
        24 * sides / own.height
    )
    assert run.value("stat_band", "return per year", "BTC band 0.05, 2 bp per side") == (
        pytest.approx(100 * 8760 * pnl / own.height)
    )


def test_growth_and_its_implied_numbers(run: Run) -> None:
    final = "final value of $1"
    gross = run.value("fig_growth", final, "BTC, no fees")
    net = run.value("fig_growth", final, "BTC, 2 bp per side")
    sides = run.value("fig_growth", "one-way trades per day", "BTC plain strategy")
    own = run.table.filter(pl.col("symbol") == "BTCUSDT")
    right = np.where(own["p"].to_numpy() > 0.5, 1, -1)
    assert gross == pytest.approx(math.exp(float(right @ own["ret_next"].to_numpy())), rel=1e-9)
    assert math.log(gross / net) / (2e-4 * own.height / 24) == pytest.approx(sides, rel=1e-9)
    assert run.value(
        "fig_growth", "one-way trades per day implied by 9.9 and 0.036", ""
    ) == pytest.approx(sides, rel=1e-9)
    assert run.value(
        "fig_growth", "final value of $1 implied at 5 bp", "9.9 exp(-5bp x 16 x 1755.9)"
    ) == pytest.approx(
        run.value("fig_growth", final, "BTC, 5 bp per side (printed as practically zero)"), rel=1e-9
    )
    assert run.value(
        "fig_growth", "reversals per day implied", "half of the sides"
    ) == pytest.approx(sides / 2)


def test_holding_earns_while_no_forecast_is_made(run: Run) -> None:
    close = run.prices.filter(pl.col("symbol") == "BTCUSDT")["close"].to_numpy()
    assert run.value("fig_growth", "final value of $1", "BTC held") == close[-1] / close[239]


def test_curves_end_where_the_table_does(run: Run) -> None:
    curves, fees = read_frame(run.curves, CURVES), read_frame(run.fees, FEES)
    days = curves.filter((pl.col("coin") == "SOL") & (pl.col("strategy") == "held"))["day"]
    assert days.is_sorted()
    # Hours 1500 to 1535 have no forecast: one whole day, and half of another.
    assert len(days) == 110 - 1
    for row in fees.filter(pl.col("band") == 0).iter_rows(named=True):
        own = curves.filter(
            (pl.col("coin") == row["coin"])
            & (pl.col("strategy") == "plain")
            & (pl.col("fee_bp") == row["fee_bp"])
        )
        assert own["value"][-1] == pytest.approx(row["final_value"], rel=1e-9)


def test_moves_by_hand(run: Run) -> None:
    sizes: dict[bool, list[float]] = {True: [], False: []}
    for p, ret in (
        run.table.filter(pl.col("symbol") == "BTCUSDT").select("p", "ret_next").iter_rows()
    ):
        sizes[(p > 0.5) == (ret > 0)].append(abs(ret) * 1e4)
    for outcome, right in (("right", True), ("wrong", False)):
        value = run.value("stat_right_wrong", f"mean move when {outcome}", "BTC")
        assert value == pytest.approx(math.fsum(sizes[right]) / len(sizes[right]))
    assert read_frame(run.moves, MOVES).height == 6


def test_profit_flags_follow_the_table(run: Run) -> None:
    sol = read_frame(run.fees, FEES).filter(pl.col("coin") == "SOL")
    for fee, key in (
        (2, ("SOL profitable at 2 bp with some band", "1 = yes")),
        (5, ("SOL profitable at 5 bp with any band", "0 = no")),
    ):
        best = sol.filter(pl.col("fee_bp") == fee)["return_per_year"].max()
        assert isinstance(best, float)
        assert run.value("stat_band", *key) == (best > 0)


def test_interval_of_a_year_is_that_of_independent_hours(run: Run) -> None:
    """Returns here are independent, so blocks may not widen the interval."""
    own = run.table.filter(pl.col("symbol") == "BTCUSDT")
    position = np.where(own["p"].to_numpy() > 0.5, 1, -1)
    pnl = position * own["ret_next"].to_numpy()
    answer = run.by_key["fig_fees", "return per year, no fees", "BTC band 1 of 6"]
    assert answer.low is not None
    assert answer.high is not None
    width = 2 * 1.96 * 100 * 8760 * pnl.std() / math.sqrt(pnl.size)
    assert answer.high - answer.low == pytest.approx(width, rel=0.25)


def test_other_bands_and_coins_say_what_is_missing(tmp_path: Path) -> None:
    run = Run(tmp_path, step(bands=(0, 0.04), article_band=0.04, fees_bp=(0, 3)), ("BTCUSDT",))
    quoted = run.by_key["stat_band", "return per year", "BTC band 0.05, 1 bp per side"]
    assert quoted.coverage == "band 0.04 instead of 0.05"
    third = run.by_key["fig_fees", "one-way trades per day", "BTC band 3 of 6"]
    assert (third.value, third.note) == (None, "this run trades no such coin or band")
    assert run.by_key["fig_fees", "one-way trades per day", "SOL band 1 of 6"].value is None
    assert run.by_key["stat_band", "SOL profitable at 2 bp with some band", "1 = yes"].value is None
    levels = run.by_key[
        "fig_fees", "fee levels shown", "0, 1, 2, 5 bp per side (1 and 2 from the text)"
    ]
    assert levels.value == 2
    assert list(run.by_key) == [row.key for row in measurable(OUTPUTS)]


def test_same_seed_same_bytes(run: Run, tmp_path: Path) -> None:
    again = Run(tmp_path, step())
    assert again.answers == run.answers
    for name in ("curves", "fees", "moves"):
        assert getattr(again, name).read_bytes() == getattr(run, name).read_bytes()
