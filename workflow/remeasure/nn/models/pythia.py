"""Pythia (Biderman et al. 2023), GPT-NeoX's architecture.

Attention and the GELU network of a block read the same stream, each through a norm of its own,
and are added together. Only the first channels of a head turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.attention import attend, attention_weights, causal_mask, join_heads
from remeasure.nn.layers.rotary import rotate
from remeasure.nn.layers.stretch import Rope
from remeasure.nn.models.decoder import Cache, RotaryDecoder
from remeasure.nn.models.published import only


@dataclass(frozen=True, kw_only=True)
class PythiaConfig:
    """Sizes of a model.

    Attributes
    ----------
    vocabulary, width, layers, heads, hidden
        Tokens; channels; blocks; heads; channels inside the GELU network.
    rotated
        Channels of a head that turn, the first ones.
    rope, eps
        Rotary positions; added to variances in the norms.
    parallel
        The two halves of a block read the same stream; otherwise one after the other.
    tied
        The output map is the transposed embedding.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    hidden: int
    rotated: int
    rope: Rope = field(default_factory=Rope)
    eps: float = 1e-5
    parallel: bool = True
    tied: bool = False

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> PythiaConfig:
        """From the published ``config.json``.

        Raises
        ------
        KeyError
            When a size is missing.
        DataError
            When it asks for something that this model does not have.
        """
        only(config, attention_bias=True, hidden_act="gelu")
        rule = config.get("rope_parameters") or {}
        share = rule.get("partial_rotary_factor", config.get("rotary_pct", 0.25))
        base = config.get("rotary_emb_base", 10_000.0)
        return cls(
            vocabulary=config["vocab_size"],
            width=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            hidden=config["intermediate_size"],
            rotated=int(config["hidden_size"] // config["num_attention_heads"] * share),
            rope=Rope.from_json(config, base),
            eps=config["layer_norm_eps"],
            parallel=config.get("use_parallel_residual", True),
            tied=config.get("tie_word_embeddings", False),
        )

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        d = self.width
        block = 4 * d * (d + 1) + 2 * d * self.hidden + self.hidden + d + 4 * d
        embedding = self.vocabulary * d * (1 if self.tied else 2)
        return embedding + self.layers * block + 2 * d


#: Pythia-160m: sizes as in its published configuration.
PYTHIA_160M = PythiaConfig(
    vocabulary=50_304, width=768, layers=12, heads=12, hidden=3072, rotated=16
)

NAMES = Names(
    [
        Name("embed.weight", "gpt_neox.embed_in.weight"),
        Name("blocks.{i}.attention_norm.{part}", "gpt_neox.layers.{i}.input_layernorm.{part}"),
        Name("blocks.{i}.mlp_norm.{part}", "gpt_neox.layers.{i}.post_attention_layernorm.{part}"),
        Name(
            "blocks.{i}.attention.qkv.{part}",
            "gpt_neox.layers.{i}.attention.query_key_value.{part}",
        ),
        Name("blocks.{i}.attention.o.{part}", "gpt_neox.layers.{i}.attention.dense.{part}"),
        Name("blocks.{i}.up.{part}", "gpt_neox.layers.{i}.mlp.dense_h_to_4h.{part}"),
        Name("blocks.{i}.down.{part}", "gpt_neox.layers.{i}.mlp.dense_4h_to_h.{part}"),
        Name("norm.{part}", "gpt_neox.final_layer_norm.{part}"),
        Name("head.weight", "embed_out.weight"),
        Name("head.weight", "lm_head.weight"),
    ],
    ignored=[
        "embed_out.weight",
        "lm_head.weight",
        "gpt_neox.layers.{i}.attention.bias",
        "gpt_neox.layers.{i}.attention.masked_bias",
        "gpt_neox.layers.{i}.attention.rotary_emb.inv_freq",
    ],
)


class Attention(nn.Module):
    """Attention of which the first channels turn; one map gives each head its q, k and v."""

    def __init__(self, config: PythiaConfig) -> None:
        super().__init__()
        self.heads, self.rotated = config.heads, config.rotated
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.o = nn.Linear(config.width, config.width)
        #: Where a list stands here, each call leaves its attention weights in it.
        self.watch: list[Tensor] | None = None

    def _turned(self, x: Tensor, turns: tuple[Tensor, Tensor]) -> Tensor:
        first, rest = x[..., : self.rotated], x[..., self.rotated :]
        return torch.cat((rotate(first, *turns), rest), dim=-1)

    def forward(
        self,
        x: Tensor,  # (batch, length, width)
        turns: tuple[Tensor, Tensor],  # cosines, sines: (batch or 1, 1, length, rotated / 2)
        mask: Tensor | None,  # broadcasts to (batch, 1, length, keys), True: may look
        past: tuple[Cache, int] | None,
    ) -> Tensor:
        """Causal attention; ``past`` is the cache and the number of this block."""
        batch, length, _ = x.shape
        # rows of the map stand head by head, and in a head q, k, v
        qkv = self.qkv(x).view(batch, length, self.heads, 3, -1).permute(3, 0, 2, 1, 4)
        query, key = self._turned(qkv[0], turns), self._turned(qkv[1], turns)
        value = qkv[2]
        if past is not None:
            key, value = past[0].extend(past[1], key, value)
        if self.watch is not None:
            seen = causal_mask(length, key.shape[2], x.device)
            seen = seen if mask is None else seen & mask
            self.watch.append(attention_weights(query, key, mask=seen))
        mixed: Tensor = self.o(join_heads(attend(query, key, value, mask=mask, causal=True)))
        return mixed


class Block(nn.Module):
    """``x + attention(norm(x)) + down(gelu(up(other norm(x))))``."""

    def __init__(self, config: PythiaConfig) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.width, config.eps)
        self.attention = Attention(config)
        self.mlp_norm = nn.LayerNorm(config.width, config.eps)
        self.up = nn.Linear(config.width, config.hidden)
        self.down = nn.Linear(config.hidden, config.width)
        self.parallel = config.parallel

    def forward(
        self,
        x: Tensor,
        turns: tuple[Tensor, Tensor],
        mask: Tensor | None,
        past: tuple[Cache, int] | None,
    ) -> Tensor:
        """Shape ``(batch, length, width)`` in and out."""
        after = x + self.attention(self.attention_norm(x), turns, mask, past)
        read = x if self.parallel else after
        out: Tensor = after + self.down(F.gelu(self.up(self.mlp_norm(read))))
        return out


class Pythia(RotaryDecoder):
    """Token ids to logits of the next token.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: PythiaConfig) -> None:
        super().__init__(
            vocabulary=config.vocabulary,
            width=config.width,
            blocks=[Block(config) for _ in range(config.layers)],
            norm=nn.LayerNorm(config.width, config.eps),
            tied=config.tied,
            rope=config.rope,
            rotated=config.rotated,
            groups=config.heads,
            head=config.width // config.heads,
        )
        self.config = config
