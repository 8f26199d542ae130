"""Small networks that must recall what they read: one block, four ways to mix tokens.

All share the block: a mixer behind a short convolution of queries, keys and values, then a
SwiGLU. What differs is the memory: all keys and values (attention), a sum of written pairs
(linear attention), a sum that corrects itself (the delta rule; Schlag et al. 2021), or one
that also fades (the gated delta rule; Yang, Kautz and Hatamizadeh 2024). A hybrid has more
than one of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.layers.attention import attend
from remeasure.nn.layers.gated_delta import (
    gated_delta,
    gated_delta_loop,
    linear_attention,
    linear_attention_loop,
)
from remeasure.nn.layers.mlp import SwiGLU
from remeasure.nn.layers.norms import RMSNorm
from remeasure.nn.layers.short_conv import ShortConv

Kind = Literal["attention", "linear", "delta", "gated_delta"]
Memory = tuple[Tensor, ...]


@dataclass(frozen=True, kw_only=True)
class RecallConfig:
    """Sizes of a network.

    Attributes
    ----------
    vocabulary, width, kinds
        Tokens; channels; what mixes tokens, block by block.
    heads, head
        Heads of every mixer and channels of each.
    hidden
        Channels inside the SwiGLU.
    reach, chunk
        Tokens that the convolution sees; tokens that a delta rule computes at once.
    eps
        Added to mean squares in the norms.
    """

    vocabulary: int
    kinds: tuple[Kind, ...]
    width: int = 64
    heads: int = 2
    head: int = 32
    hidden: int = 128
    reach: int = 4
    chunk: int = 64
    eps: float = 1e-5

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built network must meet."""
        wide = self.heads * self.head
        mixer = 4 * self.width * wide + 3 * wide * self.reach
        extra = {
            "attention": 0,
            "linear": 0,
            "delta": self.width * self.heads + self.head,
            "gated_delta": 2 * self.width * self.heads + 2 * self.heads + self.head,
        }
        block = mixer + 3 * self.width * self.hidden + 2 * self.width
        mixers = sum(block + extra[kind] for kind in self.kinds)
        return 2 * self.vocabulary * self.width + mixers + self.width


#: The networks that the study compares, by name.
LAYOUTS: dict[str, tuple[Kind, ...]] = {
    "transformer": ("attention",) * 4,
    "linear": ("linear",) * 4,
    "delta": ("delta",) * 4,
    "gated_delta": ("gated_delta",) * 4,
    "hybrid_second": ("gated_delta", "attention", "gated_delta", "gated_delta"),
    "hybrid_last": ("gated_delta", "gated_delta", "gated_delta", "attention"),
}


class Mixer(nn.Module):
    """Queries, keys and values behind a convolution, and one of four memories.

    A gate of the gated rule keeps ``exp(-A softplus(w x + b))`` of the memory. At the start
    ``A`` is uniform below 16 and ``softplus(b)`` uniform in logarithm between 0.001 and 0.1, so
    that the median head keeps 94% a token. ``A`` and ``b`` have one axis: they take no weight
    decay where only matrices do.
    """

    def __init__(self, config: RecallConfig, kind: Kind) -> None:
        super().__init__()
        self.config, self.kind = config, kind
        wide = config.heads * config.head
        self.into = nn.Linear(config.width, 3 * wide, bias=False)
        self.conv = ShortConv(3 * wide, config.reach, bias=False)
        self.out = nn.Linear(wide, config.width, bias=False)
        if kind in ("delta", "gated_delta"):
            self.beta = nn.Linear(config.width, config.heads, bias=False)
            self.norm = RMSNorm(config.head, config.eps)
        if kind == "gated_delta":
            self.fade = nn.Linear(config.width, config.heads, bias=False)
            self.rate = nn.Parameter(torch.empty(config.heads).uniform_(0.0, 16.0))
            first = torch.exp(torch.empty(config.heads).uniform_(math.log(1e-3), math.log(0.1)))
            self.fade_bias = nn.Parameter(first + torch.log(-torch.expm1(-first)))

    def decay(self, x: Tensor) -> Tensor:
        """Logarithm of what a token leaves of the memory, ``(batch, length, heads)``."""
        if self.kind != "gated_delta":
            return x.new_zeros(*x.shape[:2], self.config.heads)
        return -self.rate.abs() * F.softplus(self.fade(x) + self.fade_bias)

    def forward(
        self, x: Tensor, window: Tensor | None = None, memory: Memory | None = None
    ) -> tuple[Tensor, Tensor | None, Memory]:
        """Mix tokens, from nothing or from where a text stands.

        Parameters
        ----------
        x
            Shape ``(batch, length, width)``.
        window
            Of the convolution; None: a text begins, and no new window is made.
        memory
            What the last call gave back; None: nothing.

        Returns
        -------
        tuple
            Shape of ``x``, the window and the memory after the last token.
        """
        config, kind = self.config, self.kind
        place = x.shape[:2]
        mixed, window = self.conv(self.into(x), window)
        query, key, value = (
            part.view(*place, config.heads, config.head) for part in mixed.chunk(3, dim=-1)
        )  # (batch, length, heads, head) each
        if kind == "attention":
            if memory is not None:
                key, value = (
                    torch.cat(pair, dim=1) for pair in zip(memory, (key, value), strict=True)
                )
            memory = (key, value)
            parts = (part.transpose(1, 2) for part in (query, key, value))
            seen = attend(*parts, causal=True).transpose(1, 2)
        elif kind == "linear":
            if memory is None and window is None:
                seen, memory = linear_attention(query, key, value), ()
            else:
                state = None if memory is None else (memory[0], memory[1])
                seen, memory = linear_attention_loop(query, key, value, state)
        else:
            # Only keys of unit length store exactly.
            query, key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)
            taken = (query, key, value, self.decay(x), self.beta(x).sigmoid())
            kept = None if memory is None else memory[0]
            if place[1] == 1:
                seen, after = gated_delta_loop(*taken, kept)
            else:
                seen, after = gated_delta(*taken, chunk=config.chunk, state=kept)
            seen, memory = self.norm(seen), (after,)
        out: Tensor = self.out(seen.flatten(2))
        return out, window, memory


class Block(nn.Module):
    """``x + mixer(norm(x))``, then ``x + mlp(norm(x))``."""

    def __init__(self, config: RecallConfig, kind: Kind) -> None:
        super().__init__()
        self.mixer_norm = RMSNorm(config.width, config.eps)
        self.mixer = Mixer(config, kind)
        self.mlp_norm = RMSNorm(config.width, config.eps)
        self.mlp = SwiGLU(config.width, config.hidden)

    def forward(
        self, x: Tensor, window: Tensor | None, memory: Memory | None
    ) -> tuple[Tensor, Tensor | None, Memory]:
        """Shape ``(batch, length, width)`` in and out; see `Mixer.forward`."""
        mixed, window, memory = self.mixer(self.mixer_norm(x), window, memory)
        x = x + mixed
        return x + self.mlp(self.mlp_norm(x)), window, memory


class RecallCache:
    """Window and memory of each block."""

    def __init__(self, windows: list[Tensor | None]) -> None:
        self.windows = windows
        self.memories: list[Memory | None] = [None] * len(windows)
        self.length = 0


class Recall(nn.Module):
    """Token ids to logits of the next token, without positions.

    Parameters
    ----------
    config
        Sizes and kinds.
    """

    def __init__(self, config: RecallConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocabulary, config.width)
        nn.init.normal_(self.embed.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(config, kind) for kind in config.kinds)
        self.norm = RMSNorm(config.width, config.eps)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)

    def cache(self, batch: int) -> RecallCache:
        """An empty cache for ``batch`` texts."""
        shape = (batch, 3 * self.config.heads * self.config.head, self.config.reach)
        return RecallCache([self.embed.weight.new_zeros(shape) for _ in self.blocks])

    def forward(self, ids: Tensor, cache: RecallCache | None = None) -> Tensor:
        """Logits of the next token, shape ``(batch, length, vocabulary)``.

        Parameters
        ----------
        ids
            Token ids, shape ``(batch, length)``; with a cache, only those it has not seen.
        cache
            Of `cache`, changed by this call.
        """
        x = self.embed(ids)
        for number, block in enumerate(self.blocks):
            if cache is None:
                x, _, _ = block(x, None, None)
            else:
                x, cache.windows[number], cache.memories[number] = block(
                    x, cache.windows[number], cache.memories[number]
                )
        if cache is not None:
            cache.length += ids.shape[1]
        out: Tensor = self.head(self.norm(x))
        return out
