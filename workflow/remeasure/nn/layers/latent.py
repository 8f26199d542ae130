"""Multi-head latent attention (DeepSeek-V2, Liu et al. 2024, section 2.1).

Keys and values of all heads are rebuilt from one short vector a token, the latent; positions
come from a separate rotary key that all heads share. Only these two need to be cached. One
computation has two forms: *rebuilt*, ordinary attention over keys and values of every head, and
*absorbed*, attention over the latents themselves, with the up-projection of the keys moved to
the query and that of the values behind the mean.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from remeasure.nn.layers.attention import attend, join_heads, split_heads
from remeasure.nn.layers.cache import KeyValueCache
from remeasure.nn.layers.norms import RMSNorm
from remeasure.nn.layers.rotary import rotate

Form = Literal["rebuilt", "absorbed"]


class ExpandedCache(KeyValueCache):
    """A cache of the rebuilt keys and values of every head: what the latent one saves."""


class LatentAttention(nn.Module):
    """Attention over latents.

    Parameters
    ----------
    width, heads
        Channels of the stream; heads.
    query_rank, rank
        Channels of the queries' own latent and of the one that keys and values share.
    nope, rope, value
        Channels of a head: of a key without position, of the rotary key, of a value.
    eps
        Of the two norms.

    Attributes
    ----------
    form
        ``rebuilt`` or ``absorbed``; with an `ExpandedCache` always rebuilt.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        *,
        query_rank: int,
        rank: int,
        nope: int,
        rope: int,
        value: int,
        eps: float = 1e-6,
    ) -> None:
        super().__init__()
        self.heads, self.rank, self.nope, self.rope, self.value = heads, rank, nope, rope, value
        self.q_a = nn.Linear(width, query_rank, bias=False)
        self.q_norm = RMSNorm(query_rank, eps)
        self.q_b = nn.Linear(query_rank, heads * (nope + rope), bias=False)
        self.kv_a = nn.Linear(width, rank + rope, bias=False)
        self.kv_norm = RMSNorm(rank, eps)
        # rows head by head: in each the key's, then the value's
        self.kv_b = nn.Linear(rank, heads * (nope + value), bias=False)
        self.o = nn.Linear(heads * value, width, bias=False)
        self.form: Form = "rebuilt"

    def _rebuild(self, latent: Tensor, turned: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of every head from latents and rotary keys, one head each."""
        both = split_heads(self.kv_b(latent[:, 0]), self.heads)  # (batch, heads, keys, ...)
        key, value = torch.split(both, [self.nope, self.value], dim=-1)
        return torch.cat((key, turned.expand(-1, self.heads, -1, -1)), dim=-1), value

    def forward(
        self,
        x: Tensor,  # (batch, length, width)
        turns: tuple[Tensor, Tensor],  # cosines, sines: (batch or 1, 1, length, rope / 2)
        mask: Tensor | None = None,  # broadcasts to (batch, 1, length, keys), True: may look
        past: tuple[KeyValueCache, int] | None = None,
    ) -> Tensor:
        """Causal attention; ``past`` is the cache and the number of this block."""
        query = split_heads(self.q_b(self.q_norm(self.q_a(x))), self.heads)
        plain, positioned = torch.split(query, [self.nope, self.rope], dim=-1)
        positioned = rotate(positioned, *turns)
        # one "head": (batch, 1, length, rank) and (batch, 1, length, rope)
        latent, turned = torch.split(self.kv_a(x).unsqueeze(1), [self.rank, self.rope], dim=-1)
        latent, turned = self.kv_norm(latent), rotate(turned, *turns)
        scale = (self.nope + self.rope) ** -0.5
        if past is not None and isinstance(past[0], ExpandedCache):
            key, value = past[0].extend(past[1], *self._rebuild(latent, turned))
        else:
            if past is not None:
                latent, turned = past[0].extend(past[1], latent, turned)
            if self.form == "absorbed":
                return self._absorbed(plain, positioned, latent, turned, mask, scale)
            key, value = self._rebuild(latent, turned)
        query = torch.cat((plain, positioned), dim=-1)
        mixed: Tensor = self.o(
            join_heads(attend(query, key, value, mask=mask, causal=True, scale=scale))
        )
        return mixed

    def _absorbed(
        self,
        plain: Tensor,
        positioned: Tensor,
        latent: Tensor,
        turned: Tensor,
        mask: Tensor | None,
        scale: float,
    ) -> Tensor:
        up = self.kv_b.weight.view(self.heads, self.nope + self.value, self.rank)
        to_key, to_value = torch.split(up, [self.nope, self.value], dim=1)
        query = torch.cat(
            (plain @ to_key, positioned), dim=-1
        )  # (batch, heads, length, rank + rope)
        key = torch.cat((latent, turned), dim=-1).expand(-1, self.heads, -1, -1)
        mean = attend(
            query,
            key,
            latent.expand(-1, self.heads, -1, -1),
            mask=mask,
            causal=True,
            scale=scale,
        )  # (batch, heads, length, rank)
        mixed: Tensor = self.o(join_heads(mean @ to_value.mT))
        return mixed
