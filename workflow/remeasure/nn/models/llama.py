"""Llama (Touvron et al. 2023), the decoder that most open language models are variants of.

Pre-norm blocks of rotary grouped-query attention and a SwiGLU, no biases. SmolLM2 and
TinyLlama are this model with other sizes.
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
class LlamaConfig:
    """Sizes of a model.

    Attributes
    ----------
    vocabulary, width, layers, heads, groups, hidden
        Tokens; channels; blocks; query heads; key-value heads; channels inside the SwiGLU.
    rope, eps
        Rotary positions; added to mean squares in the norms.
    tied
        The output map is the transposed embedding.
    window
        Mistral: how many tokens back every block looks, itself included; None: all.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    groups: int
    hidden: int
    rope: Rope = field(default_factory=Rope)
    eps: float = 1e-5
    tied: bool = True
    window: int | None = None

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> LlamaConfig:
        """From the published ``config.json`` of a Llama or Mistral.

        Raises
        ------
        KeyError
            When a size is missing.
        DataError
            When it asks for something that this model does not have.
        """
        head = config["hidden_size"] // config["num_attention_heads"]
        only(
            config,
            attention_bias=False,
            mlp_bias=False,
            hidden_act="silu",
            head_dim=(None, head),
        )
        return cls(
            vocabulary=config["vocab_size"],
            width=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            groups=config.get("num_key_value_heads") or config["num_attention_heads"],
            hidden=config["intermediate_size"],
            rope=Rope.from_json(config),
            eps=config["rms_norm_eps"],
            tied=config.get("tie_word_embeddings", False),
            window=config.get("sliding_window"),
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
    rope=Rope(theta=100_000.0),
)

#: TinyLlama-1.1B: sizes as in its published configuration.
TINYLLAMA = LlamaConfig(
    vocabulary=32_000,
    width=2048,
    layers=22,
    heads=32,
    groups=4,
    hidden=5632,
    tied=False,
)

#: Llama 3.1 8B.
LLAMA_3_1_8B = LlamaConfig(
    vocabulary=128_256,
    width=4096,
    layers=32,
    heads=32,
    groups=8,
    hidden=14_336,
    rope=Rope(theta=500_000.0, kind="llama3", factor=8.0, trained=8192),
    tied=False,
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
        past: tuple[Cache, int] | None,
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
        past: tuple[Cache, int] | None,
    ) -> Tensor:
        """Shape ``(batch, length, width)`` in and out."""
        x = x + self.attention(self.attention_norm(x), turns, mask, past)
        out: Tensor = x + self.mlp(self.mlp_norm(x))
        return out


class Llama(RotaryDecoder):
    """Token ids to logits of the next token.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: LlamaConfig) -> None:
        head = config.width // config.heads
        super().__init__(
            vocabulary=config.vocabulary,
            width=config.width,
            blocks=[Block(config) for _ in range(config.layers)],
            norm=RMSNorm(config.width, config.eps),
            tied=config.tied,
            rope=config.rope,
            rotated=head,
            groups=config.groups,
            head=head,
            windows=(config.window,) * config.layers,
        )
        self.config = config
