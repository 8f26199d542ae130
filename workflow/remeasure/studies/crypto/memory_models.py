"""Which language models are asked, and how: settings models alone, nothing is fetched here.

Defaults and explanations stand in config/config.yaml.

The publication names seven models and prints the month in which each was released; that month
decides which questions a model may know and which it cannot. Their order is that of the figures.
Hub names are inferred, the publication prints none.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from remeasure.model import Model

ReleaseMonth = Annotated[str, Field(pattern=r"^20[0-9]{2}-(0[1-9]|1[0-2])$")]

#: How long before its release a month must lie for a model to have had time to read about it.
MONTHS_BEFORE = 12


class LanguageModel(Model):
    """One language model.

    Attributes
    ----------
    label
        Its name, as in the published figures.
    hub
        Repository of its weights on the Hugging Face hub; empty where there is none.
    revision
        Which commit of it; a branch is resolved when it is first fetched.
    release
        Month of its release, ``YYYY-MM``.
    """

    label: str = Field(min_length=1)
    hub: str = ""
    revision: Annotated[str, Field(pattern=r"^[\w.-]+$")] = "main"
    release: ReleaseMonth

    @property
    def slug(self) -> str:
        """Name of the model in paths.

        >>> LanguageModel(label="Qwen2.5 7B", release="2024-09").slug
        'qwen2-5-7b'
        """
        return re.sub(r"[^a-z0-9]+", "-", self.label.lower()).strip("-")


#: The seven models of the publication, in its order.
SEVEN: tuple[LanguageModel, ...] = tuple(
    LanguageModel(label=label, hub=hub, release=release)
    for label, hub, release in (
        ("Mistral 7B v0.3", "mistralai/Mistral-7B-Instruct-v0.3", "2024-05"),
        ("Qwen2.5 7B", "Qwen/Qwen2.5-7B-Instruct", "2024-09"),
        ("OLMo 2 7B", "allenai/OLMo-2-1124-7B-Instruct", "2024-12"),
        ("Phi-4-mini", "microsoft/Phi-4-mini-instruct", "2025-02"),
        ("Qwen3 8B", "Qwen/Qwen3-8B", "2025-04"),
        ("Olmo 3 7B", "allenai/Olmo-3-7B-Instruct", "2025-11"),
        ("Qwen3.5 9B", "Qwen/Qwen3.5-9B", "2026-02"),
    )
)


class ShippedModel(LanguageModel):
    """A small model, not one of the publication's, whose weights ship inside a package.

    Attributes
    ----------
    ask
        Whether this run asks it; the package must be installed then.
    distribution, version, file
        The package at the registry, and its GGUF file of the Llama family.
    every
        Ask every so many questions of each kind: 1 asks all.
    """

    ask: bool
    distribution: str
    version: str
    file: str
    every: int = Field(ge=1)


class SimulatedSettings(Model):
    """The simulated answerer: what it knows, and how well.

    Attributes
    ----------
    seed
        Of its random streams; every model has streams of its own.
    cutoff_months
        It knows nothing of months later than so many before its release.
    remembered
        Chance that it remembers the direction of a month or week that it can know.
    strength
        How far a remembered direction moves its probability of up from one half.
    noise
        Standard deviation of that probability around where memory puts it.
    price_noise
        Standard deviation of the logarithm of a remembered price around the true one.
    """

    seed: int = Field(ge=0)
    cutoff_months: int = Field(ge=0)
    remembered: float = Field(ge=0, le=1)
    strength: float = Field(ge=0, le=0.5)
    noise: float = Field(gt=0)
    price_noise: float = Field(gt=0)


class MemorySettings(Model):
    """Asking language models about past prices.

    Attributes
    ----------
    answerer
        Who answers for the seven: ``simulated`` (a stand-in with a known memory, no language
        model), ``networks`` (the models themselves) or ``none``.
    first, last
        Window of the questions, both days included.
    models
        The models of the publication.
    simulated
        The stand-in.
    shipped
        Small models out of packages: they stand beside the publication's, never for them.
    device, batch
        Where networks run (``auto`` takes a GPU where there is one), questions at once.
    resamples
        Of the bootstrap over months.
    """

    answerer: Literal["simulated", "networks", "none"]
    first: date
    last: date
    models: tuple[LanguageModel, ...]
    simulated: SimulatedSettings
    shipped: tuple[ShippedModel, ...]
    device: Literal["auto", "cpu", "cuda"]
    batch: int = Field(ge=1)
    resamples: int = Field(ge=100)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.first > self.last:
            raise ValueError(f"first ({self.first}) must not be after last ({self.last})")
        slugs = [model.slug for model in (*self.models, *self.shipped)]
        if len(set(slugs)) != len(slugs):
            raise ValueError(f"labels of models must differ (given: {slugs})")
        if self.answerer == "networks" and (bare := [m.label for m in self.models if not m.hub]):
            raise ValueError(f"answerer networks needs a hub repository for {', '.join(bare)}")
        return self

    @property
    def others(self) -> tuple[ShippedModel, ...]:
        """The shipped models that this run asks."""
        return tuple(model for model in self.shipped if model.ask)
