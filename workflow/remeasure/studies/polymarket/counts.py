"""The population and the sample in numbers: markets by year and topic, rates, thresholds."""

from __future__ import annotations

from pathlib import Path

import dataframely as dy
import polars as pl

from remeasure.ledger.measurement import WHOLE, Measurement, not_run
from remeasure.model import Model
from remeasure.stats.proportion import wilson
from remeasure.stats.sampling import mean, total
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.store.tables import read_table
from remeasure.studies.polymarket.addresses import HOURLY_DAYS
from remeasure.studies.polymarket.estimates import Estimate, answer
from remeasure.studies.polymarket.frames import frame, schema
from remeasure.studies.polymarket.published import answer_all, printed
from remeasure.studies.polymarket.schema import FORECASTS, MARKETS, SAMPLE
from remeasure.studies.polymarket.scope import (
    RATE_NAMES,
    Scope,
    coverage,
    population_coverage,
    sampling_coverage,
)

OUTPUTS = ("fig_population", "stat_population", "stat_5050", "stat_sampling", "stat_thin_example")

YEARS = (2024, 2025, 2026)

POPULATION = declare(
    "population",
    {
        "year": dy.Int32(),
        "topic": dy.String(),
        "markets": dy.Int64(),
        "yes": dy.Int64(),
        "sampled": dy.Int64(),
    },
)
"""Clean markets by year of the close and topic, how many resolved to the first outcome, and how
many were sampled."""

EXCLUDED = declare(
    "exclusions",
    {
        "reason": dy.String(),
        "markets": dy.Int64(),
        "dollars": dy.Float64(),
    },
)
"""Listed markets that are not in the population, by reason, and what was traded in them."""

SAMPLED = schema("sample against population", {"of": pl.String})
"""``markets`` and ``yes``: what the sample says of the population, with the population's own
number as truth; ``raw_yes`` is the share without weights."""

#: Topics of the published shares of 2026.
SHARES = {
    "sports": "sports",
    "crypto": "crypto (short up/down markets)",
    "science": "science and weather",
    "politics": "politics",
}

#: Minutes between points of both series, as they are asked for.
FIDELITY = {"hourly fidelity": 60, "life series fidelity": 720}

#: The thin example: what its question names, and what was traded in its life.
THIN, THIN_DOLLARS = r"(?i)goals", 134


class CountsStep(Model):
    """The scope of the run."""

    scope: Scope


def measure_counts(
    *,
    counted: Path,
    excluded: Path,
    sampled: Path,
    settings: CountsStep,
    population: Path | None = None,
    sample: Path | None = None,
    forecasts: Path | None = None,
) -> list[Measurement]:
    """Count the population, the sample and the price histories.

    Parameters
    ----------
    population, sample, forecasts
        DuckDB with the tables ``markets``, ``sample`` and ``forecasts``, or none.
    counted, excluded, sampled
        Outputs, Parquet: see ``POPULATION``, ``EXCLUDED`` and ``SAMPLED``.
    """
    markets = read_table(population, MARKETS) if population else MARKETS.empty()
    drawn = read_table(sample, SAMPLE) if sample else SAMPLE.empty()
    clean = markets.filter(pl.col("reason").is_null())
    write_frame(by_year(clean, drawn), counted, POPULATION)
    write_frame(exclusions(markets), excluded, EXCLUDED)
    estimates = estimated_population(clean, drawn)
    write_frame(
        frame(SAMPLED, ({"of": of, **each.row()} for of, each in estimates.items())),
        sampled,
        SAMPLED,
    )
    measured = [*_exact(settings.scope)]
    if population:
        measured += [*_population(clean, settings.scope), *_half(markets, settings.scope)]
    if sample and forecasts:
        measured += [
            *_sample(clean, drawn, forecasts, settings.scope),
            *_thin(clean, forecasts, settings.scope),
        ]
    return answer_all(measured, OUTPUTS, "this run has no listing of the population")


def by_year(clean: pl.DataFrame, drawn: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``POPULATION``, by year and topic."""
    return (
        clean.with_columns(
            year=pl.col("closed").dt.year(), drawn=pl.col("market").is_in(drawn["market"].implode())
        )
        .group_by("year", "topic")
        .agg(
            markets=pl.len().cast(pl.Int64),
            yes=pl.col("outcome").cast(pl.Int64).sum(),
            sampled=pl.col("drawn").cast(pl.Int64).sum(),
        )
        .sort("year", "topic")
    )


def exclusions(markets: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``EXCLUDED``, the most frequent reason first."""
    return (
        markets.drop_nulls("reason")
        .group_by("reason")
        .agg(markets=pl.len().cast(pl.Int64), dollars=pl.col("total_dollars").sum())
        .sort("markets", "reason", descending=[True, False])
    )


def estimated_population(clean: pl.DataFrame, drawn: pl.DataFrame) -> dict[str, Estimate]:
    """Number of markets and share of first outcomes, from the sample alone, 95% by normal law."""
    own = drawn.join(clean.select("market", "outcome"), on="market", how="inner")
    if own.is_empty():
        return {}
    pi, y = own["pi"].to_numpy(), own["outcome"].to_numpy().astype(float)
    count, share = total([1.0] * own.height, pi), mean(y, pi)
    n = own.height
    found = {
        "markets": Estimate(
            value=count.value,
            low=count.value - 1.96 * count.se,
            high=count.value + 1.96 * count.se,
            n=n,
            truth=float(clean.height),
        ),
        "yes": Estimate(
            value=share.value,
            low=share.value - 1.96 * share.se,
            high=share.value + 1.96 * share.se,
            n=n,
            truth=float(clean["outcome"].cast(pl.Float64).mean()),  # type: ignore[arg-type]
        ),
        "raw_yes": Estimate(value=float(y.mean()), n=n),
    }
    return found


def _counted(key: tuple[str, str, str], value: float, covered: str) -> Measurement:
    return answer(key, Estimate(value=value), covered, count=True)


def _population(clean: pl.DataFrame, scope: Scope) -> list[Measurement]:
    covered = population_coverage(scope)
    years = clean["closed"].dt.year()
    found = [
        _counted(
            ("fig_population", "resolved markets", f"closed in {year}"),
            int((years == year).sum()),
            covered,
        )
        for year in YEARS
    ]
    yes = float(clean["outcome"].cast(pl.Float64).mean() or 0.0)  # type: ignore[arg-type]
    for output, condition in (("fig_population", "all"), ("stat_population", "all markets")):
        found.append(
            answer(
                (output, "share resolved Yes", condition),
                Estimate(value=yes, n=clean.height),
                covered,
                factor=100,
            )
        )
    found.append(
        _counted(("stat_population", "resolved markets", "2024 to Oct 2026"), clean.height, covered)
    )
    late = clean.filter(years == YEARS[-1])
    for topic, words in SHARES.items():
        share = float((late["topic"] == topic).mean() or 0.0)  # type: ignore[arg-type]
        found.append(
            answer(
                ("stat_population", "share of markets closed in 2026", words),
                Estimate(value=share, n=late.height) if late.height else None,
                covered,
                factor=100,
            )
        )
    return found


def _half(markets: pl.DataFrame, scope: Scope) -> list[Measurement]:
    """A count by the rules of the publication: it scores nothing by total volume."""
    settled = markets.filter(
        pl.col("reason").is_null() | pl.col("half"), pl.col("total_dollars") > 10_000
    )
    key = "stat_5050", "share resolved 50-50", "markets with more than $10000 traded"
    if settled.is_empty():
        return [not_run(*key, "no market with so many dollars")]
    n, half = settled.height, int(settled["half"].sum())
    low, high = wilson(half, n)
    return [
        answer(
            key,
            Estimate(value=half / n, low=low, high=high, n=n),
            population_coverage(scope),
            factor=100,
        )
    ]


def _sample(
    clean: pl.DataFrame, drawn: pl.DataFrame, forecasts: Path, scope: Scope
) -> list[Measurement]:
    covered = coverage(scope)
    priced = read_table(forecasts, FORECASTS, columns=("market",), where="price IS NOT NULL")
    events = clean.join(drawn.select("market"), on="market", how="semi")["cluster"]
    return [
        _counted(
            ("stat_sampling", "markets in the two draws together", "union"), drawn.height, covered
        ),
        _counted(
            ("stat_sampling", "events in the two draws together", "union"),
            events.n_unique(),
            covered,
        ),
        _counted(
            ("stat_sampling", "price histories taken", "text, about"),
            priced["market"].n_unique(),
            covered,
        ),
    ]


def _exact(scope: Scope) -> list[Measurement]:
    """Rates and thresholds of this run, and sums of printed counts."""
    draw, output = scope.draw, "stat_sampling"
    rates = sampling_coverage(scope)
    found = [
        Measurement(
            output_id=output,
            quantity="draw 1 rate",
            condition=words,
            value=round(100 * draw.topic_share[topic], 10),
            coverage=rates,
        )
        for topic, words in RATE_NAMES.items()
    ]
    thresholds = {
        ("draw 2 certainty threshold", "all topics except sports"): draw.certain,
        ("draw 2 certainty threshold", "sports"): draw.certain_sports,
        ("draw 2 partial share from", "smaller markets above"): draw.partial_from,
        ("hourly series length", "before close"): HOURLY_DAYS,
        **{(name, "prices-history"): minutes for name, minutes in FIDELITY.items()},
    }
    if scope.traded_usd is not None:
        thresholds["real-trading threshold", "dollars traded in the week before the forecast"] = (
            scope.traded_usd
        )
    found += [
        Measurement(output_id=output, quantity=quantity, condition=condition, value=float(value))
        for (quantity, condition), value in thresholds.items()
    ]
    years = [printed("fig_population", "resolved markets", f"closed in {year}") for year in YEARS]
    found += [
        Measurement(
            output_id="stat_population",
            quantity="sum of the three years equals total",
            condition="12964+193734+2752836",
            value=sum(years),
        ),
        Measurement(
            output_id="stat_population",
            quantity="minimum event volume",
            condition="filter",
            value=scope.event_usd,
        ),
        Measurement(
            output_id="stat_thin_example",
            quantity="mid",
            condition="bid 1 cent and ask 95 cents",
            value=round(100 * (0.01 + 0.95) / 2, 10),
        ),
    ]
    return found


def _thin(clean: pl.DataFrame, forecasts: Path, scope: Scope) -> list[Measurement]:
    """The one market that the text tells of, if it is in this run's sample."""
    price_key = "stat_thin_example", "price", "Bundesliga 5+ goals market, 1 week before"
    dollars_key = "stat_thin_example", "lifetime volume", "same market"
    reason = f"no sampled market on goals with {THIN_DOLLARS} dollars in its life"
    fitting = clean.filter(
        pl.col("topic") == "sports",
        pl.col("question").str.contains(THIN),
        pl.col("total_dollars").round() == THIN_DOLLARS,
    )
    prices = read_table(
        forecasts,
        FORECASTS,
        columns=("market", "price"),
        where="horizon = 'week' AND price IS NOT NULL",
    ).join(fitting.select("market", "total_dollars"), on="market", how="inner")
    if scope.origin == "generated" or prices.height != 1:
        return [not_run(*price_key, reason), not_run(*dollars_key, reason)]
    row = prices.row(0, named=True)
    return [
        answer(price_key, Estimate(value=row["price"]), WHOLE, factor=100),
        answer(dollars_key, Estimate(value=row["total_dollars"]), WHOLE),
    ]
