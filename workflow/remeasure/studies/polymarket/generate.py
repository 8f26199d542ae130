"""Generate a world of prediction markets as the raw answers of the services, and its truth.

The files lie in a world of their own, ``<raw>/generated/<world>/``, at the addresses that the
study's crawl asks for, and go through the same walks and parsers. Everything follows from the
settings; files that are there already with the same bytes stay.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np

from remeasure.fetch.layout import url_to_path
from remeasure.fetch.manifest import Manifest, RawFile
from remeasure.fingerprint import fingerprint
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.studies.polymarket import addresses, world_listing, world_series, world_tables
from remeasure.studies.polymarket.addresses import DAY
from remeasure.studies.polymarket.listing import slices
from remeasure.studies.polymarket.settings import (
    CrawlSettings,
    Definitions,
    DrawSettings,
    GeneratorSettings,
    Window,
)
from remeasure.studies.polymarket.world import FIRST_MONTH, HORIZON_NAMES, stream, world
from remeasure.studies.polymarket.world_names import Names, token_id
from remeasure.studies.polymarket.world_tables import hashed_sample

log = logging.getLogger(__name__)

#: Window and grain of the chart of the prize, UTC.
NOBEL_FROM, NOBEL_TO = (
    datetime(2025, 10, 8, 12, tzinfo=UTC),
    datetime(2025, 10, 10, 9, tzinfo=UTC),
)
NOBEL_MINUTES = 5

#: Bitcoin before the first month of the world, dollars.
BITCOIN_START = 42_000.0

#: Treasury bills: rate in percent at the first and last day, and its daily noise.
BILL_FIRST, BILL_LAST, BILL_NOISE = 5.2, 3.6, 0.02


class GenerateStep(Model):
    """Settings of `generate_world`.

    Attributes
    ----------
    generator
        The world.
    draw, definitions, crawl, window
        Of the study: which markets are sampled, and which addresses are asked for.
    raw
        Folder of raw data; files go to ``<raw>/generated/<world>/``.
    """

    generator: GeneratorSettings
    draw: DrawSettings
    definitions: Definitions
    crawl: CrawlSettings
    window: Window
    raw: str = "data/raw"


def world_id(settings: GenerateStep) -> str:
    """Name of the world: 16 hexadecimal digits over the generator's code and its settings."""
    asked = settings.model_dump(mode="json", exclude={"raw"})
    text = json.dumps({"code": fingerprint(__name__), **asked}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def generate_world(*, manifest: Path, truth: Path, settings: GenerateStep) -> None:
    """Step: write the raw files of a world, their manifest, and the truth planted in it.

    Parameters
    ----------
    manifest
        Output: all files of the world.
    truth
        Output, Parquet: a row a market of the population and horizon, columns of
        ``schema.TRUTH``.
    """
    root = Path(settings.raw, "generated", world_id(settings))
    names = Names(world(settings.generator, listed_from=settings.definitions.event_usd))
    files: list[RawFile] = []
    written = 0
    for url, body in answers(names, settings):
        path = url_to_path(url)
        written += _put(root / path, body)
        files.append(RawFile(path, len(body), hashlib.sha256(body).hexdigest()))
    log.info("%d files written, %d kept", written, len(files) - written)
    Manifest.of("polymarket_world", "generated", root.as_posix(), files).write(manifest)
    population = np.flatnonzero(names.made.clean)
    write_frame(world_tables.truth(names, population), truth, world_tables.TRUTH_FRAME)


def answers(names: Names, settings: GenerateStep) -> Iterator[tuple[str, bytes]]:
    """Every address that the crawl asks for in this world, with its answer."""
    hosts = settings.crawl.hosts
    yield from _listing(names, settings)
    for cursor, body in world_listing.chain(world_listing.open_events(names), "open"):
        yield addresses.events_page(hosts, closed=False, cursor=cursor), body
    yield from _prices_and_trades(names, settings)
    yield from _charts(names, settings)
    yield _bitcoin(names, settings)
    yield addresses.bill_rate(hosts), _bills(names, settings.window)


def _listing(names: Names, settings: GenerateStep) -> Iterator[tuple[str, bytes]]:
    events = world_listing.closed_events(names)
    ranges = slices(settings.definitions.event_usd, settings.crawl.volume_cuts)
    for number, (low, high) in enumerate(ranges):
        inside = [
            each
            for each in events
            if low <= each["volume"] and (high is None or each["volume"] <= high)
        ]
        for cursor, body in world_listing.chain(inside, f"s{number}"):
            url = addresses.events_page(
                settings.crawl.hosts, closed=True, volume_min=low, volume_max=high, cursor=cursor
            )
            yield url, body


def _prices_and_trades(names: Names, settings: GenerateStep) -> Iterator[tuple[str, bytes]]:
    made, crawl = names.made, settings.crawl
    sampled: dict[int, list[int]] = {}
    for market in hashed_sample(names, settings.draw).market.tolist():
        sampled.setdefault(int(made.event[market]), []).append(market)
    for event, markets in sampled.items():
        closed = int(made.events.closed[event].astype(np.int64))
        for each in world_series.histories(made, event, markets):
            token = token_id(names.condition(each.market), 0)
            yield addresses.hourly_prices(crawl.hosts, token, closed), each.hourly
            yield addresses.life_prices(crawl.hosts, token), each.life
        for market in markets:
            condition = names.condition(market)
            for horizon, rows in world_series.trades(names, market).items():
                days = settings.definitions.horizon_days[HORIZON_NAMES[horizon]]
                start, end = addresses.week_window(closed, days, settings.definitions.week_days)
                for page, body in enumerate(world_series.pages(rows, crawl.trades_rows)):
                    url = addresses.trades_page(
                        crawl.hosts,
                        condition,
                        start,
                        end,
                        offset=page * crawl.trades_rows,
                        rows=crawl.trades_rows,
                    )
                    yield url, body


def _charts(names: Names, settings: GenerateStep) -> Iterator[tuple[str, bytes]]:
    made, hosts = names.made, settings.crawl.hosts
    if names.election >= 0:
        market = names.markets(names.election)[0]
        each = next(world_series.histories(made, names.election, [market]))
        yield addresses.life_prices(hosts, token_id(names.condition(market), 0)), each.life
    if names.nobel >= 0:
        first, last = int(NOBEL_FROM.timestamp()), int(NOBEL_TO.timestamp())
        stamps = np.arange(first, last + 1, 60 * NOBEL_MINUTES)
        # The announcement is taken as an hour before the close, whenever that is.
        days = (last - stamps) / DAY + 1 / 24
        days = np.minimum(days, float(made.events.life[names.nobel]))
        prices = world_series.event_prices(made, names.nobel, days, "announcement")
        begins = world_series.stamped(stamps)
        for market, row in zip(names.markets(names.nobel), prices, strict=True):
            token = token_id(names.condition(market), 0)
            url = addresses.price_window(hosts, token, first, last, minutes=NOBEL_MINUTES)
            yield url, world_series.history(begins, row)


def _bitcoin(names: Names, settings: GenerateStep) -> tuple[str, bytes]:
    """Monthly candles from the month before the window to its last month."""
    first = (settings.window.first.replace(day=1) - timedelta(days=1)).replace(day=1)
    months = np.arange(
        np.datetime64(first, "M"), np.datetime64(settings.window.last, "M") + np.timedelta64(1, "M")
    )
    simple = np.zeros(months.size)
    place = (months - FIRST_MONTH).astype(np.int64)
    inside = (place >= 0) & (place < names.made.bitcoin.size)
    simple[inside] = names.made.bitcoin[place[inside]]
    closes = BITCOIN_START * np.cumprod(1 + simple)
    rows = []
    for month, close, opened in zip(
        months, closes, np.concatenate([[BITCOIN_START], closes[:-1]]), strict=True
    ):
        begin = int(month.astype("datetime64[s]").astype(np.int64)) * 1000
        end = int((month + 1).astype("datetime64[s]").astype(np.int64)) * 1000 - 1
        low, high = sorted((opened, close))
        cells = [f"{price:.8f}" for price in (opened, high, low, close)]
        rows.append([begin, *cells, "1000.0", end, "0", 1, "0", "0", "0"])
    last = settings.window.last.replace(day=1)
    url = addresses.bitcoin_months(settings.crawl.hosts, _midnight(first), _midnight(last))
    return url, world_listing.encoded(rows).encode()


def _bills(names: Names, window: Window) -> bytes:
    """A falling rate on business days, empty on a few holidays, as FRED exports it."""
    days = np.arange(
        np.datetime64(window.first), np.datetime64(window.last) + 1, dtype="datetime64[D]"
    )
    days = days[np.is_busday(days)]
    noise = stream(names.made.settings.seed, "bills").standard_normal(days.size)
    rate = np.linspace(BILL_FIRST, BILL_LAST, days.size) + BILL_NOISE * noise
    holiday = np.array([(day.item().month, day.item().day) in _HOLIDAYS for day in days])
    lines = [
        f"{day},{'' if free else f'{value:.2f}'}"
        for day, value, free in zip(days, rate, holiday, strict=True)
    ]
    return ("\n".join(["observation_date,DTB3", *lines]) + "\n").encode()


_HOLIDAYS = ((1, 1), (7, 4), (12, 25))


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _put(target: Path, body: bytes) -> bool:
    """Write under a temporary name and rename; False where the same bytes are there already."""
    try:
        if target.stat().st_size == len(body) and target.read_bytes() == body:
            return False
    except FileNotFoundError:
        target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".tmp-{os.getpid()}")
    temporary.write_bytes(body)
    temporary.replace(target)
    return True
