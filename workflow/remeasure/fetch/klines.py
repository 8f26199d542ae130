"""Candles as the exchange gives them, in a zip of its archive or as a page over REST.

Only formats, no network: what a parser needs. Source: the exchange's
documentation of the archive (github.com/binance/binance-public-data) and of the
spot REST interface (github.com/binance/binance-spot-api-docs).
"""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Literal

from pydantic import ConfigDict, StringConstraints, TypeAdapter, ValidationError

from remeasure.errors import ConfigError, SourceError
from remeasure.fetch.archive import LIMITS, ZipLimits, read_member

#: Intervals of this project. A calendar month, which it does not use, would be written
#: ``1mo`` in paths of the archive and ``1M`` over REST.
Interval = Literal["5m", "15m", "1h", "1d"]

#: Length of each interval in milliseconds.
MILLISECONDS: dict[Interval, int] = {
    "5m": 300_000,
    "15m": 900_000,
    "1h": 3_600_000,
    "1d": 86_400_000,
}

_SYMBOL = re.compile(r"[A-Z0-9]{2,20}")

_Amount = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,30}(?:\.[0-9]{1,20})?$")]
#: As an amount, but above 0.
_Price = Annotated[
    str,
    StringConstraints(pattern=r"^(?:0*[1-9][0-9]*(?:\.[0-9]+)?|0+\.0*[1-9][0-9]*)$", max_length=50),
]

#: A candle over REST, in the column order of the archive: open_time, open, high, low, close,
#: volume, close_time, quote_volume, trades, taker_buy_volume, taker_buy_quote_volume, ignore.
Kline = tuple[
    int, _Price, _Price, _Price, _Price, _Amount, int, _Amount, int, _Amount, _Amount, _Amount
]
_PAGE: TypeAdapter[list[Kline]] = TypeAdapter(list[Kline], config=ConfigDict(strict=True))


def check_symbol(symbol: str) -> str:
    """The symbol itself; ConfigError when it cannot be one, and would make an odd URL."""
    if not _SYMBOL.fullmatch(symbol):
        raise ConfigError(
            f"{symbol!r} is not a symbol of the exchange",
            where="symbol",
            remedy="write it as in BTCUSDT",
        )
    return symbol


def check_window(first: date, last: date) -> None:
    """Raise ConfigError when a window of days (both ends included) is empty."""
    if first > last:
        raise ConfigError(
            f"the window ends ({last}) before it begins ({first})",
            where="window",
            remedy="swap first and last",
        )


def read_page(body: bytes, *, where: object = "") -> list[Kline]:
    """The candles of a REST page, validated: twelve elements each, decimals as strings.

    Raises
    ------
    SourceError
        When the page is not JSON or a candle breaks the schema; names the first place.
    """
    try:
        return _PAGE.validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise SourceError(
            f"the page of candles breaks its schema in {error.error_count()} places, first at "
            f"{place or 'its start'}: {first['msg']} ({str(first['input'])[:80]!r})",
            where=where,
            remedy="fetch again; if it comes again, the service has changed its answers",
        ) from error


_KLINES_PATH = re.compile(
    r"(?P<host>[^/]+)/data/spot/(?:monthly|daily)/klines/(?P<symbol>[A-Z0-9]+)/(?P<interval>\w+)/"
    r"(?P=symbol)-(?P=interval)-\d{4}-\d{2}(?:-\d{2})?\.zip"
    r"|[^/]+/api/v3/klines%Qsymbol=(?P<rest_symbol>[A-Z0-9]+)&interval=(?P<rest_interval>\w+)&.*"
)


def identify_klines(path: str) -> tuple[str, str]:
    """Symbol and interval of a candle file, from its place in the raw layout.

    Raises
    ------
    SourceError
        When the path is neither a candle zip of the archive nor a REST page.
    """
    match = _KLINES_PATH.fullmatch(path)
    if match is None:
        raise SourceError(
            "this is neither a candle file of the archive nor a page of candles",
            where=path,
            remedy="write the manifest again with the step that fetches or generates candles",
        )
    found = match.groupdict()
    return (
        found["symbol"] or found["rest_symbol"] or "",
        found["interval"] or found["rest_interval"] or "",
    )


def klines_csv(path: str, body: bytes, *, limits: ZipLimits = LIMITS) -> bytes:
    """The rows of a candle file as CSV in the column order of the archive, whatever its form.

    Parameters
    ----------
    path
        Its place in the raw layout: a ``.zip`` of the archive or a REST page.
    body
        Its bytes, as from `Manifest.read_verified`.

    Returns
    -------
    CSV without quotes: open_time, open, high, low, close, volume, close_time,
    quote_volume, trades, taker_buy_volume, taker_buy_quote_volume, ignore.
    REST pages have no header; a zip has whatever the archive put in. Times are
    in milliseconds or microseconds, as they came.

    Raises
    ------
    SourceError
        When the zip or the page is not sound.
    """
    if path.endswith(".zip"):
        member = path.rpartition("/")[2].removesuffix(".zip") + ".csv"
        return read_member(body, member, limits=limits, where=path)
    read_page(body, where=path)
    # Validated just now: nothing but integers and strings of digits, so no character but the
    # brackets, quotes and white space of JSON has to go.
    rows = body.translate(None, b'" \t\r\n[').replace(b"],", b"\n").rstrip(b"]")
    return rows + b"\n" if rows else b""
