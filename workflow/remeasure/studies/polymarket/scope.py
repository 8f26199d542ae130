"""How far a run's population and sample reach, beside the publication's."""

from __future__ import annotations

from datetime import date

from remeasure.ledger.measurement import WHOLE
from remeasure.model import Model
from remeasure.studies.polymarket.published import printed
from remeasure.studies.polymarket.settings import DrawSettings, Origin, Topic, Window

#: Days on which the publication's markets closed, both included.
PUBLISHED_WINDOW = (date(2024, 1, 1), date(2026, 10, 31))

#: Our topics, as the publication's sampling rates name them.
RATE_NAMES: dict[Topic, str] = {
    "sports": "sports",
    "politics": "politics",
    "economy": "economics",
    "culture": "culture",
    "crypto": "crypto",
    "science": "science and weather",
}

FILES = "an archive of resolved markets, not a probability sample of the population"


class Scope(Model):
    """What decides whether a run measures the publication's own population and sample."""

    origin: Origin
    window: Window
    draw: DrawSettings
    event_usd: float
    traded_usd: float | None


def population_coverage(scope: Scope) -> str:
    """``whole``, or what of the population is missing, in words."""
    if scope.origin == "files":
        return FILES
    parts = []
    if (scope.window.first, scope.window.last) != PUBLISHED_WINDOW:
        first, last = PUBLISHED_WINDOW
        parts.append(
            f"closed {scope.window.first} to {scope.window.last}, published {first} to {last}"
        )
    if scope.event_usd != printed("stat_population", "minimum event volume", "filter"):
        parts.append(f"events from {scope.event_usd:g} dollars on")
    return ", ".join(parts) or WHOLE


def coverage(scope: Scope) -> str:
    """The same for what rests on the sample; on generated data the sample is what it should be."""
    if scope.origin in ("files", "generated"):
        return FILES if scope.origin == "files" else WHOLE
    parts = [part for part in (population_coverage(scope),) if part != WHOLE]
    if sampling_coverage(scope) != WHOLE:
        parts.append(sampling_coverage(scope))
    if scope.traded_usd != printed(
        "stat_sampling", "real-trading threshold", "dollars traded in the week before the forecast"
    ):
        parts.append("another threshold of real trading")
    return ", ".join(parts) or WHOLE


def sampling_coverage(scope: Scope) -> str:
    """``whole``, or which of the publication's sampling rates this run does not use."""
    draw = scope.draw
    other: list[str] = [
        str(topic)
        for topic, words in RATE_NAMES.items()
        if abs(100 * draw.topic_share[topic] - printed("stat_sampling", "draw 1 rate", words))
        > 1e-9
    ]
    size = "stat_sampling", "draw 2 certainty threshold"
    if draw.certain != printed(*size, "all topics except sports"):
        other.append("large markets")
    if draw.certain_sports != printed(*size, "sports"):
        other.append("large sports markets")
    if draw.partial_from != printed(
        "stat_sampling", "draw 2 partial share from", "smaller markets above"
    ):
        other.append("middle-sized markets")
    return f"drawn with other rates than published: {', '.join(other)}" if other else WHOLE
