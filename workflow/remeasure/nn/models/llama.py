"""Llama (Touvron et al. 2023), the decoder that most open language models are variants of.

Pre-norm blocks of rotary grouped-query attention and a SwiGLU, no biases. SmolLM2 and
TinyLlama are this model with other sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.attention import attend, join_heads, split_heads
from remeasure.nn.layers.cache import KeyValueCache, places
from remeasure.nn.layers.mlp import SwiGLU
from remeasure.nn.layers.norms import RMSNorm
from remeasure.nn.layers.rotary import angles, frequencies, rotate


@dataclass(frozen=True, kw_only=True)
class LlamaConfig:
    """Sizes of a model.

    Attributes
    ----------
    vocabulary, width, layers, heads, groups, hidden
        Tokens; channels; blocks; query heads; key-value heads; channels inside the SwiGLU.
    theta, eps
        Base of the rotary angles; added to mean squares in the norms.
    tied
        The output map is the transposed embedding.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    groups: int
    hidden: int
    theta: float = 10_000.0
    eps: float = 1e-5
    tied: bool = True

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> LlamaConfig:
        """From the published ``config.json``; KeyError where a size is missing."""
        rope = config.get("rope_parameters") or {}
        return cls(
            vocabulary=config["vocab_size"],
            width=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            groups=config.get("num_key_value_heads", config["num_attention_heads"]),
            hidden=config["intermediate_size"],
            theta=config.get("rope_theta", rope.get("rope_theta", 10_000.0)),
            eps=config["rms_norm_eps"],
            tied=config.get("tie_word_embeddings", False),
        )

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        head = self.width // self.heads
        attention = 2 * self.width * self.width + 2 * self.width * self.groups * head
        block = attention + 3 * self.width * self.hidden + 2 * self.width
        embedding = self.vocabulary * self.width * (1 if self.tied else 2)
        return embedding + self.layers * block + self.width


#: SmolLM2-135M: sizes as in its published configuration.
SMOLLM2_135M = LlamaConfig(
    vocabulary=49_152,
    width=576,
    layers=30,
    heads=9,
    groups=3,
    hidden=1536,
    theta=100_000.0,
)

NAMES = Names(
    [
        Name("embed.weight", "model.embed_tokens.weight"),
        Name("blocks.{i}.attention.{map}.weight", "model.layers.{i}.self_attn.{map}_proj.weight"),
        Name("blocks.{i}.mlp.{map}.weight", "model.layers.{i}.mlp.{map}_proj.weight"),
        Name("blocks.{i}.attention_norm.weight", "model.layers.{i}.input_layernorm.weight"),
        Name("blocks.{i}.mlp_norm.weight", "model.layers.{i}.post_attention_layernorm.weight"),
        Name("norm.weight", "model.norm.weight"),
        Name("head.weight", "lm_head.weight"),
    ],
    ignored=["lm_head.weight", "model.layers.{i}.self_attn.rotary_emb.inv_freq"],
)


class Attention(nn.Module):
    """Rotary grouped-query attention."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.heads, self.groups = config.heads, config.groups
        narrow = config.groups * (config.width // config.heads)
        self.q = nn.Linear(config.width, config.width, bias=False)
        self.k = nn.Linear(config.width, narrow, bias=False)
        self.v = nn.Linear(config.width, narrow, bias=False)
        self.o = nn.Linear(config.width, config.width, bias=False)

    def forward(
        self,
        x: Tensor,  # (batch, length, width)
        turns: tuple[Tensor, Tensor],  # cosines, sines: (batch or 1, 1, length, head width / 2)
        mask: Tensor | None,  # (batch, 1, length, keys), True: may look
        past: tuple[KeyValueCache, int] | None,
    ) -> Tensor:
        """Causal attention; ``past`` is the cache and the number of this block."""
        query = rotate(split_heads(self.q(x), self.heads), *turns)
        key = rotate(split_heads(self.k(x), self.groups), *turns)
        value = split_heads(self.v(x), self.groups)
        if past is not None:
            key, value = past[0].extend(past[1], key, value)
        mixed: Tensor = self.o(join_heads(attend(query, key, value, mask=mask, causal=True)))
        return mixed


class Block(nn.Module):
    """``x + attention(norm(x))``, then ``x + mlp(norm(x))``."""

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.width, config.eps)
        self.attention = Attention(config)
        self.mlp_norm = RMSNorm(config.width, config.eps)
        self.mlp = SwiGLU(config.width, config.hidden)

    def forward(
        self,
        x: Tensor,
        turns: tuple[Tensor, Tensor],
        mask: Tensor | None,
        past: tuple[KeyValueCache, int] | None,
    ) -> Tensor:
        """Shape ``(batch, length, width)`` in and out."""
        x = x + self.attention(self.attention_norm(x), turns, mask, past)
        out: Tensor = x + self.mlp(self.mlp_norm(x))
        return out


class Llama(nn.Module):
    """Token ids to logits of the next token.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.width, config.eps)
        self.head = None if config.tied else nn.Linear(config.width, config.vocabulary, bias=False)

    def cache(self, batch: int, longest: int) -> KeyValueCache:
        """An empty cache for ``batch`` texts of at most ``longest`` tokens."""
        config = self.config
        head = config.width // config.heads
        return KeyValueCache(config.layers, batch, config.groups, longest, head, self.embed.weight)

    def hidden(
        self, ids: Tensor, real: Tensor | None = None, cache: KeyValueCache | None = None
    ) -> Tensor:
        """States after the last norm, shape ``(batch, length, width)``; see `forward`."""
        before = cache.length if cache else 0
        positions, mask = places(ids.shape[1], before, real, ids.device)
        turns = frequencies(self.config.width // self.config.heads, self.config.theta)
        cos, sin = (part.unsqueeze(1) for part in angles(positions, turns))
        x = self.embed(ids)
        for number, block in enumerate(self.blocks):
            x = block(x, (cos, sin), mask, (cache, number) if cache else None)
        if cache:
            cache.length = before + ids.shape[1]
        out: Tensor = self.norm(x)
        return out

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every token from states, shape ``(..., vocabulary)``."""
        weight = self.embed.weight if self.head is None else self.head.weight
        return F.linear(hidden, weight)

    def forward(
        self, ids: Tensor, real: Tensor | None = None, cache: KeyValueCache | None = None
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
