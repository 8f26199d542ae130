"""What a contract that pays 1 or 0 earns and costs: returns, spreads, fees, waiting.

A contract is bought at ``price`` and held until it pays ``outcome``. Prices are within 0..1,
returns and costs are shares, not per cent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BandReturns:
    """Contracts by band; every array has one number a band, NaN where a band is empty.

    Attributes
    ----------
    contracts
        How many there are.
    weight
        Sum of their weights.
    effective
        ``weight^2`` over the sum of squared weights.
    win, cost
        Weighted mean of outcomes and of prices.
    mean_return
        Weighted mean of ``outcome / price - 1``: what one dollar in each contract earns.
    pooled_return
        ``sum w y / sum w p - 1``: what one share of each contract earns on the money paid.
        With prices of different size the two differ much.
    """

    contracts: NDArray[np.int64]
    weight: Floats
    effective: Floats
    win: Floats
    cost: Floats
    mean_return: Floats
    pooled_return: Floats


def returns(price: ArrayLike, outcome: ArrayLike) -> Floats:
    """``outcome / price - 1`` for prices above 0."""
    p, y = np.asarray(price, dtype=np.float64), np.asarray(outcome, dtype=np.float64)
    if np.any(p <= 0):
        raise ValueError("what costs nothing has no return: prices must be above 0")
    return np.asarray(y / p - 1)


def band_returns(
    price: ArrayLike, outcome: ArrayLike, weight: ArrayLike, band: ArrayLike, count: int
) -> BandReturns:
    """Win rate, cost and both kinds of mean return in each of ``count`` bands.

    Parameters
    ----------
    price, outcome, weight
        Of each contract, shape (n,); both sides of a market are two contracts.
    band
        Number of each contract's band; one outside ``0..count - 1`` is left out.
    """
    p, y, w = (np.asarray(each, dtype=np.float64) for each in (price, outcome, weight))
    index = np.asarray(band, dtype=np.int64)
    inside = (index >= 0) & (index < count)
    p, y, w, index = p[inside], y[inside], w[inside], index[inside]

    def summed(values: Floats) -> Floats:
        return np.bincount(index, values, count).astype(np.float64)

    size, paid, won = summed(w), summed(w * p), summed(w * y)
    with np.errstate(divide="ignore", invalid="ignore"):
        return BandReturns(
            contracts=np.bincount(index, minlength=count).astype(np.int64),
            weight=size,
            effective=size**2 / summed(w**2),
            win=won / size,
            cost=paid / size,
            mean_return=summed(w * returns(p, y)) / size,
            pooled_return=won / paid - 1,
        )


def half_spread(bid: ArrayLike, ask: ArrayLike) -> Floats:
    """Half the distance of bid and ask as a share of their middle, ``(ask - mid) / mid``.

    Never above 1 while ``bid >= 0``. The other side's quotes are ``1 - ask`` and ``1 - bid``:
    the same distance, another middle.
    """
    low, high = np.asarray(bid, dtype=np.float64), np.asarray(ask, dtype=np.float64)
    middle = (low + high) / 2
    return np.asarray((high - middle) / middle)


def of_money_paid(cost: ArrayLike) -> Floats:
    """A cost relative to the middle as a share of what is paid, ``c / (1 + c)``."""
    c = np.asarray(cost, dtype=np.float64)
    return np.asarray(c / (1 + c))


def net_return(gross: ArrayLike, cost: ArrayLike) -> Floats:
    """Return of buying ``cost`` above the middle, ``(1 + R) / (1 + c) - 1``."""
    r, c = np.asarray(gross, dtype=np.float64), np.asarray(cost, dtype=np.float64)
    return np.asarray((1 + r) / (1 + c) - 1)


def fee_per_share(rate: ArrayLike, price: ArrayLike, exponent: float = 1.0) -> Floats:
    """Taker fee of one share in dollars, ``r (p (1 - p))^exponent``: the same for both sides."""
    r, p = np.asarray(rate, dtype=np.float64), np.asarray(price, dtype=np.float64)
    return np.asarray(r * (p * (1 - p)) ** exponent)


def fee_of_money_paid(rate: ArrayLike, price: ArrayLike) -> Floats:
    """That fee (exponent 1) as a share of the price, ``r (1 - p)``."""
    r, p = np.asarray(rate, dtype=np.float64), np.asarray(price, dtype=np.float64)
    return np.asarray(r * (1 - p))


def annualised(holding_return: ArrayLike, months: ArrayLike) -> Floats:
    """Compounded return a year of one that takes ``months``, ``(1 + R)^(12 / m) - 1``."""
    r, m = np.asarray(holding_return, dtype=np.float64), np.asarray(months, dtype=np.float64)
    return np.asarray((1 + r) ** (12 / m) - 1)
