"""What contracts return that are bought at the middle price a week before the close, by band."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.stats.bands import names
from remeasure.store.frames import write_frame
from remeasure.studies.polymarket.band_sums import by_band, caution, rare
from remeasure.studies.polymarket.estimates import Estimate, Resampling, Rows, answer
from remeasure.studies.polymarket.frames import frame, schema
from remeasure.studies.polymarket.published import answer_all, printed
from remeasure.studies.polymarket.scope import Scope, coverage
from remeasure.studies.polymarket.sets import BANDS, read_forecasts, read_truth, traded

OUTPUTS = ("fig_returns", "stat_tails")

RETURNS = schema("returns by band", {"band": pl.Int64, "name": pl.String, "of": pl.String})
"""One row a band and number: ``return`` (mean of ratios), ``pooled`` (ratio of means less 1),
``win``, ``cost``. Both sides of every market are contracts of one weight and event."""


class ReturnsStep(Model):
    """The scope of the run, the rule of real trading, and the bootstrap."""

    scope: Scope
    traded_usd: float | None
    resamples: int
    bootstrap_seed: int


def measure_returns(
    *,
    forecasts: Path,
    truth: Path | None = None,
    population: Path | None = None,
    returns: Path,
    settings: ReturnsStep,
) -> list[Measurement]:
    """Mean returns of both sides of the really traded markets.

    Parameters
    ----------
    forecasts
        DuckDB with the table ``forecasts``.
    truth, population
        On generated data what was planted, and DuckDB with the table ``markets``.
    returns
        Output, Parquet: see ``RETURNS``.
    """
    week = traded(read_forecasts(forecasts), "week", settings.traded_usd)
    planted = read_truth(truth, population)
    rows = Rows.of(week).both_sides()
    found = by_band(rows, BANDS, Resampling(settings.resamples, settings.bootstrap_seed))
    if planted is not None:
        true = Rows.of(traded(planted, "week", settings.traded_usd)).both_sides()
        exact = by_band(true, BANDS, Resampling(1, 0))
        found = {key: each.with_truth(exact[key].value) for key, each in found.items()}
    words = names(BANDS)
    write_frame(
        frame(
            RETURNS,
            ({"band": b, "name": words[b], "of": of, **e.row()} for (b, of), e in found.items()),
        ),
        returns,
        RETURNS,
    )
    measured = _answers(found, rare(rows, BANDS), settings)
    return answer_all(measured, OUTPUTS, "no step measures it")


def _answers(
    found: dict[tuple[int, str], Estimate], few: list[int], settings: ReturnsStep
) -> list[Measurement]:
    covered = coverage(settings.scope)
    words = names(BANDS)
    measured = [
        answer(
            ("fig_returns", "mean return at mid, 1 week", f"{name} cents"),
            found[index, "return"],
            covered,
            factor=100,
            note=caution(few[index]),
        )
        for index, name in enumerate(words)
    ]
    tails = "stat_tails"
    cheap = found[words.index("2-5"), "return"]
    rows = {
        ("win rate", "2-5 cents, both sides"): ("2-5", "win"),
        ("mean cost", "2-5 cents, both sides"): ("2-5", "cost"),
        ("mean return", "2-5 cents"): ("2-5", "return"),
        ("mean return", "0.5-2 cents, interval includes zero"): ("0.5-2", "return"),
        ("win rate", "95-98 cents"): ("95-98", "win"),
        ("mean return", "95-98 cents, interval above zero"): ("95-98", "return"),
        ("mean return", "98-99.5 cents, interval above zero"): ("98-99.5", "return"),
        ("ratio of means minus 1 from printed values (deduced)", "2-5 cents, 2.1/3.2-1"): (
            "2-5",
            "pooled",
        ),
    }
    measured += [
        answer(
            (tails, *key),
            found[words.index(name), of],
            covered,
            factor=100,
            note=caution(few[words.index(name)]),
        )
        for key, (name, of) in rows.items()
    ]
    for which, end in (("low", cheap.low), ("high", cheap.high)):
        known = None if end is None else Estimate(value=end, n=cheap.n)
        measured.append(
            answer(
                (tails, f"95% interval {which}", "2-5 cents"),
                known,
                covered,
                factor=100,
                note="an end of an interval has none itself",
            )
        )
    asked = printed(tails, "bootstrap resamples", "events")
    measured.append(
        Measurement(
            output_id=tails,
            quantity="bootstrap resamples",
            condition="events",
            value=settings.resamples,
            coverage="whole"
            if settings.resamples == asked
            else f"this run draws {settings.resamples} resamples",
        )
    )
    return measured
