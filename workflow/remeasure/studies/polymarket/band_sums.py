"""Returns, win rates and costs of contracts by band of price, with intervals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from remeasure.studies.polymarket.estimates import (
    FEW,
    Estimate,
    Resampling,
    Rows,
    ratio,
    widened,
)


def by_band(
    rows: Rows, edges: tuple[int, ...], resampling: Resampling
) -> dict[tuple[int, str], Estimate]:
    """Mean return, pooled return, win rate and cost of each band.

    Where few contracts of a band won, or lost, the win rate is widened (``estimates.widened``),
    and both returns with it: within a narrow band they are the win rate over a nearly constant
    price.

    Parameters
    ----------
    rows
        Contracts; those outside all bands take part in the resampling of events alone.
    edges
        Of the bands, in ten-thousandths, above 0.

    Returns
    -------
    By band and name: ``return``, ``pooled``, ``win`` and ``cost``.
    """
    inside = rows.band(edges)[:, None] == np.arange(len(edges) - 1)
    w = rows.w[:, None] * inside
    p, y = np.where(rows.tick > 0, rows.p, 1.0)[:, None], rows.y[:, None]
    every = {
        "return": (w * (y / p - 1), w),
        "pooled": (w * (y - p), w * p),
        "win": (w * y, w),
        "cost": (w * p, w),
    }
    found = {
        (index, of): each
        for of, (top, bottom) in every.items()
        for index, each in enumerate(ratio(rows, top, bottom, resampling))
    }
    with np.errstate(divide="ignore", invalid="ignore"):
        per_win = (w / p).sum(axis=0) / w.sum(axis=0)
    for index, few in enumerate(rare(rows, edges)):
        win = found[index, "win"]
        wide = found[index, "win"] = widened(win, few)
        if few < FEW and math.isfinite(win.value):
            for of, factor in (
                ("return", float(per_win[index])),
                ("pooled", 1 / found[index, "cost"].value),
            ):
                found[index, of] = _follow(found[index, of], wide, factor)
    return found


def _follow(held: Estimate, win: Estimate, factor: float) -> Estimate:
    """A return whose interval also holds what the ends of the win rate would make of it."""
    if win.low is None or win.high is None:
        return held
    ends = [held.value, held.low, held.high, factor * win.low - 1, factor * win.high - 1]
    known = [each for each in ends if each is not None]
    return replace(held, low=min(known), high=max(known))


def rare(rows: Rows, edges: tuple[int, ...]) -> list[int]:
    """The rarer outcome's number of contracts in each band."""
    bands = rows.band(edges)
    held = bands >= 0
    won = np.bincount(bands[held], rows.y[held], len(edges) - 1)
    size = np.bincount(bands[held], minlength=len(edges) - 1)
    return [int(each) for each in np.minimum(won, size - won)]


def caution(few: int) -> str:
    """A note where too few contracts of a band won or lost for resampling alone."""
    if few >= FEW:
        return ""
    return f"{few or 'none'} of the rarer outcome: widened by a score interval"
