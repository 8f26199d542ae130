"""The raw answers of a generated world, read back by the study's own crawl and parsers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from polars.testing import assert_frame_equal

from remeasure.fetch.layout import url_to_path
from remeasure.fetch.manifest import Manifest
from remeasure.store.frames import read_frame
from remeasure.store.tables import read_table
from remeasure.studies.polymarket import addresses
from remeasure.studies.polymarket.asof import AsofStep, price_at_horizons
from remeasure.studies.polymarket.features import FeaturesStep, build_forecasts
from remeasure.studies.polymarket.fetch_listing import ListingStep, fetch_listing
from remeasure.studies.polymarket.fetch_prices import PricesStep, fetch_prices
from remeasure.studies.polymarket.fetch_trades import TradesStep, fetch_trades
from remeasure.studies.polymarket.generate import GenerateStep, generate_world
from remeasure.studies.polymarket.listing import slices
from remeasure.studies.polymarket.population import PopulationStep, parse_population
from remeasure.studies.polymarket.sample import SampleStep, draw_sample
from remeasure.studies.polymarket.schema import BOOK_SNAPSHOT, EVENTS, FORECASTS, MARKETS, SAMPLE
from remeasure.studies.polymarket.settings import Settings
from remeasure.studies.polymarket.snapshot import SnapshotStep, parse_snapshot
from remeasure.studies.polymarket.world import HORIZONS, ONE, world
from remeasure.studies.polymarket.world_listing import chain
from remeasure.studies.polymarket.world_names import Names
from remeasure.studies.polymarket.world_series import event_prices, grid
from remeasure.studies.polymarket.world_tables import forecasts, hashed_sample, truth

CONFIG = Path(__file__).parents[3] / "config" / "config.yaml"
EVENTS_MADE = 700


@dataclass(frozen=True)
class Made:
    """A small world: its settings, its folder, and the tables that the study makes of it."""

    settings: GenerateStep
    folder: Path
    names: Names

    def at(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Every step from the generator to ``forecasts``, as the workflow calls them."""
    folder = tmp_path_factory.mktemp("world")
    whole = Settings.model_validate(yaml.safe_load(CONFIG.read_text("utf-8"))["polymarket"])
    settings = GenerateStep(
        generator=whole.generator.model_copy(update={"events": EVENTS_MADE, "seed": 12}),
        draw=whole.draw,
        definitions=whole.definitions,
        crawl=whole.crawl.model_copy(update={"shards": 1}),
        window=whole.window,
        raw=str(folder / "raw"),
    )
    answer = Made(settings, folder, Names(world(settings.generator)))
    at = answer.at
    generate_world(manifest=at("world.manifest.json"), truth=at("truth.parquet"), settings=settings)
    fetched = {"origin": "generated", "crawl": settings.crawl, "raw": settings.raw}
    listings = []
    ranges = slices(settings.definitions.event_usd, settings.crawl.volume_cuts)
    for number, (low, high) in enumerate([*ranges, (None, None)]):
        listings.append(at(f"listing{number}.manifest.json"))
        step = ListingStep(
            **fetched,
            source=f"listing{number}",
            closed=number < len(ranges),
            volume_min=low,
            volume_max=high,
        )
        fetch_listing(manifest=listings[-1], settings=step, world=at("world.manifest.json"))
    parse_snapshot(manifest=listings.pop(), snapshot=at("snapshot.duckdb"), settings=SnapshotStep())
    both = {"population": at("population.duckdb"), "sample": at("sample.duckdb")}
    parse_population(
        listings=listings,
        population=both["population"],
        settings=PopulationStep(window=settings.window, definitions=settings.definitions),
    )
    draw_sample(**both, settings=SampleStep(draw=settings.draw, shards=1))
    fetch_prices(
        **both,
        manifest=at("prices.manifest.json"),
        shard="0",
        settings=PricesStep(**fetched),
        world=at("world.manifest.json"),
    )
    price_at_horizons(
        **both,
        manifest=at("prices.manifest.json"),
        prices=at("prices.parquet"),
        grid=at("grid.parquet"),
        shard="0",
        settings=AsofStep(hosts=settings.crawl.hosts, definitions=settings.definitions),
    )
    fetch_trades(
        **both,
        prices=at("prices.parquet"),
        manifest=at("trades.manifest.json"),
        pages=at("pages.parquet"),
        shard="0",
        settings=TradesStep(**fetched, definitions=settings.definitions),
        world=at("world.manifest.json"),
    )
    build_forecasts(
        **both,
        prices=[at("prices.parquet")],
        grids=[at("grid.parquet")],
        pages=[at("pages.parquet")],
        manifests=[at("trades.manifest.json")],
        forecasts=at("forecasts.duckdb"),
        settings=FeaturesStep(),
    )
    return answer


def test_the_study_reads_back_exactly_what_was_planted(made: Made) -> None:
    """Raw bytes, crawled, parsed, drawn, priced and summed, give the world's own table."""
    sample = hashed_sample(made.names, made.settings.draw)
    planted = forecasts(made.names, sample)
    found = read_table(made.at("forecasts.duckdb"), FORECASTS)
    assert found.height > 1_000
    # Shares are not planted, dollars are sums of rounded products, the rest is exact.
    assert_frame_equal(
        found.drop("week_shares"), planted.drop("week_shares"), rel_tol=1e-9, abs_tol=1e-9
    )
    assert found["price"].equals(planted["price"])
    assert found["weight"].equals(planted["weight"])


def test_the_population_is_the_clean_part_of_the_world(made: Made) -> None:
    inside = made.names.made
    markets = read_table(made.at("population.duckdb"), MARKETS)
    clean = markets.filter(pl.col("reason").is_null())
    assert set(clean["market"]) == set(made.names.conditions(np.flatnonzero(inside.clean)))
    halves = set(made.names.conditions(np.flatnonzero(inside.kept & inside.fifty_fifty)))
    assert set(markets.filter("half")["market"]) == halves
    # One reason at least for each oddity: unresolved, three outcomes, no prices, too early.
    assert markets["reason"].drop_nulls().n_unique() >= 4


def test_oddities_of_the_service_are_all_there(made: Made) -> None:
    """A generator that writes none of them would prove nothing."""
    events = read_table(made.at("population.duckdb"), EVENTS)
    markets = read_table(made.at("population.duckdb"), MARKETS)
    assert set(markets["close_source"].drop_nulls()) == {"market", "event", "uma"}
    root = Path(json.loads(made.at("world.manifest.json").read_text())["root"])
    pages = [
        json.loads(path.read_text("utf-8"))
        for path in root.glob("gamma-api.polymarket.com/events/*")
    ]
    listed = [market for page in pages for event in page["events"] for market in event["markets"]]
    kinds = {type(market["outcomes"]) for market in listed}
    assert kinds == {str, list}
    ids = [market["conditionId"] for market in listed if market["conditionId"]]
    assert len(ids) > len(set(ids)), "no market is listed twice"
    assert any(market["conditionId"] == "" for market in listed)
    assert events["parent"].null_count() < events.height, "no event has a parent"
    bodies = [path.read_text() for path in root.glob("clob.polymarket.com/*")]
    assert any(body == '{"history":[]}' for body in bodies)


def test_a_chain_of_pages_ends_without_a_cursor() -> None:
    pages = [
        (cursor, json.loads(body))
        for cursor, body in chain([{"id": str(each)} for each in range(1_100)], "s1")
    ]
    assert [cursor for cursor, _ in pages] == ["", "s1p1", "s1p2"]
    assert [page.get("next_cursor") for _, page in pages] == ["s1p1", "s1p2", None]
    assert "next_cursor" not in pages[-1][1]
    assert [len(page["events"]) for _, page in pages] == [500, 500, 100]
    assert [json.loads(body) for _, body in chain([], "s2")] == [{"events": []}]


def test_trades_that_agree_in_everything_are_two(made: Made) -> None:
    root = Path(json.loads(made.at("world.manifest.json").read_text())["root"])
    longest, twins = 0, 0
    for path in root.glob("data-api.polymarket.com/*"):
        rows = [json.dumps(row, sort_keys=True) for row in json.loads(path.read_text("utf-8"))]
        longest = max(longest, len(rows))
        twins += len(rows) - len(set(rows))
    assert twins > 0
    assert longest == made.settings.crawl.trades_rows, "no window fills a page"


def test_series_pass_through_the_planted_prices(made: Made) -> None:
    inside = made.names.made
    checked = 0
    for event in range(0, EVENTS_MADE, 3):
        life = float(inside.events.life[event])
        days = grid(life)
        assert np.all(np.diff(days) < 0)
        prices = event_prices(inside, event, days)
        rows = slice(*np.searchsorted(inside.event, [event, event + 1]))
        for position, horizon in enumerate(HORIZONS.values()):
            if horizon <= life:
                assert np.array_equal(
                    prices[:, days == horizon][:, 0], inside.price[rows, position]
                )
                checked += 1
        # Candidates that exclude each other cannot all be favourites at any time.
        if inside.events.exclusive[event]:
            assert np.all((prices > ONE / 2).sum(axis=0) <= 1)
    assert checked > 300


def test_the_truth_covers_the_population(made: Made) -> None:
    table = read_frame(made.at("truth.parquet"))
    inside = made.names.made
    assert table.height == int(inside.alive[inside.clean].sum())
    assert_frame_equal(table, truth(made.names, np.flatnonzero(inside.clean)))
    crypto = table.filter(pl.col("driver").is_not_null())["market"].n_unique()
    assert crypto == int((inside.clean & (inside.direction != 0) & inside.alive[:, -1]).sum())


def test_the_snapshot_has_the_printed_spreads(made: Made) -> None:
    book = read_table(made.at("snapshot.duckdb"), BOOK_SNAPSHOT)
    both = book.filter((pl.col("bid") > 0) & (pl.col("ask") < 1))
    assert 0.35 < both.height / book.height < 0.6
    assert (both["bid"] < both["ask"]).all()
    assert (both["bid"] * 1000 - (both["bid"] * 1000).round()).abs().max() < 1e-9


def test_a_second_run_keeps_every_byte(made: Made) -> None:
    root = Path(json.loads(made.at("world.manifest.json").read_text())["root"])
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}
    victim = sorted(before)[0]
    victim.write_bytes(b"damaged")
    again = made.at("again.manifest.json")
    generate_world(manifest=again, truth=made.at("again.parquet"), settings=made.settings)
    assert again.read_bytes() == made.at("world.manifest.json").read_bytes()
    assert made.at("again.parquet").read_bytes() == made.at("truth.parquet").read_bytes()
    after = {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}
    assert {path for path in before if before[path] != after[path]} == {victim}


def test_the_sample_is_the_hash_draw(made: Made) -> None:
    sample = hashed_sample(made.names, made.settings.draw)
    table = read_table(made.at("sample.duckdb"), SAMPLE)
    assert set(table["market"]) == set(made.names.conditions(sample.market))


def test_every_address_is_one_that_the_crawl_knows(made: Made) -> None:
    """The files of the world that no step of this study asks for: none but the charts'."""
    listed = Manifest.read(made.at("world.manifest.json"))
    asked = set()
    for name in ("listing0", "listing1", "listing2", "prices", "trades"):
        asked |= {entry.path for entry in Manifest.read(made.at(f"{name}.manifest.json")).files}
    rest = {entry.path for entry in listed.files} - asked
    charts = {url_to_path(addresses.bill_rate(made.settings.crawl.hosts))}
    assert charts <= rest
    other = [path for path in rest if path.startswith("data-api.polymarket.com")]
    assert not other, "trades that nobody asks for"
    assert len(rest) < 40
