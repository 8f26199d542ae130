"""Settings of the game theory study. Defaults and explanations stand in config/config.yaml."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from remeasure.model import Model

Rule = Literal["fermi", "moran", "better"]
Probability = Annotated[float, Field(ge=0, le=1)]


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(values)) != len(values):
        raise ValueError(f"values must not repeat (given: {list(values)})")
    return values


Distinct = AfterValidator(_distinct)


class TournamentSettings(Model):
    """A round robin.

    Attributes
    ----------
    line_up
        Names of the strategies.
    own
        Further strategies by name: p(C) at first, then after CC, CD, DC, DD (own move first).
    rounds
        Of each match.
    self_play
        Whether a match against a copy counts in the score; it never counts as won or lost.
    other_rounds, continuations
        Other lengths of a match that are tried beside it: fixed ones, and chances of a next round.
    """

    line_up: Annotated[tuple[str, ...], Distinct] = Field(min_length=2, max_length=100)
    own: dict[str, tuple[Probability, Probability, Probability, Probability, Probability]]
    rounds: int = Field(ge=1, le=100_000)
    self_play: bool
    other_rounds: Annotated[tuple[Annotated[int, Field(ge=1, le=100_000)], ...], Distinct]
    continuations: Annotated[tuple[Annotated[float, Field(ge=0, lt=1)], ...], Distinct]


class EchoSettings(Model):
    """One mistake: rounds shown, its round, and how many echoes are drawn."""

    rounds: int = Field(ge=5, le=60)
    mistake: int = Field(ge=1, le=50)
    draws: int = Field(ge=1000)


class ForgivenessSettings(Model):
    """Mistakes of the resident players, and points of the curves."""

    mistakes: float = Field(gt=0, lt=0.5)
    points: int = Field(ge=11, le=2001)


class Imitation(Model):
    """How players imitate: rule, strength of selection, mutation."""

    rule: Rule
    strength: float = Field(ge=0, le=100)
    mutation: float = Field(gt=0, le=1)


class PopulationSettings(Model):
    """The imitating population.

    Attributes
    ----------
    players
        N.
    continuation, mistakes
        Of the matches: chance of a next round, chance that a move is flipped.
    generosity
        Forgiveness of generous tit for tat.
    imitation
        How players imitate, the setting of the figure.
    tried
        Further settings, solved exactly with three strategies for the table.
    runs
        Runs averaged.
    repeats
        How many times so many runs are made, for the spread of their mean.
    steps
        Of each run.
    short_steps
        Where the same runs are read a first time.
    """

    players: int = Field(ge=10, le=150)
    continuation: float = Field(ge=0, lt=1)
    mistakes: float = Field(ge=0, lt=0.5)
    generosity: Probability
    imitation: Imitation
    tried: tuple[Imitation, ...]
    runs: int = Field(ge=2, le=1000)
    repeats: int = Field(ge=1, le=100)
    steps: int = Field(ge=1000)
    short_steps: int = Field(ge=1000)


class Settings(Model):
    """Section ``game_theory`` of the configuration."""

    tournament: TournamentSettings
    echo: EchoSettings
    forgiveness: ForgivenessSettings
    population: PopulationSettings
