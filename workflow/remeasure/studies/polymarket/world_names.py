"""Names of generated markets: identifiers, questions and tags as the services write them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from remeasure.studies.polymarket.world import CRYPTO, TOPICS, World

#: Gamma numbers events and markets; a market's number follows from its position.
FIRST_EVENT, FIRST_MARKET = 10_000, 500_000

#: Tags of each topic.
TAGS = {
    "politics": ("politics", "geopolitics"),
    "sports": ("sports", "games"),
    "crypto": ("crypto", "crypto-prices"),
    "economy": ("finance", "economy"),
    "culture": ("pop-culture", "movies"),
    "science": ("tech", "weather"),
}

ELECTION = "presidential-election-winner-2024"
NOBEL = "nobel-peace-prize-winner-2025"
NOBEL_NAMES = (
    "María Corina Machado",
    "Yulia Navalnaya",
    "Doctors Without Borders",
    "Sudan's Emergency Response Rooms",
    "António Guterres",
    "International Court of Justice",
)

_COINS = ("Bitcoin", "Ethereum", "Solana")
_RISING = (
    "Will {coin} reach ${level:,} in {month}?",
    "Will the price of {coin} be above ${level:,} on {month} {day}?",
    "Will {coin} hit ${level:,} in {month}?",
)
_FALLING = (
    "Will {coin} dip to ${level:,} in {month}?",
    "Will the price of {coin} be below ${level:,} on {month} {day}?",
    "Will {coin} fall to ${level:,} in {month}?",
)
_SINGLE = {
    "politics": "Will motion {n} pass the vote in {month}?",
    "sports": "Lions {n} vs. Bears {n}",
    "economy": "Will the central bank change its rate at meeting {n}?",
    "culture": "Will film {n} win the award?",
    "science": "Will mission {n} launch in {month}?",
}
_TITLE = {
    "politics": "Who wins seat {n}?",
    "sports": "Who wins cup {n}?",
    "crypto": "Which token of series {n}?",
    "economy": "Which index leads in quarter {n}?",
    "culture": "Who wins award {n}?",
    "science": "Which team is first in challenge {n}?",
}
_CANDIDATE = {
    "politics": "Will candidate {c} win seat {n}?",
    "sports": "Will team {c} win cup {n}?",
    "crypto": "Will token {c} be listed in series {n}?",
    "economy": "Will index {c} lead in quarter {n}?",
    "culture": "Will nominee {c} win award {n}?",
    "science": "Will team {c} be first in challenge {n}?",
}


def condition_id(seed: int, market: int) -> str:
    """The conditionId of a market: 0x and 64 hexadecimal digits."""
    return "0x" + hashlib.sha256(f"{seed}:market:{market}".encode()).hexdigest()


def token_id(condition: str, outcome: int) -> str:
    """Token of one outcome: 77 decimal digits, too many for any float."""
    number = int.from_bytes(hashlib.sha256(f"{condition}:{outcome}".encode()).digest(), "big")
    return str(10**76 + number % (9 * 10**76))


@dataclass(frozen=True)
class Names:
    """What the markets and events of a world are called.

    Attributes
    ----------
    made
        The world.
    charted
        Give two suitable events the names that the single-market charts look for.
    """

    made: World
    charted: bool = True
    _first: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        sizes = self.made.events.size
        object.__setattr__(self, "_first", np.cumsum(sizes) - sizes)

    def condition(self, market: int) -> str:
        """The market's conditionId."""
        return condition_id(self.made.settings.seed, market)

    def conditions(self, markets: Iterable[int]) -> list[str]:
        """conditionIds of many markets."""
        return [self.condition(int(market)) for market in markets]

    @staticmethod
    def event_id(event: int) -> str:
        """Gamma's number of an event."""
        return str(FIRST_EVENT + event)

    @staticmethod
    def market_id(market: int) -> str:
        """Gamma's number of a market."""
        return str(FIRST_MARKET + market)

    def markets(self, event: int) -> range:
        """Positions of the markets of an event."""
        first = int(self._first[event])
        return range(first, first + int(self.made.events.size[event]))

    @cached_property
    def election(self) -> int:
        """The event that is called the presidential election; -1 when none suits."""
        return self._suitable(("politics",), 2, "2024-11-06", 300)

    @cached_property
    def nobel(self) -> int:
        """The event that is called the Nobel Peace Prize; -1 when none suits."""
        # Never the event that is the election already.
        return self._suitable(("culture", "science", "economy"), len(NOBEL_NAMES), "2025-10-10", 60)

    def _suitable(self, topics: tuple[str, ...], size: int, day: str, life: float) -> int:
        """A listed exclusive event that closes near ``day`` after ``life`` days, if any."""
        events = self.made.events
        kept = np.zeros(events.size.size, dtype=np.bool_)
        kept[self.made.event[self.made.kept]] = True
        fits = kept & events.exclusive & (events.size >= size)
        fits &= np.isin(events.topic, [TOPICS.index(topic) for topic in topics])
        if not (self.charted and fits.any()):
            return -1
        away = np.abs((events.closed - np.datetime64(day, "s")).astype(np.float64)) / 86_400
        badness = away + 0.3 * np.maximum(0.0, life - events.life)
        return int(np.argmin(np.where(fits, badness, np.inf)))

    def topic(self, event: int) -> str:
        """The event's topic."""
        return TOPICS[int(self.made.events.topic[event])]

    def slug(self, event: int) -> str:
        """The event's slug."""
        if event == self.election:
            return ELECTION
        if event == self.nobel:
            return NOBEL
        return f"{self.topic(event)}-event-{FIRST_EVENT + event}"

    def title(self, event: int) -> str:
        """The event's title."""
        if event == self.election:
            return "Presidential Election Winner 2024"
        if event == self.nobel:
            return "Nobel Peace Prize Winner 2025"
        if self.made.events.size[event] == 1:
            return self.question(int(self._first[event]))
        return _TITLE[self.topic(event)].format(n=event)

    def label(self, market: int) -> str:
        """The candidate's name, empty in an event of one market."""
        event = int(self.made.event[market])
        place = market - int(self._first[event])
        if event == self.election:
            return ("Donald Trump", "Kamala Harris", *(f"Candidate {c}" for c in range(2, 30)))[
                place
            ]
        if event == self.nobel and place < len(NOBEL_NAMES):
            return NOBEL_NAMES[place]
        return "" if self.made.events.size[event] == 1 else f"Candidate {place}"

    def question(self, market: int) -> str:
        """The market's question; crypto price questions say which way the price goes."""
        made, event = self.made, int(self.made.event[market])
        if event == self.election:
            return f"Will {self.label(market)} win the 2024 US Presidential Election?"
        if event == self.nobel:
            return f"Will {self.label(market)} win the Nobel Peace Prize in 2025?"
        place, topic = market - int(self._first[event]), self.topic(event)
        if made.events.size[event] > 1:
            return _CANDIDATE[topic].format(c=place, n=event)
        closed = made.events.closed[event].item()
        month = f"{closed:%B}"
        if made.events.topic[event] != CRYPTO:
            return _SINGLE[topic].format(n=event, month=month)
        text = (_RISING if made.direction[market] > 0 else _FALLING)[event % 3]
        coin = event // 3 % 3
        level = (100_000, 3_000, 150)[coin] + (1_000, 50, 5)[coin] * (event // 9 % 40)
        return text.format(coin=_COINS[coin], level=level, month=month, day=closed.day)

    def outcomes(self, market: int) -> tuple[str, str]:
        """Labels of both outcomes; the first one of a game is a team, not Yes."""
        event = int(self.made.event[market])
        if self.topic(event) == "sports" and self.made.events.size[event] == 1:
            return f"Lions {event}", f"Bears {event}"
        return "Yes", "No"
