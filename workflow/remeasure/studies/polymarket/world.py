"""A world of prediction markets whose true probabilities are known at every instant.

The log-odds of every market are an exact Bayesian martingale: evidence about the outcome
arrives as Brownian motion on an information clock, so the posterior probability has a closed
form. Prices distort it by a known slope (dear longshots, more so where little is traded), and
trading after the forecast can be made to follow surprise, which plants the volume trap.

Recipe: study card, section "Synthetic market". Where it leaves something open, this module
chooses:

- The markets of an event share its life and its close, a second drawn evenly from a month.
- ``Geometric(.25)`` counts from one, so an event with several markets has at least four.
- Nothing is known at clock 0; the first price of a market already holds the evidence that the
  clock shows at its age.
- Liquidity is the logarithm of the week's dollars without the noise of the horizon.
- The week-out price of a market that lived less than a week is its first price.
- Dollars of a week before a forecast are part of the whole-life dollars: their sum over the
  horizons is the least that the first part of total volume can be. Without this a market with
  real trading before the forecast could fall to the filter of total volume for not being
  surprising, and the really-traded set would be selected on its outcome.
- Three in ten crypto price questions ask whether the price falls; their first outcome is then
  the falling one. Crypto questions with several markets have no direction.
- Only single crypto questions share the monthly driver.

Every kind of noise has its own random stream, named after it: changing ``kappa`` or the filter
changes no other number, and a larger world begins with the same events.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from remeasure.stats.sampling import union_probability
from remeasure.studies.polymarket.settings import DrawSettings, GeneratorSettings, Horizon

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

TOPICS: Final = ("sports", "crypto", "science", "politics", "culture", "economy")
SPORTS, CRYPTO = 0, 1
#: By topic, in the order of `TOPICS`.
TOPIC_SHARE: Final = (0.50, 0.14, 0.08, 0.14, 0.08, 0.06)
MULTI_SHARE: Final = (0.35, 0.10, 0.35, 0.35, 0.45, 0.30)
MEDIAN_LIFE: Final = (12.0, 8.0, 20.0, 55.0, 35.0, 45.0)
TAU: Final = (5.0, 4.0, 7.0, 12.0, 10.0, 10.0)
LOG_DOLLARS: Final = (5.0, 6.8, 5.0, 6.5, 5.5, 6.0)

#: Days before the close at which every market is priced, in the order of all arrays below.
HORIZONS: Final[dict[Horizon, float]] = {
    "half": 182.0,
    "quarter": 91.0,
    "month": 30.0,
    "week": 7.0,
    "day": 1.0,
}
HORIZON_NAMES: Final[tuple[Horizon, ...]] = tuple(HORIZONS)
WEEK: Final = HORIZON_NAMES.index("week")

DAY: Final = 86_400
FIRST_MONTH, MONTHS = np.datetime64("2024-01", "M"), 34
LIFE_SPREAD, LIFE_RANGE = 1.1, (0.05, 700.0)
EXCLUSIVE_SHARE, MULTI_STOP, MOST_MARKETS = 0.80, 0.25, 25
PRIOR_YES, PRIOR_YES_SPORTS, PRIOR_SPREAD = 0.40, 0.48, 1.3
CANDIDATE_SPREAD, OTHER_SHIFT = 1.2, -0.5
CLOCK_END, CLOCK_RATE, CLOCK_POWER = 30.0, 3.2, 0.35
DRIVER_SHARE = 0.45
FALLING_SHARE = 0.3
BITCOIN_SCALE, BITCOIN_DRIVER, BITCOIN_NOISE = 0.10, 0.9, 0.436
EVENT_DOLLARS, MARKET_DOLLARS, HORIZON_DOLLARS = 1.2, 2.3, 0.5
LIFE_POWER, AFTER_SPREAD = 0.6, 0.6

#: Dollars of the week from which trading is real, and from which it is merely thin.
REAL_TRADING, THIN_TRADING = 1_000.0, 100.0

#: Prices are whole multiples of this many ten-thousandths of a dollar, and never nearer to the
#: ends than one of them.
TICK: Final = 5
ONE: Final = 10_000

#: Dollars of an event from which its markets are listed, and the share of markets that are
#: resolved half and half.
LISTED_FROM, FIFTY_FIFTY = 1_000.0, 0.004

#: The recipe's rates of the two draws: the publication's, scaled up for a smaller population.
DRAW: Final = DrawSettings(
    seed=20_261_031,
    topic_share={
        "sports": 0.06,
        "crypto": 0.25,
        "science": 0.20,
        "politics": 0.40,
        "culture": 0.50,
        "economy": 0.50,
    },
    certain=100_000,
    certain_sports=1_000_000,
    partial_from=10_000,
    share=0.30,
    target=None,
)


def stream(seed: int, name: str) -> Generator:
    """The random stream of one kind of noise: independent of all others of the same seed."""
    word = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    return np.random.default_rng([seed, word])


def clock(days: Floats, tau: Floats) -> Floats:
    """Evidence about the outcome ``days`` before the close: variance of the log-odds."""
    return CLOCK_END * np.exp(-CLOCK_RATE * (days / tau) ** CLOCK_POWER)


@dataclass(frozen=True)
class Events:
    """Events, one a position: all arrays have the same length.

    Attributes
    ----------
    topic
        Position in `TOPICS`.
    size, exclusive
        Number of markets; whether at most one of them can win.
    life
        Days from opening to close, whole seconds.
    month, closed
        Position of the month of the close from `FIRST_MONTH` on; the close, to the second.
    dollars
        The event's own part of the logarithm of dollars.
    """

    topic: Ints
    size: Ints
    exclusive: Flags
    life: Floats
    month: Ints
    closed: NDArray[np.datetime64]
    dollars: Floats


@dataclass(frozen=True)
class Evidence:
    """What is known of every racer at every horizon.

    A racer is a market, or the unlisted "other" of an exclusive event (last of its event).

    Attributes
    ----------
    event
        Event of each racer, shape (racers,).
    listed
        Whether the racer is a market.
    exclusive
        Whether it stands in an exclusive event.
    prior
        Log-odds before any evidence; in an exclusive event the logarithm of the prior weight.
    won
        Whether it won (before falling questions are turned).
    clock
        Clock at the nodes, shape (racers, nodes): 0, the horizons, the close.
    paths
        Evidence at the nodes, shape (racers, nodes): Brownian motion on the clock whose drift
        is +1/2 or -1/2 for a question of its own, and 1 for the winner of an exclusive event.
    """

    event: Ints
    listed: Flags
    exclusive: Flags
    prior: Floats
    won: Flags
    clock: Floats
    paths: Floats

    def log_odds(self, paths: Floats, rows: slice = slice(None)) -> Floats:
        """Posterior log-odds of whole events from their evidence, shape (racers, times)."""
        weight = self.prior[rows, None] + paths
        exclusive = self.exclusive[rows]
        out: Floats = weight.copy()
        if exclusive.any():
            out[exclusive] = _softmax_log_odds(weight[exclusive], self.event[rows][exclusive])
        return out


@dataclass(frozen=True)
class World:
    """All markets of a world, those below the volume filter included.

    Arrays over markets have length ``m``; those over markets and horizons shape (m, 5) in the
    order of `HORIZONS`.

    Attributes
    ----------
    event
        Event of each market.
    first_won
        Whether the first outcome won.
    direction
        +1 where the first outcome is a rising price, -1 a falling one, 0 no price question.
    log_odds
        True log-odds that the first outcome wins; at its opening where a market was younger.
    alive
        Whether the market was open at the horizon.
    week_cents
        Whole cents traded in the seven days before the horizon; 0 before the market opened.
    price
        Price of the first outcome in ten-thousandths of a dollar, at its opening where younger.
    slope
        Slope of the true log-odds on those of the price.
    total_dollars
        Dollars traded in the whole life.
    fifty_fifty
        Whether the market is resolved half and half, whatever it said.
    kept
        Whether its event passes the volume filter.
    driver, bitcoin
        By month: what moves crypto questions; simple return of Bitcoin.
    """

    settings: GeneratorSettings
    events: Events
    evidence: Evidence
    event: Ints
    first_won: Flags
    direction: NDArray[np.int8]
    log_odds: Floats
    alive: Flags
    week_cents: Ints
    price: Ints
    slope: Floats
    total_dollars: Floats
    fifty_fifty: Flags
    kept: Flags
    driver: Floats
    bitcoin: Floats

    @cached_property
    def topic(self) -> Ints:
        """Topic of each market."""
        return self.events.topic[self.event]

    @cached_property
    def probability(self) -> Floats:
        """True probability that the first outcome wins, shape (m, 5)."""
        return np.asarray(expit(self.log_odds))

    @cached_property
    def clean(self) -> Flags:
        """The population: markets above the volume filter that one outcome won."""
        return self.kept & ~self.fifty_fifty


def world(
    settings: GeneratorSettings,
    *,
    listed_from: float = LISTED_FROM,
    exclusive: float = EXCLUSIVE_SHARE,
    shared: float = 0.0,
) -> World:
    """Generate the world of these settings; about 8 microseconds an event.

    Parameters
    ----------
    settings
        Seed, events before the volume filter, weight of surprise and planted slopes.
    listed_from
        Dollars of the volume filter; 0 switches it off.
    exclusive
        Share of the events with several markets of which at most one can win.
    shared
        Correlation, within each other event with several markets, of what its markets start
        from, of their luck and of their evidence. The recipe has none, and then outcomes of one
        event never depend on each other but against each other. Every single market stays
        what it was; only how they hang together changes.
    """
    seed = settings.seed
    events = _events(settings.events, seed, exclusive)
    driver, bitcoin = _months(seed)
    evidence = _evidence(events, driver, seed, shared)
    listed = evidence.listed
    event = evidence.event[listed]
    topic = events.topic[event]
    priced = (topic == CRYPTO) & (events.size[event] == 1)
    falling = priced & (stream(seed, "falling").random(event.size) < FALLING_SHARE)
    turn = np.where(falling, -1.0, 1.0)

    log_odds = turn[:, None] * evidence.log_odds(evidence.paths[:, 1:-1])[listed]
    first_won = evidence.won[listed] ^ falling
    days = np.array(list(HORIZONS.values()))
    alive = days[None, :] <= events.life[event][:, None]

    liquidity = (
        np.asarray(LOG_DOLLARS)[topic]
        + events.dollars[event]
        + MARKET_DOLLARS * stream(seed, "market dollars").standard_normal(event.size)
    )
    noise = stream(seed, "horizon dollars").standard_normal((event.size, days.size))
    cents = np.floor(100 * np.exp(liquidity[:, None] + HORIZON_DOLLARS * noise)).astype(np.int64)
    real, thin, empty = settings.distortion
    slope = np.where(
        cents >= 100 * REAL_TRADING, real, np.where(cents >= 100 * THIN_TRADING, thin, empty)
    )
    price = to_ticks(expit(log_odds / slope))
    cents = np.where(alive, cents, 0)

    paid = price[:, WEEK] / ONE
    surprise = -np.log(np.where(first_won, paid, 1 - paid))
    before = np.exp(liquidity) * np.maximum(1.0, events.life[event] / 7) ** LIFE_POWER
    after = np.exp(
        liquidity
        + AFTER_SPREAD * stream(seed, "dollars after").standard_normal(event.size)
        + settings.kappa * surprise
    )
    total = np.round(np.maximum(before, cents.sum(axis=1) / 100) + after, 2)
    kept = np.bincount(event, total, settings.events) >= listed_from
    return World(
        settings=settings,
        events=events,
        evidence=evidence,
        event=event,
        first_won=first_won,
        direction=np.where(priced, turn, 0).astype(np.int8),
        log_odds=log_odds,
        alive=alive,
        week_cents=cents,
        price=price,
        slope=slope,
        total_dollars=total,
        fifty_fifty=stream(seed, "fifty-fifty").random(event.size) < FIFTY_FIFTY,
        kept=kept[event],
        driver=driver,
        bitcoin=bitcoin,
    )


@dataclass(frozen=True)
class Sample:
    """The markets that one draw or both chose: all arrays have one length.

    Attributes
    ----------
    market
        Positions of the sampled markets in the world, rising.
    in_topic_draw, in_size_draw
        Which draw chose it.
    pi_topic, pi_size, pi
        Inclusion probabilities of the draws and of their union.
    """

    market: Ints
    in_topic_draw: Flags
    in_size_draw: Flags
    pi_topic: Floats
    pi_size: Floats
    pi: Floats

    @property
    def weight(self) -> Floats:
        """Markets that each sampled one stands for."""
        return 1 / self.pi


def draw(
    made: World, settings: DrawSettings = DRAW, uniforms: tuple[Floats, Floats] | None = None
) -> Sample:
    """Both draws from the population of a world.

    Parameters
    ----------
    made
        The world.
    settings
        Rates and thresholds; the common share must be given.
    uniforms
        Numbers within 0..1 of every market of the world, one array a draw: a market is chosen
        where its number lies below its rate. Drawn from the world's own streams when None.
    """
    assert settings.share is not None  # noqa: S101 - a generated population has a known share
    by_topic = np.array([settings.topic_share[name] for name in TOPICS])[made.topic]
    dollars = made.total_dollars
    certain = np.where(made.topic == SPORTS, settings.certain_sports, settings.certain)
    some = np.where(dollars > settings.partial_from, settings.share, 0.0)
    by_size = np.where(dollars > certain, 1.0, some)
    if uniforms is None:
        numbers = stream(made.settings.seed, "draws").random((dollars.size, 2))
        uniforms = numbers[:, 0], numbers[:, 1]
    chosen = [
        made.clean & (u < rate) for u, rate in zip(uniforms, (by_topic, by_size), strict=True)
    ]
    market = np.flatnonzero(chosen[0] | chosen[1])
    return Sample(
        market=market,
        in_topic_draw=chosen[0][market],
        in_size_draw=chosen[1][market],
        pi_topic=by_topic[market],
        pi_size=by_size[market],
        pi=union_probability(by_topic, by_size)[market],
    )


def to_ticks(probability: Floats) -> Ints:
    """Prices in ten-thousandths: on whole ticks, at least one tick from both ends."""
    ticks = np.rint(probability * (ONE // TICK)).astype(np.int64)
    return np.clip(ticks * TICK, TICK, ONE - TICK)


def _events(n: int, seed: int, exclusive: float) -> Events:
    topic = np.searchsorted(np.cumsum(TOPIC_SHARE)[:-1], stream(seed, "topic").random(n), "right")
    kinds = stream(seed, "kind").random((n, 2))
    multi = kinds[:, 0] < np.asarray(MULTI_SHARE)[topic]
    more = np.minimum(3 + stream(seed, "size").geometric(MULTI_STOP, n), MOST_MARKETS)
    life = np.asarray(MEDIAN_LIFE)[topic] * np.exp(
        LIFE_SPREAD * stream(seed, "life").standard_normal(n)
    )
    when = stream(seed, "close").random((n, 2))
    month = (when[:, 0] * MONTHS).astype(np.int64)
    starts = FIRST_MONTH + np.arange(MONTHS + 1)
    begin = starts.astype("datetime64[s]")
    seconds = np.diff(begin).astype(np.int64)[month]
    return Events(
        topic=topic.astype(np.int64),
        size=np.where(multi, more, 1).astype(np.int64),
        exclusive=multi & (kinds[:, 1] < exclusive),
        life=np.rint(np.clip(life, *LIFE_RANGE) * DAY) / DAY,
        month=month,
        closed=begin[month] + (when[:, 1] * seconds).astype("timedelta64[s]"),
        dollars=EVENT_DOLLARS * stream(seed, "event dollars").standard_normal(n),
    )


def _months(seed: int) -> tuple[Floats, Floats]:
    driver = stream(seed, "driver").standard_normal(MONTHS)
    noise = stream(seed, "bitcoin").standard_normal(MONTHS)
    return driver, BITCOIN_SCALE * (BITCOIN_DRIVER * driver + BITCOIN_NOISE * noise)


def _evidence(events: Events, driver: Floats, seed: int, shared: float) -> Evidence:
    racers = events.size + events.exclusive
    event = np.repeat(np.arange(racers.size), racers)
    last = np.cumsum(racers) - 1
    listed = np.ones(event.size, dtype=np.bool_)
    listed[last[events.exclusive]] = False
    exclusive = events.exclusive[event]
    topic = events.topic[event]

    # Single questions have no companion to share with: their noise is their own either way.
    together = (events.size > 1)[event] & ~exclusive

    def noise(name: str, *shape: int) -> Floats:
        own = stream(seed, name).standard_normal((event.size, *shape))
        if shared > 0:
            common = stream(seed, f"shared {name}").standard_normal((racers.size, *shape))[event]
            mixed = np.sqrt(shared) * common + np.sqrt(1 - shared) * own
            own[together] = mixed[together]
        return own

    start = noise("prior")
    yes = np.where(topic == SPORTS, PRIOR_YES_SPORTS, PRIOR_YES)
    prior = np.where(
        exclusive,
        CANDIDATE_SPREAD * start + np.where(listed, 0.0, OTHER_SHIFT),
        np.log(yes / (1 - yes)) + PRIOR_SPREAD * start,
    )

    luck = noise("luck")
    driven = (topic == CRYPTO) & (events.size[event] == 1)
    common = driver[events.month[event]]
    mixed = -(np.sqrt(DRIVER_SHARE) * common + np.sqrt(1 - DRIVER_SHARE) * luck)
    uniform = ndtr(np.where(driven, mixed, luck))
    # The largest of prior plus Gumbel noise wins with the probability of the softmax.
    race = prior - np.log(-np.log(stream(seed, "winner").random(event.size)))
    best = np.maximum.reduceat(race, np.cumsum(racers) - racers)
    won = np.where(exclusive, race == best[event], uniform < expit(prior))

    days = np.minimum(np.array([*HORIZONS.values(), 0.0])[None, :], events.life[:, None])
    nodes = clock(days, np.asarray(TAU)[events.topic][:, None])
    nodes = np.concatenate([np.zeros((racers.size, 1)), nodes], axis=1)[event]
    steps = np.diff(nodes, axis=1)
    drift = np.where(exclusive, won * 1.0, won - 0.5)
    moves = noise("evidence", steps.shape[1])
    paths = np.zeros_like(nodes)
    np.cumsum(drift[:, None] * steps + np.sqrt(steps) * moves, axis=1, out=paths[:, 1:])
    return Evidence(event, listed, exclusive, prior, won, nodes, paths)


def _softmax_log_odds(weight: Floats, event: Ints) -> Floats:
    """Log-odds of each racer against all others of its event, without cancellation."""
    starts = np.flatnonzero(np.diff(event, prepend=-1))
    counts = np.diff(np.append(starts, event.size))
    top = np.repeat(np.maximum.reduceat(weight, starts, axis=0), counts, axis=0)
    leads = weight == top
    lesser = np.where(leads, 0.0, np.exp(weight - top))
    rest = np.repeat(np.add.reduceat(lesser, starts, axis=0), counts, axis=0)
    # The leader's rivals weigh ``rest``; another one's weigh the leader and the rest but itself.
    rivals = np.where(leads, rest, 1.0 + np.maximum(rest - lesser, 0.0))
    tiny = np.finfo(np.float64).tiny
    return np.asarray(weight - top - np.log(np.maximum(rivals, tiny)))
