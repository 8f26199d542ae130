"""Texts between special tokens, pairs with segments, and batches of one length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Frame:
    """Ids of what stands round a text; those of the uncased vocabulary by default.

    Attributes
    ----------
    first, last, padding
        ``[CLS]``, ``[SEP]``, ``[PAD]``.
    """

    first: int = 101
    last: int = 102
    padding: int = 0

    def single(self, text: Sequence[int], longest: int | None = None) -> list[int]:
        """``first text last``, the text cut so that all is at most ``longest``."""
        kept = text if longest is None else text[: max(0, longest - 2)]
        return [self.first, *kept, self.last]

    def pair(
        self, left: Sequence[int], right: Sequence[int], longest: int | None = None
    ) -> tuple[list[int], list[int]]:
        """``first left last right last``, the right text alone cut, and the segments.

        Raises
        ------
        ValueError
            When the left text leaves no room.
        """
        room = None if longest is None else longest - len(left) - 3
        if room is not None and room < 0:
            raise ValueError(f"a left text of {len(left)} tokens does not fit in {longest}")
        ahead = self.single(left)
        behind = [*(right if room is None else right[:room]), self.last]
        return ahead + behind, [0] * len(ahead) + [1] * len(behind)


def pad_right(texts: Sequence[Sequence[int]], padding: int = 0) -> tuple[Tensor, Tensor]:
    """One batch, starts aligned.

    Returns
    -------
    tuple
        Ids and whether they are real, both of shape ``(texts, longest)``.
    """
    longest = max(len(text) for text in texts)
    ids = torch.tensor([[*text, *[padding] * (longest - len(text))] for text in texts])
    real = torch.arange(longest) < torch.tensor([len(text) for text in texts])[:, None]
    return ids.long(), real
