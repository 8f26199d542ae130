"""Finding the likeliest size: gradient descent, and a small network that computes it.

The guess follows the slope of ln p(u, v) (Bogacz 2017, exercise 2). In the network two units hold
the prediction errors and settle while the guess does (exercise 3).
"""

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
    OBSERVED,
    PRIOR_MEAN,
    PRIOR_VARIANCE,
    SENSOR_VARIANCE,
    Floats,
    light,
    mode,
    positive,
    whole_line,
)
from remeasure.studies.free_energy.published import answer_known, argument, conditions, measurement
from remeasure.studies.free_energy.settings import DescentSettings

OUTPUTS = ("fig_bogacz", "stat_food_example")

#: Drawn part of the posterior, and every how many points of its grid.
DRAWN, EVERY = (0.0, 3.0), 10

#: Rest of the network: it has settled to rounding after this time.
REST_TIME = 60.0

SETTLED, NEAR = 0.01, 0.05

PATHS = declare(
    "guesses over time",
    {
        "time": dy.Float64(min=0),
        "descent": dy.Float64(),
        "network": dy.Float64(),
        "prior_error": dy.Float64(),
        "sensory_error": dy.Float64(),
    },
)
DENSITY = declare(
    "posterior density",
    {
        "size": dy.Float64(),
        "density": dy.Float64(min=0),
    },
)


class DescentStep(Model):
    """Settings of `measure_descent`."""

    descent: DescentSettings


def descend(step: float, time: float) -> Floats:
    """Guesses of gradient descent by Euler's method from the prior mean, shape ``(steps + 1,)``."""
    guess = np.empty(round(time / step) + 1)
    guess[0] = PRIOR_MEAN
    for now in range(guess.size - 1):
        phi = guess[now]
        slope = (PRIOR_MEAN - phi) / PRIOR_VARIANCE
        slope += (OBSERVED - phi**2) / SENSOR_VARIANCE * 2 * phi
        guess[now + 1] = phi + step * slope
    return guess


def settle(step: float, time: float) -> Floats:
    """Guess, prior error and sensory error of the network, shape ``(steps + 1, 3)``.

    All three are updated at once from their old values: dphi/dt = 2 phi e_u - e_p,
    de_p/dt = phi - v_p - Sigma_p e_p, de_u/dt = u - phi^2 - Sigma_u e_u.
    """
    state = np.empty((round(time / step) + 1, 3))
    state[0] = (PRIOR_MEAN, 0.0, 0.0)
    for now in range(state.shape[0] - 1):
        phi, prior, sensory = state[now]
        change = (
            2 * phi * sensory - prior,
            phi - PRIOR_MEAN - PRIOR_VARIANCE * prior,
            OBSERVED - phi**2 - SENSOR_VARIANCE * sensory,
        )
        state[now + 1] = state[now] + step * np.array(change)
    return state


def eigenvalues(rest: Floats) -> Floats:
    """Eigenvalues of the network's linear motion around a rest point (phi, e_p, e_u)."""
    phi, _, sensory = rest
    jacobian = np.array(
        [
            [2 * sensory, -1.0, 2 * phi],
            [1.0, -PRIOR_VARIANCE, 0.0],
            [-2 * phi, 0.0, -SENSOR_VARIANCE],
        ]
    )
    return np.asarray(np.linalg.eigvals(jacobian))


def last_away(guess: Floats, target: float, distance: float, step: float) -> float:
    """The last time at which the guess is so far from the target, or farther."""
    return float(step * np.flatnonzero(np.abs(guess - target) >= distance)[-1])


def first_minimum(guess: Floats) -> int:
    """Index of the first local minimum of a curve."""
    return int(np.flatnonzero((guess[1:-1] < guess[:-2]) & (guess[1:-1] <= guess[2:]))[0]) + 1


def measure_descent(
    *, paths: Path, density: Path, summary: Path, settings: DescentStep
) -> list[Measurement]:
    """Step: the exact posterior, and two ways to its peak.

    Parameters
    ----------
    paths
        Output, Parquet: see `PATHS`.
    density
        Output, Parquet: see `DENSITY`.
    summary
        Output, JSON: peak and mean of the posterior.
    """
    step, time = settings.descent.step, settings.descent.time
    guess, state = descend(step, time), settle(step, time)
    every, above = whole_line(), positive()
    write_frame(
        pl.DataFrame(
            {
                "time": step * np.arange(guess.size),
                "descent": guess,
                "network": state[:, 0],
                "prior_error": state[:, 1],
                "sensory_error": state[:, 2],
            }
        ),
        paths,
        PATHS,
    )
    inside = (every.v >= DRAWN[0] - 1e-9) & (every.v <= DRAWN[1] + 1e-9)
    write_frame(
        pl.DataFrame({"size": every.v[inside][::EVERY], "density": every.density[inside][::EVERY]}),
        density,
        DENSITY,
    )
    write_json({"peak": mode(), "mean": every.mean, "step": step}, summary)
    figure = "fig_bogacz"
    peak, moments = mode(), "mean of the posterior (derived)"
    answers = [
        measurement(
            (figure, "peak of the exact posterior", "prior N(3,1), u=2"),
            every.peak,
            note="on the grid",
        ),
        measurement((figure, "peak of the posterior (derived)", "real root of 2v^3-3v-3=0"), peak),
        measurement((figure, "mean of the exact posterior", "as printed"), every.mean),
        measurement((figure, moments, "whole line"), every.mean),
        measurement((figure, moments, "v>0"), above.mean),
        measurement(
            (figure, "standard deviation of the posterior (derived)", "v>0"), above.deviation
        ),
        measurement(
            (figure, "maximum of the posterior density (derived)", "whole line"),
            every.at(peak),
        ),
    ]
    food = "stat_food_example"
    answers += [
        measurement((food, "light of a size of 3", "g(v)=v^2"), float(light(np.array(3.0)))),
        measurement((food, "size that matches the light exactly", "sqrt(2)"), OBSERVED**0.5),
        measurement((food, "prior mean", ""), PRIOR_MEAN),
        measurement((food, "observed light", ""), OBSERVED),
        measurement((food, "prior variance and sensor variance", ""), PRIOR_VARIANCE),
    ]
    return answer_known(
        [*answers, *_descent(guess, peak, step), *_network(state, peak, step)], OUTPUTS
    )


def _at(curve: Floats, time: float, step: float) -> float | None:
    """The curve at a time; None after its end."""
    index = round(time / step)
    return float(curve[index]) if index < curve.size else None


def _timed(quantity: str, words: str, curve: Floats, step: float) -> list[Measurement]:
    """Rows ``t=..., words`` of a curve, as far as it reaches."""
    answers = []
    for condition in conditions("fig_bogacz", quantity):
        value = _at(curve, argument(condition), step)
        if value is not None and condition.endswith(words):
            answers.append(measurement(("fig_bogacz", quantity, condition), value))
    return answers


def _descent(guess: Floats, peak: float, step: float) -> list[Measurement]:
    figure, words = "fig_bogacz", f"Euler step {step:g}"
    settled = last_away(guess, peak, SETTLED, step)
    return [
        measurement(
            (figure, "value the gradient descent settles at", "Euler from 3"), float(guess[-1])
        ),
        measurement(
            (figure, "time to settle", "as stated"),
            f"within about {max(1, round(settled))}",
            note=f"last {SETTLED:g} or more away at time {settled:.2f}",
        ),
        measurement(
            (figure, "last time the descent is 0.01 or more away (derived)", words), settled
        ),
        *_timed("guess of the gradient descent (derived)", words, guess, step),
    ]


def _network(state: Floats, peak: float, step: float) -> list[Measurement]:
    figure, words = "fig_bogacz", f"Euler step {step:g}"
    guess = state[:, 0]
    low = first_minimum(guess)
    high = low + first_minimum(-guess[low:])
    rest = settle(step, REST_TIME)[-1]
    turning = eigenvalues(rest)
    pair = turning[np.argmax(turning.imag)]
    return [
        *_timed(
            "guess of the error-unit network (derived)",
            f"synchronous {words}, errors start at 0",
            guess,
            step,
        ),
        measurement(
            (figure, "first minimum of the error-unit network (derived)", f"t={low * step:.2f}"),
            float(guess[low]),
        ),
        measurement(
            (figure, "next maximum of the error-unit network (derived)", f"t={high * step:.2f}"),
            float(guess[high]),
        ),
        *(
            measurement(
                (figure, f"last time the network is {distance:g} or more away (derived)", words),
                last_away(guess, peak, distance, step),
            )
            for distance in (NEAR, SETTLED)
        ),
        measurement((figure, "prior error unit at rest (derived)", "(phi-3)/1"), float(rest[1])),
        measurement(
            (figure, "sensory error unit at rest (derived)", "(2-phi^2)/1"), float(rest[2])
        ),
        measurement(
            (figure, "eigenvalues of the network at rest (derived)", "complex pair"),
            f"{pair.real:.6f} +- {pair.imag:.6f}i",
        ),
    ]
