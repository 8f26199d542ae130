"""The worked example: how large is the food that looks so bright? (Bogacz 2017, section 2)

A size v has the prior N(3, 1); light of it arrives as u ~ N(v^2, 1); u = 2 is seen. Everything
about the exact posterior and about Gaussian beliefs follows here, in nats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.integrate import simpson
from scipy.optimize import brentq

Floats = npt.NDArray[np.float64]

PRIOR_MEAN, OBSERVED = 3.0, 2.0
PRIOR_VARIANCE = SENSOR_VARIANCE = 1.0

#: Range of sizes that carries the posterior, and the step of its grid.
REACH, STEP = 8.0, 1e-3

#: The grid of Bogacz's first exercise.
COARSE_STEP, COARSE_END = 0.01, 5.0


def light(v: Floats) -> Floats:
    """The light that food of a size reflects, g(v) = v^2."""
    return np.square(v)


def log_joint(v: Floats) -> Floats:
    """ln p(u, v) at the observed light."""
    prior = np.square(v - PRIOR_MEAN) / PRIOR_VARIANCE + np.log(2 * np.pi * PRIOR_VARIANCE)
    sensor = np.square(OBSERVED - light(v)) / SENSOR_VARIANCE + np.log(2 * np.pi * SENSOR_VARIANCE)
    return np.asarray(-0.5 * (prior + sensor))


@dataclass(frozen=True, eq=False)
class Posterior:
    """The exact posterior on a grid.

    Attributes
    ----------
    v
        Sizes, shape ``(n,)``.
    density
        p(v | u), shape ``(n,)``.
    evidence
        p(u), the integral of the joint density.
    """

    v: Floats
    density: Floats
    evidence: float

    @classmethod
    def on(cls, first: float, last: float = REACH) -> Posterior:
        """Simpson's rule between two sizes."""
        v: Floats = np.linspace(first, last, 2 * round((last - first) / STEP / 2) + 1)
        joint = np.exp(log_joint(v))
        evidence = float(simpson(joint, x=v))
        return cls(v, joint / evidence, evidence)

    @property
    def surprisal(self) -> float:
        """-ln p(u)."""
        return float(-np.log(self.evidence))

    @property
    def mean(self) -> float:
        """Mean size."""
        return float(simpson(self.v * self.density, x=self.v))

    @property
    def deviation(self) -> float:
        """Standard deviation of the size."""
        return float(np.sqrt(simpson((self.v - self.mean) ** 2 * self.density, x=self.v)))

    def at(self, size: float) -> float:
        """The density at one size."""
        return float(np.exp(log_joint(np.array(size))) / self.evidence)

    @property
    def peak(self) -> float:
        """The size at which the density on the grid is largest."""
        return float(self.v[np.argmax(self.density)])


def whole_line() -> Posterior:
    """The posterior over all sizes, negative ones included."""
    return Posterior.on(-REACH)


def positive() -> Posterior:
    """The posterior over positive sizes."""
    return Posterior.on(0.0)


def coarse_surprisal() -> float:
    """-ln p(u) as a plain sum over the grid of the tutorial."""
    v: Floats = COARSE_STEP * np.arange(1.0, round(COARSE_END / COARSE_STEP) + 1)
    return float(-np.log(np.exp(log_joint(v)).sum() * COARSE_STEP))


def mode() -> float:
    """The peak of the posterior: the one real root of 2v^3 - 3v - 3.

    It is where ln p(u, v) has slope (3 - v) + 2v(2 - v^2) = 0.
    """
    roots = np.roots([2.0, 0.0, -3.0, -3.0])
    return float(roots[np.abs(roots.imag) < 1e-9].real[0])


def free_energy(centre: Floats, width: Floats) -> Floats:
    """Free energy of a Gaussian belief N(m, s^2) in closed form.

    F = -ln(2 pi e s^2)/2 + ln 2 pi + (E[v^2] - 6m + 9)/2 + (4 - 4E[v^2] + E[v^4])/2 with
    E[v^2] = m^2 + s^2 and E[v^4] = m^4 + 6m^2 s^2 + 3s^4.
    """
    m, t = centre, np.square(width)
    second = m**2 + t
    fourth = m**4 + 6 * m**2 * t + 3 * t**2
    return np.asarray(
        -0.5 * np.log(2 * np.pi * np.e * t)
        + np.log(2 * np.pi)
        + 0.5 * (second - 2 * PRIOR_MEAN * m + PRIOR_MEAN**2)
        + 0.5 * (OBSERVED**2 - 2 * OBSERVED * second + fourth)
    )


def best_width(centre: Floats) -> Floats:
    """The width of least free energy at a centre.

    dF/ds = 0 is 6t^2 + (6m^2 - 3)t - 1 = 0 with t = s^2.
    """
    b = 6 * np.square(centre) - 3
    return np.asarray(np.sqrt((-b + np.sqrt(b**2 + 24)) / 12))


def best_centre(width: float) -> float:
    """The centre of least free energy at a width: the largest root of 2m^3 + (6s^2 - 3)m - 3."""
    roots = np.roots([2.0, 0.0, 6 * width**2 - 3, -3.0])
    return float(roots[np.abs(roots.imag) < 1e-9].real.max())


def best_belief() -> tuple[float, float]:
    """Centre and width of the Gaussian belief with the least free energy of all."""
    centre = float(
        brentq(lambda m: m - best_centre(float(best_width(np.array(m)))), 1.0, 2.0, xtol=1e-14)
    )
    return centre, float(best_width(np.array(centre)))
