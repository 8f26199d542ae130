"""What Mamba and Mamba-2 have in common: everything but the mixer.

Tokens are embedded, sent through blocks ``x + mixer(norm(x))``, normed and mapped to scores.
There are no positions, and the cache has the same size for any text.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.layers.norms import RMSNorm
from remeasure.nn.layers.state_cache import StateCache
from remeasure.nn.models.decoder import widened


class Block(nn.Module):
    """``x + mixer(norm(x))``; the sum stays in float32."""

    def __init__(self, width: int, eps: float, mixer: nn.Module) -> None:
        super().__init__()
        self.norm = RMSNorm(width, eps)
        self.mixer = mixer

    def forward(
        self, x: Tensor, real: Tensor | None, past: tuple[StateCache, int] | None
    ) -> Tensor:
        """Shape ``(batch, length, width)`` in and out."""
        out: Tensor = x + self.mixer(self.norm(x), real, past)
        return out


class StateDecoder(nn.Module):
    """Token ids to logits of the next token.

    A mixer is called as ``mixer(x, real, past)`` with ``x`` of shape ``(batch, length,
    width)``, ``real`` of shape ``(batch, length, 1)``, 0 on padding, or None, and ``past``
    the cache with the number of the block, or None.

    Parameters
    ----------
    vocabulary, width, eps
        Tokens; channels; added to mean squares in the norms.
    mixers
        Of the blocks, in order.
    tied
        The output map is the transposed embedding.
    window, state
        Shape of what each block remembers of one text.
    """

    def __init__(
        self,
        *,
        vocabulary: int,
        width: int,
        eps: float,
        mixers: Sequence[nn.Module],
        tied: bool,
        window: tuple[int, ...],
        state: tuple[int, ...],
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, eps, mixer) for mixer in mixers)
        self.norm = RMSNorm(width, eps)
        self.head = None if tied else nn.Linear(width, vocabulary, bias=False)
        self._held = (window, state)

    def cache(self, batch: int, longest: int = 0) -> StateCache:
        """An empty cache for ``batch`` texts of any length."""
        window, state = self._held
        like = self.embed.weight
        wide = widened(like[:0])  # states are not kept in half precision
        return StateCache(
            [like.new_zeros(batch, *window) for _ in self.blocks],
            [wide.new_zeros(batch, *state) for _ in self.blocks],
        )

    def hidden(
        self,
        ids: Tensor,
        real: Tensor | None = None,
        cache: StateCache | None = None,
        *,
        keep: list[Tensor] | None = None,
    ) -> Tensor:
        """States after the last norm, shape ``(batch, length, width)``; see `forward`.

        ``keep`` receives what enters the first block and what leaves each.
        """
        x = widened(self.embed(ids))
        there = None
        if real is not None:
            there = real[:, -ids.shape[1] :, None].to(self.embed.weight.dtype)
        if keep is not None:
            keep.append(x)
        for number, block in enumerate(self.blocks):
            x = block(x, there, (cache, number) if cache else None)
            if keep is not None:
                keep.append(x)
        if cache:
            cache.length += ids.shape[1]
        out: Tensor = self.norm(x)
        return out

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every token from states, shape ``(..., vocabulary)``, float32 at least."""
        weight = self.embed.weight if self.head is None else self.head.weight
        return widened(F.linear(hidden, weight))

    def forward(
        self, ids: Tensor, real: Tensor | None = None, cache: StateCache | None = None
    ) -> Tensor:
        """Logits of the next token at every position.

        Parameters
        ----------
        ids
            Token ids, shape ``(batch, length)``; with a cache, only those it has not seen.
        real
            False on padding (on the left), shape ``(batch, past + length)``; None: no padding.
        cache
            Of `cache`, changed by this call.

        Returns
        -------
        Tensor
            Shape ``(batch, length, vocabulary)``.
        """
        return self.logits(self.hidden(ids, real, cache))
