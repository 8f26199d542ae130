"""From forecasts to positions, turnover, costs and growth.

A position is chosen at the close of a bar and earns the return of the next one,
filled at that close without delay or slippage: generous to every strategy. All
functions take rows as they come. Where bars are missing between two rows the
position is simply held, earns nothing for the missing time and pays nothing;
time is counted in rows (a day is ``bars_per_day`` rows), so that the identity
``return(fee) = return(0) - fee x sides a day x days a year`` holds exactly.

Returns are logarithmic and summed, never compounded as simple returns: a
strategy that is short half the time would otherwise lose half of the variance.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int8]

BARS_PER_DAY = 24
BARS_PER_YEAR = 8760
BASIS_POINT = 1e-4


def band_positions(probability: Floats, band: float = 0.0) -> Positions:
    """Long above ``0.5 + band``, short below ``0.5 - band``, otherwise as before.

    Parameters
    ----------
    probability
        Forecast probabilities of a rise, shape ``(n,)``, in time order.
    band
        Half-width of the band around one half; 0 is the plain sign strategy.

    Returns
    -------
    array of int8, shape ``(n,)``
        -1, 0 or +1; 0 (flat) only before the first signal.

    Raises
    ------
    ValueError
        When the band is negative, or a probability is not a number.
    """
    if band < 0:
        raise ValueError(f"the band ({band}) must not be negative")
    if np.isnan(probability).any():
        raise ValueError("probabilities must not be missing")
    signal = (probability > 0.5 + band).astype(np.int8) - (probability < 0.5 - band).astype(np.int8)
    # Index of the latest signal so far; -1 where there was none yet.
    latest = np.maximum.accumulate(np.where(signal != 0, np.arange(signal.size), -1))
    return np.where(latest >= 0, signal[latest], 0).astype(np.int8)


def turnover(position: Positions) -> Floats:
    """Sides traded at each bar, ``|s_t - s_{t-1}|`` from a flat start, shape ``(n,)``.

    A reversal is two sides: one closes the old position, one opens the new.
    """
    return np.abs(np.diff(position.astype(np.float64), prepend=0.0))


def net_pnl(position: Positions, returns: Floats, fee: float = 0.0) -> Floats:
    """Log profit a bar, ``s_t r_{t+1} - fee x u_t``, shape ``(n,)``.

    Parameters
    ----------
    position
        Positions chosen at the close of each bar, shape ``(n,)``.
    returns
        Log returns of the bars that follow, shape ``(n,)``.
    fee
        Fee a side as a fraction (5 basis points are 0.0005).
    """
    if position.shape != returns.shape:
        raise ValueError(f"{position.shape} positions do not match {returns.shape} returns")
    return position * returns - fee * turnover(position)


def sides_per_day(position: Positions, *, bars_per_day: int = BARS_PER_DAY) -> float:
    """One-way trades a day; a strategy that is always in the market reverses half as often."""
    return bars_per_day * float(turnover(position).mean())


def return_per_year(pnl: Floats, *, bars_per_year: int = BARS_PER_YEAR) -> float:
    """Mean log profit scaled to a year, by sum and without compounding, as a fraction."""
    return bars_per_year * float(pnl.mean())


def growth(pnl: Floats) -> Floats:
    """Value of one unit after each bar, ``exp(cumulative log profit)``, shape ``(n,)``."""
    return np.exp(np.cumsum(pnl))


def fee_drag(sides_a_day: float, fee: float, *, days_per_year: int = 365) -> float:
    """What fees take a year, as a fraction: ``fee x sides a day x 365``."""
    return fee * sides_a_day * days_per_year


def implied_sides_per_day(gross: float, net: float, *, fee: float, days: float) -> float:
    """One-way trades a day that turn a gross final value into a net one.

    From ``gross / net = exp(fee x sides)``: ``ln(gross / net) / (fee x days)``.
    """
    return float(np.log(gross / net) / (fee * days))
