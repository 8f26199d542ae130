"""Settings of the consciousness study. Defaults and explanations stand in config/config.yaml."""

from __future__ import annotations

from pydantic import Field

from remeasure.model import Model


class Settings(Model):
    """Section ``consciousness`` of the configuration.

    Attributes
    ----------
    columns
        Squares in a row of the grids of patients.
    level
        Confidence level of the intervals that are added to the quoted counts.
    """

    columns: int = Field(ge=5, le=30)
    level: float = Field(gt=0.5, lt=1)
