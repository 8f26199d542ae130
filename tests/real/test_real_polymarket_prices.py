"""Real prices of resolved markets: the numbers that their collectors checked, by our code."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pydantic_core import to_jsonable_python

from answers import answered, printed_rows
from polymarket_tables import default_settings
from remeasure.ledger.measurements import Measured, check
from remeasure.ledger.verdict import verdict
from remeasure.store.tables import read_table
from remeasure.studies.polymarket import drawn
from remeasure.studies.polymarket.published import rows
from remeasure.studies.polymarket.real_files import (
    ListFilesStep,
    ParseFilesStep,
    list_files,
    parse_files,
)
from remeasure.studies.polymarket.real_prices import RealStep, measure_real
from remeasure.studies.polymarket.schema import REAL
from remeasure.studies.polymarket.settings import FilesSettings, Settings
from remeasure.studies.polymarket.told import experiment_steps

DATA = Path(os.environ.get("REMEASURE_FILES", Path(__file__).parents[2] / ".." / "shared" / "data"))
FOLDERS = {
    "pancake": DATA / "polymarket_pancake",
    "drozy": DATA / "polymarket_aleks_drozy",
    "midterms": DATA / "polymarket_midterms_trades",
}

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not all(folder.is_dir() for folder in FOLDERS.values()),
        reason=f"no tables of resolved markets at {DATA} (set REMEASURE_FILES)",
    ),
]


def settings() -> Settings:
    defaults = default_settings()
    return defaults.model_copy(
        update={
            "origin": "files",
            "definitions": defaults.definitions.model_copy(update={"traded_usd": None}),
            "files": FilesSettings(**{name: str(each) for name, each in FOLDERS.items()}),
        }
    )


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    own = settings()
    list_files(tables=[], manifest=folder / "m.json", settings=ListFilesStep(files=own.files))
    parse_files(
        manifest=folder / "m.json",
        real=folder / "real.duckdb",
        forecasts=folder / "forecasts.duckdb",
        settings=ParseFilesStep(files=own.files, definitions=own.definitions),
    )
    measure_real(
        real=folder / "real.duckdb",
        scores=folder / "real_prices.parquet",
        settings=RealStep(resamples=100, bootstrap_seed=1),
    )
    return folder


@pytest.mark.parametrize(
    ("source", "which", "horizon", "n", "brier", "base"),
    [
        ("pancake", "all", "week", 4429, 0.1009, 0.255),
        ("pancake", "Yes/No", "week", 3948, 0.0844, 0.227),
        ("drozy", "all", "day", 2418, 0.0640, 0.280),
        ("midterms", "all", "week", 73, 0.123, None),
    ],
)
def test_known_scores(
    tables: Path, source: str, which: str, horizon: str, n: int, brier: float, base: float | None
) -> None:
    own = pl.read_parquet(tables / "real_prices.parquet").filter(
        pl.col("source") == source, pl.col("set") == which, pl.col("horizon") == horizon
    )
    found = {row["score"]: row for row in own.iter_rows(named=True)}
    assert found["brier"]["n"] == n
    assert round(found["brier"]["value"], 4 if source != "midterms" else 3) == brier
    assert found["brier"]["low"] < brier < found["brier"]["high"]
    if base is not None:
        assert round(found["base"]["value"], 3) == base


def test_dollars_of_the_week_before_the_midterms(tables: Path) -> None:
    """Every trade of days 14 to 7 before the election, added up by pandas."""
    trades = pd.read_parquet(FOLDERS["midterms"] / "trades.parquet")
    time = trades["ts"].dt.tz_localize(None)
    at = pd.Timestamp("2022-11-01")
    inside = (time > at - pd.Timedelta(days=7)) & (time <= at)
    expected = trades[inside].groupby("market")["amount_usd"].sum()
    own = read_table(tables / "real.duckdb", REAL, where="source = 'midterms'")
    assert own.height == 73
    for event, dollars in own.select("event", "week_dollars").iter_rows():
        assert dollars == pytest.approx(expected.get(event, 0.0))
    scores = pl.read_parquet(tables / "real_prices.parquet").filter(pl.col("score") == "brier")
    traded = scores.filter(pl.col("set") == "from $1,000 in the week before")
    assert traded["n"].to_list() == [(own["week_dollars"] >= 1000).sum()]


def test_deadlines_select_on_the_outcome(tables: Path) -> None:
    """Counting back from the resolution: dated questions won far more often than priced."""
    own = pl.read_parquet(tables / "real_prices.parquet").filter(
        pl.col("source") == "pancake", pl.col("horizon") == "week"
    )
    excess = {}
    for name in ("with a deadline, 10 to 50 cents", "without one, 10 to 50 cents"):
        found = {row["score"]: row["value"] for row in own.filter(pl.col("set") == name).to_dicts()}
        excess[name] = found["base"] - found["mean_price"]
    with_deadline, without = excess.values()
    assert with_deadline > 0.1
    assert abs(without) < 0.05


def test_every_experiment_is_partial(tables: Path, tmp_path: Path) -> None:
    """All rows are answered on an archive, and nothing counts as reproduced."""
    told = experiment_steps(settings())
    known = rows()
    verdicts = set()
    for name, (step, reads, writes) in drawn.EXPERIMENTS.items():
        if name in ("synthetic", "intervals", "thresholds"):
            continue
        module, function = step.split(":")
        holder = importlib.import_module(f"remeasure.studies.polymarket.{module}")
        call = getattr(holder, function)
        arguments = {parameter: tmp_path / file for parameter, file in writes}
        for parameter, file in reads:
            place = (tables if file in drawn.FEATURES else tmp_path) / file
            if place.exists():
                arguments[parameter] = place
        if "settings" in call.__annotations__:
            model = getattr(holder, call.__annotations__["settings"])
            arguments["settings"] = model.model_validate_json(
                json.dumps(to_jsonable_python(dict(told[step])))
            )
        measured = call(**arguments)
        assert answered(measured) == sorted(printed_rows("polymarket", holder.OUTPUTS)), name
        for each in measured:
            row = known[each.output_id, each.quantity, each.condition]
            origin = "files" if reads else "computed"
            checked = Measured(measurement=check(each), origin=origin, step="", artifact="")
            verdicts.add((row.kind, verdict(row, checked).verdict))
    assert {found for kind, found in verdicts if kind == "empirical"} == {"partial", "not run"}
    assert np.isin([found for _, found in verdicts], ["partial", "not run", "exact"]).all()
