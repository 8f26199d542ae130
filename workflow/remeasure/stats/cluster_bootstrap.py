"""Cluster bootstrap: sampling error where observations come in groups that share a fate.

Twenty candidates of one election are twenty rows but one draw of chance. Resampling rows
pretends to twenty; here whole clusters are drawn instead, with replacement, as many as there
are, and each brings all its rows with their weights.

An estimate that is a function of sums over rows needs only the sums of each cluster:
:func:`cluster_sums` once, then :func:`resampled_sums`, which is a matrix product of how often
each cluster was drawn with its sums. An estimate that is not takes :func:`row_weights`.

Source: Davison and Hinkley (1997), Bootstrap Methods and their Application, section 3.8;
Cameron, Gelbach and Miller (2008), Review of Economics and Statistics 90, 414-427.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int32]

#: Working memory of one slice of resamples.
SLICE_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Clusters:
    """Which cluster each row belongs to.

    Attributes
    ----------
    codes
        Number of each row's cluster, shape (n,).
    count
        Number of clusters.
    """

    codes: NDArray[np.int64]
    count: int

    @classmethod
    def of(cls, labels: ArrayLike) -> Clusters:
        """Clusters from a label a row: numbered by the order of sorted labels, shape (n,)."""
        found, codes = np.unique(np.asarray(labels), return_inverse=True)
        return cls(codes.astype(np.int64).reshape(-1), int(found.size))

    @classmethod
    def alone(cls, rows: int) -> Clusters:
        """Every row its own cluster: the ordinary bootstrap."""
        return cls(np.arange(rows, dtype=np.int64), rows)


def draw_counts(clusters: int, resamples: int, rng: Generator) -> Counts:
    """How often each cluster stands in each resample, shape (resamples, clusters).

    Each row sums to ``clusters``: equal chances, drawn with replacement.
    """
    if clusters < 1 or resamples < 1:
        raise ValueError(f"need clusters and resamples, not {clusters} and {resamples}")
    drawn = rng.integers(0, clusters, size=(resamples, clusters), dtype=np.int64)
    drawn += np.arange(resamples)[:, None] * clusters
    flat = np.bincount(drawn.ravel(), minlength=resamples * clusters)
    return flat.astype(np.int32).reshape(resamples, clusters)


def cluster_sums(values: ArrayLike, clusters: Clusters) -> Floats:
    """Sum of the rows of each cluster: shape (count,) or (count, m) for (n,) or (n, m)."""
    x = np.asarray(values, dtype=np.float64)
    if x.shape[:1] != clusters.codes.shape:
        raise ValueError(f"{x.shape[:1]} rows of values, {clusters.codes.shape} of clusters")
    if x.ndim == 1:
        return np.asarray(np.bincount(clusters.codes, x, clusters.count), dtype=np.float64)
    columns = x.reshape(x.shape[0], math.prod(x.shape[1:]))
    sums = np.empty((clusters.count, columns.shape[1]))
    for index in range(columns.shape[1]):
        sums[:, index] = np.bincount(clusters.codes, columns[:, index], clusters.count)
    return sums.reshape(clusters.count, *x.shape[1:])


def resampled_sums(sums: ArrayLike, resamples: int, rng: Generator) -> Floats:
    """Sums over each resample from sums of each cluster, shape (resamples, ...).

    Parameters
    ----------
    sums
        Shape (clusters, ...), as from :func:`cluster_sums`: all columns are resampled together.
    resamples
        Number of resamples.
    rng
        The only source of randomness.

    Memory: ``SLICE_BYTES`` and the answer. The draws are those of one
    :func:`draw_counts`, whatever the slices.
    """
    parts = np.asarray(sums, dtype=np.float64)
    columns = parts.reshape(parts.shape[0], math.prod(parts.shape[1:]))
    out = np.empty((resamples, columns.shape[1]))
    for first, counts in count_slices(parts.shape[0], resamples, rng):
        out[first : first + counts.shape[0]] = counts.astype(np.float64) @ columns
    return out.reshape(resamples, *parts.shape[1:])


def count_slices(clusters: int, resamples: int, rng: Generator) -> Iterator[tuple[int, Counts]]:
    """:func:`draw_counts` in slices that fit in memory: first resample of each, and its counts."""
    step = max(1, SLICE_BYTES // (24 * max(1, clusters)))
    for first in range(0, resamples, step):
        yield first, draw_counts(clusters, min(step, resamples - first), rng)


def row_weights(weights: ArrayLike, clusters: Clusters, counts: Counts) -> Floats:
    """Weight of each row in each resample, shape (resamples, n), for what must be refitted."""
    w = np.asarray(weights, dtype=np.float64)
    return np.asarray(counts[:, clusters.codes] * w)


def resampled_ratio(
    numerator: ArrayLike,
    denominator: ArrayLike,
    clusters: Clusters,
    resamples: int,
    rng: Generator,
) -> Floats:
    """``sum(numerator) / sum(denominator)`` of each resample, shape (resamples,) or (…, m).

    Both have shape (n,) or (n, m) and are resampled together. NaN where a resample's
    denominator is zero, as when it drew no row of a rare band.
    """
    top = np.asarray(numerator, dtype=np.float64)
    bottom = np.asarray(denominator, dtype=np.float64)
    if top.shape != bottom.shape:
        raise ValueError(f"shapes differ: {top.shape} and {bottom.shape}")
    both = cluster_sums(np.stack([top, bottom], axis=-1), clusters)
    drawn = resampled_sums(both, resamples, rng)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(drawn[..., 1] > 0, drawn[..., 0] / drawn[..., 1], np.nan)
