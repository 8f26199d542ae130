"""Returns, win rates and costs of contracts by band of price, with intervals."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from remeasure.studies.polymarket.estimates import (
    FEW,
    Estimate,
    Floats,
    Resampling,
    Rows,
    counted,
    drawn_ratio,
    of_few,
    rare_events,
)

#: What is known of a band: mean return, pooled return, win rate and cost.
NAMES: Final = ("return", "pooled", "win", "cost")


def by_band(
    rows: Rows, edges: tuple[int, ...], resampling: Resampling
) -> dict[tuple[int, str], Estimate]:
    """Mean return, pooled return, win rate and cost of each band.

    Each of the first three is a weighted share of winners times what all winners would make of
    it. Where the rarer of winning and losing happened in few events of a band, the share has
    the interval of few (``estimates.of_few``), and the return has it through the share.

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
    return both_ways(rows, edges, resampling)[0]


def both_ways(
    rows: Rows, edges: tuple[int, ...], resampling: Resampling, names: Collection[str] = NAMES
) -> tuple[dict[tuple[int, str], Estimate], dict[tuple[int, str], Estimate]]:
    """:func:`by_band` for some of its names, and the same with all intervals percentiles.

    Percentiles of the same resamples are what is published.
    """
    inside = _inside(rows, edges)
    w = rows.w[:, None] * inside
    p, y = np.where(rows.tick > 0, rows.p, 1.0)[:, None], rows.y[:, None]
    every = {
        "return": (w * (y / p - 1), w, 1.0),
        "pooled": (w * (y - p), w * p, 1.0),
        "win": (w * y, w, 0.0),
        "cost": (w * p, w, 0.0),
    }
    with np.errstate(divide="ignore", invalid="ignore"):
        most = {
            "return": (w / p).sum(axis=0) / w.sum(axis=0),
            "pooled": w.sum(axis=0) / (w * p).sum(axis=0),
            "win": np.ones(inside.shape[1]),
        }
    own, plain = {}, {}
    few = [rare_events(rows, column) for column in inside.T]
    for of in (name for name in NAMES if name in names):
        top, bottom, stake = every[of]
        values, samples = drawn_ratio(rows, top, bottom, resampling)
        for index, each in enumerate(counted(rows, values, samples, bottom != 0)):
            rarer, events = few[index]
            plain[index, of] = each
            own[index, of] = (
                _of_few(each, samples[:, index], stake, float(most[of][index]), events)
                if of in most and rarer < FEW
                else each
            )
    return own, plain


def won_per_dollar(rows: Rows, inside: NDArray[np.bool_], resampling: Resampling) -> list[Estimate]:
    """Won over paid of the contracts in each column of ``inside``, shape (n, m): m estimates."""
    w = rows.w[:, None] * inside
    y, p = rows.y[:, None], rows.p[:, None]
    values, samples = drawn_ratio(rows, w * y, w * p, resampling)
    with np.errstate(divide="ignore", invalid="ignore"):
        most = w.sum(axis=0) / (w * p).sum(axis=0)
    found = []
    for index, each in enumerate(counted(rows, values, samples, inside)):
        rarer, events = rare_events(rows, inside[:, index])
        if rarer < FEW:
            each = _of_few(each, samples[:, index], 0.0, float(most[index]), events)
        found.append(each)
    return found


def _of_few(held: Estimate, samples: Floats, stake: float, most: float, events: float) -> Estimate:
    """A number that is ``most`` times a share, less the stake, with the interval of few."""
    share = replace(held, value=(held.value + stake) / most)
    share = of_few(share, (samples + stake) / most, events)
    if share.low is None or share.high is None:
        return held
    low, high = most * share.low - stake, most * share.high - stake
    # A rounding error must not leave the number outside.
    return replace(held, low=min(low, held.value), high=max(high, held.value))


def _inside(rows: Rows, edges: tuple[int, ...]) -> NDArray[np.bool_]:
    return np.asarray(rows.band(edges)[:, None] == np.arange(len(edges) - 1))


def rare(rows: Rows, edges: tuple[int, ...]) -> list[int]:
    """Number of events of each band in which its rarer outcome happened."""
    return [rare_events(rows, column)[0] for column in _inside(rows, edges).T]


def caution(few: int) -> str:
    """A note where the rarer outcome happened in too few events for percentiles."""
    if few >= FEW:
        return ""
    return f"the rarer outcome in {few or 'no'} events: exact binomial interval, effective number"
