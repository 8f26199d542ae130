"""The synthetic market at the card's scale against the numbers of its prototype.

These numbers say that the generator is the one that the card describes: that it plants the
slope it claims, that the volume trap appears when trading follows surprise and is gone when it
does not, and that skill grows towards the close. They are means over worlds; the intervals are
those of a mean over independent worlds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import dataframely as dy
import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtrit

from remeasure.fetch.manifest import Manifest
from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.stats.calibration import skill
from remeasure.stats.platt import fit_platt
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.studies.polymarket.published import answer_all
from remeasure.studies.polymarket.settings import GeneratorSettings
from remeasure.studies.polymarket.world import (
    HORIZON_NAMES,
    ONE,
    REAL_TRADING,
    WEEK,
    Sample,
    World,
    draw,
    world,
)

Floats = NDArray[np.float64]
Key = tuple[str, str]

OUTPUTS = ("check_synthetic",)

#: The prototype's scale: worlds and events of each.
SEEDS, EVENTS = 16, 60_000
KAPPAS: Final = (1.2, 0.0)

#: Bins of dollars, the upper end left out.
TOTAL: Final = {
    "under $1K": (0, 1e3),
    "$1K-10K": (1e3, 1e4),
    "$10K-100K": (1e4, 1e5),
    "$100K-1M": (1e5, 1e6),
}
DOLLARS: Final = {
    "under $100": (0, 1e2),
    "$100-1K": (1e2, 1e3),
    "$1K-10K": (1e3, 1e4),
    "$10K-100K": (1e4, 1e5),
}
PANEL: Final = {"1 month": "month", "1 week": "week", "1 day": "day"}

#: Numbers whose truth the generator plants: the slope of the really traded markets in its
#: settings, and no intercept. The weighted fit is right up to a bias of one over the number of
#: markets, far within its interval; the unweighted one is not, and everything else is a ratio
#: or a score of a finite population whose truth no setting holds.
SLOPES: Final = ("Platt slope", "Platt slope, weighted, prototype mean")
PLANTED: Final = {"Platt intercept": 0.0}

SYNTHETIC = declare(
    "the synthetic market",
    {
        "seed": dy.Int64(),
        "quantity": dy.String(),
        "condition": dy.String(),
        "value": dy.Float64(),
    },
    unique=["seed", "quantity", "condition"],
)
"""One row a world and number."""


class SyntheticStep(Model):
    """Seeds and size of the worlds, and the planted slopes."""

    generator: GeneratorSettings
    worlds: int = SEEDS
    events: int = EVENTS


def measure_synthetic(
    *, manifest: Path, synthetic: Path, settings: SyntheticStep
) -> list[Measurement]:
    """Step: means over worlds of the card's scale.

    Parameters
    ----------
    manifest
        Output, JSON: lists no raw file, but says that the origin is ``generated``.
    synthetic
        Output, Parquet: see ``SYNTHETIC``.
    """
    rows = []
    for place in range(settings.worlds):
        seed = settings.generator.seed + place
        for kappa in KAPPAS:
            asked = {"seed": seed, "events": settings.events, "kappa": kappa}
            made = world(settings.generator.model_copy(update=asked))
            for (quantity, condition), value in _numbers(made, kappa):
                rows.append((seed, quantity, condition, value))
    table = pl.DataFrame(rows, schema=list(SYNTHETIC.columns), orient="row")
    write_frame(table, synthetic, SYNTHETIC)
    Manifest.of("polymarket_synthetic", "generated", ".", []).write(manifest)
    whole = settings.worlds == SEEDS and settings.events == EVENTS
    covered = WHOLE if whole else f"{settings.worlds} worlds of {settings.events} events"
    planted = {**PLANTED, **dict.fromkeys(SLOPES, settings.generator.distortion[0])}
    measured = [
        _answer(
            (str(quantity), str(condition)),
            each["value"].to_numpy(),
            covered,
            planted.get(str(quantity)),
        )
        for (quantity, condition), each in table.group_by(
            "quantity", "condition", maintain_order=True
        )
    ]
    return answer_all(measured, OUTPUTS, "no world has it")


def _answer(key: Key, values: Floats, covered: str, truth: float | None) -> Measurement:
    quantity, condition = key
    mean = float(values.mean())
    low = high = None
    if values.size > 1 and "generator truth" not in condition:
        reach = stdtrit(values.size - 1, 0.975) * values.std(ddof=1) / np.sqrt(values.size)
        low, high = mean - float(reach), mean + float(reach)
    return Measurement(
        output_id=OUTPUTS[0],
        quantity=quantity,
        condition=condition,
        value=mean,
        low=low,
        high=high,
        n=int(values.size),
        truth=truth,
        coverage=covered,
    )


def _numbers(made: World, kappa: float) -> Iterator[tuple[Key, float]]:
    sample = draw(made)
    words = f"kappa {kappa:g}"
    yield from _trap(made, sample, words, with_dollars=kappa > 0)
    if kappa == 0:
        return
    yield from _truth(made)
    traded = made.week_cents[sample.market, WEEK] >= 100 * REAL_TRADING
    market, w = sample.market[traded], sample.weight[traded]
    p, y = made.price[market, WEEK] / ONE, made.first_won[market]
    for name, v in (("weighted", w), ("unweighted", None)):
        key = f"Platt slope, {name}, prototype mean", f"{words}, {SEEDS} seeds"
        yield key, fit_platt(p, y, v).slope
    places = [HORIZON_NAMES.index(name) for name in PANEL.values()]
    whole = (made.week_cents[sample.market][:, places] >= 100 * REAL_TRADING).all(axis=1)
    market, w = sample.market[whole], sample.weight[whole]
    for words, place in zip(PANEL, places, strict=True):
        price = made.price[market, place] / ONE
        yield ("panel skill, prototype mean", words), skill(price, made.first_won[market], w)


def _truth(made: World) -> Iterator[tuple[Key, float]]:
    """The line through the true probabilities of all really traded markets: no noise in it."""
    rows = made.clean & (made.week_cents[:, WEEK] >= 100 * REAL_TRADING)
    line = fit_platt(made.price[rows, WEEK] / ONE, made.probability[rows, WEEK])
    where = "generator truth, really-traded set"
    yield ("Platt slope", where), line.slope
    yield ("Platt intercept", where), line.intercept


def _trap(
    made: World, sample: Sample, words: str, *, with_dollars: bool
) -> Iterator[tuple[Key, float]]:
    """Won over paid of 2-20 cent contracts in the draw by topic, by both kinds of volume."""
    rows = sample.in_topic_draw & made.alive[sample.market, WEEK]
    market, w = sample.market[rows], 1 / sample.pi_topic[rows]
    tick, won = made.price[market, WEEK], made.first_won[market]
    both = np.concatenate([tick, ONE - tick])
    cheap = (both >= 200) & (both < 2000)
    paid = np.tile(w, 2) * both / ONE * cheap
    gained = np.tile(w, 2) * np.concatenate([won, ~won]) * cheap
    panels = [("total volume", made.total_dollars[market], TOTAL)]
    if with_dollars:
        panels.append(("week-before dollars", made.week_cents[market, WEEK] / 100, DOLLARS))
    for by, dollars, bins in panels:
        for name, (low, high) in bins.items():
            inside = np.tile((dollars >= low) & (dollars < high), 2)
            key = f"win share / price by {by}, prototype mean", f"{words}, {name}"
            yield key, float(gained[inside].sum() / paid[inside].sum())
