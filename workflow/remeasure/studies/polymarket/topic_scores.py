"""Skill and calibration gap by topic a week before the close."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.studies.polymarket.estimates import Estimate, Resampling, Rows, Scored, answer
from remeasure.studies.polymarket.frames import frame, schema
from remeasure.studies.polymarket.published import answer_all
from remeasure.studies.polymarket.schema import TOPICS
from remeasure.studies.polymarket.scope import Scope, coverage
from remeasure.studies.polymarket.sets import read_forecasts, read_truth, traded

OUTPUTS = ("fig_topics",)

TOPIC_SCORES = schema("topic scores", {"topic": pl.String, "score": pl.String})
"""One row a topic and score: ``skill`` against the topic's own base rate, ``gap``, ``base``."""

#: Topics as the publication names them.
WORDS = {
    "politics": "Politics and world",
    "sports": "Sports",
    "crypto": "Crypto prices and events",
    "economy": "Economy and markets",
    "culture": "Culture and media",
    "science": "Science, tech, weather",
}


class TopicStep(Model):
    """The scope of the run, the rule of real trading, the gap's weights, and the bootstrap."""

    scope: Scope
    traded_usd: float | None
    gap_weights: str
    resamples: int
    bootstrap_seed: int


def measure_topics(
    *,
    forecasts: Path,
    truth: Path | None = None,
    population: Path | None = None,
    topics: Path,
    settings: TopicStep,
) -> list[Measurement]:
    """Score the really traded markets of each topic.

    Parameters
    ----------
    forecasts
        DuckDB with the table ``forecasts``.
    truth, population
        On generated data what was planted, and DuckDB with the table ``markets``.
    topics
        Output, Parquet: see ``TOPIC_SCORES``.
    """
    week = traded(read_forecasts(forecasts), "week", settings.traded_usd)
    planted = read_truth(truth, population)
    known = None if planted is None else traded(planted, "week", settings.traded_usd)
    table = {
        (topic, score): estimate
        for topic in TOPICS
        for score, estimate in _scores(week, known, topic, settings).items()
    }
    write_frame(
        frame(TOPIC_SCORES, ({"topic": t, "score": s, **e.row()} for (t, s), e in table.items())),
        topics,
        TOPIC_SCORES,
    )
    covered = coverage(settings.scope)
    measured = []
    for topic, words in WORDS.items():
        for quantity, score in (("Brier skill, 1 week", "skill"), ("average gap, 1 week", "gap")):
            measured.append(
                answer(("fig_topics", quantity, words), table[topic, score], covered, factor=100)
            )
    politics = table["politics", "skill"].n
    measured.append(
        answer(
            ("fig_topics", "markets, 1 week", WORDS["politics"]),
            Estimate(value=politics, n=politics),
            covered,
            count=True,
        )
    )
    return answer_all(measured, OUTPUTS, "no step measures it")


def _scores(
    week: pl.DataFrame, known: pl.DataFrame | None, topic: str, settings: TopicStep
) -> dict[str, Estimate]:
    equal = settings.gap_weights == "equal"
    resampling = Resampling(settings.resamples, settings.bootstrap_seed)
    own = pl.col("topic") == topic
    scored = Scored.of(Rows.of(week.filter(own)), resampling)
    found = {
        "skill": scored.part("skill"),
        "gap": scored.gap(equal=equal),
        "base": scored.part("base"),
    }
    if known is None:
        return found
    true = Scored.of(Rows.of(known.filter(own)), None)
    exact = {
        "skill": float(true.parts.skill),
        "gap": true.gap(equal=equal).value,
        "base": float(true.parts.base),
    }
    return {name: each.with_truth(exact[name]) for name, each in found.items()}
