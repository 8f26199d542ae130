"""The baseline: which character followed most often, after the longest context seen before.

A character n-gram with back-off, nothing learned but counts. It knows that openings repeat and
how moves are spelled, and has no board: a model that says no more legal moves than this has
learned no chess.

Characters take five bits, so a gram of twelve fits into one integer and counting is sorting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from remeasure.studies.gpt.chess_text import ALPHABET, Format, Ids, encode

Codes = npt.NDArray[np.uint64]

_BITS: Final = np.uint64(5)
_LAST: Final = np.uint64(31)
_LONGEST_MOVE: Final = 8


def grams(stream: Ids, length: int) -> Codes:
    """Codes of all stretches of ``length`` characters, shape ``(stream - length + 1,)``."""
    count = stream.size - length + 1
    codes = np.zeros(max(count, 0), dtype=np.uint64)
    for place in range(length):
        codes = (codes << _BITS) | stream[place : place + count].astype(np.uint64)
    return codes


def followers(stream: Ids, context: int) -> tuple[Codes, Ids]:
    """Contexts of a length, sorted, and the commonest next character of each.

    Of characters that follow equally often the first in the alphabet counts.
    """
    found, counts = np.unique(grams(stream, context + 1), return_counts=True)
    before, after = found >> _BITS, (found & _LAST).astype(np.uint8)
    # Sorted by context, then by count from the commonest, then by character.
    order = np.lexsort((after, -counts, before))
    contexts, first = np.unique(before[order], return_index=True)
    return contexts, after[order][first]


@dataclass(frozen=True)
class Counted:
    """Followers by length of the context, from 0 on."""

    tables: tuple[tuple[Codes, Ids], ...]

    @classmethod
    def of(cls, stream: Ids, order: int) -> Counted:
        """Count a stream; ``order`` is the length of the longest gram, 1 to 12."""
        return cls(tuple(followers(stream, context) for context in range(order)))

    def next(self, ids: Ids) -> int:
        """The next character after a text, by the longest context that was seen."""
        for context in range(min(len(self.tables) - 1, ids.size), -1, -1):
            code = np.uint64(0)
            for each in ids[ids.size - context :]:
                code = (code << _BITS) | np.uint64(each)
            contexts, after = self.tables[context]
            place = int(np.searchsorted(contexts, code))
            if place < contexts.size and contexts[place] == code:
                return int(after[place])
        raise ValueError("nothing was counted")


class CountingPlayer:
    """The baseline as a player; always says its likeliest move."""

    form: Final[Format] = "characters"

    def __init__(self, counted: Counted, longest: int) -> None:
        self._counted, self.longest = counted, longest

    def word(self, text: str, generator: torch.Generator | None = None) -> str:
        """Characters until a space, eight at most."""
        ids, said = encode(text), ""
        while len(said) < _LONGEST_MOVE:
            letter = ALPHABET[self._counted.next(ids)]
            if letter == " ":
                break
            said += letter
            ids = np.append(ids, encode(letter))
        return said
