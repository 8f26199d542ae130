"""Recorded order books: answers of the exchange, believed only after every check.

One file holds one answer of ``GET /fapi/v1/depth?symbol=…&limit=1000``: the best thousand
levels on each side, prices and quantities as decimal strings, bids descending, asks
ascending. The same address gives another answer a moment later, so a recorded one stands
at the address's place in the raw layout with ``%S`` and its number behind it.

Which contract has which rank of turnover is either a setting, for books that somebody
recorded, or follows from two more answers that were recorded with the books.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from remeasure.errors import DataError
from remeasure.fetch import binance_futures as futures
from remeasure.fetch.manifest import Manifest, RawFile
from remeasure.model import Model
from remeasure.store.tables import Column, Table, create, insert, writer
from remeasure.studies.crypto.ranking import pick, ranked, read_info, read_ticker
from remeasure.studies.crypto.settings import Symbol

LEVELS: Final = futures.LEVELS

_REMEDY: Final = "record the book again; if it comes again, the service has changed its answers"
_RERUN: Final = "run the step that records or generates the books again, with this run's settings"
_NAME = re.compile(r"[^/]+/fapi/v1/depth%Qsymbol=([A-Z0-9]+)&limit=[0-9]+%S([0-9]+)")
_INFO, _TICKER = "/fapi/v1/exchangeInfo", "/fapi/v1/ticker/24hr"

_Positive = Annotated[
    str,
    StringConstraints(pattern=r"^(?:0*[1-9][0-9]*(?:\.[0-9]+)?|0+\.0*[1-9][0-9]*)$", max_length=40),
]
Level = tuple[_Positive, _Positive]
Floats = npt.NDArray[np.float64]

BOOKS: Final = Table(
    name="books",
    meaning="one level of one side of one recorded order book",
    columns=(
        Column(name="symbol", sql="VARCHAR", meaning="perpetual contract, as BTCUSDT"),
        Column(
            name="rank", sql="INTEGER", meaning="of its turnover, 1 the largest", check="rank > 0"
        ),
        Column(name="snapshot", sql="INTEGER", meaning="number of the book, from 1 on"),
        Column(name="time", sql="TIMESTAMP", unit="UTC", meaning="when the exchange answered"),
        Column(name="side", sql="VARCHAR", meaning="ask or bid", check="side IN ('ask', 'bid')"),
        Column(name="level", sql="INTEGER", meaning="from the best on, 0 first"),
        Column(name="price", sql="DOUBLE", unit="USDT", meaning="limit", check="price > 0"),
        Column(
            name="quantity",
            sql="DOUBLE",
            unit="coins",
            meaning="coins offered or wanted there",
            check="quantity > 0",
        ),
    ),
    key=("symbol", "snapshot", "side", "level"),
    remedy="a book that cannot be came through the parser: compare it with the raw file",
)


class Book(BaseModel):
    """The answer as the exchange sends it; an unknown field is an error.

    Attributes
    ----------
    lastUpdateId
        Number of the book's last change.
    E, T
        When the answer was sent and when the book last changed, milliseconds since 1970.
    bids, asks
        Price and quantity as decimal strings, from the best on.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    lastUpdateId: int
    E: int
    T: int
    bids: list[Level]
    asks: list[Level]

    def side(self, name: str) -> tuple[Floats, Floats]:
        """Prices and quantities of ``bids`` or ``asks``, from the best on."""
        levels = np.array(getattr(self, name), dtype=np.float64).reshape(-1, 2)
        return levels[:, 0], levels[:, 1]


class BooksStep(Model):
    """Settings of `parse_books`.

    Attributes
    ----------
    contracts
        Symbol by rank of turnover.
    snapshots
        Books of each.
    live
        Whether the books were recorded by this workflow: then only the ranks count, and the
        symbols follow from the recorded ranking.
    """

    contracts: dict[Annotated[int, Field(ge=1)], Symbol]
    snapshots: int
    live: bool = False


def book_path(symbol: str, snapshot: int) -> str:
    """Place of a recorded book in the raw layout.

    >>> book_path("BTCUSDT", 2)
    'fapi.binance.com/fapi/v1/depth%Qsymbol=BTCUSDT&limit=1000%S2'
    """
    return futures.depth(symbol, snapshot).path


def _refuse(what: str, where: object, remedy: str = _REMEDY) -> NoReturn:
    raise DataError(what, where=where, remedy=remedy)


def read_book(body: bytes, where: object = "") -> Book:
    """The book of an answer.

    Raises
    ------
    DataError
        When it is not JSON of the known fields, a price or quantity is not a positive
        decimal, a side is empty, levels are out of order or repeat, or the best bid is not
        below the best ask. Names the field.
    """
    try:
        book = Book.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "its start"
        _refuse(
            f"field {place}: the order book breaks its schema: {first['msg']}"
            f" ({str(first['input'])[:60]!r})",
            where,
        )
    for name, direction in (("bids", -1), ("asks", 1)):
        prices, _ = book.side(name)
        if not prices.size:
            _refuse(f"field {name}: the order book has no level on this side", where)
        wrong = np.flatnonzero(direction * np.diff(prices) <= 0)
        if wrong.size:
            level = int(wrong[0]) + 1
            _refuse(
                f"field {name}.{level}.0: levels repeat or are out of order: {prices[level]:g}"
                f" follows {prices[level - 1]:g}",
                where,
            )
    bid, ask = float(book.bids[0][0]), float(book.asks[0][0])
    if bid >= ask:
        _refuse(f"field bids.0: the book is crossed: best bid {bid:g}, best ask {ask:g}", where)
    return book


def check_later(before: Book, book: Book, where: object = "") -> None:
    """Raise DataError unless ``book`` is a later one of the same contract than ``before``."""
    if book.E <= before.E:
        _refuse(
            f"field E: the book is not later than the one before it: {book.E} after {before.E}",
            where,
        )
    if book.lastUpdateId < before.lastUpdateId:
        _refuse(
            f"field lastUpdateId: the book is older than the one before it: {book.lastUpdateId}"
            f" after {before.lastUpdateId}",
            where,
        )


def parse_books(*, manifest: Path, books: Path, settings: BooksStep) -> None:
    """Step: read every recorded book of a manifest and write the table of levels.

    Parameters
    ----------
    manifest
        Input: the recorded answers.
    books
        Output, DuckDB file with the table `BOOKS`.

    Raises
    ------
    SourceError
        When a file is missing, damaged or not the one in the manifest.
    DataError
        When a file is no recorded book, one is missing, or a book or the ranking is not sound.
    """
    listed = Manifest.read(manifest)
    known: dict[tuple[str, int], RawFile] = {}
    ranking: dict[str, RawFile] = {}
    for entry in listed.files:
        match = _NAME.fullmatch(entry.path)
        if match is not None:
            known[match[1], int(match[2])] = entry
        elif settings.live and entry.path.endswith((_INFO, _TICKER)):
            ranking[_INFO if entry.path.endswith(_INFO) else _TICKER] = entry
        else:
            _refuse("this is not the place of a recorded order book", entry.path, _RERUN)
    contracts: Mapping[int, str] = settings.contracts
    if settings.live:
        contracts = _recorded_ranks(listed, ranking, tuple(contracts))
    with writer(books) as connection:
        create(connection, BOOKS)
        for rank, symbol in sorted(contracts.items()):
            before: Book | None = None
            for snapshot in range(1, settings.snapshots + 1):
                recorded = known.get((symbol, snapshot))
                if recorded is None:
                    _refuse(f"book {snapshot} of {symbol} is missing", listed.source, _RERUN)
                book = read_book(listed.read_verified(recorded), recorded.path)
                if before is not None:
                    check_later(before, book, recorded.path)
                before = book
                insert(connection, BOOKS, _levels(symbol, rank, snapshot, book))


def _recorded_ranks(
    listed: Manifest, ranking: Mapping[str, RawFile], ranks: Sequence[int]
) -> dict[int, str]:
    for name in (_INFO, _TICKER):
        if name not in ranking:
            _refuse(f"the manifest holds no answer of {name}", listed.source, _RERUN)
    info, ticker = ranking[_INFO], ranking[_TICKER]
    order = ranked(
        read_info(listed.read_verified(info), info.path),
        read_ticker(listed.read_verified(ticker), ticker.path),
    )
    return pick(order, ranks, ticker.path)


def _levels(symbol: str, rank: int, snapshot: int, book: Book) -> pl.DataFrame:
    sides = []
    for side, name in (("ask", "asks"), ("bid", "bids")):
        price, quantity = book.side(name)
        level = np.arange(price.size, dtype=np.int32)
        sides.append(
            pl.DataFrame({"level": level, "price": price, "quantity": quantity}).select(
                pl.lit(symbol).alias("symbol"),
                pl.lit(rank, pl.Int32).alias("rank"),
                pl.lit(snapshot, pl.Int32).alias("snapshot"),
                pl.lit(1000 * book.E).cast(pl.Datetime("us")).alias("time"),
                pl.lit(side).alias("side"),
                "level",
                "price",
                "quantity",
            )
        )
    return pl.concat(sides)
