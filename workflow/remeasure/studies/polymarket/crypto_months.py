"""Close calls on crypto prices by month: they won together when Bitcoin rose, and lost together.

All bets of one month hang on one price. Months, not markets, are resampled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from remeasure.ledger.measurement import WHOLE, Measurement, not_run
from remeasure.model import Model
from remeasure.stats.bands import ONE, ticks
from remeasure.stats.cluster_bootstrap import resampled_sums
from remeasure.stats.proportion import wilson
from remeasure.store.frames import write_frame
from remeasure.store.tables import read_table
from remeasure.studies.polymarket.estimates import Estimate, Floats, answer, ends
from remeasure.studies.polymarket.frames import frame, schema
from remeasure.studies.polymarket.published import answer_all, rows
from remeasure.studies.polymarket.schema import BTC_MONTH
from remeasure.studies.polymarket.scope import Scope, coverage
from remeasure.studies.polymarket.sets import read_forecasts, traded

OUTPUTS = ("fig_crypto", "stat_crypto_pooled")

#: Close calls: prices of the rising side, both limits included, in ten-thousandths.
CLOSE = (3000, 7000)

#: Close calls from which the publication shows a month.
PUBLISHED_LEAST = 10

MONTHS = schema("crypto months", {"month": pl.String, "of": pl.String})
"""One row a month and number: ``share`` of bullish bets that won, ``price`` (mean of the rising
side), ``wins``, ``bitcoin`` (simple return). ``n`` counts the month's markets."""

POOLED = schema("crypto pooled", {"of": pl.String})
"""``rose``, ``fell``: share of bullish bets that won in months when Bitcoin did; ``price``;
``correlation`` of the monthly share with Bitcoin's return; ``months``."""


class CryptoStep(Model):
    """The scope of the run, which markets count and how, and the bootstrap."""

    scope: Scope
    traded_usd: float | None
    crypto_traded: bool
    crypto_weighted: bool
    crypto_least: int
    resamples: int
    bootstrap_seed: int


def measure_crypto(
    *,
    forecasts: Path,
    bitcoin: Path | None = None,
    months: Path,
    pooled: Path,
    settings: CryptoStep,
) -> list[Measurement]:
    """Share of bullish bets won by month, beside Bitcoin's return of the month.

    Parameters
    ----------
    forecasts
        DuckDB with the table ``forecasts``.
    bitcoin
        DuckDB with the table ``btc_month``, or none.
    months, pooled
        Outputs, Parquet: see ``MONTHS`` and ``POOLED``.
    """
    least = settings.traded_usd if settings.crypto_traded else None
    calls = close_calls(traded(read_forecasts(forecasts), "week", least))
    returns = read_table(bitcoin, BTC_MONTH) if bitcoin else BTC_MONTH.empty()
    by_month = monthly(calls, returns, weighted=settings.crypto_weighted)
    shown = by_month.filter(pl.col("n") >= settings.crypto_least)
    table = {
        (row["month"], of): each
        for row in shown.iter_rows(named=True)
        for of, each in _month(row).items()
    }
    together = _together(shown, settings)
    write_frame(
        frame(MONTHS, ({"month": m, "of": o, **e.row()} for (m, o), e in table.items())),
        months,
        MONTHS,
    )
    write_frame(frame(POOLED, ({"of": o, **e.row()} for o, e in together.items())), pooled, POOLED)
    measured = [
        *_by_month(table, by_month, returns, settings),
        *_pooled(together, settings),
        *recounted(),
    ]
    return answer_all(measured, OUTPUTS, "too few months with so many close calls")


def close_calls(week: pl.DataFrame) -> pl.DataFrame:
    """Crypto price questions turned so that the first outcome says rising, at 30 to 70 cents.

    Columns month, price, outcome, weight, event; one row a market.
    """
    rising = pl.col("direction") > 0
    turned = week.filter(pl.col("direction") != 0, pl.col("topic") == "crypto").select(
        "event",
        "weight",
        month=pl.col("closed").dt.strftime("%Y-%m"),
        price=pl.when(rising).then(pl.col("price")).otherwise(1 - pl.col("price")),
        outcome=pl.when(rising).then(pl.col("outcome")).otherwise(1 - pl.col("outcome")),
    )
    tick = ticks(turned["price"].to_numpy())
    return turned.filter(pl.Series((tick >= CLOSE[0]) & (tick <= CLOSE[1])))


def monthly(calls: pl.DataFrame, returns: pl.DataFrame, *, weighted: bool) -> pl.DataFrame:
    """A row a month: n, size (markets, or their weight), won, paid, Bitcoin's return."""
    w = pl.col("weight") if weighted else pl.lit(1.0)
    return (
        calls.with_columns(w=w)
        .group_by("month")
        .agg(
            n=pl.len().cast(pl.Int64),
            size=pl.col("w").sum(),
            squares=(pl.col("w") ** 2).sum(),
            won=(pl.col("w") * pl.col("outcome")).sum(),
            paid=(pl.col("w") * pl.col("price")).sum(),
        )
        .join(returns.select("month", bitcoin="simple"), on="month", how="left")
        .sort("month")
    )


def _month(row: dict[str, float]) -> dict[str, Estimate]:
    n, size = int(row["n"]), row["size"]
    effective = size**2 / row["squares"]
    share = row["won"] / size
    # Independent bets, which they are not: the interval of one month is the least there is.
    count = round(effective)
    low, high = wilson(min(count, round(share * count)), count)
    values = {"share": share, "price": row["paid"] / size, "wins": row["won"]}
    if row["bitcoin"] is not None:
        values["bitcoin"] = row["bitcoin"]
    found = {
        of: Estimate(value=value, n=n, weight=size, effective=effective)
        for of, value in values.items()
    }
    found["share"] = replace(found["share"], low=min(low, share), high=max(high, share))
    return found


def _together(shown: pl.DataFrame, settings: CryptoStep) -> dict[str, Estimate]:
    known = shown.drop_nulls("bitcoin")
    size, won, paid = (known[name].to_numpy() for name in ("size", "won", "paid"))
    bitcoin = known["bitcoin"].to_numpy()
    n = int(known["n"].sum())
    found = {"months": Estimate(value=shown.height, n=shown.height)}
    if known.height < 3:
        return found
    rose, fell = bitcoin > 0, bitcoin < 0
    share = won / size
    columns = np.column_stack(
        [
            won * rose,
            size * rose,
            won * fell,
            size * fell,
            paid,
            size,
            np.ones(known.height),
            share,
            bitcoin,
            share**2,
            bitcoin**2,
            share * bitcoin,
        ]
    )
    drawn = resampled_sums(
        columns, settings.resamples, np.random.default_rng(settings.bootstrap_seed)
    )
    functions: dict[str, Callable[[Floats], Floats]] = {
        "rose": lambda sums: _over(sums[..., 0], sums[..., 1]),
        "fell": lambda sums: _over(sums[..., 2], sums[..., 3]),
        "price": lambda sums: _over(sums[..., 4], sums[..., 5]),
        "correlation": lambda sums: _correlation(sums[..., 6:]),
    }
    for name, function in functions.items():
        value = float(function(columns.sum(axis=0)))
        if math.isfinite(value):
            low, high = ends(value, function(drawn))
            found[name] = Estimate(value=value, low=low, high=high, n=n)
    return found


def _over(top: Floats, bottom: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(bottom > 0, top / bottom, np.nan))


def _correlation(sums: Floats) -> Floats:
    """Pearson's r from sums of 1, x, y, x^2, y^2 and x y along the last axis."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.maximum(0, n * xx - x**2) * np.maximum(0, n * yy - y**2))
        return np.asarray(np.where(spread > 0, (n * xy - x * y) / spread, np.nan))


def _coverage(settings: CryptoStep) -> str:
    """Coverage of the sample, and of the months that are shown."""
    covered = coverage(settings.scope)
    if settings.crypto_least == PUBLISHED_LEAST or settings.scope.origin == "generated":
        return covered
    shown = f"months from {settings.crypto_least} close calls on"
    return shown if covered == WHOLE else f"{covered}, {shown}"


def _by_month(
    table: dict[tuple[str, str], Estimate],
    by_month: pl.DataFrame,
    returns: pl.DataFrame,
    settings: CryptoStep,
) -> list[Measurement]:
    covered = _coverage(settings)
    known = dict(zip(by_month["month"], by_month["n"], strict=True))
    bitcoin = dict(zip(returns["month"], returns["simple"], strict=True))
    found = []
    for row in rows().values():
        if row.output_id != "fig_crypto":
            continue
        month, key = row.condition, row.key
        if row.quantity == "Bitcoin monthly return":
            own = None if month not in bitcoin else Estimate(value=bitcoin[month])
            note = "" if own else "this run has no Bitcoin price of this month"
            found.append(answer(key, own, WHOLE, factor=100, note=note))
            continue
        if (month, "share") not in table:
            reason = f"{known.get(month, 0)} close calls: fewer than {settings.crypto_least}"
            found.append(not_run(*key, reason))
            continue
        share = table[month, "share"]
        if row.quantity == "share of bullish bets won":
            note = "one month is one draw: the interval takes its markets as independent"
            found.append(answer(key, share, covered, factor=100, note=note))
        elif row.quantity == "markets":
            found.append(answer(key, Estimate(value=share.n), covered, count=True))
        else:
            found.append(answer(key, table[month, "wins"], covered))
    return found


def _pooled(found: dict[str, Estimate], settings: CryptoStep) -> list[Measurement]:
    covered = _coverage(settings)
    output, note = "stat_crypto_pooled", "whole months are resampled"
    missing = "too few months with enough close calls and a return of Bitcoin"

    def said(of: str) -> str:
        return note if of in found else missing

    return [
        answer(
            (output, "bullish win share", "months when Bitcoin rose"),
            found.get("rose"),
            covered,
            factor=100,
            note=said("rose"),
        ),
        answer(
            (output, "bullish win share", "months when Bitcoin fell"),
            found.get("fell"),
            covered,
            factor=100,
            note=said("fell"),
        ),
        answer(
            (output, "mean bullish price, about", "both kinds of month"),
            found.get("price"),
            covered,
            factor=100,
            note=said("price"),
        ),
        answer(
            (output, "correlation share vs Bitcoin return", "15 months"),
            found.get("correlation"),
            covered,
            note=said("correlation"),
        ),
        answer((output, "months shown", "n >= 10 (deduced)"), found["months"], covered, count=True),
        *(
            Measurement(
                output_id=output,
                quantity="price range of close calls",
                condition=which,
                value=edge * 100 // ONE,
            )
            for which, edge in (("from", CLOSE[0]), ("to", CLOSE[1]))
        ),
    ]


def recounted() -> list[Measurement]:
    """The pooled numbers from the publication's own fifteen rows."""
    months: dict[str, dict[str, float]] = {}
    for row in rows().values():
        if row.output_id == "fig_crypto" and row.number is not None:
            months.setdefault(row.condition, {})[row.quantity] = float(row.number)
    n, wins, returns = (
        np.array([each[name] for each in months.values()])
        for name in ("markets", "bullish wins (deduced count)", "Bitcoin monthly return")
    )
    rose, fell = returns > 0, returns < 0
    values = {
        ("correlation recomputed from printed rows", "counts/n vs rounded returns, unweighted"): (
            np.corrcoef(wins / n, returns)[0, 1]
        ),
        ("wins / markets in rising months", "from printed rows, 63/100"): (
            wins[rose].sum() / n[rose].sum()
        ),
        ("wins / markets in falling months", "from printed rows, 33/102"): (
            wins[fell].sum() / n[fell].sum()
        ),
    }
    return [
        Measurement(
            output_id="stat_crypto_pooled", quantity=quantity, condition=condition, value=float(v)
        )
        for (quantity, condition), v in values.items()
    ]
