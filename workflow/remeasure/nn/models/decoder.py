"""What decoders with rotary positions have in common: everything but the block.

A model of this family embeds tokens, sends them through blocks of its own kind, norms, and
maps to scores. Positions, padding, windows and the cache are the same in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.layers.cache import KeyValueCache, WindowCache, places, window_mask
from remeasure.nn.layers.rotary import angles
from remeasure.nn.layers.stretch import Rope

Cache = KeyValueCache | WindowCache


def widened(x: Tensor) -> Tensor:
    """The same numbers in float32, or in float64 where they are that already."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


class RotaryDecoder(nn.Module):
    """Token ids to logits of the next token.

    A block is called as ``block(x, (cos, sin), mask, past)`` with ``x`` of shape ``(batch,
    length, width)``, angles of shape ``(batch or 1, 1, length, rotated / 2)``, a mask that
    broadcasts to ``(batch, 1, length, keys)`` or None, causality not in it, and ``past`` the
    cache with the number of the block, or None.

    Parameters
    ----------
    vocabulary, width
        Tokens; channels.
    blocks
        The blocks, in order.
    norm
        The last norm.
    tied
        The output map is the transposed embedding.
    rope, rotated
        Rotary positions, and how many channels of a head they turn.
    groups, head
        Key-value heads and channels of each: what the cache holds.
    windows
        Of each block, how many tokens back it looks, itself included; None: all.

    Attributes
    ----------
    turns, temperature
        Radians a position of each pair, and the factor of cosines and sines: an experiment
        may exchange both.
    windows, sinks
        Likewise; the first ``sinks`` tokens are seen through every window.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        width: int,
        blocks: Sequence[nn.Module],
        norm: nn.Module,
        tied: bool,
        rope: Rope,
        rotated: int,
        groups: int,
        head: int,
        windows: Sequence[int | None] = (),
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(blocks)
        self.norm = norm
        self.head = None if tied else nn.Linear(width, vocabulary, bias=False)
        self._rope, self._rotated = rope, rotated
        self.stretch_to(0)
        self.temperature = rope.temperature()
        self.windows: tuple[int | None, ...] = tuple(windows) or (None,) * len(blocks)
        self.sinks = 0
        self._held = (groups, head)

    def stretch_to(self, length: int) -> None:
        """Set the frequencies for texts of this length, where the rule depends on it.

        Rotated keys lie in a cache, so this is done before a text is begun, not while it grows.
        """
        with torch.device("cpu"):
            self.turns = self._rope.turns(self._rotated, length)
        limit = max(length, self._rope.trained)
        self._limit = limit if self._rope.kind == "dynamic" else None

    def cache(self, batch: int, longest: int, *, rolling: bool = False) -> Cache:
        """An empty cache for ``batch`` texts of at most ``longest`` tokens.

        ``rolling``: windowed blocks keep no more than their window.

        Raises
        ------
        ValueError
            When the cache rolls and the first tokens must stay visible.
        """
        groups, head = self._held
        if rolling:
            if self.sinks:
                raise ValueError("a rolling cache forgets the first tokens")
            return WindowCache(self.windows, batch, groups, longest, head, self.embed.weight)
        return KeyValueCache(len(self.blocks), batch, groups, longest, head, self.embed.weight)

    def embedded(self, ids: Tensor) -> Tensor:
        """What enters the first block, shape ``(batch, length, width)``."""
        out: Tensor = self.embed(ids)
        return out

    def hidden(
        self,
        ids: Tensor,
        real: Tensor | None = None,
        cache: Cache | None = None,
        *,
        keep: list[Tensor] | None = None,
    ) -> Tensor:
        """States after the last norm, shape ``(batch, length, width)``; see `forward`.

        ``keep`` receives what enters the first block and what leaves each.

        Raises
        ------
        ValueError
            When the frequencies depend on the length and were set for a shorter text.
        """
        length = ids.shape[1]
        before = cache.length if cache else 0
        if self._limit is not None and before + length > self._limit:
            raise ValueError(f"call stretch_to({before + length}) before a text of this length")
        positions, padding = places(length, before, real, ids.device)
        cos, sin = (part.unsqueeze(1) * self.temperature for part in angles(positions, self.turns))
        masks: dict[int | None, Tensor | None] = {None: padding}
        x = self.embedded(ids)
        if keep is not None:
            keep.append(x)
        for number, (block, window) in enumerate(zip(self.blocks, self.windows, strict=True)):
            if window is not None and window not in masks:
                order = cache.order(number, length) if cache else None
                masks[window] = self._windowed(window, positions, padding, real, order, before)
            x = block(x, (cos, sin), masks[window], (cache, number) if cache else None)
            if keep is not None:
                keep.append(x)
        if cache:
            cache.length = before + length
        out: Tensor = self.norm(x)
        return out

    def _windowed(
        self,
        window: int,
        positions: Tensor,
        padding: Tensor | None,
        real: Tensor | None,
        order: Tensor | None,
        before: int,
    ) -> Tensor | None:
        """The mask of a block with a window; ``order`` says which keys a rolling cache gives."""
        stop = before + positions.shape[1]
        if real is None:
            keys = torch.arange(stop, device=positions.device).unsqueeze(0)
        else:
            keys, _ = places(stop, 0, real, real.device)
        if order is not None:
            order = order.to(keys.device)
            keys = keys[:, order]
            padding = None if padding is None else padding[..., order]
        if keys.shape[1] <= window:
            return padding
        band = window_mask(positions, keys, window, self.sinks)
        return band if padding is None else padding & band

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every token from states, shape ``(..., vocabulary)``."""
        weight = self.embed.weight if self.head is None else self.head.weight
        return F.linear(hidden, weight)

    def forward(
        self, ids: Tensor, real: Tensor | None = None, cache: Cache | None = None
    ) -> Tensor:
        """Logits of the next token at every position.

        Parameters
        ----------
        ids
            Token ids, shape ``(batch, length)``; with a cache, only those it has not seen.
        real
            False on padding (on the left), shape ``(batch, past + length)``; None: no padding.
        cache
            Of `cache`, extended by this call.

        Returns
        -------
        Tensor
            Shape ``(batch, length, vocabulary)``.
        """
        return self.logits(self.hidden(ids, real, cache))
