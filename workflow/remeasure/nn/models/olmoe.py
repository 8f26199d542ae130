"""OLMoE (Muennighoff et al. 2024): a Llama whose feed-forward networks are mixtures of experts.

Queries and keys are normed over the whole projection, before they are split into heads. The
eight weights of a token's experts are not renormalised. The residual stream is kept in
float32 whatever the type of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.attention import attend, join_heads, split_heads
from remeasure.nn.layers.experts import Experts, softmax_top, softmax_top_renormalised
from remeasure.nn.layers.norms import RMSNorm
from remeasure.nn.layers.rotary import rotate
from remeasure.nn.layers.stretch import Rope
from remeasure.nn.models.decoder import Cache, RotaryDecoder, widened
from remeasure.nn.models.published import only


@dataclass(frozen=True, kw_only=True)
class OlmoeConfig:
    """Sizes of a model.

    Attributes
    ----------
    vocabulary, width, layers, heads, groups, hidden
        Tokens; channels; blocks; query heads; key-value heads; channels inside an expert.
    experts, chosen
        Experts a block, and how many of them serve a token.
    renormalise
        Divide the weights of the chosen by their sum.
    rope, eps
        Rotary positions; added to mean squares in the norms.
    tied
        The output map is the transposed embedding.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    groups: int
    hidden: int
    experts: int
    chosen: int
    renormalise: bool = False
    rope: Rope = field(default_factory=Rope)
    eps: float = 1e-5
    tied: bool = False

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> OlmoeConfig:
        """From the published ``config.json``, in which eps and the rotary base may be missing.

        Raises
        ------
        KeyError
            When a size is missing.
        DataError
            When it asks for something that this model does not have.
        """
        only(config, attention_bias=False, hidden_act="silu", clip_qkv=None)
        return cls(
            vocabulary=config["vocab_size"],
            width=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            groups=config.get("num_key_value_heads") or config["num_attention_heads"],
            hidden=config["intermediate_size"],
            experts=config["num_experts"],
            chosen=config["num_experts_per_tok"],
            renormalise=config.get("norm_topk_prob", False),
            rope=Rope.from_json(config),
            eps=config.get("rms_norm_eps", 1e-5),
            tied=config.get("tie_word_embeddings", False),
        )

    def parts(self) -> dict[str, int]:
        """How many numbers are learned in each kind of part."""
        narrow = self.width // self.heads * self.groups
        return {
            "embeddings": self.vocabulary * self.width * (1 if self.tied else 2),
            "attention": self.layers * 2 * self.width * (self.width + narrow),
            "routers": self.layers * self.experts * self.width,
            "experts": self.layers * self.experts * 3 * self.width * self.hidden,
            "norms": self.layers * (3 * self.width + narrow) + self.width,
        }

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        return sum(self.parts().values())

    def active(self) -> int:
        """How many of them a token meets."""
        return self.parameters() - (self.experts - self.chosen) * (
            self.parts()["experts"] // self.experts
        )


#: OLMoE-1B-7B: sizes as in its published configuration.
OLMOE_1B_7B = OlmoeConfig(
    vocabulary=50_304,
    width=2048,
    layers=16,
    heads=16,
    groups=16,
    hidden=1024,
    experts=64,
    chosen=8,
)

#: Names of a checkpoint whose experts stand stacked; `checkpoints.stacked` turns those that
#: stand one by one, as in the published files, into one of these.
NAMES = Names(
    [
        Name("embed.weight", "model.embed_tokens.weight"),
        Name(
            "blocks.{i}.attention.{norm}_norm.weight",
            "model.layers.{i}.self_attn.{norm}_norm.weight",
        ),
        Name("blocks.{i}.attention.{map}.weight", "model.layers.{i}.self_attn.{map}_proj.weight"),
        Name("blocks.{i}.mlp.router.weight", "model.layers.{i}.mlp.gate.weight"),
        Name("blocks.{i}.mlp.experts.{map}", "model.layers.{i}.mlp.experts.{map}_proj"),
        Name("blocks.{i}.attention_norm.weight", "model.layers.{i}.input_layernorm.weight"),
        Name("blocks.{i}.mlp_norm.weight", "model.layers.{i}.post_attention_layernorm.weight"),
        Name("norm.weight", "model.norm.weight"),
        Name("head.weight", "lm_head.weight"),
    ],
    ignored=["lm_head.weight"],
)


class Attention(nn.Module):
    """Rotary attention, queries and keys normed over all heads together."""

    def __init__(self, config: OlmoeConfig) -> None:
        super().__init__()
        self.heads, self.groups = config.heads, config.groups
        narrow = config.groups * (config.width // config.heads)
        self.q = nn.Linear(config.width, config.width, bias=False)
        self.k = nn.Linear(config.width, narrow, bias=False)
        self.v = nn.Linear(config.width, narrow, bias=False)
        self.o = nn.Linear(config.width, config.width, bias=False)
        self.q_norm = RMSNorm(config.width, config.eps)
        self.k_norm = RMSNorm(narrow, config.eps)

    def forward(
        self,
        x: Tensor,  # (batch, length, width)
        turns: tuple[Tensor, Tensor],  # cosines, sines: (batch or 1, 1, length, head width / 2)
        mask: Tensor | None,  # broadcasts to (batch, 1, length, keys), True: may look
        past: tuple[Cache, int] | None,
    ) -> Tensor:
        """Causal attention; ``past`` is the cache and the number of this block."""
        query = rotate(split_heads(self.q_norm(self.q(x)), self.heads), *turns)
        key = rotate(split_heads(self.k_norm(self.k(x)), self.groups), *turns)
        value = split_heads(self.v(x), self.groups)
        if past is not None:
            key, value = past[0].extend(past[1], key, value)
        mixed: Tensor = self.o(join_heads(attend(query, key, value, mask=mask, causal=True)))
        return mixed


class Mixture(nn.Module):
    """A router and the experts that it chooses from.

    Attributes
    ----------
    kept
        Which experts may be chosen, shape ``(experts,)``; None: all. The scores of the others
        are minus infinity before the softmax.
    watch
        Where a list stands here, each call leaves in it the router's scores ``(tokens, experts)``
        and the experts chosen ``(tokens, k)``, in descending order of their weights.
    """

    def __init__(self, config: OlmoeConfig) -> None:
        super().__init__()
        self.router = nn.Linear(config.width, config.experts, bias=False)
        self.experts = Experts(config.experts, config.width, config.hidden)
        self.k, self.renormalise = config.chosen, config.renormalise
        self.kept: Tensor | None = None
        self.watch: list[tuple[Tensor, Tensor]] | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Shape ``(batch, length, width)`` in and out."""
        flat = x.flatten(0, -2)
        scores = self.router(flat).float()
        if self.kept is not None:
            scores = scores.masked_fill(~self.kept, -torch.inf)
        choose = softmax_top_renormalised if self.renormalise else softmax_top
        weights, chosen = choose(scores, self.k)
        if self.watch is not None:
            self.watch.append((scores, chosen))
        out: Tensor = self.experts(flat, chosen, weights)
        return out.view_as(x)


class Block(nn.Module):
    """``x + attention(norm(x))``, then ``x + mixture(norm(x))``."""

    def __init__(self, config: OlmoeConfig) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.width, config.eps)
        self.attention = Attention(config)
        self.mlp_norm = RMSNorm(config.width, config.eps)
        self.mlp = Mixture(config)

    def forward(
        self,
        x: Tensor,
        turns: tuple[Tensor, Tensor],
        mask: Tensor | None,
        past: tuple[Cache, int] | None,
    ) -> Tensor:
        """Shape ``(batch, length, width)`` in and out, float32."""
        x = x + self.attention(self.attention_norm(x), turns, mask, past)
        out: Tensor = x + self.mlp(self.mlp_norm(x))
        return out


class Olmoe(RotaryDecoder):
    """Token ids to logits of the next token.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: OlmoeConfig) -> None:
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
        )
        self.config = config

    def embedded(self, ids: Tensor) -> Tensor:
        """What enters the first block, shape ``(batch, length, width)``, float32 at least."""
        return widened(self.embed(ids))

    def mixtures(self) -> list[Mixture]:
        """The mixtures of all blocks, in order."""
        return [module for module in self.modules() if isinstance(module, Mixture)]

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every token from states, shape ``(..., vocabulary)``, float32 at least."""
        return widened(super().logits(hidden))
