"""Recording order books: the right contracts, kept as received, and never asked for twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fetch.loopback import FAST, Exchange, Site
from remeasure.errors import DataError, SourceError
from remeasure.fetch import layout
from remeasure.fetch.manifest import Manifest
from remeasure.fetch.raw import Sidecar
from remeasure.studies.crypto.book_files import BooksStep, parse_books
from remeasure.studies.crypto.ranking import (
    Contract,
    ExchangeInfo,
    Turnover,
    pick,
    ranked,
    read_info,
    read_ticker,
)
from remeasure.studies.crypto.record_books import RecordBooksStep, recorded

#: Contract, kind, state, currency, turnover. Only four count: BBB, DDD, AAA, CCC.
LISTED = [
    ("AAAUSDT", "PERPETUAL", "TRADING", "USDT", "900.5"),
    ("BBBUSDT", "PERPETUAL", "TRADING", "USDT", "10000.25"),
    ("CCCUSDT", "PERPETUAL", "TRADING", "USDT", "7"),
    ("DDDUSDT", "PERPETUAL", "TRADING", "USDT", "9000"),
    ("EEEUSDT", "PERPETUAL", "SETTLING", "USDT", "99999"),
    ("FFFUSDC", "PERPETUAL", "TRADING", "USDC", "99999"),
    ("GGGUSDT_261225", "CURRENT_QUARTER", "TRADING", "USDT", "99999"),
    ("币USDT", "PERPETUAL", "TRADING", "USDT", "99999"),
]
RANKS = {1: "BBBUSDT", 2: "DDDUSDT", 4: "CCCUSDT"}
INFO, TICKER, DEPTH = "/fapi/v1/exchangeInfo", "/fapi/v1/ticker/24hr", "/fapi/v1/depth"
START = 1_793_448_000_000

Answer = Callable[[Exchange, int], None]


def info() -> bytes:
    names = ("symbol", "contractType", "status", "quoteAsset")
    rows = [dict(zip(names, row[:4], strict=True)) | {"pricePrecision": 2} for row in LISTED]
    return json.dumps({"timezone": "UTC", "symbols": rows}).encode()


def ticker() -> bytes:
    return json.dumps(
        [{"symbol": row[0], "quoteVolume": row[4], "lastPrice": "1"} for row in LISTED]
    ).encode()


def book(number: int, middle: int = 100) -> dict[str, Any]:
    return {
        "lastUpdateId": 1000 + number,
        "E": START + 300_000 * number,
        "T": START + 300_000 * number - 5,
        "bids": [[f"{middle - 1 - level}", "2.5"] for level in range(3)],
        "asks": [[f"{middle + 1 + level}.5", "1.5"] for level in range(3)],
    }


class Futures(dict[str, Answer]):
    """The interface: each request for a book gives the next one; single answers can be set."""

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[str, int] = {}
        self[INFO] = lambda exchange, count: exchange.answer(200, info())
        self[TICKER] = lambda exchange, count: exchange.answer(200, ticker())

    def get(self, key: str, default: Any = None) -> Any:
        if key in self:
            return self[key]
        if not key.startswith(DEPTH + "?"):
            return default
        (symbol,) = parse_qs(urlsplit(key).query)["symbol"]

        def answer(exchange: Exchange, count: int) -> None:
            self.given[symbol] = self.given.get(symbol, 0) + 1
            body = json.dumps(book(self.given[symbol], 100 + 10 * ord(symbol[0]))).encode()
            exchange.answer(200, body)

        return answer


@pytest.fixture
def futures(site: Site) -> Futures:
    scripts = Futures()
    site.scripts = scripts
    return scripts


def record(site: Site, folder: Path, *, waits: list[float] | None = None, **more: Any) -> Manifest:
    step = RecordBooksStep.model_validate(
        {"ranks": tuple(RANKS), "snapshots": 3, "spacing_minutes": 0, "client": FAST}
        | {"raw": str(folder / "raw")}
        | more
    )
    return recorded(step, base=site.base, sleep=(waits if waits is not None else []).append)


def books_of(folder: Path) -> list[Path]:
    return sorted(
        path for path in (folder / "raw" / "public").rglob("depth%Q*") if path.suffix != ".json"
    )


def test_the_ranked_contracts_are_recorded_once(
    site: Site, futures: Futures, tmp_path: Path
) -> None:
    manifest = record(site, tmp_path)
    assert futures.given == dict.fromkeys(RANKS.values(), 3)
    assert site.requests == 2 + 3 * 3 == len(manifest.files)
    assert (manifest.source, manifest.origin) == ("crypto_books", "public")
    for number in (1, 2, 3):
        (entry,) = [x for x in manifest.files if x.path.endswith(f"=BBBUSDT&limit=1000%S{number}")]
        assert json.loads(manifest.read_verified(entry)) == book(number, 100 + 660)
        kept = Sidecar.read(manifest.file(entry))
        assert kept is not None
        assert kept.retrieved.startswith("20")
    assert record(site, tmp_path) == manifest
    assert site.requests == 11  # all from the cache
    manifest.write(tmp_path / "m.json")
    parse_books(
        manifest=tmp_path / "m.json",
        books=tmp_path / "b.duckdb",
        settings=BooksStep(
            contracts={1: "BTCUSDT", 2: "ETHUSDT", 4: "SOLUSDT"}, snapshots=3, live=True
        ),
    )
    with duckdb.connect(str(tmp_path / "b.duckdb"), read_only=True) as connection:
        found = connection.sql(
            "SELECT DISTINCT rank, symbol, snapshot FROM books ORDER BY ALL"
        ).fetchall()
    assert found == [(rank, symbol, n) for rank, symbol in RANKS.items() for n in (1, 2, 3)]


def test_books_are_as_far_apart_as_wanted(site: Site, futures: Futures, tmp_path: Path) -> None:
    waits: list[float] = []
    record(site, tmp_path, waits=waits, spacing_minutes=5)
    assert len(waits) == 2
    assert all(295 < wait <= 300 for wait in waits)


def test_a_recording_that_broke_off_is_taken_up(
    site: Site, futures: Futures, tmp_path: Path
) -> None:
    books = record(site, tmp_path)
    gone = [path for path in books_of(tmp_path) if path.name.endswith("%S3")]
    for path in gone[1:]:
        path.unlink()
        layout.sidecar(path).unlink()
    site.forget()
    waits: list[float] = []
    again = record(site, tmp_path, waits=waits, spacing_minutes=1)
    assert site.requests == 2
    assert len(waits) == 1
    assert [entry.path for entry in again.files] == [entry.path for entry in books.files]


def test_a_recording_that_broke_off_long_ago_begins_anew(
    site: Site, futures: Futures, tmp_path: Path
) -> None:
    record(site, tmp_path)
    before = {path.name: path.read_bytes() for path in books_of(tmp_path)}
    for path in (tmp_path / "raw" / "public").rglob("*.meta.json"):
        old = json.loads(path.read_text())
        path.write_text(json.dumps(old | {"retrieved": "2026-10-31T12:00:00+00:00"}))
    books_of(tmp_path)[-1].unlink()
    site.forget()
    record(site, tmp_path)
    assert site.requests == 11
    aside = {
        path.name: path.read_bytes()
        for path in (tmp_path / "raw" / "quarantine" / "replaced").rglob("depth%Q*")
        if path.suffix not in (".json", ".txt")
    }
    assert len(aside) == 8
    assert aside.items() <= before.items()


@pytest.mark.parametrize(
    ("status", "said", "remedy"),
    [
        (451, "blocks this location", "crypto.depth.books: false"),
        (418, "too fast", "lower rate_per_second"),
        (429, "too fast", "lower rate_per_second"),
    ],
)
@pytest.mark.parametrize("path", [INFO, f"{DEPTH}?symbol=DDDUSDT&limit=1000"])
def test_refusals_of_the_exchange_end_the_run(
    site: Site, futures: Futures, tmp_path: Path, path: str, status: int, said: str, remedy: str
) -> None:
    futures[path] = lambda exchange, count: exchange.answer(status)
    with pytest.raises(SourceError, match=said) as caught:
        record(site, tmp_path)
    assert remedy in caught.value.remedy
    del futures[path]
    futures.setdefault(INFO, lambda exchange, count: exchange.answer(200, info()))
    assert len(record(site, tmp_path).files) == 11


@pytest.mark.parametrize(
    ("path", "answer", "said"),
    [
        (INFO, b'{"code": -1003, "msg": "Too many requests."}', "field symbols"),
        (INFO, b'{"symbols": [{"symbol": "AAAUSDT"}]}', "field symbols.0.contractType"),
        (TICKER, b"[]", "no turnover"),
        (TICKER, b'[{"symbol": "AAAUSDT", "quoteVolume": "-1"}]', "field 0.quoteVolume"),
        (DEPTH, b"", "field its start"),
        (DEPTH, b'{"code": -1121, "msg": "Invalid symbol."}', "field lastUpdateId"),
        (DEPTH, json.dumps(book(2) | {"asks": []}).encode(), "field asks"),
        (DEPTH, json.dumps(book(2) | {"rpi": []}).encode(), "field rpi"),
        (DEPTH, json.dumps(book(2) | {"bids": [["-99", "1"]]}).encode(), "field bids.0.0"),
    ],
)
def test_bad_answers_are_put_aside(
    site: Site, futures: Futures, tmp_path: Path, path: str, answer: bytes, said: str
) -> None:
    place = f"{DEPTH}?symbol=DDDUSDT&limit=1000" if path == DEPTH else path
    futures[place] = lambda exchange, count: exchange.answer(200, answer)
    with pytest.raises(SourceError) as caught:
        record(site, tmp_path)
    number = "%S1" if path == DEPTH else ""
    aside = tmp_path / "raw" / "quarantine" / (layout.url_to_path(site.url(place)) + number)
    assert aside.read_bytes() == answer
    reason = aside.with_name(aside.name + ".reason.txt").read_text()
    assert said in str(caught.value)
    assert said in reason
    assert not (
        tmp_path / "raw" / "public" / aside.relative_to(tmp_path / "raw" / "quarantine")
    ).exists()


def test_the_same_book_twice_is_refused(site: Site, futures: Futures, tmp_path: Path) -> None:
    """As a cache between here and the exchange would give it."""
    one = json.dumps(book(1)).encode()
    futures[f"{DEPTH}?symbol=BBBUSDT&limit=1000"] = lambda exchange, count: exchange.answer(
        200, one
    )
    with pytest.raises(SourceError, match="not later than the one before it"):
        record(site, tmp_path)
    assert [path.name[-2:] for path in books_of(tmp_path) if "BBB" in path.name] == ["S1"]


def test_a_manifest_without_the_ranking_or_with_other_files_is_refused(
    site: Site, futures: Futures, tmp_path: Path
) -> None:
    manifest = record(site, tmp_path)
    for name, said in (
        ("ticker", "no answer of /fapi/v1/ticker"),
        ("DDDUSDT", "of DDDUSDT is missing"),
    ):
        files = [entry for entry in manifest.files if name not in entry.path]
        Manifest.of("crypto_books", "public", manifest.root, files).write(tmp_path / "m.json")
        with pytest.raises(DataError, match=said):
            parse_books(
                manifest=tmp_path / "m.json",
                books=tmp_path / "b.duckdb",
                settings=BooksStep(contracts=RANKS, snapshots=3, live=True),
            )
    manifest.write(tmp_path / "m.json")
    with pytest.raises(DataError, match="not the place of a recorded order book"):
        parse_books(
            manifest=tmp_path / "m.json",
            books=tmp_path / "b.duckdb",
            settings=BooksStep(contracts=RANKS, snapshots=3),
        )


# --- ranks ----------------------------------------------------------------------------------


def test_ranks_of_the_made_up_exchange() -> None:
    order = ranked(read_info(info()), read_ticker(ticker()))
    assert order == ["BBBUSDT", "DDDUSDT", "AAAUSDT", "CCCUSDT"]
    assert pick(order, (4, 1)) == {1: "BBBUSDT", 4: "CCCUSDT"}
    with pytest.raises(DataError, match="4 contracts are traded, so none has rank 5"):
        pick(order, (1, 5))
    with pytest.raises(DataError, match=r"field 0\.symbol: AAAUSDT occurs twice"):
        read_ticker(json.dumps([{"symbol": "AAAUSDT", "quoteVolume": "1"}] * 2).encode())
    with pytest.raises(DataError, match="lists no contract"):
        read_info(b'{"symbols": []}')


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=30))
def test_a_rank_counts_the_larger_ones(volumes: list[int]) -> None:
    names = [f"C{number:03d}USDT" for number in range(len(volumes))]
    of = dict(zip(names, volumes, strict=True))
    contracts = [
        Contract(symbol=name, contractType="PERPETUAL", status="TRADING", quoteAsset="USDT")
        for name in names
    ]
    turnover = [Turnover(symbol=name, quoteVolume=f"{of[name]}.50") for name in reversed(names)]
    order = ranked(ExchangeInfo(symbols=contracts), turnover)
    for rank, name in enumerate(order, 1):
        larger = [n for n in names if (-of[n], n) < (-of[name], name)]
        assert rank == len(larger) + 1
