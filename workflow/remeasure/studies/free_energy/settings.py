"""Settings of the free energy study. Defaults and explanations stand in config/config.yaml."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from remeasure.model import Model


class BoundSettings(Model):
    """Gaussian beliefs that are drawn.

    Attributes
    ----------
    first, last
        Range of their centres.
    points
        Number of centres.
    width
        Of the beliefs of one fixed width.
    """

    first: float = Field(gt=-5)
    last: float = Field(lt=8)
    points: int = Field(ge=50, le=5001)
    width: float = Field(gt=0.01, le=3)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.first >= self.last:
            raise ValueError(f"first ({self.first}) must lie below last ({self.last})")
        return self


class DescentSettings(Model):
    """Euler's method: step and length, both in units of time."""

    step: float = Field(gt=0, le=0.05)
    time: float = Field(ge=2, le=100)


class Settings(Model):
    """Section ``free_energy`` of the configuration.

    Attributes
    ----------
    bound, descent
        Of the two figures.
    preference_floor
        The outcome that is not preferred has the log probability minus this; without a floor
        its risk would be infinite.
    """

    bound: BoundSettings
    descent: DescentSettings
    preference_floor: float = Field(gt=0, le=700)
