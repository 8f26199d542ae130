"""Favourites bought months before the close: what they return a year, beside Treasury bills."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import polars as pl

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.stats.bands import names
from remeasure.stats.contracts import annualised
from remeasure.store.frames import write_frame
from remeasure.store.tables import read_table
from remeasure.studies.polymarket.band_sums import by_band, caution, rare
from remeasure.studies.polymarket.estimates import Estimate, Resampling, Rows, answer
from remeasure.studies.polymarket.frames import frame, schema
from remeasure.studies.polymarket.published import answer_all
from remeasure.studies.polymarket.schema import RATES
from remeasure.studies.polymarket.scope import Scope, coverage
from remeasure.studies.polymarket.sets import read_forecasts, read_truth, traded

OUTPUTS = ("fig_long", "stat_long_text", "stat_tbill")

#: Bands of favourites in ten-thousandths, and months to wait by horizon.
EDGES = (9000, 9500, 9800, 9950)
MONTHS = {"month": 1, "quarter": 3, "half": 6}

LONG = schema("long-dated favourites", {"horizon": pl.String, "name": pl.String, "of": pl.String})
"""One row a horizon, band and number: ``cost``, ``win``, ``return`` (held to the end), ``annual``
(compounded to a year). The band ``90-98`` pools the lower two."""


class LongStep(Model):
    """The scope of the run, the rule of real trading, and the bootstrap."""

    scope: Scope
    traded_usd: float | None
    resamples: int
    bootstrap_seed: int


def measure_long(
    *,
    forecasts: Path,
    truth: Path | None = None,
    population: Path | None = None,
    rates: Path | None = None,
    long: Path,
    settings: LongStep,
) -> list[Measurement]:
    """Price, win rate and yearly return of contracts above 90 cents at 1, 3 and 6 months.

    Parameters
    ----------
    forecasts
        DuckDB with the table ``forecasts``.
    truth, population
        On generated data what was planted, and DuckDB with the table ``markets``.
    rates
        DuckDB with the table ``rates``, or none.
    long
        Output, Parquet: see ``LONG``.
    """
    frame_, planted = read_forecasts(forecasts), read_truth(truth, population)
    resampling = Resampling(settings.resamples, settings.bootstrap_seed)
    table: dict[tuple[str, str, str], Estimate] = {}
    few: dict[tuple[str, str], int] = {}
    for horizon, months in MONTHS.items():
        rows = Rows.of(traded(frame_, horizon, settings.traded_usd)).both_sides()
        true = (
            None
            if planted is None
            else Rows.of(traded(planted, horizon, settings.traded_usd)).both_sides()
        )
        for edges in (EDGES, (EDGES[0], EDGES[2])):
            found = _horizon(rows, true, edges, months, resampling)
            words = names(edges)
            table |= {(horizon, words[band], of): each for (band, of), each in found.items()}
            few |= {
                (horizon, name): count for name, count in zip(words, rare(rows, edges), strict=True)
            }
    write_frame(
        frame(
            LONG, ({"horizon": h, "name": n, "of": o, **e.row()} for (h, n, o), e in table.items())
        ),
        long,
        LONG,
    )
    bills = bill_means(read_table(rates, RATES) if rates else RATES.empty())
    covered = coverage(settings.scope)
    measured = [
        *_figure(table, few, covered),
        *_text(table, bills, covered),
        *_bills(bills),
    ]
    return answer_all(measured, OUTPUTS, "no step measures it")


def _horizon(
    rows: Rows,
    true: Rows | None,
    edges: tuple[int, ...],
    months: int,
    resampling: Resampling,
) -> dict[tuple[int, str], Estimate]:
    found = by_band(rows, edges, resampling)
    if true is not None:
        exact = by_band(true, edges, Resampling(1, 0))
        found = {key: each.with_truth(exact[key].value) for key, each in found.items()}
    for band in range(len(edges) - 1):
        found[band, "annual"] = a_year(found[band, "return"], months)
    return found


def a_year(held: Estimate, months: int) -> Estimate:
    """A holding return compounded to a year; the function rises, so ends stay ends."""

    def mapped(number: float | None) -> float | None:
        return None if number is None else float(annualised(number, months))

    return Estimate(
        value=float(annualised(held.value, months)),
        low=mapped(held.low),
        high=mapped(held.high),
        n=held.n,
        weight=held.weight,
        effective=held.effective,
        truth=mapped(held.truth),
    )


def bill_means(rates: pl.DataFrame) -> dict[str, tuple[float, int]]:
    """Mean rate in per cent and number of days: of 2025, and of 2026 up to 31 October."""
    spans = {
        "2025": (date(2025, 1, 1), date(2025, 12, 31)),
        "2026 to 31 Oct": (date(2026, 1, 1), date(2026, 10, 31)),
    }
    found = {}
    for name, (first, last) in spans.items():
        days = rates.filter(pl.col("day").is_between(first, last))["percent"].to_list()
        if days:
            found[name] = sum(days) / len(days), len(days)
    return found


def _figure(
    table: dict[tuple[str, str, str], Estimate], few: dict[tuple[str, str], int], covered: str
) -> list[Measurement]:
    quantities = {"mean price": "cost", "win rate": "win", "return held to the end": "annual"}
    found = []
    for horizon, months in MONTHS.items():
        for name in names(EDGES):
            condition = f"{months} month{'s' if months > 1 else ''}, {name} cents"
            found += [
                answer(
                    ("fig_long", quantity, condition),
                    table[horizon, name, of],
                    covered,
                    factor=100,
                    note=caution(few[horizon, name]) if of != "cost" else "",
                )
                for quantity, of in quantities.items()
            ]
    return found


def _text(
    table: dict[tuple[str, str, str], Estimate],
    bills: dict[str, tuple[float, int]],
    covered: str,
) -> list[Measurement]:
    output = "stat_long_text"
    held, annual = table["month", "90-98", "return"], table["month", "90-98", "annual"]
    multiple = None
    if "2025" in bills:
        mean = bills["2025"][0] / 100
        multiple = Estimate(
            value=annual.value / mean,
            low=None if annual.low is None else annual.low / mean,
            high=None if annual.high is None else annual.high / mean,
            n=annual.n,
        )
    quarter = [table["quarter", name, "annual"] for name in names(EDGES)[:2]]
    lowest, highest = sorted(quarter, key=lambda each: each.value)
    both = "both bands pooled"
    return [
        answer(
            (output, "return in a month, about", "90-95 and 95-98 cents"),
            held,
            covered,
            factor=100,
            note=both,
        ),
        answer((output, "compounded, roughly", "same"), annual, covered, factor=100, note=both),
        answer(
            (output, "multiple of the T-bill rate, about", "25/4.07"),
            multiple,
            covered,
            note=both if multiple else "this run has no rates of Treasury bills",
        ),
        answer(
            (output, "range of annual returns low", "3 months, two lower bands"),
            lowest,
            covered,
            factor=100,
        ),
        answer(
            (output, "range of annual returns high", "3 months, two lower bands"),
            highest,
            covered,
            factor=100,
        ),
        Measurement(
            output_id=output,
            quantity="1.018^12-1",
            condition="arithmetic",
            value=100 * float(annualised(0.018, 1)),
        ),
    ]


def _bills(bills: dict[str, tuple[float, int]]) -> list[Measurement]:
    return [
        answer(
            ("stat_tbill", "3-month T-bill mean (DTB3)", name),
            Estimate(value=bills[name][0], n=bills[name][1]) if name in bills else None,
            WHOLE,
            note="mean of business days" if name in bills else "this run has no such rates",
        )
        for name in ("2025", "2026 to 31 Oct")
    ]
