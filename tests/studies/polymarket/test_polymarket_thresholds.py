"""Worlds of threshold lists: calibrated one by one, nested within events; honest intervals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from polymarket_worlds import WEEK, settings
from remeasure.fetch.manifest import Manifest
from remeasure.stats.cluster_bootstrap import Clusters, draw_counts
from remeasure.studies.polymarket.intervals import (
    INTERVALS,
    TAILS,
    counted,
    estimates,
    resampled_both_ways,
)
from remeasure.studies.polymarket.settings import ThresholdSettings
from remeasure.studies.polymarket.table_intervals import compared, tab_intervals
from remeasure.studies.polymarket.threshold_world import Thresholds, threshold_world
from remeasure.studies.polymarket.thresholds import (
    ThresholdsStep,
    measure_thresholds,
    outcomes,
    truths,
)
from remeasure.studies.polymarket.world import world

SPACING = 0.2


def step(worlds: int, events: int, resamples: int) -> ThresholdsStep:
    asked = ThresholdSettings(
        worlds=worlds, events=events, resamples=resamples, seed=500, spacing=SPACING
    )
    return ThresholdsStep(thresholds=asked, generator=settings())


@pytest.fixture(scope="module")
def made() -> Thresholds:
    return threshold_world(settings(21, 60_000), SPACING)


def test_every_market_alone_wins_as_often_as_its_probability_says(made: Thresholds) -> None:
    """In every range of the probability; events are the draws of chance."""
    cell = np.minimum((made.probability * 12).astype(int), 11)
    surplus = made.won - made.probability
    for each in range(12):
        by_event = np.bincount(made.event[cell == each], surplus[cell == each])
        assert abs(by_event.sum()) < 4 * np.sqrt(np.sum(by_event**2)), each


def test_prices_distort_probabilities_by_the_planted_slope(made: Thresholds) -> None:
    price = made.tick / 10_000
    # Near even odds a tick is as large as the log-odds.
    clear = (price > 0.01) & (price < 0.99) & (abs(price - 0.5) > 0.1)
    p, q = price[clear], made.probability[clear]
    slope = np.log(q / (1 - q)) / np.log(p / (1 - p))
    assert np.median(slope) == pytest.approx(1.12, abs=1e-3)
    assert slope == pytest.approx(np.full(slope.size, 1.12), abs=0.03)


def test_lists_are_nested_and_evenly_spaced(made: Thresholds) -> None:
    """Of two markets of an event the likelier one wins whenever the other does."""
    for name in np.unique(made.event)[:400]:
        rows = made.event == name
        assert np.all(np.diff(made.place[rows]) > 0)
        assert np.all(np.diff(made.won[rows].astype(int)) >= 0)
        log_odds = np.log(made.probability[rows] / (1 - made.probability[rows]))
        steps = np.diff(log_odds) / np.diff(made.place[rows])
        assert steps == pytest.approx(np.full(steps.size, SPACING), abs=1e-6)
    both = np.flatnonzero(np.diff(made.event) == 0)
    surplus = made.won - made.probability
    assert np.corrcoef(surplus[both], surplus[both + 1])[0, 1] > 0.6
    # Apart, markets know nothing of each other.
    apart = np.flatnonzero(np.diff(made.event) > 0)
    assert abs(np.corrcoef(surplus[apart], surplus[apart + 1])[0, 1]) < 4 / np.sqrt(apart.size)


def test_the_middle_of_a_list_is_the_recipes(made: Thresholds) -> None:
    recipe = world(settings(21, 60_000, kappa=0), exclusive=0)
    size = recipe.events.size
    assert np.all(size[made.event] > 1)
    first = np.cumsum(size) - size
    middle = made.place == (size[made.event] - 1) / 2
    assert middle.sum() > 500
    wanted = recipe.probability[first[made.event[middle]], WEEK]
    assert made.probability[middle] == pytest.approx(wanted, abs=1e-9)
    again = threshold_world(settings(21, 60_000, kappa=3), SPACING)
    assert np.array_equal(again.won, made.won)


def test_intervals_of_both_ways_against_resampled_rows() -> None:
    """Percentiles of the return of longshots, rebuilt contract by contract."""
    week = outcomes(threshold_world(settings(5, 4_000), SPACING))
    found = {
        (name, way): (low, high)
        for name, way, _, low, high, _ in resampled_both_ways(week, estimates, 60, 9)
    }
    tick = np.concatenate([week.tick, 10_000 - week.tick])
    won = np.concatenate([week.y, 1 - week.y])
    for way, of in (("events", week.clusters), ("markets", Clusters.alone(week.n))):
        counts = draw_counts(of.count, 60, np.random.default_rng(9))
        for name, (bottom, top) in TAILS.items():
            values = []
            for drawn in counts:
                picked = np.repeat(np.arange(2 * week.n), np.tile(drawn[of.codes], 2))
                picked = picked[(tick[picked] >= bottom) & (tick[picked] < top)]
                values.append(np.mean(10_000 * won[picked] / tick[picked] - 1))
            ends = np.quantile(values, [0.025, 0.975])
            assert found[f"{name}, percentiles", way] == pytest.approx(tuple(ends)), (name, way)


def test_coverage_is_counted_world_by_world() -> None:
    rows = [
        ("skill", "events", 0.4, 0.3, 0.5, 10),
        ("skill", "events", 0.2, 0.1, 0.3, 20),
        ("skill", "events", 0.8, 0.6, 0.9, 30),
        ("skill", "events", 0.4, 0.35, 0.45, 40),
    ]
    row = counted("thresholds", list(rows), {"skill": 0.4}).row(0, named=True)
    assert (row["worlds"], row["covered"], row["below"], row["above"]) == (4, 2, 1, 1)
    assert row["width"] == pytest.approx(0.2)
    assert (row["mean"], row["markets"], row["truth"]) == (pytest.approx(0.45), 25.0, 0.4)


def test_the_truth_is_that_of_other_worlds_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known from large worlds, and met by the outcomes of another one."""
    monkeypatch.setattr("remeasure.studies.polymarket.thresholds.TRUE_WORLDS", 2)
    known = truths(step(2, 500, 50))
    week = outcomes(threshold_world(settings(900, 20_000), SPACING))
    for name, value, low, high in (
        (name, value, low, high)
        for name, way, value, low, high, _ in resampled_both_ways(week, estimates, 100, 1)
        if way == "events" and "percentiles" not in name
    ):
        assert low is not None
        assert high is not None
        assert low - (value - low) < known[name] < high + (high - value), name
    assert known["return, 2-5 cents"] == pytest.approx(-0.324, abs=0.006)
    assert known["return, 95-98 cents"] == pytest.approx(0.0116, abs=0.0005)


@pytest.mark.slow
def test_resampling_markets_misses_what_lists_share_at_the_tails_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty worlds; the workflow measures two hundred."""
    monkeypatch.setattr("remeasure.studies.polymarket.thresholds.TRUE_WORLDS", 2)
    manifest, path = tmp_path / "thresholds.manifest.json", tmp_path / "thresholds.parquet"
    measure_thresholds(manifest=manifest, thresholds=path, settings=step(40, 6_000, 100))
    assert Manifest.read(manifest).origin == "generated"
    found = pl.read_parquet(path)
    held = {
        (row["number"], row["resampled"]): row["covered"] / row["worlds"]
        for row in found.iter_rows(named=True)
    }
    # Forty worlds tell rates to four in a hundred only: all numbers together, and widths.
    of_all = {
        way: np.mean([held[number, way] for number in ("average gap", "skill", *TAILS)])
        for way in ("events", "markets")
    }
    assert 0.87 <= of_all["events"] <= 0.98
    assert of_all["markets"] <= of_all["events"] - 0.06
    own = compared(found).filter(~pl.col("name").str.contains("percentiles"))
    assert own.height == 4
    assert (own["shorter"] < 0.85).all()


def test_the_table_shows_every_kind_of_world(tmp_path: Path) -> None:
    def of(kind: str, number: str, way: str, covered: int, width: float) -> dict[str, object]:
        told = (kind, number, way, 0.5, 0.4, 200, covered, 0, 200 - covered, width, 77.0)
        return dict(zip(INTERVALS.columns, told, strict=True))

    rows = [
        of("thresholds", "skill", "markets", 150, 1.0),
        of("thresholds", "skill", "events", 190, 2.0),
        of("recipe", "skill", "events", 188, 2.0),
        of("recipe", "average gap", "markets", 187, 1.0),
        of("recipe", "average gap", "events", 189, 0.0),
    ]
    table = compared(pl.DataFrame(rows, infer_schema_length=None))
    assert table.rows() == [
        ("recipe", "average gap", 0.5, 0.4, 94.5, 93.5, 200, None),
        ("recipe", "skill", 0.5, 0.4, 94.0, None, 200, None),
        ("threshold lists", "skill", 0.5, 0.4, 95.0, 75.0, 200, 0.5),
    ]
    paths = {name: tmp_path / f"{name}.parquet" for name in ("intervals", "thresholds")}
    pl.DataFrame(rows[2:]).write_parquet(paths["intervals"])
    pl.DataFrame(rows[:2]).write_parquet(paths["thresholds"])
    tab_intervals(**paths, table=tmp_path / "table.html")
    text = (tmp_path / "table.html").read_text("utf-8")
    assert text.count("<tr") == 1 + 3
    assert "threshold lists" in text
    assert "markets resampled" in text
