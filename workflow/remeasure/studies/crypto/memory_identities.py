"""What the printed counts of the memory questions prove: arithmetic, nobody is asked.

The rule of before and after (`memory_windows`) and the printed release months give the number
of months that each share rests on. A printed percentage of a known number of months then has
exactly one whole number of hits behind it, and their sums give the printed pooled percentages.
"""

from __future__ import annotations

import math

import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.studies.crypto.memory_models import SEVEN
from remeasure.studies.crypto.memory_questions import FIRST, LAST, questions
from remeasure.studies.crypto.memory_windows import WINDOWS, Window, counted
from remeasure.studies.crypto.published import printed

#: The model whose strategy is drawn.
DRAWN = "OLMo 2 7B"


def hits_implied(percent: float, n: int, decimals: int = 0) -> tuple[int, ...]:
    """Every whole number of hits out of ``n`` that is printed as ``percent``.

    Parameters
    ----------
    percent
        As printed.
    n
        Number of trials.
    decimals
        Digits after the point of the print.

    >>> hits_implied(57, 65), hits_implied(60.0, 525, 1)
    ((37,), (315,))
    """
    half = 0.5 * 10.0**-decimals
    low, high = (percent - half) * n / 100, (percent + half) * n / 100
    # A value exactly between two prints may be rounded either way.
    return tuple(range(max(0, math.ceil(low - 1e-9)), min(n, math.floor(high + 1e-9)) + 1))


def condition(label: str, window: Window) -> str:
    """``Mistral 7B v0.3, before``, as the rows of shares are named."""
    return f"{label}, {window}"


def sd_above_half(hits: int, n: int) -> float:
    """How many standard deviations ``hits`` of ``n`` fair coins lie above one half of ``n``.

    >>> round(sd_above_half(315, 525), 2), round(sd_above_half(59, 126), 2)
    (4.58, -0.71)
    """
    return (hits - n / 2) / math.sqrt(n / 4)


def measure_memory_identities() -> list[Measurement]:
    """Step: answer the exact rows of ``fig_memory_direction``, ``stat_memory_pooled`` and
    ``fig_memory_strategy``.
    """
    counts = {model.label: counted(model, "month") for model in SEVEN}
    total = {window: sum(each[window] for each in counts.values()) for window in WINDOWS}
    rows: list[tuple[str, str, str, float]] = []
    for model in SEVEN:
        release, number = model.release, counts[model.label]
        before = f"{model.label}, before (index <= {release} - 12)"
        after = f"{model.label}, after ({release} < m <= 2026-09)"
        rows += [
            ("fig_memory_direction", "months counted", before, number["before"]),
            ("fig_memory_direction", "months counted", after, number["after"]),
        ]
    for window in WINDOWS:
        hits = int(printed("stat_memory_pooled", "correct, implied", window))
        rows += [
            ("stat_memory_pooled", "month answers", window, total[window]),
            (
                "stat_memory_pooled",
                "sd above 50%",
                f"months {window}",
                sd_above_half(hits, total[window]),
            ),
        ]
    early, late = strategy_months(DRAWN)
    rows += [
        ("stat_memory_pooled", "models asked", "", len(SEVEN)),
        ("fig_memory_strategy", "months before release", "2018-01..2024-11", early),
        ("fig_memory_strategy", "months after release", "2024-12..2026-09", late),
    ]
    return [
        Measurement(output_id=output, quantity=quantity, condition=when, value=value)
        for output, quantity, when, value in rows
    ]


def strategy_months(label: str) -> tuple[int, int]:
    """Months traded before the month of a model's release, and from that month on."""
    release = next(model.release for model in SEVEN if model.label == label)
    months = questions(FIRST, LAST).filter(pl.col("kind") == "month")["first"]
    early = int((months.dt.strftime("%Y-%m") < release).sum())
    return early, len(months) - early
