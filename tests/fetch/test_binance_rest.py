"""Candles over REST: pages known beforehand, every answer validated, no loop, no lost candle."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fetch.loopback import FAST, Exchange, Site
from remeasure.errors import ConfigError, SourceError
from remeasure.fetch import binance_data
from remeasure.fetch.binance_rest import PAGE_ROWS, Page, plan_pages
from remeasure.fetch.catalogue import Catalogue
from remeasure.fetch.klines import MILLISECONDS, Interval, identify_klines, klines_csv, read_page
from remeasure.fetch.layout import url_to_path
from remeasure.fetch.manifest import Manifest
from remeasure.fetch.origins import Mirror, Public

HOUR = MILLISECONDS["1h"]


def candle(time: int, step: int = HOUR) -> list[Any]:
    """A candle as the service writes it."""
    price = f"{30_000 + time % 977}.12000000"
    return [
        time,
        *[price] * 4,
        "1.50000000",
        time + step - 1,
        "45000.10000000",
        7,
        "0.50000000",
        "15000.00000000",
        "0",
    ]


def stamp(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)


class Service:
    """The interface as documented: candles from startTime on, at most ``limit`` of them."""

    def __init__(self, site: Site, missing: Callable[[int], bool], cap: int = PAGE_ROWS) -> None:
        self.site, self.missing, self.cap = site, missing, cap

    def __call__(self, exchange: Exchange, count: int) -> None:
        query = {key: value[0] for key, value in parse_qs(urlsplit(exchange.path).query).items()}
        start, end = int(query["startTime"]), int(query["endTime"])
        limit = min(int(query["limit"]), self.cap)
        times = [t for t in range(-(-start // HOUR) * HOUR, end + 1, HOUR) if not self.missing(t)]
        exchange.answer(200, json.dumps([candle(t) for t in times[:limit]]).encode())

    def serve(self, pages: tuple[Page, ...]) -> None:
        outer = self

        class Scripts(dict[str, Any]):
            def get(self, key: str, default: Any = None) -> Any:
                return outer if key.startswith("/api/v3/klines?") else default

        self.site.scripts = Scripts()


def times_of(manifest: Manifest) -> list[int]:
    """Open times of all pages, in order of time, through the CSV that the parser reads."""
    found: list[int] = []
    for entry in manifest.files:
        text = klines_csv(entry.path, manifest.read_verified(entry)).decode()
        found += [int(row[0]) for row in csv.reader(io.StringIO(text))]
    return sorted(found)


WINDOW = date(2022, 1, 1), date(2022, 3, 31)
HOURS = 90 * 24
TODAY = date(2022, 4, 1)


@pytest.mark.parametrize("cap", [PAGE_ROWS, 500], ids=["as documented", "fewer than asked"])
def test_every_candle_arrives_once(site: Site, tmp_path: Path, cap: int) -> None:
    """With gaps in the middle, at both ends of pages, and a service that caps its answers."""
    start = stamp(WINDOW[0])
    pages = plan_pages(["BTCUSDT"], "1h", *WINDOW, base=site.base)
    edges = {page.end for page in pages}
    gaps = {start + n * HOUR for n in (100, 101, 102)}
    gaps |= {edge + n * HOUR for edge in edges for n in (-2, -1, 0)}
    service = Service(site, gaps.__contains__, cap)
    service.serve(pages)
    origin = Public(tmp_path / "public", tmp_path / "quarantine", FAST)
    manifest = binance_data.rest("s", origin, pages, today=TODAY)
    expected = [start + n * HOUR for n in range(HOURS) if start + n * HOUR not in gaps]
    assert times_of(manifest) == expected
    asked = site.requests
    assert binance_data.rest("s", origin, pages, today=TODAY) == manifest
    assert site.requests == asked  # pages are kept, also those that showed a gap to be real
    mirror = binance_data.rest("s", Mirror(tmp_path / "public"), pages, today=TODAY)
    assert mirror.files == manifest.files


def test_offline_names_all_pages(site: Site, tmp_path: Path) -> None:
    pages = plan_pages(["BTCUSDT", "ETHUSDT"], "1h", *WINDOW, base=site.base)
    origin = Public(tmp_path / "public", tmp_path / "quarantine", FAST, offline=True)
    with pytest.raises(SourceError) as caught:
        binance_data.rest("s", origin, pages, today=TODAY)
    assert all(page.url in str(caught.value) for page in pages)
    assert site.requests == 0


@settings(max_examples=100, deadline=None)
@given(
    first=st.dates(date(2018, 1, 1), date(2026, 1, 1)),
    length=st.integers(0, 400),
    interval=st.sampled_from(["5m", "15m", "1h", "1d"]),
)
def test_pages_cover_a_window_once_and_are_shared_by_windows(
    first: date, length: int, interval: Interval
) -> None:
    last = date.fromordinal(first.toordinal() + length)
    pages = plan_pages(["BTCUSDT"], interval, first, last)
    assert pages[0].start == stamp(first)
    assert pages[-1].end == stamp(date.fromordinal(last.toordinal() + 1))
    assert all(a.end == b.start for a, b in pairwise(pages))
    step = MILLISECONDS[interval]
    assert all(0 < (page.end - page.start) // step <= PAGE_ROWS for page in pages)
    longer = plan_pages(["BTCUSDT"], interval, date(2017, 12, 1), date(2027, 3, 1))
    assert set(pages[1:-1]) <= set(longer)


def page() -> Page:
    return Page("BTCUSDT", "1h", 0, 3 * HOUR)


GOOD = [candle(0), candle(HOUR), candle(2 * HOUR)]


def changed(place: int, value: Any) -> list[list[Any]]:
    rows = [list(row) for row in GOOD]
    rows[1][place] = value
    return rows


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (None, "breaks its schema"),
        ({"code": -1121, "msg": "Invalid symbol."}, "breaks its schema"),
        ([row[:11] for row in GOOD], "12|missing|Field required"),
        ([[*row, "1"] for row in GOOD], "at most 12"),
        (changed(1, 30000.12), "valid string"),
        (changed(1, "0.00000000"), "should match"),
        (changed(4, "-1.0"), "should match"),
        (changed(4, "NaN"), "should match"),
        (changed(4, "1e5"), "should match"),
        (changed(5, "-0.1"), "should match"),
        (changed(0, "3600000"), "valid integer"),
        (changed(0, 3600000.5), "valid integer"),
        (changed(8, 1.5), "valid integer"),
        (changed(0, HOUR + 1), "does not open on the 1h grid"),
        (changed(6, 2 * HOUR), "does not close where its interval ends"),
        ([GOOD[0], GOOD[0]], "repeat or are out of order"),
        (GOOD[::-1], "repeat or are out of order"),
        ([candle(5 * HOUR)], "were not asked for"),
        ([candle(-HOUR), *GOOD], "were not asked for"),
    ],
)
def test_answers_that_are_refused(rows: Any, why: str) -> None:
    with pytest.raises(SourceError, match=why) as caught:
        page().rows(json.dumps(rows).encode(), where="u")
    assert caught.value.where == "u"
    assert page().rows(json.dumps(GOOD).encode())[1][0] == HOUR


def test_a_bad_page_goes_to_quarantine_and_the_good_ones_stay(site: Site, tmp_path: Path) -> None:
    pages = plan_pages(["BTCUSDT"], "1h", *WINDOW, base=site.base)
    Service(site, lambda time: False).serve(pages)
    scripts = site.scripts
    bad = json.dumps([candle(pages[1].start)] * 2).encode()

    class Scripts(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            if key == pages[1].url.removeprefix(site.base):
                return lambda exchange, count: exchange.answer(200, bad)
            return scripts.get(key, default)

    site.scripts = Scripts()
    origin = Public(tmp_path / "public", tmp_path / "quarantine", FAST)
    with pytest.raises(SourceError, match="repeat or are out of order") as caught:
        binance_data.rest("s", origin, pages, today=TODAY)
    assert pages[1].url in str(caught.value)
    aside = tmp_path / "quarantine" / url_to_path(pages[1].url)
    assert aside.read_bytes() == bad
    assert "repeat" in aside.with_name(aside.name + ".reason.txt").read_text()
    for each in (pages[0], *pages[2:]):
        assert (tmp_path / "public" / url_to_path(each.url)).is_file()


def test_an_empty_page_ends_the_run(site: Site, tmp_path: Path) -> None:
    """Before the symbol was listed the service has nothing to say."""
    pages = plan_pages(["BTCUSDT"], "1h", *WINDOW, base=site.base)
    Service(site, lambda time: time < pages[1].start).serve(pages)
    origin = Public(tmp_path / "public", tmp_path / "quarantine", FAST)
    with pytest.raises(SourceError, match="1 of 3 pages hold no candle at all") as caught:
        binance_data.rest("s", origin, pages, today=TODAY)
    assert pages[0].url in str(caught.value)
    assert site.requests == len(pages)


def test_a_service_that_gives_one_candle_at_a_time_is_given_up(site: Site, tmp_path: Path) -> None:
    pages = plan_pages(["BTCUSDT"], "1h", date(2022, 1, 1), date(2022, 1, 3), base=site.base)
    Service(site, lambda time: False, cap=1).serve(pages)
    origin = Public(tmp_path / "public", tmp_path / "quarantine", FAST)
    with pytest.raises(SourceError, match="after 20 more requests"):
        binance_data.rest("s", origin, pages, today=TODAY)
    assert site.requests <= 21 * len(pages)


def test_a_window_that_is_not_over_is_refused(tmp_path: Path) -> None:
    pages = plan_pages(["BTCUSDT"], "1h", *WINDOW)
    with pytest.raises(ConfigError, match="not over yet"):
        binance_data.rest("s", Mirror(tmp_path), pages, today=date(2022, 3, 31))


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(0, 30),
    indent=st.sampled_from([None, 1]),
    price=st.from_regex(r"[1-9][0-9]{0,5}\.[0-9]{1,8}", fullmatch=True),
)
def test_the_csv_holds_what_json_holds(count: int, indent: int | None, price: str) -> None:
    """Against the json and csv modules, for any white space in the answer."""
    rows = [candle(n * HOUR) for n in range(count)]
    for row in rows:
        row[1] = price
    body = json.dumps(rows, indent=indent).encode()
    path = url_to_path(Page("BTCUSDT", "1h", 0, 1000 * HOUR).url)
    text = klines_csv(path, body).decode()
    assert list(csv.reader(io.StringIO(text))) == [[str(value) for value in row] for row in rows]
    assert text.count("\n") == count
    assert len(read_page(body)) == count


def test_addresses() -> None:
    each = Page("BTCUSDT", "5m", 1_640_995_200_000, 1_641_295_200_000)
    assert each.url == (
        "https://api.binance.com/api/v3/klines?symbol=BTCUSDT&interval=5m"
        "&startTime=1640995200000&endTime=1641295199999&limit=1000"
    )
    assert identify_klines(url_to_path(each.url)) == ("BTCUSDT", "5m")
    catalogue = Catalogue.read(Path(__file__).parents[2] / "config" / "sources.yaml")
    assert each.url == catalogue.source("binance_spot_klines_rest").address(
        symbol="BTCUSDT", interval="5m", start=str(each.start), end=str(each.end - 1)
    )
