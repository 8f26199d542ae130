"""From sets of forecasts to numbers with intervals, and from these to answers.

Every interval is made by resampling whole events: markets of one event share a fate. Weights
are held fixed. Intervals are central percentiles, each let hold its own estimate, but for two
that percentiles would miss: the gap and the reliability term (``stats.gap_interval``). Shares
and returns that rest on a handful of winners, or losers, are widened (:func:`widened`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from remeasure.ledger.measurement import Measurement
from remeasure.stats.bands import ONE as TICKS_OF_ONE
from remeasure.stats.bands import band, complement, ticks
from remeasure.stats.calibration import Murphy, bin_moments, gap, murphy
from remeasure.stats.cluster_bootstrap import Clusters, cluster_sums, resampled_sums
from remeasure.stats.gap_interval import gap_interval, reliability_interval
from remeasure.stats.proportion import wilson
from remeasure.stats.sampling import effective_size
from remeasure.studies.polymarket.sets import BINS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Columns of the moments of a bin.
PRICES, OUTCOMES = 1, 2

#: Fewer of the rarer outcome than this: resampling sees too little of chance.
FEW = 10

#: Resamples in which a number does not exist, as the return of a band that was not drawn, are
#: left out; with fewer than this share left there is no interval.
ENOUGH = 0.9


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number, its 95% interval, what it rests on, and the planted truth where it is known."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int = 0
    weight: float = 0.0
    effective: float = 0.0
    truth: float | None = None

    def with_truth(self, truth: float | None) -> Estimate:
        """The same beside its truth; none where the truth is no number."""
        known = truth is not None and math.isfinite(truth)
        return replace(self, truth=float(truth) if known and truth is not None else None)

    def row(self) -> dict[str, float | int | None]:
        """The columns of ``SCORES``."""
        return {
            "value": self.value if math.isfinite(self.value) else None,
            "low": self.low,
            "high": self.high,
            "truth": self.truth,
            "n": self.n,
            "weight": self.weight,
            "effective": self.effective,
        }


@dataclass(frozen=True)
class Rows:
    """Forecasts or contracts as arrays of one length: ticks, outcomes, weights, clusters."""

    tick: Ints
    y: Floats
    w: Floats
    clusters: Clusters

    @classmethod
    def of(cls, frame: pl.DataFrame, weight: str | None = "weight") -> Rows:
        """First outcomes of a set; ``weight`` None for counts."""
        w = np.ones(frame.height) if weight is None else frame[weight].to_numpy()
        return cls(
            tick=ticks(frame["price"].to_numpy()),
            y=frame["outcome"].to_numpy().astype(np.float64),
            w=w.astype(np.float64),
            clusters=Clusters.of(frame["event"].to_numpy()),
        )

    @property
    def p(self) -> Floats:
        """Prices within 0..1."""
        return np.asarray(self.tick / TICKS_OF_ONE)

    @property
    def n(self) -> int:
        """How many there are."""
        return int(self.tick.size)

    def both_sides(self) -> Rows:
        """Every market as two contracts: its first outcome, then the other one."""
        codes = np.concatenate([self.clusters.codes, self.clusters.codes])
        return Rows(
            tick=np.concatenate([self.tick, complement(self.tick)]),
            y=np.concatenate([self.y, 1 - self.y]),
            w=np.concatenate([self.w, self.w]),
            clusters=Clusters(codes, self.clusters.count),
        )

    def favourite_won(self) -> Floats:
        """Whether the favourite of each market won; one half where there is none, shape (n,)."""
        half = TICKS_OF_ONE // 2
        return np.where(self.tick > half, self.y, np.where(self.tick < half, 1 - self.y, 0.5))

    def picked(self, where: NDArray[np.bool_]) -> Rows:
        """Some of them; clusters that are left out altogether are forgotten."""
        return Rows(self.tick[where], self.y[where], self.w[where], self._clusters(where))

    def _clusters(self, where: NDArray[np.bool_]) -> Clusters:
        return Clusters.of(self.clusters.codes[where])

    def ungrouped(self) -> Rows:
        """The same with every row its own cluster."""
        return replace(self, clusters=Clusters.alone(self.n))

    def band(self, edges: tuple[int, ...]) -> Ints:
        """Band of each; the last edge is closed where it is 1."""
        return band(self.tick, edges, last_closed=edges[-1] == TICKS_OF_ONE)


@dataclass(frozen=True)
class Resampling:
    """How often, and from which seed."""

    resamples: int
    seed: int

    def of(self, sums: Floats) -> Floats:
        """Sums over each resample from sums of each cluster; no numbers where there is none."""
        if sums.shape[0] == 0:
            return np.full((self.resamples, *sums.shape[1:]), np.nan)
        return resampled_sums(sums, self.resamples, np.random.default_rng(self.seed))


def estimated(value: float, samples: Floats, rows: Rows) -> Estimate:
    """A number with the percentile interval of its resamples."""
    low, high = ends(value, samples)
    return Estimate(
        value=value,
        low=low,
        high=high,
        n=rows.n,
        weight=float(rows.w.sum()),
        effective=effective_size(rows.w),
    )


def ends(value: float, samples: Floats) -> tuple[float | None, float | None]:
    """Central 95% of the samples that exist, widened to hold the value; none with too few."""
    there = samples[np.isfinite(samples)]
    if not math.isfinite(value) or there.size < ENOUGH * samples.size or there.size == 0:
        return None, None
    low, high = np.quantile(there, [0.025, 0.975])
    return min(float(low), value), max(float(high), value)


def widened(share: Estimate, rarer: int) -> Estimate:
    """A share whose interval also holds the score interval, where it rests on few outcomes.

    A band in which everything was won is won in every resample: percentiles then say that it is
    certain. Wilson's interval on the effective number of markets does not.

    Parameters
    ----------
    share
        A weighted share within 0..1.
    rarer
        How many rows had the rarer outcome.
    """
    n = round(share.effective)
    if rarer >= FEW or n < 1 or not math.isfinite(share.value):
        return share
    count = share.value * n
    low, high = (
        wilson(math.floor(count + 1e-9), n)[0],
        wilson(min(n, math.ceil(count - 1e-9)), n)[1],
    )
    ends = [low, high, share.value, share.low, share.high]
    known = [each for each in ends if each is not None]
    return replace(share, low=min(known), high=max(known))


def ratio(
    rows: Rows, numerator: Floats, denominator: Floats, resampling: Resampling
) -> list[Estimate]:
    """``sum(numerator) / sum(denominator)`` of each column, shape (n, m): m estimates.

    ``n``, weight and effective size of an estimate count rows with a denominator.
    """
    sums = cluster_sums(np.stack([numerator, denominator], axis=-1), rows.clusters)
    drawn, whole = resampling.of(sums), sums.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values, samples = whole[:, 0] / whole[:, 1], drawn[..., 0] / drawn[..., 1]
    inside = denominator != 0
    found = []
    for index, value in enumerate(values):
        low, high = ends(float(value), samples[:, index])
        w = rows.w[inside[:, index]]
        found.append(
            Estimate(
                value=float(value),
                low=low,
                high=high,
                n=int(inside[:, index].sum()),
                weight=float(w.sum()),
                effective=effective_size(w),
            )
        )
    return found


@dataclass(frozen=True)
class Scored:
    """Calibration of a set: its sums by bin, and those of its resamples."""

    rows: Rows
    moments: Floats
    drawn: Floats

    @classmethod
    def of(cls, rows: Rows, resampling: Resampling | None, p: Floats | None = None) -> Scored:
        """Score prices, or ``p`` in their place (in the bins that ``p`` falls into).

        Without a resampling there are no intervals.
        """
        price = rows.p if p is None else p
        bins = rows.band(BINS) if p is None else band(ticks(p), BINS, last_closed=True)
        count = len(BINS) - 1
        codes, events = rows.clusters.codes, rows.clusters.count
        by_event = bin_moments(price, rows.y, rows.w, bins, count, codes, events)
        drawn = (
            np.empty((0, *by_event.shape[1:])) if resampling is None else resampling.of(by_event)
        )
        return cls(rows, by_event.sum(axis=0), drawn)

    @cached_property
    def parts(self) -> Murphy:
        """The decomposition of the set."""
        return murphy(self.moments)

    @cached_property
    def drawn_parts(self) -> Murphy:
        """The decomposition of each resample."""
        return murphy(self.drawn)

    def part(self, name: str) -> Estimate:
        """One part of the decomposition, by the name of its attribute."""
        found = estimated(
            float(getattr(self.parts, name)), getattr(self.drawn_parts, name), self.rows
        )
        if name != "reliability":
            return found
        return _between(found, reliability_interval(self.moments, self.drawn))

    def gap(self, *, equal: bool = False) -> Estimate:
        """The average gap; ``equal`` counts bins alike instead of by what they hold."""
        alike: Callable[[Floats], Floats] = _alike if equal else lambda each: each
        value = estimated(float(gap(alike(self.moments))), np.empty(0), self.rows)
        return _between(value, gap_interval(alike(self.moments), alike(self.drawn)))

    def by_bin(self, sums: int) -> list[Estimate]:
        """Weighted mean of a column of the moments in each bin: ``PRICES`` or ``OUTCOMES``."""
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.moments[:, sums] / self.moments[:, 0]
            samples = self.drawn[..., sums] / self.drawn[..., 0]
        bins = self.rows.band(BINS)
        found = []
        for index, value in enumerate(values):
            low, high = ends(float(value), samples[:, index])
            inside = bins == index
            w, won = self.rows.w[inside], self.rows.y[inside].sum()
            estimate = Estimate(
                value=float(value),
                low=low,
                high=high,
                n=int(w.size),
                weight=float(w.sum()),
                effective=effective_size(w),
            )
            rarer = int(min(won, w.size - won))
            found.append(widened(estimate, rarer) if sums == OUTCOMES else estimate)
        return found


def _between(estimate: Estimate, interval: tuple[float, float]) -> Estimate:
    """An estimate with this interval; with none where its ends are no numbers."""
    low, high = interval
    known = math.isfinite(low) and math.isfinite(high)
    return replace(estimate, low=low if known else None, high=high if known else None)


def _alike(moments: Floats) -> Floats:
    """Moments with every bin that holds anything given the weight 1."""
    size = moments[..., :1]
    return np.divide(moments, size, out=np.zeros_like(moments), where=size > 0)


def answer(
    key: tuple[str, str, str],
    estimate: Estimate | None,
    coverage: str,
    *,
    factor: float = 1.0,
    note: str = "",
    count: bool = False,
) -> Measurement:
    """The answer to one row: an estimate times ``factor``, or why there is none.

    ``count`` says that the value is a number of markets, and is not given as ``n`` again.
    """
    output, quantity, condition = key
    if estimate is None or not math.isfinite(estimate.value):
        return Measurement(
            output_id=output,
            quantity=quantity,
            condition=condition,
            value=None,
            note=note or "no market of this run's sample answers it",
        )

    def scaled(number: float | None) -> float | None:
        return None if number is None else factor * number

    return Measurement(
        output_id=output,
        quantity=quantity,
        condition=condition,
        value=int(estimate.value) if count else factor * estimate.value,
        low=scaled(estimate.low),
        high=scaled(estimate.high),
        n=None if count or not estimate.n else estimate.n,
        truth=scaled(estimate.truth),
        coverage=coverage,
        note=note,
    )


def implied_base(uncertainty: float) -> float:
    """The base rate up to one half whose ``base (1 - base)`` is ``uncertainty``.

    >>> round(implied_base(0.186), 3)
    0.247
    """
    return 0.5 - math.sqrt(max(0.0, 0.25 - uncertainty))


def implied(uncertainty: Estimate) -> Estimate:
    """That base rate with its interval: the function rises."""

    def mapped(number: float | None) -> float | None:
        return None if number is None else implied_base(number)

    return Estimate(
        value=implied_base(uncertainty.value),
        low=mapped(uncertainty.low),
        high=mapped(uncertainty.high),
        n=uncertainty.n,
        truth=mapped(uncertainty.truth),
    )
