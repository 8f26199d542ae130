"""Sixty-six textbook rules in four families, and the indicators that they read.

Indicators take rows as they come: where hours are missing, the row before is simply the row
before. A rule is flat until its indicator is defined. What a rule does at the close of bar t
depends on bars up to t alone; :func:`remeasure.evaluate.positions.net_pnl` lets it earn bar
t + 1. No function loops over bars.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Positions = NDArray[np.int8]

CROSSOVER, BREAKOUT, RSI, BOLLINGER = "moving averages", "breakout", "RSI", "Bollinger"
FAMILIES = (CROSSOVER, BREAKOUT, RSI, BOLLINGER)

AVERAGES = (6, 12, 24, 48, 96, 168, 336, 720)
CHANNELS = (12, 24, 48, 72, 96, 168, 240, 336, 504, 720)
RSI_PERIODS, RSI_THRESHOLDS = (6, 9, 14, 21), (20, 25, 30, 35)
BOLLINGER_PERIODS, BOLLINGER_WIDTHS = (24, 48, 96, 168), (1.5, 2.0, 2.5)

#: Averages that differ by less than this share of the price are equal: rounding, no signal.
TIE = 1e-12


@dataclass(frozen=True)
class Rule:
    """One rule: its family and its parameters.

    Attributes
    ----------
    family
        One of ``FAMILIES``.
    first, second
        Fast and slow average (hours); channel (hours) and 0; RSI period and threshold;
        Bollinger period and width in standard deviations.
    """

    family: str
    first: int
    second: float = 0.0

    @property
    def name(self) -> str:
        """As ``MA 12/24``, ``channel 96``, ``RSI 14/30`` or ``Bollinger 48/2.5``."""
        short = {CROSSOVER: "MA", BREAKOUT: "channel"}.get(self.family, self.family)
        return f"{short} {self.first}" + (f"/{self.second:g}" if self.second else "")


def all_rules() -> tuple[Rule, ...]:
    """The 66 rules: 28 crossovers, 10 breakouts, 16 RSI and 12 Bollinger reversions."""
    return (
        *(Rule(CROSSOVER, fast, slow) for fast, slow in combinations(AVERAGES, 2)),
        *(Rule(BREAKOUT, hours) for hours in CHANNELS),
        *(Rule(RSI, n, q) for n in RSI_PERIODS for q in RSI_THRESHOLDS),
        *(Rule(BOLLINGER, n, k) for n in BOLLINGER_PERIODS for k in BOLLINGER_WIDTHS),
    )


def positions(high: Floats, low: Floats, close: Floats) -> Iterator[tuple[Rule, Positions]]:
    """Every rule with its positions, each an int8 array of shape (n,): -1, 0 or +1.

    Each indicator is computed once and shared by the rules that read it.

    Parameters
    ----------
    high, low, close
        Prices of one coin's bars in time order, shape (n,).
    """
    rules = all_rules()
    averages = {n: rolling_mean(close, n) for n in AVERAGES}
    for rule in rules:
        if rule.family == CROSSOVER:
            yield rule, crossover(averages[rule.first], averages[int(rule.second)], close)
    for rule in rules:
        if rule.family == BREAKOUT:
            yield rule, breakout(high, low, close, rule.first)
    for n in RSI_PERIODS:
        strength = wilder_rsi(close, n)
        for rule in rules:
            if (rule.family, rule.first) == (RSI, n):
                yield rule, rsi_reversion(strength, rule.second)
    for n in BOLLINGER_PERIODS:
        mean, sd = rolling_mean(close, n), rolling_sd(close, n)
        for rule in rules:
            if (rule.family, rule.first) == (BOLLINGER, n):
                yield rule, bollinger_reversion(close, mean, sd, rule.second)


# --- rules ----------------------------------------------------------------------------------


def crossover(fast: Floats, slow: Floats, close: Floats) -> Positions:
    """The sign of fast less slow average; flat where they are equal or undefined."""
    difference = fast - slow
    difference[np.abs(difference) <= TIE * close] = 0.0
    return np.nan_to_num(np.sign(difference)).astype(np.int8)


def breakout(high: Floats, low: Floats, close: Floats, n: int) -> Positions:
    """Long when the close exceeds the highest high of the ``n`` bars before, short when it is
    below their lowest low, else as before.
    """
    return held(close > _before(rolling_max(high, n)), close < _before(rolling_min(low, n)))


def rsi_reversion(strength: Floats, threshold: float) -> Positions:
    """Long below the threshold, short above 100 less the threshold, else as before."""
    return held(strength < threshold, strength > 100 - threshold)


def bollinger_reversion(close: Floats, mean: Floats, sd: Floats, width: float) -> Positions:
    """Long below the lower band, short above the upper; flat once the close crosses the mean.

    A close that jumps across the mean and beyond the other band takes the new side at once.
    """
    side = np.nan_to_num(np.sign(close - mean))
    crossed = np.diff(side, prepend=side[:1]) != 0
    return held(close < mean - width * sd, close > mean + width * sd, crossed)


def held(
    long: NDArray[np.bool_], short: NDArray[np.bool_], flat: NDArray[np.bool_] | None = None
) -> Positions:
    """The latest signal so far: +1, -1 or 0; 0 before the first one, shape (n,).

    ``flat`` closes a position; on a bar with another signal it gives way.
    """
    signal = long.astype(np.int8) - short.astype(np.int8)
    spoken = (signal != 0) if flat is None else (signal != 0) | flat
    latest = np.maximum.accumulate(np.where(spoken, np.arange(signal.size), -1))
    return np.where(latest >= 0, signal[latest], 0).astype(np.int8)


# --- indicators -----------------------------------------------------------------------------
#
# A window of n bars that ends in one block of n bars is the end of the block before and the
# beginning of its own. So running results within blocks, from the left and from the right,
# give any window at a constant price a bar, whatever n (van Herk 1992, Pattern Recognition
# Letters 13, 517-521; Gil and Werman 1993). Blocks start at the first bar: what comes later
# changes nothing. Sums run over n numbers at most and start from the block's own first price,
# so they keep their digits, where one running sum over years would not.


def rolling_max(values: Floats, n: int) -> Floats:
    """Largest of each bar and the n - 1 before; NaN for the first n - 1, shape (n,)."""
    blocks = _blocks(values, n)
    right, left = _running(np.maximum, blocks)
    return _windows(np.maximum(left, right), values.size, n)


def rolling_min(values: Floats, n: int) -> Floats:
    """Smallest of each bar and the n - 1 before; NaN for the first n - 1."""
    return -rolling_max(-values, n)


def rolling_mean(values: Floats, n: int) -> Floats:
    """Mean of each bar and the n - 1 before; NaN for the first n - 1."""
    start, total, _ = _sums(values, n)
    return _windows(start + total / n, values.size, n)


def rolling_sd(values: Floats, n: int) -> Floats:
    """Standard deviation (divided by n) of each bar and the n - 1 before; NaN at first."""
    _, total, squares = _sums(values, n)
    variance = squares / n - (total / n) ** 2
    return _windows(np.sqrt(np.maximum(variance, 0.0)), values.size, n)


def wilder_rsi(close: Floats, n: int) -> Floats:
    """Relative strength index of ``n`` bars, 0 to 100; NaN for the first n, shape (n,).

    ``100 A / (A + B)`` with A and B the smoothed rises and falls: first the mean of n moves,
    then ``(before (n - 1) + move) / n``. 50 where the close has not moved at all.

    Source: Wilder (1978), New Concepts in Technical Trading Systems.
    """
    from scipy.signal import lfilter  # two seconds to import

    out = np.full(close.size, np.nan)
    if close.size <= n:
        return out
    move = np.diff(close)
    moves = np.stack([np.maximum(move, 0.0), np.maximum(-move, 0.0)])
    first = moves[:, :n].mean(axis=1, keepdims=True)
    # y_t = (1 - 1/n) y_{t-1} + x_t / n; the filter's state carries the first mean.
    later, _ = lfilter([1 / n], [1, 1 / n - 1], moves[:, n:], axis=1, zi=(1 - 1 / n) * first)
    rise, fall = np.concatenate([first, later], axis=1)
    total = rise + fall
    out[n:] = np.divide(100 * rise, total, out=np.full_like(total, 50.0), where=total > 0)
    return out


def _blocks(values: Floats, n: int) -> Floats:
    """Values in rows of n, the last row filled with NaN, which no result reads."""
    rows = -(-values.size // n)
    padded = np.full(rows * n, np.nan)
    padded[: values.size] = values
    return padded.reshape(rows, n)


def _running(operation: np.ufunc, blocks: Floats) -> tuple[Floats, Floats]:
    """For the window that ends at each bar: over its own block, and over the block before.

    The second is the operation's identity (0 or the lowest number) where nothing is left of
    the block before: at the last bar of a block.
    """
    right = operation.accumulate(blocks, axis=1)
    identity = 0.0 if operation is np.add else -np.inf
    left = np.full_like(blocks, identity)
    left[1:, :-1] = operation.accumulate(blocks[:-1, :0:-1], axis=1)[:, ::-1]
    return right, left


def _sums(values: Floats, n: int) -> tuple[Floats, Floats, Floats]:
    """For the window that ends at each bar: a price, and the sums of the deviations from it and
    of their squares, each of shape (blocks, n).
    """
    blocks = _blocks(values, n)
    start = blocks[:, :1]
    before = np.zeros_like(blocks)
    before[:-1] = blocks[:-1] - start[1:]
    total, squares = np.zeros_like(blocks), np.zeros_like(blocks)
    for power, out in ((1, total), (2, squares)):
        out += np.cumsum((blocks - start) ** power, axis=1)
        out[1:, :-1] += np.cumsum(before[:-1, :0:-1] ** power, axis=1)[:, ::-1]
    return start, total, squares


def _windows(rows: Floats, size: int, n: int) -> Floats:
    """Rows of blocks as one series again; the first n - 1 windows are not full."""
    flat: Floats = rows.reshape(-1)[:size].copy()
    flat[: n - 1] = np.nan
    return flat


def _before(values: Floats) -> Floats:
    """The value of the bar before; NaN for the first."""
    return np.concatenate([[np.nan], values[:-1]])
