"""How fast pages of the listing become typed tables, beside json and pandas.

    python tests/benchmarks/bench_listing_pages.py [pages]

200 pages of 500 events with 2 to 3 markets, all fields of the study's card. The project's way
turns each page into typed rows of events and markets, with topics, directions, close times,
resolutions and reasons. The plain way is ``json.loads`` and ``pandas.json_normalize``, times and
lists parsed, and nothing else: less than ours, on the
first of every eight pages. Eight pages are in memory at a time. Seconds are
those of the processor, one thread; neighbours on the same machine still slow it down, so the
calmest batch is shown beside the mean. Fails when a column differs, when ours is not five times as
fast, or when it grows by more than 200 MB over the pages.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "workflow"))

PAGES, EVENTS = 200, 500
WANTED_FACTOR, WANTED_RATE = 5.0, 50_000
LARGEST_GROWTH = 200


def market(number: int) -> dict[str, Any]:
    """A market with every field of the card."""
    text = "This market resolves to Yes if the thing happens before the date in its title. "
    return {
        "id": str(number),
        "conditionId": f"0x{number * 7919:064x}",
        "question": f"Will thing {number} happen by July?",
        "slug": f"will-thing-{number}-happen-by-july",
        "groupItemTitle": f"Thing {number}",
        "description": text * 4,
        "outcomes": '["Yes", "No"]',
        "outcomePrices": '["0", "1"]' if number % 3 else '["1", "0"]',
        "clobTokenIds": f'["{10**76 + number}", "{2 * 10**76 + number}"]',
        "positionIds": [str(10**76 + number), str(2 * 10**76 + number)],
        "umaResolutionStatuses": '["proposed", "resolved"]',
        "umaResolutionStatus": "resolved",
        "volume": f"{1000 + number % 997}.25",
        "volumeNum": 1000.25 + number % 997,
        "volumeClob": 1000.25 + number % 997,
        "volume24hr": 0,
        "volume1wk": 0,
        "volume1mo": 12.5,
        "volume1yr": 1000.5,
        "closedTime": f"2026-06-{1 + number % 28:02d} 00:34:{number % 60:02d}+00",
        "endDate": "2026-06-04T00:00:00Z",
        "endDateIso": "2026-06-04",
        "umaEndDate": "2026-06-04T00:34:19Z",
        "startDate": f"2026-05-04T00:34:19.{number % 1_000_000:06d}Z",
        "createdAt": "2026-05-04T00:34:19.12Z",
        "acceptingOrdersTimestamp": "2026-05-04T00:34:19Z",
        "enableOrderBook": True,
        "bestBid": 0,
        "bestAsk": 1,
        "spread": 1,
        "lastTradePrice": 0.01,
        "orderPriceMinTickSize": 0.001,
        "feesEnabled": False,
        "feeType": None,
        "feeSchedule": {"exponent": 1, "rate": 0.05, "takerOnly": True, "rebateRate": 0},
        "holdingRewardsEnabled": False,
        "negRisk": False,
        "closed": True,
        "active": True,
        "archived": False,
    }


def page(number: int) -> bytes:
    """One page as the service would send it."""
    events = []
    for event in range(number * EVENTS, (number + 1) * EVENTS):
        tags = [("2", "Politics"), ("5", "World"), ("21", "Crypto")][event % 3 :]
        events.append(
            {
                "id": str(event),
                "slug": f"event-{event}",
                "title": f"Event {event}",
                "description": "What this event is about. " * 8,
                "closed": True,
                "active": True,
                "archived": False,
                "closedTime": "2026-06-04T00:34:19Z",
                "startDate": "2026-05-04T00:34:19.123456Z",
                "creationDate": "2026-05-04T00:34:19.123456Z",
                "createdAt": "2026-05-04T00:34:19.123456Z",
                "endDate": "2026-06-04T00:00:00Z",
                "volume": 123456.5,
                "tags": [{"id": id_, "label": label, "slug": label.lower()} for id_, label in tags],
                "series": [{"id": "9", "slug": "things"}],
                "seriesSlug": "things",
                "negRisk": False,
                "negRiskMarketID": None,
                "negRiskAugmented": False,
                "markets": [market(event * 3 + place) for place in range(2 + event % 2)],
            }
        )
    return json.dumps({"events": events, "next_cursor": f"c{number}"}).encode()


def ours(bodies: list[bytes], step: Any) -> pl.DataFrame:
    """The project's way: all that the step does with a few pages; the markets."""
    import polars as pl

    from remeasure.studies.polymarket.listing_pages import decoded
    from remeasure.studies.polymarket.population import typed

    return typed(pl.concat([decoded(body, "page") for body in bodies]), step)[1]


def plain(body: bytes) -> pd.DataFrame:
    """The plain way, without topics, directions, resolutions and reasons."""
    import pandas as pd

    frame = pd.json_normalize(
        json.loads(body)["events"], record_path="markets", meta=["id", "slug"], meta_prefix="event_"
    )
    for name in ("outcomes", "outcomePrices", "clobTokenIds"):
        frame[name] = frame[name].map(json.loads)
    for name in ("closedTime", "startDate", "createdAt"):
        frame[name] = pd.to_datetime(frame[name], format="ISO8601", utc=True)
    frame["volumeNum"] = frame["volumeNum"].astype(float)
    return frame


def equal(found: pl.DataFrame, other: pd.DataFrame) -> bool:
    """Whether both ways read the same."""
    pairs = (
        ("market", other["conditionId"].tolist()),
        ("event", other["event_id"].tolist()),
        ("question", other["question"].tolist()),
        ("token", [each[0] for each in other["clobTokenIds"]]),
        ("first_outcome", [each[0] for each in other["outcomes"]]),
        ("outcome", [int(each[0] == "1") for each in other["outcomePrices"]]),
        ("total_dollars", other["volumeNum"].tolist()),
        ("closed", other["closedTime"].dt.tz_localize(None).tolist()),
        ("opened", other[["startDate", "createdAt"]].min(axis=1).dt.tz_localize(None).tolist()),
    )
    return all(found[name].to_list() == values for name, values in pairs)


def main(pages: int = PAGES) -> int:
    from datetime import date

    import yaml

    from remeasure.studies.polymarket.population import PAGES_AT_ONCE, PopulationStep
    from remeasure.studies.polymarket.settings import Definitions, Window

    raw = yaml.safe_load((PROJECT / "config" / "config.yaml").read_text("utf-8"))["polymarket"]
    step = PopulationStep(
        window=Window(first=date(2024, 1, 1), last=date(2026, 10, 31)),
        definitions=Definitions.model_validate(raw["definitions"]),
    )
    warm = page(pages)
    ours([warm], step), plain(warm)
    seconds = {"ours": 0.0, "plain": 0.0}
    rows = {"ours": 0, "plain": 0}
    best = 0.0
    start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for first in range(0, pages, PAGES_AT_ONCE):
        bodies = [page(number) for number in range(first, min(first + PAGES_AT_ONCE, pages))]
        began = time.process_time()
        markets = ours(bodies, step)
        spent = time.process_time() - began
        seconds["ours"] += spent
        rows["ours"] += markets.height
        best = max(best, markets.height / spent)
        began = time.process_time()
        other = plain(bodies[0])
        seconds["plain"] += time.process_time() - began
        rows["plain"] += len(other)
        if not equal(markets.head(len(other)), other):
            print(f"page {first}: the two ways differ")
            return 1
    rate = {name: rows[name] / seconds[name] for name in rows}
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) / 1024
    factor = rate["ours"] / rate["plain"]
    print(f"{pages} pages, {rows['ours']:,} markets, about {len(warm) / 1e6:.1f} MB a page")
    print(
        f"ours   {rate['ours']:>10,.0f} markets a second (wanted {WANTED_RATE:,});"
        f" {best:,.0f} in the calmest {PAGES_AT_ONCE} pages"
    )
    print(f"plain  {rate['plain']:>10,.0f} markets a second; ours is {factor:.1f} times as fast")
    print(f"memory grew by {growth:.0f} MB over the pages")
    return 0 if factor >= WANTED_FACTOR and growth <= LARGEST_GROWTH else 1


if __name__ == "__main__":
    raise SystemExit(main(*(int(each) for each in sys.argv[1:2])))
