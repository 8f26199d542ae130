"""The archive of Binance: which files cover a window, how they are named, why one is missing."""

from __future__ import annotations

import calendar
import re
from collections import Counter
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fetch.loopback import FAST, Site, sha256, zipped
from remeasure.errors import ConfigError, SourceError
from remeasure.fetch import binance, binance_data
from remeasure.fetch.catalogue import Catalogue
from remeasure.fetch.client import Client
from remeasure.fetch.klines import klines_csv
from remeasure.fetch.listing import list_keys
from remeasure.fetch.origins import Mirror, Public

DAYS = st.dates(date(2017, 8, 17), date(2030, 12, 31))


def covered(url: str) -> list[date]:
    """The days a file covers, read from its name alone."""
    match = re.search(r"-(\d{4})-(\d{2})(?:-(\d{2}))?\.zip$", url)
    assert match is not None
    year, month = int(match[1]), int(match[2])
    if match[3]:
        assert "/daily/" in url
        return [date(year, month, int(match[3]))]
    assert "/monthly/" in url
    return [date(year, month, day + 1) for day in range(calendar.monthrange(year, month)[1])]


@settings(max_examples=60, deadline=None)
@given(first=DAYS, length=st.integers(0, 900))
def test_every_day_of_a_window_is_covered_once(first: date, length: int) -> None:
    last = first + timedelta(days=length)
    plan = binance.plan_klines(["BTCUSDT"], "5m", first, last)
    days = Counter(day for file in plan for day in covered(file.url))
    window = [first + timedelta(days=n) for n in range(length + 1)]
    assert days == Counter(window)
    assert [file.first for file in plan] == sorted(file.first for file in plan)
    assert [(file.first, file.last) for file in plan] == [
        (covered(file.url)[0], covered(file.url)[-1]) for file in plan
    ]
    # Daily files only where the month is not whole: as few files as possible.
    months = Counter((day.year, day.month) for day in window)
    whole = [key for key, count in months.items() if count == calendar.monthrange(*key)[1]]
    assert len(plan) == len(whole) + sum(months.values()) - sum(months[key] for key in whole)


def test_the_window_of_the_study() -> None:
    """2021-01-01 to 2026-10-29: monthly 2021-01..2026-09, daily 2026-10-01..29."""
    coins = ["SOLUSDT", "BTCUSDT", "ETHUSDT", "BTCUSDT"]
    plan = binance.plan_klines(coins, "5m", date(2021, 1, 1), date(2026, 10, 29))
    assert len(plan) == 3 * (69 + 29)
    assert [file.symbol for file in plan[::98]] == ["BTCUSDT", "ETHUSDT", "SOLUSDT"]
    folder = "https://data.binance.vision/data/spot"
    assert plan[0].url == f"{folder}/monthly/klines/BTCUSDT/5m/BTCUSDT-5m-2021-01.zip"
    assert plan[97].url == f"{folder}/daily/klines/BTCUSDT/5m/BTCUSDT-5m-2026-10-29.zip"
    assert plan[0].member == "BTCUSDT-5m-2021-01.csv"
    paths = binance.spot_plan("BTCUSDT", "5m", date(2021, 1, 1), date(2026, 10, 29))
    assert paths == [file.path for file in plan[:98]]


def test_funding_has_whole_months_only() -> None:
    plan = binance.plan_funding(["BTCUSDT"], date(2020, 1, 15), date(2020, 3, 1))
    assert [file.name for file in plan] == [
        f"BTCUSDT-fundingRate-2020-0{month}.zip" for month in (1, 2, 3)
    ]
    assert plan[0].url.startswith(
        "https://data.binance.vision/data/futures/um/monthly/fundingRate/BTCUSDT/"
    )


def test_overlaps_and_nonsense_are_refused() -> None:
    month = binance.klines_monthly("BTCUSDT", "1h", date(2024, 2, 10))
    day = binance.klines_daily("BTCUSDT", "1h", date(2024, 2, 29))
    other = binance.klines_daily("ETHUSDT", "1h", date(2024, 2, 29))
    binance.check_no_overlap([month, other])
    with pytest.raises(SourceError, match="two files cover 2024-02-29"):
        binance.check_no_overlap([day, month])
    with pytest.raises(ConfigError, match="before it begins"):
        binance.plan_klines(["BTCUSDT"], "1h", date(2024, 1, 2), date(2024, 1, 1))
    for symbol in ("../x", "btcusdt", "", "BTC/USDT"):
        with pytest.raises(ConfigError, match="not a symbol"):
            binance.plan_klines([symbol], "1h", date(2024, 1, 1), date(2024, 1, 1))


def test_the_urls_are_those_of_the_catalogue() -> None:
    root = Path(__file__).parents[2]
    catalogue = Catalogue.read(root / "config" / "sources.yaml")
    day = date(2024, 2, 9)
    parts = {"symbol": "BTCUSDT", "year": "2024", "month": "02"}
    for id, file in (
        ("binance_spot_klines_monthly", binance.klines_monthly("BTCUSDT", "15m", day)),
        ("binance_spot_klines_daily", binance.klines_daily("BTCUSDT", "15m", day)),
        ("binance_um_funding_monthly", binance.funding_monthly("BTCUSDT", day)),
    ):
        more = {"interval": "15m"} if "klines" in id else {}
        more |= {"day": "09"} if "daily" in id else {}
        source = catalogue.source(id)
        assert source.address(**parts, **more) == file.url
        assert source.checksum == source.url + ".CHECKSUM"
        assert file.wanted().checksum_url == file.url + ".CHECKSUM"


CANDLE = b"1640995200000,1.0,2.0,0.5,1.5,10.0,1640998799999,15.0,3,4.0,6.0,0\n"


def serve_archive(site: Site, plan: tuple[binance.ArchiveFile, ...]) -> None:
    for file in plan:
        path = file.url.removeprefix(site.base)
        body = zipped(file.member, CANDLE + file.name.encode())
        site.serve(path, body)
        site.checksum(path, body)


def listing(*keys: str, truncated: bool = False, marker: str = "") -> bytes:
    rows = "".join(f"<Contents><Key>{key}</Key><Size>1</Size></Contents>" for key in keys)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        f"<IsTruncated>{str(truncated).lower()}</IsTruncated>"
        f"{f'<NextMarker>{marker}</NextMarker>' if marker else ''}{rows}</ListBucketResult>"
    ).encode()


def test_an_archive_is_fetched_checked_and_read_from_its_mirror(site: Site, tmp_path: Path) -> None:
    window = date(2021, 12, 30), date(2022, 2, 2)
    plan = binance.plan_klines(["BTCUSDT", "ETHUSDT"], "1h", *window, base=site.base)
    assert len(plan) == 2 * (2 + 1 + 2)
    serve_archive(site, plan)
    origin = Public(tmp_path / "public", tmp_path / "quarantine", FAST)
    manifest = binance_data.archive("crypto_spot_1h", origin, plan)
    zips = [entry for entry in manifest.files if entry.path.endswith(".zip")]
    assert [entry.path for entry in zips] == sorted(file.path for file in plan)
    assert len(manifest.files) == 2 * len(plan)
    assert site.requests == 2 * len(plan)
    for entry in zips:
        rows = klines_csv(entry.path, manifest.read_verified(entry))
        assert rows == CANDLE + entry.path.rpartition("/")[2].encode()
    mirrored = binance_data.archive("crypto_spot_1h", Mirror(tmp_path / "public"), plan)
    assert mirrored.files == manifest.files


def test_a_missing_month_is_explained_by_the_listing(site: Site, tmp_path: Path) -> None:
    plan = binance.plan_klines(
        ["BTCUSDT"], "1h", date(2022, 1, 1), date(2022, 4, 30), base=site.base
    )
    serve_archive(site, plan[:2])
    prefix = "data/spot/monthly/klines/BTCUSDT/1h/"
    query = f"/bucket?prefix={prefix}&delimiter=/"
    keys = [f"{prefix}{file.name}{end}" for file in plan[:2] for end in ("", ".CHECKSUM")]
    site.serve(query, listing(*keys[:2], truncated=True))
    site.serve(f"{query}&marker={keys[1]}", listing(*keys[2:]))
    origin = Public(tmp_path / "public", tmp_path / "quarantine", FAST)
    with pytest.raises(SourceError) as caught:
        binance_data.archive("s", origin, plan, listing=site.url("/bucket"))
    message = str(caught.value)
    assert "2 of 4 files could not be fetched" in message
    why = f"has 2 files in this folder, from {plan[0].name} to {plan[1].name}"
    assert message.count(why) == 2
    assert site.asked[query] == 1  # one folder, one listing
    assert not list(tmp_path.rglob("%answer*"))


@pytest.mark.parametrize(
    ("pages", "why"),
    [
        ({"": listing("p/a", truncated=True, marker="p/a"), "p/a": listing("p/b", truncated=True,
          marker="p/a")}, "does not advance"),
        ({"": listing(truncated=True)}, "does not advance"),
        ({"": b"<html></html>"}, "is a <html> and not a listing"),
        ({"": b"<unclosed"}, "not XML"),
        ({"": b'<!DOCTYPE x [<!ENTITY a "aaaa">]><ListBucketResult>&a;</ListBucketResult>'},
         "document type"),
    ],
    ids=["same marker", "no marker", "page", "broken", "entities"],
)  # fmt: skip
def test_listings_that_lie_do_not_loop(
    site: Site, tmp_path: Path, pages: dict[str, bytes], why: str
) -> None:
    for marker, body in pages.items():
        end = f"&marker={marker}" if marker else ""
        site.serve(f"/bucket?prefix=p/&delimiter=/{end}", body)
    with Client(FAST) as client, pytest.raises(SourceError, match=why):
        list_keys(client, "p/", tmp_path, listing=site.url("/bucket"))
    assert site.requests == len(pages)


def test_an_endless_listing_ends(site: Site, tmp_path: Path) -> None:
    for number in range(60):
        end = f"&marker=p/{number - 1:03}" if number else ""
        page = listing(f"p/{number:03}", truncated=True)
        site.serve(f"/bucket?prefix=p/&delimiter=/{end}", page)
    with Client(FAST) as client, pytest.raises(SourceError, match="more than 50 pages"):
        list_keys(client, "p/", tmp_path, listing=site.url("/bucket"))


def test_one_bad_zip_among_good_ones(site: Site, tmp_path: Path) -> None:
    """A zip that is what its checksum promises, but not what its name says."""
    plan = binance.plan_klines(
        ["BTCUSDT"], "1d", date(2022, 1, 1), date(2022, 3, 31), base=site.base
    )
    serve_archive(site, plan)
    path = plan[1].url.removeprefix(site.base)
    body = zipped("ETHUSDT-1d-2022-02.csv", CANDLE)
    site.serve(path, body)
    site.checksum(path, body)
    origin = Public(tmp_path / "public", tmp_path / "quarantine", FAST)
    with pytest.raises(SourceError, match=r"must hold exactly 'BTCUSDT-1d-2022-02\.csv'"):
        binance_data.archive("s", origin, plan)
    assert sha256((tmp_path / "quarantine" / plan[1].path).read_bytes()) == sha256(body)
    assert (tmp_path / "public" / plan[0].path).is_file()
    assert (tmp_path / "public" / plan[2].path).is_file()
