"""Forecasts of a ready-made model: from the right 512 values, from no later one, in any batch."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from candle_tables import hour_grid, walk, write_hours
from chronos_checkpoint import FOLDER, PUBLISHED, write_checkpoint
from remeasure.errors import DataError, SourceError
from remeasure.fetch.manifest import Manifest
from remeasure.store.frames import read_frame, write_frame
from remeasure.studies.crypto import foundation_table, volatility
from remeasure.studies.crypto.foundation_chronos import (
    ChronosStep,
    forecast_chronos,
    medians,
    read_model,
    targets,
)

CONTEXT = foundation_table.CONTEXT
DAYS = 40
HOURS = 24 * DAYS
LOST = slice(700, 703)
DAY_COUNT = 560


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("checkpoint"))


def closes() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Two coins of forty days; ETH lacks three hours within the contexts."""
    times = hour_grid("2026-01-01", HOURS)
    coins = {"BTCUSDT": (times, walk(1, HOURS)), "ETHUSDT": (times, walk(2, HOURS))}
    kept = np.delete(np.arange(HOURS), LOST)
    coins["ETHUSDT"] = (times[kept], coins["ETHUSDT"][1][kept])
    return coins


def day_table() -> pl.DataFrame:
    """Days up to the end of the hours; ETH lacks one variance."""
    rng = np.random.default_rng(3)
    last = date(2026, 1, 1) + timedelta(days=DAYS - 1)
    frames = []
    for coin in ("BTC", "ETH"):
        logs = rng.normal(size=DAY_COUNT).cumsum() * 0.1 - 7
        variance = [float(each) for each in np.exp(logs)]
        frame = pl.DataFrame(
            {
                "coin": [coin] * DAY_COUNT,
                "day": [last - timedelta(days=DAY_COUNT - 1 - day) for day in range(DAY_COUNT)],
                "returns": [288] * DAY_COUNT,
                "variance": variance,
            }
        )
        if coin == "ETH":
            frame = frame.with_columns(
                pl.when(pl.int_range(DAY_COUNT) == 530).then(None).otherwise("variance")
                .alias("variance")
            )  # fmt: skip
        frames.append(frame)
    empty = [pl.lit(None, pl.Float64).alias(name) for name in list(volatility.DAYS.columns)[4:]]
    return pl.concat(frames).with_columns(empty)


def settings(**changes: Any) -> ChronosStep:
    return ChronosStep.model_validate(
        {
            "coins": ("BTCUSDT", "ETHUSDT"),
            "first": date(2026, 1, 1),
            "last": date(2026, 12, 31),
            "every_hours": 1,
            "batch": 64,
            "device": "cpu",
            "threads": 1,
            **changes,
        }
    )


def run(
    folder: Path,
    checkpoint: Path,
    coins: dict[str, tuple[np.ndarray, np.ndarray]],
    days: pl.DataFrame,
    step: ChronosStep,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    folder.mkdir(parents=True, exist_ok=True)
    write_frame(days, folder / "days.parquet", volatility.DAYS)
    outputs = folder / "by_hour.parquet", folder / "by_day.parquet"
    forecast_chronos(
        hours=write_hours(folder / "hours.duckdb", coins),
        days=folder / "days.parquet",
        checkpoint=checkpoint,
        hour_forecasts=outputs[0],
        day_forecasts=outputs[1],
        settings=step,
    )
    return (
        read_frame(outputs[0], foundation_table.HOURS),
        read_frame(outputs[1], foundation_table.DAYS),
    )


@pytest.fixture(scope="module")
def made(
    checkpoint: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[pl.DataFrame, pl.DataFrame]:
    return run(tmp_path_factory.mktemp("chronos"), checkpoint, closes(), day_table(), settings())


def test_forecasts_equal_one_context_at_a_time(
    made: tuple[pl.DataFrame, pl.DataFrame], checkpoint: Path
) -> None:
    """Contexts put together hour by hour from a dictionary of prices."""
    model = read_model(checkpoint)
    by_hour, by_day = made
    assert by_hour["model"].unique().to_list() == [
        f"Chronos-2 of {sum(each.numel() for each in model.parameters()):,} parameters"
    ]
    for symbol, (times, price) in closes().items():
        own = by_hour.filter(pl.col("coin") == symbol[:3])
        # The first return is that of the second hour.
        assert own.height == HOURS - CONTEXT - 1
        known = dict(zip(times.astype(object), price, strict=True))
        for row in list(own.iter_rows(named=True))[::37]:
            hour = row["target_hour"]
            ends = [hour - timedelta(hours=back) for back in range(CONTEXT, 0, -1)]
            context = [
                np.log(known[end] / known[end - timedelta(hours=1)])
                if end in known and end - timedelta(hours=1) in known
                else np.nan
                for end in ends
            ]
            with torch.no_grad():
                wanted = float(model(torch.tensor([context]))[0, 10, 0])
            assert row["value"] == pytest.approx(wanted, rel=1e-4, abs=1e-8)
            assert row["up"] == (row["value"] > 0)
    for coin in ("BTC", "ETH"):
        days = day_table().filter(pl.col("coin") == coin)
        own = by_day.filter(pl.col("coin") == coin)
        assert own["day"].to_list() == days["day"].to_list()[-DAYS:]
        for place in (0, 11, DAYS - 1):
            end = DAY_COUNT - DAYS + place
            context = days["variance"].log().fill_null(np.nan).to_numpy()[end - CONTEXT : end]
            with torch.no_grad():
                wanted = float(model(torch.tensor(context)[None])[0, 10, 0])
            assert own["value"][place] == pytest.approx(wanted, rel=1e-5)


def test_no_forecast_uses_its_own_hour_or_a_later_one(
    made: tuple[pl.DataFrame, pl.DataFrame], checkpoint: Path, tmp_path: Path
) -> None:
    """Other prices and variances from some hour on change no forecast up to that hour."""
    cut = 780
    coins = {
        symbol: (times, np.where(times >= hour_grid("2026-01-01", HOURS)[cut], 7 * price, price))
        for symbol, (times, price) in closes().items()
    }
    day = date(2026, 1, 20)
    days = day_table().with_columns(
        pl.when(pl.col("day") >= day).then(1.0).otherwise("variance").alias("variance")
    )
    by_hour, by_day = run(tmp_path, checkpoint, coins, days, settings())
    moment = datetime(2026, 1, 1) + timedelta(hours=cut)
    until = pl.col("target_hour") <= moment
    assert by_hour.filter(until).equals(made[0].filter(until))
    after = pl.col("target_hour") == moment + timedelta(hours=1)
    assert (by_hour.filter(after)["value"] != made[0].filter(after)["value"]).all()
    assert by_day.filter(pl.col("day") <= day).equals(made[1].filter(pl.col("day") <= day))
    assert not by_day.filter(pl.col("day") > day).equals(made[1].filter(pl.col("day") > day))


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_the_batch_changes_nothing(batch: int, checkpoint: Path) -> None:
    model = read_model(checkpoint)
    series = np.random.default_rng(5).normal(size=700)
    series[[3, 640, 641]] = np.nan
    rows = np.arange(500, 700)
    kept, found = medians(model, series, rows, batch)
    again, wanted = medians(model, series, rows, 64)
    assert np.array_equal(kept, again)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def test_same_bytes_twice(
    made: tuple[pl.DataFrame, pl.DataFrame], checkpoint: Path, tmp_path: Path
) -> None:
    step = settings(every_hours=24, coins=("BTCUSDT",))
    for name in ("one", "two"):
        run(tmp_path / name, checkpoint, closes(), day_table(), step)
    for file in ("by_hour.parquet", "by_day.parquet"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    thin = read_frame(tmp_path / "one" / "by_hour.parquet")
    assert {each.hour for each in thin["target_hour"]} == {0}
    both = thin.join(made[0], on=["model", "coin", "target_hour"], how="left")
    assert thin.height == (HOURS - CONTEXT - 1) // 24
    np.testing.assert_allclose(both["value"], both["value_right"], rtol=1e-4, atol=1e-8)


def test_hours_of_the_published_period() -> None:
    start, hours = np.datetime64("2021-01-01", "us"), 51_072
    first, last = date(2026, 1, 1), date(2026, 10, 29)
    for every, count in ((1, 7248), (4, 1812), (24, 302)):
        rows = targets(start, hours, first, last, every)
        assert rows.size == count
        assert start + rows[0] * np.timedelta64(1, "h") == np.datetime64("2026-01-01")


def test_values_before_the_first_are_no_context(checkpoint: Path) -> None:
    model = read_model(checkpoint)
    series = np.concatenate([np.full(30, np.nan), np.ones(CONTEXT + 5)])
    kept, found = medians(model, series, np.arange(series.size), 4)
    assert kept.tolist() == [30 + CONTEXT + more for more in range(5)]
    assert np.isfinite(found).all()
    assert medians(model, np.full(600, np.nan), np.arange(600), 4)[0].size == 0


def test_wrong_checkpoints_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    no_median = PUBLISHED | {
        "chronos_config": PUBLISHED["chronos_config"] | {"quantiles": [0.1, 0.9]}
    }
    with pytest.raises(DataError, match="median"):
        read_model(write_checkpoint(tmp_path / "quantiles", no_median))
    damaged = write_checkpoint(tmp_path / "damaged")
    weights = tmp_path / "damaged" / FOLDER / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"0000")
    with pytest.raises(SourceError, match="SHA-256"):
        read_model(damaged)
    known = Manifest.read(checkpoint)
    alone = tmp_path / "alone.json"
    Manifest.of("chronos-2", "files", known.root, known.files[:1]).write(alone)
    with pytest.raises(DataError, match="1 and 0"):
        read_model(alone)
    text = tmp_path / "text"
    other = write_checkpoint(text)
    (text / FOLDER / "config.json").write_text(json.dumps(["no", "configuration"]), "utf-8")
    with pytest.raises(SourceError):
        read_model(other)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there(checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no GPU"):
        run(tmp_path, checkpoint, closes(), day_table(), settings(device="cuda"))
