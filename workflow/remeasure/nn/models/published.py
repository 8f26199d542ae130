"""Reading a published ``config.json``: what we did not build is refused, not ignored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from remeasure.errors import DataError


def only(config: Mapping[str, Any], **wanted: object) -> None:
    """Every key that the configuration has holds the one value that our model computes.

    Parameters
    ----------
    wanted
        The value by key; a tuple names several.

    Raises
    ------
    DataError
        Naming the first key with another value.
    """
    for key, value in wanted.items():
        allowed = value if isinstance(value, tuple) else (value,)
        if key in config and config[key] not in allowed:
            raise DataError(
                f"{key} is {config[key]!r}; this model is built for"
                f" {' or '.join(repr(each) for each in allowed)}",
                where="config.json",
                remedy="take a checkpoint of the published architecture",
            )
