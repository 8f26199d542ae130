"""Walk-forward forecasts: no look ahead, shards that fit together, the same bytes twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from remeasure.errors import ConfigError, DataError
from remeasure.evaluate.walk_forward import folds
from remeasure.store.frames import read_frame, write_frame
from remeasure.store.tables import write_tables
from remeasure.studies.crypto.boosting import Examples, fit, parameters, predict, walk
from remeasure.studies.crypto.features import FEATURE_ROWS, FEATURES
from remeasure.studies.crypto.forecasts import (
    FORECASTS,
    IMPORTANCE,
    ForecastStep,
    examples,
    forecast_year,
    join_forecasts,
    shard_folds,
    years,
)
from remeasure.studies.crypto.settings import BoostingSettings, WalkForwardSettings

COINS = ("BTCUSDT", "ETHUSDT")
HOUR = np.timedelta64(1, "h")

BOOSTING = BoostingSettings(
    rounds=20,
    learning_rate=0.2,
    num_leaves=4,
    max_depth=2,
    min_data_in_leaf=20,
    feature_fraction=0.8,
    bagging_fraction=0.8,
    lambda_l2=1,
    max_bin=63,
)
#: Refits every four months from November on: the first fold spans two years.
WALK = WalkForwardSettings(
    first_test="2022-11", last_test="2023-06", gap_hours=24, refit_months=4, boosting=BOOSTING
)
STEP = ForecastStep(coins=COINS, walk_forward=WALK)


def feature_rows() -> pl.DataFrame:
    """A year of rows whose direction follows the sign of ret_1 three times in four."""
    rng = np.random.default_rng(9)
    target = np.arange(np.datetime64("2022-07-01", "us"), np.datetime64("2023-07-01", "us"), HOUR)
    tables = []
    for code, symbol in enumerate(COINS):
        values = {name: rng.normal(size=target.size) for name in FEATURES}
        up = np.where(rng.random(target.size) < 0.75, values["ret_1"] < 0, values["ret_1"] >= 0)
        known = target - HOUR
        days = known.astype("datetime64[D]").astype(int)
        values |= {
            "hour": known.astype("datetime64[h]").astype(int) % 24,
            "dow": (days + 3) % 7,
            "coin": np.full(target.size, code),
        }
        move = np.abs(rng.normal(0, 0.01, target.size)) + 1e-6
        tables.append(
            pl.DataFrame(
                {
                    "symbol": [symbol] * target.size,
                    "known_hour": known,
                    "target_hour": target,
                    **values,
                    "ret_next": np.where(up, move, -move),
                    "up": up,
                }
            )
        )
    return pl.concat(tables).cast(FEATURE_ROWS.schema())  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def hours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("forecasts") / "hours.duckdb"
    write_tables(path, [(FEATURE_ROWS, feature_rows())])
    return path


def shard(hours: Path, folder: Path, year: str, settings: ForecastStep = STEP) -> dict[str, Path]:
    folder.mkdir(exist_ok=True)
    outputs = {
        "forecasts": folder / f"{year}.parquet",
        "importance": folder / f"{year}.importance.parquet",
        "booster": folder / f"{year}.txt",
    }
    forecast_year(hours=hours, settings=settings, year=year, **outputs)
    return outputs


@pytest.fixture(scope="module")
def shards(hours: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Path]]:
    folder = tmp_path_factory.mktemp("shards")
    return {year: shard(hours, folder, year) for year in years(WALK)}


@pytest.fixture(scope="module")
def joined(shards: dict[str, dict[str, Path]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("joined") / "forecasts.parquet"
    join_forecasts(
        shards=[shards["2023"]["forecasts"], shards["2022"]["forecasts"]], forecasts=path
    )
    return path


def test_shards_hold_what_one_run_holds(joined: Path) -> None:
    table = read_frame(joined, FORECASTS)
    features = feature_rows()
    data = examples(features)
    every = folds("2022-11", "2023-06", gap_hours=24, refit_months=4)
    whole = np.full(features.height, np.nan)
    for refit in walk(data, every, BOOSTING):
        whole[refit.rows] = refit.probability
    expected = features.with_columns(p=pl.Series(whole, nan_to_null=True)).drop_nulls("p")
    columns = ["symbol", "target_hour", "p", "ret_next", "up", "ret_1"]
    assert table.select(columns).equals(expected.select(columns))
    # Eight months of every hour, both coins, in order.
    assert table.height == 2 * 24 * (30 + 31 + 31 + 28 + 31 + 30 + 31 + 30)
    assert table.equals(table.sort("symbol", "target_hour"))
    assert sorted(table["refit"].unique()) == ["2022-11", "2023-03"]


def test_the_planted_rule_is_found(joined: Path) -> None:
    table = read_frame(joined, FORECASTS)
    hit = ((table["p"] > 0.5) == table["up"]).mean()
    assert hit == pytest.approx(0.75, abs=0.02)


def test_importance_names_the_planted_feature(shards: dict[str, dict[str, Path]]) -> None:
    table = read_frame(shards["2023"]["importance"], IMPORTANCE)
    assert table["refit"].unique(maintain_order=True).to_list() == ["2022-11", "2023-03"]
    assert table["feature"].to_list() == [*FEATURES, *FEATURES]
    best = table.sort("gain", descending=True).unique("refit", keep="first", maintain_order=True)
    assert best["feature"].to_list() == ["ret_1", "ret_1"]


def test_booster_is_the_years_last_model(
    hours: Path, shards: dict[str, dict[str, Path]], joined: Path
) -> None:
    import lightgbm

    booster = lightgbm.Booster(model_file=shards["2023"]["booster"])
    features = feature_rows().filter(pl.col("target_hour") >= pl.datetime(2023, 6, 1))
    expected = read_frame(joined, FORECASTS).filter(
        pl.col("target_hour") >= pl.datetime(2023, 6, 1)
    )
    assert predict(booster, examples(features).x).tolist() == expected["p"].to_list()


def test_no_forecast_depends_on_later_rows(hours: Path, joined: Path, tmp_path: Path) -> None:
    """The rows of 2022 are forecast the same when everything after them is different."""
    cut = pl.col("target_hour") < pl.datetime(2023, 1, 1)
    features = feature_rows()
    other = features.with_columns(
        pl.when(cut).then(pl.col("up")).otherwise(~pl.col("up")).alias("up"),
        pl.when(cut).then(pl.col("ret_1")).otherwise(5.0).alias("ret_1"),
    )
    path = tmp_path / "hours.duckdb"
    write_tables(path, [(FEATURE_ROWS, other)])
    changed = read_frame(shard(path, tmp_path, "2022")["forecasts"], FORECASTS)
    before = read_frame(joined, FORECASTS).filter(cut)
    assert changed.equals(before)


def test_training_ends_a_gap_before_the_month() -> None:
    """A rule that reverses in the last 24 hours before the first test month goes unlearnt."""
    data = examples(feature_rows())
    start = np.datetime64("2022-11-01", "us")
    inside = (data.target_end > start - 24 * HOUR) & (data.target_end <= start)
    flipped = Examples(
        data.x, np.where(inside, ~data.up, data.up), data.target_start, data.target_end, data.names
    )
    (fold,) = folds("2022-11", "2022-11", gap_hours=24)
    (ours,), (theirs,) = (list(walk(each, [fold], BOOSTING)) for each in (data, flipped))
    assert ours.probability.tolist() == theirs.probability.tolist()
    (close,) = folds("2022-11", "2022-11", gap_hours=0)
    (theirs,) = list(walk(flipped, [close], BOOSTING))
    assert ours.probability.tolist() != theirs.probability.tolist()


@pytest.mark.parametrize("length", [1, 24])
def test_a_target_is_known_when_it_has_ended(length: int) -> None:
    features = feature_rows().head(50)
    data = examples(features, length)
    assert data.names == FEATURES
    assert (data.target_start == features["target_hour"].to_numpy()).all()
    assert set(data.target_end - data.target_start) == {length * HOUR}


def test_same_bytes_twice(hours: Path, shards: dict[str, dict[str, Path]], tmp_path: Path) -> None:
    again = shard(hours, tmp_path, "2023")
    for name, path in shards["2023"].items():
        assert again[name].read_bytes() == path.read_bytes()


def test_coin_is_categorical_and_one_thread_is_used() -> None:
    data = examples(feature_rows().head(2000))
    options = parameters(BOOSTING)
    assert options["num_threads"] == 1
    assert options["deterministic"]
    text = fit(data.x, data.up, data.names, BOOSTING).model_to_string()
    assert f"[categorical_feature: {FEATURES.index('coin')}]" in text
    assert "[num_threads: 1]" in text


def test_shard_folds_keep_the_training_window() -> None:
    first, second = shard_folds(WALK, "2022"), shard_folds(WALK, "2023")
    assert [fold.first for fold in first] == ["2022-11"]
    assert [fold.first for fold in second] == ["2022-11", "2023-03"]
    assert first[0].cutoff == second[0].cutoff == np.datetime64("2022-10-31")
    assert first[0].end == second[0].start == np.datetime64("2023-01-01")
    with pytest.raises(ConfigError, match="no month of 2024"):
        shard_folds(WALK, "2024")


def test_refusals(hours: Path, shards: dict[str, dict[str, Path]], tmp_path: Path) -> None:
    early = WALK.model_copy(update={"first_test": "2022-07", "last_test": "2022-08"})
    with pytest.raises(DataError, match="nothing to learn 2022-07 from"):
        shard(hours, tmp_path, "2022", STEP.model_copy(update={"walk_forward": early}))
    late = WALK.model_copy(update={"first_test": "2023-01", "last_test": "2024-02"})
    with pytest.raises(DataError, match="no hour of 2024"):
        shard(hours, tmp_path, "2024", STEP.model_copy(update={"walk_forward": late}))
    twice = [shards["2022"]["forecasts"]] * 2
    with pytest.raises(DataError, match="forecasts"):
        join_forecasts(shards=twice, forecasts=tmp_path / "twice.parquet")
    broken = read_frame(shards["2022"]["forecasts"]).with_columns(p=pl.lit(1.5))
    with pytest.raises(DataError, match="column p"):
        write_frame(broken, tmp_path / "broken.parquet", FORECASTS)
