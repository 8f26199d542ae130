"""Ask the live services whether they still are what the crawl takes them for.

Every assumption is one probe: one or two small requests, what should be seen, what was seen.
The answers are evidence and are stored with the run. A crawl that finds an assumption broken
stops at the page that breaks it; the probe says so before thousands of pages are asked for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import dataframely as dy
import polars as pl
from pydantic import Field

from remeasure.errors import SourceError
from remeasure.fetch.client import NETWORK_ERRORS, Client, StatusError
from remeasure.fetch.settings import ClientSettings
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.polymarket.addresses import (
    DAY,
    EVENTS_A_PAGE,
    LONGEST_WINDOW,
    events_page,
    hourly_prices,
    life_prices,
    three_hour_prices,
    trades_page,
)
from remeasure.studies.polymarket.settings import CrawlSettings

#: What a probe can find.
HOLDS, FAILS, UNKNOWN, NOT_ASKED = "holds", "fails", "unknown", "not asked"

PROBES = declare(
    "what the services were found to do",
    {
        "probe": dy.String(),
        "assumption": dy.String(),
        "found": one_of((HOLDS, FAILS, UNKNOWN, NOT_ASKED)),
        "evidence": dy.String(),
        "url": dy.String(),
        "as_of": dy.String(),
    },
    unique=["probe"],
)
"""One row an assumption; ``as_of`` is the time of the answer less its age in caches."""

_LONGEST_BODY = 1 << 25
_EXCERPT = 160


class ProbeStep(Model):
    """Settings of `probe_services`.

    Attributes
    ----------
    live
        Whether to ask; runs without network write down that nothing was asked.
    client, crawl
        As for the crawl.
    """

    live: bool
    client: ClientSettings = Field(default_factory=ClientSettings)
    crawl: CrawlSettings


@dataclass
class Seen:
    """Answers so far: the last one's address and time, and what later probes need."""

    client: Client
    settings: ProbeStep
    url: str = ""
    as_of: str = ""
    first: dict[str, Any] = field(default_factory=dict)
    first_seen: tuple[str, str] = ("", "")

    def json(self, url: str) -> Any:
        """The answer of an address as JSON; refuses bodies that are too long."""
        self.url, self.as_of = url, ""
        with self.client.open(url) as response:
            self.as_of = _as_of(response.headers.get("Date", ""), response.headers.get("Age", "0"))
            body = response.raw.read(_LONGEST_BODY, decode_content=True)
        return json.loads(body)

    def refusal(self, url: str) -> str:
        """What the service says when it refuses an address; empty when it does not."""
        try:
            self.json(url)
        except StatusError as error:
            return error.what
        return ""

    def market(self) -> dict[str, Any]:
        """A settled market with a token, from the first page of the listing."""
        for event in self.first.get("events", []):
            for market in event.get("markets") or []:
                tokens, close = _tokens(market), market.get("closedTime") or ""
                if tokens and close[:4].isdigit() and market.get("conditionId"):
                    return {**market, "tokens": tokens, "close": _seconds(close)}
        raise SourceError("the first page has no settled market with tokens", where=self.url)


def _as_of(date: str, age: str) -> str:
    return f"{date}, {age} s old" if date else ""


def _tokens(market: dict[str, Any]) -> list[str]:
    raw = market.get("clobTokenIds") or "[]"
    return [str(each) for each in (json.loads(raw) if isinstance(raw, str) else raw)]


def _seconds(text: str) -> float:
    frame = pl.DataFrame({"time": [text]})
    from remeasure.studies.polymarket.times import parsed_time

    return float(frame.select(parsed_time("time").dt.epoch("us")).item()) / 1e6


Probe = Callable[[Seen], tuple[bool, str]]


def _closed_listing(seen: Seen) -> tuple[bool, str]:
    hosts = seen.settings.crawl.hosts
    seen.first = seen.json(events_page(hosts, closed=True, volume_min=1000))
    seen.first_seen = seen.url, seen.as_of
    events = seen.first["events"]
    wrong = sum(not each.get("closed") or float(each["volume"]) < 1000 for each in events)
    return bool(events) and not wrong, f"{len(events)} events, {wrong} open or below $1,000"


def _page_size(seen: Seen) -> tuple[bool, str]:
    count = len(seen.first["events"])
    return count == EVENTS_A_PAGE, f"{count} of {EVENTS_A_PAGE} events came"


def _cursor(seen: Seen) -> tuple[bool, str]:
    hosts, cursor = seen.settings.crawl.hosts, seen.first.get("next_cursor") or ""
    if not cursor:
        return False, "the first page names no next one"
    second = seen.json(events_page(hosts, closed=True, volume_min=1000, cursor=cursor))
    before = {each["id"] for each in seen.first["events"]}
    again = sum(each["id"] in before for each in second["events"])
    return again == 0 and bool(second["events"]), f"{again} events of the first page came again"


def _lists_in_texts(seen: Seen) -> tuple[bool, str]:
    market = seen.market()
    kinds = {
        name: type(market.get(name)).__name__
        for name in ("outcomes", "outcomePrices", "clobTokenIds")
    }
    return set(kinds.values()) <= {"str", "list"}, json.dumps(kinds)


def _hourly(seen: Seen) -> tuple[bool, str]:
    market = seen.market()
    answer = seen.json(
        hourly_prices(seen.settings.crawl.hosts, market["tokens"][0], market["close"])
    )
    times = [each["t"] for each in answer["history"]]
    late = sum(each > market["close"] + 1 for each in times)
    prices = all(0 <= each["p"] <= 1 for each in answer["history"])
    return prices, f"{len(times)} points, {late} after the close"


def _long_window(seen: Seen) -> tuple[bool, str]:
    market, hosts = seen.market(), seen.settings.crawl.hosts
    end = math.floor(market["close"])
    said = seen.refusal(
        f"{hosts.clob}/prices-history?market={market['tokens'][0]}"
        f"&startTs={end - LONGEST_WINDOW - DAY}&endTs={end}&fidelity=60"
    )
    return "too long" in said, said[:_EXCERPT] or "a window of 16 days was answered"


def _life(seen: Seen) -> tuple[bool, str]:
    market = seen.market()
    answer = seen.json(life_prices(seen.settings.crawl.hosts, market["tokens"][0]))
    return isinstance(answer["history"], list), f"{len(answer['history'])} points of 12 hours"


def _three_hour(seen: Seen) -> tuple[bool, str]:
    market = seen.market()
    answer = seen.json(
        three_hour_prices(seen.settings.crawl.hosts, market["tokens"][0], market["close"])
    )
    found = answer["data"] or []
    odd = sum(not 0 <= each["price"] <= 1 or each["timestamp"] < 1 << 30 for each in found)
    return odd == 0, f"{len(found)} points, {odd} of another unit"


def _sum_to_one(seen: Seen) -> tuple[bool, str]:
    market, hosts = seen.market(), seen.settings.crawl.hosts
    one, two = (
        {
            each["t"]: each["p"]
            for each in seen.json(hourly_prices(hosts, token, market["close"]))["history"]
        }
        for token in market["tokens"][:2]
    )
    both = one.keys() & two.keys()
    worst = max((abs(one[at] + two[at] - 1) for at in both), default=0.0)
    return worst <= 0.011, f"{len(both)} common times, largest difference {worst:.4f}"


def _trades_window(seen: Seen) -> tuple[bool, str]:
    market, hosts = seen.market(), seen.settings.crawl.hosts
    end = math.floor(market["close"])
    rows = seen.json(trades_page(hosts, market["conditionId"], end - 30 * DAY, end - DAY))
    outside = sum(not end - 30 * DAY <= each["timestamp"] <= end - DAY for each in rows)
    return outside == 0, f"{len(rows)} fills, {outside} outside the window"


def _trades_rows(seen: Seen) -> tuple[bool, str]:
    crawl = seen.settings.crawl
    rows = seen.json(f"{crawl.hosts.data}/trades?limit={crawl.trades_rows}&offset=0&takerOnly=true")
    return len(rows) == crawl.trades_rows, f"{len(rows)} of {crawl.trades_rows} rows came"


def _trades_offset(seen: Seen) -> tuple[bool, str]:
    crawl = seen.settings.crawl
    said = seen.refusal(
        f"{crawl.hosts.data}/trades?limit={crawl.trades_rows}&offset={crawl.offset_cap}"
        "&takerOnly=true"
    )
    return not said, said[:_EXCERPT] or f"the offset {crawl.offset_cap} is answered"


def _trades_fields(seen: Seen) -> tuple[bool, str]:
    rows = seen.json(f"{seen.settings.crawl.hosts.data}/trades?limit=5&offset=0&takerOnly=true")
    wanted = {"conditionId", "side", "size", "price", "timestamp"}
    missing = sorted(set().union(*(wanted - each.keys() for each in rows)))
    return bool(rows) and not missing, f"missing: {', '.join(missing) or 'nothing'}"


#: Probes in order: the first one brings what the others need.
ASSUMPTIONS: Final[dict[str, tuple[str, Probe]]] = {
    "listing": ("closed=true and volume_min bring resolved events only", _closed_listing),
    "page size": (f"a page of the listing has {EVENTS_A_PAGE} events", _page_size),
    "cursor": ("after_cursor leads to a page of other events", _cursor),
    "encodings": ("lists come as JSON in a text, or as lists", _lists_in_texts),
    "hourly prices": ("14 days before the close come hourly, from 0 to 1", _hourly),
    "three-hour prices": ("the Data API has prices of every three hours", _three_hour),
    "window": ("a price window above 15 days is refused", _long_window),
    "life prices": ("interval=max with 720 minutes is answered", _life),
    "both sides": ("the two tokens of a market sum to 1 within a tick", _sum_to_one),
    "trades window": ("start and end of trades are heeded", _trades_window),
    "trades rows": ("a page of trades has as many rows as asked for", _trades_rows),
    "trades offset": ("the largest offset that the crawl uses is answered", _trades_offset),
    "trades fields": ("a trade has size, price and time", _trades_fields),
}


def probe_services(*, probe: Path, settings: ProbeStep) -> None:
    """Step: check every assumption about the live services, and keep the evidence.

    Parameters
    ----------
    probe
        Output, Parquet: see ``PROBES``. A broken assumption is a row, not an error: the
        crawl's own checks stop it where the assumption matters.
    """
    if not settings.live:
        rows = [(name, words, NOT_ASKED, "", "", "") for name, (words, _) in ASSUMPTIONS.items()]
    else:
        client = settings.client.model_copy(update={"rate_per_second": settings.crawl.rates.data})
        with Client(client) as asking:
            seen = Seen(asking, settings)
            rows = [_row(name, words, ask, seen) for name, (words, ask) in ASSUMPTIONS.items()]
    schema = dict.fromkeys(PROBES.columns, pl.String)
    write_frame(pl.DataFrame(rows, schema=schema, orient="row"), probe, PROBES)


def _row(name: str, words: str, ask: Probe, seen: Seen) -> tuple[str, str, str, str, str, str]:
    seen.url = seen.as_of = ""
    try:
        holds, evidence = ask(seen)
        found = HOLDS if holds else FAILS
    except (SourceError, ValueError, *NETWORK_ERRORS) as error:
        found, evidence = UNKNOWN, str(error).splitlines()[0][:_EXCERPT]
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        # An answer of another shape than expected: that is what the probe is to find.
        found, evidence = FAILS, f"another shape: {type(error).__name__} {error}"[:_EXCERPT]
    # What looks at the first page again has asked for nothing itself.
    url, as_of = (seen.url, seen.as_of) if seen.url else seen.first_seen
    return name, words, found, evidence, url, as_of


def refuse_broken(probe: Path, names: tuple[str, ...]) -> None:
    """Stop a crawl whose assumptions the probe has found broken.

    Raises
    ------
    SourceError
        Naming each broken assumption and its evidence.
    """
    rows = pl.read_parquet(probe).filter((pl.col("found") == FAILS) & pl.col("probe").is_in(names))
    if rows.height:
        said = "".join(
            f"\n  - {row['assumption']}: {row['evidence']}" for row in rows.iter_rows(named=True)
        )
        raise SourceError(
            f"the services are not what this crawl takes them for:{said}",
            where=probe,
            remedy="adapt polymarket.crawl or the client, then run the probe again",
        )
