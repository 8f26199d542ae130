"""Record order books as they are now: the ranking, then several books of each contract.

The exchange keeps no old books, so what is recorded here cannot be fetched again. Every
answer is kept in the raw cache beside the time of its retrieval, and a later run that finds
all of them there sends no request. A recording that broke off is taken up where it ended
while its books are still as far apart as they should be; after that it begins anew, and what
was there goes to ``<quarantine>/replaced``. To record anew on purpose, move the files away.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from remeasure.fetch import binance_data, origins, quarantine
from remeasure.fetch import binance_futures as futures
from remeasure.fetch.layout import host_folder
from remeasure.fetch.manifest import Manifest, digest
from remeasure.fetch.raw import Check, Sidecar, Wanted, inspect
from remeasure.fetch.settings import ClientSettings
from remeasure.model import Model
from remeasure.studies.crypto.book_files import check_later, read_book
from remeasure.studies.crypto.ranking import pick, ranked, read_info, read_ticker

log = logging.getLogger(__name__)

SOURCE: Final = "crypto_books"
BLOCKED: Final = (
    "set crypto.depth.books: false, or name a mirror that has recorded books: the exchange's"
    " interface cannot be had from here"
)

#: A recording that stood still for longer than this many spacings (and a minute) begins anew.
_STALE: Final = 2.0


class RecordBooksStep(Model):
    """Settings of `record_books`.

    Attributes
    ----------
    ranks
        Ranks of turnover whose contracts are recorded, 1 the largest.
    snapshots
        Books of each.
    spacing_minutes
        Time from one book of a contract to its next.
    origin
        Always public: there are no other books that are recorded now.
    client
        The HTTP client.
    raw
        Folder of raw data; answers go to ``<raw>/public``, bad ones to ``<raw>/quarantine``.
    """

    ranks: tuple[Annotated[int, Field(ge=1)], ...] = Field(min_length=1)
    snapshots: int = Field(ge=1)
    spacing_minutes: float = Field(ge=0, le=60)
    origin: Literal["public"] = "public"
    client: ClientSettings = Field(default_factory=ClientSettings)
    raw: str = "data/raw"


def record_books(*, manifest: Path, settings: RecordBooksStep) -> None:
    """Step: record what is not recorded yet, and list the ranking and all books.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.

    Raises
    ------
    SourceError
        When the exchange blocks this location or finds the client too fast, or an answer
        cannot be had or is refused: names every one.
    """
    recorded(settings).write(manifest)


def recorded(
    settings: RecordBooksStep,
    *,
    base: str = futures.FUTURES,
    sleep: Callable[[float], None] = time.sleep,
) -> Manifest:
    """The manifest of the settings; see `record_books`. Address and clock are for tests."""
    raw = Path(settings.raw)
    public = origins.Public(raw / "public", raw / "quarantine", settings=settings.client)
    listed = _held(settings, public, base)
    if listed is not None:
        return listed
    _begin_anew_if_stale(settings, public, base)
    listed = _ask(public, ranking(base))
    contracts = contracts_of(public.root, settings.ranks, base) or {}
    for number in range(1, settings.snapshots + 1):
        books = _books(public.root, contracts, number, base)
        if number > 1 and any(_state(public.root, book) != "present" for book in books):
            _wait(public.root, _books(public.root, contracts, number - 1, base), settings, sleep)
        listed = binance_data.joined(listed, _ask(public, books))
    return listed


def ranking(base: str = futures.FUTURES) -> list[Wanted]:
    """The two answers from which ranks follow."""
    return [futures.exchange_info(base, _check_info), futures.ticker(base, _check_ticker)]


def _check_info(path: Path) -> None:
    read_info(path.read_bytes(), path)


def _check_ticker(path: Path) -> None:
    read_ticker(path.read_bytes(), path)


def contracts_of(
    root: Path, ranks: Sequence[int], base: str = futures.FUTURES
) -> dict[int, str] | None:
    """Symbol by rank out of the recorded ranking; None when it is not recorded."""
    info, ticker = (root / each.path for each in ranking(base))
    if not (info.is_file() and ticker.is_file()):
        return None
    order = ranked(read_info(info.read_bytes(), info), read_ticker(ticker.read_bytes(), ticker))
    return pick(order, ranks, ticker)


def _books(root: Path, contracts: Mapping[int, str], number: int, base: str) -> list[Wanted]:
    """The requests for one book of each contract, each checked against the book before."""

    def check(symbol: str) -> Check:
        def later(path: Path) -> None:
            book = read_book(path.read_bytes(), path)
            if number > 1:
                before = root / futures.depth(symbol, number - 1, base).path
                check_later(read_book(before.read_bytes(), before), book, path)

        return later

    return [futures.depth(each, number, base, check(each)) for each in contracts.values()]


def _ask(public: origins.Public, wanted: Sequence[Wanted]) -> Manifest:
    return binance_data.futures(SOURCE, public, wanted, otherwise=BLOCKED)


def _state(root: Path, wanted: Wanted) -> str:
    return inspect(root, wanted)[0]


def _held(settings: RecordBooksStep, public: origins.Public, base: str) -> Manifest | None:
    """The manifest of a recording that is whole; None of any other."""
    if any(_state(public.root, each) != "present" for each in ranking(base)):
        return None
    contracts = contracts_of(public.root, settings.ranks, base) or {}
    wanted = ranking(base) + [
        book
        for number in range(1, settings.snapshots + 1)
        for book in _books(public.root, contracts, number, base)
    ]
    if any(_state(public.root, each) != "present" for each in wanted):
        return None
    return _ask(public, wanted)


def _retrieved(file: Path) -> datetime | None:
    record = Sidecar.read(file)
    return datetime.fromisoformat(record.retrieved) if record else None


def _begin_anew_if_stale(settings: RecordBooksStep, public: origins.Public, base: str) -> None:
    """Put a recording that broke off too long ago aside."""
    folder = public.root / host_folder(base) / "fapi" / "v1"
    names = ("depth%Q*%S*", "exchangeInfo", "ticker/24hr")
    found = [
        file
        for name in names
        for file in sorted(folder.glob(name))
        if file.suffix not in (".json",) and not file.name.endswith("%part")
    ]
    times = [when for when in map(_retrieved, found) if when is not None]
    if not found:
        return
    age = (datetime.now(UTC) - max(times)).total_seconds() if times else float("inf")
    if age <= 60 * (1 + _STALE * settings.spacing_minutes):
        return
    log.warning("a recording of order books that is not whole is put aside; another one begins")
    for file in found:
        quarantine.keep_replaced(
            public.quarantine,
            file.relative_to(public.root).as_posix(),
            file,
            url=base,
            sha256=digest(file)[1],
            reason="the recording that it belongs to is not whole and too old to be taken up",
        )


def _wait(
    root: Path,
    before: Sequence[Wanted],
    settings: RecordBooksStep,
    sleep: Callable[[float], None],
) -> None:
    """Wait until the books before are as old as the spacing."""
    times = [when for each in before if (when := _retrieved(root / each.path)) is not None]
    if not times:
        return
    age = (datetime.now(UTC) - max(times)).total_seconds()
    left = 60 * settings.spacing_minutes - age
    if left > 0:
        log.info("the next order books are due in %.0f s", left)
        sleep(left)
