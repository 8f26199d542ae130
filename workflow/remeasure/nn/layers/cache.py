"""What a decoder remembers of the tokens it has read, so that it need not read them again.

A model asks its cache for three things: `extend` while it computes a block, `length`, and
to move `length` on when all blocks are done. A search that drops and doubles texts asks for
`select`; a question asked again asks for `rewind`.
"""

from __future__ import annotations

import torch
from torch import Tensor


class KeyValueCache:
    """Keys and values of the tokens seen so far, one pair a block, grown by `extend`.

    Room for ``longest`` tokens is taken at once: a step then writes in place instead of
    copying the whole past.

    Parameters
    ----------
    layers, batch, groups, longest
        Blocks; texts; key-value heads; tokens of a text at most.
    width
        Channels of a key.
    like
        Its type and device are the cache's.
    value_width
        Channels of a value; those of a key when None.
    """

    def __init__(
        self,
        layers: int,
        batch: int,
        groups: int,
        longest: int,
        width: int,
        like: Tensor,
        *,
        value_width: int | None = None,
    ) -> None:
        shape = (layers, batch, groups, longest)
        self._keys = like.new_empty((*shape, width))
        self._values = like.new_empty((*shape, width if value_width is None else value_width))
        self.length = 0

    def extend(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append to one block, shape ``(batch, groups, new, width)``, and give all of it."""
        end = self.length + key.shape[2]
        self._keys[layer, :, :, self.length : end] = key
        self._values[layer, :, :, self.length : end] = value
        return self._keys[layer, :, :, :end], self._values[layer, :, :, :end]

    def select(self, rows: Tensor) -> None:
        """Keep these texts, in this order; a text may be named more than once.

        Parameters
        ----------
        rows
            Integer, shape ``(new batch,)``.
        """
        if rows.shape[0] == self._keys.shape[1]:
            # The usual case of a beam search: nothing grows, so only what is filled moves.
            filled = slice(0, self.length)
            self._keys[:, :, :, filled] = self._keys[:, :, :, filled].index_select(1, rows)
            self._values[:, :, :, filled] = self._values[:, :, :, filled].index_select(1, rows)
        else:
            self._keys = self._keys.index_select(1, rows)
            self._values = self._values.index_select(1, rows)

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens.

        Raises
        ------
        ValueError
            When it does not hold so many.
        """
        if not 0 <= length <= self.length:
            raise ValueError(f"a cache of {self.length} tokens cannot be rewound to {length}")
        self.length = length

    def numbers(self) -> int:
        """How many numbers it holds for the tokens seen so far, all texts together."""
        return sum(
            part.shape[0] * part.shape[1] * part.shape[2] * self.length * part.shape[4]
            for part in (self._keys, self._values)
        )


def places(
    length: int, before: int, real: Tensor | None, device: torch.device
) -> tuple[Tensor, Tensor | None]:
    """Positions of new tokens, and which keys are no padding.

    Padding on the left shifts a text: its first real token stands at position 0.

    Parameters
    ----------
    length, before
        New tokens and tokens already in the cache.
    real
        False on padding, shape ``(batch, before + length)`` or longer; None: no padding.
    device
        Where the positions are made when there is no padding.

    Returns
    -------
    tuple
        Positions, shape ``(batch or 1, length)``; a mask of keys, True where one may look,
        shape ``(batch, 1, length, before + length)``, or None without padding. Causality is
        not in it.
    """
    keys = before + length
    if real is None:
        return torch.arange(before, keys, device=device).unsqueeze(0), None
    positions = (real.long().cumsum(-1) - 1).clamp_min(0)[:, before:keys]
    mask = real[:, None, None, :keys].expand(real.shape[0], 1, length, keys)
    if before == 0:
        # A query that stands on padding sees itself, so that no softmax is empty.
        mask = mask | torch.eye(length, dtype=torch.bool, device=real.device)
    return positions, mask
