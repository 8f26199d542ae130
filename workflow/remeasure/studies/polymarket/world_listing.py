"""Pages of the listing of a generated world, with the oddities of the service.

The markets of the world are written whole, in every form in which the service writes a field.
Beside them stand events of their own that a parser must set aside: closed but unresolved ones,
some with three outcomes, some from the time before order books, some closed too early. A few
events are split into a parent and a child, and a few markets are listed a second time under
another event; neither changes the population or its clusters.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final

import numpy as np
from scipy.special import expit

from remeasure.studies.polymarket.addresses import EVENTS_A_PAGE
from remeasure.studies.polymarket.published import printed
from remeasure.studies.polymarket.world import SPORTS, TOPICS, stream
from remeasure.studies.polymarket.world_names import TAGS, Names, condition_id, token_id

#: Numbers of events that are not events of the world: children, second listings, damaged, open.
CHILD, AGAIN, DECOY, OPEN = 2_000_000, 3_000_000, 4_000_000, 5_000_000
#: One suitable event in so many is split, one market in so many is listed twice or has an odd
#: form of its fields or times.
SPLIT, TWICE, ODD = 4, 300, 25

#: Half-spreads are scattered around the printed medians by this much in logarithms; so large a
#: share of open markets has orders on both sides.
SPREAD_SCATTER, TWO_SIDED = 0.4, 0.46
_BANDS: Final = (0.5, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99.5)
_MILLE: Final = 1_000

#: Quotes of the two markets that the diagram of a contract shows: generated, no one's opinion.
QUOTED: Final = (
    (
        "which-party-will-win-the-senate-in-2026",
        "Will the Democratic Party control the Senate after the 2026 Midterm elections?",
        0.58,
        0.60,
    ),
    (
        "which-party-will-win-the-house-in-2026",
        "Will the Democratic Party control the House after the 2026 Midterm elections?",
        0.81,
        0.83,
    ),
)
_SNAPSHOT = datetime(2026, 10, 31, 22, tzinfo=UTC)

Page = dict[str, Any]
Event = dict[str, Any]


def encoded(value: object) -> str:
    """JSON in the service's own way."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _forms() -> tuple[Callable[[datetime], str], ...]:
    return (
        lambda at: f"{at:%Y-%m-%d %H:%M:%S}+00",
        lambda at: f"{at:%Y-%m-%dT%H:%M:%S}Z",
        lambda at: f"{at:%Y-%m-%dT%H:%M:%S}.000Z",
        lambda at: f"{at:%Y-%m-%d %H:%M:%S}.000000+00",
    )


FORMS: Final = _forms()


def closed_events(names: Names) -> list[Event]:
    """All events of the world above the volume filter, and those that must be set aside."""
    made = names.made
    kept = np.zeros(made.events.size.size, dtype=np.bool_)
    kept[made.event[made.kept]] = True
    events: list[Event] = []
    for event in np.flatnonzero(kept).tolist():
        events += _listed(names, event)
    return sorted([*events, *_decoys(names)], key=lambda each: int(each["id"]))


def _listed(names: Names, event: int) -> list[Event]:
    """One event of the world: whole, or as parent and child, and second listings of markets."""
    markets = [market_fields(names, market) for market in names.markets(event)]
    made = names.made
    least = 1_000.0
    half = len(markets) // 2
    parts = [markets]
    if made.events.topic[event] == SPORTS and half and event % SPLIT == 0:
        halves = [markets[:half], markets[half:]]
        if all(_dollars(part) >= least for part in halves):
            parts = halves
    out = []
    for place, part in enumerate(parts):
        number = event + (CHILD if place else int(names.event_id(event)) - event)
        parent = int(names.event_id(event)) if place else None
        out.append(_event_fields(names, event, number, part, parent))
    again = [
        each for each in markets if int(each["id"]) % TWICE == 0 and each["volumeNum"] >= least
    ]
    for market in again:
        out.append(_event_fields(names, event, AGAIN + int(market["id"]), [market], None))
    return out


def _dollars(markets: Sequence[Page]) -> float:
    return round(sum(float(each["volumeNum"]) for each in markets), 2)


def _event_fields(
    names: Names, event: int, number: int, markets: list[Page], parent: int | None
) -> Event:
    made = names.made
    closed = _utc(made.events.closed[event])
    opened = closed - timedelta(days=float(made.events.life[event]))
    tags = TAGS[TOPICS[int(made.events.topic[event])]]
    single = made.events.size[event] == 1
    # Where a market lacks its time, its event has it; a few have it nowhere but in umaEndDate.
    absent = single and event % (ODD * 4) == 1
    fields: Event = {
        "id": str(number),
        "slug": names.slug(event) + ("" if number < CHILD else f"-{number}"),
        "title": names.title(event),
        "closed": True,
        "active": True,
        "archived": False,
        "closedTime": None if absent else FORMS[event % 2 + 1](closed),
        "startDate": FORMS[2](opened),
        "createdAt": f"{opened:%Y-%m-%dT%H:%M:%S}.123456789Z",
        "endDate": f"{closed + timedelta(days=3):%Y-%m-%d}T00:00:00Z",
        "volume": _dollars(markets),
        "category": None,
        "tags": [
            {"id": str(100 + place), "label": tag.title(), "slug": tag}
            for place, tag in enumerate(tags)
        ],
        "negRisk": bool(made.events.exclusive[event]),
        "markets": markets,
    }
    if parent is not None:
        fields["parentEventId"] = parent
    return fields


def market_fields(names: Names, market: int) -> Page:
    """One closed market of the world as the service writes it."""
    made = names.made
    event = int(made.event[market])
    closed = _utc(made.events.closed[event])
    opened = closed - timedelta(days=float(made.events.life[event]))
    condition = names.condition(market)
    won = bool(made.first_won[market])
    paid = ["0.5", "0.5"] if made.fifty_fifty[market] else (["1", "0"] if won else ["0", "1"])
    lists: dict[str, object] = {
        "outcomes": list(names.outcomes(market)),
        "outcomePrices": paid,
        "clobTokenIds": [token_id(condition, 0), token_id(condition, 1)],
    }
    if market % ODD != 2:
        lists = {name: encoded(value) for name, value in lists.items()}
    volume = round(float(made.total_dollars[market]), 2)
    single = made.events.size[event] == 1
    fields: Page = {
        "id": names.market_id(market),
        "conditionId": condition,
        "question": names.question(market),
        "slug": f"market-{names.market_id(market)}",
        "groupItemTitle": names.label(market),
        **lists,
        "umaResolutionStatuses": encoded(["proposed", "resolved"]),
        "volume": f"{volume:.2f}",
        "volumeNum": volume,
        "volumeClob": volume,
        "volume1wk": 0,
        "closed": True,
        "active": True,
        "enableOrderBook": True,
        "startDate": FORMS[1 + market % 2](opened),
        "createdAt": FORMS[1](opened + timedelta(seconds=market % 7)),
        "acceptingOrdersTimestamp": FORMS[1](opened + timedelta(seconds=30)),
        "endDate": f"{closed + timedelta(days=3):%Y-%m-%d}T00:00:00Z",
        "endDateIso": f"{closed + timedelta(days=3):%Y-%m-%d}",
        "lastTradePrice": float(paid[0]),
        "bestBid": 0,
        "bestAsk": 1,
        "spread": 1,
        "orderPriceMinTickSize": 0.001,
        "negRisk": bool(made.events.exclusive[event]),
        "feesEnabled": False,
        "holdingRewardsEnabled": False,
    }
    if single and event % (ODD * 4) == 1:
        fields["umaEndDate"] = f"{closed:%Y-%m-%dT%H:%M:%S}+00:00:00"[:-3]
    elif market % ODD != 5:
        fields["closedTime"] = FORMS[market % 4](closed)
    if made.events.topic[event] == SPORTS:
        fields |= {"sportsMarketType": "moneyline", "gameStartTime": FORMS[0](closed)}
    return fields


def _decoys(names: Names) -> Iterator[Event]:
    """Events of one market each that a parser must set aside, each with a reason of its own."""
    made = names.made
    count = max(1, made.events.size.size // 1_000)
    seed = made.settings.seed
    for place in range(count * len(_ODDITIES)):
        odd = _ODDITIES[place % len(_ODDITIES)]
        closed = datetime(2025, 1, 1, 12, tzinfo=UTC) + timedelta(days=place % 300)
        if odd in ("early", "no book"):
            closed = datetime(2022, 6, 1, 12, tzinfo=UTC) + timedelta(days=place % 300)
        opened = closed - timedelta(days=20)
        condition = condition_id(seed, -1 - place)
        labels, prices = ["Yes", "No"], ["1", "0"]
        tokens: object = encoded([token_id(condition, 0), token_id(condition, 1)])
        if odd == "unresolved":
            prices = ["0.62", "0.38"]
        elif odd == "three outcomes":
            labels, prices = ["A", "B", "C"], ["1", "0", "0"]
        elif odd == "no prices":
            prices = []
        elif odd == "no book":
            tokens = None if place % 2 else ""
        market: Page = {
            "id": str(DECOY + place),
            "conditionId": "" if odd == "no book" else condition,
            "question": f"Odd one {place}?",
            "slug": f"odd-{place}",
            "outcomes": encoded(labels),
            "outcomePrices": encoded(prices) if prices else "",
            "clobTokenIds": tokens,
            "volume": "5000",
            "volumeNum": 5_000,
            "closed": True,
            "closedTime": FORMS[place % 4](closed),
            "startDate": FORMS[1](opened),
            "createdAt": FORMS[1](opened),
            "enableOrderBook": odd != "no book",
        }
        yield {
            "id": str(DECOY + place),
            "slug": f"odd-{place}",
            "title": market["question"],
            "closed": True,
            "active": True,
            "archived": False,
            "closedTime": FORMS[1](closed),
            "startDate": FORMS[1](opened),
            "volume": 5_000,
            "tags": [{"id": "100", "label": "Politics", "slug": "politics"}],
            "markets": [market],
        }


_ODDITIES: Final = ("unresolved", "three outcomes", "no prices", "no book", "early")


def open_events(names: Names) -> list[Event]:
    """Open markets with their best orders, those of the quoted ones first."""
    made = names.made
    count = max(400, made.events.size.size // 5)
    rng = stream(made.settings.seed, "books")
    middle = expit(2.2 * rng.standard_normal(count) - 1.2)
    both = rng.random(count) < TWO_SIDED
    scatter = np.exp(SPREAD_SCATTER * rng.standard_normal(count))
    side = rng.random(count) < 0.5
    cheap = np.minimum(middle, 1 - middle)
    half = cheap * _typical_spread(cheap) * scatter
    bids = np.rint(np.clip(middle - half, 0, 1) * _MILLE).astype(int)
    asks = np.rint(np.clip(middle + half, 0, 1) * _MILLE).astype(int)
    bids, asks = np.clip(bids, 1, _MILLE - 2), np.clip(asks, 2, _MILLE - 1)
    asks = np.maximum(asks, bids + 1)
    events = [
        _open(names, place, slug, question, (bid, ask))
        for place, (slug, question, bid, ask) in enumerate(QUOTED)
    ]
    empty: tuple[float | None, float | None]
    for place in range(count):
        quote = (int(bids[place]) / _MILLE, int(asks[place]) / _MILLE)
        if both[place]:
            empty = quote
        elif side[place]:
            empty = (0 if place % 2 else None, quote[1])
        else:
            empty = (quote[0], 1 if place % 2 else None)
        number = place + len(QUOTED)
        events.append(_open(names, number, f"open-{number}", f"Open question {number}?", empty))
    return events


def _typical_spread(price: np.ndarray) -> np.ndarray:
    """The printed median half-spread relative to the middle, for prices up to one half."""
    medians = np.array(
        [
            printed("fig_spread", "median (ask-mid)/mid", f"{low:g}-{high:g} cents") / 100
            for low, high in pairwise(_BANDS)
        ]
    )
    band = np.searchsorted(np.array(_BANDS) / 100, price, "right") - 1
    return np.asarray(medians[np.clip(band, 0, medians.size - 1)])


def _open(
    names: Names,
    place: int,
    slug: str,
    question: str,
    quote: tuple[float | None, float | None],
) -> Event:
    condition = condition_id(names.made.settings.seed, -1_000_000 - place)
    opened = _SNAPSHOT - timedelta(days=10 + place % 90)
    volume = 1_000 + 37 * (place % 1_000)
    market: Page = {
        "id": str(OPEN + place),
        "conditionId": condition,
        "question": question,
        "slug": slug,
        "outcomes": encoded(["Yes", "No"]),
        "outcomePrices": encoded(["0.5", "0.5"]),
        "clobTokenIds": encoded([token_id(condition, 0), token_id(condition, 1)]),
        "volume": str(volume),
        "volumeNum": volume,
        "closed": False,
        "active": True,
        "enableOrderBook": True,
        "startDate": FORMS[1](opened),
        "createdAt": FORMS[1](opened),
        "endDate": "2026-12-31T00:00:00Z",
        "bestBid": quote[0],
        "bestAsk": quote[1],
        "orderPriceMinTickSize": 0.001,
    }
    return {
        "id": str(OPEN + place),
        "slug": slug,
        "title": question,
        "closed": False,
        "active": True,
        "archived": False,
        "startDate": FORMS[1](opened),
        "volume": volume,
        "tags": [{"id": "100", "label": "Politics", "slug": "politics"}],
        "markets": [market],
    }


def chain(events: Sequence[Event], name: str) -> Iterator[tuple[str, bytes]]:
    """Pages of a listing: the cursor that asks for each, and its body.

    There is one page at least; the last has no cursor to follow.
    """
    starts = range(0, max(1, len(events)), EVENTS_A_PAGE)
    for place, start in enumerate(starts):
        page: Page = {"events": list(events[start : start + EVENTS_A_PAGE])}
        if place + 1 < len(starts):
            page["next_cursor"] = f"{name}p{place + 1}"
        yield ("" if place == 0 else f"{name}p{place}"), encoded(page).encode()


def _utc(when: np.datetime64) -> datetime:
    return datetime.fromtimestamp(int(when.astype("datetime64[s]").astype(np.int64)), UTC)
