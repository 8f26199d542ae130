"""The leak audit: each check on data where the answer is known."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from remeasure.errors import DataError
from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.store.frames import read_json
from remeasure.store.tables import write_tables
from remeasure.studies.crypto.boosting import Examples
from remeasure.studies.crypto.features import FEATURES
from remeasure.studies.crypto.leak_audit import (
    OUTPUTS,
    LeakAuditStep,
    Walked,
    detector,
    hit_rate,
    later_rise,
    leak_suspected,
    measure_leak_audit,
    parity,
    shuffled,
    walked,
)
from remeasure.studies.crypto.market import Candles, aggregate, simulate
from remeasure.studies.crypto.published import measurable
from remeasure.studies.crypto.settings import (
    BoostingSettings,
    Dataset,
    DirectionSettings,
    LeakAuditSettings,
    WalkForwardSettings,
)
from remeasure.studies.crypto.sources import CANDLES

COINS = ("BTCUSDT", "ETHUSDT")
FIRST, LAST = date(2024, 9, 1), date(2025, 1, 20)

BOOSTING = BoostingSettings(
    rounds=30,
    learning_rate=0.1,
    num_leaves=7,
    max_depth=3,
    min_data_in_leaf=100,
    feature_fraction=0.8,
    bagging_fraction=0.8,
    lambda_l2=1,
    max_bin=63,
)
BOOTSTRAP = DirectionSettings(block_hours=24, resamples=200)


def step(**change: object) -> LeakAuditStep:
    settings = LeakAuditStep(
        leak_audit=LeakAuditSettings(
            interval="5m",
            skip_bars=1,
            folds=3,
            target_hours=24,
            walk_forward=WalkForwardSettings(
                first_test="2024-12",
                last_test="2025-01",
                gap_hours=24,
                refit_months=2,
                boosting=BOOSTING,
            ),
        ),
        candles=Dataset(coins=COINS, first=FIRST, last=LAST),
        coins=COINS,
        direction=BOOTSTRAP,
    )
    audit = settings.leak_audit.model_copy(update=change)
    return settings.model_copy(update={"leak_audit": audit})


def table(candles: dict[str, Candles]) -> pl.DataFrame:
    names = [column.name for column in CANDLES.columns if column.name != "symbol"]
    return pl.concat(
        [
            pl.DataFrame(vars(each)).select(pl.lit(symbol).alias("symbol"), *names)
            for symbol, each in candles.items()
        ]
    )


@pytest.fixture(scope="module")
def market() -> dict[str, Candles]:
    world = simulate(COINS, FIRST, LAST, seed=7, beta=1.0)
    return {symbol: coin.traded() for symbol, coin in world.items()}


class Audit:
    """One call of the step on files of its own."""

    def __init__(
        self,
        folder: Path,
        market: dict[str, Candles],
        hourly: dict[str, Candles] | None,
        settings: LeakAuditStep,
    ) -> None:
        interval = settings.leak_audit.interval
        fine = {symbol: aggregate(each, interval) for symbol, each in market.items()}
        write_tables(folder / "fine.duckdb", [(CANDLES, table(fine))])
        files = []
        if hourly is not None:
            files = [folder / "hourly.duckdb"]
            write_tables(files[0], [(CANDLES, table(hourly))])
        answers = measure_leak_audit(
            candles=folder / "fine.duckdb",
            hourly=files,
            audit=folder / "audit.json",
            settings=settings,
            rng=np.random.default_rng(3),
            origin="generated",
        )
        keys = [(a.output_id, a.quantity, a.condition) for a in answers]
        assert keys == [row.key for row in measurable(OUTPUTS)]
        self.parity: Measurement = answers[0]
        self.edge: Measurement = answers[1]
        self.json = read_json(folder / "audit.json")
        self.bytes = (folder / "audit.json").read_bytes()


@pytest.fixture(scope="module")
def audit(market: dict[str, Candles], tmp_path_factory: pytest.TempPathFactory) -> Audit:
    hourly = {symbol: aggregate(each, "1h") for symbol, each in market.items()}
    return Audit(tmp_path_factory.mktemp("audit"), market, hourly, step())


def test_rebuilt_hours_equal_the_archives(audit: Audit) -> None:
    assert (audit.parity.value, audit.parity.truth) == (0.0, 0.0)
    hours = 24 * ((LAST - FIRST).days + 1)
    assert audit.parity.n == 2 * hours
    assert audit.parity.coverage == "candles 2024-09-01 to 2025-01-20 of 2021-01-01 to 2026-10-29"
    for coin in ("BTC", "ETH"):
        found = audit.json["parity"][coin]
        assert (found["hours"], found["alone"]) == (hours, 0)
        assert set(found["largest"].values()) == {0.0}


def test_the_planted_edge_survives(audit: Audit) -> None:
    assert audit.edge.value == 1
    assert audit.json["skipped"]["minutes"] == 5
    coins = audit.json["skipped"]["coins"]
    assert list(coins) == ["BTC", "ETH", "pooled"]
    for each in coins.values():
        assert each["full"]["rows"] == each["skipped"]["rows"]
        assert each["skipped"]["low"] < each["skipped"]["hit_rate"] < each["skipped"]["high"]
        # Other features, other forecasts.
        assert each["full"]["hit_rate"] != each["skipped"]["hit_rate"]
    pooled = coins["pooled"]["skipped"]
    assert pooled["low"] > 0.5
    assert pooled["rows"] == coins["BTC"]["skipped"]["rows"] + coins["ETH"]["skipped"]["rows"]
    assert f"{100 * pooled['hit_rate']:.2f}%" in audit.edge.note
    assert "refitted every 2 months" in audit.edge.coverage


def test_same_bytes_twice(audit: Audit, market: dict[str, Candles], tmp_path: Path) -> None:
    hourly = {symbol: aggregate(each, "1h") for symbol, each in market.items()}
    assert Audit(tmp_path, market, hourly, step()).bytes == audit.bytes


def test_a_wrong_hour_is_found(market: dict[str, Candles], tmp_path: Path) -> None:
    hourly = {symbol: aggregate(each, "1h") for symbol, each in market.items()}
    wrong, btc = hourly["BTCUSDT"].close.copy(), hourly["BTCUSDT"]
    wrong[500] = btc.low[500] + 0.25 * (btc.high[500] - btc.low[500])
    hourly["BTCUSDT"] = replace(btc, close=wrong)
    eth = {name: np.delete(column, 700) for name, column in vars(hourly["ETHUSDT"]).items()}
    hourly["ETHUSDT"] = Candles(**eth)
    found = Audit(tmp_path, market, hourly, step(skip_bars=11))
    assert found.parity.value == abs(wrong[500] - btc.close[500]) > 0
    assert found.parity.truth == 0.0
    assert "1 hours are in only one of the two" in found.parity.note
    assert found.json["skipped"]["minutes"] == 55
    assert "55 minutes skipped instead of 5" in found.edge.coverage


def test_coarser_candles_and_no_archive(market: dict[str, Candles], tmp_path: Path) -> None:
    found = Audit(tmp_path, market, None, step(interval="15m"))
    assert found.parity.value is None
    assert "no hourly candles of the archive" in found.parity.note
    assert found.json["parity"] == {}
    assert found.json["skipped"]["minutes"] == 15
    assert "15 minutes skipped instead of 5" in found.edge.coverage
    assert "hours rebuilt from 15m" in found.edge.coverage


def test_parity_looks_at_common_days_alone() -> None:
    hour = np.arange(np.datetime64("2025-01-01", "us"), np.datetime64("2025-01-05", "us"),
                     np.timedelta64(1, "h"))  # fmt: skip
    prices = {name: np.full(hour.size, 100.0) for name in ("open", "high", "low", "close")}
    rebuilt = pl.DataFrame({"hour": hour, **prices})
    archive = rebuilt.rename({"hour": "open_time"})
    same = parity(rebuilt.head(48), archive.tail(72))
    assert same is not None
    assert (same.first, same.last, same.hours, same.alone) == (
        date(2025, 1, 2),
        date(2025, 1, 2),
        24,
        0,
    )
    assert parity(rebuilt.head(24), archive.tail(24)) is None
    assert parity(rebuilt.head(24), archive.head(0)) is None
    # A lost hour has no price on the regular grid: it is alone in the archive.
    lost = rebuilt.with_columns(
        pl.when(pl.col("hour") == hour[3]).then(None).otherwise(pl.col("close")).alias("close")
    )
    holed = parity(lost, archive)
    assert holed is not None
    assert (holed.hours, holed.alone) == (95, 1)


def test_suspicion_counts_independent_outcomes() -> None:
    """The threshold is three standard errors of a difference of two rates."""
    limit = 3 * math.sqrt(0.5 / (42142 / 24))
    assert not leak_suspected(0.5 + 0.99 * limit, 0.5, hours=42142, target_hours=24)
    assert leak_suspected(0.5 + 1.01 * limit, 0.5, hours=42142, target_hours=24)
    assert leak_suspected(0.5 + 0.5 * limit, 0.5, hours=42142, target_hours=1)
    assert not leak_suspected(0.4, 0.6, hours=42142)


def test_hit_rate_does_not_mistake_coins_for_hours() -> None:
    """Three coins that do the same hold no more information than one."""
    rng = np.random.default_rng(2)
    right = rng.random(4000) < 0.54
    hour = np.arange(4000).astype("datetime64[h]")
    one = hit_rate(right, hour, BOOTSTRAP, np.random.default_rng(1))
    three = hit_rate(np.tile(right, 3), np.tile(hour, 3), BOOTSTRAP, np.random.default_rng(1))
    assert one.rate == three.rate == right.mean()
    assert (three.low, three.high) == pytest.approx((one.low, one.high), abs=1e-12)
    assert one.high - one.low == pytest.approx(2 * 1.96 * math.sqrt(0.25 / 4000), rel=0.25)
    assert three.rows == 12000


def test_later_rise_is_the_definition() -> None:
    close = [1.0, 2.0, 3.0, None, 2.5, 2.0, 4.0]
    hour = np.datetime64("2025-01-01", "us") + np.arange(7) * np.timedelta64(1, "h")
    bars = pl.DataFrame({"hour": hour, "close": close})
    features = pl.DataFrame({"known_hour": hour, "up": [False] * 7, "x": range(7)})
    found = later_rise(features, bars, 2)
    # 1 < 3; 2 -> lost; 3 > 2.5; lost; 2.5 < 4; the last two have no end.
    assert found.select("x", "up").rows() == [(0, True), (2, False), (4, True)]


def overlapping(n: int = 24 * 580) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Random walks as price and as features: nothing can be known of the future."""
    rng = np.random.default_rng(6)
    hour = np.datetime64("2023-06-01", "us") + np.arange(n) * np.timedelta64(1, "h")
    close = np.exp(np.cumsum(rng.normal(0, 0.01, n)))
    bars = pl.DataFrame({"hour": hour, "close": close})
    walk = {name: np.cumsum(rng.normal(size=n)) for name in FEATURES if name != "coin"}
    features = pl.DataFrame({"known_hour": hour, "target_hour": hour + np.timedelta64(1, "h")})
    columns = [pl.Series(name, values) for name, values in walk.items()]
    return (
        features.with_columns(
            *columns,
            coin=pl.lit(0),
            symbol=pl.lit("BTCUSDT"),
            up=pl.Series(np.append(np.diff(close) > 0, False)),
        ),
        bars,
    )


def test_shuffling_leaks_only_where_targets_overlap() -> None:
    features, bars = overlapping()
    audit = step().leak_audit
    walk = audit.walk_forward.model_copy(
        update={"first_test": "2024-01", "last_test": "2024-12", "refit_months": 6}
    )
    settings = audit.model_copy(update={"walk_forward": walk})
    found = detector(features, bars, settings, 24)
    assert found.suspected
    assert found.shuffled > 0.7
    assert abs(found.walk_forward - 0.5) < 0.08  # the hours of 366 days
    honest = detector(features, bars, settings, 1)
    assert not honest.suspected
    assert abs(honest.shuffled - 0.5) < 0.05


def test_the_detectors_walk_waits_for_the_long_target(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Examples] = []

    def spy(data: Examples, settings: WalkForwardSettings) -> Walked:
        seen.append(data)
        return walked(data, settings)

    monkeypatch.setattr("remeasure.studies.crypto.leak_audit.walked", spy)
    features, bars = overlapping()
    detector(features.tail(6000), bars, step().leak_audit, 24)
    assert set(seen[0].target_end - seen[0].target_start) == {np.timedelta64(24, "h")}


def test_every_row_is_guessed_once() -> None:
    """A feature that tells the target makes every row right, wherever its fold."""
    rng = np.random.default_rng(5)
    up = rng.random(900) < 0.5
    time = np.datetime64("2024-12-01", "us") + np.arange(900) * np.timedelta64(1, "h")
    data = Examples(up[:, None].astype(float), up, time, time, ("x",))
    assert shuffled(data, 3, BOOSTING.model_copy(update={"min_data_in_leaf": 10})).all()
    with pytest.raises(DataError, match="nothing to learn"):
        walked(data, step().leak_audit.walk_forward)


def test_nothing_predicted_is_refused(market: dict[str, Candles], tmp_path: Path) -> None:
    walk = step().leak_audit.walk_forward
    late = walk.model_copy(update={"first_test": "2025-03", "last_test": "2025-04"})
    with pytest.raises(DataError, match="predicts no hour"):
        Audit(tmp_path, market, None, step(walk_forward=late))


def test_whole_coverage_needs_the_publications_protocol(
    market: dict[str, Candles], tmp_path: Path
) -> None:
    found = Audit(tmp_path, market, None, step())
    assert found.edge.coverage != WHOLE
    assert "pooled over BTC, ETH" in found.edge.coverage
