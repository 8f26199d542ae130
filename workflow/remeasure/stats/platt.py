"""Platt scaling: the straight line in log-odds that turns prices into probabilities.

``q = sigma(a logit p + b)`` with ``a``, ``b`` of greatest weighted likelihood, no penalty. A
slope above 1 says that prices are too timid, an intercept above 0 that they are too low.

Source: Platt (1999) in Smola et al. (eds.), Advances in Large Margin Classifiers; the fit is
Newton's method for logistic regression, McCullagh and Nelder (1989), Generalized Linear
Models, section 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from remeasure.stats.cluster_bootstrap import Clusters, count_slices, row_weights

Floats = NDArray[np.float64]

#: Prices are kept this far from 0 and 1 before their log-odds are taken.
CLIP = 0.0005

#: Newton's method stops when no coefficient moves further.
STEP = 1e-12
MOST_STEPS = 100

#: Steps beyond this are checked, and halved at most so many times until they climb.
FAR, HALVINGS = 0.5, 40

#: Working memory of one slice of refits.
SLICE_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Platt:
    """A fitted line in log-odds: slope and intercept."""

    slope: float
    intercept: float
    clip: float = CLIP

    def __call__(self, p: ArrayLike) -> Floats:
        """Recalibrated probabilities, the shape of ``p``."""
        return np.asarray(expit(self.slope * log_odds(p, self.clip) + self.intercept))


def log_odds(p: ArrayLike, clip: float = CLIP) -> Floats:
    """``log(p / (1 - p))`` with ``p`` kept within ``clip .. 1 - clip``."""
    return np.asarray(logit(np.clip(np.asarray(p, dtype=np.float64), clip, 1 - clip)))


def fit_platt(
    p: ArrayLike, y: ArrayLike, w: ArrayLike | None = None, *, clip: float = CLIP
) -> Platt:
    """Slope and intercept of greatest weighted likelihood.

    Parameters
    ----------
    p, y
        Prices and outcomes, shape (n,); outcomes may be probabilities.
    w
        Weights, shape (n,); all equal when None.
    clip
        See :data:`CLIP`; 0 takes log-odds as they are.

    Raises
    ------
    ValueError
        When the likelihood has no greatest value: one outcome only, prices that separate the
        outcomes, fewer than two different prices.
    """
    outcome = np.asarray(y, dtype=np.float64)
    weight = np.ones_like(outcome) if w is None else np.asarray(w, dtype=np.float64)
    a, b = refit(log_odds(p, clip), outcome, weight[None, :])[0]
    if not np.isfinite(a):
        raise ValueError("no line fits best: the outcomes are all alike, or prices separate them")
    return Platt(float(a), float(b), clip)


def resampled_platt(
    p: ArrayLike,
    y: ArrayLike,
    w: ArrayLike,
    clusters: Clusters,
    resamples: int,
    rng: Generator,
    *,
    clip: float = CLIP,
) -> Floats:
    """Slope and intercept of each cluster resample, shape (resamples, 2); NaN where none fits."""
    x, outcome = log_odds(p, clip), np.asarray(y, dtype=np.float64)
    weight = np.asarray(w, dtype=np.float64)
    start = refit(x, outcome, weight[None, :])[0]
    out = np.empty((resamples, 2))
    step = max(1, SLICE_BYTES // (8 * max(1, x.size)))
    for first, counts in count_slices(clusters.count, resamples, rng):
        for low in range(0, counts.shape[0], step):
            part = row_weights(weight, clusters, counts[low : low + step])
            out[first + low : first + low + part.shape[0]] = refit(x, outcome, part, start)
    return out


def refit(x: Floats, y: Floats, weights: Floats, start: Floats | None = None) -> Floats:
    """Newton's method for many sets of weights at once.

    Parameters
    ----------
    x, y
        Log-odds and outcomes, shape (n,).
    weights
        Shape (fits, n).
    start
        Slope and intercept to begin with; (1, 0) when None.

    Returns
    -------
    Slopes and intercepts, shape (fits, 2); NaN where the method does not settle.
    """
    fits = weights.shape[0]
    begin = np.array([1.0, 0.0]) if start is None or not np.all(np.isfinite(start)) else start
    out = np.tile(begin, (fits, 1))
    open_ = np.arange(fits)
    with np.errstate(all="ignore"):
        for _ in range(MOST_STEPS):
            w = weights[open_] if open_.size < fits else weights
            q = expit(out[open_, :1] * x + out[open_, 1:])
            slack = w * (y - q)
            curve = w * q * (1 - q)
            # Gradient and Hessian of the log likelihood in (slope, intercept).
            g0, g1 = slack @ x, slack.sum(axis=1)
            h00, h01, h11 = curve @ x**2, curve @ x, curve.sum(axis=1)
            determinant = h00 * h11 - h01**2
            move = np.stack([(h11 * g0 - h01 * g1), (h00 * g1 - h01 * g0)], axis=1)
            move /= determinant[:, None]
            flat = ~np.isfinite(move).all(axis=1) | (determinant <= 1e-12 * h00 * h11)
            flat |= np.abs(out[open_] + move).max(axis=1) > 1e6
            move = _shortened(x, y, w, out[open_], move)
            move[flat] = np.nan
            out[open_] += move
            settled = np.abs(move).max(axis=1) <= STEP * np.maximum(1, np.abs(out[open_]).max(1))
            open_ = open_[~(settled | flat)]
            if open_.size == 0:
                return out
    out[open_] = np.nan
    return out


def _shortened(x: Floats, y: Floats, weights: Floats, at: Floats, move: Floats) -> Floats:
    """Steps halved until each raises its likelihood; small ones are near the top and taken whole.

    Without this, Newton's method runs away from fits that lie far from where it starts.
    """
    far = np.flatnonzero(np.abs(move).max(axis=1) > FAR)
    if far.size == 0:
        return move
    w, start, step = weights[far], at[far], move[far].copy()
    before = _likelihood(x, y, w, start)
    for _ in range(HALVINGS):
        worse = ~(_likelihood(x, y, w, start + step) >= before)
        if not worse.any():
            break
        step[worse] /= 2
    out = move.copy()
    out[far] = step
    return out


def _likelihood(x: Floats, y: Floats, weights: Floats, line: Floats) -> Floats:
    """Weighted log likelihood of each line, shape (fits,)."""
    z = line[:, :1] * x + line[:, 1:]
    return np.asarray((weights * (y * z - np.logaddexp(0, z))).sum(axis=1))
