"""The joined ledger as the pages read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from remeasure.errors import DataError
from remeasure.report import numbers

#: Columns that a page needs, a subset of the ledger's.
COLUMNS = (
    "study", "output_id", "quantity", "condition", "kind", "published", "unit", "value",
    "low", "high", "n", "origin", "verdict", "reason", "step", "artifact",
)  # fmt: skip

#: Verdicts in the order in which people read them, and which look alike. The word is always
#: written out; the tone only helps the eye.
TONES = {
    "exact": "good",
    "reproduced": "good",
    "consistent": "good",
    "partial": "half",
    "differs": "bad",
    "planted": "good",
    "planted-missed": "bad",
    "generated": "half",
    "not run": "none",
    "cited": "none",
    "erratum": "bad",
}


def tone(verdict: str) -> str:
    """Tone of a verdict's badge: good, half, bad or none."""
    return TONES.get(verdict, "none")


@dataclass(frozen=True)
class Row:
    """One reference row of the ledger and how a page writes it."""

    study: str
    output_id: str
    quantity: str
    condition: str
    kind: str
    published: str
    unit: str
    value: str | None
    low: float | None
    high: float | None
    n: int | None
    origin: str
    verdict: str
    reason: str
    step: str
    artifact: str

    @property
    def printed(self) -> str:
        """The published value with thousands separators."""
        return numbers.grouped(self.published)

    @property
    def shown(self) -> str:
        """The measured value, rounded for reading."""
        return numbers.measured(self.value, self.published)

    @property
    def interval(self) -> str:
        """The interval in words, empty for none."""
        return numbers.interval(self.low, self.high)

    @property
    def width(self) -> str:
        """The interval's width, empty for none."""
        return numbers.width(self.low, self.high)

    @property
    def tone(self) -> str:
        """Tone of the badge."""
        return tone(self.verdict)


def read_ledger(path: Path) -> list[Row]:
    """Rows of the joined ledger, in its own order.

    Raises
    ------
    DataError
        When a column is missing or a verdict is unknown.
    """
    frame = pl.read_parquet(path)
    absent = [name for name in COLUMNS if name not in frame.columns]
    if absent:
        raise DataError(
            f"the ledger has no columns {', '.join(absent)}",
            where=path,
            remedy="make it again with this version: snakemake --cores 1 --force <ledger>",
        )
    words = pl.col(
        "study", "output_id", "quantity", "condition", "kind", "published", "unit", "origin",
        "verdict", "reason", "step", "artifact",
    ).fill_null("")  # fmt: skip
    rows = [Row(*row) for row in frame.select(COLUMNS).with_columns(words).iter_rows()]
    unknown = sorted({row.verdict for row in rows} - set(TONES))
    if unknown:
        raise DataError(
            f"the ledger has verdicts that nobody knows: {', '.join(unknown)}",
            where=path,
            remedy="make it again with this version",
        )
    return rows


def counted(rows: Iterable[Row]) -> dict[str, int]:
    """Rows of each verdict, in the order in which people read verdicts; absent ones left out."""
    found = Counter(row.verdict for row in rows)
    return {verdict: found[verdict] for verdict in TONES if found[verdict]}


def origins(rows: Iterable[Row]) -> tuple[str, ...]:
    """Origins of measured data, sorted; mathematics and rows without a value do not count."""
    return tuple(sorted({row.origin for row in rows if row.origin not in ("", "computed")}))
