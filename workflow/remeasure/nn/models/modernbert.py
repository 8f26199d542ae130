"""ModernBERT (Warner et al. 2024): an encoder with what decoders had learned meanwhile.

Pre-norm blocks without biases, rotary positions, a gated feed-forward half, and attention
that looks at everything in every third block only and at near neighbours in the others.
Texts may be packed one behind another without padding: `Encoder.packed`.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.errors import DataError
from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.attention import attend, join_heads, split_heads
from remeasure.nn.layers.pooling import pool
from remeasure.nn.layers.rotary import angles, frequencies, rotate
from remeasure.nn.models.published import only

Turns = tuple[Tensor, Tensor]  # cosines and sines, (length, width of a head / 2)


@dataclass(frozen=True, kw_only=True)
class ModernBertConfig:
    """Sizes of a model.

    Attributes
    ----------
    vocabulary, width, layers, heads, hidden
        Tokens; channels; blocks; attention heads; channels inside the feed-forward half.
    every
        Blocks 0, ``every``, 2 ``every``, ... look at all tokens, the others at near ones.
    reach
        A near token is at most this far away, on either side.
    far_theta, near_theta
        Bases of the rotary angles in blocks that see everything, and in the others.
    eps
        Added to variances in the norms.
    pooling
        What stands for a whole text under a classifier: the first state, or the mean.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    hidden: int
    every: int = 3
    reach: int = 64
    far_theta: float = 160_000.0
    near_theta: float = 10_000.0
    eps: float = 1e-5
    pooling: Literal["cls", "mean"] = "cls"

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> ModernBertConfig:
        """From a published ``config.json``, of the older or of the newer kind.

        Raises
        ------
        DataError
            When it describes what is not built here.
        KeyError
            Where a size is missing.
        """
        no = dict.fromkeys(("attention_bias", "mlp_bias", "norm_bias", "classifier_bias"), False)
        none = dict.fromkeys(
            ("attention_dropout", "mlp_dropout", "embedding_dropout", "classifier_dropout"), 0.0
        )
        only(config, hidden_activation="gelu", classifier_activation="gelu", **no, **none)
        rope = config.get("rope_parameters") or {}
        for part in rope.values():
            only(part, rope_type="default")
        far = rope.get("full_attention", {}).get("rope_theta", 160_000.0)
        near = rope.get("sliding_attention", {}).get("rope_theta", 10_000.0)
        return cls(
            vocabulary=config["vocab_size"],
            width=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            hidden=config["intermediate_size"],
            every=_every(config),
            reach=config["local_attention"] // 2,
            far_theta=config.get("global_rope_theta", far),
            near_theta=config.get("local_rope_theta", near),
            eps=config["norm_eps"],
            pooling=config["classifier_pooling"],
        )

    def sees_all(self, layer: int) -> bool:
        """Whether a block looks at all tokens."""
        return layer % self.every == 0

    def parameters(self, *, masked: bool = False) -> int:
        """How many numbers are learned, without or with the head of masked words."""
        block = 4 * self.width * self.width + 3 * self.width * self.hidden + 2 * self.width
        # Two norms outside the blocks, and none before the attention of the first.
        out = self.vocabulary * self.width + self.layers * block + self.width
        if masked:
            out += self.width * self.width + self.width + self.vocabulary
        return out

    def pairs(self, length: int) -> int:
        """Query-key pairs of a text over all blocks, neighbours counted in full at the edges."""
        wide = sum(self.sees_all(layer) for layer in range(self.layers))
        near = min(length, 2 * self.reach + 1)
        return wide * length * length + (self.layers - wide) * length * near


def _every(config: dict[str, Any]) -> int:
    kinds = config.get("layer_types")
    if kinds is None:
        return int(config.get("global_attn_every_n_layers", 3))
    wide = [place for place, kind in enumerate(kinds) if kind == "full_attention"]
    every = wide[1] if len(wide) > 1 else len(kinds)
    if wide != list(range(0, len(kinds), every)):
        raise DataError(
            f"blocks {wide} look at all tokens; this model is built for every n-th from 0 on",
            where="config.json",
            remedy="take a checkpoint of the published architecture",
        )
    return every


#: Sizes as in the published configurations.
MODERNBERT_BASE = ModernBertConfig(
    vocabulary=50_368, width=768, layers=22, heads=12, hidden=1152, pooling="mean"
)
MODERNBERT_LARGE = replace(MODERNBERT_BASE, width=1024, layers=28, heads=16, hidden=2624)


def _encoder(ours: str) -> list[Name]:
    return [
        Name(f"{ours}embed.weight", "model.embeddings.tok_embeddings.weight"),
        Name(f"{ours}norm.weight", "model.embeddings.norm.weight"),
        *(
            Name(f"{ours}blocks.{{i}}.{our}.weight", f"model.layers.{{i}}.{their}.weight")
            for our, their in (
                ("attention_norm", "attn_norm"),
                ("attention.qkv", "attn.Wqkv"),
                ("attention.o", "attn.Wo"),
                ("mlp_norm", "mlp_norm"),
                ("mlp.inner", "mlp.Wi"),
                ("mlp.outer", "mlp.Wo"),
            )
        ),
        Name(f"{ours}last_norm.weight", "model.final_norm.weight"),
    ]


_HEAD = [
    Name("head.map.weight", "head.dense.weight"),
    Name("head.norm.weight", "head.norm.weight"),
]
#: The encoder alone, out of any checkpoint: whatever stands on top is left out.
NAMES = Names(
    _encoder(""),
    ignored=[
        *(rule.theirs for rule in _HEAD),
        *(f"{part}.{kind}" for part in ("decoder", "classifier") for kind in ("weight", "bias")),
    ],
)
#: With the head of masked words, whose matrix is the embedding table.
MASKED_NAMES = Names(
    [*_encoder("encoder."), *_HEAD, Name("bias", "decoder.bias")], ignored=["decoder.weight"]
)
#: With a classifier of texts or of tokens.
CLASS_NAMES = Names(
    [
        *_encoder("encoder."),
        *_HEAD,
        Name("classes.weight", "classifier.weight"),
        Name("classes.bias", "classifier.bias"),
    ]
)


class Attention(nn.Module):
    """Rotary attention over everything or over near tokens."""

    def __init__(self, config: ModernBertConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.qkv = nn.Linear(config.width, 3 * config.width, bias=False)
        self.o = nn.Linear(config.width, config.width, bias=False)

    def forward(self, x: Tensor, turns: Turns, mask: Tensor | None, explicit: bool) -> Tensor:
        """Shape ``(batch, length, width)`` in and out; ``mask`` as in `attend`."""
        query, key, value = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, -1))
        query, key = rotate(query, *turns), rotate(key, *turns)
        mixed: Tensor = self.o(join_heads(attend(query, key, value, mask=mask, explicit=explicit)))
        return mixed

    def packed(self, x: Tensor, turns: Turns, lengths: Many[int], reach: int | None) -> Tensor:
        """Texts one behind another, shape ``(total, width)`` in and out: each attends to itself."""
        parts = self.qkv(x).view(len(x), 3, self.heads, -1).transpose(0, 2)  # (heads, 3, total, .)
        query, key, value = parts.unbind(1)  # (heads, total, width of a head)
        query, key = rotate(query, *turns), rotate(key, *turns)
        texts = [part.unsqueeze(0).split(list(lengths), dim=2) for part in (query, key, value)]
        mixed = [
            attend(*text, mask=near(length, reach, x.device))
            for length, *text in zip(lengths, *texts, strict=True)
        ]
        out: Tensor = self.o(torch.cat([join_heads(part).squeeze(0) for part in mixed]))
        return out


def near(length: int, reach: int | None, device: torch.device) -> Tensor | None:
    """True where key and query are at most ``reach`` apart; None where all are, or all may look."""
    if reach is None or length <= reach + 1:
        return None
    place = torch.arange(length, device=device)
    return (place[:, None] - place).abs() <= reach


class Mlp(nn.Module):
    """``outer(gelu(a) * g)``, a and g the halves of one inner map (GeGLU, Shazeer 2020)."""

    def __init__(self, config: ModernBertConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.width, 2 * config.hidden, bias=False)
        self.outer = nn.Linear(config.hidden, config.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Shape ``(..., width)`` in and out."""
        active, gate = self.inner(x).chunk(2, -1)
        out: Tensor = self.outer(F.gelu(active) * gate)
        return out


def _norm(config: ModernBertConfig) -> nn.LayerNorm:
    return nn.LayerNorm(config.width, eps=config.eps, bias=False)


class Block(nn.Module):
    """``x + attention(norm(x))``, then ``x + mlp(norm(x))``; the first has no first norm."""

    def __init__(self, config: ModernBertConfig, layer: int) -> None:
        super().__init__()
        self.reach = None if config.sees_all(layer) else config.reach
        self.attention_norm = _norm(config) if layer else nn.Identity()
        self.attention = Attention(config)
        self.mlp_norm = _norm(config)
        self.mlp = Mlp(config)

    def forward(self, x: Tensor, turns: Turns, mask: Tensor | None, explicit: bool) -> Tensor:
        """Shape ``(batch, length, width)`` in and out."""
        x = x + self.attention(self.attention_norm(x), turns, mask, explicit)
        out: Tensor = x + self.mlp(self.mlp_norm(x))
        return out

    def packed(self, x: Tensor, turns: Turns, lengths: Many[int]) -> Tensor:
        """Shape ``(total, width)`` in and out."""
        x = x + self.attention.packed(self.attention_norm(x), turns, lengths, self.reach)
        out: Tensor = x + self.mlp(self.mlp_norm(x))
        return out


class Encoder(nn.Module):
    """Token ids to one state a token.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: ModernBertConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.norm = _norm(config)
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.layers))
        self.last_norm = _norm(config)

    def _turns(self, positions: Tensor) -> dict[bool, Turns]:
        width = self.config.width // self.config.heads
        thetas = {True: self.config.far_theta, False: self.config.near_theta}
        return {
            everywhere: angles(positions, frequencies(width, theta))
            for everywhere, theta in thetas.items()
        }

    def forward(self, ids: Tensor, real: Tensor | None = None, *, explicit: bool = False) -> Tensor:
        """States after the last norm.

        Parameters
        ----------
        ids
            Token ids, shape ``(batch, length)``.
        real
            False on padding (on the right), the same shape. States of padding mean nothing.
        explicit
            Attention written out instead of torch's fused kernel.

        Returns
        -------
        Tensor
            Shape ``(batch, length, width)``.
        """
        length = ids.shape[1]
        turns = self._turns(torch.arange(length, device=ids.device))
        nearby = near(length, self.config.reach, ids.device)
        seen = None if real is None else real.bool()[:, None, None, :]
        masks = {True: seen, False: seen if nearby is None else nearby}
        if seen is not None and nearby is not None:
            # A query on padding may have no real neighbour: it sees itself, so that no softmax
            # is empty and no NaN comes back to real tokens in the next block.
            itself = torch.eye(length, dtype=torch.bool, device=ids.device)
            masks[False] = (seen & nearby) | itself
        x = self.norm(self.embed(ids))
        for layer, block in enumerate(self.blocks):
            everywhere = self.config.sees_all(layer)
            x = block(x, turns[everywhere], masks[everywhere], explicit)
        out: Tensor = self.last_norm(x)
        return out

    def packed(self, ids: Tensor, lengths: Many[int]) -> Tensor:
        """The same states of texts one behind another, without padding.

        Parameters
        ----------
        ids
            Token ids of all texts, shape ``(total,)``.
        lengths
            Of the texts, in order; their sum is ``total``.

        Returns
        -------
        Tensor
            Shape ``(total, width)``.
        """
        turns = self._turns(torch.cat([torch.arange(n, device=ids.device) for n in lengths]))
        x = self.norm(self.embed(ids))
        for layer, block in enumerate(self.blocks):
            x = block.packed(x, turns[self.config.sees_all(layer)], lengths)  # type: ignore[operator]
        out: Tensor = self.last_norm(x)
        return out


class PredictionHead(nn.Module):
    """Map, GELU, norm: stands under every output."""

    def __init__(self, config: ModernBertConfig) -> None:
        super().__init__()
        self.map = nn.Linear(config.width, config.width, bias=False)
        self.norm = _norm(config)

    def forward(self, states: Tensor) -> Tensor:
        """Shape ``(..., width)`` in and out."""
        out: Tensor = self.norm(F.gelu(self.map(states)))
        return out


class Masked(nn.Module):
    """Scores of every word at every position: what was under the mask.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: ModernBertConfig) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.head = PredictionHead(config)
        self.bias = nn.Parameter(torch.zeros(config.vocabulary))

    def forward(self, ids: Tensor, real: Tensor | None = None) -> Tensor:
        """Shape ``(batch, length, vocabulary)``; arguments as in `Encoder.forward`."""
        states = self.head(self.encoder(ids, real))
        return F.linear(states, self.encoder.embed.weight, self.bias)


class Sequence(nn.Module):
    """Scores of classes for a whole text; pooling as the configuration says.

    Parameters
    ----------
    config
        Sizes.
    classes
        How many.
    """

    def __init__(self, config: ModernBertConfig, classes: int) -> None:
        super().__init__()
        self.pooling = config.pooling
        self.encoder = Encoder(config)
        self.head = PredictionHead(config)
        self.classes = nn.Linear(config.width, classes)

    def forward(self, ids: Tensor, real: Tensor | None = None) -> Tensor:
        """Shape ``(batch, classes)``; arguments as in `Encoder.forward`."""
        states = self.encoder(ids, real)
        out: Tensor = self.classes(self.head(pool(states, real, self.pooling)))
        return out


class Tokens(nn.Module):
    """Scores of classes for every token.

    Parameters
    ----------
    config
        Sizes.
    classes
        How many.
    """

    def __init__(self, config: ModernBertConfig, classes: int) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.head = PredictionHead(config)
        self.classes = nn.Linear(config.width, classes)

    def forward(self, ids: Tensor, real: Tensor | None = None) -> Tensor:
        """Shape ``(batch, length, classes)``; arguments as in `Encoder.forward`."""
        out: Tensor = self.classes(self.head(self.encoder(ids, real)))
        return out
