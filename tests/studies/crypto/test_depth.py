"""Cost of market buys: by hand, against a plain walk, and against books of known cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import answer, answered, printed_rows
from remeasure.errors import DataError
from remeasure.fetch.manifest import Manifest
from remeasure.ledger.measurement import Measurement
from remeasure.studies.crypto.book_files import (
    LEVELS,
    BooksStep,
    book_path,
    parse_books,
    read_book,
)
from remeasure.studies.crypto.depth import (
    OUTPUTS,
    DepthSettings,
    DepthStep,
    buy_cost,
    measure_depth,
)
from remeasure.studies.crypto.generate_books import (
    GenerateBooksStep,
    PlainBook,
    generate_books,
    plain_books,
)

CONTRACTS = {
    1: "BTCUSDT",
    2: "ETHUSDT",
    5: "HYPEUSDT",
    10: "XRPUSDT",
    25: "AVAXUSDT",
    50: "PENGUUSDT",
    100: "1000FLOKIUSDT",
    200: "METUSDT",
}
SIZES = tuple(1000 * each for each in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000))


def cost(prices: list[float], quantities: list[float], middle: float, *sizes: float) -> np.ndarray:
    return buy_cost(np.array(prices), np.array(quantities), middle, np.array(sizes))


# --- the walk -------------------------------------------------------------------------------


def test_a_two_level_book_by_hand() -> None:
    """3 coins at 100.5 and 2 at 102, middle 100: 301.50 empties the first, 505.50 both."""
    found = cost([100.5, 102], [3, 2], 100, 0.01, 100.5, 301.5, 403.5, 505.5, 505.51)
    assert found[:3] == pytest.approx([50, 50, 50], abs=1e-9)
    assert found[3] == pytest.approx(1e4 * (403.5 / 4 / 100 - 1), abs=1e-9)
    assert found[4] == pytest.approx(1e4 * (505.5 / 5 / 100 - 1), abs=1e-9)
    assert np.isnan(found[5])


def test_a_tiny_order_costs_half_the_spread() -> None:
    found = cost([100.07, 100.2], [5, 5], 100.0, 1e-6)
    assert found[0] / 1e4 == pytest.approx(0.0007, abs=1e-12)


def plain_walk(prices: list[float], quantities: list[float], middle: float, size: float) -> float:
    remaining, coins = Fraction(size), Fraction(0)
    for price, quantity in zip(map(Fraction, prices), map(Fraction, quantities), strict=True):
        taken = min(remaining, price * quantity)
        coins += taken / price
        remaining -= taken
        if remaining == 0:
            return float(10_000 * (Fraction(size) / coins / Fraction(middle) - 1))
    return np.nan


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 1000)), min_size=1, max_size=25),
    st.lists(st.floats(1, 5e5), min_size=1, max_size=8),
)
def test_the_walk_equals_one_level_after_another(
    levels: list[tuple[int, int]], sizes: list[float]
) -> None:
    prices = list(1000 + np.cumsum([float(step) for step, _ in levels]))
    quantities = [quantity / 8 for _, quantity in levels]
    sizes = sorted(sizes)
    found = cost(prices, quantities, 1000, *sizes)
    wanted = [plain_walk(prices, quantities, 1000, size) for size in sizes]
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-8, nan_ok=True)
    filled = found[np.isfinite(found)]
    assert (np.diff(filled) >= -1e-8).all()
    assert (filled >= 1e4 * (prices[0] / 1000 - 1) - 1e-8).all()
    # Once an order is too large, every larger one is.
    assert not np.isfinite(found[filled.size :]).any()


# --- books of known cost --------------------------------------------------------------------


@pytest.mark.parametrize("rank", CONTRACTS)
def test_the_closed_form_equals_the_walk(rank: int) -> None:
    for book in plain_books(rank, CONTRACTS[rank], 2, seed=3):
        read = read_book(book.answer(1, 1_793_448_000_000))
        prices, quantities = read.side("asks")
        middle = (float(read.asks[0][0]) + float(read.bids[0][0])) / 2
        found = buy_cost(prices, quantities, middle, np.array(SIZES, dtype=float))
        wanted = [book.cost_bp(size) for size in SIZES]
        assert found == pytest.approx(
            [np.nan if each is None else float(each) for each in wanted],
            abs=1e-7,
            nan_ok=True,
        )


def test_the_closed_form_at_the_edge_of_a_level() -> None:
    """Whole levels: ten at 101, 103, … 119 dollars cost 1,100 for ten coins."""
    book = PlainBook(middle=100, half=1, step=2, quantity=1000, digits=0)
    assert book.cost_bp(1100) == 1000
    assert book.cost_bp(101) == 100
    assert book.cost_bp(50) == 100
    assert book.cost_bp(1100 + 121) == 10_000 * (Fraction(1221, 11) / 100 - 1)
    whole = LEVELS * 101 + LEVELS * (LEVELS - 1)
    assert book.cost_bp(whole) == 10_000 * (Fraction(whole, LEVELS) / 100 - 1)
    assert book.cost_bp(whole + 1) is None


def make(folder: Path, contracts: dict[int, str] | None = None, seed: int = 7) -> tuple[Path, Path]:
    own = contracts or CONTRACTS
    generate_books(
        manifest=folder / "m.json",
        truth=folder / "truth.json",
        settings=GenerateBooksStep(
            contracts=own, snapshots=6, sizes_usd=SIZES, seed=seed, raw=str(folder / "raw")
        ),
    )
    parse_books(
        manifest=folder / "m.json",
        books=folder / "books.duckdb",
        settings=BooksStep(contracts=own, snapshots=6),
    )
    return folder / "books.duckdb", folder / "truth.json"


def measure(
    folder: Path,
    books: list[Path],
    contracts: dict[int, str] | None = None,
    sizes: tuple[int, ...] = SIZES,
    truth: Path | None = None,
) -> tuple[list[Measurement], pl.DataFrame]:
    depth = DepthSettings(contracts=contracts or CONTRACTS, snapshots=6, sizes_usd=sizes)
    measured = measure_depth(
        books=books,
        costs=folder / "costs.parquet",
        settings=DepthStep(depth=depth if books else None),
        truth=truth,
    )
    return measured, pl.read_parquet(folder / "costs.parquet")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make(tmp_path_factory.mktemp("books"))


def test_every_planted_cost_is_found(made: tuple[Path, Path], tmp_path: Path) -> None:
    books, truth = made
    measured, table = measure(tmp_path, [books], truth=truth)
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    with_truth = [each for each in measured if each.truth is not None]
    assert len(with_truth) == 8 + 3 + 2 + 1
    for found in with_truth:
        assert found.truth == pytest.approx(found.value, rel=1e-9)
        assert found.coverage == "whole"
        if found.low is not None:
            assert found.low < found.truth < found.high
    assert answer(measured, "$1M fillable in the visible book").value == 0
    assert answer(measured, "spacing of snapshots").value == 5
    assert answer(measured, "snapshots").value == 6
    assert answer(measured, "largest order size").value == 1_000_000
    planted = json.loads(truth.read_text())["contracts"]
    for row in table.iter_rows(named=True):
        known = planted[f"{row['coin']}USDT"][str(row["size_usd"])]
        assert (row["cost_bp"] is None) == (known is None) == (row["filled"] < row["books"])
        assert row["cost_bp"] is None or row["cost_bp"] == pytest.approx(known, rel=1e-9)
        assert row["cost_bp"] is None or row["cost_bp"] > row["half_spread_bp"] * (1 - 1e-9)


def test_the_interval_is_students(made: tuple[Path, Path], tmp_path: Path) -> None:
    _, table = measure(tmp_path, [made[0]])
    row = table.filter(pl.col("coin") == "XRP", pl.col("size_usd") == 100_000).row(0, named=True)
    costs = np.array([float(each.cost_bp(100_000)) for each in plain_books(10, "XRPUSDT", 6, 7)])
    half = 2.5705818 * costs.std(ddof=1) / 6**0.5
    assert row["cost_bp"] == pytest.approx(costs.mean(), rel=1e-9)
    assert row["high_bp"] - row["cost_bp"] == pytest.approx(half, rel=1e-6)


def test_reasons_why_a_row_is_not_measured(made: tuple[Path, Path], tmp_path: Path) -> None:
    measured, table = measure(tmp_path, [])
    assert answered(measured) == sorted(printed_rows("crypto", OUTPUTS))
    assert {each.note for each in measured} == {"this run has no order books"}
    assert table.is_empty()
    measured, _ = measure(tmp_path, [made[0]], sizes=(1000, 1_000_000))
    assert (
        answer(measured, "rank 1 BTC").note == "orders of 100000 USD are not among this run's sizes"
    )
    other = {1: "BTCUSDT", 3: "ETHUSDT"}
    measured, _ = measure(tmp_path, [make(tmp_path, other)[0]], contracts=other)
    assert answer(measured, "rank 2 ETH").note == "ETH has rank 3 in this run, not 2"
    assert answer(measured, "rank 10 XRP").note == "XRP is not among this run's order books"
    million = {each.condition: each.value for each in measured if "$1M market" in each.quantity}
    assert million.keys() == {"BTC", "ETH"}
    assert None not in million.values()


def test_books_are_repeatable_and_contracts_leave_each_other_alone(tmp_path: Path) -> None:
    bodies = []
    for number, (contracts, seed) in enumerate(
        [({1: "BTCUSDT"}, 7), ({1: "BTCUSDT", 2: "ETHUSDT"}, 7), ({1: "BTCUSDT"}, 8)]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        make(folder, contracts, seed)
        manifest = Manifest.read(folder / "m.json")
        bodies.append(manifest.read_verified(manifest.entry(book_path("BTCUSDT", 3))))
    assert bodies[0] == bodies[1] != bodies[2]


# --- what is no book ------------------------------------------------------------------------


def book(edit: Callable[[dict[str, Any]], object]) -> bytes:
    body: dict[str, Any] = {
        "lastUpdateId": 1,
        "E": 1_793_448_000_000,
        "T": 1_793_448_000_000,
        "bids": [["99.9", "1.5"], ["99.8", "2"]],
        "asks": [["100.1", "1.000"], ["100.2", "0.250"], ["100.4", "3"]],
    }
    edit(body)
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda b: b["asks"].reverse(), ("out of order", "asks.1.0")),
        (lambda b: b["bids"].append(["99.8", "1"]), ("repeat", "bids.2.0")),
        (lambda b: b["asks"].__setitem__(1, ["-100.2", "1"]), ("asks.1.0", "-100.2")),
        (lambda b: b["asks"].__setitem__(1, ["100.2", "0"]), ("asks.1.1",)),
        (lambda b: b["asks"].__setitem__(1, ["100.2", "nan"]), ("asks.1.1",)),
        (lambda b: b["asks"].__setitem__(1, [100.2, "1"]), ("asks.1.0",)),
        (lambda b: b["asks"].__setitem__(1, ["100.2", "1", "2"]), ("asks.1",)),
        (lambda b: b["bids"].insert(0, ["100.1", "1"]), ("crossed", "bids.0")),
        (lambda b: b["bids"].clear(), ("no level", "bids")),
        (lambda b: b.__setitem__("ticker", 1), ("ticker",)),
        (lambda b: b.pop("E"), ("field E",)),
    ],
)
def test_what_is_no_book_is_refused(
    edit: Callable[[dict[str, Any]], object], said: tuple[str, ...]
) -> None:
    with pytest.raises(DataError) as caught:
        read_book(book(edit), "some/file")
    for words in (*said, "some/file", "remedy"):
        assert words in str(caught.value)


def test_text_that_is_no_json_and_missing_books_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="its start"):
        read_book(b"<html>", "some/file")
    make(tmp_path, {1: "BTCUSDT"})
    with pytest.raises(DataError, match="book 1 of ETHUSDT is missing"):
        parse_books(
            manifest=tmp_path / "m.json",
            books=tmp_path / "b.duckdb",
            settings=BooksStep(contracts={2: "ETHUSDT"}, snapshots=6),
        )
    with pytest.raises(DataError, match="no order book of the contract of rank 2"):
        measure(tmp_path, [make(tmp_path, {1: "BTCUSDT"})[0]], contracts=CONTRACTS)
    found = read_book(book(lambda b: None))
    assert found.side("asks")[0].tolist() == [100.1, 100.2, 100.4]
