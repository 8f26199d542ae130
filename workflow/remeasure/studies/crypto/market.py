"""The synthetic market: spot candles of many coins with a known truth planted in them.

Volatility, fat tails, jumps and hours of the day look like the real market; the
direction of the next hour is unpredictable but for one planted effect, a
reversal whose strength is ``beta``. The best forecast of an hour's sign is then
known, and so is how often it is right. With ``beta = 0`` the log price is a
martingale: nothing can be predicted but volatility.

Recipe: study card, section "Synthetic market generator". Where it leaves
something open, this module chooses:

- Both log components of volatility start in their stationary law and are
  centred at minus their variance, so that the mean square of exp(fast + slow)
  is one and A is the volatility a year that the shocks would have.
- Each component has its own common innovation, shared by all coins.
- The common draw of a jump is a plain Student t(3), not scaled to unit variance.
- A forced hour turns as a whole: its jumps change sign with its other returns.
- The normal draws of volume and of taker share are independent of each other.
- Quote volume is volume times the mean of open, high, low and close, and the
  taker's share of it is the same as of volume; an average trade has size 0.1.
- Coins whose annual volatility is not given take one between 0.7 and 1.1 that
  depends on their name alone.
- Prices and volumes are rounded to the eight places that the archive prints
  before anything is computed from them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from remeasure.errors import ConfigError
from remeasure.studies.crypto import calendar

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

STEPS_AN_HOUR = 12
HOURS_A_YEAR = 8760
#: Decimal places of prices and volumes in the archive.
PLACES = 8

#: Volatility a year of the coins that the recipe names; other coins, see `annual_volatility`.
ANNUAL_VOLATILITY = {"BTCUSDT": 0.55, "ETHUSDT": 0.72, "SOLUSDT": 1.00}
OTHER_VOLATILITY = (0.7, 1.1)

#: Half-life in hours and standard deviation of the two log components of volatility.
FAST, SLOW = (10.0, 0.33), (600.0, 0.52)
#: Share of the innovation's variance that all coins have in common.
COMMON_VOLATILITY = 0.8
WEEKEND, WORKDAY = 0.72, 1.06

SHOCK_DEGREES = 4.5
#: Weight of the common shock: the first coin is the market itself.
LEADER, LEADER_WEIGHT, OTHER_WEIGHT = "BTCUSDT", 1.0, 0.85

JUMPS_A_DAY, JUMP_SIZE, JUMP_DEGREES = 0.4, 2.0, 3.0

FIRST_PRICE = 100.0
MEAN_VOLUME = 100.0
TRADE_SIZE = 0.1


@dataclass(frozen=True)
class Market:
    """What all coins share, on the five-minute grid of a window.

    Attributes
    ----------
    first, last
        Window, both days included.
    seed
        Seed of the world.
    fast, slow
        Common innovations of the volatility components, standard normal, shape ``(hours,)``.
    shock
        Common shocks, unit variance, shape ``(12 * hours,)``.
    jump
        Common jumps in units of a coin's hourly standard deviation, 0 in most steps,
        shape ``(12 * hours,)``.
    """

    first: date
    last: date
    seed: int
    fast: Floats
    slow: Floats
    shock: Floats
    jump: Floats

    @property
    def hours(self) -> calendar.Times:
        """Open times of all hours, halts included, shape ``(hours,)``."""
        return calendar.grid(self.first, self.last, "1h")


@dataclass(frozen=True)
class Candles:
    """Candles of one coin and interval, columns of shape ``(n,)``, named as in the archive.

    Prices and volumes hold at most eight decimal places; ``open_time`` is ascending UTC.
    """

    open_time: calendar.Times
    open: Floats
    high: Floats
    low: Floats
    close: Floats
    volume: Floats
    quote_volume: Floats
    trades: Counts
    taker_buy_volume: Floats
    taker_buy_quote_volume: Floats


@dataclass(frozen=True)
class SyntheticCoin:
    """One coin of the synthetic market, and the truth behind it.

    Attributes
    ----------
    symbol
        As in ``BTCUSDT``.
    beta
        Strength of the planted reversal.
    candles
        All five-minute candles of the window, those inside halts included.
    hour
        Open times of the hours, shape ``(hours,)``, as all that follow.
    sigma
        Standard deviation of the hour's return without jumps.
    direction
        Planted direction d in (-1, 1): the best forecast of the hour's sign is sign(d).
    probability
        Chance q that the hour's sign was forced to sign(d).
    forced
        Whether it was.
    """

    symbol: str
    beta: float
    candles: Candles
    hour: calendar.Times
    sigma: Floats
    direction: Floats
    probability: Floats
    forced: calendar.Mask

    def bayes_hit_rate(self, first: date, last: date) -> float:
        """How often the best forecast is right on average: 1/2 + mean(q)/2.

        Over the hours of the days ``first`` to ``last`` that have a candle; NaN without any.
        """
        chosen = (
            (self.hour >= np.datetime64(first, "us"))
            & (self.hour < np.datetime64(last, "us") + np.timedelta64(1, "D"))
            & ~calendar.inside_halt(self.hour, "1h")
        )
        if not chosen.any():
            return math.nan
        return float(0.5 + self.probability[chosen].mean() / 2)

    def traded(self) -> Candles:
        """The five-minute candles that exist: none inside a halt or before the listing day."""
        day = calendar.first_traded(self.symbol, self.hour[0].astype("datetime64[D]").item())
        times = self.candles.open_time
        kept = ~calendar.inside_halt(times, "5m") & (times >= np.datetime64(day, "us"))
        return Candles(**{name: column[kept] for name, column in vars(self.candles).items()})


def simulate(
    coins: Iterable[str], first: date, last: date, *, seed: int, beta: float
) -> dict[str, SyntheticCoin]:
    """Simulate coins over a window.

    A coin depends on the window, the seed and its own name, never on the other coins.
    A longer window is another world, not a continuation.

    Parameters
    ----------
    coins
        Symbols.
    first, last
        Window, both days included.
    seed
        Seed of the world.
    beta
        Strength of the planted reversal, 0 (none) to 1.

    Raises
    ------
    ConfigError
        When beta is outside [0, 1] or the window is empty.
    """
    shared = market(first, last, seed)
    return {symbol: simulate_coin(shared, symbol, beta) for symbol in coins}


def market(first: date, last: date, seed: int) -> Market:
    """Draw what all coins share; ConfigError when the window is empty."""
    if first > last:
        raise ConfigError(
            f"the window from {first} to {last} is empty",
            where="synthetic market",
            remedy="set last to first or a later day",
        )
    hours = calendar.grid(first, last, "1h").size
    steps = hours * STEPS_AN_HOUR
    rng = _stream(seed, "market")
    return Market(
        first=first,
        last=last,
        seed=seed,
        fast=rng.standard_normal(hours),
        slow=rng.standard_normal(hours),
        shock=_unit_t(rng, steps),
        jump=np.where(
            rng.random(steps) < JUMPS_A_DAY / (24 * STEPS_AN_HOUR),
            JUMP_SIZE * rng.standard_t(JUMP_DEGREES, steps),
            0.0,
        ),
    )


def simulate_coin(shared: Market, symbol: str, beta: float) -> SyntheticCoin:
    """Simulate one coin of a market; ConfigError when beta is outside [0, 1]."""
    if not 0 <= beta <= 1:
        raise ConfigError(
            f"beta is {beta}",
            where="synthetic market",
            remedy="set the strength of the reversal between 0 and 1",
        )
    hour = shared.hours
    rng = _stream(shared.seed, symbol)
    sigma = _hourly_sd(shared, symbol, rng)
    sigma_step = np.repeat(sigma, STEPS_AN_HOUR)
    weight = LEADER_WEIGHT if symbol == LEADER else OTHER_WEIGHT
    shock = weight * shared.shock + math.sqrt(1 - weight**2) * _unit_t(rng, shared.shock.size)
    returns = sigma_step * (shock / math.sqrt(STEPS_AN_HOUR) + shared.jump)

    scaled = returns.reshape(-1, STEPS_AN_HOUR).sum(axis=1) / sigma
    direction, probability, sign, forced = _plant(scaled, rng.random(hour.size), beta)
    turn = np.repeat(sign, STEPS_AN_HOUR)
    candles = _candles(shared, sigma_step, returns * turn, shock * turn, rng)
    return SyntheticCoin(
        symbol=symbol,
        beta=beta,
        candles=candles,
        hour=hour,
        sigma=sigma,
        direction=direction,
        probability=probability,
        forced=forced,
    )


def aggregate(candles: Candles, interval: str) -> Candles:
    """Longer candles from five-minute candles: first open, highest high, lowest low, last close.

    Volumes and trades are sums, rounded to eight places. A candle exists where at least one
    five-minute candle lies in it.

    Parameters
    ----------
    candles
        Five-minute candles, ascending, with or without holes.
    interval
        ``5m`` (returned as they are), ``15m``, ``1h``, ``4h`` or ``1d``.
    """
    if interval == "5m" or not candles.open_time.size:
        return candles
    length = calendar.step(interval).astype("timedelta64[us]").astype(np.int64)
    slot = candles.open_time.astype("datetime64[us]").astype(np.int64) // length
    begin = np.flatnonzero(np.concatenate([[True], slot[1:] != slot[:-1]]))
    end = np.concatenate([begin[1:], [slot.size]]) - 1
    return Candles(
        open_time=(slot[begin] * length).astype("datetime64[us]"),
        open=candles.open[begin],
        high=np.maximum.reduceat(candles.high, begin),
        low=np.minimum.reduceat(candles.low, begin),
        close=candles.close[end],
        volume=_printed(np.add.reduceat(candles.volume, begin)),
        quote_volume=_printed(np.add.reduceat(candles.quote_volume, begin)),
        trades=np.add.reduceat(candles.trades, begin),
        taker_buy_volume=_printed(np.add.reduceat(candles.taker_buy_volume, begin)),
        taker_buy_quote_volume=_printed(np.add.reduceat(candles.taker_buy_quote_volume, begin)),
    )


def annual_volatility(symbol: str) -> float:
    """Volatility a year of a coin's shocks (A of the recipe)."""
    if symbol in ANNUAL_VOLATILITY:
        return ANNUAL_VOLATILITY[symbol]
    low, high = OTHER_VOLATILITY
    return low + (high - low) * _words(symbol)[0] / 2**32


def season(hour: Counts) -> Floats:
    """Volatility by UTC hour of the bar's open, mean square 1 over the day."""

    def raw(h: npt.NDArray[np.float64]) -> Floats:
        wave = 0.27 * np.cos(2 * np.pi * (h - 15.5) / 24)
        return np.asarray(np.exp(wave + 0.22 * np.exp(-(((h - 14.3) / 1.3) ** 2) / 2)))

    norm = math.sqrt(float((raw(np.arange(24.0)) ** 2).mean()))
    return raw(hour.astype(np.float64)) / norm


def _words(name: str) -> list[int]:
    digest = hashlib.sha256(name.encode()).digest()
    return [int.from_bytes(digest[i : i + 4], "big") for i in range(0, 32, 4)]


def _stream(seed: int, name: str) -> np.random.Generator:
    """A stream of its own for every name: adding one never moves another."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *_words(name)])))


def _unit_t(rng: np.random.Generator, n: int) -> Floats:
    return rng.standard_t(SHOCK_DEGREES, n) * math.sqrt((SHOCK_DEGREES - 2) / SHOCK_DEGREES)


def _printed(values: Floats) -> Floats:
    """The nearest number with eight places, so that printing and parsing change nothing."""
    return np.round(values, PLACES)


def _component(common: Floats, own: Floats, halflife: float, sd: float) -> Floats:
    """Stationary AR(1) log component with a mean square of one once exponentiated."""
    mixed = math.sqrt(COMMON_VOLATILITY) * common + math.sqrt(1 - COMMON_VOLATILITY) * own
    decay = 2 ** (-1 / halflife)
    drive = math.sqrt(1 - decay**2) * mixed
    drive[0] = mixed[0]
    # A recursion over plain floats, 5 ms for 51,000 hours; scipy's filter takes 2 s to import.
    level = accumulate(drive.tolist(), lambda before, new: decay * before + new)
    return np.asarray(sd * np.fromiter(level, np.float64, drive.size) - sd**2)


def _hourly_sd(shared: Market, symbol: str, rng: np.random.Generator) -> Floats:
    """Standard deviation of each hour's return without jumps, shape ``(hours,)``."""
    hour = shared.hours
    fast = _component(shared.fast, rng.standard_normal(hour.size), *FAST)
    slow = _component(shared.slow, rng.standard_normal(hour.size), *SLOW)
    day = hour.astype("datetime64[D]").astype(np.int64)
    # 1970-01-01 was a Thursday: day number + 3 counts weekdays from Monday.
    weekday = np.where((day + 3) % 7 >= 5, WEEKEND, WORKDAY)
    of_day = (hour.astype("datetime64[h]").astype(np.int64)) % 24
    base = annual_volatility(symbol) / math.sqrt(HOURS_A_YEAR)
    return np.asarray(base * np.exp(fast + slow) * season(of_day) * weekday)


def _plant(
    scaled: Floats, uniform: Floats, beta: float
) -> tuple[Floats, Floats, Floats, calendar.Mask]:
    """Force the signs of some hours against the two hours before them.

    Parameters
    ----------
    scaled
        Hourly returns in units of sigma before planting, shape ``(hours,)``.
    uniform
        Uniform draws that decide, shape ``(hours,)``.

    Returns
    -------
    direction, probability, sign, forced
        Shape ``(hours,)`` each; ``sign`` is the factor of the hour's returns, +1 or -1.
    """
    magnitude = np.abs(scaled)
    gates = (beta * np.exp(-((magnitude / 0.4) ** 2))).tolist()
    directions, probabilities, signs, forces = [], [], [], []
    one = two = 0.0
    # A loop over hours: an hour's direction needs the final signs of the two before it, which
    # depend on their own directions, so no array operation can run ahead. Plain floats take
    # about 30 ms for 51,000 hours.
    for x, gate, draw in zip(scaled.tolist(), gates, uniform.tolist(), strict=True):
        d = -math.tanh(3 * (0.6 * one + 0.4 * two))
        q = abs(d) * gate
        force = draw < q
        sign = -1.0 if force and (x > 0) != (d > 0) else 1.0
        directions.append(d)
        probabilities.append(q)
        signs.append(sign)
        forces.append(force)
        one, two = sign * x, one
    return (
        np.array(directions),
        np.array(probabilities),
        np.array(signs),
        np.array(forces, dtype=bool),
    )


def _candles(
    shared: Market, sigma_step: Floats, returns: Floats, shock: Floats, rng: np.random.Generator
) -> Candles:
    """Five-minute candles of the whole grid from final returns and shocks."""
    n = returns.size
    close = _printed(np.exp(math.log(FIRST_PRICE) + np.cumsum(returns)))
    open_ = np.concatenate([[FIRST_PRICE], close[:-1]])
    # Extremes of a Brownian bridge from 0 to r with variance v a candle.
    spread = 2 * sigma_step**2 / STEPS_AN_HOUR
    up = (returns + np.sqrt(returns**2 - spread * np.log1p(-rng.random(n)))) / 2
    down = (returns - np.sqrt(returns**2 - spread * np.log1p(-rng.random(n)))) / 2
    # Rounding may not lift an end of the candle out of its range.
    high = np.maximum(_printed(open_ * np.exp(up)), np.maximum(open_, close))
    low = np.minimum(_printed(open_ * np.exp(down)), np.minimum(open_, close))

    relative = sigma_step / sigma_step.mean()
    activity = np.exp(0.5 * np.abs(shock) + 0.35 * rng.standard_normal(n))
    volume = _printed(MEAN_VOLUME * relative * activity)
    lean = 0.6 * (0.5 * shock + 0.6 * rng.standard_normal(n))
    taker = 1 / (1 + np.exp(-lean))
    price = (open_ + high + low + close) / 4
    return Candles(
        open_time=calendar.grid(shared.first, shared.last, "5m"),
        open=open_,
        high=high,
        low=low,
        close=close,
        volume=volume,
        quote_volume=_printed(volume * price),
        trades=np.maximum(np.rint(volume / TRADE_SIZE), 1).astype(np.int64),
        taker_buy_volume=_printed(volume * taker),
        taker_buy_quote_volume=_printed(volume * taker * price),
    )
