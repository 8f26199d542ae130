"""Settings of the study of brains and models. Defaults stand in config/config.yaml."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from remeasure.model import Model


class DopamineSettings(Model):
    """The temporal-difference model.

    Attributes
    ----------
    steps
        Transitions from the cue to the juice.
    discount
        Weight of a reward one step later.
    rate
        Of learning.
    trials
        Rewarded trials before the learned ones are recorded.
    """

    steps: int = Field(ge=2, le=50)
    discount: float = Field(gt=0, le=1)
    rate: float = Field(gt=0, le=1)
    trials: int = Field(ge=1, le=20_000)


class MapSettings(Model):
    """Idealised firing maps, in metres.

    Attributes
    ----------
    side
        Of the square box.
    points
        Samples along a side.
    width
        Standard deviation of the place field, which lies in the middle of the box.
    spacing
        From a peak of the grid map to the next.
    turn
        Rotation of the grid in degrees.
    """

    side: float = Field(gt=0)
    points: int = Field(ge=21, le=501)
    width: float = Field(gt=0)
    spacing: float = Field(gt=0)
    turn: float = Field(ge=0, lt=60)


class Settings(Model):
    """Section ``brain_ai`` of the configuration.

    Attributes
    ----------
    atlas
        Where the language atlas comes from; without it its figure is not drawn.
    threshold
        Shares of people below it are left transparent in that figure.
    dopamine, maps
        Of the parts that are computed.
    """

    atlas: Literal["none", "mirror", "public"]
    threshold: float = Field(gt=0, lt=1)
    dopamine: DopamineSettings
    maps: MapSettings
