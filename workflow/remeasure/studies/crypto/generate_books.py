"""Generate recorded order books whose cost of any order is known in closed form.

Levels of a side lie a constant step apart and hold a constant quantity. After ``n`` whole
levels from the best ask ``a`` on, with step ``d`` and quantity ``q``, an order has bought
``n q`` for ``q (n a + d n (n - 1) / 2)``: how many levels an order empties is the root of a
quadratic. Prices and quantities are whole numbers of ticks, so the truth is a fraction.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from remeasure.fetch.manifest import Manifest
from remeasure.fingerprint import fingerprint
from remeasure.model import Model
from remeasure.store.frames import write_json
from remeasure.studies.crypto.book_files import LEVELS, book_path
from remeasure.studies.crypto.raw_files import put_raw
from remeasure.studies.crypto.settings import Symbol

#: When the first book is taken (2026-10-31 12:00 UTC) and the time between two, milliseconds.
START_MS, SPACING_MS = 1_793_448_000_000, 300_000

#: The middle price in ticks: large, so that steps of a hundredth of a basis point are whole.
MIDDLE = 10**8

#: Of rank 1: dollars a level, step between levels and half the spread in basis points; and the
#: powers of the rank by which they change.
DOLLARS, DOLLARS_POWER = 40_000.0, -0.75
STEP_BP, STEP_POWER = 0.05, 0.5
HALF_BP, HALF_POWER = 0.005, 0.9

#: Quantities are whole numbers of thousandths of a coin.
LOT = 1000


class GenerateBooksStep(Model):
    """Settings of `generate_books`.

    Attributes
    ----------
    contracts
        Rank by turnover, and the contract there.
    snapshots
        Books of each contract.
    sizes_usd
        Orders whose cost goes into the truth.
    seed
        Seed of the world; every contract draws from a stream of its own.
    raw
        Folder of raw data; files go to ``<raw>/generated/<world>/``.
    """

    contracts: dict[int, Symbol]
    snapshots: int = Field(ge=1)
    sizes_usd: tuple[int, ...]
    seed: int = Field(ge=0)
    raw: str = "data/raw"


@dataclass(frozen=True)
class PlainBook:
    """A book with constant steps and quantities; prices in ticks, the quantity in lots.

    Attributes
    ----------
    middle, half
        Middle price and half the spread in ticks.
    step
        Ticks between two levels.
    quantity
        Lots a level.
    digits
        Decimals of a price: a tick is ``10**-digits`` dollars.
    """

    middle: int
    half: int
    step: int
    quantity: int
    digits: int

    def cost_bp(self, dollars: int) -> Fraction | None:
        """Cost of a market buy against the middle price in basis points; None: not fillable."""
        ask, quantity = self.middle + self.half, Fraction(self.quantity, LOT)
        ticks: int = 10**self.digits
        spent = dollars * ticks / quantity
        if spent > LEVELS * ask + self.step * LEVELS * (LEVELS - 1) // 2:
            return None
        levels = self._levels(math.floor(spent))
        rest = spent - (levels * ask + self.step * levels * (levels - 1) // 2)
        bought = levels + rest / (ask + self.step * levels)
        return 10_000 * (spent / bought / self.middle - 1)

    def _levels(self, spent: int) -> int:
        """Whole levels that ``spent`` (ticks times levels) empties: the root, rounded down."""
        ask, step = self.middle + self.half, self.step
        # step n² + (2 ask - step) n - 2 spent <= 0
        linear = 2 * ask - step
        levels = (math.isqrt(linear**2 + 8 * step * spent) - linear) // (2 * step)
        while (levels + 1) * ask + step * (levels + 1) * levels // 2 <= spent:
            levels += 1
        return levels

    def answer(self, number: int, sent_ms: int) -> bytes:
        """The book as the exchange would send it."""
        sides = {
            name: [
                [self._price(self.middle + sign * (self.half + level * self.step)), self._lots()]
                for level in range(LEVELS)
            ]
            for name, sign in (("bids", -1), ("asks", 1))
        }
        body = {"lastUpdateId": number, "E": sent_ms, "T": sent_ms - 4, **sides}
        return json.dumps(body, separators=(",", ":")).encode("ascii")

    def _price(self, ticks: int) -> str:
        whole, rest = divmod(ticks, 10**self.digits)
        return f"{whole}.{rest:0{self.digits}d}"

    def _lots(self) -> str:
        return f"{self.quantity // LOT}.{self.quantity % LOT:03d}"


def plain_books(rank: int, symbol: str, snapshots: int, seed: int) -> list[PlainBook]:
    """The books of one contract: one shape, whose price drifts and whose depth breathes."""
    rng = np.random.Generator(
        np.random.PCG64(np.random.SeedSequence([seed, *f"books {symbol}".encode()]))
    )
    digits = int(rng.integers(3, 9))
    step = max(1, round(MIDDLE * 1e-4 * STEP_BP * rank**STEP_POWER))
    half = max(1, round(MIDDLE * 1e-4 * HALF_BP * rank**HALF_POWER))
    dollars = DOLLARS * rank**DOLLARS_POWER
    books = []
    for _ in range(snapshots):
        middle = MIDDLE + int(rng.integers(-(10**5), 10**5))
        wanted = dollars * math.exp(0.1 * rng.standard_normal()) / (middle / 10**digits)
        books.append(PlainBook(middle, half, step, max(1, round(wanted * LOT)), digits))
    return books


def generate_books(*, manifest: Path, truth: Path, settings: GenerateBooksStep) -> None:
    """Step: write or complete the recorded books of a world, their manifest and the truth.

    Parameters
    ----------
    manifest
        Output, JSON: the files.
    truth
        Output, JSON: for each contract and size the mean cost in basis points over the books,
        null where one of them cannot fill the order.
    """
    root = Path(settings.raw, "generated", world_id(settings))
    files, planted = [], {}
    for rank, symbol in sorted(settings.contracts.items()):
        books = plain_books(rank, symbol, settings.snapshots, settings.seed)
        for number, book in enumerate(books, 1):
            body = book.answer(10**6 * rank + number, START_MS + (number - 1) * SPACING_MS)
            files.append(put_raw(root, book_path(symbol, number), body))
        planted[symbol] = {str(size): _mean(books, size) for size in settings.sizes_usd}
    Manifest.of("crypto_books", "generated", root.as_posix(), files).write(manifest)
    write_json({"world": _world(settings), "contracts": planted}, truth)


def world_id(settings: GenerateBooksStep) -> str:
    """Name of the world: 16 hexadecimal digits over code, seed and number of books."""
    text = json.dumps(_world(settings), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _world(settings: GenerateBooksStep) -> dict[str, Any]:
    return {"code": fingerprint(__name__), "seed": settings.seed, "books": settings.snapshots}


def _mean(books: list[PlainBook], size: int) -> float | None:
    costs = [book.cost_bp(size) for book in books]
    known = [cost for cost in costs if cost is not None]
    return float(sum(known) / len(known)) if len(known) == len(books) else None
