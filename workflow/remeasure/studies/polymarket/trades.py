"""Trades of the Data API: windows cut by time until each fits below the largest offset.

Rows carry no id: equal rows can be different fills and all count. Windows therefore never
overlap, both ends included. Every timestamp is held against its window, because filters
whose name the service does not know are ignored without a word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from remeasure.errors import SourceError
from remeasure.fetch.cache import FetchError
from remeasure.fetch.client import StatusError
from remeasure.fetch.raw import Wanted
from remeasure.fetch.walk import Pages, Throttled
from remeasure.studies.polymarket.addresses import Hosts, trades_page

_ROWS: Final = pl.List(
    pl.Struct({"size": pl.Float64(), "price": pl.Float64(), "timestamp": pl.Int64()})
)
_SIDES: Final = ("BUY", "SELL")


@dataclass(frozen=True)
class TradesWindow:
    """Fills of one market in one window: seconds since 1970, both included."""

    market: str
    start: int
    end: int
    side: str = ""


class TooDeep(SourceError):
    """A window has more trades than the service gives out."""


def rows_of(body: bytes, window: TradesWindow, rows: int, where: object) -> list[dict[str, Any]]:
    """Rows of one page, checked against what was asked for.

    Raises
    ------
    Throttled
        When the body is an error message with HTTP 200.
    SourceError
        When it is no list of trades, longer than asked for, of another market, or a time
        lies outside the window: the service ignored a filter.
    """
    try:
        answer = json.loads(body)
    except ValueError as error:
        raise SourceError(f"this is not JSON ({error})", where=where, remedy=_LOOK) from error
    if isinstance(answer, dict) and "error" in answer:
        raise Throttled(
            f"the service answers with an error: {answer['error']}",
            where=where,
            remedy="run again later, with a lower rate",
        )
    if not isinstance(answer, list) or not all(isinstance(row, dict) for row in answer):
        raise SourceError("this is no list of trades", where=where, remedy=_LOOK)
    if len(answer) > rows:
        raise SourceError(f"{len(answer)} rows came, not {rows}", where=where, remedy=_LOOK)
    for row in answer:
        if row.get("conditionId", window.market) != window.market:
            raise SourceError("a trade of another market came", where=where, remedy=_PROBE)
        if not window.start <= row.get("timestamp", -1) <= window.end:
            raise SourceError(
                f"a trade of {row.get('timestamp')} came, outside {window.start} to {window.end}:"
                " the service ignores the window",
                where=where,
                remedy=_PROBE,
            )
        if window.side and row.get("side") != window.side:
            raise SourceError("a trade of the other side came", where=where, remedy=_PROBE)
    return answer


_LOOK = "look at the answer: the service has changed its format, or is not itself"
_PROBE = "run the probe: a parameter of the service has another name or meaning than expected"


def trades_wanted(hosts: Hosts, window: TradesWindow, offset: int, rows: int) -> Wanted:
    """One page of a window as a request, validated before it is accepted."""
    url = trades_page(
        hosts,
        window.market,
        window.start,
        window.end,
        offset=offset,
        rows=rows,
        side=window.side,
    )

    def check(path: Path) -> None:
        rows_of(path.read_bytes(), window, rows, url)

    return Wanted(url, check=check)


def walk_trades(
    pages: Pages, hosts: Hosts, window: TradesWindow, *, rows: int, cap: int
) -> Iterator[tuple[str, TradesWindow]]:
    """Paths of all pages of a window, and the part of it that each belongs to.

    Parameters
    ----------
    rows
        Rows of a full page; a page with fewer is the last of its part.
    cap
        Largest offset that is asked for; beyond it the window is cut in two, and a single
        second by side.

    Raises
    ------
    TooDeep
        When one side of a single second has more trades than the service gives out.
    SourceError
        When a page cannot be had or is not sound.
    """
    try:
        yield from list(_whole(pages, hosts, window, rows, cap))
    except _Split:
        for part in _parts(window):
            yield from walk_trades(pages, hosts, part, rows=rows, cap=cap)


class _Split(Exception):
    """A window that does not fit below the largest offset."""


def _whole(
    pages: Pages, hosts: Hosts, window: TradesWindow, rows: int, cap: int
) -> Iterator[tuple[str, TradesWindow]]:
    offset, before = 0, b""
    while True:
        wanted = trades_wanted(hosts, window, offset, rows)
        try:
            body = pages.get(wanted)
        except FetchError as error:
            if _offset_refused(error):
                raise _Split from error
            raise
        count = len(rows_of(body, window, rows, wanted.url))
        if count and body == before and (window.start < window.end or not window.side):
            # Beyond its largest offset the service has been seen to repeat a page. Equal
            # fills can look like that, too: where no cut is left, only the cap can tell.
            raise _Split
        yield wanted.path, window
        if count < rows:
            return
        offset, before = offset + rows, body
        if offset > cap:
            raise _Split


def _offset_refused(error: FetchError) -> bool:
    return all(
        isinstance(each.error, StatusError) and each.status == 400 and "offset" in each.error.what
        for each in error.failures
    )


def _parts(window: TradesWindow) -> tuple[TradesWindow, TradesWindow]:
    if window.start < window.end:
        middle = (window.start + window.end) // 2
        return (
            TradesWindow(window.market, window.start, middle, window.side),
            TradesWindow(window.market, middle + 1, window.end, window.side),
        )
    if not window.side:
        one, two = _SIDES
        return (
            TradesWindow(window.market, window.start, window.end, one),
            TradesWindow(window.market, window.start, window.end, two),
        )
    raise TooDeep(
        f"one second ({window.start}) of {window.market} has more trades on the side"
        f" {window.side} than the service gives out",
        where="the trades of this market",
        remedy="raise polymarket.crawl.offset_cap, if the probe says that the service allows it",
    )


def sums(bodies: list[bytes], where: object) -> pl.DataFrame:
    """Dollars (size times price) and shares of each page, in the order given.

    Raises
    ------
    SourceError
        When a row lacks size or price, or they are not numbers.
    """
    try:
        lists = pl.Series("rows", [body.decode() for body in bodies]).str.json_decode(_ROWS)
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as error:
        raise SourceError(
            f"this is no list of trades ({str(error).splitlines()[0]})", where=where, remedy=_LOOK
        ) from error
    rows = (
        pl.DataFrame({"page": pl.Series(range(len(bodies)), dtype=pl.Int64), "rows": lists})
        .explode("rows", empty_as_null=False)
        .drop_nulls("rows")
        .unnest("rows")
    )
    if rows.select(pl.any_horizontal(pl.all().is_null()).any()).item():
        raise SourceError("a trade has no size or no price", where=where, remedy=_LOOK)
    added = rows.group_by("page", maintain_order=True).agg(
        dollars=(pl.col("size") * pl.col("price")).sum(), shares=pl.col("size").sum()
    )
    pages = pl.DataFrame({"page": pl.Series(range(len(bodies)), dtype=pl.Int64)})
    return pages.join(added, on="page", how="left", maintain_order="left").fill_null(0.0)
