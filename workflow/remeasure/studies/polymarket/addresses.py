"""Every address that the study asks for: parameters in a fixed order, so that a URL is a key.

The services see these requests and no others. Names and limits of the parameters are the
services' own (docs.polymarket.com; Binance spot REST; FRED graph export), each held against
the live service by the probe.
"""

from __future__ import annotations

import math
from datetime import datetime
from urllib.parse import quote

from remeasure.model import Model

#: Seconds in a day, and the longest price window that CLOB answers (15 days, to the second).
DAY = 86_400
LONGEST_WINDOW = 15 * DAY

#: Days of the hourly price series before the close.
HOURLY_DAYS = 14

#: Width of the price series that the Data API keeps for ever, in seconds.
THREE_HOURS = 10_800

#: Largest pages: documented maximum of events; trades within every cap ever documented.
EVENTS_A_PAGE = 500
TRADES_A_PAGE = 500


class Hosts(Model):
    """Base addresses of the services, without a slash at their end."""

    gamma: str = "https://gamma-api.polymarket.com"
    clob: str = "https://clob.polymarket.com"
    data: str = "https://data-api.polymarket.com"
    klines: str = "https://data-api.binance.vision"
    fred: str = "https://fred.stlouisfed.org"


def events_page(
    hosts: Hosts,
    *,
    closed: bool,
    volume_min: float | None = None,
    volume_max: float | None = None,
    cursor: str = "",
) -> str:
    """One page of Gamma's events with their markets, in the order of their ids.

    Parameters
    ----------
    closed
        Resolved events; the service leaves them out unless it is told so.
    volume_min, volume_max
        Dollars traded in the event, both ends included; None for no bound.
    cursor
        ``next_cursor`` of the page before; its parameter is called ``after_cursor``, and
        any other name is ignored, with the first page for an answer.
    """
    parts = [f"limit={EVENTS_A_PAGE}", f"closed={str(closed).lower()}", "order=id&ascending=true"]
    if volume_min is not None:
        parts.append(f"volume_min={volume_min:.15g}")
    if volume_max is not None:
        parts.append(f"volume_max={volume_max:.15g}")
    if cursor:
        parts.append(f"after_cursor={quote(cursor, safe='')}")
    return f"{hosts.gamma}/events/keyset?{'&'.join(parts)}"


def hourly_prices(hosts: Hosts, token: str, close: float) -> str:
    """Hourly prices of a token over the 14 days before ``close`` (seconds since 1970, UTC)."""
    end = math.floor(close)
    return price_window(hosts, token, end - HOURLY_DAYS * DAY, end, minutes=60)


def price_window(hosts: Hosts, token: str, start: int, end: int, *, minutes: int) -> str:
    """Prices of a token from ``start`` to ``end`` (seconds since 1970), every ``minutes``.

    Raises
    ------
    ValueError
        When the window is empty or longer than the service answers.
    """
    if not 0 < end - start <= LONGEST_WINDOW:
        raise ValueError(f"a price window has 1 to {LONGEST_WINDOW} seconds, not {end - start}")
    return (
        f"{hosts.clob}/prices-history?market={token}&startTs={start}&endTs={end}&fidelity={minutes}"
    )


def three_hour_prices(hosts: Hosts, token: str, close: float) -> str:
    """Prices of a token every three hours over the 14 days before ``close``, which are kept.

    The service leaves the end of its window out; here the close is in it.
    """
    end = math.floor(close)
    return (
        f"{hosts.data}/v2/prices-history?token_id={token}&start={end - HOURLY_DAYS * DAY}"
        f"&end={end + 1}&bucket_seconds={THREE_HOURS}"
    )


def life_prices(hosts: Hosts, token: str) -> str:
    """Prices of a token over its whole life, every 12 hours: all that resolved markets keep."""
    return f"{hosts.clob}/prices-history?market={token}&interval=max&fidelity=720"


def week_window(close: float, days_before: float, week_days: float = 7) -> tuple[int, int]:
    """Seconds since 1970, both included, that lie in (t - week, t], t days before ``close``."""
    at = close - days_before * DAY
    return math.floor(at - week_days * DAY) + 1, math.floor(at)


def trades_page(
    hosts: Hosts,
    condition: str,
    start: int,
    end: int,
    *,
    offset: int = 0,
    rows: int = TRADES_A_PAGE,
    side: str = "",
) -> str:
    """Fills of a market (its conditionId) in ``start`` to ``end``, both included, newest first."""
    only = f"&side={side}" if side else ""
    return (
        f"{hosts.data}/trades?market={condition}&limit={rows}&offset={offset}&takerOnly=true"
        f"{only}&start={start}&end={end}"
    )


def bitcoin_months(hosts: Hosts, first: datetime, last: datetime) -> str:
    """Monthly candles of BTCUSDT that open from ``first`` to ``last`` (UTC)."""
    return (
        f"{hosts.klines}/api/v3/klines?symbol=BTCUSDT&interval=1M"
        f"&startTime={_milliseconds(first)}&endTime={_milliseconds(last)}&limit=1000"
    )


def bill_rate(hosts: Hosts) -> str:
    """FRED's daily rate of 3-month Treasury bills, all years."""
    return f"{hosts.fred}/graph/fredgraph.csv?id=DTB3"


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp()) * 1000
