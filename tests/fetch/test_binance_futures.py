"""The exchange's own interface: pages known beforehand, every answer validated or put aside."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fetch.loopback import FAST, Exchange, Site
from remeasure.errors import ConfigError, SourceError
from remeasure.fetch import binance_data, layout
from remeasure.fetch import binance_futures as futures
from remeasure.fetch.catalogue import Catalogue
from remeasure.fetch.manifest import Manifest
from remeasure.fetch.origins import Mirror, Public
from remeasure.fetch.settings import ClientSettings

BTC = "BTCUSDT"
FIRST, END = date(2026, 9, 28), date(2026, 10, 3)
EIGHT = 8 * futures.HOUR_MS
OTHERWISE = "use the archive"


def payments(first: date, end: date, step: int = EIGHT, symbol: str = BTC) -> list[dict[str, Any]]:
    """Payments as the interface gives them, some milliseconds late."""
    start, stop = futures.milliseconds(first), futures.milliseconds(end)
    return [
        {
            "symbol": symbol,
            "fundingTime": time + time // futures.HOUR_MS % 7,
            "fundingRate": f"{(time // EIGHT % 11 - 4) / 1e5:.8f}",
            "markPrice": "60000.12345678",
        }
        for time in range(start, stop, step)
    ]


def page() -> futures.FundingPage:
    return futures.FundingPage(BTC, FIRST, END)


def body(rows: Any) -> bytes:
    return json.dumps(rows).encode()


# --- planning -------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(first=st.dates(date(2019, 9, 1), date(2027, 1, 1)), length=st.integers(0, 300))
def test_pages_cover_a_window_once_and_none_can_be_too_full(first: date, length: int) -> None:
    last = first + timedelta(days=length)
    pages = futures.plan_funding_pages([BTC], first, last)
    assert (pages[0].first, pages[-1].end) == (first, last + timedelta(days=1))
    assert all(left.end == right.first for left, right in pairwise(pages))
    for each in pages:
        assert 0 < 24 * (each.end - each.first).days <= 1000  # at one payment an hour
        assert futures.FundingPage.of(each.wanted.path) == each
    assert len({each.url for each in pages}) == len(pages)


def test_addresses_are_those_of_the_catalogue() -> None:
    catalogue = Catalogue.read(Path(__file__).parents[2] / "config" / "sources.yaml")
    start = int(datetime(2026, 9, 28, tzinfo=UTC).timestamp() * 1000)
    end = int(datetime(2026, 10, 3, tzinfo=UTC).timestamp() * 1000) - 1
    address = catalogue.source("binance_um_funding_rest").address
    assert page().url == address(symbol=BTC, start=str(start), end=str(end))
    assert futures.depth(BTC, 2).url == catalogue.source("binance_um_depth").address(symbol=BTC)
    assert futures.exchange_info().url == catalogue.source("binance_um_exchange_info").address()
    assert futures.ticker().url == catalogue.source("binance_um_ticker").address()
    first, second = (futures.depth(BTC, number) for number in (1, 2))
    assert first.url == second.url
    assert second.path == layout.url_to_path(second.url) + "%S2" != first.path


@pytest.mark.parametrize(
    "path",
    [
        "fapi.binance.com/fapi/v1/depth%Qsymbol=BTCUSDT&limit=1000%S1",
        "fapi.binance.com/fapi/v1/fundingRate%Qsymbol=BTCUSDT&startTime=5&endTime=9&limit=1000",
        "fapi.binance.com/fapi/v1/fundingRate%Qsymbol=BTCUSDT",
    ],
)
def test_other_places_are_no_pages(path: str) -> None:
    assert futures.FundingPage.of(path) is None


def test_the_client_is_never_faster_than_the_interface_allows() -> None:
    assert futures.polite(ClientSettings()).rate_per_second * 300 <= 500
    slow = ClientSettings(rate_per_second=0.5)
    assert futures.polite(slow) == slow


# --- what an answer must be -----------------------------------------------------------------


@pytest.mark.parametrize("hours", [1, 4, 8])
def test_a_sound_page(hours: int) -> None:
    step = hours * futures.HOUR_MS
    rows = page().rows(body(payments(FIRST, END, step)))
    assert len(rows) == 5 * 24 // hours
    assert [row.hour for row in rows] == list(
        range(futures.milliseconds(FIRST), futures.milliseconds(END), step)
    )


def one(field: str, value: Any, row: int = 4) -> Callable[[list[dict[str, Any]]], object]:
    return lambda rows: rows[row].__setitem__(field, value)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda rows: rows.reverse(), "field 1.fundingTime: .* repeats or goes back in time"),
        (lambda rows: rows.insert(4, rows[3]), "field 4.fundingTime: .* repeats"),
        (lambda rows: rows.pop(4), "field 4.fundingTime: payments are missing.*by 16 hours"),
        (lambda rows: rows.pop(0), "field fundingTime: payments are missing"),
        (lambda rows: rows.pop(), "field fundingTime: payments are missing"),
        (lambda rows: rows.clear(), "no payment at all"),
        (lambda rows: rows.extend(payments(END, END + timedelta(days=1))), "not asked for"),
        (one("symbol", "ETHUSDT"), "field 4.symbol: 'ETHUSDT' is not BTCUSDT"),
        (one("colour", 1), "field 4.colour: Extra inputs are not permitted"),
        (lambda rows: rows[2].pop("markPrice"), "field 2.markPrice: Field required"),
        (one("markPrice", "-60000.1"), "field 4.markPrice: .*-60000.1"),
        (one("markPrice", "0.00000000"), "field 4.markPrice"),
        (one("fundingRate", "nan"), "field 4.fundingRate"),
        (one("fundingRate", 0.0001), "field 4.fundingRate: .*valid string"),
        (one("fundingRate", "1e-4"), "field 4.fundingRate"),
        (one("fundingTime", "1790726400000"), "field 4.fundingTime: .*valid integer"),
        (one("fundingTime", futures.milliseconds(FIRST) + 4 * EIGHT + 90_000), "not on the hour"),
    ],
)
def test_answers_that_are_refused(
    edit: Callable[[list[dict[str, Any]]], object], said: str
) -> None:
    rows = payments(FIRST, END)
    edit(rows)
    with pytest.raises(SourceError, match=said) as caught:
        page().rows(body(rows), where="u")
    assert caught.value.where == "u"
    assert "fetch again" in caught.value.remedy


@pytest.mark.parametrize(
    "answer", [b'{"code": -1121, "msg": "Invalid symbol."}', b"<html>", b"", b"null"]
)
def test_an_answer_that_is_no_list_is_refused(answer: bytes) -> None:
    with pytest.raises(SourceError, match="field its start"):
        page().rows(answer)
    page().rows(body([row | {"markPrice": ""} for row in payments(FIRST, END)]))  # old payments


# --- over HTTP ------------------------------------------------------------------------------


def public(folder: Path) -> Public:
    return Public(folder / "public", folder / "quarantine", FAST)


def plan(site: Site, *symbols: str) -> tuple[futures.FundingPage, ...]:
    return futures.plan_funding_pages(
        symbols or (BTC,), FIRST, END - timedelta(days=1), base=site.base
    )


def ask(site: Site, folder: Path, *symbols: str, today: date = END) -> Manifest:
    pages = plan(site, *symbols)
    return binance_data.funding_pages("s", public(folder), pages, otherwise=OTHERWISE, today=today)


def script(site: Site, symbol: str, answer: Callable[[Exchange, int], None]) -> None:
    (each,) = plan(site, symbol)
    site.scripts[each.url.removeprefix(site.base)] = answer


def serve(site: Site, symbol: str = BTC) -> None:
    (each,) = plan(site, symbol)
    site.serve(each.url.removeprefix(site.base), body(payments(FIRST, END, symbol=symbol)))


def test_pages_are_kept_as_received_and_never_asked_for_again(site: Site, tmp_path: Path) -> None:
    serve(site)
    manifest = ask(site, tmp_path)
    (entry,) = manifest.files
    assert manifest.read_verified(entry) == body(payments(FIRST, END))
    assert site.requests == 1
    assert ask(site, tmp_path) == manifest
    mirror = Mirror(tmp_path / "public")
    again = binance_data.funding_pages("s", mirror, plan(site), otherwise="", today=END)
    assert again.files == manifest.files
    assert site.requests == 1
    with pytest.raises(ConfigError, match="not over yet"):
        ask(site, tmp_path, today=END - timedelta(days=1))


def test_a_blocked_location_is_told_and_what_else_to_do(site: Site, tmp_path: Path) -> None:
    for symbol in (BTC, "ETHUSDT"):
        script(site, symbol, lambda exchange, count: exchange.answer(451, b"restricted location"))
    with pytest.raises(SourceError, match=r"blocks this location.*451.*restricted") as caught:
        ask(site, tmp_path, BTC, "ETHUSDT")
    assert caught.value.remedy == OTHERWISE
    assert not list((tmp_path / "public").rglob("*%Q*"))


def test_too_fast_waits_as_long_as_asked(site: Site, tmp_path: Path) -> None:
    def answer(exchange: Exchange, count: int) -> None:
        if count:
            exchange.answer(200, body(payments(FIRST, END)))
        else:
            exchange.answer(429, b"slow down", {"Retry-After": "1"})

    script(site, BTC, answer)
    assert len(ask(site, tmp_path).files) == 1
    (times,) = site.times.values()
    assert times[1] - times[0] >= 0.95


@pytest.mark.parametrize(
    ("status", "headers", "said"),
    [
        (418, {"Retry-After": "3600"}, "too fast.*HTTP 418, which asks for a pause of 3600 s"),
        (429, {}, "too fast.*HTTP 429"),
    ],
)
def test_a_ban_ends_the_run(
    site: Site, tmp_path: Path, status: int, headers: dict[str, str], said: str
) -> None:
    serve(site, "ETHUSDT")
    script(site, BTC, lambda exchange, count: exchange.answer(status, b"", headers))
    with pytest.raises(SourceError, match=said) as caught:
        ask(site, tmp_path)
    assert "lower rate_per_second" in caught.value.remedy
    assert site.requests <= 1 + FAST.retries


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (body([]), "no payment at all"),
        (body(payments(FIRST, END)[::-1]), "goes back in time"),
        (b'{"code": -1121, "msg": "Invalid symbol."}', "field its start"),
        (body(payments(FIRST, END))[:-9], "field its start"),
        (body(payments(FIRST - timedelta(days=5), FIRST)), "not asked for"),  # another page again
    ],
)
def test_a_bad_page_is_put_aside_and_the_good_one_stays(
    site: Site, tmp_path: Path, answer: bytes, said: str
) -> None:
    serve(site, "ETHUSDT")
    script(site, BTC, lambda exchange, count: exchange.answer(200, answer))
    with pytest.raises(SourceError, match=said) as caught:
        ask(site, tmp_path, BTC, "ETHUSDT")
    bad, good = plan(site, BTC, "ETHUSDT")
    assert bad.url in str(caught.value)
    assert (tmp_path / "quarantine" / bad.wanted.path).read_bytes() == answer
    there = list((tmp_path / "public").rglob("fundingRate*"))
    kept = tmp_path / "public" / good.wanted.path
    assert sorted(there) == [kept, layout.sidecar(kept)]
    serve(site)
    assert len(ask(site, tmp_path, BTC, "ETHUSDT").files) == 2


def test_manifests_of_other_sources_do_not_join(tmp_path: Path) -> None:
    one, other = (Manifest.of(name, "public", "r", []) for name in "ab")
    assert binance_data.joined(one, one) == one
    with pytest.raises(SourceError, match="do not belong together"):
        binance_data.joined(one, other)
