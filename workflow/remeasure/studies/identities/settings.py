"""Settings of the study. Defaults and explanations stand in config/config.yaml."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from remeasure.model import Model

Draws = Annotated[int, Field(ge=2, le=1_000_000)]


class TransformersSettings(Model):
    """Sizes of the first article's simulations; the printed ones are 2000 and 400."""

    sequences: Annotated[int, Field(ge=2, le=2000)]
    single_draws: Annotated[int, Field(ge=2, le=400)]
    residual_draws: Draws


class BertSettings(Model):
    """Steps of the plug-in check (printed: 400,000) and random chains that test the bounds."""

    steps: Annotated[int, Field(ge=1000, le=400_000)]
    random_chains: Draws


class GptSettings(Model):
    """Random models on which prefix consistency is tried."""

    residual_draws: Draws


class BartSettings(Model):
    """Chains that are enumerated exactly (printed: 40), and samples of 40 documents each."""

    chains: Annotated[int, Field(ge=2, le=40)]
    samples: Draws


class XlnetSettings(Model):
    """Models of two streams that are drawn for the range of the lost one's responses."""

    models: Draws


class RobertaSettings(Model):
    """Trials a point (printed: 400) and repetitions of the whole experiment."""

    trials: Annotated[int, Field(ge=2, le=400)]
    repetitions: Draws


class DistilbertSettings(Model):
    """Trials of the students (printed: 200) and draws of the finite differences."""

    trials: Annotated[int, Field(ge=2, le=200)]
    repetitions: Draws


class AlbertSettings(Model):
    """Seeds of the iterated map: enough for the range of a single one."""

    seeds: Annotated[int, Field(ge=20, le=1_000_000)]


class VitSettings(Model):
    """Random images and models for residuals."""

    residual_draws: Draws


class Settings(Model):
    """The study's section, an article a key."""

    transformers: TransformersSettings
    bert: BertSettings
    gpt: GptSettings
    bart: BartSettings
    xlnet: XlnetSettings
    roberta: RobertaSettings
    distilbert: DistilbertSettings
    albert: AlbertSettings
    vit: VitSettings
