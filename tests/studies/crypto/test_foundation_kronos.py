"""Forecasts with a small Kronos: what each one sees, and what does not change it."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from candle_tables import hour_grid, walk
from kronos_checkpoint import MODEL, TOKENIZER, network_of, stored, tokenizer_of
from remeasure.errors import DataError, SourceError
from remeasure.nn.models.kronos import KRONOS_NAMES, KronosConfig
from remeasure.nn.models.kronos_forecast import COLUMNS, Sampling, forecast, likeliest, marks_of
from remeasure.nn.models.kronos_tokenizer import TOKENIZER_NAMES, TokenizerConfig
from remeasure.store.frames import read_frame
from remeasure.store.tables import write_tables
from remeasure.studies.crypto import features, foundation_kronos
from remeasure.studies.crypto.foundation_kronos import (
    LIKELIEST,
    KronosStep,
    draws_of,
    forecast_kronos,
    targets,
)
from remeasure.studies.crypto.foundation_table import CONTEXT, HOURS, KRONOS, is_of

BTC, ETH = "BTCUSDT", "ETHUSDT"
#: Smaller still: a window has 512 candles, however small the networks.
READS = TOKENIZER | {
    "d_model": 16,
    "n_heads": 2,
    "ff_dim": 16,
    "n_enc_layers": 2,
    "n_dec_layers": 2,
}
WRITES = MODEL | {"d_model": 16, "n_heads": 2, "ff_dim": 16, "n_layers": 1}
FIRST = "2026-01-20"
SETTINGS = KronosStep.model_validate(
    {
        "coins": (BTC, ETH),
        "first": date.fromisoformat(FIRST),
        "last": date(2026, 1, 21),
        "every_hours": 4,
        "sampling": {"temperature": 1.0, "top_k": 0, "top_p": 0.9, "samples": 3, "seed": 0},
        "batch": 5,
        "device": "cpu",
        "threads": 1,
    }
)
#: 600 hours before the first predicted one, and two days.
START, LENGTH = "2025-12-26T00", 600 + 48
Checkpoints = dict[str, Path]


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Checkpoints:
    folder = tmp_path_factory.mktemp("kronos")
    buffers = {"tokenizer.bsq.basis": torch.arange(10)}
    return {
        "tokenizer": stored(
            folder, "a/Tokenizer", READS, tokenizer_of(READS), TOKENIZER_NAMES, buffers
        ),
        "model": stored(folder, "a/Model", WRITES, network_of(WRITES), KRONOS_NAMES),
    }


def _candles(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    close = walk(seed, LENGTH)
    opened = np.append(100.0, close[:-1])
    volume = rng.lognormal(size=LENGTH)
    return pl.DataFrame(
        {
            "hour": hour_grid(START, LENGTH),
            "open": opened,
            "high": np.maximum(opened, close) * 1.001,
            "low": np.minimum(opened, close) / 1.001,
            "close": close,
            "volume": volume,
            "quote_volume": volume * close,
        }
    )


def _database(path: Path, coins: dict[str, pl.DataFrame]) -> Path:
    frames = []
    for symbol, candles in coins.items():
        given = candles.with_columns(
            pl.lit(symbol).alias("symbol"),
            trades=pl.lit(None, pl.Int64),
            taker_buy_volume=pl.lit(None, pl.Float64),
            rv=pl.lit(None, pl.Float64),
            candles=pl.col("close").is_not_null().cast(pl.Int16) * 12,
        )
        frames.append(given.select(pl.col(features.HOURS.schema())))
    path.unlink(missing_ok=True)
    write_tables(path, [(features.HOURS, pl.concat(frames))])
    return path


def _run(
    folder: Path, checkpoints: Checkpoints, market: dict[str, pl.DataFrame], **changes: Any
) -> pl.DataFrame:
    out = folder / "forecasts.parquet"
    forecast_kronos(
        hours=_database(folder / "hours.duckdb", market),
        **checkpoints,
        forecasts=out,
        settings=SETTINGS.model_copy(update=changes),
    )
    return read_frame(out, HOURS)


def _one(frame: pl.DataFrame, name: str = KRONOS) -> pl.DataFrame:
    return frame.filter(pl.col("model").str.starts_with(f"{name} of "))


def test_two_forecasts_of_every_fourth_hour(tmp_path: Path, checkpoints: Checkpoints) -> None:
    coins = {BTC: _candles(1), ETH: _candles(4)}
    got = _run(tmp_path, checkpoints, coins)
    size = TokenizerConfig.of(READS).parameters() + KronosConfig.of(WRITES).parameters()
    assert got["model"].unique(maintain_order=True).to_list() == [
        f"{KRONOS} of {size:,} parameters",
        f"{LIKELIEST} of {size:,} parameters",
    ]
    assert [is_of(name, KRONOS) for name in got["model"].unique(maintain_order=True)] == [
        True,
        False,
    ]
    assert got.height == 2 * 2 * 12
    assert got.equals(got.sort("model", "coin", "target_hour"))
    hours = _one(got).filter(pl.col("coin") == "ETH")["target_hour"].to_numpy()
    assert hours.tolist() == hour_grid(FIRST, 48)[::4].tolist()
    assert got["up"].equals(got["value"] > 0, check_names=False)
    assert got["up"].n_unique() == 2
    assert _one(got)["value"].equals(_one(got, LIKELIEST)["value"]) is False
    before = (tmp_path / "forecasts.parquet").read_bytes()
    _run(tmp_path, checkpoints, coins)
    assert (tmp_path / "forecasts.parquet").read_bytes() == before


def test_the_publications_hours() -> None:
    whole = targets(date(2026, 1, 1), date(2026, 10, 29), 4)
    assert whole.size == 1812
    assert targets(date(2026, 1, 1), date(2026, 10, 29), 24).size == 302
    assert str(whole[-1]) == "2026-10-29T20:00:00.000000"


def test_no_forecast_sees_its_hour_or_a_later_one(tmp_path: Path, checkpoints: Checkpoints) -> None:
    candles = _candles(1)
    border = hour_grid(FIRST, 48)[20]
    later = pl.col("hour") >= border
    changed = candles.with_columns(
        pl.when(later).then(pl.col(name) * 3).otherwise(pl.col(name)).alias(name)
        for name in COLUMNS[:5]
    )
    before, after = (
        _run(tmp_path, checkpoints, {BTC: each}, coins=(BTC,)) for each in (candles, changed)
    )
    seen = pl.col("target_hour") <= border
    assert before.filter(seen).equals(after.filter(seen))
    assert before.filter(seen).height == 2 * 6
    assert not before.filter(~seen).equals(after.filter(~seen))
    # The candle right before the hour is seen.
    last = pl.col("hour") == border - np.timedelta64(1, "h")
    moved = candles.with_columns(
        pl.when(last).then(pl.col(name) * 1.05).otherwise(pl.col(name)).alias(name)
        for name in COLUMNS[:4]
    )
    at = pl.col("target_hour") == border
    assert (
        not _run(tmp_path, checkpoints, {BTC: moved}, coins=(BTC,))
        .filter(at)
        .equals(before.filter(at))
    )


def test_neither_the_batch_nor_the_other_hours_change_a_forecast(
    tmp_path: Path, checkpoints: Checkpoints
) -> None:
    coins = {BTC: _candles(1), ETH: _candles(2)}
    base = _run(tmp_path, checkpoints, coins)
    for changes in ({"batch": 1}, {"batch": 12}, {"every_hours": 24}, {"coins": (ETH,)}):
        other = _run(tmp_path, checkpoints, coins, **changes)
        both = other.join(base, on=["model", "coin", "target_hour"], suffix="_base")
        assert both.height == other.height
        assert both["up"].equals(both["up_base"], check_names=False)
        np.testing.assert_allclose(both["value"], both["value_base"], atol=1e-6)


def test_every_coin_draws_for_itself_and_the_seed_counts(
    tmp_path: Path, checkpoints: Checkpoints
) -> None:
    same = {BTC: _candles(1), ETH: _candles(1)}
    got = _run(tmp_path, checkpoints, same)
    by_coin = {
        name: [_one(got, name).filter(pl.col("coin") == each)["value"] for each in ("BTC", "ETH")]
        for name in (KRONOS, LIKELIEST)
    }
    assert by_coin[LIKELIEST][0].equals(by_coin[LIKELIEST][1])
    assert not by_coin[KRONOS][0].equals(by_coin[KRONOS][1])
    other = SETTINGS.sampling.model_copy(update={"seed": 1})
    assert not _one(_run(tmp_path, checkpoints, same, sampling=other)).equals(_one(got))


def test_the_place_in_a_stream_is_the_hour() -> None:
    hours = hour_grid(FIRST, 48)
    whole = draws_of(BTC, hours, SETTINGS)
    assert whole.shape == (48, 3, 1, 2)
    assert torch.equal(draws_of(BTC, hours[5:9], SETTINGS), whole[5:9])
    assert 0 <= float(whole.min()) < float(whole.max()) < 1
    assert draws_of(BTC, hours[:0], SETTINGS).shape == (0, 3, 1, 2)


def test_lost_hours_are_skipped_and_a_missing_amount_is_made_up(
    tmp_path: Path, checkpoints: Checkpoints
) -> None:
    lost = pl.col("hour").is_in(hour_grid("2026-01-10T05", 3).tolist())
    candles = _candles(3).with_columns(
        pl.when(~lost).then(pl.col(name)).alias(name) for name in (*COLUMNS[:5], "quote_volume")
    )
    candles = candles.with_columns(quote_volume=pl.lit(None, pl.Float64))
    got = _run(tmp_path, checkpoints, {BTC: candles}, coins=(BTC,))
    row = _one(got, LIKELIEST).row(3, named=True)

    there = candles.drop_nulls("close").filter(pl.col("hour") < row["target_hour"]).tail(CONTEXT)
    assert there["hour"][-1] - there["hour"][0] > (CONTEXT - 1) * np.timedelta64(1, "h")
    values = there.select("open", "high", "low", "close").to_numpy()
    volume = there["volume"].to_numpy()
    window = np.column_stack((values, volume, volume * values.mean(axis=1)))
    ahead = forecast(
        tokenizer_of(READS),
        network_of(WRITES),
        window[np.newaxis].astype(np.float32),
        marks_of(there["hour"].to_numpy())[np.newaxis],
        uniform=likeliest(1),
    )
    assert row["value"] == pytest.approx(np.log(ahead[0, 0, 0, 3] / values[-1, 3]), abs=1e-6)


def test_the_first_forecast_is_the_mean_of_drawn_paths(
    tmp_path: Path, checkpoints: Checkpoints
) -> None:
    candles = _candles(4)
    got = _one(_run(tmp_path, checkpoints, {BTC: candles}, coins=(BTC,))).row(7, named=True)
    there = candles.filter(pl.col("hour") < got["target_hour"]).tail(CONTEXT)
    window = there.select(*COLUMNS[:5], "quote_volume").to_numpy().astype(np.float32)
    paths = forecast(
        tokenizer_of(READS),
        network_of(WRITES),
        window[np.newaxis],
        marks_of(there["hour"].to_numpy())[np.newaxis],
        uniform=draws_of(BTC, np.array([got["target_hour"]], "datetime64[us]"), SETTINGS),
        sampling=Sampling(top_p=0.9),
    )
    expected = np.log(paths[0, :, 0, 3].astype(float).mean() / window[-1, 3])
    assert got["value"] == pytest.approx(expected, abs=1e-6)


def test_hours_without_enough_candles_before_them_have_no_row(
    tmp_path: Path, checkpoints: Checkpoints
) -> None:
    short = _candles(1).slice(600 + 9 - CONTEXT)  # the tenth hour has 512 candles before it
    got = _run(tmp_path, checkpoints, {BTC: short}, coins=(BTC,))
    assert _one(got)["target_hour"].min() == hour_grid(FIRST, 48)[12].item()
    none = _run(tmp_path, checkpoints, {BTC: short.head(300)}, coins=(BTC,))
    assert none.is_empty()
    with pytest.raises(DataError, match="no hours of ETHUSDT"):
        _run(tmp_path, checkpoints, {BTC: short})


def test_checkpoints_that_do_not_fit(tmp_path: Path, checkpoints: Checkpoints) -> None:
    coins = {BTC: _candles(1)}
    swapped = {"model": checkpoints["tokenizer"], "tokenizer": checkpoints["model"]}
    with pytest.raises(DataError, match="no configuration of Kronos"):
        _run(tmp_path, swapped, coins, coins=(BTC,))
    config = WRITES | {"s2_bits": 4}
    other = stored(tmp_path / "b", "a/Other", config, network_of(config), KRONOS_NAMES)
    with pytest.raises(DataError, match=r"\(5, 5\) bits .* \(5, 4\) bits"):
        _run(tmp_path, checkpoints | {"model": other}, coins, coins=(BTC,))
    weights = next((tmp_path / "b").rglob("model.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1] + b"\0\0")
    with pytest.raises(SourceError, match="not the one in the manifest"):
        _run(tmp_path, checkpoints | {"model": other}, coins, coins=(BTC,))


def test_a_forecast_that_is_no_price(
    tmp_path: Path, checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    def below(*_: Any, **__: Any) -> np.ndarray:
        return np.full((5, 4, 1, 6), -1, dtype=np.float32)

    monkeypatch.setattr(foundation_kronos, "forecast", below)
    with pytest.raises(DataError, match="no price"):
        _run(tmp_path, checkpoints, {BTC: _candles(1)}, coins=(BTC,))
