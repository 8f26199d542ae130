"""The stag hunt: a crowd in which trust pays only where enough others trust."""

from __future__ import annotations

from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.store.frames import write_frame, write_json
from remeasure.store.schema import declare
from remeasure.studies.game_theory.payoffs import Floats
from remeasure.studies.game_theory.published import answer_known, argument, conditions, measurement

OUTPUTS = ("fig_stag",)

#: Payoffs: the stag to each of two hunters, the stag to one alone, the hare to anybody.
STAG, ALONE, HARE = 4.0, 0.0, 3.0

POINTS = 201

CURVES = declare(
    "stag hunt",
    {
        "p": dy.Float64(min=0, max=1),
        "stag": dy.Float64(),
        "hare": dy.Float64(),
        "change": dy.Float64(),
    },
)


def stag(p: Floats) -> Floats:
    """Expected catch of a stag hunter where a share p of the others hunts the stag too."""
    return p * STAG + (1 - p) * ALONE


def change(p: Floats) -> Floats:
    """Replicator equation: dp/dt = p(1 - p)(stag - hare)."""
    return p * (1 - p) * (stag(p) - HARE)


def crossing() -> float:
    """The share of stag hunters above which hunting the stag pays."""
    return (HARE - ALONE) / (STAG - ALONE)


def fixed_points() -> dict[float, bool]:
    """Where the share stands still, and whether it returns there after a small push."""
    step = 1e-6
    found = {}
    for p in (0.0, crossing(), 1.0):
        below, above = change(np.array([p - step, p + step]))
        inside = [flow for flow, at in ((below, p - step), (-above, p + step)) if 0 < at < 1]
        found[p] = all(flow > 0 for flow in inside)
    return found


def measure_stag(*, curves: Path, points: Path) -> list[Measurement]:
    """Step: expected catches against the share of stag hunters, and where it stands still.

    Parameters
    ----------
    curves
        Output, Parquet: see `CURVES`.
    points
        Output, JSON: the crossing and the fixed points with their stability.
    """
    p: Floats = np.linspace(0, 1, POINTS)
    write_frame(
        pl.DataFrame({"p": p, "stag": stag(p), "hare": np.full(POINTS, HARE), "change": change(p)}),
        curves,
        CURVES,
    )
    write_json(
        {
            "crossing": crossing(),
            "fixed_points": [{"p": at, "stable": stable} for at, stable in fixed_points().items()],
        },
        points,
    )
    half = float(stag(np.array(0.5)))
    figure = "fig_stag"
    return answer_known(
        [
            measurement((figure, "stag to each hunter", ""), STAG),
            measurement((figure, "hare", ""), HARE),
            measurement((figure, "stag alone", ""), ALONE),
            measurement(
                (
                    figure,
                    "share above which hunting the stag pays",
                    f"{STAG:g}p > {HARE:g}",
                ),
                crossing(),
            ),
            *(
                measurement(
                    (figure, "expected catch of the stag", condition),
                    float(stag(np.array(float(argument(condition))))),
                )
                for condition in conditions(figure, "expected catch of the stag")
            ),
            measurement(
                (figure, "risk-dominant equilibrium", f"p=1/2: {half:g} < {HARE:g}"),
                "hare" if half < HARE else "stag",
            ),
        ],
        OUTPUTS,
    )
