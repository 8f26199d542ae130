"""From sets of forecasts to numbers with intervals, and from these to answers.

Every interval is made by resampling whole events: markets of one event share a fate. Weights
are held fixed. Intervals are central percentiles, each let hold its own estimate, but for three
that percentiles would miss: the gap and the reliability term (``stats.gap_interval``), and
shares and returns that rest on few winners, or losers (:func:`of_few`).
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
from remeasure.stats.effective_share import effective_interval
from remeasure.stats.gap_interval import gap_interval, reliability_interval
from remeasure.stats.sampling import effective_size
from remeasure.studies.polymarket.sets import BINS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Columns of the moments of a bin.
PRICES, OUTCOMES = 1, 2

#: Fewer events than this in which the rarer outcome happened: percentiles of resamples lean.
FEW = 50

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


def of_few(share: Estimate, samples: Floats, events: float) -> Estimate:
    """A share that rests on few winners, or losers, with an interval that does not lean.

    A band in which everything was won is won in every resample, and one that drew few winners
    is drawn with few: percentiles are then too short, and too low. The exact binomial interval
    is not; its number of trials is the one that gives the share the variance of its resamples,
    at most the number of rows (``stats.effective_share``).

    Parameters
    ----------
    share
        A weighted share within 0..1.
    samples
        The same of each resample.
    events
        Effective number of events, for a share of 0 or 1, whose resamples do not vary.
    """
    if not math.isfinite(share.value) or events <= 0:
        return share
    value = min(max(share.value, 0.0), 1.0)
    there = samples[np.isfinite(samples)]
    spread = float(np.var(there, ddof=1)) if there.size > 1 else 0.0
    alone = value * (1 - value)
    known = spread > 0 and there.size >= ENOUGH * samples.size
    n = min(alone / spread, float(share.n)) if known and alone > 0 else events
    low, high = effective_interval(value, n)
    return replace(share, low=low, high=high)


def rare_events(rows: Rows, inside: NDArray[np.bool_]) -> tuple[int, float]:
    """Events in which the rarer outcome of some rows happened, and effective events of all.

    ``inside`` chooses the rows, shape (n,). The second number is Kish's, from the weights that
    events have within.
    """
    codes, won = rows.clusters.codes[inside], rows.y[inside] > 0
    fewer = min(np.unique(codes[won]).size, np.unique(codes[~won]).size)
    return fewer, effective_size(np.bincount(codes, rows.w[inside], 1))


def drawn_ratio(
    rows: Rows, numerator: Floats, denominator: Floats, resampling: Resampling
) -> tuple[Floats, Floats]:
    """Ratios of sums, (m,) for columns (n, m), and those of each resample, (resamples, m)."""
    sums = cluster_sums(np.stack([numerator, denominator], axis=-1), rows.clusters)
    drawn, whole = resampling.of(sums), sums.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return whole[:, 0] / whole[:, 1], drawn[..., 0] / drawn[..., 1]


def ratio(
    rows: Rows, numerator: Floats, denominator: Floats, resampling: Resampling
) -> list[Estimate]:
    """``sum(numerator) / sum(denominator)`` of each column, shape (n, m): m estimates.

    ``n``, weight and effective size of an estimate count rows with a denominator.
    """
    values, samples = drawn_ratio(rows, numerator, denominator, resampling)
    return counted(rows, values, samples, denominator != 0)


def counted(
    rows: Rows, values: Floats, samples: Floats, inside: NDArray[np.bool_]
) -> list[Estimate]:
    """Estimates of values (m,) from their resamples and the rows that each rests on, (n, m)."""
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
            w = self.rows.w[inside]
            estimate = Estimate(
                value=float(value),
                low=low,
                high=high,
                n=int(w.size),
                weight=float(w.sum()),
                effective=effective_size(w),
            )
            if sums == OUTCOMES:
                rarer, events = rare_events(self.rows, inside)
                estimate = of_few(estimate, samples[:, index], events) if rarer < FEW else estimate
            found.append(estimate)
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

    # An estimate without an interval is not expected to meet its truth.
    bare = estimate.truth is not None and estimate.low is None
    if bare:
        note = f"{note}; too few events for an interval".removeprefix("; ")
    return Measurement(
        output_id=output,
        quantity=quantity,
        condition=condition,
        value=int(estimate.value) if count else factor * estimate.value,
        low=scaled(estimate.low),
        high=scaled(estimate.high),
        n=None if count or not estimate.n else estimate.n,
        truth=None if bare else scaled(estimate.truth),
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
