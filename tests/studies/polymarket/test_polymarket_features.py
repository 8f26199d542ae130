"""From live answers to forecasts: nothing of a row but the outcome comes from after its time."""

from __future__ import annotations

import ast
import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from fetch.loopback import FAST
from remeasure.config import read_files
from remeasure.errors import ConfigError
from remeasure.store.tables import read_table
from remeasure.studies import polymarket
from remeasure.studies.polymarket.addresses import DAY
from remeasure.studies.polymarket.asof import AsofStep, price_at_horizons, priced
from remeasure.studies.polymarket.features import FeaturesStep, build_forecasts
from remeasure.studies.polymarket.fetch_listing import ListingStep, fetch_listing
from remeasure.studies.polymarket.fetch_prices import PricesStep, fetch_prices
from remeasure.studies.polymarket.fetch_three_hourly import (
    ThreeHourlyStep,
    fetch_three_hourly,
)
from remeasure.studies.polymarket.fetch_trades import TradesStep, fetch_trades
from remeasure.studies.polymarket.population import PopulationStep, parse_population
from remeasure.studies.polymarket.sample import SampleStep, draw_sample, drawn
from remeasure.studies.polymarket.schema import FORECASTS, SAMPLE
from remeasure.studies.polymarket.settings import (
    CrawlSettings,
    Definitions,
    DrawSettings,
    Window,
)
from studies.polymarket.polymarket_service import Service, event, market, trade

RAW = read_files([Path(__file__).parents[3] / "config" / "config.yaml"])["polymarket"]
DEFINITIONS = Definitions.model_validate(RAW["definitions"])
EVERYBODY = DrawSettings.model_validate(
    {**RAW["draw"], "topic_share": dict.fromkeys(RAW["draw"]["topic_share"], 1.0)}
)
CLOSE = int(datetime(2026, 6, 4, 0, 34, 19, tzinfo=UTC).timestamp())
HORIZONS = DEFINITIONS.horizon_days


def populate(service: Service, *, after: bool) -> None:
    """Four markets with prices and trades; with more volume, points and fills after each time."""
    service.events = []
    for number in range(1, 5):
        volume = 5000.0 + 1e6 * after * number
        listed = market(number, volumeNum=volume, startDate="2026-01-01T00:00:00Z")
        service.events.append({**event(number, volume=volume), "markets": [listed]})
        token = str(10**76 + number)
        points = [
            {"t": CLOSE - half * DAY // 2 - 60, "p": round(0.1 + 0.001 * half, 4)}
            for half in range(300, 0, -1)
        ]
        service.histories[token] = points
        fills = [
            trade(int(CLOSE - days * DAY - 3600 * number), size=100.0 * number, market=number)
            for days in HORIZONS.values()
        ]
        if after:
            # The last hours, after even the latest forecast time.
            points += [{"t": CLOSE - 3600, "p": 0.99}, {"t": CLOSE + 9, "p": 1.0}]
            fills += [trade(CLOSE - 7200, size=1e6, market=number)]
        service.trades = sorted(service.trades + fills, key=lambda row: -row["timestamp"])


def crawled(service: Service, tmp_path: Path, *, three_hourly: bool = False) -> pl.DataFrame:
    """The table of forecasts, all steps of the live path."""
    crawl = CrawlSettings.model_validate({**RAW["crawl"], "hosts": service.hosts, "shards": 1})
    fetched = {"origin": "public", "client": FAST, "crawl": crawl, "raw": str(tmp_path / "raw")}
    listing, population = tmp_path / "listing.json", tmp_path / "population.duckdb"
    fetch_listing(
        manifest=listing,
        settings=ListingStep(**fetched, source="listing", closed=True, volume_min=1000.0),
    )
    window = Window(first=date(2024, 1, 1), last=date(2026, 10, 31))
    parse_population(
        listings=[listing],
        population=population,
        settings=PopulationStep(window=window, definitions=DEFINITIONS),
    )
    sample = tmp_path / "sample.duckdb"
    draw_sample(population=population, sample=sample, settings=SampleStep(draw=EVERYBODY, shards=1))
    both: dict[str, Any] = {"population": population, "sample": sample, "shard": "0"}
    manifest, prices, grid = (tmp_path / name for name in ("p.json", "p.parquet", "g.parquet"))
    fetch_prices(**both, manifest=manifest, settings=PricesStep(**fetched))
    later = {}
    if three_hourly:
        later = {"three_hourly": tmp_path / "l.json"}
        fetch_three_hourly(
            **both,
            prices=manifest,
            manifest=later["three_hourly"],
            settings=ThreeHourlyStep(**fetched),
        )
    price_at_horizons(
        **both,
        **later,
        manifest=manifest,
        prices=prices,
        grid=grid,
        settings=AsofStep(hosts=service.hosts, definitions=DEFINITIONS),
    )
    fills, pages = tmp_path / "t.json", tmp_path / "t.parquet"
    fetch_trades(
        **both,
        prices=prices,
        manifest=fills,
        pages=pages,
        settings=TradesStep(**fetched, definitions=DEFINITIONS),
    )
    forecasts = tmp_path / "forecasts.duckdb"
    build_forecasts(
        population=population,
        sample=sample,
        prices=[prices],
        grids=[grid],
        pages=[pages],
        manifests=[fills],
        forecasts=forecasts,
        settings=FeaturesStep(),
    )
    return read_table(forecasts, FORECASTS)


def test_the_live_path_and_what_comes_after_a_forecast_changes_nothing_in_it(
    service: Service, tmp_path: Path
) -> None:
    """Later volume moves the size draw and the column of the trap, and nothing else."""
    populate(service, after=False)
    before = crawled(service, tmp_path / "before")
    service.trades = []
    populate(service, after=True)
    after = crawled(service, tmp_path / "after")
    allowed = {"total_dollars", "in_size_draw"}
    rest = [name for name in before.columns if name not in allowed]
    assert before.select(rest).equals(after.select(rest))
    assert not before["total_dollars"].equals(after["total_dollars"])
    # And the numbers are the planted ones.
    week = before.filter(horizon="week").sort("market")
    assert week["price"].to_list() == [0.1 + 0.001 * 14] * 4
    assert week["stale_hours"].to_list() == [60 / 3600] * 4
    assert week["week_dollars"].to_list() == [50.0 * number for number in range(1, 5)]
    assert week["week_shares"].to_list() == [100.0 * number for number in range(1, 5)]
    assert set(before["horizon"]) == {"day", "week", "month", "quarter"}  # open for 154 days
    assert before["weight"].to_list() == [1.0] * before.height


def test_markets_without_hourly_prices_have_three_hour_ones(
    service: Service, tmp_path: Path
) -> None:
    """Asked for are those alone; one is known there, of the other the 12-hour series is left."""
    populate(service, after=False)
    known, unknown = (str(10**76 + number) for number in (1, 2))
    service.no_hourly = {known, unknown}
    service.coarse[known] = [
        {"t": CLOSE - 7 * DAY - 7200, "p": 0.61},
        {"t": CLOSE - 7 * DAY + 1, "p": 0.99},
        {"t": CLOSE - 5 * 3600, "p": 0.62},
    ]
    found = crawled(service, tmp_path, three_hourly=True)
    week = found.filter(horizon="week").sort("market")
    assert week["price_source"].to_list() == ["three_hour", "life", "hourly", "hourly"]
    assert week["price"].to_list()[0] == 0.61
    # A day before the close the last three-hour point is older than six hours.
    day = found.filter(horizon="day").sort("market")
    assert day["price_source"].to_list()[0] == "life"
    asked = [each for each in service.asked if each.startswith("/v2/")]
    assert len(asked) == 2
    assert all(service.asked[each] == 1 for each in asked)


def _seconds(days: float) -> int:
    return CLOSE - round(days * DAY)


@pytest.mark.parametrize(
    ("hourly", "life", "days", "found"),
    [
        # The last point at or before the time, of the hourly series where it is fresh.
        ([(_seconds(7), 0.2), (_seconds(7) + 1, 0.9)], [], 7, (0.2, "hourly")),
        ([(_seconds(7) - 6 * 3600, 0.2)], [(_seconds(7), 0.3)], 7, (0.2, "hourly")),
        ([(_seconds(7) - 6 * 3600 - 1, 0.2)], [(_seconds(7), 0.3)], 7, (0.3, "life")),
        ([], [(_seconds(7) - 24 * 3600, 0.3)], 7, (0.3, "life")),
        ([], [(_seconds(7) - 24 * 3600 - 1, 0.3)], 7, (None, None)),
        ([(_seconds(7) + 1, 0.9)], [(_seconds(7) + 1, 0.9)], 7, (None, None)),
        # Beyond its 14 days the hourly series does not count.
        ([(_seconds(30), 0.2)], [(_seconds(30) - 60, 0.4)], 30, (0.4, "life")),
        ([], [], 7, (None, None)),
    ],
)
def test_the_price_is_the_last_one_known_and_not_too_old(
    hourly: list[tuple[int, float]],
    life: list[tuple[int, float]],
    days: float,
    found: tuple[float | None, str | None],
) -> None:
    points = pl.DataFrame(
        [("m", "hourly", *each) for each in hourly] + [("m", "life", *each) for each in life],
        schema={"market": pl.String, "kind": pl.String, "t": pl.Int64, "p": pl.Float64},
        orient="row",
    )
    wanted = pl.DataFrame(
        {"market": ["m"], "days": [float(days)], "at": [_seconds(days) * 1_000_000]}
    )
    row = priced(wanted, points, DEFINITIONS).row(0, named=True)
    assert (row["price"], row["price_source"]) == found


def test_the_as_of_join_equals_a_loop_over_random_series() -> None:
    rng = np.random.default_rng(3)
    rows = [
        (f"m{number % 40}", kind, int(at), float(p))
        for number, (kind, at, p) in enumerate(
            zip(
                rng.choice(["hourly", "life"], 4000),
                CLOSE - rng.integers(0, 40 * DAY, 4000),
                rng.random(4000),
                strict=True,
            )
        )
    ]
    schema = {"market": pl.String, "kind": pl.String, "t": pl.Int64, "p": pl.Float64}
    points = pl.DataFrame(rows, schema=schema, orient="row").unique(
        ["market", "kind", "t"], keep="first", maintain_order=True
    )
    wanted = pl.DataFrame(
        [(f"m{number}", days, _seconds(days) * 1_000_000) for number in range(40)
         for days in (1.0, 7.0, 30.0)],
        schema={"market": pl.String, "days": pl.Float64, "at": pl.Int64},
        orient="row",
    )  # fmt: skip
    got = priced(wanted, points, DEFINITIONS)["price"].to_list()
    for (name, days, at), price in zip(wanted.iter_rows(), got, strict=True):
        expected = None
        for kind, hours in (("life", 24), ("hourly", 6)):
            known = [
                (t, p)
                for one, its, t, p in points.iter_rows()
                if one == name and its == kind and 0 <= at / 1e6 - t <= hours * 3600
            ]
            if known and (kind == "life" or days <= 14):
                expected = max(known)[1]
        assert price == expected


#: Modules that may name what is counted after the forecast, and why.
AFTER_THE_FORECAST = {
    "schema": "declares the column",
    "population": "reads it from the listing",
    "sample": "the draw by size, whose probabilities the weights undo",
    "features": "carries it along",
    "trap": "the panel that shows the trap",
    "definitions": "the same panel under other definitions",
    "counts": "counts of the population: 50-50 resolutions, one named market",
    "quotes": "dollars of one named market",
    "single_markets": "dollars of one named market",
    "snapshot": "reads it from the listing",
    "real_files": "carries it along",
    "synthetic": "the trap on generated worlds",
    "world": "the generator",
    "world_listing": "the generator",
    "world_tables": "the generator",
}


def test_only_the_trap_and_the_draw_know_total_dollars() -> None:
    """A walk over the code: no other module names the column, in text or as an attribute."""
    folder = Path(polymarket.__file__).parent
    found = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            text = (
                node.value
                if isinstance(node, ast.Constant)
                else getattr(node, "attr", None) or getattr(node, "arg", None)
            )
            if isinstance(text, str) and text == "total_dollars":
                found.add(path.stem)
    assert found <= AFTER_THE_FORECAST.keys(), sorted(found - AFTER_THE_FORECAST.keys())


def test_rolling_volumes_are_never_read() -> None:
    """They are relative to today: outcomes, too."""
    folder = Path(polymarket.__file__).parent
    names = ("volume24hr", "volume1wk", "volume1mo", "volume1yr", "liquidity")
    for path in folder.glob("*.py"):
        if not path.stem.startswith("world"):
            code = path.read_text("utf-8")
            assert not [name for name in names if f'"{name}"' in code], path.name


def test_draws_do_not_depend_on_order_and_larger_shares_only_add() -> None:
    rng = np.random.default_rng(5)
    clean = pl.DataFrame(
        {
            "market": [f"0x{number:064x}" for number in range(3000)],
            "topic": rng.choice(["sports", "politics", "crypto"], 3000),
            "total_dollars": 10 ** rng.uniform(2, 7, 3000),
        }
    )
    draw = DrawSettings.model_validate(RAW["draw"])
    plain = drawn(clean, draw, 4)
    mixed = drawn(clean.sample(fraction=1.0, shuffle=True, seed=1), draw, 4)
    assert plain.sort("market").equals(mixed.sort("market"))
    assert plain.columns == list(SAMPLE.schema())
    more = draw.model_copy(update={"share": 0.6})
    assert set(plain["market"]) < set(drawn(clean, more, 4)["market"])
    one = drawn(clean.head(100), draw, 4)
    assert set(one["market"]) == set(plain["market"]) & set(clean.head(100)["market"])
    # Thresholds: strictly above; sports have their own.
    edge = pl.DataFrame(
        {
            "market": ["a", "b", "c", "d", "e"],
            "topic": ["politics", "politics", "sports", "sports", "politics"],
            "total_dollars": [100_000.0, 100_000.01, 100_000.01, 1_000_000.01, 10_000.0],
        }
    )
    every = draw.model_copy(update={"topic_share": dict.fromkeys(draw.topic_share, 1.0)})
    assert drawn(edge, every, 1)["pi_size"].to_list() == [0.3, 1.0, 0.3, 1.0, 0.0]


def test_the_share_is_solved_or_refused() -> None:
    rng = np.random.default_rng(6)
    clean = pl.DataFrame(
        {
            "market": [f"0x{number:064x}" for number in range(4000)],
            "topic": ["politics"] * 4000,
            "total_dollars": 10 ** rng.uniform(3, 6, 4000),
        }
    )
    draw = DrawSettings.model_validate({**RAW["draw"], "share": None, "target": 2500})
    assert abs(drawn(clean, draw, 1).height - 2500) < 4 * 40
    with pytest.raises(ConfigError, match="no common share"):
        drawn(clean, draw.model_copy(update={"target": 3999}), 1)


def test_an_empty_shard_has_empty_tables(service: Service, tmp_path: Path) -> None:
    """More shards than markets is no error."""
    populate(service, after=False)
    service.events = service.events[:1]
    assert crawled(service, tmp_path).height == 4
    assert json.loads((tmp_path / "listing.json").read_text())["files"]
