"""DeBERTa-v3 (He et al. 2021, 2023): words and distances attend apart from each other.

A score is the sum of three products: word with word, word with distance, distance with
word. Distances come in logarithmic buckets, one table of them for all blocks, and pass
through the same maps as words. There are no absolute positions, but for a table that the
head of masked words may add (the enhanced decoder).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.attention import attend, join_heads, split_heads
from remeasure.nn.layers.positions import deberta_buckets, distances
from remeasure.nn.models.bert import BertConfig, Head, WordHead, linear_names, norm_names
from remeasure.nn.models.published import only


@dataclass(frozen=True, kw_only=True)
class DebertaConfig(BertConfig):
    """Sizes of a model; those of BERT, and of the distances.

    Attributes
    ----------
    buckets
        Of distances in one direction.
    furthest
        The distance that just leaves the last bucket.
    """

    positions: int = 0
    segments: int = 0
    eps: float = 1e-7
    buckets: int = 256
    furthest: int = 512

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> DebertaConfig:
        """From the published ``config.json``; errors as `BertConfig.from_json`."""
        only(
            config,
            hidden_act="gelu",
            pooler_hidden_act="gelu",
            relative_attention=True,
            share_att_key=True,
            norm_rel_ebd="layer_norm",
            position_biased_input=False,
            type_vocab_size=0,
            conv_kernel_size=0,
            pos_att_type=("p2c|c2p", "c2p|p2c", ["p2c", "c2p"], ["c2p", "p2c"]),
        )
        furthest = config.get("max_relative_positions", -1)
        return cls(
            vocabulary=config["vocab_size"],
            width=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            hidden=config["intermediate_size"],
            eps=config["layer_norm_eps"],
            dropout=config["hidden_dropout_prob"],
            buckets=config["position_buckets"],
            furthest=furthest if furthest > 0 else config["max_position_embeddings"],
        )

    def parameters(self, head: Head = "none") -> int:
        """How many numbers are learned; heads as in `BertConfig.parameters`."""
        return super().parameters(head) + 2 * self.buckets * self.width + 2 * self.width


#: Sizes as in the published configuration.
DEBERTA_V3_BASE = DebertaConfig(vocabulary=128_100, width=768, layers=12, heads=12, hidden=3072)


def _encoder(ours: str) -> list[Name]:
    block, layer = f"{ours}blocks.{{i}}", "deberta.encoder.layer.{i}"
    return [
        Name(f"{ours}words.weight", "deberta.embeddings.word_embeddings.weight"),
        *norm_names(f"{ours}norm", "deberta.embeddings.LayerNorm"),
        Name(f"{ours}distances.weight", "deberta.encoder.rel_embeddings.weight"),
        *norm_names(f"{ours}distance_norm", "deberta.encoder.LayerNorm"),
        *linear_names(f"{block}.attention.q", f"{layer}.attention.self.query_proj"),
        *linear_names(f"{block}.attention.k", f"{layer}.attention.self.key_proj"),
        *linear_names(f"{block}.attention.v", f"{layer}.attention.self.value_proj"),
        *linear_names(f"{block}.attention.o", f"{layer}.attention.output.dense"),
        *norm_names(f"{block}.attention_norm", f"{layer}.attention.output.LayerNorm"),
        *linear_names(f"{block}.up", f"{layer}.intermediate.dense"),
        *linear_names(f"{block}.down", f"{layer}.output.dense"),
        *norm_names(f"{block}.mlp_norm", f"{layer}.output.LayerNorm"),
    ]


_PARTS = ("dense", "LayerNorm")
_KINDS = ("weight", "bias")
_IGNORED = [
    "deberta.embeddings.position_ids",
    "deberta.embeddings.position_embeddings.weight",
    *(f"mask_predictions.{part}.{kind}" for part in (*_PARTS, "classifier") for kind in _KINDS),
    *(f"lm_predictions.lm_head.{part}.{kind}" for part in _PARTS for kind in _KINDS),
    *(f"cls.predictions.transform.{part}.{kind}" for part in _PARTS for kind in _KINDS),
    *(f"cls.predictions.{part}" for part in ("bias", "decoder.weight", "decoder.bias")),
    "lm_predictions.lm_head.bias",
]

#: The encoder alone, out of any checkpoint: whatever stands on top is left out.
NAMES = Names(
    _encoder(""),
    ignored=[
        *_IGNORED,
        *(f"{part}.{kind}" for part in ("pooler.dense", "classifier") for kind in _KINDS),
    ],
)
#: With the head of masked words as Microsoft's files call it, or the library's older name.
MASKED_NAMES = Names(
    [
        *_encoder("encoder."),
        *(
            rule
            for head in ("lm_predictions.lm_head", "cls.predictions.transform")
            for rule in (
                *linear_names("words.map", f"{head}.dense"),
                *norm_names("words.norm", f"{head}.LayerNorm"),
            )
        ),
        Name("words.bias", "lm_predictions.lm_head.bias"),
        Name("words.bias", "cls.predictions.bias"),
        Name("positions.weight", "deberta.embeddings.position_embeddings.weight"),
    ],
    ignored=_IGNORED,
)
#: With a classifier of texts.
SEQUENCE_NAMES = Names(
    [
        *_encoder("encoder."),
        *linear_names("map", "pooler.dense"),
        *linear_names("classes", "classifier"),
    ],
    ignored=_IGNORED,
)


class Attention(nn.Module):
    """Three products to a score."""

    def __init__(self, config: DebertaConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.scale = 1.0 / math.sqrt(3 * (config.width // config.heads))
        self.q = nn.Linear(config.width, config.width)
        self.k = nn.Linear(config.width, config.width)
        self.v = nn.Linear(config.width, config.width)
        self.o = nn.Linear(config.width, config.width)

    def forward(
        self,
        x: Tensor,  # (batch, length, width): what is looked at
        asks: Tensor,  # the same shape: who looks; x itself but in the enhanced decoder
        table: Tensor,  # (2 buckets, width)
        row: Tensor,  # (length, length): the row of the table for query and key
        mask: Tensor | None,  # (batch, 1, 1, length), True: may look
        explicit: bool,
    ) -> Tensor:
        """Shape ``(batch, length, width)``."""
        query, key = split_heads(self.q(asks), self.heads), split_heads(self.k(x), self.heads)
        value = split_heads(self.v(x), self.heads)
        far_query = split_heads(self.q(table)[None], self.heads)  # (1, heads, 2 buckets, .)
        far_key = split_heads(self.k(table)[None], self.heads)
        index = row.expand(*query.shape[:2], -1, -1)
        # Word with distance: of all products of a query, the one of its distance to each key.
        to_place = (query @ far_key.transpose(-1, -2)).gather(-1, index)
        # Distance with word, with the distance from query to key once more, as published
        # weights were trained; the paper's equation 4 has it from key to query.
        from_place = (key @ far_query.transpose(-1, -2)).gather(-1, index.transpose(-1, -2))
        bias = (to_place + from_place.transpose(-1, -2)) * self.scale
        if mask is not None:
            bias = bias.masked_fill(~mask, -math.inf)
        mixed = attend(
            query,
            key,
            value,
            mask=bias,
            scale=self.scale,
            explicit=explicit,
            dropout=self.dropout if self.training else 0.0,
        )
        out: Tensor = self.o(join_heads(mixed))
        return out


class Block(nn.Module):
    """``norm(asks + attention)``, then ``norm(x + mlp(x))``."""

    def __init__(self, config: DebertaConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.attention_norm = nn.LayerNorm(config.width, eps=config.eps)
        self.up = nn.Linear(config.width, config.hidden)
        self.down = nn.Linear(config.hidden, config.width)
        self.mlp_norm = nn.LayerNorm(config.width, eps=config.eps)
        self.drop = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Tensor,
        asks: Tensor,
        table: Tensor,
        row: Tensor,
        mask: Tensor | None,
        explicit: bool = False,
    ) -> Tensor:
        """Shapes as in `Attention.forward`."""
        mixed = self.drop(self.attention(x, asks, table, row, mask, explicit))
        y = self.attention_norm(asks + mixed)
        out: Tensor = self.mlp_norm(y + self.drop(self.down(F.gelu(self.up(y)))))
        return out


class Encoder(nn.Module):
    """Token ids to one state a token.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: DebertaConfig) -> None:
        super().__init__()
        self.config = config
        self.words = nn.Embedding(config.vocabulary, config.width)
        self.norm = nn.LayerNorm(config.width, eps=config.eps)
        self.distances = nn.Embedding(2 * config.buckets, config.width)
        self.distance_norm = nn.LayerNorm(config.width, eps=config.eps)
        self.drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))

    def table(self) -> Tensor:
        """The normalised table of distances, shape ``(2 buckets, width)``."""
        out: Tensor = self.drop(self.distance_norm(self.distances.weight))
        return out

    def rows(self, length: int, device: torch.device) -> Tensor:
        """The row of that table for every query and key, shape ``(length, length)``."""
        bucket = deberta_buckets(
            -distances(length, length, device), self.config.buckets, self.config.furthest
        )
        return (bucket + self.config.buckets).clamp(0, 2 * self.config.buckets - 1)

    def states(
        self, ids: Tensor, real: Tensor | None = None, *, explicit: bool = False
    ) -> list[Tensor]:
        """What goes into the first block and comes out of each; see `forward`."""
        x = self.norm(self.words(ids))
        mask = None
        if real is not None:
            mask = real.bool()[:, None, None, :]
            x = x * real.unsqueeze(-1).to(x.dtype)
        out = [self.drop(x)]
        table, row = self.table(), self.rows(ids.shape[1], ids.device)
        for block in self.blocks:
            out.append(block(out[-1], out[-1], table, row, mask, explicit))
        return out

    def forward(self, ids: Tensor, real: Tensor | None = None, *, explicit: bool = False) -> Tensor:
        """States after the last block.

        Parameters
        ----------
        ids
            Token ids, shape ``(batch, length)``.
        real
            False on padding, the same shape; None: no padding. States of padding mean nothing.
        explicit
            Attention written out instead of torch's fused kernel.

        Returns
        -------
        Tensor
            Shape ``(batch, length, width)``.
        """
        return self.states(ids, real, explicit=explicit)[-1]


class Masked(nn.Module):
    """Scores of every word at every position: what was under the mask.

    Parameters
    ----------
    config
        Sizes.
    positions
        Rows of a table of absolute positions, which makes the decoder the enhanced one
        (He et al. 2021, section 3.2): the last block runs twice over the states before it,
        asked first by these states plus positions, then by its own answer. None: the last
        states go into the head as they are.
    """

    def __init__(self, config: DebertaConfig, positions: int | None = None) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.words = WordHead(config)
        self.positions = None if positions is None else nn.Embedding(positions, config.width)

    def forward(self, ids: Tensor, real: Tensor | None = None) -> Tensor:
        """Shape ``(batch, length, vocabulary)``; arguments as in `Encoder.forward`."""
        states = self.encoder.states(ids, real)
        x = states[-1]
        if self.positions is not None:
            place = torch.arange(ids.shape[1], device=ids.device)
            mask = None if real is None else real.bool()[:, None, None, :]
            table, row = self.encoder.table(), self.encoder.rows(ids.shape[1], ids.device)
            x = states[-2] + self.positions(place)
            for _ in range(2):
                x = self.encoder.blocks[-1](states[-2], x, table, row, mask)
        out: Tensor = self.words(x, self.encoder.words)
        return out


class Sequence(nn.Module):
    """Scores of classes for a whole text: the first state through a map and a GELU, then a map.

    Parameters
    ----------
    config
        Sizes.
    classes
        How many.
    """

    def __init__(self, config: DebertaConfig, classes: int) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.map = nn.Linear(config.width, config.width)
        self.drop = nn.Dropout(config.dropout)
        self.classes = nn.Linear(config.width, classes)

    def forward(self, ids: Tensor, real: Tensor | None = None) -> Tensor:
        """Shape ``(batch, classes)``; arguments as in `Encoder.forward`."""
        first = self.encoder(ids, real)[:, 0]
        out: Tensor = self.classes(self.drop(F.gelu(self.map(first))))
        return out
