"""What a decoder remembers of the tokens it has read, so that it need not read them again.

A model asks its cache for three things: `extend` while it computes a block, `length`, and
to move `length` on when all blocks are done. A search that drops and doubles texts asks for
`select`; a question asked again asks for `rewind`.
"""

from __future__ import annotations

from collections.abc import Sequence

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

    def order(self, layer: int, new: int) -> Tensor | None:
        """Places in the text of the keys that `extend` gives next; None: all, in order."""
        return None

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


class WindowCache:
    """A cache in which some blocks remember no more than a window of tokens.

    A windowed block has as many slots as its window: token i goes to slot ``i mod window``.
    The order of slots does not matter, since rotation is stored in the keys. Padding takes a
    slot as well, so it may stand before a text but not within it.

    Parameters
    ----------
    windows
        Of each block, how many tokens back it looks, itself included; None: all.
    batch, groups, longest, width, like
        As in `KeyValueCache`.
    """

    def __init__(
        self,
        windows: Sequence[int | None],
        batch: int,
        groups: int,
        longest: int,
        width: int,
        like: Tensor,
    ) -> None:
        self.windows = tuple(windows)
        self._keys, self._values = (
            [
                like.new_empty((batch, groups, longest if window is None else window, width))
                for window in windows
            ]
            for _ in range(2)
        )
        self.length = 0

    def _past(self, window: int) -> Tensor:
        """Places of the tokens before a chunk that its first token sees, in order."""
        return torch.arange(max(0, self.length - window + 1), self.length)

    def order(self, layer: int, new: int) -> Tensor | None:
        """Places in the text of the keys that `extend` gives next; None: all, in order."""
        window = self.windows[layer]
        if window is None:
            return None
        end = self.length + new
        if new > 1:
            return torch.cat((self._past(window), torch.arange(self.length, end)))
        slot = torch.arange(min(end, window))
        return slot + (self.length - slot) // window * window

    def extend(self, layer: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Append to one block, shape ``(batch, groups, new, width)``; give what may be seen."""
        window, new = self.windows[layer], key.shape[2]
        end = self.length + new
        out = []
        for store, part in ((self._keys[layer], key), (self._values[layer], value)):
            if window is None:
                store[:, :, self.length : end] = part
                out.append(store[:, :, :end])
            elif new == 1:
                store[:, :, self.length % window] = part[:, :, 0]
                out.append(store[:, :, : min(end, window)])
            else:
                past = (self._past(window) % window).to(store.device)
                out.append(torch.cat((store.index_select(2, past), part), dim=2))
                kept = torch.arange(max(self.length, end - window), end, device=store.device)
                store[:, :, kept % window] = part[:, :, kept - self.length]
        return out[0], out[1]

    def select(self, rows: Tensor) -> None:
        """Keep these texts, in this order; a text may be named more than once."""
        for stores in (self._keys, self._values):
            stores[:] = [store.index_select(0, rows) for store in stores]

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens.

        Raises
        ------
        ValueError
            When it does not hold so many, or has overwritten what they would see.
        """
        small = min((window for window in self.windows if window is not None), default=length)
        if not 0 <= length <= self.length or self.length > max(length, small):
            raise ValueError(f"a cache of {self.length} tokens cannot be rewound to {length}")
        self.length = length

    def numbers(self) -> int:
        """How many numbers it holds for the tokens seen so far, all texts together."""
        return sum(
            2 * store.shape[0] * store.shape[1] * min(self.length, store.shape[2]) * store.shape[3]
            for store in self._keys
        )


class SourceCache(KeyValueCache):
    """Of a decoder that reads a source: its own past, and keys and values of the source.

    The latter never change while one text is written; they are computed once.

    Parameters
    ----------
    layers, batch, groups, longest, width, like
        As in `KeyValueCache`.
    source
        Of each block, keys and values, shape ``(batch, groups, source length, width)``.
    real
        False on padding of the source, shape ``(batch, source length)``; None: no padding.
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
        source: list[tuple[Tensor, Tensor]],
        real: Tensor | None,
    ) -> None:
        super().__init__(layers, batch, groups, longest, width, like)
        self.source = source
        self.real = real

    def select(self, rows: Tensor) -> None:
        """Keep these texts, in this order; a text may be named more than once."""
        super().select(rows)
        self.source = [
            (key.index_select(0, rows), value.index_select(0, rows)) for key, value in self.source
        ]
        self.real = None if self.real is None else self.real.index_select(0, rows)


def window_mask(queries: Tensor, keys: Tensor, window: int, sinks: int = 0) -> Tensor:
    """True where a key stands less than a window behind a query. Causality is not in it.

    Parameters
    ----------
    queries, keys
        Positions in the text, shape ``(batch or 1, length)`` each.
    window
        How many tokens back a query looks, itself included.
    sinks
        So many first tokens are seen from everywhere.

    Returns
    -------
    Tensor
        Boolean, shape ``(batch or 1, 1, queries, keys)``.
    """
    key = keys[:, None, None, :]
    return (key > queries[:, None, :, None] - window) | (key < sinks)


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
    if length > 1:
        # A query that stands on padding sees itself, so that no softmax is empty.
        own = torch.arange(before, keys, device=real.device).unsqueeze(-1)
        mask = mask | (own == torch.arange(keys, device=real.device))
    return positions, mask
