"""Funding carry: what holding spot against a short perpetual is paid, scaled to a year.

Over a month or a year that is ``sum(rate) / days * 365``: every payment counts for the
time that it pays for, so it does not matter how many hours lie between payments. It is
gross of fees, borrowing and the basis. Positive rates are paid by longs to shorts.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import dataframely as dy
import numpy as np
import polars as pl
from numpy.random import Generator
from pydantic import Field

from remeasure.ledger.measurement import WHOLE, Measurement, not_run
from remeasure.model import Model
from remeasure.stats.bootstrap import fitting_block, ratio_interval
from remeasure.store.frames import read_json, write_frame
from remeasure.store.schema import declare, one_of
from remeasure.studies.crypto.funding_files import read_payments
from remeasure.studies.crypto.published import answer_all
from remeasure.studies.crypto.series import coin
from remeasure.studies.crypto.settings import Dataset

OUTPUTS = ("fig_funding", "stat_funding_detail")

#: Days by which averages are scaled to a year.
YEAR = 365

#: The publication's last day: its 2026 goes to the end of October. Later payments do not count.
LAST = date(2026, 10, 31)

#: Share of a row's own window that must be measured for it to count as whole.
ENOUGH = 0.999

AVERAGE = "average funding scaled to a year"
NEGATIVE = "share of negative payments"

#: Condition of each printed row, with its contract and year.
AVERAGES = {
    **{("fig_funding", f"BTC {year}"): ("BTCUSDT", year) for year in range(2020, 2026)},
    ("fig_funding", "BTC 2026 to end of October"): ("BTCUSDT", 2026),
    ("stat_funding_detail", "ETH 2021"): ("ETHUSDT", 2021),
}

PERIODS = declare(
    "funding by period",
    {
        "coin": dy.String(),
        "span": one_of(["month", "year"]),
        "first": dy.Date(),
        "last": dy.Date(),
        "payments": dy.Int64(min_exclusive=0),
        "days": dy.Float64(min_exclusive=0),
        "percent": dy.Float64(),
        "low": dy.Float64(nullable=True),
        "high": dy.Float64(nullable=True),
        "negative": dy.Float64(min=0, max=100),
        "negative_low": dy.Float64(nullable=True),
        "negative_high": dy.Float64(nullable=True),
    },
    unique=["coin", "span", "first"],
)
"""One row a contract's calendar month or year: days with payments (``first`` to ``last``),
payments, days paid for, average scaled to a year in percent, and the share of negative
payments in percent. Years have 95% intervals; a month is too short for one."""

_SCHEMA = {
    "coin": pl.String(),
    "span": pl.String(),
    "first": pl.Date(),
    "last": pl.Date(),
    "payments": pl.Int64(),
    "days": pl.Float64(),
    "percent": pl.Float64(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "negative": pl.Float64(),
    "negative_low": pl.Float64(),
    "negative_high": pl.Float64(),
}


class FundingSettings(Model):
    """Averages of funding: block of the bootstrap in days, and resamples."""

    block_days: int = Field(ge=1)
    resamples: int = Field(ge=100)


class FundingStep(Model):
    """What measuring needs: the data set (None: this run has no funding), the bootstrap."""

    dataset: Dataset | None
    funding: FundingSettings


def scaled(total: float, days: float) -> float:
    """A sum of rates over some days, scaled to a year: a share of the position.

    >>> round(scaled(3 * 31 * 0.0001, 31), 10)
    0.1095
    """
    if not days > 0:
        raise ValueError(f"days must be positive, not {days}")
    return total / days * YEAR


def by_day(payments: pl.DataFrame) -> pl.DataFrame:
    """Payments summed by UTC day: ``day``, ``total``, ``days`` paid for, ``payments``,
    ``below`` (negative ones); ascending, days without a payment left out.
    """
    return (
        payments.group_by(day=pl.col("time").dt.date(), maintain_order=True)
        .agg(
            total=pl.col("rate").sum(),
            days=pl.col("hours").sum() / 24,
            payments=pl.len().cast(pl.Int64),
            below=(pl.col("rate") < 0).sum().cast(pl.Int64),
        )
        .sort("day")
    )


def measure_funding(
    *,
    funding: list[Path],
    periods: Path,
    settings: FundingStep,
    rng: Generator,
    truth: Path | None = None,
) -> list[Measurement]:
    """Averages of funding by month and year, and how often it was negative.

    Parameters
    ----------
    funding
        DuckDB files with the table ``funding``: one, or none where this run has no funding.
    periods
        Output, Parquet: see ``PERIODS``.
    truth
        Of generated data: what `generate_funding.generate_funding` planted. Payments of a year
        add up to it exactly.

    Raises
    ------
    DataError
        When the database or the truth is missing or cannot be read.
    """
    symbols = () if settings.dataset is None else settings.dataset.coins
    daily = {
        symbol: by_day(read_payments(path, symbol)).filter(pl.col("day") <= LAST)
        for path in funding
        for symbol in symbols
    }
    rows = [
        _row(coin(symbol), span, part, settings.funding, rng)
        for symbol, days in daily.items()
        for span, width in (("month", "1mo"), ("year", "1y"))
        for part in _parts(days, width)
    ]
    table = pl.DataFrame(rows, schema=_SCHEMA)
    write_frame(table, periods, PERIODS)
    planted: dict[str, Any] = {} if truth is None else read_json(truth)["contracts"]
    measured = [
        _average(table, planted, settings, output, condition, *key)
        for (output, condition), key in AVERAGES.items()
    ]
    return answer_all(
        [*measured, _negative(table, planted, settings), *_arithmetic()],
        OUTPUTS,
        "no step measures it",
    )


def coverage(symbol_coin: str, first: date, last: date, year: int) -> str:
    """``whole``, or which days of a row's year were measured, in words."""
    low, high = date(year, 1, 1), min(date(year, 12, 31), LAST)
    if ((last - first).days + 1) >= ENOUGH * ((high - low).days + 1):
        return WHOLE
    return f"funding of {symbol_coin} {first} to {last} of {low} to {high}"


def _parts(days: pl.DataFrame, width: str) -> list[pl.DataFrame]:
    """The days of each calendar month (``1mo``) or year (``1y``)."""
    return days.with_columns(period=pl.col("day").dt.truncate(width)).partition_by(
        "period", maintain_order=True
    )


def _row(
    name: str, span: str, days: pl.DataFrame, settings: FundingSettings, rng: Generator
) -> dict[str, Any]:
    total, paid = days["total"].to_numpy(), days["days"].to_numpy()
    below, payments = days["below"].to_numpy(), days["payments"].to_numpy()
    ends: list[float | None] = [None] * 4
    if span == "year":
        block = fitting_block(settings.block_days, days.height)
        low, high = ratio_interval(
            np.column_stack([total, below]),
            np.column_stack([paid, payments]),
            block,
            settings.resamples,
            rng,
        )
        factors = (100 * YEAR, 100)
        ends = [
            float(factor * end[index])
            for index, factor in enumerate(factors)
            for end in (low, high)
        ]
    return {
        "coin": name,
        "span": span,
        "first": days["day"][0],
        "last": days["day"][-1],
        "payments": int(payments.sum()),
        "days": float(paid.sum()),
        "percent": 100 * scaled(float(total.sum()), float(paid.sum())),
        "low": ends[0],
        "high": ends[1],
        "negative": float(100 * below.sum() / payments.sum()),
        "negative_low": ends[2],
        "negative_high": ends[3],
    }


def _found(table: pl.DataFrame, symbol: str, year: int) -> dict[str, Any] | None:
    hits = table.filter(
        pl.col("coin") == coin(symbol),
        pl.col("span") == "year",
        pl.col("first").dt.year() == year,
    )
    return hits.row(0, named=True) if hits.height else None


def _reason(settings: FundingStep, symbol: str, year: int) -> str:
    window = settings.dataset
    if window is None:
        return "this run has no funding rates"
    if symbol not in window.coins:
        return f"{coin(symbol)} is not among the contracts of this run's funding rates"
    return f"{year} lies outside this run's funding rates ({window.first} to {window.last})"


def _planted(
    planted: dict[str, Any], symbol: str, year: int, row: dict[str, Any]
) -> dict[str, int] | None:
    """What was planted in a year; None where the row holds another part of the year."""
    known: dict[str, int] | None = planted.get(symbol, {}).get(str(year))
    return known if known and known["payments"] == row["payments"] else None


def _average(
    table: pl.DataFrame,
    planted: dict[str, Any],
    settings: FundingStep,
    output: str,
    condition: str,
    symbol: str,
    year: int,
) -> Measurement:
    row = _found(table, symbol, year)
    if row is None:
        return not_run(output, AVERAGE, condition, _reason(settings, symbol, year))
    known = _planted(planted, symbol, year, row)
    return Measurement(
        output_id=output,
        quantity=AVERAGE,
        condition=condition,
        value=row["percent"],
        low=row["low"],
        high=row["high"],
        n=row["payments"],
        truth=None if known is None else 100 * scaled(known["sum"] * 1e-8, row["days"]),
        coverage=coverage(row["coin"], row["first"], row["last"], year),
        note="gross of fees, borrowing and the basis",
    )


def _negative(table: pl.DataFrame, planted: dict[str, Any], settings: FundingStep) -> Measurement:
    symbol, year = "BTCUSDT", 2026
    key = ("stat_funding_detail", NEGATIVE, f"{coin(symbol)} {year}")
    row = _found(table, symbol, year)
    if row is None:
        return not_run(*key, _reason(settings, symbol, year))
    known = _planted(planted, symbol, year, row)
    return Measurement(
        output_id=key[0],
        quantity=key[1],
        condition=key[2],
        value=row["negative"],
        low=row["negative_low"],
        high=row["negative_high"],
        n=row["payments"],
        truth=None if known is None else 100 * known["negative"] / known["payments"],
        coverage=coverage(row["coin"], row["first"], row["last"], year),
    )


def _arithmetic() -> list[Measurement]:
    """The rows that are mathematics: the default rate scaled to a year, payments a day."""
    rate, hours = 0.0001, 8
    a_day = 24 // hours
    rows = (
        ("default rate scaled to a year", "0.0001 x 3 x 365", 100 * scaled(rate * a_day, 1)),
        ("payments per day", "", a_day),
    )
    return [
        Measurement(
            output_id="stat_funding_detail", quantity=quantity, condition=condition, value=value
        )
        for quantity, condition, value in rows
    ]
