"""The numbers of many worlds: the prototype's, and how often intervals cover."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from polymarket_worlds import settings
from remeasure.fetch.manifest import Manifest
from remeasure.studies.polymarket.estimates import Resampling
from remeasure.studies.polymarket.intervals import IntervalsStep as Step
from remeasure.studies.polymarket.intervals import (
    Repeated,
    coverage,
    kinds,
    really_traded,
    truths,
)
from remeasure.studies.polymarket.published import measurable
from remeasure.studies.polymarket.settings import WorldsSettings
from remeasure.studies.polymarket.synthetic import OUTPUTS, SyntheticStep, measure_synthetic
from remeasure.studies.polymarket.world import DRAW, world


def step(worlds: int, events: int, resamples: int) -> Step:
    asked = WorldsSettings(worlds=worlds, events=events, resamples=resamples, seed=400, shared=0.9)
    return Step(worlds=asked, generator=settings())


LADDERS = kinds(step(2, 500, 50).worlds)[1]


def test_every_row_of_the_prototype_is_answered(tmp_path: Path) -> None:
    asked = SyntheticStep(generator=settings(), worlds=2, events=3_000)
    manifest = tmp_path / "synthetic.manifest.json"
    measured = measure_synthetic(
        manifest=manifest, synthetic=tmp_path / "synthetic.parquet", settings=asked
    )
    rows = measurable(OUTPUTS)
    assert Manifest.read(manifest).origin == "generated"
    truths = {(each.quantity, each.truth) for each in measured if each.truth is not None}
    assert truths == {
        ("Platt slope", 1.12),
        ("Platt slope, weighted, prototype mean", 1.12),
        ("Platt intercept", 0.0),
    }
    assert [each.condition for each in measured] == [row.condition for row in rows]
    assert all(each.value is not None for each in measured)
    exact = {each.quantity: each.value for each in measured if "truth" in each.condition}
    assert exact["Platt slope"] == pytest.approx(1.12, abs=5e-4)
    assert exact["Platt intercept"] == pytest.approx(0, abs=5e-4)
    assert all("2 worlds" in each.coverage for each in measured)


@pytest.mark.slow
def test_the_generator_is_the_cards(tmp_path: Path) -> None:
    """Four worlds at full size: every number within four standard errors of the prototype's."""
    asked = SyntheticStep(generator=settings(), worlds=4)
    table = tmp_path / "synthetic.parquet"
    measured = measure_synthetic(
        manifest=tmp_path / "synthetic.manifest.json", synthetic=table, settings=asked
    )
    spread = {
        (row["quantity"], row["condition"]): row["value"]
        for row in pl.read_parquet(table)
        .group_by("quantity", "condition")
        .agg(pl.col("value").std())
        .iter_rows(named=True)
    }
    printed = {(row.quantity, row.condition): row.number for row in measurable(OUTPUTS)}
    for each in measured:
        key = each.quantity, each.condition
        if "truth" in each.condition:
            continue
        assert isinstance(each.value, float)
        wanted = printed[key]
        assert wanted is not None
        # The prototype's own error is half of that of four worlds; noise of the spread aside.
        error = max(spread[key], 0.03 * float(wanted)) * np.sqrt(1 / 4 + 1 / 16)
        assert abs(each.value - float(wanted)) < 4 * error, key


def test_repeated_draws_are_the_draws() -> None:
    sums = np.random.default_rng(0).random((40, 3, 2))
    assert Repeated(30, 7).of(sums) == pytest.approx(Resampling(30, 7).of(sums), abs=1e-12)


def test_the_truth_does_not_depend_on_how_markets_hang_together() -> None:
    """What a ladder's single market is worth is what it is worth alone."""
    known = truths(LADDERS, step(2, 500, 50))
    again = truths(LADDERS, step(3, 900, 60))
    assert known == again
    assert known["slope, weighted"] == 1.12
    assert known["return, 2-5 cents"] == pytest.approx(-0.325, abs=0.01)
    assert 0.01 < known["average gap"] < 0.02


@pytest.mark.slow
def test_resampling_markets_hides_what_ladders_share() -> None:
    """Forty worlds of ladders; the workflow measures two hundred of both kinds."""
    found = coverage(LADDERS, step(40, 6_000, 100))
    share = {
        (row["number"], row["resampled"]): row["covered"] / row["worlds"]
        for row in found.iter_rows(named=True)
    }
    width = {(row["number"], row["resampled"]): row["width"] for row in found.iter_rows(named=True)}
    for number in ("average gap", "skill", "return, 2-5 cents", "return, 95-98 cents"):
        assert share[number, "events"] >= 0.85, number
        assert width[number, "markets"] < width[number, "events"], number
    assert width["skill", "markets"] < 0.85 * width["skill", "events"]
    assert share["skill", "markets"] < share["skill", "events"]
    # Percentiles of a sum of absolute values miss it: chance is counted twice.
    assert share["average gap, percentiles", "events"] < 0.5


def test_the_weighted_slope_beats_the_unweighted_one() -> None:
    """Over worlds the weighted slope is right on average, the other one too low throughout."""
    from remeasure.stats.platt import fit_platt

    slopes = []
    for seed in range(8):
        week = really_traded(world(settings(700 + seed, 12_000)), DRAW)
        slopes.append([fit_platt(week.p, week.y, w).slope for w in (week.w, np.ones_like(week.w))])
    weighted, plain = np.array(slopes).T
    assert abs(weighted.mean() - 1.12) < 3 * weighted.std() / np.sqrt(8)
    assert plain.mean() < weighted.mean() - 0.08
