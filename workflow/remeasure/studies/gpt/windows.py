"""What the model learns from: windows of the training stream that begin where games begin."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from remeasure.errors import DataError
from remeasure.studies.gpt.chess_text import ALPHABET, Ids

Places = npt.NDArray[np.int64]

_START: Final = ALPHABET.index(";")


def starts(stream: Ids, context: int) -> Places:
    """Where games begin that leave room for a window of ``context + 1`` characters.

    A window runs on into the games after its own: nothing is padded, nothing reset.

    Raises
    ------
    DataError
        When the stream is shorter than one window.
    """
    found = np.flatnonzero(stream == _START)
    found = found[found + context + 1 <= stream.size]
    if not found.size:
        raise DataError(
            f"{stream.size} characters of training games are less than one window of {context + 1}",
            where="gpt.model.context",
            remedy="give more games, or shorten the context",
        )
    return found.astype(np.int64)


def drawn(count: int, steps: int, batch: int, seed: int) -> Places:
    """Which start each window of each step takes, with replacement, shape ``(steps, batch)``.

    The same numbers as ``default_rng(seed).integers(0, count, batch)`` called step after step.
    """
    return np.random.default_rng(seed).integers(0, count, (steps, batch))


def window(stream: Ids, places: Places, context: int) -> npt.NDArray[np.int64]:
    """Windows at some places, shape ``(places, context + 1)``."""
    taken: Places = stream[places[:, None] + np.arange(context + 1)].astype(np.int64)
    return taken
