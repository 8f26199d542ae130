"""What only the exchange's own interface has: USD-M perpetuals at https://fapi.binance.com.

The archive holds funding rates of whole months that are over; the days after them come
from ``GET /fapi/v1/fundingRate``: at most 1,000 payments an answer, ascending from
``startTime``, 500 requests in 5 minutes from one address. Order books
(``/fapi/v1/depth``, weight 20 for 1,000 levels of 2,400 a minute) and what ranks the
contracts (``/fapi/v1/exchangeInfo``, ``/fapi/v1/ticker/24hr``) exist nowhere else.
No key is needed; many locations are blocked (HTTP 451).
Source: the exchange's documentation of its USD-M futures interface.

Planning and formats only: nothing here touches the network.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Final, NoReturn, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from remeasure.errors import SourceError
from remeasure.fetch.klines import check_symbol, check_window
from remeasure.fetch.raw import Check, Wanted
from remeasure.fetch.settings import ClientSettings

HOST: Final = "fapi.binance.com"
FUTURES: Final = f"https://{HOST}"

#: 500 requests in 5 minutes is the tightest of the limits above.
REQUESTS_PER_SECOND: Final = 1.5

#: Largest answer: every contract with its rules takes about 2 MB.
MAX_BYTES: Final = 16 << 20

PAYMENTS: Final = 1000
LEVELS: Final = 1000

#: Payments are made on the hour; the stamp is late by milliseconds, never by a minute.
HOUR_MS: Final = 3_600_000
JITTER_MS: Final = 60_000

#: Whole days that hold at most ``PAYMENTS`` payments, at one an hour.
PAGE_DAYS: Final = PAYMENTS // 24

_AGAIN = "fetch again; if it comes again, the service has changed its answers"
_RATE = r"^-?[0-9]{1,3}(?:\.[0-9]{1,20})?$"
#: Empty where the exchange kept no mark price.
_PRICE = r"^(?:|0*[1-9][0-9]{0,30}(?:\.[0-9]{1,20})?|0+\.0{0,20}[1-9][0-9]{0,20})$"


def polite(settings: ClientSettings) -> ClientSettings:
    """The settings of a client, no faster than this interface allows."""
    rate = min(settings.rate_per_second, REQUESTS_PER_SECOND)
    return settings.model_copy(update={"rate_per_second": rate})


class Settlement(BaseModel):
    """One payment as the interface gives it; an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    symbol: str
    fundingTime: int
    fundingRate: Annotated[str, StringConstraints(pattern=_RATE)]
    markPrice: Annotated[str, StringConstraints(pattern=_PRICE)]

    @property
    def hour(self) -> int:
        """The hour of the payment in ms since 1970: its stamp without the delay."""
        return (self.fundingTime + HOUR_MS // 2) // HOUR_MS * HOUR_MS


_PAGE: TypeAdapter[list[Settlement]] = TypeAdapter(list[Settlement])

_FUNDING_PATH = re.compile(
    r"(?P<host>[^/]+)/fapi/v1/fundingRate%Qsymbol=(?P<symbol>[A-Z0-9]+)"
    rf"&startTime=(?P<start>[0-9]+)&endTime=(?P<end>[0-9]+)&limit={PAYMENTS}"
)


def _refuse(what: str, where: object) -> NoReturn:
    raise SourceError(what, where=where, remedy=_AGAIN)


def milliseconds(day: date) -> int:
    """The start of a day (UTC) in milliseconds since 1970."""
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000


def _shown(time: int) -> str:
    return f"{datetime.fromtimestamp(time / 1000, UTC):%Y-%m-%d %H:%M}"


@dataclass(frozen=True, order=True)
class FundingPage:
    """One request for payments of a contract, from ``first`` to before ``end`` (days, UTC)."""

    symbol: str
    first: date
    end: date
    base: str = FUTURES

    @property
    def url(self) -> str:
        """The address; its parameters stand in this order always."""
        return (
            f"{self.base}/fapi/v1/fundingRate?symbol={check_symbol(self.symbol)}"
            f"&startTime={milliseconds(self.first)}&endTime={milliseconds(self.end) - 1}"
            f"&limit={PAYMENTS}"
        )

    @classmethod
    def of(cls, path: str) -> Self | None:
        """The page of a place in the raw layout; None for any other file."""
        match = _FUNDING_PATH.fullmatch(path)
        if match is None:
            return None
        first, end = (
            datetime.fromtimestamp(int(match[name]) // 1000 + late, UTC).date()
            for name, late in (("start", 0), ("end", 1))
        )
        page = cls(match["symbol"], first, end, f"https://{match['host'].replace('+', ':')}")
        whole = milliseconds(first), milliseconds(end) - 1
        return page if whole == (int(match["start"]), int(match["end"])) else None

    @property
    def wanted(self) -> Wanted:
        """The page as a request, validated before it is accepted."""
        return Wanted(self.url, max_bytes=MAX_BYTES, check=self.check)

    def check(self, path: Path) -> None:
        """Raise SourceError unless the page is sound and whole."""
        self.rows(path.read_bytes(), where=self.url)

    def rows(self, body: bytes, *, where: object = "") -> list[Settlement]:
        """The payments of the page: ascending, of its contract and span, none missing.

        Raises
        ------
        SourceError
            When the answer is no list of payments (errors come with HTTP 200, too), a field is
            unknown, missing or impossible, or a payment is repeated, out of order, missing or
            was not asked for. Names the field.
        """
        try:
            rows = _PAGE.validate_json(body)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"])) or "its start"
            _refuse(
                f"the page of payments breaks its schema in {error.error_count()} places, first"
                f" at field {place}: {first['msg']} ({str(first['input'])[:80]!r})",
                where,
            )
        if not rows:
            _refuse("the page holds no payment at all", where)
        times = [row.hour for row in rows]
        for number, row in enumerate(rows):
            if row.symbol != self.symbol:
                _refuse(f"field {number}.symbol: {row.symbol!r} is not {self.symbol}", where)
            if abs(row.fundingTime - row.hour) >= JITTER_MS:
                _refuse(f"field {number}.fundingTime: {row.fundingTime} is not on the hour", where)
        self._check_times(times, where)
        return rows

    def _check_times(self, times: Sequence[int], where: object) -> None:
        start, end = milliseconds(self.first), milliseconds(self.end)
        steps = [after - before for before, after in pairwise(times)]
        for number, step in enumerate(steps, 1):
            if step <= 0:
                _refuse(
                    f"field {number}.fundingTime: the payment of {_shown(times[number])} repeats"
                    f" or goes back in time after {_shown(times[number - 1])}",
                    where,
                )
        if times[0] < start or times[-1] >= end:
            _refuse(
                f"field fundingTime: payments from {_shown(times[0])} to {_shown(times[-1])}"
                " were not asked for",
                where,
            )
        usual = min(steps, default=24 * HOUR_MS)
        for number, step in enumerate(steps, 1):
            if step != usual:
                _refuse(
                    f"field {number}.fundingTime: payments are missing, or their interval changes:"
                    f" {_shown(times[number])} follows {_shown(times[number - 1])} by"
                    f" {step / HOUR_MS:g} hours, others by {usual / HOUR_MS:g}",
                    where,
                )
        if times[0] - start >= usual or end - times[-1] > usual:
            _refuse(
                f"field fundingTime: payments are missing: those of {self.first} to before"
                f" {self.end} reach from {_shown(times[0])} to {_shown(times[-1])} only",
                where,
            )


def plan_funding_pages(
    symbols: Sequence[str], first: date, last: date, *, base: str = FUTURES
) -> tuple[FundingPage, ...]:
    """The pages that hold every payment from ``first`` to ``last`` (days, both included) once.

    Raises
    ------
    ConfigError
        When the window is empty or a symbol is not one.
    """
    check_window(first, last)
    stop = last + timedelta(days=1)
    starts = [first + timedelta(days=at) for at in range(0, (stop - first).days, PAGE_DAYS)]
    return tuple(
        FundingPage(symbol, left, right, base)
        for symbol in sorted(set(symbols))
        for left, right in pairwise([*starts, stop])
    )


def exchange_info(base: str = FUTURES, check: Check | None = None) -> Wanted:
    """What every contract is: its type, its state, its currencies."""
    return Wanted(f"{base}/fapi/v1/exchangeInfo", max_bytes=MAX_BYTES, check=check)


def ticker(base: str = FUTURES, check: Check | None = None) -> Wanted:
    """What every contract has traded in the last 24 hours."""
    return Wanted(f"{base}/fapi/v1/ticker/24hr", max_bytes=MAX_BYTES, check=check)


def depth(symbol: str, number: int, base: str = FUTURES, check: Check | None = None) -> Wanted:
    """The order book of a contract; ``number`` tells the recorded answers apart, from 1 on."""
    url = f"{base}/fapi/v1/depth?symbol={check_symbol(symbol)}&limit={LEVELS}"
    return Wanted(url, number=number, max_bytes=MAX_BYTES, check=check)
