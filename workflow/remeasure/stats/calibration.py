"""How good probabilities are: Brier score, its decomposition, the gap, skill and accuracy.

All functions take forecast probabilities ``p``, outcomes ``y`` and weights ``w`` of one
length. Weights may be multiplied by any constant.

The decomposition rests on five sums in each bin (:func:`bin_moments`), and every figure made
of them is a function of these sums alone (:func:`murphy`, :func:`gap`). Sums of a resample
are sums of the sums of its parts, so a bootstrap never touches single forecasts.

Source: Brier (1950), Monthly Weather Review 78, 1-3; Murphy (1973), Journal of Applied
Meteorology 12, 595-600; Stephenson, Coelho and Jolliffe (2008), Weather and Forecasting 23,
752-757, for the two terms within bins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from remeasure.stats.sampling import weighted_mean

Floats = NDArray[np.float64]

#: The five sums of a bin, in the order of the last axis: of w, w p, w y, w p^2 and w p y.
MOMENTS = 5

#: Working memory of one slice of simulated outcomes.
SLICE_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Murphy:
    """The parts of a Brier score, each of the shape that the sums had before their bins.

    ``brier = reliability - resolution + uncertainty + within_variance - within_covariance``
    exactly, for outcomes 0 and 1; the last two vanish when prices within a bin are equal.

    Attributes
    ----------
    brier
        Weighted mean of ``(p - y)^2``.
    reliability
        Squared distance of mean price and frequency, averaged over bins: 0 is best.
    resolution
        Squared distance of a bin's frequency from the base rate: more is better.
    uncertainty
        ``base (1 - base)``: the score of whoever always says the base rate.
    within_variance, within_covariance
        Spread of prices within bins, and twice their covariance with outcomes there.
    base
        Weighted share of outcomes that are 1.
    """

    brier: Floats
    reliability: Floats
    resolution: Floats
    uncertainty: Floats
    within_variance: Floats
    within_covariance: Floats
    base: Floats

    @property
    def three_terms(self) -> Floats:
        """``reliability - resolution + uncertainty``, the score as it is usually split."""
        return np.asarray(self.reliability - self.resolution + self.uncertainty)

    @property
    def residual(self) -> Floats:
        """What the five terms leave of the score: rounding errors."""
        within = self.within_variance - self.within_covariance
        return np.asarray(self.brier - self.three_terms - within)

    @property
    def skill(self) -> Floats:
        """Share of the base rate's error that is removed, ``1 - brier / uncertainty``."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(1 - self.brier / self.uncertainty)


def brier(p: ArrayLike, y: ArrayLike, w: ArrayLike | None = None) -> float:
    """Weighted mean of ``(p - y)^2``; outcomes may be probabilities themselves.

    >>> round(brier([0.7], [1]), 12)
    0.09
    """
    price, outcome = np.asarray(p, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return weighted_mean((price - outcome) ** 2, w)


def skill(p: ArrayLike, y: ArrayLike, w: ArrayLike | None = None) -> float:
    """``1 - brier / (base (1 - base))`` against the base rate of these very outcomes.

    NaN when all outcomes are equal.
    """
    base = weighted_mean(y, w)
    uncertainty = base * (1 - base)
    return 1 - brier(p, y, w) / uncertainty if uncertainty > 0 else float("nan")


def accuracy(p: ArrayLike, y: ArrayLike, w: ArrayLike | None = None) -> float:
    """Weighted share of forecasts whose favourite won; a price of one half is half right."""
    price, outcome = np.asarray(p, dtype=np.float64), np.asarray(y, dtype=np.float64)
    right = np.where(price > 0.5, outcome, np.where(price < 0.5, 1 - outcome, 0.5))
    return weighted_mean(right, w)


def distorted(p: ArrayLike, factor: float) -> Floats:
    """Probabilities with their log-odds multiplied by ``factor``; 0 and 1 stay.

    2 makes bold forecasts of timid ones, 0.5 undoes it.

    >>> round(float(distorted(0.7, 2)), 6)
    0.844828
    """
    price = np.asarray(p, dtype=np.float64)
    for_one, for_zero = price**factor, (1 - price) ** factor
    return np.asarray(for_one / (for_one + for_zero))


def bin_moments(
    p: ArrayLike,
    y: ArrayLike,
    w: ArrayLike,
    bins: ArrayLike,
    count: int,
    groups: ArrayLike | None = None,
    group_count: int = 1,
) -> Floats:
    """The five sums of each bin, ``(count, 5)``, or of each group and bin.

    Parameters
    ----------
    p, y, w
        Forecasts, outcomes (0 or 1) and weights, shape (n,).
    bins
        Number of each forecast's bin, shape (n,); one outside ``0..count - 1`` is left out.
    count
        Number of bins.
    groups, group_count
        Number of each forecast's group, as an event's, and how many there are; the answer
        then has shape (group_count, count, 5) and sums over groups to the one without.
    """
    price, outcome, weight = (np.asarray(each, dtype=np.float64) for each in (p, y, w))
    index = np.asarray(bins, dtype=np.int64)
    inside = (index >= 0) & (index < count)
    if groups is not None:
        index = np.asarray(groups, dtype=np.int64) * count + index
    index = index[inside]
    price, outcome, weight = price[inside], outcome[inside], weight[inside]
    size = count * (1 if groups is None else group_count)
    each = (weight, weight * price, weight * outcome, weight * price**2, weight * price * outcome)
    sums: Floats = np.stack(
        [np.bincount(index, values, size).astype(np.float64) for values in each], axis=-1
    )
    return sums if groups is None else sums.reshape(group_count, count, MOMENTS)


def murphy(moments: ArrayLike) -> Murphy:
    """The five-term decomposition from :func:`bin_moments`, shape (..., bins, 5).

    Empty bins count nothing; without any weight all parts are NaN.
    """
    sums = np.asarray(moments, dtype=np.float64)
    w, wp, wy, wpp, wpy = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = w.sum(axis=-1)
        base = wy.sum(axis=-1) / size
        held = w > 0
        mean_p, mean_y = np.where(held, wp / w, 0.0), np.where(held, wy / w, 0.0)
        return Murphy(
            brier=np.asarray((wpp - 2 * wpy + wy).sum(axis=-1) / size),
            reliability=np.asarray((w * (mean_p - mean_y) ** 2).sum(axis=-1) / size),
            resolution=np.asarray((w * (mean_y - base[..., None]) ** 2).sum(axis=-1) / size),
            uncertainty=np.asarray(base * (1 - base)),
            within_variance=np.asarray((wpp - wp * mean_p).sum(axis=-1) / size),
            within_covariance=np.asarray(2 * (wpy - wp * mean_y).sum(axis=-1) / size),
            base=np.asarray(base),
        )


def gap(moments: ArrayLike) -> Floats:
    """Mean distance of price and frequency over bins, weighted by what they hold.

    ``sum_k W_k / W |mean price - frequency|`` from :func:`bin_moments`, shape (..., bins, 5).
    Chance alone makes it positive: see :func:`gap_floor`.
    """
    sums = np.asarray(moments, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.abs(sums[..., 1] - sums[..., 2]).sum(axis=-1)
        return np.asarray(distance / sums[..., 0].sum(axis=-1))


def gap_floor(
    p: ArrayLike, w: ArrayLike, bins: ArrayLike, count: int, rng: Generator, draws: int = 200
) -> Floats:
    """Gaps of perfect forecasts: outcomes drawn with the probabilities ``p``, shape (draws,).

    Their mean is what :func:`gap` shows for forecasts without any fault. Outcomes are
    independent of each other here.
    """
    price, weight = np.asarray(p, dtype=np.float64), np.asarray(w, dtype=np.float64)
    index = np.asarray(bins, dtype=np.int64)
    inside = (index >= 0) & (index < count)
    price, weight, index = price[inside], weight[inside], index[inside]
    out = np.empty(draws)
    step = max(1, SLICE_BYTES // (8 * max(1, price.size)))
    for first in range(0, draws, step):
        rows = min(step, draws - first)
        surprise = weight * (price - (rng.random((rows, price.size)) < price))
        cell = (np.arange(rows)[:, None] * count + index).ravel()
        by_bin = np.bincount(cell, surprise.ravel(), rows * count).reshape(rows, count)
        out[first : first + rows] = np.abs(by_bin).sum(axis=1) / weight.sum()
    return out
