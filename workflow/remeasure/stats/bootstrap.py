"""Block bootstrap: sampling error of averages over a series that remembers its past.

Resampling single observations of a series that is correlated in time pretends to more
information than there is. Here whole blocks of neighbours are drawn instead, on a circle
(the end continues at the beginning), so that every observation is drawn equally often and
a resampled mean is unbiased.

Source: Kuensch (1989), Annals of Statistics 17, 1217-1241; Politis and Romano (1992), A
circular block-resampling procedure for stationary data, in LePage and Billard (eds.),
Exploring the Limits of Bootstrap.

An estimator that is a smooth function of averages needs only the sums of each block, never
the resampled series itself: :func:`draw_blocks`, then :func:`resampled_sums`, then the
function, then :func:`percentile_interval`. An estimator that is not, takes
:func:`block_weights`: how often each observation stands in each resample.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Starts = NDArray[np.int64]

#: Working memory of one slice of resamples.
SLICE_BYTES = 32 * 2**20


def fitting_block(block: int, n: int, at_least: int = 8) -> int:
    """``block``, shortened where needed so that at least ``at_least`` blocks fit into ``n``.

    With fewer, an interval would rest on a handful of draws and come out too narrow.
    """
    return max(1, min(block, n // at_least))


def draw_blocks(n: int, block: int, resamples: int, rng: Generator) -> Starts:
    """First observations of the blocks of each resample, shape (resamples, blocks).

    Parameters
    ----------
    n
        Length of the series.
    block
        Length of a block, ``1 <= block <= n``; 1 is the ordinary bootstrap.
    resamples
        Number of resamples, at least 1.
    rng
        The only source of randomness.

    Each resample has ``round(n / block)`` blocks (at least one): its length differs from n
    by at most half a block, so estimators must divide by the resampled length, as means and
    ratios of sums do.
    """
    if not 1 <= block <= n:
        raise ValueError(f"block must lie within 1..n = {n}, not {block}")
    if resamples < 1:
        raise ValueError(f"resamples must be positive, not {resamples}")
    return rng.integers(0, n, size=(resamples, max(1, round(n / block))), dtype=np.int64)


def block_sums(values: ArrayLike, block: int) -> Floats:
    """Sum of the ``block`` rows of ``values`` from each row on, around the circle.

    ``values`` has shape (n,) or (n, m); the answer has the same shape.
    """
    x = np.asarray(values, dtype=np.float64)
    n = x.shape[0]
    if not 1 <= block <= n:
        raise ValueError(f"block must lie within 1..n = {n}, not {block}")
    # Running sums of deviations stay small, so their differences keep their digits.
    mean = x.mean(axis=0)
    total = np.zeros((n + block, *x.shape[1:]))
    np.cumsum(np.concatenate([x, x[: block - 1]]) - mean, axis=0, out=total[1:])
    return np.asarray(total[block:] - total[:n] + block * mean)


def resampled_sums(values: ArrayLike, block: int, starts: Starts) -> Floats:
    """Sums over each resample, shape (resamples,) or (resamples, m).

    Parameters
    ----------
    values
        Shape (n,) or (n, m): m series that are resampled together, row by row.
    block, starts
        As given to and by :func:`draw_blocks`.

    Memory: the block sums (as large as ``values``) and :data:`SLICE_BYTES`.
    """
    sums = block_sums(values, block)
    out = np.empty((starts.shape[0], *sums.shape[1:]))
    width = starts.shape[1] * (sums[0].size if sums.ndim > 1 else 1)
    for part in _slices(starts.shape[0], width):
        out[part] = sums[starts[part]].sum(axis=1)
    return out


def resampled_means(values: ArrayLike, block: int, starts: Starts) -> Floats:
    """Means over each resample: :func:`resampled_sums` divided by the resampled length."""
    means: Floats = resampled_sums(values, block, starts) / (starts.shape[1] * block)
    return means


def block_weights(n: int, block: int, starts: Starts) -> NDArray[np.int64]:
    """How often each of ``n`` observations stands in each resample, shape (resamples, n).

    Meant for short series (days, not minutes): the answer is kept whole.
    """
    resamples = starts.shape[0]
    # A block adds one where it begins and takes it back where it ends; blocks that run over
    # the end begin once more, one circle earlier.
    change = np.zeros((resamples, 2 * n + 1), dtype=np.int64)
    rows = np.arange(resamples)[:, None]
    np.add.at(change, (rows, starts), 1)
    np.add.at(change, (rows, starts + block), -1)
    running = np.cumsum(change, axis=1)
    return np.asarray(running[:, :n] + running[:, n : 2 * n])


def percentile_interval(samples: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Central interval of resampled estimates along the first axis: (low, high).

    NaN among the samples of an estimate makes its interval NaN.
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    tail = (1 - level) / 2
    low, high = np.quantile(np.asarray(samples, dtype=np.float64), [tail, 1 - tail], axis=0)
    return np.asarray(low), np.asarray(high)


def mean_interval(
    values: ArrayLike, block: int, resamples: int, rng: Generator, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Interval of the mean of ``values``, shape (n,) or (n, m): (low, high), each of shape ()
    or (m,).
    """
    x = np.asarray(values, dtype=np.float64)
    starts = draw_blocks(x.shape[0], block, resamples, rng)
    return percentile_interval(resampled_means(x, block, starts), level)


def ratio_interval(
    numerator: ArrayLike,
    denominator: ArrayLike,
    block: int,
    resamples: int,
    rng: Generator,
    level: float = 0.95,
) -> tuple[Floats, Floats]:
    """Interval of ``sum(numerator) / sum(denominator)``, both resampled together.

    The mean of a subset is such a ratio: numerator ``x * inside``, denominator ``inside``,
    where both the values and the number of them vary.

    Parameters
    ----------
    numerator, denominator
        Same shape, (n,) or (n, m): m ratios over the same resamples.

    Returns
    -------
    low, high of shape () or (m,); NaN where some resample has a denominator of zero.
    """
    top, bottom = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, np.float64)
    if top.shape != bottom.shape:
        raise ValueError(f"shapes differ: {top.shape} and {bottom.shape}")
    starts = draw_blocks(top.shape[0], block, resamples, rng)
    sums = resampled_sums(top, block, starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = sums / resampled_sums(bottom, block, starts)
    return percentile_interval(np.where(np.isfinite(ratios), ratios, np.nan), level)


def _slices(resamples: int, width: int) -> Iterator[slice]:
    """Slices of the resamples whose gathered blocks, ``width`` numbers each, fit in memory."""
    step = max(1, SLICE_BYTES // (8 * max(1, width)))
    for first in range(0, resamples, step):
        yield slice(first, min(resamples, first + step))
