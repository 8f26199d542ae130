"""Qwen3-Next (Qwen team 2025): gated delta rules with a layer of attention now and then.

Three of four blocks mix tokens by the gated delta rule behind a short convolution, the fourth
by grouped-query attention with a gate and rotary positions on some channels. The feed-forward
half is a mixture of experts beside one that every token meets, or a plain SwiGLU.

The norm after the rule magnifies what is rounded before it where a memory answers almost
nothing. In float32, logits with a cache and without agree to 1e-6 at the start of training and
to 1e-5 of the largest with weights far from it; in float64, to 1e-9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.attention import attend, join_heads, split_heads
from remeasure.nn.layers.cache import places
from remeasure.nn.layers.experts import Experts, softmax_top, softmax_top_renormalised
from remeasure.nn.layers.gated_delta import gated_delta, gated_delta_loop
from remeasure.nn.layers.mlp import SwiGLU
from remeasure.nn.layers.norms import CentredRMSNorm
from remeasure.nn.layers.rotary import angles, frequencies, rotate
from remeasure.nn.layers.short_conv import ShortConv
from remeasure.nn.layers.state_cache import HybridCache
from remeasure.nn.models.decoder import widened
from remeasure.nn.models.published import only

Kind = Literal["delta", "attention"]

#: Below so many tokens the plain loop is the fastest form of the rule.
_FEW = 4
#: Added to squared lengths of queries and keys of the rule.
_EPS = 1e-6


@dataclass(frozen=True, kw_only=True)
class HybridConfig:
    """Sizes of a model.

    Attributes
    ----------
    vocabulary, width
        Tokens; channels.
    kinds
        What mixes tokens, block by block.
    heads, groups, head, rotated, theta
        Attention: query heads; key-value heads; channels of each; how many of them turn; base
        of the rotary angles.
    key_heads, value_heads, key, value, reach
        The rule: heads of queries and keys; heads of values, a multiple; channels of each;
        tokens that the convolution sees.
    hidden
        Channels inside a plain SwiGLU.
    experts, chosen, expert, shared, renormalise
        Experts a block and how many serve a token; channels inside one, and inside the one
        that every token meets; divide the weights of the chosen by their sum.
    plain
        Numbers of the blocks with a plain SwiGLU instead of experts.
    eps
        Added to mean squares in the norms.
    tied
        The output map is the transposed embedding.
    """

    vocabulary: int
    width: int
    kinds: tuple[Kind, ...]
    heads: int
    groups: int
    head: int
    rotated: int
    theta: float
    key_heads: int
    value_heads: int
    key: int
    value: int
    reach: int = 4
    hidden: int
    experts: int = 0
    chosen: int = 0
    expert: int = 0
    shared: int = 0
    renormalise: bool = True
    plain: tuple[int, ...] = ()
    eps: float = 1e-6
    tied: bool = False

    @property
    def stream(self) -> int:
        """Channels of the convolution: queries, keys and values of the rule."""
        return 2 * self.key_heads * self.key + self.value_heads * self.value

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> HybridConfig:
        """From the published ``config.json``.

        Raises
        ------
        KeyError
            When a size is missing.
        DataError
            When it asks for something that this model does not have.
        """
        only(config, attention_bias=False, hidden_act="silu", rope_scaling=None)
        layers, head = config["num_hidden_layers"], config["head_dim"]
        every = config.get("full_attention_interval", 4)
        found = config.get("layer_types") or [
            "linear_attention" if (number + 1) % every else "full_attention"
            for number in range(layers)
        ]
        rope = config.get("rope_parameters") or {}
        share = rope.get("partial_rotary_factor", config.get("partial_rotary_factor", 0.25))
        step, experts = config.get("decoder_sparse_step", 1), config.get("num_experts", 0)
        plain = {number for number in range(layers) if not experts or (number + 1) % step}
        return cls(
            vocabulary=config["vocab_size"],
            width=config["hidden_size"],
            kinds=tuple("attention" if kind == "full_attention" else "delta" for kind in found),
            heads=config["num_attention_heads"],
            groups=config["num_key_value_heads"],
            head=head,
            rotated=int(head * share),
            theta=float(rope.get("rope_theta", config.get("rope_theta", 10_000.0))),
            key_heads=config["linear_num_key_heads"],
            value_heads=config["linear_num_value_heads"],
            key=config["linear_key_head_dim"],
            value=config["linear_value_head_dim"],
            reach=config.get("linear_conv_kernel_dim", 4),
            hidden=config["intermediate_size"],
            experts=experts,
            chosen=config.get("num_experts_per_tok", 0),
            expert=config.get("moe_intermediate_size", 0),
            shared=config.get("shared_expert_intermediate_size", 0),
            renormalise=config.get("norm_topk_prob", True),
            plain=tuple(sorted(plain | set(config.get("mlp_only_layers") or ()))),
            eps=config["rms_norm_eps"],
            tied=config.get("tie_word_embeddings", False),
        )

    def parts(self) -> dict[str, int]:
        """How many numbers are learned in each kind of part."""
        layers, attending = len(self.kinds), self.kinds.count("attention")
        values = self.value_heads * self.value
        rule = self.width * (self.stream + 2 * values + 2 * self.value_heads)
        rule += self.stream * self.reach + 2 * self.value_heads + self.value
        attention = self.width * self.head * (3 * self.heads + 2 * self.groups) + 2 * self.head
        mixed = layers - len(self.plain)
        return {
            "embeddings": self.vocabulary * self.width * (1 if self.tied else 2),
            "rules": (layers - attending) * rule,
            "attention": attending * attention,
            "routers": mixed * (self.experts + 1) * self.width,
            "experts": mixed * self.experts * 3 * self.width * self.expert,
            "shared": mixed * 3 * self.width * self.shared,
            "plain": len(self.plain) * 3 * self.width * self.hidden,
            "norms": (2 * layers + 1) * self.width,
        }

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        return sum(self.parts().values())

    def active(self) -> int:
        """How many of them a token meets."""
        idle = self.parts()["experts"] // self.experts * (self.experts - self.chosen)
        return self.parameters() - idle

    def cache_numbers(self, tokens: int) -> int:
        """Keys and values that one text of so many tokens leaves behind."""
        return 2 * self.kinds.count("attention") * self.groups * self.head * tokens

    def state_numbers(self) -> int:
        """Numbers of the memories of one text, convolutions left out, however long it is."""
        return self.kinds.count("delta") * self.value_heads * self.key * self.value


#: Qwen3-Next-80B-A3B: sizes as in its published configuration.
QWEN3_NEXT_80B = HybridConfig(
    vocabulary=151_936,
    width=2048,
    kinds=("delta", "delta", "delta", "attention") * 12,
    heads=16,
    groups=2,
    head=256,
    rotated=64,
    theta=10_000_000.0,
    key_heads=16,
    value_heads=32,
    key=128,
    value=128,
    hidden=5120,
    experts=512,
    chosen=10,
    expert=512,
    shared=512,
)

_ROOM = "model.layers.{i}."
#: Names of a checkpoint whose experts stand stacked; `checkpoints.stacked` turns those that
#: stand one by one, as in the published files, into one of these.
NAMES = Names(
    [
        Name("embed.weight", "model.embed_tokens.weight"),
        Name("blocks.{i}.mixer_norm.weight", _ROOM + "input_layernorm.weight"),
        Name("blocks.{i}.mlp_norm.weight", _ROOM + "post_attention_layernorm.weight"),
        Name("blocks.{i}.attention.{norm}_norm.weight", _ROOM + "self_attn.{norm}_norm.weight"),
        Name("blocks.{i}.attention.{map}.weight", _ROOM + "self_attn.{map}_proj.weight"),
        Name("blocks.{i}.rule.into.weight", _ROOM + "linear_attn.in_proj_qkvz.weight"),
        Name("blocks.{i}.rule.rates.weight", _ROOM + "linear_attn.in_proj_ba.weight"),
        Name("blocks.{i}.rule.conv.weight", _ROOM + "linear_attn.conv1d.weight"),
        Name("blocks.{i}.rule.fade_bias", _ROOM + "linear_attn.dt_bias"),
        Name("blocks.{i}.rule.fade_log", _ROOM + "linear_attn.A_log"),
        Name("blocks.{i}.rule.norm", _ROOM + "linear_attn.norm.weight"),
        Name("blocks.{i}.rule.out.weight", _ROOM + "linear_attn.out_proj.weight"),
        Name("blocks.{i}.mlp.router.weight", _ROOM + "mlp.gate.weight"),
        Name("blocks.{i}.mlp.share.weight", _ROOM + "mlp.shared_expert_gate.weight"),
        Name("blocks.{i}.mlp.shared.{map}.weight", _ROOM + "mlp.shared_expert.{map}_proj.weight"),
        Name("blocks.{i}.mlp.experts.{map}", _ROOM + "mlp.experts.{map}_proj"),
        Name("blocks.{i}.mlp.{map}.weight", _ROOM + "mlp.{map}_proj.weight"),
        Name("norm.weight", "model.norm.weight"),
        Name("head.weight", "lm_head.weight"),
    ],
    ignored=["lm_head.weight"],
)


class Rule(nn.Module):
    """The gated delta rule behind a convolution, normed and gated head by head."""

    def __init__(self, config: HybridConfig) -> None:
        super().__init__()
        self.config = config
        heads, values = config.value_heads, config.value_heads * config.value
        # Rows stand key head by key head: query, key, values, gates; and beta, fade.
        self.into = nn.Linear(config.width, config.stream + values, bias=False)
        self.rates = nn.Linear(config.width, 2 * heads, bias=False)
        self.conv = ShortConv(config.stream, config.reach, bias=False)
        # A gate that starts near one half would erase the memory before anything is learned.
        self.fade_log = nn.Parameter(torch.empty(heads).uniform_(0.01, 16).log())
        first = torch.exp(torch.empty(heads).uniform_(-6.9078, -2.3026))  # 0.001 to 0.1
        self.fade_bias = nn.Parameter(first + torch.log(-torch.expm1(-first)))
        self.norm = nn.Parameter(torch.ones(config.value))
        self.out = nn.Linear(values, config.width, bias=False)

    def forward(
        self,
        x: Tensor,  # (batch, length, width)
        real: Tensor | None,  # (batch, length, 1), 0 on padding
        past: tuple[HybridCache, int] | None,
    ) -> Tensor:
        """Shape of ``x``; ``past`` is the cache and the number of this block."""
        config = self.config
        place, kh, each = x.shape[:2], config.key_heads, config.value_heads // config.key_heads
        if real is not None:
            x = x * real
        parts = [config.key, config.key, each * config.value, each * config.value]
        found = torch.split(self.into(x).view(*place, kh, -1), parts, dim=-1)
        *raw, gate = (part.flatten(2) for part in found)
        beta, fade = (
            part.flatten(2) for part in self.rates(x).view(*place, kh, 2 * each).chunk(2, dim=-1)
        )  # (batch, length, value heads)
        window, state = (past[0].windows[past[1]], past[0].states[past[1]]) if past else (None,) * 2
        stream, window = self.conv(torch.cat(raw, dim=-1), window)
        sizes = [kh * config.key, kh * config.key, config.value_heads * config.value]
        query, key, value = torch.split(widened(F.silu(stream)), sizes, dim=-1)
        query, key = (self._unit(part.view(*place, kh, config.key), each) for part in (query, key))
        value = value.view(*place, config.value_heads, config.value)
        decay = -torch.exp(widened(self.fade_log)) * F.softplus(widened(fade) + self.fade_bias)
        taken = (query * config.key**-0.5, key, value, decay, widened(beta).sigmoid())
        if place[1] < _FEW:
            answers, after = gated_delta_loop(*taken, state)
        else:
            answers, after = gated_delta(*taken, state=state)
        if past and window is not None:
            past[0].windows[past[1]], past[0].states[past[1]] = window, after
        scale = torch.rsqrt(answers.square().mean(-1, keepdim=True) + config.eps)
        normed = self.norm * (answers * scale).to(x.dtype)
        normed = normed * F.silu(widened(gate.view(answers.shape)))
        mixed: Tensor = self.out(normed.flatten(2).to(x.dtype))
        return mixed

    @staticmethod
    def _unit(x: Tensor, each: int) -> Tensor:
        """Of unit length, and once for every head of values that shares it."""
        x = x * torch.rsqrt(x.square().sum(-1, keepdim=True) + _EPS)
        return x if each == 1 else x.repeat_interleave(each, dim=2)


class Attention(nn.Module):
    """Grouped-query attention, queries and keys normed head by head, gated at the end."""

    def __init__(self, config: HybridConfig) -> None:
        super().__init__()
        self.config = config
        wide, narrow = config.heads * config.head, config.groups * config.head
        self.q = nn.Linear(config.width, 2 * wide, bias=False)  # by head: query, gate
        self.k = nn.Linear(config.width, narrow, bias=False)
        self.v = nn.Linear(config.width, narrow, bias=False)
        self.o = nn.Linear(wide, config.width, bias=False)
        self.q_norm = CentredRMSNorm(config.head, config.eps)
        self.k_norm = CentredRMSNorm(config.head, config.eps)

    def _turned(self, x: Tensor, turns: tuple[Tensor, Tensor]) -> Tensor:
        first, rest = torch.split(
            x, [self.config.rotated, self.config.head - self.config.rotated], -1
        )
        return torch.cat((rotate(first, *turns), rest), dim=-1)

    def forward(
        self,
        x: Tensor,  # (batch, length, width)
        turns: tuple[Tensor, Tensor],  # cosines, sines: (batch or 1, 1, length, rotated / 2)
        mask: Tensor | None,  # broadcasts to (batch, 1, length, keys), True: may look
        past: tuple[HybridCache, int] | None,
    ) -> Tensor:
        """Causal attention; ``past`` is the cache and the number of this block."""
        config = self.config
        query, gate = split_heads(self.q(x), config.heads).chunk(2, dim=-1)
        query = self._turned(self.q_norm(query), turns)
        key = self._turned(self.k_norm(split_heads(self.k(x), config.groups)), turns)
        value = split_heads(self.v(x), config.groups)
        if past is not None:
            key, value = past[0].extend(past[1], key, value)
        seen = attend(query, key, value, mask=mask, causal=True) * gate.sigmoid()
        mixed: Tensor = self.o(join_heads(seen))
        return mixed


class Mixture(nn.Module):
    """Some experts of many, and one that every token meets, weighed by a gate of its own."""

    def __init__(self, config: HybridConfig) -> None:
        super().__init__()
        self.router = nn.Linear(config.width, config.experts, bias=False)
        self.experts = Experts(config.experts, config.width, config.expert)
        self.shared = SwiGLU(config.width, config.shared)
        self.share = nn.Linear(config.width, 1, bias=False)
        self.chosen, self.renormalise = config.chosen, config.renormalise

    def forward(self, x: Tensor) -> Tensor:
        """Shape ``(batch, length, width)`` in and out."""
        flat = x.flatten(0, -2)
        choose = softmax_top_renormalised if self.renormalise else softmax_top
        weights, chosen = choose(widened(self.router(flat)), self.chosen)
        out: Tensor = self.experts(flat, chosen, weights)
        out = out + self.share(flat).sigmoid() * self.shared(flat)
        return out.view_as(x)


class Block(nn.Module):
    """``x + mixer(norm(x))``, then ``x + mlp(norm(x))``."""

    def __init__(self, config: HybridConfig, number: int) -> None:
        super().__init__()
        attends = config.kinds[number] == "attention"
        self.mixer_norm = CentredRMSNorm(config.width, config.eps)
        self.attention = Attention(config) if attends else None
        self.rule = None if attends else Rule(config)
        self.mlp_norm = CentredRMSNorm(config.width, config.eps)
        plain = number in config.plain
        self.mlp = SwiGLU(config.width, config.hidden) if plain else Mixture(config)

    def forward(
        self,
        x: Tensor,
        turns: tuple[Tensor, Tensor],
        mask: Tensor | None,
        real: Tensor | None,
        past: tuple[HybridCache, int] | None,
    ) -> Tensor:
        """Shape ``(batch, length, width)`` in and out."""
        normed = self.mixer_norm(x)
        if self.attention is not None:
            x = x + self.attention(normed, turns, mask, past)
        elif self.rule is not None:
            x = x + self.rule(normed, real, past)
        out: Tensor = x + self.mlp(self.mlp_norm(x))
        return out


class Hybrid(nn.Module):
    """Token ids to logits of the next token.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: HybridConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList(Block(config, number) for number in range(len(config.kinds)))
        self.norm = CentredRMSNorm(config.width, config.eps)
        self.head = None if config.tied else nn.Linear(config.width, config.vocabulary, bias=False)

    def cache(self, batch: int, longest: int) -> HybridCache:
        """An empty cache for ``batch`` texts of at most ``longest`` tokens."""
        config, like = self.config, self.embed.weight
        wide = widened(like[:0])  # memories are not kept in half precision
        rules = [number for number, kind in enumerate(config.kinds) if kind == "delta"]
        memory = (batch, config.value_heads, config.key, config.value)
        return HybridCache(
            [number for number, kind in enumerate(config.kinds) if kind == "attention"],
            {number: like.new_zeros(batch, config.stream, config.reach) for number in rules},
            {number: wide.new_zeros(memory) for number in rules},
            batch,
            config.groups,
            longest,
            config.head,
            like,
        )

    def hidden(
        self, ids: Tensor, real: Tensor | None = None, cache: HybridCache | None = None
    ) -> Tensor:
        """States after the last norm, shape ``(batch, length, width)``; see `forward`."""
        length = ids.shape[1]
        before = cache.length if cache else 0
        positions, mask = places(length, before, real, ids.device)
        turned = frequencies(self.config.rotated, self.config.theta)
        cos, sin = (part.unsqueeze(1) for part in angles(positions, turned))
        x = self.embed(ids)
        there = None if real is None else real[:, -length:, None].to(x.dtype)
        for number, block in enumerate(self.blocks):
            x = block(x, (cos, sin), mask, there, (cache, number) if cache else None)
        if cache:
            cache.length = before + length
        out: Tensor = self.norm(x)
        return out

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every token from states, shape ``(..., vocabulary)``."""
        weight = self.embed.weight if self.head is None else self.head.weight
        return F.linear(hidden, weight)

    def forward(
        self, ids: Tensor, real: Tensor | None = None, cache: HybridCache | None = None
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
