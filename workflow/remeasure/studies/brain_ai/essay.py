"""The quoted facts as one table, and everything that the essay computes or that follows."""

from __future__ import annotations

from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl

from remeasure.ledger.measurement import Measurement, not_run
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.studies.brain_ai.conversions import CONVERSIONS, conversions, rounded_to
from remeasure.studies.brain_ai.dopamine import errors, learned, shown, trial_times
from remeasure.studies.brain_ai.facts import FACTS, facts
from remeasure.studies.brain_ai.maps import box, grid, neighbours, place, trough
from remeasure.studies.brain_ai.published import answer, answer_all, rows
from remeasure.studies.brain_ai.settings import DopamineSettings, MapSettings

ERRORS = declare(
    "prediction errors of three trials",
    {
        "trial": dy.String(),
        "time": dy.Int64(),
        "error": dy.Float64(),
    },
    unique=["trial", "time"],
)
MAPS = declare(
    "firing maps",
    {
        "x": dy.Float64(min=0),
        "y": dy.Float64(min=0),
        "place": dy.Float64(min=0, max=1),
        "grid": dy.Float64(min=-1e-9, max=1 + 1e-9),
    },
)

#: Trials as the rows of the reference call them.
TRIALS = ("before learning", "after learning", "reward withheld after learning")

#: Values that count as learned: errors below a millionth are rounding.
TOLERANCE = 1e-6

#: What the essay prints round, and at how many digits; the words stand before the number.
ABOUT = {
    ("fig_energy", "training Llama 3.1 405B, GPUs alone", "as printed in the chart"): 3,
    ("fig_energy", "training Llama 3.1 405B", "as printed in the text"): 2,
}


class EssayStep(Model):
    """Settings of `measure_essay`; see `remeasure.studies.brain_ai.settings.Settings`."""

    dopamine: DopamineSettings
    maps: MapSettings


def trials(settings: DopamineSettings) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Errors of the three recorded trials, cue first and reward last."""
    values = learned(settings.steps, settings.discount, settings.rate, settings.trials)
    known = (
        errors(np.zeros(settings.steps), settings.discount),
        errors(values, settings.discount),
        errors(values, settings.discount, reward=0.0),
    )
    return dict(zip(TRIALS, known, strict=True))


def errors_frame(settings: DopamineSettings) -> pl.DataFrame:
    """The trials with the quiet steps around them, as `ERRORS`."""
    time = trial_times(settings.steps)
    return pl.concat(
        [
            pl.DataFrame({"trial": [name] * time.size, "time": time, "error": shown(trial)})
            for name, trial in trials(settings).items()
        ]
    )


def maps_frame(settings: MapSettings) -> pl.DataFrame:
    """Both maps over the box, rows from south to north, as `MAPS`."""
    points = box(settings.side, settings.points)
    middle = np.full(2, settings.side / 2)
    fields = {
        "place": place(points, middle, settings.width),
        "grid": grid(points, middle, settings.spacing, settings.turn),
    }
    return pl.DataFrame(
        {
            "x": points[..., 0].ravel(),
            "y": points[..., 1].ravel(),
            **{name: values.ravel() for name, values in fields.items()},
        }
    )


def measure_essay(
    *, table: Path, errors_table: Path, maps_table: Path, derived: Path, settings: EssayStep
) -> list[Measurement]:
    """Step: the table of facts, the model, the maps, and every number that follows from others.

    Parameters
    ----------
    table, errors_table, maps_table, derived
        Outputs, Parquet: see `FACTS`, `ERRORS`, `MAPS` and `CONVERSIONS`.
    """
    known = facts()
    converted = conversions(known)
    write_frame(known, table, FACTS)
    write_frame(errors_frame(settings.dopamine), errors_table, ERRORS)
    write_frame(maps_frame(settings.maps), maps_table, MAPS)
    write_frame(
        pl.DataFrame(
            [(*key, value) for key, value in converted.items()],
            schema=CONVERSIONS.types,
            orient="row",
        ),
        derived,
        CONVERSIONS,
    )
    answers = [
        *(_converted(key, value) for key, value in converted.items()),
        *_dopamine(settings.dopamine),
        *_maps(settings.maps),
        *_counts(known),
    ]
    return answer_all(answers, {row.output_id for row in rows().values()}, "no step measures it")


def _converted(key: tuple[str, str, str], value: float) -> Measurement:
    if key in ABOUT:
        return answer(key, f"about {rounded_to(value, ABOUT[key]):.0f}", f"{value:g} exactly")
    return answer(key, value)


def _dopamine(settings: DopamineSettings) -> list[Measurement]:
    """The rows name their discount: they are answered with it, whatever is drawn."""
    answers = []
    plain = settings.model_copy(update={"discount": 1.0})
    note = f"{settings.steps} steps, rate {settings.rate:g}, {settings.trials} trials"
    for name, trial in trials(plain).items():
        settled = np.where(np.abs(trial) < TOLERANCE, 0.0, trial)
        for place_name, value in (
            ("at the cue", settled[0]),
            ("at the time of the juice", settled[-1]),
            ("elsewhere", settled[1:-1][np.argmax(np.abs(settled[1:-1]))]),
        ):
            key = ("fig_dopamine", f"prediction error {place_name} (derived, gamma=1)", name)
            answers.append(answer(key, float(value), note))
    discounted = errors(learned(10, 0.98, settings.rate, max(settings.trials, 1)), 0.98)
    answers.append(
        answer(
            (
                "fig_dopamine",
                "prediction error at the cue after learning (derived)",
                "gamma=0.98, juice on the 10th transition after the cue state: gamma^10",
            ),
            float(discounted[0]),
        )
    )
    answers.append(answer(("fig_dopamine", "panels", ""), len(TRIALS), "counted in our drawing"))
    return answers


def _maps(settings: MapSettings) -> list[Measurement]:
    count, distance, angle = neighbours(settings.spacing, settings.turn)
    origin = np.zeros(2)
    peak, least = (
        float(grid(where, origin, settings.spacing, settings.turn))
        for where in (origin, trough(settings.spacing, settings.turn))
    )
    lattice = "triangular lattice"
    note = f"spacing {distance:g} m"
    return [
        answer(("fig_space", "side of the box", "idealised maps"), settings.side, "a setting"),
        answer(("fig_space", "nearest grid vertices (derived)", lattice), count, note),
        answer(
            ("fig_space", "angle between neighbouring vertices (derived)", lattice),
            round(angle, 9),
            note,
        ),
        answer(
            (
                "fig_space",
                "peak and trough of the normalised grid map (derived)",
                "(2/3)(s/3+1/2), s = sum of three cosines in [-1.5, 3]",
            ),
            f"{round(peak, 9) + 0.0:g} and {abs(round(least, 9)):g}",
        ),
    ]


def _counts(table: pl.DataFrame) -> list[Measurement]:
    studies = table.filter(output_id="fig_vision").height
    reason = "the card of the essay does not name them, so there is nothing to count"
    return [
        answer(("fig_vision", "studies in order", ""), studies, "studies that are quoted"),
        not_run("stat_lists", "missing items listed", "", reason),
        not_run("stat_lists", "conclusions listed", "", reason),
    ]
