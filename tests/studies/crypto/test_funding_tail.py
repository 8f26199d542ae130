"""Days that the archive lacks: the interface's answers give the table that the archive gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fetch.loopback import FAST, Site
from funding_archive import BTC, grid, manifest_of, payment, put_month
from remeasure.errors import DataError, SourceError
from remeasure.fetch import binance_futures as futures
from remeasure.fetch.manifest import Manifest
from remeasure.studies.crypto.fetch_funding import FetchFundingStep, resolved
from remeasure.studies.crypto.funding_files import FundingFilesStep, parse_funding, read_payments
from remeasure.studies.crypto.settings import Dataset

WINDOW = Dataset(coins=(BTC,), first=date(2024, 8, 1), last=date(2024, 10, 20))
SINCE, OVERLAP, END = date(2024, 10, 1), date(2024, 9, 28), date(2024, 10, 21)

Rows = list[dict[str, Any]]


def rate(moment: datetime) -> str:
    return f"{(moment.day * 7 + moment.hour) % 23 / 1e5 - 5e-5:.8f}"


def months(root: Path, *names: str, symbol: str = BTC) -> None:
    for name in names:
        first = datetime.fromisoformat(f"{name}-01")
        end = datetime(first.year, first.month + 1, 1)
        put_month(root, symbol, name, [payment(at, rate(at), late=3) for at in grid(first, end)])


def answer(first: date = OVERLAP, end: date = END, symbol: str = BTC) -> Rows:
    moments = grid(*(datetime(day.year, day.month, day.day) for day in (first, end)))
    return [
        {
            "symbol": symbol,
            "fundingTime": int(at.replace(tzinfo=UTC).timestamp() * 1000) + 2,
            "fundingRate": rate(at),
            "markPrice": "60000.1",
        }
        for at in moments
    ]


def put_page(root: Path, rows: Rows, first: date = OVERLAP, end: date = END) -> Path:
    page = futures.FundingPage(BTC, first, end)
    target = root / page.wanted.path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(rows))
    return target


def parse(root: Path, dataset: Dataset = WINDOW) -> pl.DataFrame:
    target = root.parent / f"{root.name}.duckdb"
    parse_funding(
        manifest=manifest_of(root), funding=target, settings=FundingFilesStep(dataset=dataset)
    )
    return read_payments(target, BTC)


def test_the_table_is_the_one_that_the_archive_alone_gives(tmp_path: Path) -> None:
    months(tmp_path / "archive", "2024-08", "2024-09", "2024-10")
    months(tmp_path / "both", "2024-08", "2024-09")
    put_page(tmp_path / "both", answer())
    wanted = parse(tmp_path / "archive")
    assert wanted.height == 3 * (31 + 30 + 20)
    assert parse(tmp_path / "both").equals(wanted)


def test_a_long_tail_comes_in_several_pages(tmp_path: Path) -> None:
    months(tmp_path / "raw", "2024-08", "2024-09")
    cut, end = date(2024, 11, 8), date(2024, 12, 1)
    put_page(tmp_path / "raw", answer(OVERLAP, cut), OVERLAP, cut)
    put_page(tmp_path / "raw", answer(cut, end), cut, end)
    pages = futures.plan_funding_pages([BTC], OVERLAP, date(2024, 11, 30))
    assert [(page.first, page.end) for page in pages] == [(OVERLAP, cut), (cut, end)]
    dataset = Dataset(coins=(BTC,), first=WINDOW.first, last=date(2024, 11, 30))
    found = parse(tmp_path / "raw", dataset)
    assert found.height == 3 * (31 + 30 + 31 + 30)
    assert set(found["hours"]) == {8}


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            lambda rows: rows[4].__setitem__("fundingRate", "0.00077000"),
            r"archive in 1 of 9 payments, first that of 2024-09-29 08:00:00: 0.00077",
        ),
        (
            lambda rows: rows[30].__setitem__("fundingRate", "0.3"),
            "impossible: 0.3[\\s\\S]*30.funding",
        ),
        (lambda rows: rows[30].__setitem__("markPrice", "-1"), "field 30.markPrice"),
        (lambda rows: rows.pop(30), "payments are missing"),
    ],
)
def test_conflicts_and_unsound_pages_are_refused(
    tmp_path: Path, edit: Callable[[Rows], object], said: str
) -> None:
    months(tmp_path / "raw", "2024-08", "2024-09")
    rows = answer()
    edit(rows)
    put_page(tmp_path / "raw", rows)
    with pytest.raises((DataError, SourceError), match=said) as caught:
        parse(tmp_path / "raw")
    assert "fundingRate%Qsymbol=BTCUSDT" in caught.value.where


def test_a_payment_that_only_one_of_the_two_has_is_refused(tmp_path: Path) -> None:
    """Four-hourly answers over an eight-hourly archive."""
    months(tmp_path / "raw", "2024-08", "2024-09")
    rows = answer()
    between = [row | {"fundingTime": row["fundingTime"] + 4 * futures.HOUR_MS} for row in rows]
    every = sorted([*rows, *between], key=lambda row: int(row["fundingTime"]))
    put_page(tmp_path / "raw", every)
    with pytest.raises(
        DataError, match=r"in 9 of 18 payments.*04:00:00.*in the archive no payment"
    ):
        parse(tmp_path / "raw")


def test_a_change_of_the_interval_after_the_archive_is_refused(tmp_path: Path) -> None:
    """Pages state no interval, so only one that begins with the page could be believed."""
    months(tmp_path / "raw", "2024-08", "2024-09")
    rows = answer(OVERLAP, date(2024, 10, 10))
    rows += answer(date(2024, 10, 10), END)[::2]
    put_page(tmp_path / "raw", rows)
    with pytest.raises(SourceError, match="or their interval changes"):
        parse(tmp_path / "raw")


def test_pages_without_an_overlap_are_refused(tmp_path: Path) -> None:
    put_page(tmp_path / "raw", answer(SINCE), SINCE)
    dataset = Dataset(coins=(BTC,), first=SINCE, last=WINDOW.last)
    with pytest.raises(DataError, match="do not overlap"):
        parse(tmp_path / "raw", dataset)
    months(tmp_path / "raw", "2024-08", "2024-09")
    with pytest.raises(DataError, match="do not overlap"):
        parse(tmp_path / "raw")


# --- fetching -------------------------------------------------------------------------------


def step(folder: Path, **more: Any) -> FetchFundingStep:
    return FetchFundingStep.model_validate(
        {"dataset": WINDOW, "rest_from": SINCE, "origin": "public", "client": FAST}
        | {"raw": str(folder / "raw")}
        | more
    )


def serve_archive(site: Site, folder: Path, *names: str) -> None:
    months(folder, *names)
    for path in folder.rglob("*.zip"):
        address = "/" + path.relative_to(folder).as_posix().partition("/")[2]
        site.serve(address, path.read_bytes())
        site.checksum(address, path.read_bytes())


def fetch(site: Site, folder: Path) -> Manifest:
    return resolved(step(folder), archive=site.base, futures=site.base, today=date(2024, 10, 21))


def test_archive_and_interface_are_fetched_once(site: Site, tmp_path: Path) -> None:
    serve_archive(site, tmp_path / "there", "2024-08", "2024-09")
    (page,) = futures.plan_funding_pages([BTC], OVERLAP, WINDOW.last, base=site.base)
    site.serve(page.url.removeprefix(site.base), json.dumps(answer()).encode())
    manifest = fetch(site, tmp_path)
    assert site.requests == 2 * 2 + 1
    assert len(manifest.files) == 2 * 2 + 1
    assert (manifest.source, manifest.origin) == ("crypto_funding", "public")
    assert fetch(site, tmp_path) == manifest
    assert site.requests == 5
    manifest.write(tmp_path / "m.json")
    parse_funding(
        manifest=tmp_path / "m.json",
        funding=tmp_path / "f.duckdb",
        settings=FundingFilesStep(dataset=WINDOW),
    )
    assert read_payments(tmp_path / "f.duckdb", BTC).height == 3 * (31 + 30 + 20)
    host = site.base.removeprefix("http://").replace(":", "+")
    copied = tmp_path / "mirror"
    (tmp_path / "raw" / "public").rename(copied)
    for name in ("data.binance.vision", "fapi.binance.com"):
        (copied / name).symlink_to(copied / host, target_is_directory=True)
    mirrored = resolved(step(tmp_path, origin="mirror", mirror=str(copied)), today=END)
    assert [entry.sha256 for entry in mirrored.files] == [x.sha256 for x in manifest.files]


def test_a_blocked_location_is_told_how_to_go_on(site: Site, tmp_path: Path) -> None:
    serve_archive(site, tmp_path / "there", "2024-08", "2024-09")
    (page,) = futures.plan_funding_pages([BTC], OVERLAP, WINDOW.last, base=site.base)
    site.scripts[page.url.removeprefix(site.base)] = lambda exchange, count: exchange.answer(451)
    with pytest.raises(SourceError, match="blocks this location") as caught:
        fetch(site, tmp_path)
    assert "crypto.funding.rest_from: null" in caught.value.remedy


@pytest.mark.parametrize("since", [date(2024, 10, 2), date(2024, 8, 1), date(2024, 11, 1)])
def test_a_first_day_without_an_overlap_is_refused(tmp_path: Path, since: date) -> None:
    with pytest.raises(ValueError, match="must be the first day of a month inside"):
        step(tmp_path, rest_from=since)
