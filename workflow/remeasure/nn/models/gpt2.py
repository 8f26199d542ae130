"""GPT-2 (Radford et al. 2019), with its forerunner GPT-1 and its small relatives that play chess.

Pre-norm blocks of causal attention and a GELU network four times as wide, learned positions,
the output map tied to the token embedding. A chess model is the same without biases and with
the exact GELU, as nanoGPT trains them; GPT-1 norms after each half block instead of before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.attention import attend, join_heads, split_heads
from remeasure.nn.layers.cache import KeyValueCache, places
from remeasure.nn.models.published import only

#: Names of the GELU in published configurations.
_GELU: dict[str, Literal["tanh", "none"]] = {
    "gelu_new": "tanh",
    "gelu_pytorch_tanh": "tanh",
    "gelu": "none",
}


@dataclass(frozen=True, kw_only=True)
class GPT2Config:
    """Sizes of a model.

    Attributes
    ----------
    vocabulary, context, width, layers, heads
        Tokens; learned positions; channels; blocks; heads.
    eps
        Added to variances in the norms.
    gelu
        ``tanh``: the approximation of OpenAI's models; ``none``: exact.
    bias
        Whether maps and norms have biases.
    post_norm
        GPT-1: a norm follows each half block, and none the last block.
    """

    vocabulary: int
    context: int
    width: int
    layers: int
    heads: int
    eps: float = 1e-5
    gelu: Literal["tanh", "none"] = "tanh"
    bias: bool = True
    post_norm: bool = False

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> GPT2Config:
        """From the published ``config.json`` of a GPT-2 or GPT-1.

        Raises
        ------
        KeyError
            When a size is missing.
        DataError
            When it asks for something that this model does not have.
        """
        only(
            config,
            n_inner=(None, 4 * config["n_embd"]),
            scale_attn_weights=True,
            scale_attn_by_inverse_layer_idx=False,
            add_cross_attention=False,
        )
        first = config.get("model_type") == "openai-gpt"
        name = config.get("afn", "gelu") if first else config["activation_function"]
        # GPT-1's configuration says "gelu" and means the approximation.
        gelu = "tanh" if first and name == "gelu" else _GELU[name]
        return cls(
            vocabulary=config["vocab_size"],
            context=config["n_positions"],
            width=config["n_embd"],
            layers=config["n_layer"],
            heads=config["n_head"],
            eps=config["layer_norm_epsilon"],
            gelu=gelu,
            post_norm=first,
        )

    @classmethod
    def from_nanogpt(cls, arguments: dict[str, Any]) -> GPT2Config:
        """From ``model_args`` of a nanoGPT checkpoint; KeyError where a size is missing."""
        return cls(
            vocabulary=arguments["vocab_size"],
            context=arguments["block_size"],
            width=arguments["n_embd"],
            layers=arguments["n_layer"],
            heads=arguments["n_head"],
            gelu="none",
            bias=arguments["bias"],
        )

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        d = self.width
        block = 12 * d * d + (13 * d if self.bias else 2 * d)
        norm = 0 if self.post_norm else (2 * d if self.bias else d)
        return self.layers * block + (self.vocabulary + self.context) * d + norm


#: Sizes as in their published configurations.
GPT1 = GPT2Config(vocabulary=40_478, context=512, width=768, layers=12, heads=12, post_norm=True)
GPT2_SMALL = GPT2Config(vocabulary=50_257, context=1024, width=768, layers=12, heads=12)
GPT2_MEDIUM = GPT2Config(vocabulary=50_257, context=1024, width=1024, layers=24, heads=16)
GPT2_LARGE = GPT2Config(vocabulary=50_257, context=1024, width=1280, layers=36, heads=20)
GPT2_XL = GPT2Config(vocabulary=50_257, context=1024, width=1600, layers=48, heads=25)
#: A chess model of the size of Karvonen's, to be trained, and his own.
CHESS = GPT2Config(vocabulary=32, context=512, width=512, layers=8, heads=8)
KARVONEN_CHESS = GPT2Config(
    vocabulary=32, context=1023, width=512, layers=8, heads=8, gelu="none", bias=False
)


def _rules(prefix: str, *, transpose: bool, embed: str = "wte", place: str = "wpe") -> list[Name]:
    block, theirs = "blocks.{i}.", f"{prefix}h.{{i}}."
    weights = [
        ("attention.qkv", "attn.c_attn"),
        ("attention.out", "attn.c_proj"),
        ("mlp.up", "mlp.c_fc"),
        ("mlp.down", "mlp.c_proj"),
    ]
    return [
        Name("embed.weight", f"{prefix}{embed}.weight"),
        Name("place.weight", f"{prefix}{place}.weight"),
        *(Name(f"{block}{a}.weight", f"{theirs}{b}.weight", transpose) for a, b in weights),
        *(Name(f"{block}{a}.bias", f"{theirs}{b}.bias") for a, b in weights),
        Name(f"{block}attention_norm.{{part}}", f"{theirs}ln_1.{{part}}"),
        Name(f"{block}mlp_norm.{{part}}", f"{theirs}ln_2.{{part}}"),
        Name("norm.{part}", f"{prefix}ln_f.{{part}}"),
    ]


#: OpenAI's files: no prefix, matrices stored (in, out); files saved since then have a prefix.
NAMES = Names(
    [*_rules("", transpose=True), *_rules("transformer.", transpose=True)],
    ignored=[
        "lm_head.weight",
        *(
            f"{prefix}h.{{i}}.attn.{mask}"
            for prefix in ("", "transformer.")
            for mask in ("bias", "masked_bias")
        ),
    ],
)
#: nanoGPT checkpoints, Karvonen's among them: matrices as in torch, names of a compiled model.
NANOGPT_NAMES = Names(
    [*_rules("_orig_mod.transformer.", transpose=False), *_rules("transformer.", transpose=False)],
    ignored=["_orig_mod.lm_head.weight", "lm_head.weight"],
)
#: GPT-1's file.
GPT1_NAMES = Names(
    [
        *_rules("", transpose=True, embed="tokens_embed", place="positions_embed"),
        *_rules("transformer.", transpose=True, embed="tokens_embed", place="positions_embed"),
    ],
    ignored=["lm_head.weight", "h.{i}.attn.bias", "transformer.h.{i}.attn.bias"],
)


class Attention(nn.Module):
    """Causal attention, queries, keys and values from one map."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=config.bias)
        self.out = nn.Linear(config.width, config.width, bias=config.bias)

    def forward(
        self,
        x: Tensor,  # (batch, length, width)
        mask: Tensor | None,  # (batch, 1, length, keys), True: may look
        past: tuple[KeyValueCache, int] | None,
    ) -> Tensor:
        """``past`` is the cache and the number of this block."""
        query, key, value = (
            split_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1)
        )  # (batch, heads, length, width / heads)
        if past is not None:
            key, value = past[0].extend(past[1], key, value)
        mixed: Tensor = self.out(join_heads(attend(query, key, value, mask=mask, causal=True)))
        return mixed


class MLP(nn.Module):
    """``down(gelu(up(x)))``, four times as wide inside."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.up = nn.Linear(config.width, 4 * config.width, bias=config.bias)
        self.down = nn.Linear(4 * config.width, config.width, bias=config.bias)
        self.gelu = config.gelu

    def forward(self, x: Tensor) -> Tensor:
        """Shape ``(batch, length, width)`` in and out."""
        out: Tensor = self.down(F.gelu(self.up(x), approximate=self.gelu))
        return out


class Block(nn.Module):
    """``x + attention(norm(x))``, then ``x + mlp(norm(x))``; in GPT-1 the norms come after."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.width, config.eps, bias=config.bias)
        self.attention = Attention(config)
        self.mlp_norm = nn.LayerNorm(config.width, config.eps, bias=config.bias)
        self.mlp = MLP(config)
        self.post_norm = config.post_norm

    def forward(
        self, x: Tensor, mask: Tensor | None, past: tuple[KeyValueCache, int] | None
    ) -> Tensor:
        """Shape ``(batch, length, width)`` in and out."""
        if self.post_norm:
            x = self.attention_norm(x + self.attention(x, mask, past))
            return self.mlp_norm(x + self.mlp(x))  # type: ignore[no-any-return]
        x = x + self.attention(self.attention_norm(x), mask, past)
        return x + self.mlp(self.mlp_norm(x))  # type: ignore[no-any-return]


class GPT2(nn.Module):
    """Token ids to logits of the next token.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.place = nn.Embedding(config.context, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = (
            nn.Identity()
            if config.post_norm
            else nn.LayerNorm(config.width, config.eps, bias=config.bias)
        )

    def cache(self, batch: int, longest: int) -> KeyValueCache:
        """An empty cache for ``batch`` texts of at most ``longest`` tokens."""
        config = self.config
        return KeyValueCache(
            config.layers,
            batch,
            config.heads,
            longest,
            config.width // config.heads,
            self.embed.weight,
        )

    def hidden(
        self,
        ids: Tensor,
        real: Tensor | None = None,
        cache: KeyValueCache | None = None,
        *,
        keep: list[Tensor] | None = None,
    ) -> Tensor:
        """States after the last norm, shape ``(batch, length, width)``; see `forward`.

        ``keep`` receives the residual stream: after the embeddings and after each block,
        before the last norm.

        Raises
        ------
        ValueError
            When the text is longer than the learned positions.
        """
        before = cache.length if cache else 0
        keys = before + ids.shape[1]
        if keys > self.config.context:
            raise ValueError(f"{keys} tokens, but the model has {self.config.context} positions")
        positions, mask = places(ids.shape[1], before, real, ids.device)
        x = self.embed(ids) + self.place(positions)
        if keep is not None:
            keep.append(x)
        for number, block in enumerate(self.blocks):
            x = block(x, mask, (cache, number) if cache else None)
            if keep is not None:
                keep.append(x)
        if cache:
            cache.length = keys
        out: Tensor = self.norm(x)
        return out

    def states(self, ids: Tensor, real: Tensor | None = None) -> list[Tensor]:
        """The residual stream: ``layers + 1`` tensors of shape ``(batch, length, width)``.

        The sum of the embeddings, then the stream after each block; `unembed` turns any of
        them into scores (the logit lens).
        """
        kept: list[Tensor] = []
        self.hidden(ids, real, keep=kept)
        return kept

    def unembed(self, state: Tensor) -> Tensor:
        """Scores of every token from a residual state: the last norm, then the tied matrix."""
        return self.logits(self.norm(state))

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every token from states after the last norm, ``(..., vocabulary)``."""
        return F.linear(hidden, self.embed.weight)

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


@torch.no_grad()
def initialise(model: GPT2, seed: int) -> None:
    """Fresh weights as nanoGPT draws them (after Radford et al. 2019, section 2.3).

    All maps and embeddings from N(0, 0.02²), biases 0, norms 1 and 0; then the two maps that
    write into the residual stream of each block again, from N(0, 0.02² / (2 layers)). The same
    seed gives the same weights on the CPU.
    """
    generator = torch.Generator().manual_seed(seed)

    def draw(weight: Tensor, spread: float) -> None:
        weight.copy_(torch.randn(weight.shape, generator=generator) * spread)

    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            draw(module.weight, 0.02)
        if isinstance(module, nn.LayerNorm):
            module.weight.fill_(1.0)
        bias = getattr(module, "bias", None)
        if isinstance(bias, Tensor):
            bias.zero_()
    for name, parameter in model.named_parameters():
        if name.endswith(("attention.out.weight", "mlp.down.weight")):
            draw(parameter, 0.02 / math.sqrt(2 * model.config.layers))
