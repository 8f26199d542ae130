"""MiniCPM3 (Hu et al. 2024): a decoder with multi-head latent attention and three scalings.

The embedding, each half block and the last state are multiplied by constants, so that models
of different sizes train alike. The residual stream is kept in float32 whatever the type of
the weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.cache import KeyValueCache
from remeasure.nn.layers.latent import ExpandedCache, Form, LatentAttention
from remeasure.nn.layers.mlp import SwiGLU
from remeasure.nn.layers.norms import RMSNorm
from remeasure.nn.layers.stretch import Rope
from remeasure.nn.models.decoder import RotaryDecoder, widened
from remeasure.nn.models.published import only


@dataclass(frozen=True, kw_only=True)
class MiniCPM3Config:
    """Sizes of a model.

    Attributes
    ----------
    vocabulary, width, layers, heads, hidden
        Tokens; channels; blocks; heads; channels inside the SwiGLU.
    query_rank, rank, nope, rotary, value
        As in `LatentAttention`; ``rotary`` is its ``rope``.
    embedding_scale, depth_scale, base_width
        The embedding times the first; each half block times the second over the root of the
        number of blocks; the last state divided by width over the third.
    rope, eps, latent_eps
        Rotary positions; added to mean squares in the norms, and in those of the latents.
    tied
        The output map is the transposed embedding.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    hidden: int
    query_rank: int
    rank: int
    nope: int
    rotary: int
    value: int
    embedding_scale: float = 12.0
    depth_scale: float = 1.4
    base_width: int = 256
    rope: Rope = field(default_factory=Rope)
    eps: float = 1e-5
    latent_eps: float = 1e-6
    tied: bool = True

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> MiniCPM3Config:
        """From the published ``config.json``, in which the width of a value may be missing.

        Raises
        ------
        KeyError
            When a size is missing.
        DataError
            When it asks for something that this model does not have.
        """
        only(config, attention_bias=False, mlp_bias=False, hidden_act="silu")
        width, heads = config["hidden_size"], config["num_attention_heads"]
        return cls(
            vocabulary=config["vocab_size"],
            width=width,
            layers=config["num_hidden_layers"],
            heads=heads,
            hidden=config["intermediate_size"],
            query_rank=config["q_lora_rank"],
            rank=config["kv_lora_rank"],
            nope=config["qk_nope_head_dim"],
            rotary=config["qk_rope_head_dim"],
            value=config.get("v_head_dim") or width // heads,
            embedding_scale=config["scale_emb"],
            depth_scale=config["scale_depth"],
            base_width=config["dim_model_base"],
            rope=Rope.from_json(config),
            eps=config["rms_norm_eps"],
            tied=config.get("tie_word_embeddings", True),
        )

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        d, head = self.width, self.nope + self.rotary
        attention = (
            self.query_rank * (d + self.heads * head)
            + d * (self.rank + self.rotary)
            + self.rank * self.heads * (self.nope + self.value)
            + self.heads * self.value * d
        )
        norms = 2 * d + self.query_rank + self.rank
        block = attention + 3 * d * self.hidden + norms
        return self.layers * block + self.vocabulary * d * (1 if self.tied else 2) + d


#: MiniCPM3-4B: sizes as in its published configuration. Its rotary factors come with the file.
MINICPM3_4B = MiniCPM3Config(
    vocabulary=73_448,
    width=2560,
    layers=62,
    heads=40,
    hidden=6400,
    query_rank=768,
    rank=256,
    nope=64,
    rotary=32,
    value=64,
)

NAMES = Names(
    [
        Name("embed.weight", "model.embed_tokens.weight"),
        Name("blocks.{i}.attention.q_a.weight", "model.layers.{i}.self_attn.q_a_proj.weight"),
        Name("blocks.{i}.attention.q_b.weight", "model.layers.{i}.self_attn.q_b_proj.weight"),
        Name(
            "blocks.{i}.attention.kv_a.weight",
            "model.layers.{i}.self_attn.kv_a_proj_with_mqa.weight",
        ),
        Name("blocks.{i}.attention.kv_b.weight", "model.layers.{i}.self_attn.kv_b_proj.weight"),
        Name("blocks.{i}.attention.o.weight", "model.layers.{i}.self_attn.o_proj.weight"),
        Name(
            "blocks.{i}.attention.q_norm.weight", "model.layers.{i}.self_attn.q_a_layernorm.weight"
        ),
        Name(
            "blocks.{i}.attention.kv_norm.weight",
            "model.layers.{i}.self_attn.kv_a_layernorm.weight",
        ),
        Name("blocks.{i}.mlp.{map}.weight", "model.layers.{i}.mlp.{map}_proj.weight"),
        Name("blocks.{i}.attention_norm.weight", "model.layers.{i}.input_layernorm.weight"),
        Name("blocks.{i}.mlp_norm.weight", "model.layers.{i}.post_attention_layernorm.weight"),
        Name("norm.weight", "model.norm.weight"),
        Name("head.weight", "lm_head.weight"),
    ],
    ignored=["lm_head.weight", "model.layers.{i}.self_attn.rotary_emb.inv_freq"],
)


class Block(nn.Module):
    """``x + r attention(norm(x))``, then ``x + r mlp(norm(x))``."""

    def __init__(self, config: MiniCPM3Config) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.width, config.eps)
        self.attention = LatentAttention(
            config.width,
            config.heads,
            query_rank=config.query_rank,
            rank=config.rank,
            nope=config.nope,
            rope=config.rotary,
            value=config.value,
            eps=config.latent_eps,
        )
        self.mlp_norm = RMSNorm(config.width, config.eps)
        self.mlp = SwiGLU(config.width, config.hidden)
        self.share = config.depth_scale / math.sqrt(config.layers)

    def forward(
        self,
        x: Tensor,
        turns: tuple[Tensor, Tensor],
        mask: Tensor | None,
        past: tuple[KeyValueCache, int] | None,
    ) -> Tensor:
        """Shape ``(batch, length, width)`` in and out, float32 at least."""
        mixed = self.attention(self.attention_norm(x), turns, mask, past)
        x = x + widened(mixed) * self.share
        out: Tensor = x + widened(self.mlp(self.mlp_norm(x))) * self.share
        return out


class MiniCPM3(RotaryDecoder):
    """Token ids to logits of the next token.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: MiniCPM3Config) -> None:
        super().__init__(
            vocabulary=config.vocabulary,
            width=config.width,
            blocks=[Block(config) for _ in range(config.layers)],
            norm=RMSNorm(config.width, config.eps),
            tied=config.tied,
            rope=config.rope,
            rotated=config.rotary,
            groups=1,
            head=config.rank,
        )
        self.config = config

    def cache(
        self, batch: int, longest: int, *, rolling: bool = False, expanded: bool = False
    ) -> KeyValueCache:
        """An empty cache for ``batch`` texts of at most ``longest`` tokens.

        Latents and rotary keys, or with ``expanded`` the keys and values of every head.

        Raises
        ------
        ValueError
            When it is to roll, which no block of this model can.
        """
        if rolling:
            raise ValueError("no block of this model has a window")
        config, weight = self.config, self.embed.weight
        if expanded:
            width = config.nope + config.rotary
            return ExpandedCache(
                config.layers, batch, config.heads, longest, width, weight, value_width=config.value
            )
        return KeyValueCache(
            config.layers, batch, 1, longest, config.rank, weight, value_width=config.rotary
        )

    def use(self, form: Form) -> None:
        """Compute attention in this form from now on."""
        for module in self.modules():
            if isinstance(module, LatentAttention):
                module.form = form

    def embedded(self, ids: Tensor) -> Tensor:
        """What enters the first block, shape ``(batch, length, width)``, float32 at least."""
        return widened(self.embed(ids)) * self.config.embedding_scale

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every token from states, shape ``(..., vocabulary)``, float32 at least."""
        return widened(super().logits(hidden / (self.config.width / self.config.base_width)))
