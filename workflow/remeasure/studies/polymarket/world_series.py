"""Price histories and trades of generated markets, as CLOB and the Data API send them.

The price histories hold the very prices that the world planted at its horizons: between the
horizons the evidence is filled in with Brownian bridges on the information clock. A stamped
point stands on a whole hour (hourly series) or on noon and midnight (12-hour series) and
carries what was known when that point was the latest one, counted back from the close.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from remeasure.studies.polymarket.world import (
    DAY,
    HORIZONS,
    ONE,
    TAU,
    TICK,
    Floats,
    Ints,
    World,
    clock,
    stream,
    to_ticks,
)
from remeasure.studies.polymarket.world_names import Names, token_id

HOUR, HALF_DAY = 3_600, 43_200
#: Days of the hourly series, and its points.
HOURLY_DAYS = 14
#: One market in so many has a damaged answer, and one window in so many is a busy one.
DAMAGED, BUSY = 40, 500
#: Most rows of an ordinary window and rows of a busy one.
FEW_ROWS, MANY_ROWS = 12, 1_100
#: Seconds after the close at which the service stamps a point that it appends to some answers.
LATE = 9_000_000

_DAYS = tuple(HORIZONS.values())

#: Every price as the services write it at the end of a point, by tick.
_ENDS = [f"{TICK * tick / ONE:g}}}" for tick in range(ONE // TICK + 1)]


def grid(life: float) -> Floats:
    """Days before the close, falling to 0: every 12 hours, within 14 days every hour."""
    halves = np.arange(int(life * 2), 2 * HOURLY_DAYS, -1) / 2
    hours = np.arange(min(24 * HOURLY_DAYS, int(life * 24)), -1, -1) / 24
    return np.concatenate([halves, hours])


def event_log_odds(made: World, event: int, days: Floats, name: str = "path") -> Floats:
    """True log-odds of the first outcome of an event's markets, shape (markets, days).

    Parameters
    ----------
    days
        Days before the close, falling, none above the event's life.
    name
        Of the random stream that fills the evidence in between the horizons. At the horizons
        themselves the answer is that of the world, whatever the stream.
    """
    evidence, life = made.evidence, float(made.events.life[event])
    rows = _range(evidence.event, event)
    nodes, known = evidence.clock[rows.start], evidence.paths[rows]
    tau = np.array([TAU[int(made.events.topic[event])]])
    at = clock(days, tau)
    both = np.union1d(nodes, at)
    noise = stream(made.settings.seed, f"{name} {event}").standard_normal(
        (known.shape[0], both.size - 1)
    )
    free = np.zeros((known.shape[0], both.size))
    np.cumsum(noise * np.sqrt(np.diff(both)), axis=1, out=free[:, 1:])
    at_nodes, here = np.searchsorted(both, nodes), np.searchsorted(both, at)
    # A bridge is free motion minus what it misses the nodes by, in a straight line between.
    miss = known - free[:, at_nodes]
    left = np.clip(np.searchsorted(nodes, at, "right") - 1, 0, nodes.size - 2)
    width = nodes[left + 1] - nodes[left]
    share = np.where(width > 0, (at - nodes[left]) / np.where(width > 0, width, 1.0), 0.0)
    paths = free[:, here] + miss[:, left] * (1 - share) + miss[:, left + 1] * share
    for position, horizon in enumerate(_DAYS, start=1):
        exact = days == horizon
        if horizon <= life and exact.any():
            paths[:, exact] = known[:, [position]]
    odds = evidence.log_odds(paths, rows)[evidence.listed[rows]]
    turn = np.where(made.direction[_markets(made, event)] < 0, -1.0, 1.0)
    return np.asarray(turn[:, None] * odds)


def _range(owner: Ints, event: int) -> slice:
    first, last = np.searchsorted(owner, [event, event + 1])
    return slice(int(first), int(last))


def _markets(made: World, event: int) -> slice:
    return _range(made.event, event)


def event_prices(made: World, event: int, days: Floats, name: str = "path") -> Ints:
    """Prices of the first outcome in ten-thousandths, shape (markets, days)."""
    far = np.array(_DAYS)
    nearest = np.searchsorted(-(far[1:] + far[:-1]) / 2, -days)
    slopes = made.slope[_markets(made, event)][:, nearest]
    return to_ticks(expit(event_log_odds(made, event, days, name) / slopes))


def stamped(stamps: Ints) -> list[str]:
    """The beginnings of the points of a history, up to their prices."""
    return [f'{{"t":{stamp},"p":' for stamp in stamps.tolist()]


def history(begins: list[str], prices: Ints) -> bytes:
    """The body of a price history, oldest point first."""
    ends = [_ENDS[tick] for tick in (prices // TICK).tolist()]
    return ('{"history":[' + ",".join(map(operator.add, begins, ends)) + "]}").encode()


@dataclass(frozen=True)
class Histories:
    """Both answers about one token."""

    market: int
    hourly: bytes
    life: bytes


def histories(made: World, event: int, markets: list[int]) -> Iterator[Histories]:
    """Price histories of some markets of one event; a few damaged as the service's own are."""
    days = grid(float(made.events.life[event]))
    prices = event_prices(made, event, days)
    first = _markets(made, event).start
    closed = int(made.events.closed[event].astype(np.int64))
    hours = np.rint(days * 24).astype(np.int64)
    hour_stamp = closed // HOUR * HOUR - hours * HOUR
    hourly = (days <= HOURLY_DAYS) & (hour_stamp >= closed - HOURLY_DAYS * DAY)
    twelfth = hours % 12 == 0
    half_stamp = closed // HALF_DAY * HALF_DAY - hours // 12 * HALF_DAY
    near, far = stamped(hour_stamp[hourly]), stamped(half_stamp[twelfth])
    late = stamped(np.array([closed + LATE]))
    for market in markets:
        price = prices[market - first]
        answers = [(near, price[hourly]), (far, price[twelfth])]
        if market % DAMAGED == 0:
            answers = [_damaged(*each, late, bool(made.first_won[market])) for each in answers]
        if days[0] < 1:
            # Of a market that lived less than a day the service may have kept nothing.
            answers = [([], price[:0])] * 2
        yield Histories(market, *(history(*each) for each in answers))


def _damaged(begins: list[str], prices: Ints, late: list[str], won: bool) -> tuple[list[str], Ints]:
    """A point sent twice, the first time wrong, and one stamped long after the close."""
    at = len(begins) // 2
    wrong = ONE - prices[at : at + 1]
    end = [ONE - TICK if won else TICK]
    return (
        [*begins[: at + 1], *begins[at:], *late],
        np.concatenate([prices[:at], wrong, prices[at:], end]),
    )


def trades(names: Names, market: int) -> dict[int, list[str]]:
    """Fills of the week before each horizon that the market lived to see, newest first.

    Each fill is JSON text. Their dollars sum to the planted ones. The times lie in the last
    six days of the week, and after the market opened, so that no fill of the week before one
    horizon falls into the week before another.
    """
    made = names.made
    event = int(made.event[market])
    rng = stream(made.settings.seed, f"trades {market}")
    condition = names.condition(market)
    closed = int(made.events.closed[event].astype(np.int64))
    life = float(made.events.life[event])
    sides = [
        json.dumps(
            {
                "proxyWallet": "0x" + condition[2:42],
                "side": "BUY",
                "asset": token_id(condition, outcome),
                "conditionId": condition,
                "title": names.question(market),
                "slug": f"market-{names.market_id(market)}",
                "outcome": label,
                "outcomeIndex": outcome,
                "transactionHash": "0x" + condition[:1:-1],
            },
            ensure_ascii=False,
        )[:-1]
        for outcome, label in enumerate(names.outcomes(market))
    ]
    found = {}
    for horizon in np.flatnonzero(made.alive[market]).tolist():
        days = _DAYS[horizon]
        dollars = int(made.week_cents[market, horizon]) / 100
        busy = (market * len(_DAYS) + horizon) % BUSY == 0
        rows = MANY_ROWS if busy else 1 + min(int(dollars / 500), FEW_ROWS - 1)
        if dollars == 0:
            rows = 0
        shares, when, which = rng.random((3, rows))
        shares += 0.1
        if rows >= 4:
            # Two fills that agree in everything the service sends are still two fills.
            shares[1], when[1], which[1] = shares[0], when[0], which[0]
        span = max(1.0, min(6.0, life - days) * DAY)
        stamps = closed - int(days * DAY) - np.sort((when * span).astype(np.int64))
        # Sorting keeps twins together, for their shares follow their times.
        order = np.argsort(when, kind="stable")
        paid = (shares / shares.sum() * dollars)[order].tolist() if rows else []
        first = int(made.price[market, horizon])
        prices = (first / ONE, (ONE - first) / ONE)
        found[horizon] = [
            f'{sides[side]}, "size": {dollar / prices[side]!r}, "price": {prices[side]!r},'
            f' "timestamp": {stamp}}}'
            for stamp, dollar, side in zip(
                stamps.tolist(), paid, (which[order] < 0.5).astype(int).tolist(), strict=True
            )
        ]
    return found


def pages(rows: list[str], size: int) -> list[bytes]:
    """Pages of trades as they are asked for: the last one is shorter than the others."""
    parts = [rows[start : start + size] for start in range(0, len(rows) + 1, size)]
    return [("[" + ",".join(part) + "]").encode() for part in parts]
