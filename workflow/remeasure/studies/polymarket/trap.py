"""The volume trap: longshots sorted by what was traded in their whole life, and before.

Total volume is counted after the outcome is known, and surprises are traded more. Sorting by it
sorts by the outcome. Nothing but this module's left panel groups by it, and it does so to show
the mistake; the right panel sorts the same contracts by dollars traded before the forecast.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.stats.bands import band, complement, ticks
from remeasure.store.frames import write_frame
from remeasure.studies.polymarket.band_sums import by_band, won_per_dollar
from remeasure.studies.polymarket.estimates import (
    Estimate,
    Ints,
    Resampling,
    Rows,
    answer,
    ratio,
)
from remeasure.studies.polymarket.frames import frame, schema
from remeasure.studies.polymarket.published import answer_all
from remeasure.studies.polymarket.scope import Scope, coverage
from remeasure.studies.polymarket.sets import read_forecasts, read_truth

OUTPUTS = ("fig_trap", "stat_trap_favourites", "stat_first_sample")

TRAP = schema("volume trap", {"panel": pl.String, "bin": pl.Int64, "contracts": pl.String})
"""One row a panel (``total`` or ``week``), bin and kind of contract (``longshots``,
``favourites``): won per dollar paid. ``bin`` -1 pools all bins of a panel."""

FIRST = schema("biased first sample", {"of": pl.String})
"""The mean return of longshots in the size draw, unweighted, and the mean price of longshots."""

#: Edges of the bins in dollars, and their names in the published rows.
TOTAL_EDGES = (0.0, 1e3, 1e4, 1e5, 1e6, 1e7)
TOTAL_NAMES = ("under $1K", "$1K-10K", "$10K-100K", "$100K-1M", "$1M-10M")
WEEK_EDGES = (0.0, 1e2, 1e3, 1e4, 1e5)
WEEK_NAMES = ("under $100", "$100-1K", "$1K-10K", "$10K-100K")

#: The longshots of the biased first sample, in ten-thousandths.
FIRST_BAND = (1000, 2000)

#: Real trading, as the publication has it: the filter of the population does not reach beyond.
THIN = 1000.0


class TrapStep(Model):
    """The scope of the run, the longshots, weights and sides, and the bootstrap."""

    scope: Scope
    trap_low: float
    trap_high: float
    trap_weights: str
    first_sample_sides: str
    certain: float
    partial_from: float
    resamples: int
    bootstrap_seed: int


def measure_trap(
    *,
    forecasts: Path,
    truth: Path | None = None,
    population: Path | None = None,
    trap: Path,
    first: Path,
    settings: TrapStep,
) -> list[Measurement]:
    """Won per dollar paid for longshots a week before the close, in both sortings.

    Parameters
    ----------
    forecasts
        DuckDB with the table ``forecasts``.
    truth, population
        On generated data what was planted, and DuckDB with the table ``markets``.
    trap, first
        Outputs, Parquet: see ``TRAP`` and ``FIRST``.
    """
    more = ("in_topic_draw", "in_size_draw", "pi_topic", "total_dollars")
    week = read_forecasts(forecasts, more).filter(pl.col("horizon") == "week")
    by_topic = week.filter("in_topic_draw").with_columns(
        weight=pl.lit(1.0) / pl.col("pi_topic")
        if settings.trap_weights == "topic"
        else pl.col("weight")
    )
    planted = read_truth(truth, population)
    known = None if planted is None else planted.filter(pl.col("horizon") == "week")
    resampling = Resampling(settings.resamples, settings.bootstrap_seed)
    table = _panels(by_topic, known, settings, resampling)
    write_frame(
        frame(
            TRAP,
            ({"panel": p, "bin": b, "contracts": c, **e.row()} for (p, b, c), e in table.items()),
        ),
        trap,
        TRAP,
    )
    extra = {
        "return": first_sample(
            week.filter("in_size_draw"), settings.first_sample_sides, resampling
        ),
        "price": _longshot_price(by_topic, settings, resampling),
    }
    write_frame(frame(FIRST, ({"of": o, **e.row()} for o, e in extra.items())), first, FIRST)
    measured = [*_answers(table, settings.scope), *_others(table, extra, settings)]
    return answer_all(measured, OUTPUTS, "no step measures it")


def longshots(rows: Rows, settings: TrapStep) -> NDArray[np.bool_]:
    """Which contracts are longshots, the upper limit left out; shape (n,)."""
    low, high = ticks([settings.trap_low, settings.trap_high])
    return np.asarray((rows.tick >= low) & (rows.tick < high))


def _panels(
    week: pl.DataFrame,
    known: pl.DataFrame | None,
    settings: TrapStep,
    resampling: Resampling,
) -> dict[tuple[str, int, str], Estimate]:
    rows = Rows.of(week)
    panels = {
        "total": (_bins(week["total_dollars"], TOTAL_EDGES), len(TOTAL_NAMES)),
        "week": (_bins(week["week_dollars"], WEEK_EDGES), len(WEEK_NAMES)),
    }
    table = {}
    for name, (bins, count) in panels.items():
        for contracts, found in _won_per_dollar(rows, bins, count, settings, resampling).items():
            for index, each in enumerate(found):
                table[name, index if index < count else -1, contracts] = each
    if known is not None:
        bins = _bins(known["week_dollars"], WEEK_EDGES)
        exact = _won_per_dollar(Rows.of(known), bins, len(WEEK_NAMES), settings, Resampling(1, 0))
        # The population's own filter, a total volume, reaches into the thin bins: there the
        # planted probabilities of what is left are not those of what happened to it.
        for index in range(len(WEEK_NAMES)):
            if WEEK_EDGES[index] >= THIN:
                for contracts, found in exact.items():
                    key = "week", index, contracts
                    table[key] = table[key].with_truth(found[index].value)
    return table


def _bins(dollars: pl.Series, edges: tuple[float, ...]) -> Ints:
    """Bin of each amount, -1 outside and where it is unknown."""
    cents = (dollars.fill_null(-1.0) * 100).round().cast(pl.Int64).to_numpy()
    return band(cents, [round(100 * edge) for edge in edges])


def _won_per_dollar(
    rows: Rows, bins: Ints, count: int, settings: TrapStep, resampling: Resampling
) -> dict[str, list[Estimate]]:
    """Ratio of won to paid by bin, and over all bins: longshots, and their other sides."""
    both = rows.both_sides()
    both_bins = np.concatenate([bins, bins])
    cheap = longshots(both, settings)
    columns = np.column_stack(
        [cheap & (both_bins == index) for index in range(count)] + [cheap & (both_bins >= 0)]
    )
    mirrored = replace(both, tick=complement(both.tick), y=1 - both.y)
    return {
        "longshots": won_per_dollar(both, columns, resampling),
        "favourites": won_per_dollar(mirrored, columns, resampling),
    }


def first_sample(drawn: pl.DataFrame, sides: str, resampling: Resampling) -> Estimate:
    """Mean return of 10-20 cent contracts in the draw by size, every market counted alike."""
    rows = Rows.of(drawn, weight=None)
    rows = rows.both_sides() if sides == "both" else rows
    return by_band(rows, FIRST_BAND, resampling)[0, "return"]


def _longshot_price(week: pl.DataFrame, settings: TrapStep, resampling: Resampling) -> Estimate:
    both = Rows.of(week).both_sides()
    w = both.w * longshots(both, settings)
    return ratio(both, (w * both.p)[:, None], w[:, None], resampling)[0]


def _answers(table: dict[tuple[str, int, str], Estimate], scope: Scope) -> list[Measurement]:
    covered = coverage(scope)
    quantity = "win share / price, 2-20 cents"
    found = [
        answer(
            ("fig_trap", quantity, f"total volume {name}"),
            table["total", index, "longshots"],
            covered,
            note="a trap: volume that was traded after the forecast follows the outcome",
        )
        for index, name in enumerate(TOTAL_NAMES)
    ]
    for index, name in enumerate(WEEK_NAMES):
        thin = WEEK_EDGES[index] < THIN
        filtered = (
            f"the population holds events from {scope.event_usd:g} dollars of total volume on,"
            " which makes thin longshots look better than they are"
        )
        found.append(
            answer(
                ("fig_trap", quantity, f"week-before dollars {name}"),
                table["week", index, "longshots"],
                covered,
                note=filtered if thin else "",
            )
        )
    return found


def _others(
    table: dict[tuple[str, int, str], Estimate],
    extra: dict[str, Estimate],
    settings: TrapStep,
) -> list[Measurement]:
    covered = coverage(settings.scope)
    quantity = "win share / price, favourites"
    output = "stat_trap_favourites"
    largest = next(
        (
            index
            for index in reversed(range(len(TOTAL_NAMES)))
            if table["total", index, "favourites"].n
        ),
        0,
    )
    found = [
        answer(
            (output, quantity, "total volume, smallest bin"),
            table["total", 0, "favourites"],
            covered,
        ),
        answer(
            (output, quantity, "total volume, largest bin"),
            table["total", largest, "favourites"],
            covered,
            note=f"bin {TOTAL_NAMES[largest]}",
        ),
        answer(
            (output, quantity, "week-before dollars, all bins about"),
            table["week", -1, "favourites"],
            covered,
            note="all bins pooled",
        ),
        answer(
            (
                output,
                "mean longshot price consistent with 1.05 and .88 (deduced)",
                "mirror identity",
            ),
            extra["price"],
            covered,
            note="mean price of the longshots",
        ),
    ]
    first = "stat_first_sample"
    known = {
        ("certainty threshold", "first sample"): settings.certain,
        ("partial share range from", "first sample"): settings.partial_from,
    }
    found += [
        Measurement(output_id=first, quantity=name, condition=condition, value=value)
        for (name, condition), value in known.items()
    ]
    found.append(
        answer(
            (first, "mean return", "10-20 cents, 1 week, biased first sample"),
            extra["return"],
            covered,
            factor=100,
            note="the draw by size alone, unweighted: it prefers surprises",
        )
    )
    return found
