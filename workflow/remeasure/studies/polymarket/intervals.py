"""Do the intervals cover? Many generated worlds whose truth is known, each measured like data.

In every world the study's own 95% intervals are made for the average gap, for the returns at
both tails, for skill and for the slope of recalibration, once by resampling events and once by
resampling markets. What should happen is known: an honest interval holds the truth in about 95
of 100 worlds.

Two kinds of worlds are needed. In the recipe's, outcomes of one event depend on each other only
against each other (one candidate wins), which makes means steadier, if anything: there
resampling markets does no harm. In ladders, every event with several markets asks nearly the
same question several times, as lists of deadlines and thresholds do; there markets are not so
many draws of chance as there are rows. Lists of thresholds, where one number settles a whole
event, are worlds of `thresholds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import dataframely as dy
import numpy as np
import polars as pl
from numpy.typing import NDArray

from remeasure.fetch.manifest import Manifest
from remeasure.model import Model
from remeasure.stats.calibration import gap
from remeasure.stats.cluster_bootstrap import Clusters, draw_counts
from remeasure.stats.platt import fit_platt, resampled_platt
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.polymarket.band_sums import by_band
from remeasure.studies.polymarket.estimates import Estimate, Resampling, Rows, Scored, ends
from remeasure.studies.polymarket.settings import (
    DrawSettings,
    GeneratorSettings,
    WorldsSettings,
)
from remeasure.studies.polymarket.world import (
    DRAW,
    EXCLUSIVE_SHARE,
    REAL_TRADING,
    WEEK,
    World,
    draw,
    world,
)

Floats = NDArray[np.float64]

#: Returns at the tails, and their bands in ten-thousandths.
TAILS: Final = {"return, 2-5 cents": (200, 500), "return, 95-98 cents": (9500, 9800)}
EDGES: Final = tuple(sorted(edge for band in TAILS.values() for edge in band))

#: The recipe's draws with more by topic, so that smaller worlds hold enough markets, and more
#: of them from one event.
DENSER: Final = DRAW.model_copy(
    update={"topic_share": {name: min(1.0, 5 * rate) for name, rate in DRAW.topic_share.items()}}
)

#: One world in so many is refitted: every resample is a fit.
FITTED: Final = 10

#: Worlds and events from which the truth is computed, with probabilities for outcomes.
TRUE_WORLDS, TRUE_EVENTS = 2, 60_000

INTERVALS = declare(
    "coverage of intervals",
    {
        "kind": one_of(["recipe", "ladders", "thresholds"]),
        "number": dy.String(),
        "resampled": one_of(["events", "markets"]),
        "truth": dy.Float64(),
        "mean": dy.Float64(),
        "worlds": dy.Int64(min_exclusive=0),
        "covered": dy.Int64(min=0),
        "below": dy.Int64(min=0),
        "above": dy.Int64(min=0),
        "width": dy.Float64(),
        "markets": dy.Float64(),
    },
    unique=["kind", "number", "resampled"],
)
"""One row a kind of world, number and way of resampling: the truth, the mean estimate, in how
many worlds the interval held the truth, lay below or above it, its mean width, and the mean
number of really traded markets."""


#: Estimates by name of the markets of a world, from so many resamples and a seed.
Measure = Callable[[Rows, int, int], Iterator[tuple[str, Estimate]]]

#: A number of one world: its name, ``events`` or ``markets``, estimate, both ends, markets.
Found = tuple[str, str, float, float | None, float | None, int]


@dataclass(frozen=True)
class Kind:
    """How the events with several markets of a kind of world hang together; see `world`."""

    name: str
    exclusive: float
    shared: float


def kinds(settings: WorldsSettings) -> tuple[Kind, Kind]:
    """The study's recipe, and ladders in which nothing excludes and markets share a fate."""
    return Kind("recipe", EXCLUSIVE_SHARE, 0.0), Kind("ladders", 0.0, settings.shared)


class Repeated(Resampling):
    """The draws of `Resampling` for one number of clusters, made once and used again."""

    @cached_property
    def _drawn(self) -> dict[int, Floats]:
        return {}

    def of(self, sums: Floats) -> Floats:
        """Sums over each resample from sums of each cluster."""
        count = sums.shape[0]
        if count not in self._drawn:
            rng = np.random.default_rng(self.seed)
            self._drawn[count] = draw_counts(count, self.resamples, rng).astype(np.float64)
        flat = self._drawn[count] @ sums.reshape(count, -1)
        return np.asarray(flat.reshape(self.resamples, *sums.shape[1:]))


class IntervalsStep(Model):
    """The many worlds: how many, how large, how often each is resampled; the planted slopes."""

    worlds: WorldsSettings
    generator: GeneratorSettings


def measure_intervals(*, manifest: Path, intervals: Path, settings: IntervalsStep) -> None:
    """Step: how often intervals cover.

    Parameters
    ----------
    manifest
        Output, JSON: lists no raw file, but says that the origin is ``generated``.
    intervals
        Output, Parquet: see ``INTERVALS``.
    """
    frames = [coverage(kind, settings) for kind in kinds(settings.worlds)]
    write_frame(pl.concat(frames), intervals, INTERVALS)
    Manifest.of("polymarket_intervals", "generated", ".", []).write(manifest)


def coverage(kind: Kind, settings: IntervalsStep) -> pl.DataFrame:
    """Rows of ``INTERVALS`` of one kind of world."""
    rows: list[Found] = []
    for place in range(settings.worlds.worlds):
        seed, resamples = settings.worlds.seed + place, settings.worlds.resamples
        made = _world(kind, settings, seed, settings.worlds.events)
        # Slopes need the recipe's own draws: their bias comes from what the draws prefer.
        sets = [(estimates, really_traded(made, DENSER))]
        if place % FITTED == 0:
            sets.append((slopes, really_traded(made, DRAW)))
        for measure, week in sets:
            rows += resampled_both_ways(week, measure, resamples, seed)
    return counted(kind.name, rows, truths(kind, settings))


def resampled_both_ways(week: Rows, measure: Measure, resamples: int, seed: int) -> Iterator[Found]:
    """The intervals of one world from resampled events, then from resampled markets."""
    for resampled, grouped in (("events", week), ("markets", week.ungrouped())):
        for number, each in measure(grouped, resamples, seed):
            if each.low is not None:
                yield number, resampled, each.value, each.low, each.high, week.n


def counted(kind: str, rows: list[Found], truth: Mapping[str, float]) -> pl.DataFrame:
    """Rows of ``INTERVALS`` from the intervals of every world and the truth of every number."""
    table = pl.DataFrame(
        rows, schema=["number", "resampled", "value", "low", "high", "n"], orient="row"
    ).with_columns(truth=pl.col("number").replace_strict(truth, return_dtype=pl.Float64))
    return (
        table.group_by("number", "resampled", maintain_order=True)
        .agg(
            pl.lit(kind).alias("kind"),
            pl.col("truth").first(),
            pl.col("value").mean().alias("mean"),
            pl.len().cast(pl.Int64).alias("worlds"),
            pl.col("truth").is_between("low", "high").sum().cast(pl.Int64).alias("covered"),
            (pl.col("high") < pl.col("truth")).sum().cast(pl.Int64).alias("below"),
            (pl.col("low") > pl.col("truth")).sum().cast(pl.Int64).alias("above"),
            (pl.col("high") - pl.col("low")).mean().alias("width"),
            pl.col("n").mean().alias("markets"),
        )
        .select(*INTERVALS.columns)
    )


def _world(kind: Kind, settings: IntervalsStep, seed: int, events: int) -> World:
    asked = settings.generator.model_copy(update={"seed": seed, "events": events})
    return world(asked, exclusive=kind.exclusive, shared=kind.shared)


def really_traded(made: World, drawn: DrawSettings = DENSER) -> Rows:
    """The sampled markets that were really traded a week before the close."""
    sample = draw(made, drawn)
    traded = made.week_cents[sample.market, WEEK] >= 100 * REAL_TRADING
    market = sample.market[traded]
    return Rows(
        tick=made.price[market, WEEK],
        y=made.first_won[market].astype(np.float64),
        w=sample.weight[traded],
        clusters=Clusters.of(made.event[market]),
    )


def estimates(rows: Rows, resamples: int, seed: int) -> Iterator[tuple[str, Estimate]]:
    """The study's own estimates and intervals of gap, skill and tails, by name."""
    resampling = Repeated(resamples, seed)
    scored = Scored.of(rows, resampling)
    found = scored.gap()
    yield "average gap", found
    low, high = np.quantile(gap(scored.drawn), [0.025, 0.975])
    yield "average gap, percentiles", replace(found, low=float(low), high=float(high))
    yield "skill", scored.part("skill")
    both = rows.both_sides()
    own, plain = (by_band(both, EDGES, resampling, percentiles=each) for each in (False, True))
    for name, (low, _) in TAILS.items():
        band = EDGES.index(low)
        yield name, own[band, "return"]
        yield f"{name}, percentiles", plain[band, "return"]


def slopes(rows: Rows, resamples: int, seed: int) -> Iterator[tuple[str, Estimate]]:
    """The slope with the weights of the sample and without, refitted in every resample."""
    for name, w in (("slope, weighted", rows.w), ("slope, unweighted", np.ones_like(rows.w))):
        line = fit_platt(rows.p, rows.y, w)
        rng = np.random.default_rng(seed)
        drawn = resampled_platt(rows.p, rows.y, w, rows.clusters, resamples, rng)[:, 0]
        low, high = ends(line.slope, drawn)
        yield name, Estimate(value=line.slope, low=low, high=high)


def truths(kind: Kind, settings: IntervalsStep) -> dict[str, float]:
    """What the intervals should hold, by name: means over large worlds of what they rest on.

    Probabilities stand in the place of outcomes and whole populations in that of samples.
    Markets hang together in the estimates only, never in their means.
    """
    alone = Kind(kind.name, kind.exclusive, 0.0)
    parts = [
        _population(_world(alone, settings, settings.worlds.seed - 1 - place, TRUE_EVENTS))
        for place in range(TRUE_WORLDS)
    ]
    rows = Rows(
        tick=np.concatenate([each.tick for each in parts]),
        y=np.concatenate([each.y for each in parts]),
        w=np.concatenate([each.w for each in parts]),
        clusters=Clusters.alone(sum(each.n for each in parts)),
    )
    known = known_numbers(rows)
    known["slope, weighted"] = known["slope, unweighted"] = settings.generator.distortion[0]
    return known


def known_numbers(rows: Rows) -> dict[str, float]:
    """Truths by name from markets of large worlds with probabilities in the place of outcomes."""
    scored, both = Scored.of(rows, None), rows.both_sides()
    known = {"average gap": float(gap(scored.moments))}
    known["skill"] = float(scored.parts.skill)
    for name, (low, high) in TAILS.items():
        inside = (both.tick >= low) & (both.tick < high)
        known[name] = float(np.mean(both.y[inside] / both.p[inside] - 1))
    known |= {f"{name}, percentiles": known[name] for name in ("average gap", *TAILS)}
    assert all(map(math.isfinite, known.values()))  # noqa: S101 - large worlds fill all bands
    return known


def _population(made: World) -> Rows:
    market = np.flatnonzero(made.clean & (made.week_cents[:, WEEK] >= 100 * REAL_TRADING))
    return Rows(
        tick=made.price[market, WEEK],
        y=made.probability[market, WEEK],
        w=np.ones(market.size),
        clusters=Clusters.alone(market.size),
    )
