"""The study's tables: one step each, named after the output that it shows.

Like figures, tables compute nothing: they show what a result holds, beside the printed value
where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import polars as pl

from remeasure.draw.origins import ORIGIN_LABELS
from remeasure.report.numbers import grouped, interval, rounded
from remeasure.report.tables import Column, html_table
from remeasure.store.frames import read_frame
from remeasure.studies.polymarket.published import printed as number
from remeasure.studies.polymarket.published import rows
from remeasure.studies.polymarket.sets import BINS

#: What every table of estimates says of the sample behind a number.
SIZES = (
    Column(name="n", title="number"),
    Column(name="weight", title="weight", decimals=0),
    Column(name="effective", title="effective number", decimals=0),
)

TOPIC_WORDS = {
    "politics": "Politics and world",
    "sports": "Sports",
    "crypto": "Crypto prices and events",
    "economy": "Economy and markets",
    "culture": "Culture and media",
    "science": "Science, tech, weather",
}
WAITS = {"month": "1 month", "quarter": "3 months", "half": "6 months"}


def shown(value: float | None, low: float | None, high: float | None, factor: float = 1) -> str:
    """``4.2 (3.1 to 5.0)``: an estimate with its interval; a dash where there is none."""
    if value is None:
        return "\N{EN DASH}"
    ends = interval(None if low is None else factor * low, None if high is None else factor * high)
    text = rounded(factor * value, 4)
    return f"{text} ({ends.replace(' to ', chr(0xA0) + 'to' + chr(0xA0))})" if ends else text


def cells(frame: pl.DataFrame, name: str, factor: float = 1) -> pl.DataFrame:
    """The estimates of a frame as one column of text; what else a frame holds is kept."""
    texts = [
        shown(row["value"], row["low"], row["high"], factor) for row in frame.iter_rows(named=True)
    ]
    return frame.with_columns(pl.Series(name, texts, dtype=pl.String))


def printed(output: str, quantity: str, condition: str) -> str | None:
    """A printed value, digit by digit; None where there is none."""
    row = rows().get((output, quantity, condition))
    return None if row is None else grouped(row.published)


def note(origin: str, *more: str) -> str:
    """Where the data come from, and what else must be said."""
    label = ORIGIN_LABELS.get(origin, "")
    parts = [label[:1].upper() + label[1:] if label else "", *more]
    return "; ".join(part for part in parts if part) + "." if any(parts) else ""


def pivoted(
    frame: pl.DataFrame, keys: list[str], of: str, wanted: Mapping[str, float]
) -> pl.DataFrame:
    """A row a key with one text column for each wanted number, and the sizes of the first."""
    first = next(iter(wanted))
    out = frame.filter(pl.col(of) == first).select(*keys, "n", "weight", "effective")
    for name, factor in wanted.items():
        own = cells(frame.filter(pl.col(of) == name), name, factor).select(*keys, name)
        out = out.join(own, on=keys, how="left", maintain_order="left")
    return out


def tab_bins(*, bins: Path, table: Path, origin: str) -> None:
    """The bins of the reliability diagram.

    Parameters
    ----------
    bins
        Parquet, as ``calibration.BINNED``.
    table
        Output: a fragment of HTML.
    origin
        Of the results.
    """
    own = read_frame(bins).filter(pl.col("copy") == "market")
    frame = pivoted(own, ["bin"], "of", {"price": 100, "share": 100})
    words = [f"{low // 100}-{high // 100}" for low, high in pairwise(BINS)]
    conditions = [f"bin {name} cents (edges deduced)" for name in words]
    frame = frame.with_columns(
        name=pl.Series([words[index] for index in frame["bin"]]),
        printed=pl.Series(
            [
                printed("fig_calibration", "share resolved Yes", conditions[index])
                for index in frame["bin"]
            ],
            dtype=pl.String,
        ),
    )
    fragment = html_table(
        frame,
        caption="Really traded markets a week before the close, by price of the first outcome",
        columns=[
            Column(name="name", title="price", unit="cents"),
            Column(name="price", title="mean price", unit="cents"),
            Column(name="share", title="resolved to it", unit="%"),
            Column(name="printed", title="published", unit="%"),
            *SIZES,
        ],
        note=note(origin, "95% intervals by resampling events"),
    )
    table.write_text(fragment, "utf-8")


def tab_bands(*, returns: Path, net: Path, table: Path, origin: str) -> None:
    """The bands of returns.

    Parameters
    ----------
    returns, net
        Parquet, as ``band_returns.RETURNS`` and ``net_returns.NET``.
    table, origin
        Output, a fragment of HTML, and origin of the results.
    """
    wanted = {"return": 100, "pooled": 100, "win": 100, "cost": 100}
    frame = pivoted(read_frame(returns), ["name"], "of", wanted)
    after = cells(read_frame(net).filter(pl.col("of") == "printed"), "net", 100)
    frame = frame.join(
        after.select("name", "net"), on="name", how="left", maintain_order="left"
    ).with_columns(
        printed=pl.Series(
            [
                printed("fig_returns", "mean return at mid, 1 week", f"{name} cents")
                for name in frame["name"]
            ],
            dtype=pl.String,
        )
    )
    fragment = html_table(
        frame,
        caption="Both sides of really traded markets, bought a week before the close",
        columns=[
            Column(name="name", title="price", unit="cents"),
            Column(name="return", title="mean of returns", unit="%"),
            Column(name="printed", title="published", unit="%"),
            Column(name="pooled", title="return of all money", unit="%"),
            Column(name="net", title="after the printed half-spread", unit="%"),
            Column(name="win", title="won", unit="%"),
            Column(name="cost", title="mean price", unit="cents"),
            *SIZES,
        ],
        note=note(origin, "95% intervals by resampling events"),
    )
    table.write_text(fragment, "utf-8")


def tab_topics(*, topics: Path, table: Path, origin: str) -> None:
    """Skill and gap by topic.

    Parameters
    ----------
    topics
        Parquet, as ``topic_scores.TOPIC_SCORES``.
    table, origin
        Output, a fragment of HTML, and origin of the results.
    """
    frame = pivoted(read_frame(topics), ["topic"], "score", {"skill": 100, "gap": 100, "base": 100})
    frame = frame.with_columns(
        name=pl.col("topic").replace_strict(TOPIC_WORDS),
        **{
            score: pl.Series(
                [printed("fig_topics", quantity, TOPIC_WORDS[topic]) for topic in frame["topic"]],
                dtype=pl.String,
            )
            for score, quantity in (
                ("printed_skill", "Brier skill, 1 week"),
                ("printed_gap", "average gap, 1 week"),
            )
        },
    )
    fragment = html_table(
        frame,
        caption="Really traded markets a week before the close, by topic",
        columns=[
            Column(name="name", title="topic"),
            Column(name="skill", title="error removed", unit="%"),
            Column(name="printed_skill", title="published", unit="%"),
            Column(name="gap", title="average gap", unit="points"),
            Column(name="printed_gap", title="published", unit="points"),
            Column(name="base", title="resolved to the first outcome", unit="%"),
            *SIZES,
        ],
        note=note(origin, "the gap of few markets is mostly chance: see its interval"),
    )
    table.write_text(fragment, "utf-8")


def tab_long(*, long: Path, table: Path, origin: str) -> None:
    """Favourites held for months.

    Parameters
    ----------
    long
        Parquet, as ``long_dated.LONG``.
    table, origin
        Output, a fragment of HTML, and origin of the results.
    """
    own = read_frame(long).filter(pl.col("name") != "90-98")
    wanted = {"cost": 100, "win": 100, "return": 100, "annual": 100}
    frame = pivoted(own, ["horizon", "name"], "of", wanted)
    conditions = [
        f"{WAITS[horizon]}, {name} cents"
        for horizon, name in frame.select("horizon", "name").iter_rows()
    ]
    frame = frame.with_columns(
        row=pl.Series(conditions),
        printed=pl.Series(
            [printed("fig_long", "return held to the end", each) for each in conditions],
            dtype=pl.String,
        ),
    )
    fragment = html_table(
        frame,
        caption="Contracts above 90 cents, bought months before the close",
        columns=[
            Column(name="row", title="wait and price"),
            Column(name="cost", title="mean price", unit="cents"),
            Column(name="win", title="won", unit="%"),
            Column(name="return", title="return held", unit="%"),
            Column(name="annual", title="a year", unit="%"),
            Column(name="printed", title="published", unit="% a year"),
            *SIZES,
        ],
        note=note(origin, "95% intervals by resampling events"),
    )
    table.write_text(fragment, "utf-8")


def tab_crypto(*, months: Path, table: Path, origin: str) -> None:
    """Close calls on crypto prices by month.

    Parameters
    ----------
    months
        Parquet, as ``crypto_months.MONTHS``.
    table, origin
        Output, a fragment of HTML, and origin of the results.
    """
    wanted = {"share": 100, "price": 100, "wins": 1, "bitcoin": 100}
    frame = pivoted(read_frame(months), ["month"], "of", wanted)
    frame = frame.with_columns(
        printed=pl.Series(
            [printed("fig_crypto", "share of bullish bets won", month) for month in frame["month"]],
            dtype=pl.String,
        )
    )
    fragment = html_table(
        frame,
        caption="Bullish bets on crypto prices at 30 to 70 cents a week before the close",
        columns=[
            Column(name="month", title="month of the close"),
            Column(name="share", title="won", unit="%"),
            Column(name="printed", title="published", unit="%"),
            Column(name="price", title="mean price", unit="cents"),
            Column(name="wins", title="won", unit="bets"),
            Column(name="bitcoin", title="Bitcoin", unit="%"),
            *SIZES,
        ],
        note=note(origin, "intervals take the bets of a month as independent, which they are not"),
    )
    table.write_text(fragment, "utf-8")


def tab_population(*, counted: Path, sampled: Path, table: Path, origin: str) -> None:
    """The population by year and topic, and what the sample says of it.

    Parameters
    ----------
    counted, sampled
        Parquet, as ``counts.POPULATION`` and ``counts.SAMPLED``.
    table, origin
        Output, a fragment of HTML, and origin of the results.
    """
    frame = read_frame(counted).with_columns(
        row=pl.format("{}, {}", "year", "topic"), share=100 * pl.col("yes") / pl.col("markets")
    )
    words = []
    estimates = {row["of"]: row for row in read_frame(sampled).iter_rows(named=True)}
    if "markets" in estimates:
        every, yes = estimates["markets"], estimates["yes"]
        words.append(
            f"from the sample alone {shown(every['value'], every['low'], every['high'])} markets"
            f" (counted {every['truth']:,.0f}), of which"
            f" {shown(yes['value'], yes['low'], yes['high'], 100)}% resolved to the first outcome"
            f" (counted {100 * yes['truth']:.2f}, unweighted"
            f" {100 * estimates['raw_yes']['value']:.2f})"
        )
    fragment = html_table(
        frame,
        caption="Cleanly resolved binary markets by year of the close and topic",
        columns=[
            Column(name="row", title="year and topic"),
            Column(name="markets", title="markets"),
            Column(name="share", title="resolved to the first outcome", unit="%", decimals=1),
            Column(name="sampled", title="sampled"),
        ],
        note=note(origin, *words),
    )
    table.write_text(fragment, "utf-8")


def tab_exclusions(*, excluded: Path, table: Path, origin: str) -> None:
    """Listed markets that are not in the population.

    Parameters
    ----------
    excluded
        Parquet, as ``counts.EXCLUDED``.
    table, origin
        Output, a fragment of HTML, and origin of the results.
    """
    fragment = html_table(
        read_frame(excluded),
        caption="Listed markets outside the population, each by the first reason that fits",
        columns=[
            Column(name="reason", title="reason"),
            Column(name="markets", title="markets"),
            Column(name="dollars", title="traded", unit="USD", decimals=0),
        ],
        note=note(origin),
    )
    table.write_text(fragment, "utf-8")


def tab_definitions(*, variants: Path, table: Path, origin: str) -> None:
    """Main results under each reading of what the article leaves open.

    Parameters
    ----------
    variants
        Parquet, as ``definitions.VARIANTS``.
    table, origin
        Output, a fragment of HTML, and origin of the results.
    """
    frame = cells(read_frame(variants), "shown").with_columns(
        number=pl.when(pl.col("definition") > 0)
        .then(pl.col("definition").cast(pl.String))
        .otherwise(pl.lit("S7"))
    )
    fragment = html_table(
        frame,
        caption="What the article leaves open, and what hangs on it, a week before the close",
        columns=[
            Column(name="variant", title="reading"),
            Column(name="number", title="in the card"),
            Column(name="quantity", title="number"),
            Column(name="shown", title="value"),
            Column(name="unit", title="unit"),
            Column(name="n", title="rows"),
        ],
        note=note(origin, "the first reading of each definition is the recommended one"),
    )
    table.write_text(fragment, "utf-8")


#: The printed skill that the scores of the week imply.
SKILL = ("skill implied by printed scores", "1-.079/.186")

#: Sources of real prices, and scores as the table names them, with their factor.
SOURCES = {
    "pancake": "Pancake, daily prices",
    "drozy": "A. Drozy, markets from $100,000",
    "midterms": "Midterms 2022, trades",
}
REAL_SCORES = {
    "brier": 1.0,
    "base": 100.0,
    "mean_price": 100.0,
    "skill": 100.0,
    "gap": 100.0,
    "favourite": 100.0,
    "slope": 1.0,
    "events": 1.0,
    "known": 100.0,
}


def tab_real(*, table: Path, origin: str, scores: Path | None = None) -> None:
    """Real prices from other collections, beside the article's numbers.

    Parameters
    ----------
    scores
        Parquet, as ``real_prices.SCORES``; None where a run has no such tables.
    table, origin
        Output, a fragment of HTML, and origin of the results.
    """
    printed_row = {
        "brier": printed("stat_calibration", "Brier score", "1 week"),
        "base": printed("fig_forecasters", "base rate", "share resolved Yes"),
        "skill": f"{100 * number('stat_calibration', *SKILL):g}",
        "gap": printed("stat_calibration", "average gap", "1 week"),
        "favourite": printed("fig_accuracy", "favourite won", "1 week"),
        "slope": printed("fig_recalibration", "slope a", "1 week"),
    }
    article = pl.DataFrame(
        [
            {
                "row": "published: really traded, 1 week before",
                "n": int(number("stat_calibration", "markets with real trading", "1 week")),
                **{name: printed_row.get(name) for name in REAL_SCORES},
            }
        ],
        schema={"row": pl.String, "n": pl.Int64, **dict.fromkeys(REAL_SCORES, pl.String)},
    )
    shown_frame = article
    if scores is not None:
        keys = ["source", "set", "horizon"]
        every = read_frame(scores).filter(
            pl.col("horizon").is_in(["day", "week", "month"]),
            (pl.col("horizon") == "week") | pl.col("set").is_in(["all", "Yes/No"]),
        )
        frame = pivoted(every, keys, "score", REAL_SCORES).with_columns(
            row=pl.format(
                "{}: {}, 1 {} before", pl.col("source").replace(SOURCES), "set", "horizon"
            )
        )
        shown_frame = pl.concat([article, frame.select(article.columns)])
    fragment = html_table(
        shown_frame,
        caption="Real prices of other collections, unweighted: partial, other markets",
        columns=[
            Column(name="row", title="markets"),
            Column(name="n", title="number"),
            Column(name="brier", title="Brier score"),
            Column(name="base", title="resolved to the first outcome", unit="%"),
            Column(name="mean_price", title="mean price", unit="cents"),
            Column(name="skill", title="error removed", unit="%"),
            Column(name="gap", title="average gap", unit="points"),
            Column(name="favourite", title="favourite won", unit="%"),
            Column(name="slope", title="slope"),
            Column(name="events", title="clusters"),
            Column(name="known", title="event known", unit="%"),
        ],
        note=note(
            origin,
            "" if scores else "this run has no tables of other collections (origin files)",
            "intervals resample events where they are known and single markets elsewhere, which"
            " makes them too narrow",
            "horizons count back from the actual resolution: questions with a deadline that come"
            " true resolve early, so that at equal prices they won more often",
        ),
    )
    table.write_text(fragment, "utf-8")
