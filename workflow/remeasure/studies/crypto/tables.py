"""The study's tables: one step each, named after the output that it shows.

Like figures, tables compute nothing: they show what a result holds beside the
printed value. ``drawn.py`` lists which results each step reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from remeasure.draw.origins import ORIGIN_LABELS
from remeasure.report.numbers import grouped
from remeasure.report.tables import Column, html_table
from remeasure.store.frames import read_frame
from remeasure.studies.crypto.published import rows

Row = dict[str, Any]


@dataclass(frozen=True)
class Score:
    """A line of the table.

    Attributes
    ----------
    title
        What it is, with its unit.
    columns
        Of the result: the value, and the ends of its interval where it has one.
    factor
        From the result's unit to the printed one.
    decimals
        Of the value and of both ends.
    quantity
        Of the printed row; empty where none is printed.
    """

    title: str
    columns: tuple[str, ...]
    factor: float
    decimals: int
    quantity: str = ""

    def measured(self, row: Row) -> str:
        """The cell of one coin: ``54.03 (53.54 to 54.47)``."""
        value, *ends = (
            grouped(f"{self.factor * row[column]:.{self.decimals}f}") for column in self.columns
        )
        # An interval stays on one line of its cell.
        return f"{value} ({ends[0]}\xa0to\xa0{ends[1]})" if ends else value

    def printed(self, coin: str) -> str | None:
        """The printed value of one coin, digit by digit; None where there is none."""
        if self.quantity == "forecast rows per coin":
            return grouped(rows()["calendar", self.quantity, ""].published)
        for words in (coin, f"printed, {coin}", f"{coin}, test period"):
            row = rows().get(("tab_direction", self.quantity, words))
            if row is not None:
                return grouped(row.published)
        return None


SCORES = (
    Score("hours forecast", ("hours",), 1, 0, "forecast rows per coin"),
    Score("called right (%)", ("hit_rate", "hit_low", "hit_high"), 100, 2, "hit rate"),
    Score(
        "right by always saying up (%)",
        ("up_rate", "up_low", "up_high"),
        100,
        2,
        "always-up hit rate",
    ),
    Score("area under the ROC curve", ("auc", "auc_low", "auc_high"), 1, 4, "ROC AUC"),
    Score(
        "standard error of the share called right, if hours were independent (points)",
        ("binomial_se",),
        100,
        3,
        "standard error of hit rate",
    ),
    Score("… from resampled blocks (points)", ("hit_se",), 100, 3),
    Score(
        "rank correlation of an hour’s return with the one before",
        ("rank_correlation", "rank_low", "rank_high"),
        1,
        3,
        "rank correlation of consecutive hourly returns",
    ),
)


def tab_direction(*, scores: Path, table: Path, origin: str) -> None:
    """How good the direction forecasts are: a line a score, measured and printed by coin.

    Parameters
    ----------
    scores
        Parquet, as ``direction.SCORES``.
    table
        Output: a fragment of HTML.
    origin
        Of the scores.

    Raises
    ------
    DataError
        When the result is missing or cannot be read.
    """
    measured = list(read_frame(scores).iter_rows(named=True))
    cells: dict[str, list[str | None]] = {"score": [score.title for score in SCORES]}
    columns = [Column(name="score", title="score")]
    for row in measured:
        coin = row["coin"]
        cells[coin] = [score.measured(row) for score in SCORES]
        cells[f"{coin} published"] = [score.printed(coin) for score in SCORES]
        columns += [Column(name=name, title=name) for name in (coin, f"{coin} published")]
    fragment = html_table(
        pl.DataFrame(cells, schema=dict.fromkeys(cells, pl.String)),
        caption="Direction of the next hour, with 95% intervals, beside what was published",
        columns=columns,
        note=_note(measured, origin),
    )
    table.write_text(fragment, "utf-8")


def _note(measured: list[Row], origin: str) -> str:
    """Where the data comes from, and which hours were predicted."""
    label = ORIGIN_LABELS.get(origin, "")
    parts = [label[:1].upper() + label[1:]] if label else []
    windows = dict.fromkeys(
        f"{row['first']:%Y-%m-%d} to {row['last']:%Y-%m-%d}" for row in measured
    )
    parts += [f"hours predicted: {', '.join(windows)}"] if windows else []
    return "; ".join(parts) + "." if parts else ""
