"""The printed numbers of the publication, and what of its window a run covers.

Rows of kind ``exact`` are arithmetic on other printed numbers. Those are read
here from ``reference.csv`` and typed nowhere again.
"""

from __future__ import annotations

from calendar import monthrange
from datetime import date
from pathlib import Path

from remeasure.ledger.measurement import WHOLE
from remeasure.ledger.published import Published
from remeasure.ledger.reference import Key, Reference
from remeasure.studies.crypto.coverage import FIRST, LAST, coverage
from remeasure.studies.crypto.series import coin
from remeasure.studies.crypto.settings import Dataset, Interval, Symbol, WalkForwardSettings

PACKAGE_FILES = ("reference.csv",)

#: The coin that most figures show.
BITCOIN = "BTC"

#: The publication's first test month and the coins that it pools.
FIRST_TEST = "2022-01"
POOLED = frozenset({"BTCUSDT", "ETHUSDT", "SOLUSDT"})


_PUBLISHED = Published(Path(__file__).parent / PACKAGE_FILES[0])

printed = _PUBLISHED.printed
measurable = _PUBLISHED.measurable
answer_all = _PUBLISHED.answer_all


def rows() -> dict[Key, Reference]:
    """All rows in the order of the file, by key (output, quantity, condition)."""
    return _PUBLISHED.rows


def walked_coverage(
    walk_forward: WalkForwardSettings, candles: Dataset, base: Interval, coins: tuple[Symbol, ...]
) -> str:
    """``whole`` when forecasts rest on the publication's window, base and monthly refits.

    Else what is missing, in words. Everything measured on the forecasts shares it.
    """
    year, month = map(int, walk_forward.last_test.split("-"))
    tested_first = date.fromisoformat(f"{walk_forward.first_test}-01")
    tested_last = min(date(year, month, monthrange(year, month)[1]), candles.last)
    tested = coverage(
        tested_first,
        max(tested_first, tested_last),
        published_first=date.fromisoformat(f"{FIRST_TEST}-01"),
        published_last=LAST,
        base=base,
        base_matters=True,
    )
    parts = [] if tested == WHOLE else [tested]
    if candles.first != FIRST:
        parts.append(f"trained from {candles.first}, not {FIRST}")
    if walk_forward.refit_months != 1:
        parts.append(f"refitted every {walk_forward.refit_months} months, not every month")
    if frozenset(coins) != POOLED:
        parts.append(f"pooled over {', '.join(map(coin, coins))}")
    return ", ".join(parts) or WHOLE
