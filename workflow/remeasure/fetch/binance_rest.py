"""Spot candles of Binance over REST, in pages whose URLs are known beforehand.

``GET /api/v3/klines`` at api.binance.com or, open where that is blocked,
data-api.binance.vision: at most 1,000 candles an answer, weight 2 of 6,000 a
minute. The window is cut into pages on a fixed grid of 1,000 intervals counted
from 1970, so neighbouring windows share pages, offline runs can name all that
is missing, and no loop follows what an answer says. Each page is validated and
then kept as received. Source: github.com/binance/binance-spot-api-docs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from remeasure.errors import SourceError
from remeasure.fetch.klines import (
    MILLISECONDS,
    Interval,
    Kline,
    check_symbol,
    check_window,
    read_page,
)
from remeasure.fetch.raw import Wanted
from remeasure.fetch.settings import ClientSettings

REST = "https://api.binance.com"
REST_OPEN = "https://data-api.binance.vision"

#: Polite values for REST: 10 requests of weight 2 a second are 1,200 of the 6,000 a minute.
REST_CLIENT = ClientSettings(rate_per_second=10.0, max_bytes=1 << 20)

PAGE_ROWS = 1000


@dataclass(frozen=True, order=True)
class Page:
    """One request for candles: open times from ``start`` to before ``end``, in ms since 1970."""

    symbol: str
    interval: Interval
    start: int
    end: int
    base: str = REST

    @property
    def url(self) -> str:
        """The address; its parameters stand in this order always."""
        return (
            f"{self.base}/api/v3/klines?symbol={check_symbol(self.symbol)}&interval={self.interval}"
            f"&startTime={self.start}&endTime={self.end - 1}&limit={PAGE_ROWS}"
        )

    @property
    def wanted(self) -> Wanted:
        """The page as a request, validated before it is accepted."""
        return Wanted(self.url, check=self.check)

    def check(self, path: Path) -> None:
        """Raise SourceError unless the page is sound and holds candles of its own span only."""
        self.rows(path.read_bytes(), where=self.url)

    def rows(self, body: bytes, *, where: object = "") -> list[Kline]:
        """The candles of the page: on the grid, inside its span, strictly increasing.

        Raises
        ------
        SourceError
            When they are not, or `read_page` refuses the page.
        """
        rows = read_page(body, where=where)
        step = MILLISECONDS[self.interval]
        times = [row[0] for row in rows]
        what = ""
        if any(left >= right for left, right in pairwise(times)):
            what = "candles repeat or are out of order"
        elif times and not (self.start <= times[0] and times[-1] < self.end):
            what = f"candles from {times[0]} to {times[-1]} were not asked for"
        elif any(time % step for time in times):
            what = f"a candle does not open on the {self.interval} grid"
        elif any(row[6] - row[0] != step - 1 for row in rows):
            what = "a candle does not close where its interval ends"
        if what:
            raise SourceError(
                f"the page of candles is refused: {what}",
                where=where,
                remedy="fetch again; if it comes again, the service has changed its answers",
            )
        return rows

    def following(self, rows: Sequence[Kline]) -> Page | None:
        """The request for what these rows of the page may have left out behind the last one.

        A page that ends before its span does has met a gap, or the service
        gives fewer candles a page than it says; only asking again tells which.
        None when the rows reach the end of the span.
        """
        after = rows[-1][0] + MILLISECONDS[self.interval]
        if after >= self.end:
            return None
        return Page(self.symbol, self.interval, after, self.end, self.base)


def plan_pages(
    symbols: Sequence[str], interval: Interval, first: date, last: date, *, base: str = REST
) -> tuple[Page, ...]:
    """The pages that cover every candle from ``first`` to ``last`` (whole days, UTC) once.

    Raises
    ------
    ConfigError
        As `plan_klines`.
    """
    check_window(first, last)
    start, end = milliseconds(first), milliseconds(last + timedelta(days=1))
    span = PAGE_ROWS * MILLISECONDS[interval]
    cuts = [start, *range((start // span + 1) * span, end, span), end]
    return tuple(
        Page(symbol, interval, left, right, base)
        for symbol in sorted(set(symbols))
        for left, right in pairwise(cuts)
    )


def milliseconds(day: date) -> int:
    """The start of a day (UTC) in milliseconds since 1970."""
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000
