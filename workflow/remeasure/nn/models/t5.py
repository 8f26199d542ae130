"""T5 (Raffel et al. 2020), versions 1.0 and 1.1 (Flan-T5 is 1.1 with other weights).

An encoder and a decoder of pre-norm blocks without biases. Scores are not divided by anything;
positions enter as one learned number a head and bucket of distances, made once a stack and
added in every block of it. Version 1.1 gates its feed-forward network and has an output map
of its own; 1.0 reuses the embedding, with states divided by the root of the width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.attention import attend, attention_weights, join_heads, split_heads
from remeasure.nn.layers.cache import SourceCache
from remeasure.nn.layers.norms import RMSNorm
from remeasure.nn.layers.positions import distances, t5_buckets
from remeasure.nn.models.published import only


@dataclass(frozen=True, kw_only=True)
class T5Config:
    """Sizes of a model.

    Attributes
    ----------
    vocabulary, width, heads, head, hidden
        Tokens; channels; heads and channels of each; channels inside the feed-forward network.
    encoder, decoder
        Blocks of each stack.
    buckets, furthest
        Of distances, and the one from which all share a bucket.
    gated, tied
        Version 1.1 is gated and not tied, 1.0 the other way round.
    eps, dropout
        Added to mean squares; share dropped in training.
    """

    vocabulary: int
    width: int
    heads: int
    hidden: int
    encoder: int
    decoder: int
    head: int = 64
    buckets: int = 32
    furthest: int = 128
    gated: bool = False
    tied: bool = True
    eps: float = 1e-6
    dropout: float = 0.1

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> T5Config:
        """From the published ``config.json``.

        Raises
        ------
        KeyError
            When a size is missing.
        DataError
            When it asks for something that this model does not have.
        """
        only(config, feed_forward_proj=("relu", "gated-gelu"))
        tied = config.get("scale_decoder_outputs", config.get("tie_word_embeddings", True))
        return cls(
            vocabulary=config["vocab_size"],
            width=config["d_model"],
            heads=config["num_heads"],
            hidden=config["d_ff"],
            encoder=config["num_layers"],
            decoder=config.get("num_decoder_layers") or config["num_layers"],
            head=config["d_kv"],
            buckets=config["relative_attention_num_buckets"],
            furthest=config.get("relative_attention_max_distance", 128),
            gated=config.get("feed_forward_proj", "relu") == "gated-gelu",
            tied=tied,
            eps=config["layer_norm_epsilon"],
            dropout=config["dropout_rate"],
        )

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        d = self.width
        attention = 4 * d * self.heads * self.head
        mlp = (3 if self.gated else 2) * d * self.hidden
        blocks = self.encoder * (attention + mlp + 2 * d)
        blocks += self.decoder * (2 * attention + mlp + 3 * d)
        embedding = self.vocabulary * d * (1 if self.tied else 2)
        return embedding + blocks + 2 * self.buckets * self.heads + 2 * d


#: Sizes as in their published configurations.
T5_SMALL = T5Config(vocabulary=32_128, width=512, heads=8, hidden=2048, encoder=6, decoder=6)
T5_BASE = T5Config(vocabulary=32_128, width=768, heads=12, hidden=3072, encoder=12, decoder=12)
FLAN_T5_BASE = T5Config(
    vocabulary=32_128,
    width=768,
    heads=12,
    hidden=2048,
    encoder=12,
    decoder=12,
    gated=True,
    tied=False,
)


def names(config: T5Config) -> Names:
    """How the parameters are called in a published file; both versions have tables of their own."""
    rules = [
        Name("embed.weight", "shared.weight"),
        Name("head.weight", "lm_head.weight"),
    ]
    mlp = {"down": "wo", **({"gate": "wi_0", "up": "wi_1"} if config.gated else {"up": "wi"})}
    for stack, last in (("encoder", 1), ("decoder", 2)):
        ours, theirs = f"{stack}.blocks.{{i}}.", f"{stack}.block.{{i}}.layer."
        rules += [
            Name(
                f"{stack}.table.weight",
                f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
            ),
            Name(f"{stack}.norm.weight", f"{stack}.final_layer_norm.weight"),
            Name(f"{ours}attention_norm.weight", f"{theirs}0.layer_norm.weight"),
            Name(f"{ours}mlp_norm.weight", f"{theirs}{last}.layer_norm.weight"),
            Name(f"{ours}attention.{{map}}.weight", f"{theirs}0.SelfAttention.{{map}}.weight"),
            *(
                Name(f"{ours}mlp.{a}.weight", f"{theirs}{last}.DenseReluDense.{b}.weight")
                for a, b in mlp.items()
            ),
        ]
    rules += [
        Name("decoder.blocks.{i}.cross_norm.weight", "decoder.block.{i}.layer.1.layer_norm.weight"),
        Name(
            "decoder.blocks.{i}.cross.{map}.weight",
            "decoder.block.{i}.layer.1.EncDecAttention.{map}.weight",
        ),
    ]
    return Names(
        rules,
        ignored=[
            "lm_head.weight",
            "{stack}.embed_tokens.weight",
            # written by an early converter and read by nobody
            "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
        ],
    )


class Attention(nn.Module):
    """Four maps without biases; scores are not scaled."""

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        inner = config.heads * config.head
        self.heads = config.heads
        self.q = nn.Linear(config.width, inner, bias=False)
        self.k = nn.Linear(config.width, inner, bias=False)
        self.v = nn.Linear(config.width, inner, bias=False)
        self.o = nn.Linear(inner, config.width, bias=False)
        #: Where a list stands here, each call leaves its attention weights in it.
        self.watch: list[Tensor] | None = None

    def key_value(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of states, shape ``(batch, heads, length, head)``."""
        return split_heads(self.k(x), self.heads), split_heads(self.v(x), self.heads)

    def forward(
        self,
        x: Tensor,  # (batch, queries, width)
        key: Tensor,  # (batch, heads, keys, head)
        value: Tensor,
        mask: Tensor
        | None,  # added to the scores or boolean: (batch or 1, heads or 1, queries or 1, keys)
        *,
        causal: bool = False,
    ) -> Tensor:
        """States after attention to the given keys and values."""
        query = split_heads(self.q(x), self.heads)
        if self.watch is not None:
            self.watch.append(attention_weights(query, key, mask=mask, scale=1.0))
        mixed: Tensor = self.o(
            join_heads(attend(query, key, value, mask=mask, causal=causal, scale=1.0))
        )
        return mixed


class MLP(nn.Module):
    """``down(relu(up(x)))``, or gated ``down(gelu(gate(x)) * up(x))`` with the tanh form."""

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        self.up = nn.Linear(config.width, config.hidden, bias=False)
        self.gate = nn.Linear(config.width, config.hidden, bias=False) if config.gated else None
        self.down = nn.Linear(config.hidden, config.width, bias=False)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Shape ``(batch, length, width)`` in and out."""
        up = self.up(x)
        inner = F.relu(up) if self.gate is None else F.gelu(self.gate(x), approximate="tanh") * up
        out: Tensor = self.down(self.drop(inner))
        return out


class EncoderBlock(nn.Module):
    """``x + attention(norm(x))``, then ``x + mlp(norm(x))``."""

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.width, config.eps)
        self.attention = Attention(config)
        self.mlp_norm = RMSNorm(config.width, config.eps)
        self.mlp = MLP(config)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """Shape ``(batch, length, width)`` in and out; ``bias`` holds positions and padding."""
        y = self.attention_norm(x)
        x = x + self.drop(self.attention(y, *self.attention.key_value(y), bias))
        out: Tensor = x + self.drop(self.mlp(self.mlp_norm(x)))
        return out


class DecoderBlock(nn.Module):
    """Attention to its own past, then to the source, then the feed-forward network."""

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.width, config.eps)
        self.attention = Attention(config)
        self.cross_norm = RMSNorm(config.width, config.eps)
        self.cross = Attention(config)
        self.mlp_norm = RMSNorm(config.width, config.eps)
        self.mlp = MLP(config)
        self.drop = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Tensor,  # (batch, length, width)
        bias: Tensor,  # (1, heads, length, keys)
        source: tuple[Tensor, Tensor],  # keys and values of the source, of this block
        mask: Tensor | None,  # (batch, 1, 1, source length), True: may look
        past: tuple[SourceCache, int] | None,
    ) -> Tensor:
        """``past`` is the cache and the number of this block."""
        y = self.attention_norm(x)
        key, value = self.attention.key_value(y)
        if past is not None:
            key, value = past[0].extend(past[1], key, value)
        x = x + self.drop(self.attention(y, key, value, bias, causal=True))
        x = x + self.drop(self.cross(self.cross_norm(x), *source, mask))
        out: Tensor = x + self.drop(self.mlp(self.mlp_norm(x)))
        return out


class Stack(nn.Module):
    """Blocks, the table of position biases that they share, and the last norm."""

    def __init__(self, config: T5Config, *, decoder: bool) -> None:
        super().__init__()
        block, count = (DecoderBlock, config.decoder) if decoder else (EncoderBlock, config.encoder)
        self.table = nn.Embedding(config.buckets, config.heads)
        self.blocks = nn.ModuleList(block(config) for _ in range(count))
        self.norm = RMSNorm(config.width, config.eps)
        self.furthest, self.both_sides = config.furthest, not decoder

    def bias(self, queries: int, keys: int) -> Tensor:
        """What is added to scores, shape ``(1, heads, queries, keys)``; ends are aligned."""
        buckets = t5_buckets(
            distances(queries, keys, self.table.weight.device),
            self.table.num_embeddings,
            self.furthest,
            both_sides=self.both_sides,
        )
        out: Tensor = self.table(buckets).permute(2, 0, 1).unsqueeze(0)
        return out


class T5(nn.Module):
    """A source and the beginning of a target to logits of the next token of the target.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: T5Config) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocabulary, config.width)
        self.encoder = Stack(config, decoder=False)
        self.decoder = Stack(config, decoder=True)
        self.head = None if config.tied else nn.Linear(config.width, config.vocabulary, bias=False)
        self.drop = nn.Dropout(config.dropout)

    def encode(self, source: Tensor, real: Tensor | None = None) -> Tensor:
        """States of a source, shape ``(batch, length, width)``.

        Parameters
        ----------
        source
            Token ids, shape ``(batch, length)``.
        real
            False on padding, the same shape; None: no padding.
        """
        length = source.shape[1]
        bias = self.encoder.bias(length, length)
        if real is not None:
            bias = bias.masked_fill(~real[:, None, None, :], -torch.inf)
        x = self.drop(self.embed(source))
        for block in self.encoder.blocks:
            x = block(x, bias)
        out: Tensor = self.drop(self.encoder.norm(x))
        return out

    def sources(self, memory: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Keys and values of an encoded source, one pair a block of the decoder."""
        blocks = cast("list[DecoderBlock]", list(self.decoder.blocks))
        return [block.cross.key_value(memory) for block in blocks]

    def read(self, source: Tensor, real: Tensor | None, longest: int) -> SourceCache:
        """Encode a source once; the cache holds it and room for ``longest`` tokens of target."""
        config = self.config
        return SourceCache(
            config.decoder,
            source.shape[0],
            config.heads,
            longest,
            config.head,
            self.embed.weight,
            source=self.sources(self.encode(source, real)),
            real=real,
        )

    def _decode(
        self,
        target: Tensor,
        sources: list[tuple[Tensor, Tensor]],
        real: Tensor | None,
        cache: SourceCache | None,
    ) -> Tensor:
        length = target.shape[1]
        before = cache.length if cache else 0
        bias = self.decoder.bias(length, before + length)
        mask = None if real is None else real[:, None, None, :]
        x = self.drop(self.embed(target))
        for number, (block, source) in enumerate(zip(self.decoder.blocks, sources, strict=True)):
            x = block(x, bias, source, mask, (cache, number) if cache else None)
        if cache:
            cache.length = before + length
        out: Tensor = self.drop(self.decoder.norm(x))
        return out

    def hidden(self, ids: Tensor, real: Tensor | None, cache: SourceCache) -> Tensor:
        """States of the next tokens of a target after `read`; targets have no padding.

        Raises
        ------
        ValueError
            When ``real`` says otherwise.
        """
        if real is not None:
            raise ValueError("targets of an encoder-decoder start together and have no padding")
        return self._decode(ids, cache.source, cache.real, cache)

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every token from states, shape ``(..., vocabulary)``."""
        if self.head is None:
            return F.linear(hidden * self.config.width**-0.5, self.embed.weight)
        out: Tensor = self.head(hidden)
        return out

    def forward(self, source: Tensor, target: Tensor, real: Tensor | None = None) -> Tensor:
        """Logits of the next token at every position of a target.

        Parameters
        ----------
        source, target
            Token ids, shape ``(batch, length)`` each; a target begins with the padding token.
        real
            False on padding of the source; None: no padding. That of the target may stand on
            the right, where no real position sees it.

        Returns
        -------
        Tensor
            Shape ``(batch, target length, vocabulary)``.
        """
        memory = self.encode(source, real)
        return self.logits(self._decode(target, self.sources(memory), real, None))
