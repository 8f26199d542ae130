"""No belief has a free energy below the surprisal: the bound, and how close beliefs come."""

from __future__ import annotations

from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.store.frames import write_frame, write_json
from remeasure.store.schema import declare
from remeasure.studies.free_energy.food import (
    best_belief,
    best_centre,
    best_width,
    coarse_surprisal,
    free_energy,
    positive,
    whole_line,
)
from remeasure.studies.free_energy.published import answer_known, argument, conditions, measurement
from remeasure.studies.free_energy.settings import BoundSettings

OUTPUTS = ("fig_bound", "stat_bound_violations")

#: Widths of the beliefs that are held against the bound beside the drawn ones.
NARROWEST, WIDEST, WIDTHS = 0.02, 3.0, 300

CURVES = declare(
    "free energy of beliefs",
    {
        "centre": dy.Float64(),
        "fixed": dy.Float64(),
        "best": dy.Float64(),
        "best_width": dy.Float64(min_exclusive=0),
    },
)


class BoundStep(Model):
    """Settings of `measure_bound`."""

    bound: BoundSettings


def curves(settings: BoundSettings) -> pl.DataFrame:
    """Free energy by centre, at the fixed width and at the best one."""
    centre = np.linspace(settings.first, settings.last, settings.points)
    width = best_width(centre)
    return pl.DataFrame(
        {
            "centre": centre,
            "fixed": free_energy(centre, np.full(centre.size, settings.width)),
            "best": free_energy(centre, width),
            "best_width": width,
        }
    )


def few_hundredths(gap: float) -> str:
    """What to call a gap: the essay says that it is a few hundredths.

    >>> few_hundredths(0.0268), few_hundredths(0.3)
    ('a few hundredths', 'about 0.3')
    """
    return "a few hundredths" if 0.015 <= gap < 0.095 else f"about {gap:.1g}"


def measure_bound(*, table: Path, summary: Path, settings: BoundStep) -> list[Measurement]:
    """Step: free energies of Gaussian beliefs against the surprisal of the observation.

    Parameters
    ----------
    table
        Output, Parquet: see `CURVES`.
    summary
        Output, JSON: surprisal, the best belief, and beliefs below the surprisal.
    """
    drawn = curves(settings.bound)
    every, above = whole_line(), positive()
    centre, width = best_belief()
    least = float(free_energy(np.array(centre), np.array(width)))
    widths = np.geomspace(NARROWEST, WIDEST, WIDTHS)
    tried = free_energy(drawn["centre"].to_numpy()[:, None], widths)
    shown = drawn.select("fixed", "best").to_numpy()
    below = int((tried < every.surprisal).sum() + (shown < every.surprisal).sum())
    beliefs = int(tried.size + shown.size)
    write_frame(drawn, table, CURVES)
    write_json(
        {
            "surprisal": every.surprisal,
            "width": settings.bound.width,
            "best": {"centre": centre, "width": width, "free_energy": least},
            "below": below,
            "beliefs": beliefs,
        },
        summary,
    )
    figure = "fig_bound"
    minimum = "minimum over centre and width"
    gap = least - every.surprisal
    prior = "prior N(3,1), likelihood N(v^2,1), u=2"
    surprisal = "surprisal (derived)"
    answers = [
        measurement((figure, "surprisal of the observation", prior), every.surprisal),
        measurement((figure, surprisal, "integral over the whole line"), every.surprisal),
        measurement((figure, surprisal, "integral over v>0"), above.surprisal),
        measurement((figure, surprisal, "grid 0.01..5 step 0.01, Riemann sum"), coarse_surprisal()),
        measurement((figure, "evidence p(u) (derived)", "whole line"), every.evidence),
        measurement(
            (figure, "centre of the best Gaussian belief", "as drawn"),
            f"near {centre:.1f}",
            note=f"at {centre:.4f}",
        ),
        measurement((figure, "centre of the best Gaussian belief (derived)", minimum), centre),
        measurement((figure, "width of the best Gaussian belief (derived)", minimum), width),
        measurement((figure, "free energy of the best belief (derived)", minimum), least),
        measurement(
            (figure, "gap of the best belief to the surprisal", "as stated"),
            few_hundredths(gap),
            note=f"{gap:.4f} nats",
        ),
        measurement((figure, "gap of the best belief (derived)", "vs whole-line surprisal"), gap),
        measurement(
            (figure, "gap of the best belief (derived)", "vs v>0 surprisal"),
            least - above.surprisal,
            note="a belief on the whole line against the surprisal of positive sizes",
        ),
        measurement(
            ("stat_bound_violations", "beliefs below the surprisal", "all beliefs drawn"),
            below,
            n=beliefs,
        ),
    ]
    return answer_known([*answers, *_at_centres(), *_at_widths()], OUTPUTS)


def _at_centres() -> list[Measurement]:
    answers = []
    for condition in conditions("fig_bound", "best width (derived)"):
        centre = np.array(argument(condition))
        width = best_width(centre)
        answers += [
            measurement(("fig_bound", "best width (derived)", condition), float(width)),
            measurement(
                ("fig_bound", "free energy at the best width (derived)", condition),
                float(free_energy(centre, width)),
            ),
        ]
    return answers


def _at_widths() -> list[Measurement]:
    quantity = "lowest free energy at a fixed width (derived)"
    answers = []
    for condition in conditions("fig_bound", quantity):
        width = argument(condition)
        centre = best_centre(width)
        answers.append(
            measurement(
                ("fig_bound", quantity, condition),
                float(free_energy(np.array(centre), np.array(width))),
                note=f"at the centre {centre:.6f}",
            )
        )
    return answers
