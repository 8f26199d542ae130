"""BERT (Devlin et al. 2019): a stack of bidirectional post-norm blocks, and its heads.

Three variations of size that others made of it are sizes here too: embeddings narrower
than the blocks with a map between them, one block applied again and again (both: ALBERT,
Lan et al. 2020; the first: ELECTRA's generator) and no segments (DistilBERT).

The encoder gives states; a head is a module that holds an encoder as ``encoder``, so that
a head can be trained upon published weights of the encoder alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.attention import attend, attention_weights, join_heads, split_heads
from remeasure.nn.layers.positions import counted
from remeasure.nn.models.published import only

Head = Literal["none", "pooled", "masked", "pretraining"]


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """Sizes of a model.

    Attributes
    ----------
    vocabulary, width, layers, heads, hidden
        Tokens; channels; blocks; attention heads; channels inside the feed-forward half.
    positions, segments
        Rows of the two other embedding tables; without segments there is no table.
    eps
        Added to variances in the norms.
    dropout
        In training, after embeddings and sub-layers and on attention weights.
    first
        Position of the first token; None: every column has its own, padding too. RoBERTa
        starts at 2 and gives padding no position.
    embedding
        Channels of the embeddings, mapped up to ``width``; None: the same.
    shared
        All blocks are one (ALBERT).
    tanh
        The GELU of ALBERT is the approximation by a tanh.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    hidden: int
    positions: int = 512
    segments: int = 2
    eps: float = 1e-12
    dropout: float = 0.1
    first: int | None = None
    embedding: int | None = None
    shared: bool = False
    tanh: bool = False

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> BertConfig:
        """From the published ``config.json`` of BERT, ALBERT or an ELECTRA encoder.

        Raises
        ------
        DataError
            When it describes what is not built here.
        KeyError
            Where a size is missing.
        """
        only(
            config,
            hidden_act=("gelu", "gelu_new"),
            position_embedding_type="absolute",
            is_decoder=False,
            num_hidden_groups=1,
            inner_group_num=1,
        )
        width = config["hidden_size"]
        narrow = config.get("embedding_size", width)
        return cls(
            vocabulary=config["vocab_size"],
            width=width,
            layers=config["num_hidden_layers"],
            heads=config["num_attention_heads"],
            hidden=config["intermediate_size"],
            positions=config["max_position_embeddings"],
            segments=config["type_vocab_size"],
            eps=config["layer_norm_eps"],
            dropout=config["hidden_dropout_prob"],
            embedding=None if narrow == width else narrow,
            shared=config.get("model_type") == "albert",
            tanh=config.get("hidden_act") == "gelu_new",
        )

    @property
    def narrow(self) -> int:
        """Channels of the embeddings."""
        return self.width if self.embedding is None else self.embedding

    def block(self) -> int:
        """How many numbers one block learns."""
        attention = 4 * (self.width * self.width + self.width)
        mlp = 2 * self.width * self.hidden + self.hidden + self.width
        return attention + mlp + 4 * self.width

    def parameters(self, head: Head = "none") -> int:
        """How many numbers are learned: the formula that the built model must meet.

        Parameters
        ----------
        head
            With nothing on top, with the pooler, with the masked-word head (its matrix is
            the embedding table, counted once), or with all that BERT is pre-trained with.
        """
        rows = self.vocabulary + self.positions + self.segments
        out = rows * self.narrow + 2 * self.narrow
        if self.embedding is not None:
            out += self.narrow * self.width + self.width
        out += self.block() * (1 if self.shared else self.layers)
        if head in ("masked", "pretraining"):
            out += self.width * self.narrow + 3 * self.narrow + self.vocabulary
        if head in ("pooled", "pretraining"):
            out += self.width * self.width + self.width
        if head == "pretraining":
            out += 2 * self.width + 2
        return out


#: Sizes as in the published configurations.
BERT_BASE = BertConfig(vocabulary=30_522, width=768, layers=12, heads=12, hidden=3072)
BERT_BASE_CASED = replace(BERT_BASE, vocabulary=28_996)
BERT_LARGE = BertConfig(vocabulary=30_522, width=1024, layers=24, heads=16, hidden=4096)
MINILM_L6 = BertConfig(vocabulary=30_522, width=384, layers=6, heads=12, hidden=1536)
DISTILBERT_BASE = replace(BERT_BASE, layers=6, segments=0)
ALBERT_BASE = replace(
    BERT_BASE, vocabulary=30_000, embedding=128, shared=True, tanh=True, dropout=0.0
)


def block_names(ours: str, theirs: str) -> list[Name]:
    """Parts of a block of BERT, RoBERTa and ELECTRA under their published names."""
    rules = [
        Name(f"{ours}.{our}.{kind}", f"{theirs}.{their}.{kind}")
        for our, their in (
            ("attention.q", "attention.self.query"),
            ("attention.k", "attention.self.key"),
            ("attention.v", "attention.self.value"),
            ("attention.o", "attention.output.dense"),
            ("up", "intermediate.dense"),
            ("down", "output.dense"),
        )
        for kind in ("weight", "bias")
    ]
    rules += norm_names(f"{ours}.attention_norm", f"{theirs}.attention.output.LayerNorm")
    return rules + norm_names(f"{ours}.mlp_norm", f"{theirs}.output.LayerNorm")


def norm_names(ours: str, theirs: str) -> list[Name]:
    """A norm, whose weight and bias are gamma and beta in Google's files."""
    kinds = (("weight", "weight"), ("bias", "bias"), ("weight", "gamma"), ("bias", "beta"))
    return [Name(f"{ours}.{our}", f"{theirs}.{their}") for our, their in kinds]


def linear_names(ours: str, theirs: str) -> list[Name]:
    """A map with a bias."""
    return [Name(f"{ours}.{kind}", f"{theirs}.{kind}") for kind in ("weight", "bias")]


def encoder_names(ours: str, theirs: str) -> list[Name]:
    """The encoder, with a prefix (or none) on both sides."""
    return [
        *(
            Name(f"{ours}{table}.weight", f"{theirs}embeddings.{name}_embeddings.weight")
            for table, name in (
                ("words", "word"),
                ("positions", "position"),
                ("segments", "token_type"),
            )
        ),
        *norm_names(f"{ours}norm", f"{theirs}embeddings.LayerNorm"),
        *linear_names(f"{ours}widen", f"{theirs}embeddings_project"),
        *block_names(f"{ours}blocks.{{i}}", f"{theirs}encoder.layer.{{i}}"),
    ]


def albert_names(ours: str, theirs: str) -> list[Name]:
    """The encoder of ALBERT likewise."""
    layer = f"{theirs}encoder.albert_layer_groups.0.albert_layers.0"
    block = f"{ours}blocks.0"
    return [
        *encoder_names(ours, theirs)[:7],
        *linear_names(f"{ours}widen", f"{theirs}encoder.embedding_hidden_mapping_in"),
        *linear_names(f"{block}.attention.q", f"{layer}.attention.query"),
        *linear_names(f"{block}.attention.k", f"{layer}.attention.key"),
        *linear_names(f"{block}.attention.v", f"{layer}.attention.value"),
        *linear_names(f"{block}.attention.o", f"{layer}.attention.dense"),
        *norm_names(f"{block}.attention_norm", f"{layer}.attention.LayerNorm"),
        *linear_names(f"{block}.up", f"{layer}.ffn"),
        *linear_names(f"{block}.down", f"{layer}.ffn_output"),
        *norm_names(f"{block}.mlp_norm", f"{layer}.full_layer_layer_norm"),
    ]


_UNLEARNED = ["{model}.embeddings.position_ids", "embeddings.position_ids"]
_HEADS = [
    *(f"{model}pooler.dense.{kind}" for model in ("", "bert.") for kind in ("weight", "bias")),
    *(f"cls.predictions.{part}" for part in ("bias", "decoder.weight", "decoder.bias")),
    *(f"cls.predictions.transform.dense.{kind}" for kind in ("weight", "bias")),
    *(
        f"cls.predictions.transform.LayerNorm.{kind}"
        for kind in ("weight", "bias", "gamma", "beta")
    ),
    *(
        f"{head}.{kind}"
        for head in ("cls.seq_relationship", "classifier")
        for kind in ("weight", "bias")
    ),
    "linear.weight",
]

#: The encoder alone, out of any checkpoint: whatever stands on top is left out.
NAMES = Names([*encoder_names("", "bert."), *encoder_names("", "")], ignored=[*_UNLEARNED, *_HEADS])
#: An encoder with a head; heads that the model does not have are left out.
HEAD_NAMES = Names(
    [
        *encoder_names("encoder.", "bert."),
        *linear_names("pooler.map", "bert.pooler.dense"),
        *linear_names("words.map", "cls.predictions.transform.dense"),
        *norm_names("words.norm", "cls.predictions.transform.LayerNorm"),
        Name("words.bias", "cls.predictions.bias"),
        *linear_names("follows", "cls.seq_relationship"),
        *linear_names("classes", "classifier"),
    ],
    ignored=[*_UNLEARNED, *_HEADS],
)
ALBERT_HEAD_NAMES = Names(
    [
        *albert_names("encoder.", "albert."),
        *linear_names("words.map", "predictions.dense"),
        *norm_names("words.norm", "predictions.LayerNorm"),
        Name("words.bias", "predictions.bias"),
    ],
    ignored=[
        *_UNLEARNED,
        "predictions.decoder.weight",
        "predictions.decoder.bias",
        *(f"albert.pooler.{kind}" for kind in ("weight", "bias")),
        *(f"sop_classifier.classifier.{kind}" for kind in ("weight", "bias")),
    ],
)


class Attention(nn.Module):
    """Every token looks at every real token."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.q = nn.Linear(config.width, config.width)
        self.k = nn.Linear(config.width, config.width)
        self.v = nn.Linear(config.width, config.width)
        self.o = nn.Linear(config.width, config.width)

    def weights(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Shape ``(batch, heads, length, length)``; rows look, columns are looked at."""
        query, key = split_heads(self.q(x), self.heads), split_heads(self.k(x), self.heads)
        return attention_weights(query, key, mask=mask)

    def forward(self, x: Tensor, mask: Tensor | None, explicit: bool = False) -> Tensor:
        """Shape ``(batch, length, width)`` in and out; ``mask`` as in `attend`."""
        mixed = attend(
            split_heads(self.q(x), self.heads),  # (batch, heads, length, width of a head)
            split_heads(self.k(x), self.heads),
            split_heads(self.v(x), self.heads),
            mask=mask,
            explicit=explicit,
            dropout=self.dropout if self.training else 0.0,
        )
        out: Tensor = self.o(join_heads(mixed))
        return out


class Block(nn.Module):
    """``norm(x + attention(x))``, then ``norm(x + mlp(x))``."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.attention_norm = nn.LayerNorm(config.width, eps=config.eps)
        self.up = nn.Linear(config.width, config.hidden)
        self.down = nn.Linear(config.hidden, config.width)
        self.mlp_norm = nn.LayerNorm(config.width, eps=config.eps)
        self.drop = nn.Dropout(config.dropout)
        self.curve: Literal["tanh", "none"] = "tanh" if config.tanh else "none"

    def forward(self, x: Tensor, mask: Tensor | None, explicit: bool = False) -> Tensor:
        """Shape ``(batch, length, width)`` in and out."""
        x = self.attention_norm(x + self.drop(self.attention(x, mask, explicit)))
        inner = F.gelu(self.up(x), approximate=self.curve)  # (batch, length, hidden)
        out: Tensor = self.mlp_norm(x + self.drop(self.down(inner)))
        return out


class Encoder(nn.Module):
    """Token ids to one state a token.

    Parameters
    ----------
    config
        Sizes.
    words
        A table of word embeddings to share with another encoder (ELECTRA's generator).
    """

    def __init__(self, config: BertConfig, words: nn.Embedding | None = None) -> None:
        super().__init__()
        self.config = config
        self.words = nn.Embedding(config.vocabulary, config.narrow) if words is None else words
        self.positions = nn.Embedding(config.positions, config.narrow)
        self.segments = nn.Embedding(config.segments, config.narrow) if config.segments else None
        self.norm = nn.LayerNorm(config.narrow, eps=config.eps)
        self.drop = nn.Dropout(config.dropout)
        self.widen = None if config.embedding is None else nn.Linear(config.narrow, config.width)
        self.blocks = nn.ModuleList(
            Block(config) for _ in range(1 if config.shared else config.layers)
        )

    def embed(
        self, ids: Tensor, real: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """What the first block sees, shape ``(batch, length, width)``; see `forward`."""
        if self.config.first is None:
            place = torch.arange(ids.shape[1], device=ids.device)
        else:
            place = counted(torch.ones_like(ids) if real is None else real, self.config.first)
        x = self.words(ids) + self.positions(place)  # (batch, length, narrow)
        if self.segments is not None:
            x = x + self.segments(torch.zeros_like(ids) if segments is None else segments)
        out: Tensor = self.drop(self.norm(x))
        if self.widen is not None:
            out = self.widen(out)
        return out

    def stack(self) -> list[Block]:
        """The blocks in the order of their application, a shared one again and again."""
        times = self.config.layers // len(self.blocks)
        return [block for block in self.blocks for _ in range(times)]  # type: ignore[misc]

    def forward(
        self,
        ids: Tensor,
        real: Tensor | None = None,
        segments: Tensor | None = None,
        *,
        explicit: bool = False,
    ) -> Tensor:
        """States after the last block.

        Parameters
        ----------
        ids
            Token ids, shape ``(batch, length)``.
        real
            False on padding, the same shape; None: no padding. States of padding mean nothing.
        segments
            0 for the first text, 1 for the second, the same shape; None: all 0.
        explicit
            Attention written out instead of torch's fused kernel.

        Returns
        -------
        Tensor
            Shape ``(batch, length, width)``.
        """
        mask = None if real is None else real.bool()[:, None, None, :]
        x = self.embed(ids, real, segments)
        for block in self.stack():
            x = block(x, mask, explicit)
        return x

    def maps(
        self, ids: Tensor, real: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Attention weights of every block, shape ``(layers, batch, heads, length, length)``."""
        mask = None if real is None else real.bool()[:, None, None, :]
        x = self.embed(ids, real, segments)
        out = []
        for block in self.stack():
            out.append(block.attention.weights(x, mask))
            x = block(x, mask)
        return torch.stack(out)


class Pooler(nn.Module):
    """A map of the first token's state and a tanh."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.map = nn.Linear(width, width)

    def forward(self, states: Tensor) -> Tensor:
        """From ``(batch, length, width)`` to ``(batch, width)``."""
        return torch.tanh(self.map(states[:, 0]))


class WordHead(nn.Module):
    """States to scores of every word; its matrix is the embedding table, given each time.

    Parameters
    ----------
    config
        Sizes of the encoder.
    eps
        Of the norm, where it is not the encoder's.
    """

    def __init__(self, config: BertConfig, eps: float | None = None) -> None:
        super().__init__()
        self.map = nn.Linear(config.width, config.narrow)
        self.norm = nn.LayerNorm(config.narrow, eps=config.eps if eps is None else eps)
        self.bias = nn.Parameter(torch.zeros(config.vocabulary))
        self.curve: Literal["tanh", "none"] = "tanh" if config.tanh else "none"

    def forward(self, states: Tensor, words: nn.Embedding) -> Tensor:
        """From ``(..., width)`` to ``(..., vocabulary)``."""
        x = self.norm(F.gelu(self.map(states), approximate=self.curve))
        return F.linear(x, words.weight, self.bias)


class Masked(nn.Module):
    """Scores of every word at every position: what was under the mask.

    Parameters
    ----------
    config
        Sizes.
    eps
        Of the head's norm, where it is not the encoder's.
    """

    def __init__(self, config: BertConfig, *, eps: float | None = None) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.words = WordHead(config, eps)

    def forward(
        self, ids: Tensor, real: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Shape ``(batch, length, vocabulary)``; arguments as in `Encoder.forward`."""
        out: Tensor = self.words(self.encoder(ids, real, segments), self.encoder.words)
        return out


class Pretraining(Masked):
    """All that BERT is pre-trained with: masked words, and whether B follows A."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.pooler = Pooler(config.width)
        self.follows = nn.Linear(config.width, 2)

    def both(
        self, ids: Tensor, real: Tensor | None = None, segments: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Scores of words as in `forward`, and ``(batch, 2)``: B follows A, B is a random text."""
        states = self.encoder(ids, real, segments)
        return self.words(states, self.encoder.words), self.follows(self.pooler(states))


class Sequence(nn.Module):
    """Scores of classes for a whole text: pooler, dropout, map.

    Parameters
    ----------
    config
        Sizes.
    classes
        How many.
    """

    def __init__(self, config: BertConfig, classes: int) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.pooler = Pooler(config.width)
        self.drop = nn.Dropout(config.dropout)
        self.classes = nn.Linear(config.width, classes)

    def forward(
        self, ids: Tensor, real: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Shape ``(batch, classes)``; arguments as in `Encoder.forward`."""
        states = self.encoder(ids, real, segments)
        out: Tensor = self.classes(self.drop(self.pooler(states)))
        return out


class Tokens(nn.Module):
    """Scores of classes for every token: dropout, map.

    Parameters
    ----------
    config
        Sizes.
    classes
        How many.
    """

    def __init__(self, config: BertConfig, classes: int) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.drop = nn.Dropout(config.dropout)
        self.classes = nn.Linear(config.width, classes)

    def forward(
        self, ids: Tensor, real: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Shape ``(batch, length, classes)``; arguments as in `Encoder.forward`."""
        out: Tensor = self.classes(self.drop(self.encoder(ids, real, segments)))
        return out


def restart(model: nn.Module, deviation: float = 0.02) -> None:
    """A fresh start as BERT's: tables and maps normal, biases zero, norms one and zero.

    Parameters
    ----------
    model
        Changed in place; every submodule counts, shared ones once.
    deviation
        Of the normal law.
    """
    for part in model.modules():
        if isinstance(part, nn.Linear | nn.Embedding):
            nn.init.normal_(part.weight, std=deviation)
        elif isinstance(part, nn.LayerNorm):
            nn.init.ones_(part.weight)
        if isinstance(part, nn.Linear | nn.LayerNorm) and part.bias is not None:
            nn.init.zeros_(part.bias)
