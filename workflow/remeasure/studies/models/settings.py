"""Settings of the page. Defaults and explanations stand in config/config.yaml."""

from __future__ import annotations

from pydantic import Field

from remeasure.model import Model


class Settings(Model):
    """Section ``models`` of the configuration.

    Attributes
    ----------
    text
        Tokens of the text whose cache is drawn.
    """

    text: int = Field(ge=1, le=10_000_000)
