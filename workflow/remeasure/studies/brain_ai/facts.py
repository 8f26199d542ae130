"""The quoted facts as one table, and how numbers are taken from it."""

from __future__ import annotations

import re

import dataframely as dy
import polars as pl

from remeasure.store.schema import declare
from remeasure.studies.brain_ai.published import rows

FACTS = declare(
    "facts that the essay quotes",
    {
        "output_id": dy.String(),
        "quantity": dy.String(),
        "condition": dy.String(),
        "value": dy.String(),
        "unit": dy.String(),
        "source": dy.String(min_length=1),
    },
    unique=["output_id", "quantity", "condition"],
)

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?", re.ASCII)


def facts() -> pl.DataFrame:
    """Every quoted fact as printed, as `FACTS`."""
    cited = [row for row in rows().values() if row.kind == "cited"]
    return pl.DataFrame(
        [(*row.key, row.published, row.unit, row.source) for row in cited],
        schema=dict.fromkeys(FACTS.columns, pl.String),
        orient="row",
    )


def amount(text: str) -> float:
    """The number in a printed value.

    >>> amount("about 0.05"), amount("up to 100"), amount("1e+17"), amount("-97.5")
    (0.05, 100.0, 1e+17, -97.5)
    """
    found = _NUMBER.findall(text)
    if len(found) != 1:
        raise ValueError(f"{text!r} does not print one number")
    return float(found[0])


def number(table: pl.DataFrame, output: str, quantity: str, condition: str | None = None) -> float:
    """The number of the only fact of this name; ``condition`` is its start where it matters."""
    own = table.filter(output_id=output, quantity=quantity)
    if condition is not None:
        own = own.filter(pl.col("condition").str.starts_with(condition))
    return amount(own["value"].item())
