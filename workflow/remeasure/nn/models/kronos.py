"""Kronos: a decoder-only transformer over tokens of candles (Shi et al. 2025), MIT weights.

A token has two halves of ten bits. The network first says which coarse half comes next;
given one, a further attention layer says which fine half. Both halves of every past token
and its time of day, day and month enter together.

    coarse, fine, marks -> hidden (batch, length, width) -> coarse logits (batch, 1024)
    hidden, a coarse half -> fine logits (batch, 1024)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.norms import RMSNorm
from remeasure.nn.models.kronos_tokenizer import (
    EPS,
    Attention,
    Blocks,
    Config,
    attention_names,
    block_names,
    block_parameters,
)

#: What a mark may be, in the order of the marks: minute, hour, weekday (Monday 0), day, month.
MARKS = {"minute": 60, "hour": 24, "weekday": 7, "day": 32, "month": 13}

#: Heads of the layer between the halves, whatever the configuration says.
DEPENDENCY_HEADS = 4


@dataclass(frozen=True)
class KronosConfig(Config):
    """``config.json`` of Kronos-small; the defaults are what it holds.

    Attributes
    ----------
    s1_bits, s2_bits
        Bits of the coarse and of the fine half.
    n_layers, d_model, n_heads, ff_dim
        Blocks, their width, heads and hidden width.
    learn_te
        Whether the embeddings of the marks are learned, as in all published models.
    """

    s1_bits: int = 10
    s2_bits: int = 10
    n_layers: int = 8
    d_model: int = 512
    n_heads: int = 8
    ff_dim: int = 1024
    learn_te: Literal[True] = True

    def __post_init__(self) -> None:
        for heads in (2 * self.n_heads, DEPENDENCY_HEADS):
            if self.d_model % heads:
                raise ValueError(f"d_model must be a multiple of {heads}")

    def parameters(self) -> int:
        """Numbers in the network, by hand; 24,741,376 at the published sizes."""
        width, tokens = self.d_model, (1 << self.s1_bits) + (1 << self.s2_bits)
        embedded = (tokens + sum(MARKS.values())) * width + (2 * width + 1) * width
        dependency = 4 * (width * width + width) + width
        heads = tokens * (width + 1)
        blocks = self.n_layers * block_parameters(width, self.ff_dim)
        return blocks + embedded + width + dependency + heads


class Embedding(nn.Module):
    """Both halves of a token and its marks as one vector."""

    def __init__(self, config: KronosConfig) -> None:
        super().__init__()
        width = config.d_model
        self.scale = math.sqrt(width)
        self.coarse = nn.Embedding(2**config.s1_bits, width)
        self.fine = nn.Embedding(2**config.s2_bits, width)
        self.fuse = nn.Linear(2 * width, width)
        self.marks = nn.ModuleDict(
            {name: nn.Embedding(size, width) for name, size in MARKS.items()}
        )

    def forward(self, coarse: Tensor, fine: Tensor, marks: Tensor) -> Tensor:
        """From ``(batch, length)``, twice, and ``(batch, length, 5)`` to ``(…, width)``."""
        both = torch.cat((self.coarse(coarse), self.fine(fine)), dim=-1) * self.scale
        x: Tensor = self.fuse(both)  # (batch, length, width)
        for place, embedding in enumerate(self.marks.values()):
            x = x + embedding(marks[..., place])
        return x


class Dependency(nn.Module):
    """What the choice of a coarse half changes in the last hidden state."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = Attention(width, DEPENDENCY_HEADS)
        self.norm = RMSNorm(width, EPS)

    def forward(self, hidden: Tensor, chosen: Tensor) -> Tensor:
        """From ``(batch, length, width)`` and ``(batch, choices, width)`` to the latter's shape.

        Every choice is a query of its own. The published code rotates query and keys by the
        places of the query, which for a single one is place 0: not at all.
        """
        out: Tensor = self.norm(hidden[:, -1:] + self.attention.across(chosen, hidden))
        return out


class Kronos(nn.Module):
    """The network."""

    def __init__(self, config: KronosConfig) -> None:
        super().__init__()
        self.config = config
        width = config.d_model
        self.embedding = Embedding(config)
        self.blocks = Blocks(config.n_layers, width, config.n_heads, config.ff_dim)
        self.norm = RMSNorm(width, EPS)
        self.dependency = Dependency(width)
        self.coarse_head = nn.Linear(width, 2**config.s1_bits)
        self.fine_head = nn.Linear(width, 2**config.s2_bits)

    def forward(self, coarse: Tensor, fine: Tensor, marks: Tensor) -> Tensor:
        """Hidden states; each depends on its own token and earlier ones.

        Parameters
        ----------
        coarse, fine
            Halves of the tokens, integers of shape ``(batch, length)``.
        marks
            Integers of shape ``(batch, length, 5)``, in the order of `MARKS`.

        Returns
        -------
        Tensor
            Shape ``(batch, length, width)``.
        """
        out: Tensor = self.norm(self.blocks(self.embedding(coarse, fine, marks)))
        return out

    def coarse_logits(self, hidden: Tensor) -> Tensor:
        """Of the next coarse half: ``(..., width)`` to ``(..., 1024)``."""
        out: Tensor = self.coarse_head(hidden)
        return out

    def fine_logits(self, hidden: Tensor, chosen: Tensor) -> Tensor:
        """Of the next fine half, given coarse ones.

        Parameters
        ----------
        hidden
            Shape ``(batch, length, width)``: all of them, the next token follows the last.
        chosen
            Coarse halves, each judged alone: integers of shape ``(batch, choices)``.

        Returns
        -------
        Tensor
            Shape ``(batch, choices, 1024)``.
        """
        out: Tensor = self.fine_head(self.dependency(hidden, self.embedding.coarse(chosen)))
        return out


#: Published names; what is ignored holds frequencies, nothing learned.
KRONOS_NAMES = Names(
    [
        *block_names("blocks.{i}", "transformer.{i}"),
        *attention_names("dependency.attention", "dep_layer.cross_attn"),
        Name("dependency.norm.weight", "dep_layer.norm.weight"),
        Name("embedding.coarse.weight", "embedding.emb_s1.weight"),
        Name("embedding.fine.weight", "embedding.emb_s2.weight"),
        Name("embedding.fuse.{kind}", "embedding.fusion_proj.{kind}"),
        *(
            Name(f"embedding.marks.{each}.weight", f"time_emb.{each}_embed.weight")
            for each in MARKS
        ),
        Name("norm.weight", "norm.weight"),
        Name("coarse_head.{kind}", "head.proj_s1.{kind}"),
        Name("fine_head.{kind}", "head.proj_s2.{kind}"),
    ],
    ignored=[
        "transformer.{i}.self_attn.rotary.inv_freq",
        "dep_layer.cross_attn.rotary.inv_freq",
    ],
)
