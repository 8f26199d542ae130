"""The public archive of Binance: zips of spot candles and of funding rates.

https://data.binance.vision holds one zip a month or a day, each with one CSV
named like it and a sibling ``<zip>.CHECKSUM``. Monthly files appear in the
first week of the next month, daily files the day after, so a window is covered
by monthly files for its whole months and daily files for the days at its ends.
The file names come from the calendar; the listing is asked only to explain a 404.
Source: github.com/binance/binance-public-data. What only the exchange's own interface
has is in `remeasure.fetch.binance_futures`, the format of candles in `remeasure.fetch.klines`.

Planning only: nothing here touches network or disk, so generators and the checks
of a configuration can ask for the plan too. `remeasure.fetch.binance_data` gets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from remeasure.errors import SourceError
from remeasure.fetch import layout
from remeasure.fetch.archive import LIMITS, ZipLimits, zip_check
from remeasure.fetch.klines import Interval, check_symbol, check_window
from remeasure.fetch.raw import Wanted

HOST = "data.binance.vision"
ARCHIVE = f"https://{HOST}"
LISTING = "https://s3-ap-northeast-1.amazonaws.com/data.binance.vision"
_MAX_ZIP = 64 << 20


@dataclass(frozen=True, order=True)
class ArchiveFile:
    """One zip of the archive: what it holds and the days it covers (both ends included, UTC)."""

    symbol: str
    first: date
    last: date
    url: str

    @property
    def name(self) -> str:
        """Name of the zip."""
        return self.url.rpartition("/")[2]

    @property
    def member(self) -> str:
        """Name of the CSV inside."""
        return self.name.removesuffix(".zip") + ".csv"

    @property
    def path(self) -> str:
        """Place in the raw layout."""
        return layout.url_to_path(self.url)

    def wanted(self, limits: ZipLimits = LIMITS) -> Wanted:
        """The zip as a request: with its checksum file, and opened before it is accepted."""
        return Wanted(
            self.url,
            checksum_url=f"{self.url}.CHECKSUM",
            max_bytes=_MAX_ZIP,
            check=zip_check(self.member, limits),
        )


def _month_end(day: date) -> date:
    return (day.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)


def klines_monthly(
    symbol: str, interval: Interval, month: date, *, base: str = ARCHIVE
) -> ArchiveFile:
    """The monthly zip of spot candles; ``month`` is any day of it."""
    folder = f"{base}/data/spot/monthly/klines/{check_symbol(symbol)}/{interval}"
    url = f"{folder}/{symbol}-{interval}-{month:%Y-%m}.zip"
    return ArchiveFile(symbol, month.replace(day=1), _month_end(month), url)


def klines_daily(symbol: str, interval: Interval, day: date, *, base: str = ARCHIVE) -> ArchiveFile:
    """The daily zip of spot candles."""
    folder = f"{base}/data/spot/daily/klines/{check_symbol(symbol)}/{interval}"
    url = f"{folder}/{symbol}-{interval}-{day:%Y-%m-%d}.zip"
    return ArchiveFile(symbol, day, day, url)


def funding_monthly(symbol: str, month: date, *, base: str = ARCHIVE) -> ArchiveFile:
    """The monthly zip of funding rates of a USD-M perpetual; there are no daily ones."""
    folder = f"{base}/data/futures/um/monthly/fundingRate/{check_symbol(symbol)}"
    url = f"{folder}/{symbol}-fundingRate-{month:%Y-%m}.zip"
    return ArchiveFile(symbol, month.replace(day=1), _month_end(month), url)


def plan_klines(
    symbols: Sequence[str], interval: Interval, first: date, last: date, *, base: str = ARCHIVE
) -> tuple[ArchiveFile, ...]:
    """The files that cover every day from ``first`` to ``last`` (both included) exactly once.

    Whole months by monthly zips, the days of a partial month at either end by
    daily zips. Sorted by symbol and day.

    Raises
    ------
    ConfigError
        When the window is empty or a symbol is not one.
    """
    check_window(first, last)
    plan: list[ArchiveFile] = []
    for symbol in sorted(set(symbols)):
        day = first
        while day <= last:
            if day.day == 1 and _month_end(day) <= last:
                plan.append(klines_monthly(symbol, interval, day, base=base))
            else:
                plan.append(klines_daily(symbol, interval, day, base=base))
            day = plan[-1].last + timedelta(days=1)
    check_no_overlap(plan)
    return tuple(plan)


def spot_plan(symbol: str, interval: Interval, first: date, last: date) -> list[str]:
    """Places in the raw layout of the zips that `plan_klines` plans for one symbol."""
    return [file.path for file in plan_klines([symbol], interval, first, last)]


def plan_funding(
    symbols: Sequence[str], first: date, last: date, *, base: str = ARCHIVE
) -> tuple[ArchiveFile, ...]:
    """The monthly funding files of every month that the window touches, sorted.

    The archive has complete months only: the file of a month that is not over
    does not exist, and the files of partial months at either end hold more
    days than the window, for the parser to drop.

    Raises
    ------
    ConfigError
        As `plan_klines`.
    """
    check_window(first, last)
    plan: list[ArchiveFile] = []
    for symbol in sorted(set(symbols)):
        month = first.replace(day=1)
        while month <= last:
            plan.append(funding_monthly(symbol, month, base=base))
            month = plan[-1].last + timedelta(days=1)
    check_no_overlap(plan)
    return tuple(plan)


def check_no_overlap(files: Sequence[ArchiveFile]) -> None:
    """Raise SourceError when two files of one symbol cover the same day."""
    for before, after in pairwise(sorted(files)):
        if before.symbol == after.symbol and before.last >= after.first:
            raise SourceError(
                f"two files cover {after.first}: {before.name} and {after.name}",
                where=after.url,
                remedy="use monthly files for whole months and daily files for the other days",
            )
