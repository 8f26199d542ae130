"""Two markets through time: the election of 2024, and the Nobel Peace Prize of 2025."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import dataframely as dy
import polars as pl

from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.store.tables import read_table
from remeasure.studies.polymarket.estimates import Estimate, answer
from remeasure.studies.polymarket.published import answer_all
from remeasure.studies.polymarket.schema import CHART_SERIES, EVENTS, MARKETS

OUTPUTS = ("fig_election", "fig_nobel", "stat_nobel")

ELECTION_EVENT, TRUMP = "presidential-election-winner-2024", "Donald Trump"

#: Moments in UTC: the night before the vote; spring; the announcement at eleven in Oslo.
VOTE = datetime(2024, 11, 5)
SPRING = (datetime(2024, 3, 1), datetime(2024, 6, 1))
ANNOUNCED = datetime(2025, 10, 10, 9)
FIVE_BEFORE = datetime(2025, 10, 10, 8, 55)
#: Until here nobody had bet on the winner yet.
QUIET = datetime(2025, 10, 9, 12)

WINNER = "Machado"

SERIES = declare(
    "single markets",
    {
        "label": dy.String(),
        "time": dy.Datetime(),
        "price": dy.Float64(min=0, max=1),
    },
)
"""Prices of a chart, in dollars, by label and time (UTC)."""


class SinglesStep(Model):
    """How many candidates the Nobel chart shows."""

    nobel_candidates: int


def measure_singles(
    *,
    election: Path,
    nobel: Path,
    settings: SinglesStep,
    series: Path | None = None,
    population: Path | None = None,
) -> list[Measurement]:
    """Prices at the moments that the text names.

    Parameters
    ----------
    series
        DuckDB with the table ``chart_series``, or none.
    population
        DuckDB with the tables ``markets`` and ``events``, or none.
    election, nobel
        Outputs, Parquet: see ``SERIES``; the Nobel one holds the candidates that it shows.
    """
    every = read_table(series, CHART_SERIES) if series else CHART_SERIES.empty()
    trump = every.filter(pl.col("chart") == "election").drop("chart")
    prize = candidates(every.filter(pl.col("chart") == "nobel").drop("chart"), settings)
    write_frame(trump, election, SERIES)
    write_frame(prize, nobel, SERIES)
    machado = every.filter(pl.col("chart") == "nobel", pl.col("label").str.contains(WINNER))
    measured = [*_election(trump, population), *_nobel(machado)]
    return answer_all(measured, OUTPUTS, "this run has no prices of this market")


def candidates(prices: pl.DataFrame, settings: SinglesStep) -> pl.DataFrame:
    """Series of the candidates with the highest prices within the window."""
    best = (
        prices.group_by("label")
        .agg(top=pl.col("price").max())
        .sort("top", "label", descending=[True, False])
        .head(settings.nobel_candidates)
    )
    return prices.join(best.select("label"), on="label", how="semi").sort("label", "time")


def last_before(prices: pl.DataFrame, moment: datetime) -> float | None:
    """The last price at or before a moment."""
    known = prices.filter(pl.col("time") <= moment).sort("time")
    return None if known.is_empty() else float(known["price"][-1])


def _cents(value: float | None) -> Estimate | None:
    return None if value is None else Estimate(value=value)


def _election(trump: pl.DataFrame, population: Path | None) -> list[Measurement]:
    if trump.is_empty():
        return []
    output, absent = "fig_election", "no price by then"
    spring = trump.filter(pl.col("time").is_between(*SPRING))["price"].to_list()
    level = sum(spring) / len(spring) if spring else None
    dollars = _dollars(population)
    values = {
        ("price Trump wins", "eve of the vote"): (_cents(last_before(trump, VOTE)), 100, absent),
        ("price level", "spring 2024"): (
            _cents(level),
            100,
            "mean of March to May" if spring else absent,
        ),
        ("dollars traded", "whole market"): (
            dollars,
            1,
            "" if dollars else "the market is not in this run's listing",
        ),
    }
    return [
        answer(
            (output, *key),
            found,
            WHOLE,
            factor=factor,
            note="" if found and note == absent else note,
        )
        for key, (found, factor, note) in values.items()
    ]


def _dollars(population: Path | None) -> Estimate | None:
    """Dollars of the whole market: all candidates of the event."""
    if population is None:
        return None
    events = read_table(population, EVENTS, where="slug = ?", parameters=[ELECTION_EVENT])
    markets = read_table(
        population,
        MARKETS,
        columns=("event", "question", "total_dollars"),
        where="contains(question, ?)",
        parameters=[TRUMP],
    )
    own = markets.join(events.select("event"), on="event", how="semi")["total_dollars"]
    known = own.drop_nulls()
    return Estimate(value=float(known.max())) if known.len() else None  # type: ignore[arg-type]


def _nobel(machado: pl.DataFrame) -> list[Measurement]:
    if machado.is_empty():
        return []
    quiet = machado.filter(pl.col("time") < QUIET)["price"].to_list()
    return [
        answer(
            ("stat_nobel", "Machado price for months", "upper"),
            _cents(max(quiet, default=None)),
            "the chart's window alone, from 8 October 2025 on",
            factor=100,
            note="" if quiet else "no price by then",
        ),
        answer(
            ("stat_nobel", "Machado price", "5 minutes before the announcement"),
            _cents(last_before(machado, FIVE_BEFORE)),
            WHOLE,
            factor=100,
        ),
        answer(
            ("fig_nobel", "Machado price, about two thirds", "before the announcement"),
            _cents(last_before(machado, ANNOUNCED)),
            WHOLE,
            factor=100,
        ),
    ]
