"""Qwen3 (Yang et al. 2025): Llama's block with normed queries and keys and heads of given width.

Every query and key head is normed before it turns, with one weight vector for the heads of a
block; the heads together may be wider than the model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.attention import attend, join_heads, split_heads
from remeasure.nn.layers.mlp import SwiGLU
from remeasure.nn.layers.norms import RMSNorm
from remeasure.nn.layers.rotary import rotate
from remeasure.nn.layers.stretch import Rope
from remeasure.nn.models.decoder import Cache, RotaryDecoder
from remeasure.nn.models.published import only


@dataclass(frozen=True, kw_only=True)
class Qwen3Config:
    """Sizes of a model.

    Attributes
    ----------
    vocabulary, width, layers, heads, groups, head, hidden
        Tokens; channels; blocks; query heads; key-value heads; channels of a head; channels
        inside the SwiGLU.
    rope, eps
        Rotary positions; added to mean squares in the norms.
    tied
        The output map is the transposed embedding.
    windows
        Of each block, how many tokens back it looks, itself included; empty: all, everywhere.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    groups: int
    hidden: int
    head: int = 128
    rope: Rope = field(default_factory=lambda: Rope(theta=1_000_000.0))
    eps: float = 1e-6
    tied: bool = True
    windows: tuple[int | None, ...] = ()

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> Qwen3Config:
        """From the published ``config.json``.

        Raises
        ------
        KeyError
            When a size is missing.
        DataError
            When it asks for something that this model does not have.
        """
        only(config, attention_bias=False, hidden_act="silu")
        layers = config["num_hidden_layers"]
        window = config.get("sliding_window") if config.get("use_sliding_window") else None
        kinds = config.get("layer_types") or [
            "sliding_attention" if i >= config.get("max_window_layers", layers) else ""
            for i in range(layers)
        ]
        windows = tuple(window if kind == "sliding_attention" else None for kind in kinds)
        return cls(
            vocabulary=config["vocab_size"],
            width=config["hidden_size"],
            layers=layers,
            heads=config["num_attention_heads"],
            groups=config["num_key_value_heads"],
            hidden=config["intermediate_size"],
            head=config["head_dim"],
            rope=Rope.from_json(config),
            eps=config["rms_norm_eps"],
            tied=config.get("tie_word_embeddings", False),
            windows=windows if any(windows) else (),
        )

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        attention = 2 * self.width * self.head * (self.heads + self.groups) + 2 * self.head
        block = attention + 3 * self.width * self.hidden + 2 * self.width
        embedding = self.vocabulary * self.width * (1 if self.tied else 2)
        return embedding + self.layers * block + self.width


#: Sizes as in their published configurations.
QWEN3_0_6B = Qwen3Config(vocabulary=151_936, width=1024, layers=28, heads=16, groups=8, hidden=3072)
QWEN3_4B = Qwen3Config(vocabulary=151_936, width=2560, layers=36, heads=32, groups=8, hidden=9728)
QWEN3_8B = Qwen3Config(
    vocabulary=151_936, width=4096, layers=36, heads=32, groups=8, hidden=12_288, tied=False
)

NAMES = Names(
    [
        Name("embed.weight", "model.embed_tokens.weight"),
        Name(
            "blocks.{i}.attention.{norm}_norm.weight",
            "model.layers.{i}.self_attn.{norm}_norm.weight",
        ),
        Name("blocks.{i}.attention.{map}.weight", "model.layers.{i}.self_attn.{map}_proj.weight"),
        Name("blocks.{i}.mlp.{map}.weight", "model.layers.{i}.mlp.{map}_proj.weight"),
        Name("blocks.{i}.attention_norm.weight", "model.layers.{i}.input_layernorm.weight"),
        Name("blocks.{i}.mlp_norm.weight", "model.layers.{i}.post_attention_layernorm.weight"),
        Name("norm.weight", "model.norm.weight"),
        Name("head.weight", "lm_head.weight"),
    ],
    ignored=["lm_head.weight"],
)


class Attention(nn.Module):
    """Rotary grouped-query attention with normed queries and keys."""

    def __init__(self, config: Qwen3Config) -> None:
        super().__init__()
        self.heads, self.groups = config.heads, config.groups
        wide, narrow = config.heads * config.head, config.groups * config.head
        self.q = nn.Linear(config.width, wide, bias=False)
        self.k = nn.Linear(config.width, narrow, bias=False)
        self.v = nn.Linear(config.width, narrow, bias=False)
        self.o = nn.Linear(wide, config.width, bias=False)
        self.q_norm = RMSNorm(config.head, config.eps)
        self.k_norm = RMSNorm(config.head, config.eps)

    def forward(
        self,
        x: Tensor,  # (batch, length, width)
        turns: tuple[Tensor, Tensor],  # cosines, sines: (batch or 1, 1, length, head / 2)
        mask: Tensor | None,  # broadcasts to (batch, 1, length, keys), True: may look
        past: tuple[Cache, int] | None,
    ) -> Tensor:
        """Causal attention; ``past`` is the cache and the number of this block."""
        # (batch, heads or groups, length, head); the norm is over the last axis
        query = rotate(self.q_norm(split_heads(self.q(x), self.heads)), *turns)
        key = rotate(self.k_norm(split_heads(self.k(x), self.groups)), *turns)
        value = split_heads(self.v(x), self.groups)
        if past is not None:
            key, value = past[0].extend(past[1], key, value)
        mixed: Tensor = self.o(join_heads(attend(query, key, value, mask=mask, causal=True)))
        return mixed


class Block(nn.Module):
    """``x + attention(norm(x))``, then ``x + mlp(norm(x))``."""

    def __init__(self, config: Qwen3Config) -> None:
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
        past: tuple[Cache, int] | None,
    ) -> Tensor:
        """Shape ``(batch, length, width)`` in and out."""
        x = x + self.attention(self.attention_norm(x), turns, mask, past)
        out: Tensor = x + self.mlp(self.mlp_norm(x))
        return out


class Qwen3(RotaryDecoder):
    """Token ids to logits of the next token.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: Qwen3Config) -> None:
        super().__init__(
            vocabulary=config.vocabulary,
            width=config.width,
            blocks=[Block(config) for _ in range(config.layers)],
            norm=RMSNorm(config.width, config.eps),
            tied=config.tied,
            rope=config.rope,
            rotated=config.head,
            groups=config.groups,
            head=config.head,
            windows=config.windows,
        )
        self.config = config
