"""Bands of prices between 0 and 1, on a grid of ten-thousandths.

Prices stand exactly on the edges of bands, where floating point decides at random:
``1 - 0.95 > 0.05`` is true in binary. Here a price is a whole number of ten-thousandths (a
*tick*), its complement another, and every comparison is between integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ticks = NDArray[np.int64]

#: Ticks of the price 1.
ONE = 10_000

#: The band of a price that lies in none.
OUTSIDE = -1


def ticks(price: ArrayLike) -> Ticks:
    """Prices within 0..1 as ten-thousandths, rounded to the nearest, any shape.

    Raises
    ------
    ValueError
        For a price outside 0..1 or one that is no number.

    >>> [int(tick) for tick in ticks([0.05, 1 - 0.95])]
    [500, 500]
    """
    p = np.asarray(price, dtype=np.float64)
    if np.any(~((p >= 0) & (p <= 1))):
        raise ValueError("prices must lie within 0..1")
    return np.rint(p * ONE).astype(np.int64)


def complement(tick: ArrayLike) -> Ticks:
    """The other side's price: what is left to 1."""
    return np.asarray(ONE - np.asarray(tick, dtype=np.int64))


def band(tick: ArrayLike, edges: Sequence[int], *, last_closed: bool = False) -> Ticks:
    """Number of the band that holds each tick, ``OUTSIDE`` where none does.

    Parameters
    ----------
    tick
        Prices in ten-thousandths, any shape.
    edges
        Rising edges in ten-thousandths; band ``k`` is ``[edges[k], edges[k + 1])``.
    last_closed
        Whether the last edge belongs to the last band, as 1 does when the bands cover 0..1.
    """
    borders = np.asarray(edges, dtype=np.int64)
    if borders.size < 2 or np.any(np.diff(borders) <= 0):
        raise ValueError("edges must rise, and there must be two at least")
    t = np.asarray(tick, dtype=np.int64)
    index = np.searchsorted(borders, t, side="right").astype(np.int64) - 1
    count = borders.size - 1
    if last_closed:
        index = np.where(t == borders[-1], count - 1, index)
    return np.where((index >= 0) & (index < count), index, OUTSIDE)


def names(edges: Sequence[int]) -> list[str]:
    """Bands in cents: ``0.5-2``, ``2-5``, …; one name a band.

    >>> names([50, 200, 500])
    ['0.5-2', '2-5']
    """
    return [f"{low / 100:g}-{high / 100:g}" for low, high in pairwise(edges)]
