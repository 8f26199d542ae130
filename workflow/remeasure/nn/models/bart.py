"""BART (Lewis et al. 2020): BERT's encoder and GPT's decoder in one, trained to repair text.

Post-norm blocks with biases and the exact GELU; learned positions that start at row 2 of
their tables; one embedding for both stacks and the output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.attention import attend, join_heads, split_heads
from remeasure.nn.layers.cache import SourceCache
from remeasure.nn.models.published import only

#: The first rows of the position tables, left over from padding, are never read.
OFFSET = 2


@dataclass(frozen=True, kw_only=True)
class BartConfig:
    """Sizes of a model.

    Attributes
    ----------
    vocabulary, context, width, heads, hidden
        Tokens; positions; channels; heads; channels inside the GELU network.
    encoder, decoder
        Blocks of each stack.
    dropout
        Share dropped in training.
    padding
        The token whose embedding learns nothing from being read.
    """

    vocabulary: int
    context: int
    width: int
    heads: int
    hidden: int
    encoder: int
    decoder: int
    dropout: float = 0.1
    padding: int = 1

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> BartConfig:
        """From the published ``config.json``.

        Raises
        ------
        KeyError
            When a size is missing.
        DataError
            When it asks for something that this model does not have.
        """
        only(
            config,
            activation_function="gelu",
            scale_embedding=False,
            tie_word_embeddings=True,
            decoder_attention_heads=config["encoder_attention_heads"],
            decoder_ffn_dim=config["encoder_ffn_dim"],
        )
        return cls(
            vocabulary=config["vocab_size"],
            context=config["max_position_embeddings"],
            width=config["d_model"],
            heads=config["encoder_attention_heads"],
            hidden=config["encoder_ffn_dim"],
            encoder=config["encoder_layers"],
            decoder=config["decoder_layers"],
            dropout=config["dropout"],
            padding=config["pad_token_id"],
        )

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        d = self.width
        attention = 4 * d * (d + 1)
        mlp = 2 * d * self.hidden + self.hidden + d
        blocks = self.encoder * (attention + mlp + 4 * d)
        blocks += self.decoder * (2 * attention + mlp + 6 * d)
        return (self.vocabulary + 2 * (self.context + OFFSET)) * d + blocks + 4 * d


#: BART base: sizes as in its published configuration.
BART_BASE = BartConfig(
    vocabulary=50_265, context=1024, width=768, heads=12, hidden=3072, encoder=6, decoder=6
)


def _rules() -> list[Name]:
    rules = [
        Name("embed.weight", "model.shared.weight"),
        Name("logit_bias", "final_logits_bias"),
    ]
    for stack in ("encoder", "decoder"):
        ours, theirs = f"{stack}.blocks.{{i}}.", f"model.{stack}.layers.{{i}}."
        rules += [
            Name(f"{stack}.place.weight", f"model.{stack}.embed_positions.weight"),
            Name(f"{stack}.norm.{{part}}", f"model.{stack}.layernorm_embedding.{{part}}"),
            Name(f"{ours}attention_norm.{{part}}", f"{theirs}self_attn_layer_norm.{{part}}"),
            Name(f"{ours}mlp_norm.{{part}}", f"{theirs}final_layer_norm.{{part}}"),
            Name(f"{ours}attention.{{map}}.{{part}}", f"{theirs}self_attn.{{map}}_proj.{{part}}"),
            Name(f"{ours}up.{{part}}", f"{theirs}fc1.{{part}}"),
            Name(f"{ours}down.{{part}}", f"{theirs}fc2.{{part}}"),
        ]
    ours, theirs = "decoder.blocks.{i}.", "model.decoder.layers.{i}."
    rules += [
        Name(f"{ours}cross_norm.{{part}}", f"{theirs}encoder_attn_layer_norm.{{part}}"),
        Name(f"{ours}cross.{{map}}.{{part}}", f"{theirs}encoder_attn.{{map}}_proj.{{part}}"),
    ]
    return rules


NAMES = Names(_rules(), ignored=["lm_head.weight", "model.{stack}.embed_tokens.weight"])


class Attention(nn.Module):
    """Four maps with biases."""

    def __init__(self, config: BartConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.q = nn.Linear(config.width, config.width)
        self.k = nn.Linear(config.width, config.width)
        self.v = nn.Linear(config.width, config.width)
        self.out = nn.Linear(config.width, config.width)

    def key_value(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of states, shape ``(batch, heads, length, width / heads)``."""
        return split_heads(self.k(x), self.heads), split_heads(self.v(x), self.heads)

    def forward(
        self,
        x: Tensor,  # (batch, queries, width)
        key: Tensor,  # (batch, heads, keys, width / heads)
        value: Tensor,
        mask: Tensor | None,  # broadcasts to (batch, 1, queries, keys), True: may look
        *,
        causal: bool = False,
    ) -> Tensor:
        """States after attention to the given keys and values."""
        query = split_heads(self.q(x), self.heads)
        mixed: Tensor = self.out(join_heads(attend(query, key, value, mask=mask, causal=causal)))
        return mixed


class Block(nn.Module):
    """Attention, in a decoder also to the source, a GELU network; a norm after each."""

    def __init__(self, config: BartConfig, *, decoder: bool) -> None:
        super().__init__()
        self.attention = Attention(config)
        self.attention_norm = nn.LayerNorm(config.width)
        self.cross = Attention(config) if decoder else None
        self.cross_norm = nn.LayerNorm(config.width) if decoder else None
        self.up = nn.Linear(config.width, config.hidden)
        self.down = nn.Linear(config.hidden, config.width)
        self.mlp_norm = nn.LayerNorm(config.width)
        self.drop = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Tensor,  # (batch, length, width)
        mask: Tensor | None,  # of an encoder's keys: (batch, 1, 1, length), True: may look
        source: tuple[Tensor, Tensor] | None = None,  # keys and values of the source
        seen: Tensor | None = None,  # (batch, 1, 1, source length), True: may look
        past: tuple[SourceCache, int] | None = None,
    ) -> Tensor:
        """Shape ``(batch, length, width)`` in and out; ``past``: cache and number of this block."""
        key, value = self.attention.key_value(x)
        if past is not None:
            key, value = past[0].extend(past[1], key, value)
        causal = self.cross is not None
        x = self.attention_norm(x + self.drop(self.attention(x, key, value, mask, causal=causal)))
        if self.cross is not None and self.cross_norm is not None and source is not None:
            x = self.cross_norm(x + self.drop(self.cross(x, *source, seen)))
        out: Tensor = self.mlp_norm(x + self.drop(self.down(F.gelu(self.up(x)))))
        return out


class Stack(nn.Module):
    """A table of positions, a norm after the embeddings, and blocks."""

    def __init__(self, config: BartConfig, *, decoder: bool) -> None:
        super().__init__()
        count = config.decoder if decoder else config.encoder
        self.place = nn.Embedding(config.context + OFFSET, config.width)
        self.norm = nn.LayerNorm(config.width)
        self.blocks = nn.ModuleList(Block(config, decoder=decoder) for _ in range(count))
        self.drop = nn.Dropout(config.dropout)

    def enter(self, x: Tensor, before: int = 0) -> Tensor:
        """Embeddings with positions from ``before`` on, normed.

        Raises
        ------
        ValueError
            When there are more tokens than positions.
        """
        end, rows = before + x.shape[1], self.place.num_embeddings - OFFSET
        if end > rows:
            raise ValueError(f"{end} tokens, but the model has {rows} positions")
        position = torch.arange(before, end, device=x.device) + OFFSET
        out: Tensor = self.drop(self.norm(x + self.place(position)))
        return out


class Bart(nn.Module):
    """A source and the beginning of a target to logits of the next token of the target.

    Parameters
    ----------
    config
        Sizes.
    """

    logit_bias: Tensor

    def __init__(self, config: BartConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocabulary, config.width, config.padding)
        self.encoder = Stack(config, decoder=False)
        self.decoder = Stack(config, decoder=True)
        # Published with the weights, never learned.
        self.register_buffer("logit_bias", torch.zeros(1, config.vocabulary))

    def encode(self, source: Tensor, real: Tensor | None = None) -> Tensor:
        """States of a source, shape ``(batch, length, width)``.

        Parameters
        ----------
        source
            Token ids, shape ``(batch, length)``.
        real
            False on padding (on the right), the same shape; None: no padding.
        """
        mask = None if real is None else real[:, None, None, :]
        x = self.encoder.enter(self.embed(source))
        for block in self.encoder.blocks:
            x = block(x, mask)
        return x

    def sources(self, memory: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Keys and values of an encoded source, one pair a block of the decoder."""
        blocks = cast("list[Block]", list(self.decoder.blocks))
        return [block.cross.key_value(memory) for block in blocks if block.cross is not None]

    def read(self, source: Tensor, real: Tensor | None, longest: int) -> SourceCache:
        """Encode a source once; the cache holds it and room for ``longest`` tokens of target."""
        config = self.config
        return SourceCache(
            config.decoder,
            source.shape[0],
            config.heads,
            longest,
            config.width // config.heads,
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
        before = cache.length if cache else 0
        seen = None if real is None else real[:, None, None, :]
        x = self.decoder.enter(self.embed(target), before)
        for number, (block, source) in enumerate(zip(self.decoder.blocks, sources, strict=True)):
            x = block(x, None, source, seen, (cache, number) if cache else None)
        if cache:
            cache.length = before + target.shape[1]
        return x

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
        return F.linear(hidden, self.embed.weight) + self.logit_bias

    def forward(self, source: Tensor, target: Tensor, real: Tensor | None = None) -> Tensor:
        """Logits of the next token at every position of a target.

        Parameters
        ----------
        source, target
            Token ids, shape ``(batch, length)`` each; a target begins with the end token.
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
