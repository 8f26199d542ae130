"""Attention as the articles define it, in float64, with a bound on its rounding error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from remeasure.studies.identities.rounding import gamma
from remeasure.studies.identities.sides import EPS

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Weights:
    """Projections of one head, each of shape (d, d)."""

    query: Floats
    key: Floats
    value: Floats

    @classmethod
    def draw(cls, width: int, rng: Generator) -> Weights:
        """Standard normal entries over ``sqrt(d)``."""
        return cls(*(rng.standard_normal((3, width, width)) / np.sqrt(width)))


def softmax(scores: Floats) -> Floats:
    """Softmax along the last axis; minus infinity becomes exactly zero."""
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def attend(
    queries: Floats, keys: Floats, values: Floats, mask: npt.NDArray[np.bool_] | None = None
) -> Floats:
    """Scaled dot-product attention, shapes (n, d), (m, d), (m, d) to (n, d).

    ``mask`` of shape (n, m) is True where a query sees a key.
    """
    scores = queries @ keys.T / np.sqrt(queries.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return np.asarray(softmax(scores) @ values)


def self_attention(x: Floats, weights: Weights, *, causal: bool = False) -> Floats:
    """One head of self-attention over rows of ``x``, shape (n, d)."""
    mask = np.tri(x.shape[0], dtype=bool) if causal else None
    return attend(x @ weights.query, x @ weights.key, x @ weights.value, mask)


def error_bound(x: Floats, weights: Weights) -> float:
    """Largest absolute rounding error of one output of :func:`self_attention`, first order.

    Each inner product of length d errs by ``gamma(d)`` times the sum of the absolute products
    (Higham 2002, eq. 3.5); an error e of the scores changes a softmax weight by at most 2e
    relative. Two evaluations of the same output differ by at most twice this.
    """
    count, width = x.shape
    size = [np.abs(x) @ np.abs(each) for each in (weights.query, weights.key, weights.value)]
    own = gamma(width)
    scores = (gamma(width + 2) * (size[0] @ size[1].T) + 2 * own * (size[0] @ size[1].T)) / np.sqrt(
        width
    )
    share = 2 * scores.max() + (2 * count + 8) * EPS
    return float((share + own) * size[2].max())


def positions(count: int, width: int) -> Floats:
    """Sinusoidal position table, shape (count, width): sines at even, cosines at odd columns."""
    return encode(np.arange(count), width)


def frequencies(width: int) -> Floats:
    """``10000^(-2i/d)`` for i below d/2, shape (d/2,)."""
    return np.asarray(10000.0 ** (-2.0 * np.arange(width // 2) / width))


def encode(places: npt.ArrayLike, width: int) -> Floats:
    """Sinusoidal encodings of these positions, shape (n, width)."""
    angles = np.asarray(places, float)[:, None] * frequencies(width)
    table = np.empty((angles.shape[0], width))
    table[:, 0::2], table[:, 1::2] = np.sin(angles), np.cos(angles)
    return table


def rotation(offset: float, width: int) -> Floats:
    """The map from ``PE(p)`` to ``PE(p + offset)``, shape (width, width), block diagonal."""
    angles = frequencies(width) * offset
    turn = np.zeros((width, width))
    even = np.arange(0, width, 2)
    turn[even, even] = turn[even + 1, even + 1] = np.cos(angles)
    turn[even, even + 1] = np.sin(angles)
    turn[even + 1, even] = -np.sin(angles)
    return turn
