"""Samples with known inclusion probabilities: weights, totals, means and their errors.

A unit that enters a sample with probability ``pi`` stands for ``1 / pi`` units of the
population. Filters that are applied later (a topic, a price range) are domains: they change
which units are counted, never their weights.

Source: Horvitz and Thompson (1952), Journal of the American Statistical Association 47,
663-685; Hajek (1971) in Godambe and Sprott (eds.), Foundations of Statistical Inference;
Kish (1965), Survey Sampling, for the effective size.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """An estimated number and its standard error under Poisson sampling."""

    value: float
    se: float


def union_probability(first: ArrayLike, second: ArrayLike) -> Floats:
    """Probability to enter at least one of two independent draws, ``a + b - a b``.

    Parameters
    ----------
    first, second
        Inclusion probabilities of each draw within 0..1; shapes that broadcast.

    Adding the two instead counts twice what both draws take.

    >>> float(union_probability(0.5, 0.25))
    0.625
    """
    a, b = _shares(first), _shares(second)
    return np.asarray(a + b - a * b)


def weights(probability: ArrayLike) -> Floats:
    """How many units each sampled unit stands for, ``1 / pi``; all ``pi`` above 0."""
    pi = _shares(probability)
    if np.any(pi == 0):
        raise ValueError("a unit that cannot be drawn has no weight: pi must be above 0")
    return np.asarray(1 / pi)


def total(values: ArrayLike, probability: ArrayLike) -> Estimate:
    """Horvitz-Thompson total of the population from sampled values, shape (n,).

    Unbiased for any values. The error is that of independent draws (Poisson sampling),
    ``sum x^2 (1 - pi) / pi^2``, which is unbiased too.
    """
    x, w = _pair(values, weights(probability))
    variance = float(np.sum(x**2 * w * (w - 1)))
    return Estimate(float(np.sum(w * x)), math.sqrt(max(0.0, variance)))


def mean(values: ArrayLike, probability: ArrayLike) -> Estimate:
    """Hajek mean ``sum w x / sum w``, shape (n,), n at least 1.

    A ratio of two totals: slightly biased, but right whatever the size of the population, and
    steadier than the total over a known size. The error is that of the linearised ratio,
    ``sum w (w - 1) (x - mean)^2 / (sum w)^2``.
    """
    x, w = _pair(values, weights(probability))
    size = float(w.sum())
    centre = weighted_mean(x, w)
    variance = float(np.sum(w * (w - 1) * (x - centre) ** 2)) / size**2
    return Estimate(centre, math.sqrt(max(0.0, variance)))


def weighted_mean(values: ArrayLike, weight: ArrayLike | None = None) -> float:
    """``sum w x / sum w`` over shape (n,); equal weights when none are given.

    NaN when nothing carries weight.
    """
    x = np.asarray(values, dtype=np.float64)
    x, w = _pair(x, np.ones_like(x) if weight is None else weight)
    size = float(w.sum())
    return float(np.sum(w * x)) / size if size > 0 else math.nan


def effective_size(weight: ArrayLike) -> float:
    """Kish's effective size ``(sum w)^2 / sum w^2``: n for equal weights, 0 for none."""
    w = np.asarray(weight, dtype=np.float64)
    squares = float(np.sum(w**2))
    return float(w.sum()) ** 2 / squares if squares > 0 else 0.0


def solve_share(first: ArrayLike, certain: ArrayLike, partial: ArrayLike, target: float) -> float:
    """The one probability of a second draw that gives a sample its size.

    The expected size of the union of two independent draws is linear in the share ``s`` with
    which the second draw takes some of the units::

        target = certain + sum(pi1 + s (1 - pi1) over partial) + sum(pi1 over the rest)

    Parameters
    ----------
    first
        First-draw probability of each unit of the population, shape (n,).
    certain, partial
        Whether the second draw takes a unit always, or with the share; shape (n,), never both.
    target
        Size of the sample, or its expectation.

    Returns
    -------
    ``s``; outside 0..1 when no share gives the size. NaN when there is nothing to share.
    """
    pi = _shares(first)
    always, some = np.asarray(certain, dtype=np.bool_), np.asarray(partial, dtype=np.bool_)
    if np.any(always & some):
        raise ValueError("a unit is taken always or with the share, not both")
    without = float(np.where(always, 1.0, pi).sum())
    room = float((1 - pi)[some].sum())
    return (target - without) / room if room > 0 else math.nan


def hash_uniform(seed: int, draw: str, keys: Sequence[str]) -> Floats:
    """A number in [0, 1) for each key, the same for ever: shape (len(keys),).

    The first 53 bits of the SHA-256 of ``seed:draw:key`` over ``2^53``. A unit is drawn where
    its number lies below its probability: the draw depends neither on the order of units nor
    on which others there are, and a greater probability only adds units.
    """
    prefix = f"{seed}:{draw}:".encode()
    digests = b"".join(hashlib.sha256(prefix + key.encode()).digest()[:8] for key in keys)
    bits = np.frombuffer(digests, dtype=">u8") >> np.uint64(11)
    return np.asarray(bits.astype(np.float64) / 2**53)


def _shares(values: ArrayLike) -> Floats:
    shares = np.asarray(values, dtype=np.float64)
    if np.any(~((shares >= 0) & (shares <= 1))):
        raise ValueError("probabilities must lie within 0..1")
    return shares


def _pair(values: ArrayLike, weight: ArrayLike) -> tuple[Floats, Floats]:
    x, w = np.asarray(values, dtype=np.float64), np.asarray(weight, dtype=np.float64)
    if x.shape != w.shape or x.ndim != 1:
        raise ValueError(f"values {x.shape} and weights {w.shape} must be one list each, as long")
    return x, w
