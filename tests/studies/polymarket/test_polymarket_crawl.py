"""The crawl against services that behave as badly as the real ones: nothing lost, no circle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import remeasure
from fetch.loopback import FAST
from remeasure.errors import SourceError
from remeasure.fetch import layout, walk
from remeasure.fetch.cache import FetchError
from remeasure.fetch.origins import Mirror, Public
from remeasure.fetch.walk import Pages, opened
from remeasure.studies.polymarket.addresses import (
    DAY,
    events_page,
    hourly_prices,
    life_prices,
    week_window,
)
from remeasure.studies.polymarket.fetch_listing import page_wanted, walk_events
from remeasure.studies.polymarket.listing import slices
from remeasure.studies.polymarket.prices import points, price_wanted, three_hour_points
from remeasure.studies.polymarket.trades import TooDeep, TradesWindow, walk_trades
from studies.polymarket.polymarket_service import Service, event, trade

MARKET = f"0x{1:064x}"


@contextmanager
def crawling(folder: Path) -> Iterator[Pages]:
    origin = Public(folder / "public", folder / "quarantine", settings=FAST)
    with opened("test", origin) as pages:
        yield pages


def listed(pages: Pages, service: Service, **options: float) -> list[str]:
    files = walk_events(pages, service.hosts, closed=True, **options)
    return [
        each["id"]
        for file in files
        for each in json.loads((pages.root / file.path).read_bytes())["events"]
    ]


def target(url: str, service: Service) -> str:
    return url.removeprefix(service.base)


def test_every_page_arrives_once_although_limits_are_clamped(
    service: Service, tmp_path: Path
) -> None:
    """The service sends 7 events a page, not 500; a short page is no end."""
    service.events = [event(number) for number in range(50)]
    service.page = 7
    with crawling(tmp_path) as pages:
        assert listed(pages, service) == [str(number) for number in range(50)]
    assert set(service.asked.values()) == {1}
    assert sum(service.asked.values()) == 8


def test_a_second_walk_asks_for_nothing_and_a_mirror_gives_the_same(
    service: Service, tmp_path: Path
) -> None:
    service.events = [event(number) for number in range(20)]
    service.page = 7
    with crawling(tmp_path) as pages:
        first = listed(pages, service)
    service.asked.clear()
    with crawling(tmp_path) as pages:
        assert listed(pages, service) == first
    with opened("test", Mirror(tmp_path / "public")) as pages:
        assert listed(pages, service) == first
    assert not service.asked


def test_shards_by_dollars_hold_every_event(service: Service, tmp_path: Path) -> None:
    volumes = [1000.0, 4000.0, 10_000.0, 10_000.5, 5e6, 999.99]
    service.events = [event(number, volume=volume) for number, volume in enumerate(volumes)]
    found: list[str] = []
    with crawling(tmp_path) as pages:
        for low, high in slices(1000, (10_000, 1e6)):
            options = {"volume_min": low} | ({} if high is None else {"volume_max": high})
            found += listed(pages, service, **options)
    assert sorted(set(found)) == ["0", "1", "2", "3", "4"]
    assert found.count("2") == 2  # at the cut: in both, and counted once by its id later


def test_an_ignored_cursor_is_found_out(service: Service, tmp_path: Path) -> None:
    """The first page comes back for ever, with HTTP 200: the walk stops at its second coming."""
    service.events = [event(number) for number in range(20)]
    service.page, service.cursor_name = 7, "cursor"
    with crawling(tmp_path) as pages, pytest.raises(SourceError, match="circle"):
        listed(pages, service)
    assert sum(service.asked.values()) <= 3
    second = events_page(service.hosts, closed=True, cursor="7")
    place = layout.url_to_path(second)
    assert not (tmp_path / "public" / place).exists(), "a repeated page must not be kept as good"
    assert (tmp_path / "quarantine" / place).exists()


def test_a_stale_page_is_asked_for_again(service: Service, tmp_path: Path) -> None:
    service.events = [event(number) for number in range(20)]
    service.page = 7
    second = target(events_page(service.hosts, closed=True, cursor="7"), service)
    service.once[second] = [(200, {"events": service.events[:7], "next_cursor": "7"})]
    with crawling(tmp_path) as pages:
        assert listed(pages, service) == [str(number) for number in range(20)]
    assert service.asked[second] == 2


def test_an_error_in_a_body_with_http_200_is_no_page(service: Service, tmp_path: Path) -> None:
    service.events = [event(number) for number in range(20)]
    service.page = 7
    second = target(events_page(service.hosts, closed=True, cursor="7"), service)
    service.once[second] = [(200, {"error": "Too Many Requests"})] * 2
    with crawling(tmp_path) as pages:
        assert listed(pages, service) == [str(number) for number in range(20)]
    assert service.asked[second] == 3
    service.once[second] = [(200, {"error": "Too Many Requests"})] * 99
    with crawling(tmp_path / "again") as pages, pytest.raises(FetchError, match="Too Many"):
        listed(pages, service)
    kept = tmp_path / "again" / "public" / layout.url_to_path(service.base + second)
    assert not kept.exists()


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"{}", b'{"events": 1}', b'{"events": [{"i'])
def test_what_is_no_page_stops_the_walk(service: Service, tmp_path: Path, body: bytes) -> None:
    service.once[target(events_page(service.hosts, closed=True), service)] = [(200, body)] * 9
    with crawling(tmp_path) as pages, pytest.raises(SourceError):
        listed(pages, service)


def test_prices_come_whole_although_many_are_told_to_wait(service: Service, tmp_path: Path) -> None:
    close = 1_780_000_000
    tokens = [str(10**76 + number) for number in range(30)]
    for token in tokens:
        service.histories[token] = [{"t": close - hour * 3600, "p": 0.25} for hour in range(9)]
    urls = [
        url
        for token in tokens
        for url in (
            hourly_prices(service.hosts, token, close),
            life_prices(service.hosts, token),
        )
    ]
    for url in urls[::3]:
        service.once[target(url, service)] = [(429, b"slow down")]
    with crawling(tmp_path) as pages:
        pages.many([price_wanted(url) for url in urls])
        assert len(pages.files) == len(urls)
    for url in urls:
        body = (tmp_path / "public" / layout.url_to_path(url)).read_bytes()
        assert len(json.loads(body)["history"]) == 9


#: A crawl that dies before its n-th rename of a body or a record.
DYING = """
import os, sys
from pathlib import Path
from remeasure.fetch.origins import Public
from remeasure.fetch.settings import ClientSettings
from remeasure.fetch.walk import opened
from remeasure.studies.polymarket.addresses import Hosts
from remeasure.studies.polymarket.fetch_listing import walk_events

folder, base, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
calls, real = iter(range(1, 10_000)), Path.replace

def replace(self, to):
    if next(calls) == last:
        os._exit(9)
    return real(self, to)

Path.replace = replace
settings = ClientSettings(rate_per_second=2000.0, backoff=0.01)
origin = Public(folder / "public", folder / "quarantine", settings=settings)
with opened("test", origin) as pages:
    hosts = Hosts(**dict.fromkeys(Hosts.model_fields, base))
    walk_events(pages, hosts, closed=True)
"""


@pytest.mark.parametrize("count", [1, 2, 9, 16])
def test_a_kill_at_any_moment_loses_no_page(service: Service, tmp_path: Path, count: int) -> None:
    """The process dies at any rename of a body or record; the next one fetches only the rest."""
    service.events = [event(number) for number in range(50)]
    service.page = 7
    died = subprocess.run(
        [sys.executable, "-c", DYING, str(tmp_path), service.base, str(count)],
        env={**os.environ, "PYTHONPATH": str(Path(remeasure.__file__).parents[1])},
        timeout=120,
        check=False,
    )
    assert died.returncode == 9
    with crawling(tmp_path) as pages:
        assert listed(pages, service) == [str(number) for number in range(50)]
    assert sum(service.asked.values()) <= 8 + 1, "only the page in flight comes twice"


def windowed(
    pages: Pages, service: Service, window: TradesWindow, *, rows: int = 500, cap: int = 3000
) -> tuple[list[dict[str, object]], int]:
    """Rows of a window, and the number of parts that it was cut into."""
    parts = list(walk_trades(pages, service.hosts, window, rows=rows, cap=cap))
    found = [row for path, _ in parts for row in json.loads((pages.root / path).read_bytes())]
    return found, len({part for _, part in parts})


@pytest.mark.parametrize(("served_cap", "repeats"), [(10_000, False), (100, False), (100, True)])
def test_deep_windows_are_cut_until_nothing_is_missing(
    service: Service, tmp_path: Path, served_cap: int, repeats: bool
) -> None:
    """Our own cap, the service's refusal, and its silent repetition of a page: all rows come."""
    service.trades = sorted(
        (trade(1000 + number // 3, size=1 + number) for number in range(2000)),
        key=lambda row: -row["timestamp"],
    )
    service.offset_cap, service.repeats = served_cap, repeats
    with crawling(tmp_path) as pages:
        found, parts = windowed(
            pages,
            service,
            TradesWindow(MARKET, 900, 1700),
            rows=50,
            cap=300 if not repeats else 9999,
        )
    assert sorted(row["size"] for row in found) == [1.0 + number for number in range(2000)]
    assert parts > 4


def test_equal_fills_all_count_and_windows_do_not_overlap(service: Service, tmp_path: Path) -> None:
    service.trades = [trade(5000)] * 120 + [trade(4999)] + [trade(4000), trade(3999)]
    with crawling(tmp_path) as pages:
        found, _ = windowed(pages, service, TradesWindow(MARKET, 4000, 5000), rows=50)
    assert len(found) == 122


def test_one_second_too_deep_is_cut_by_side_and_then_said(service: Service, tmp_path: Path) -> None:
    service.trades = [trade(5000, side="BUY", size=n) for n in range(70)]
    service.trades += [trade(5000, side="SELL", size=n) for n in range(60)]
    window = TradesWindow(MARKET, 4000, 5000)
    with crawling(tmp_path) as pages:
        assert len(windowed(pages, service, window, rows=10, cap=90)[0]) == 130
    with crawling(tmp_path / "2") as pages, pytest.raises(TooDeep, match="one second"):
        windowed(pages, service, window, rows=10, cap=50)


def test_an_ignored_window_is_found_out(service: Service, tmp_path: Path) -> None:
    service.trades, service.ignores_window = [trade(9000), trade(5000)], True
    with crawling(tmp_path) as pages, pytest.raises(SourceError, match="ignores the window"):
        windowed(pages, service, TradesWindow(MARKET, 4000, 6000))


def test_trades_throttled_in_the_body_come_later(service: Service, tmp_path: Path) -> None:
    service.trades = [trade(5000)]
    window = TradesWindow(MARKET, 4000, 6000)
    url = f"/trades?market={MARKET}&limit=500&offset=0&takerOnly=true&start=4000&end=6000"
    service.once[url] = [(200, {"error": "Too Many Requests"})]
    with crawling(tmp_path) as pages:
        assert len(windowed(pages, service, window)[0]) == 1
    assert service.asked[url] == 2


def test_a_price_window_never_exceeds_what_the_service_answers(service: Service) -> None:
    close = 1_780_000_000.9
    url = hourly_prices(service.hosts, "1", close)
    assert f"startTs={1_780_000_000 - 14 * DAY}&endTs=1780000000&fidelity=60" in url
    assert week_window(close, 7) == (1_780_000_000 - 14 * DAY + 1, 1_780_000_000 - 7 * DAY)


def test_points_beyond_the_window_and_twice_are_dropped() -> None:
    body = json.dumps(
        {
            "history": [
                {"t": 30, "p": 0.3},
                {"t": 10, "p": 0.1},
                {"t": 10, "p": 0.2},
                {"t": 41, "p": 1},
            ]
        }
    ).encode()
    found = points([body, b'{"history": []}', body], [40, None, None])
    assert found.rows() == [
        (0, 10, 0.2), (0, 30, 0.3), (2, 10, 0.2), (2, 30, 0.3), (2, 41, 1.0),
    ]  # fmt: skip


def test_three_hour_points_and_what_is_none() -> None:
    rows = [{"timestamp": at, "price": at / 100, "resolution_seconds": 0} for at in (10, 20, 41)]
    page = {"data": rows, "pagination": {"has_more": False, "next_cursor": None}}
    bodies = [json.dumps(each).encode() for each in (page, {"data": None}, {"data": []}, page)]
    found = three_hour_points(bodies, [40, None, None, 15])
    assert found.rows() == [(0, 10, 0.1), (0, 20, 0.2), (3, 10, 0.1)]
    for bad in (b"{}", b'{"data": [{"timestamp": 1, "price": 2}]}', b'{"history": []}', b"no",
                b'{"data": [], "pagination": {"has_more": true}}'):  # fmt: skip
        with pytest.raises(SourceError):
            three_hour_points([bad], [None])
    with pytest.raises(walk.Throttled):
        three_hour_points([b'{"error": "Too Many Requests"}'], [None])


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"error": "Too Many Requests"}', walk.Throttled),
        (b'{"error": "invalid filters"}', SourceError),
        (b"{}", SourceError),
        (b'{"history": [{"t": 1, "p": 1.5}]}', SourceError),
        (b'{"history": [{"t": 1, "p": null}]}', SourceError),
        (b'{"history": [{"t": 1, "p": "0.5"}]}', SourceError),
        (b"no", SourceError),
    ],
)
def test_answers_that_are_no_prices_are_refused(body: bytes, kind: type[SourceError]) -> None:
    with pytest.raises(kind):
        points([body], [None])


def test_a_listing_page_is_checked_before_it_is_kept(tmp_path: Path) -> None:
    page = tmp_path / "page"
    page.write_bytes(b'{"error": "Too Many Requests"}')
    wanted = page_wanted("https://gamma-api.polymarket.com/events/keyset?limit=500&closed=true")
    assert wanted.check is not None
    with pytest.raises(walk.Throttled):
        wanted.check(page)
