"""A small generated world as the tables that the study's experiments read."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import yaml
from pydantic_core import to_jsonable_python

import remeasure
from remeasure.ledger.measurement import Measurement
from remeasure.store.frames import write_frame
from remeasure.store.tables import Table, write_tables
from remeasure.studies.polymarket import drawn, world_tables
from remeasure.studies.polymarket.schema import (
    BOOK_SNAPSHOT,
    BTC_MONTH,
    CHART_SERIES,
    EVENTS,
    FORECASTS,
    LIFE_PRICES,
    MARKETS,
    RATES,
    SAMPLE,
)
from remeasure.studies.polymarket.settings import GeneratorSettings, Settings
from remeasure.studies.polymarket.told import experiment_steps
from remeasure.studies.polymarket.world import TOPICS, world
from remeasure.studies.polymarket.world_names import Names

GRID = (60.0, 45.0, 30.0, 21.0, 14.0, 10.0, 7.0, 5.0, 3.0, 2.0, 1.0, 0.5)


@cache
def default_settings() -> Settings:
    """The study's settings of the default run."""
    config = Path(remeasure.__file__).parents[2] / "config" / "config.yaml"
    return Settings.model_validate(yaml.safe_load(config.read_text("utf-8"))["polymarket"])


@cache
def named(seed: int = 3, events: int = 2500, kappa: float = 1.2) -> Names:
    """A world and its names."""
    made = world(
        GeneratorSettings(seed=seed, events=events, kappa=kappa, distortion=(1.12, 1.25, 1.40))
    )
    return Names(made)


def forecast_rows(names: Names) -> pl.DataFrame:
    """Rows of ``forecasts`` of the world's own sample."""
    return world_tables.forecasts(names, world_tables.hashed_sample(names))


def market_rows(names: Names) -> pl.DataFrame:
    """Rows of ``markets``: the population, and those that resolved half and half."""
    made = names.made
    which = np.flatnonzero(made.kept)
    event = made.event[which]
    closed = made.events.closed[event].astype("datetime64[us]")
    opened = closed - (made.events.life[event] * 86_400e6).astype("timedelta64[us]")
    half = made.fifty_fifty[which]
    return pl.DataFrame(
        {
            "market": names.conditions(which),
            "gamma": [names.market_id(int(each)) for each in which],
            "event": [names.event_id(int(each)) for each in event],
            "cluster": [names.event_id(int(each)) for each in event],
            "topic": [TOPICS[each] for each in made.topic[which]],
            "question": [names.question(int(each)) for each in which],
            "slug": [f"m{each}" for each in which],
            "label": pl.Series([None] * which.size, dtype=pl.String),
            "token": pl.Series([None] * which.size, dtype=pl.String),
            "first_outcome": ["Yes"] * which.size,
            "opened": opened,
            "closed": closed,
            "close_source": ["market"] * which.size,
            "outcome": pl.Series(np.where(half, 0, made.first_won[which]), dtype=pl.Int16),
            "half": half,
            "reason": ["resolved 50-50" if each else None for each in half],
            "total_dollars": made.total_dollars[which],
            "direction": made.direction[which].astype(np.int16),
        },
        schema=MARKETS.schema(),
    )


def life_rows(forecasts: pl.DataFrame) -> pl.DataFrame:
    """Prices on the grid: the horizon's own price where it is one, else the nearest horizon's."""
    near = {day: "month" if day > 14 else "week" if day > 3 else "day" for day in GRID}
    frames = [
        forecasts.filter(pl.col("horizon") == name).select(
            "market", days_before=pl.lit(day), price="price"
        )
        for day, name in near.items()
    ]
    return pl.concat(frames).select(LIFE_PRICES.schema().keys()).sort(LIFE_PRICES.key)


def book_rows() -> pl.DataFrame:
    """Books of one night: quoted, one-sided and empty, and the two markets that are named."""
    rng = np.random.default_rng(8)
    mid = rng.uniform(0.004, 0.996, size=900)
    half = np.minimum(np.minimum(mid, 1 - mid) * 0.9, 0.01 + 0.02 * rng.random(900))
    bid, ask = np.round(mid - half, 3), np.round(mid + half, 3)
    bid[:40], ask[40:70] = 0.0, 1.0
    frame = pl.DataFrame(
        {
            "market": [f"0x{number:04d}" for number in range(900)],
            "slug": [f"s{number}" for number in range(900)],
            "question": [f"Question {number}?" for number in range(900)],
            "bid": bid,
            "ask": ask,
            "total_dollars": rng.gamma(1.0, 1e4, size=900),
        }
    )
    named_rows = pl.DataFrame(
        {
            "market": ["senate", "house"],
            "slug": ["senate", "house"],
            "question": [
                "Will the Democratic Party control the Senate after the 2026 Midterm elections?",
                "Will the Democratic Party control the House after the 2026 Midterm elections?",
            ],
            "bid": [0.58, 0.81],
            "ask": [0.60, 0.83],
            "total_dollars": [1000.0, 2000.0],
        }
    )
    return pl.concat([frame, named_rows]).select(BOOK_SNAPSHOT.schema().keys())


def _series(names: Names) -> Sequence[tuple[Table, pl.DataFrame]]:
    months = [f"{2024 + number // 12}-{number % 12 + 1:02d}" for number in range(34)]
    simple = names.made.bitcoin
    days = [date(2025, 1, 1) + timedelta(days=number) for number in range(669)]
    start = datetime(2025, 10, 8, 12)
    times = [start + timedelta(minutes=5 * number) for number in range(541)]
    rise = np.linspace(0.02, 0.7, 541)
    year = [datetime(2024, 1, 1) + timedelta(hours=12 * number) for number in range(620)]
    chart = [("election", "Trump", when, 0.5) for when in year]
    chart += [("nobel", "María Corina Machado", *each) for each in zip(times, rise, strict=True)]
    chart += [("nobel", f"Candidate {n}", when, 0.1 / n) for n in range(1, 7) for when in times]
    return [
        (
            BTC_MONTH,
            pl.DataFrame({"month": months, "simple": simple, "log": np.log1p(simple)}),
        ),
        (RATES, pl.DataFrame({"day": days, "percent": [4.0] * 365 + [3.5] * 304})),
        (CHART_SERIES, pl.DataFrame(chart, schema=CHART_SERIES.schema(), orient="row")),
    ]


@dataclass(frozen=True)
class Tables:
    """Where the tables of a world are, and where results go."""

    folder: Path

    def place(self, file: str) -> Path:
        """A file named in ``drawn.py``."""
        return self.folder / file


def write_world(folder: Path, names: Names, forecasts: pl.DataFrame | None = None) -> Tables:
    """Write every table that the experiments read into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = forecast_rows(names) if forecasts is None else forecasts
    sample = world_tables.hashed_sample(names)
    write_tables(
        folder / "forecasts.duckdb",
        [(FORECASTS, rows.sort(FORECASTS.key)), (LIFE_PRICES, life_rows(rows))],
    )
    write_tables(
        folder / "population.duckdb", [(EVENTS, EVENTS.empty()), (MARKETS, market_rows(names))]
    )
    write_tables(
        folder / "sample.duckdb",
        [
            (
                SAMPLE,
                pl.DataFrame(
                    {
                        "market": names.conditions(sample.market),
                        "in_topic_draw": sample.in_topic_draw,
                        "in_size_draw": sample.in_size_draw,
                        "pi": sample.pi,
                        "pi_topic": sample.pi_topic,
                        "pi_size": sample.pi_size,
                        "weight": sample.weight,
                        "shard": np.zeros(sample.market.size, dtype=np.int32),
                    },
                    schema=SAMPLE.schema(),
                ),
            )
        ],
    )
    write_tables(folder / "snapshot.duckdb", [(BOOK_SNAPSHOT, book_rows())])
    write_tables(folder / "series.duckdb", _series(names))
    population = np.flatnonzero(names.made.clean)
    write_frame(
        world_tables.truth(names, population),
        folder / "truth.parquet",
        world_tables.TRUTH_FRAME,
    )
    return Tables(folder)


def run(tables: Tables, name: str, results: Path, **changed: Any) -> list[Measurement]:
    """Run one experiment of ``drawn.py`` on the tables as the rules would.

    ``changed`` replaces settings; inputs that are not there are left out.
    """
    step, reads, writes = {**drawn.EXPERIMENTS, **drawn.RESULTS}[name]
    module, function = step.split(":")
    call = getattr(importlib.import_module(f"remeasure.studies.polymarket.{module}"), function)
    results.mkdir(parents=True, exist_ok=True)
    arguments: dict[str, Any] = {}
    for parameter, file in reads:
        place = tables.place(file) if file in drawn.FEATURES else results / file
        if place.exists():
            arguments[parameter] = place
    arguments |= {parameter: results / file for parameter, file in writes}
    model = call.__annotations__.get("settings")
    if model is not None:
        model = getattr(importlib.import_module(call.__module__), model)
        told = to_jsonable_python({**experiment_steps(default_settings())[step], **changed})
        arguments["settings"] = model.model_validate_json(json.dumps(told))
    return call(**arguments) or []


def run_all(tables: Tables, results: Path) -> dict[str, list[Measurement]]:
    """Run every experiment of the study, in the order of ``drawn.py``."""
    return {
        name: run(tables, name, results)
        for name in [*drawn.EXPERIMENTS, *drawn.RESULTS]
        if name not in ("intervals", "thresholds", "synthetic", "probe")
    }
