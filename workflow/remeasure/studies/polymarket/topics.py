"""Topics of events from their tags, directions of crypto questions: rules of ``topics.yaml``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Self

import polars as pl
import yaml
from pydantic import Field, model_validator

from remeasure.errors import ConfigError
from remeasure.model import Model
from remeasure.studies.polymarket.settings import Topic

PACKAGE_FILES = ("topics.yaml",)

_PATH = Path(__file__).parent / PACKAGE_FILES[0]


class Rule(Model):
    """One rule: a topic, and what an event must have; without tags and fields it fits all."""

    name: str
    topic: Topic
    tags: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()


class DirectionRules(Model):
    """Patterns over a crypto question, in lower case."""

    assets: str
    price: str
    dropped: str
    up_or_down: str
    rising: str
    falling: str


class TopicRules(Model):
    """The mapping: its version, its rules in order, and the patterns of directions."""

    version: int
    rules: tuple[Rule, ...] = Field(min_length=1)
    direction: DirectionRules

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.rules[-1].tags or self.rules[-1].fields:
            raise ValueError("the last rule must fit every event")
        return self


@cache
def topic_rules() -> TopicRules:
    """The rules of the package."""
    return TopicRules.model_validate(yaml.safe_load(_PATH.read_text("utf-8")))


def expect_version(version: int) -> None:
    """Raise ConfigError when ``topics.yaml`` is of another version than the run expects."""
    if topic_rules().version != version:
        raise ConfigError(
            f"topics.yaml is version {topic_rules().version}, this run expects {version}",
            where="polymarket.definitions.topics_version",
            remedy="name the version in the package, or bring that version back",
        )


def chosen_rule(tags: str = "tags") -> pl.Expr:
    """Name of the first rule that fits, for rows of events.

    Parameters
    ----------
    tags
        Column with the list of tag slugs. For each name in a rule's ``fields`` the frame has a
        boolean column ``has_<name>``: whether a market of the event has it.
    """
    rules = topic_rules().rules
    answer: pl.Expr = pl.lit(rules[-1].name)
    for rule in reversed(rules[:-1]):
        having = [pl.col(f"has_{field}") for field in rule.fields]
        if rule.tags:
            common = pl.col(tags).list.set_intersection(list(rule.tags))
            having.append(common.list.len() > 0)
        fits = pl.any_horizontal(having).fill_null(value=False)
        answer = pl.when(fits).then(pl.lit(rule.name)).otherwise(answer)
    return answer


def topic_of(rule: str = "rule") -> pl.Expr:
    """Topic of each rule's name."""
    known = {each.name: each.topic for each in topic_rules().rules}
    return pl.col(rule).replace_strict(known, return_dtype=pl.String)


def direction(question: str = "question", first_outcome: str = "first_outcome") -> pl.Expr:
    """+1, -1 or 0 for questions about the price of a coin; meant for the topic crypto alone."""
    rules = topic_rules().direction
    text = pl.col(question).str.to_lowercase()
    label = pl.col(first_outcome).fill_null("").str.to_lowercase()
    rising, falling = text.str.contains(rules.rising), text.str.contains(rules.falling)
    sign = (
        pl.when(~(text.str.contains(rules.assets) & text.str.contains(rules.price)))
        .then(0)
        .when(text.str.contains(rules.up_or_down))
        .then(pl.when(label == "up").then(1).when(label == "down").then(-1).otherwise(0))
        .when(text.str.contains(rules.dropped) | (rising == falling))
        .then(0)
        .when(rising)
        .then(1)
        .otherwise(-1)
    )
    # The other outcome of a Yes/No question says the opposite.
    return (pl.when(label == "no").then(-sign).otherwise(sign)).cast(pl.Int16)
