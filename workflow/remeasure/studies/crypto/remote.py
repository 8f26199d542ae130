"""Every file that the study would fetch under the origin public; see `remeasure.fetch.remote`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from remeasure.config import Config
from remeasure.fetch import binance_futures as futures
from remeasure.fetch.binance import ArchiveFile, plan_funding, plan_klines
from remeasure.fetch.hugging_face import planned_files
from remeasure.fetch.raw import Wanted
from remeasure.fetch.remote import CACHE, RemoteFile
from remeasure.studies.crypto.checkpoint_list import checkpoints_of
from remeasure.studies.crypto.fetch_funding import OVERLAP
from remeasure.studies.crypto.record_books import contracts_of, ranking
from remeasure.studies.crypto.settings import DepthSource, FundingSource, Settings


def remote(settings: Settings, config: Config) -> list[RemoteFile]:
    """The files of a configuration, in the order of its settings; only those that are public.

    Contracts whose order books are not recorded yet follow from the ranking on that day: their
    addresses have ``{rank 5}`` in the place of the symbol.
    """
    networks = list(_networks(settings))
    if settings.origin != "public":
        return networks
    candles = [
        _zip(file, f"binance_spot_klines_{_span(file)}", interval)
        for interval, dataset in settings.spot.items()
        if dataset is not None
        for file in plan_klines(dataset.coins, interval, dataset.first, dataset.last)
    ]
    return [*candles, *_funding(settings.funding), *_books(settings.depth), *networks]


def _networks(settings: Settings) -> Iterator[RemoteFile]:
    """Checkpoints, which have an origin of their own."""
    if settings.checkpoints != "public":
        return
    for checkpoint in checkpoints_of(settings).values():
        for wanted in planned_files(CACHE, checkpoint):
            yield RemoteFile("hugging_face", wanted, checkpoint.id)


def _zip(file: ArchiveFile, source: str, interval: str = "") -> RemoteFile:
    return RemoteFile(source, file.wanted(), interval)


def _span(file: ArchiveFile) -> str:
    return "daily" if file.first == file.last else "monthly"


def _funding(funding: FundingSource) -> Iterator[RemoteFile]:
    data, since = funding.data, funding.rest_from
    if data is None:
        return
    last = data.last if since is None else since - timedelta(days=1)
    for file in plan_funding(data.coins, data.first, last):
        yield _zip(file, "binance_um_funding_monthly")
    if since is not None:
        for page in futures.plan_funding_pages(data.coins, since - OVERLAP, data.last):
            yield RemoteFile("binance_um_funding_rest", page.wanted)


def _books(depth: DepthSource) -> Iterator[RemoteFile]:
    if not depth.books:
        return
    info, ticker = ranking()
    yield RemoteFile("binance_um_exchange_info", info)
    yield RemoteFile("binance_um_ticker", ticker)
    recorded = contracts_of(CACHE, tuple(depth.contracts)) or {}
    for number in range(1, depth.snapshots + 1):
        for rank in sorted(depth.contracts):
            yield RemoteFile("binance_um_depth", _book(recorded.get(rank), rank, number))


def _book(symbol: str | None, rank: int, number: int) -> Wanted:
    if symbol is not None:
        return futures.depth(symbol, number)
    url = f"{futures.FUTURES}/fapi/v1/depth?symbol={{rank {rank}}}&limit={futures.LEVELS}"
    return Wanted(url, number=number)
