"""Settings of the gpt study. Defaults and explanations stand in config/config.yaml."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from remeasure.model import Model

TimeControl = Literal["UltraBullet", "Bullet", "Blitz", "Rapid", "Classical", "Correspondence"]
Source = Literal["none", "mirror", "public"]
Device = Literal["auto", "cpu", "cuda"]
Revision = Annotated[str, Field(pattern=r"^[\w.-]+$")]


class GeneratorSettings(Model):
    """Generated games: seed, how many the filters keep, and their half-moves at most."""

    seed: int = Field(ge=0)
    games: int = Field(ge=50, le=200_000)
    half_moves: int = Field(ge=12, le=300)


class LichessSettings(Model):
    """The published file: revision and path in the data set of the hub."""

    revision: Revision
    file: Annotated[str, Field(pattern=r"^[\w.=/-]+\.parquet$")]


class HubModel(Model):
    """A checkpoint of the hub: owner and name, and which commit or branch."""

    id: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    revision: Revision = "main"


class FilterSettings(Model):
    """Which games are kept.

    Attributes
    ----------
    classes
        Time controls; none given: every game.
    minimum_rating
        Of both players; 0 keeps games without ratings too.
    minimum_spaces
        Of a cleaned game: its half-moves less one.
    """

    classes: tuple[TimeControl, ...]
    minimum_rating: int = Field(ge=0)
    minimum_spaces: int = Field(ge=1)


class SplitSettings(Model):
    """Test games, and the seed of the permutation that draws them."""

    held_out: int = Field(ge=10)
    seed: int = Field(ge=0)


class PositionSettings(Model):
    """Test positions: how many, half-moves played (exclusive), their seed.

    The first ``monitored`` of them watch the training.
    """

    count: int = Field(ge=10)
    largest: int = Field(ge=2)
    seed: int = Field(ge=0)
    monitored: int = Field(ge=1)

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if self.monitored > self.count:
            raise ValueError(f"monitored ({self.monitored}) must not exceed count ({self.count})")
        return self


class ModelSettings(Model):
    """Sizes of the chess model that is trained."""

    layers: int = Field(ge=1, le=96)
    width: int = Field(ge=8)
    heads: int = Field(ge=1)
    context: int = Field(ge=64)

    @model_validator(mode="after")
    def _whole_heads(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"heads ({self.heads}) must divide the width ({self.width})")
        return self


class TrainingSettings(Model):
    """AdamW under a linear warm-up and half a cosine.

    Attributes
    ----------
    steps, batch
        Windows a step.
    rate, warm_up, floor
        Peak learning rate, steps to reach it, and the share of it that the end keeps.
    betas, decay, clip
        Of AdamW; weight decay of matrices alone; largest norm of the gradient.
    every
        Steps between tests on the monitored positions, and between checkpoints.
    seed
        Of the windows and of the weights.
    """

    steps: int = Field(ge=2)
    batch: int = Field(ge=1)
    rate: float = Field(gt=0, le=0.1)
    warm_up: int = Field(ge=1)
    floor: float = Field(ge=0, le=1)
    betas: tuple[float, float]
    decay: float = Field(ge=0)
    clip: float = Field(gt=0)
    every: int = Field(ge=1)
    seed: int = Field(ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.warm_up >= self.steps:
            raise ValueError(f"warm_up ({self.warm_up}) must lie below steps ({self.steps})")
        return self


class TrainingsBySeed(TrainingSettings):
    """One training, and the seeds with which it is done again.

    Attributes
    ----------
    further_seeds
        Each gives a model of its own; that of ``seed`` answers the published rows.
    """

    further_seeds: tuple[Annotated[int, Field(ge=0)], ...]

    @model_validator(mode="after")
    def _different(self) -> Self:
        seeds = (self.seed, *self.further_seeds)
        if len(set(seeds)) < len(seeds):
            raise ValueError(
                f"further_seeds {list(self.further_seeds)} must differ from each other and from"
                f" seed ({self.seed})"
            )
        return self

    def one(self) -> TrainingSettings:
        """The training alone: further seeds are none of its business, and change no call of it."""
        return TrainingSettings(**self.model_dump(exclude={"further_seeds"}))


class BaselineSettings(Model):
    """The n-gram that the model must beat: characters a gram, and characters counted."""

    order: int = Field(ge=1, le=12)
    characters: int = Field(ge=1000)


class ArenaSettings(Model):
    """Games against a random mover, half-moves at most, tries a move."""

    games: int = Field(ge=1, le=1000)
    half_moves: int = Field(ge=2)
    tries: int = Field(ge=1, le=20)


class ProbeSettings(Model):
    """Linear probes: games to fit and to test, and AdamW's epochs, batch, rate and decay."""

    training_games: int = Field(ge=5)
    test_games: int = Field(ge=5)
    epochs: int = Field(ge=1)
    batch: int = Field(ge=1)
    rate: float = Field(gt=0)
    decay: float = Field(ge=0)
    seed: int = Field(ge=0)


class TimingSettings(Model):
    """Whether to time generation, and for how many tokens."""

    measure: bool
    steps: int = Field(ge=20)


class Settings(Model):
    """Section ``gpt`` of the configuration.

    Attributes
    ----------
    origin, files
        Where games come from; PGN files of the user.
    generator, lichess
        Of the origins ``generated``, and ``mirror`` or ``public``.
    checkpoints
        Where published weights come from.
    family, gpt2, karvonen
        Which.
    vocabulary
        Whether GPT-2's byte pairs are read from an installed package.
    decoder
        Whether a small decoder out of an installed package is read as GPT-2 is.
    filters, split, positions
        From games to test positions.
    model, training
        The chess model.
    baseline, arena, probes
        What it is compared with, and what its states are asked.
    timing
        Of the key-value cache.
    device, threads
        Where networks run.
    resamples
        Of the bootstrap over games.
    """

    origin: Literal["generated", "files", "mirror", "public"]
    files: tuple[str, ...]
    generator: GeneratorSettings
    lichess: LichessSettings
    checkpoints: Source
    family: tuple[HubModel, ...]
    gpt2: HubModel
    karvonen: HubModel
    vocabulary: Literal["none", "package"]
    decoder: Literal["none", "package"]
    filters: FilterSettings
    split: SplitSettings
    positions: PositionSettings
    model: ModelSettings
    training: TrainingsBySeed
    baseline: BaselineSettings
    arena: ArenaSettings
    probes: ProbeSettings
    timing: TimingSettings
    device: Device
    threads: int = Field(ge=1, le=64)
    resamples: int = Field(ge=100)
