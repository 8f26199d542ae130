"""Kronos's tokenizer: a candle becomes 20 bits, and 20 bits a candle (Shi et al. 2025).

A causal transformer maps each candle to a point on the unit sphere, and the signs of its
coordinates are the token: binary spherical quantisation (Zhao et al. 2024). The first ten
bits are the coarse half, the last ten the fine half, each a number from 0 to 1023. A
second causal transformer maps tokens back to candles.

The published configuration names one block more than there are, in the encoder and in the
decoder alike: ``n_enc_layers`` 4 means three blocks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from remeasure.errors import DataError
from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.attention import attend, join_heads, split_heads
from remeasure.nn.layers.mlp import SwiGLU
from remeasure.nn.layers.norms import RMSNorm
from remeasure.nn.layers.rotary import angles, frequencies, rotate

EPS = 1e-5

#: Cosines and sines of the positions, from `remeasure.nn.layers.rotary.angles`.
Turn = tuple[Tensor, Tensor]


class Config:
    """A ``config.json``; what only training needs is passed over."""

    @classmethod
    def of(cls, published: Mapping[str, Any], *, where: object = "config.json") -> Self:
        """From the contents of a checkpoint's ``config.json``.

        Raises
        ------
        DataError
            Naming the keys that are missing, of another kind, or ask for what is not built.
        """
        wanted = [field.name for field in fields(cls)]  # type: ignore[arg-type]
        try:
            if absent := [name for name in wanted if name not in published]:
                raise ValueError(f"{', '.join(absent)} missing")
            config: Self = TypeAdapter(cls).validate_python(published)
        except ValueError as error:
            raise DataError(
                f"this is no configuration of Kronos: {error}",
                where=where,
                remedy="name the model and its tokenizer, as NeoQuasar/Kronos-small and"
                " NeoQuasar/Kronos-Tokenizer-base",
            ) from error
        return config


def block_parameters(width: int, hidden: int) -> int:
    """Numbers in one `Block`: two norms, four maps with biases, three without."""
    return 2 * width + 4 * (width * width + width) + 3 * width * hidden


@dataclass(frozen=True)
class TokenizerConfig(Config):
    """``config.json`` of Kronos-Tokenizer-base; the defaults are what it holds.

    Attributes
    ----------
    d_in
        Numbers of a candle: open, high, low, close, volume, amount.
    d_model, n_heads, ff_dim
        Width, heads and hidden width of the blocks.
    n_enc_layers, n_dec_layers
        One more than the blocks on each side.
    s1_bits, s2_bits
        Bits of the coarse and of the fine half.
    """

    d_in: int = 6
    d_model: int = 256
    n_heads: int = 4
    ff_dim: int = 512
    n_enc_layers: int = 4
    n_dec_layers: int = 4
    s1_bits: int = 10
    s2_bits: int = 10

    def __post_init__(self) -> None:
        if self.d_model % (2 * self.n_heads):
            raise ValueError("d_model must be an even number times n_heads")

    @property
    def bits(self) -> int:
        """Bits of a token."""
        return self.s1_bits + self.s2_bits

    def parameters(self) -> int:
        """Numbers in the network, by hand; 3,958,042 at the published sizes."""
        width, blocks = self.d_model, self.n_enc_layers + self.n_dec_layers - 2
        ends = (self.d_in + 1) * width + (width + 1) * self.d_in
        codes = (width + 1) * self.bits + (self.s1_bits + 1) * width + (self.bits + 1) * width
        return blocks * block_parameters(width, self.ff_dim) + ends + codes


class Attention(nn.Module):
    """Multi-head attention whose four maps have biases."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, turn: Turn) -> Tensor:
        """Causal attention of a sequence to itself, ``(batch, length, width)`` in and out."""
        query = rotate(split_heads(self.query(x), self.heads), *turn)
        key = rotate(split_heads(self.key(x), self.heads), *turn)
        value = split_heads(self.value(x), self.heads)  # (batch, heads, length, width / heads)
        out: Tensor = self.out(join_heads(attend(query, key, value, causal=True)))
        return out

    def across(self, x: Tensor, memory: Tensor) -> Tensor:
        """Attention of ``x`` to all of ``memory``, without positions.

        ``(batch, queries, width)`` and ``(batch, length, width)`` give the shape of ``x``.
        """
        query = split_heads(self.query(x), self.heads)
        key = split_heads(self.key(memory), self.heads)
        value = split_heads(self.value(memory), self.heads)
        out: Tensor = self.out(join_heads(attend(query, key, value)))
        return out


class Block(nn.Module):
    """Attention and a gated MLP, each after a norm and beside a residual path."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(width, EPS)
        self.attention = Attention(width, heads)
        self.mlp_norm = RMSNorm(width, EPS)
        self.mlp = SwiGLU(width, hidden)

    def forward(self, x: Tensor, turn: Turn) -> Tensor:
        """Shape ``(batch, length, width)`` in and out."""
        x = x + self.attention(self.attention_norm(x), turn)
        out: Tensor = x + self.mlp(self.mlp_norm(x))
        return out


class Blocks(nn.ModuleList):
    """A stack of blocks over one sequence, rotary positions counted from its first place."""

    def __init__(self, count: int, width: int, heads: int, hidden: int) -> None:
        super().__init__(Block(width, heads, hidden) for _ in range(count))
        self.head_width = width // heads

    def forward(self, x: Tensor) -> Tensor:
        """Shape ``(batch, length, width)`` in and out."""
        places = torch.arange(x.shape[1], device=x.device)
        turn = angles(places, frequencies(self.head_width).to(x.device))
        for block in self:
            x = block(x, turn)
        return x


def quantise(z: Tensor) -> Tensor:
    """The corner of the cube inscribed in the unit sphere that lies nearest to ``z``'s direction.

    Nearest is the corner with the same signs, however long ``z`` is; zero counts as negative.

    Parameters
    ----------
    z
        Shape ``(..., bits)``.

    Returns
    -------
    Tensor
        Every number ``1 / sqrt(bits)`` or its negative; the shape of ``z``.
    """
    side = 1.0 / math.sqrt(z.shape[-1])
    return torch.where(z > 0, side, -side).to(z.dtype)


def index_of(code: Tensor) -> Tensor:
    """Number whose binary digits are the signs, lowest first: ``(..., bits)`` to ``(...)``."""
    digits = torch.arange(code.shape[-1], device=code.device)
    return ((code > 0).long() << digits).sum(-1)


def code_of(index: Tensor, bits: int) -> Tensor:
    """Signs (-1 or 1, float32) of the binary digits of ``index``: ``(...)`` to ``(..., bits)``."""
    digits = torch.arange(bits, device=index.device)
    return (((index.unsqueeze(-1) >> digits) & 1) * 2 - 1).float()


class KronosTokenizer(nn.Module):
    """Candles to tokens and back."""

    def __init__(self, config: TokenizerConfig) -> None:
        super().__init__()
        self.config = config
        width = config.d_model
        self.embed = nn.Linear(config.d_in, width)
        self.encoder = Blocks(config.n_enc_layers - 1, width, config.n_heads, config.ff_dim)
        self.to_code = nn.Linear(width, config.bits)
        # Training also asks the decoder for a candle from the coarse half alone.
        self.from_coarse = nn.Linear(config.s1_bits, width)
        self.from_code = nn.Linear(config.bits, width)
        self.decoder = Blocks(config.n_dec_layers - 1, width, config.n_heads, config.ff_dim)
        self.head = nn.Linear(width, config.d_in)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens of normalised candles; none depends on a later candle.

        Parameters
        ----------
        x
            Shape ``(batch, length, 6)``.

        Returns
        -------
        tuple
            Coarse and fine half, integers of shape ``(batch, length)``.
        """
        z = self.to_code(self.encoder(self.embed(x)))  # (batch, length, 20)
        code = quantise(z)
        coarse, fine = code[..., : self.config.s1_bits], code[..., self.config.s1_bits :]
        return index_of(coarse), index_of(fine)

    def decode(self, coarse: Tensor, fine: Tensor) -> Tensor:
        """Normalised candles of tokens; each depends on its own and earlier tokens.

        Parameters
        ----------
        coarse, fine
            Integers of shape ``(batch, length)``.

        Returns
        -------
        Tensor
            Shape ``(batch, length, 6)``.
        """
        halves = code_of(coarse, self.config.s1_bits), code_of(fine, self.config.s2_bits)
        code = torch.cat(halves, dim=-1) / math.sqrt(self.config.bits)  # (batch, length, 20)
        out: Tensor = self.head(self.decoder(self.from_code(code.to(self.head.weight.dtype))))
        return out


def block_names(ours: str, theirs: str) -> list[Name]:
    """The names of the parameters of a `Block`."""
    pairs = {
        "attention_norm.weight": "norm1.weight",
        "mlp_norm.weight": "norm2.weight",
        "mlp.gate.weight": "ffn.w1.weight",
        "mlp.up.weight": "ffn.w3.weight",
        "mlp.down.weight": "ffn.w2.weight",
    }
    return [
        *(Name(f"{ours}.{mine}", f"{theirs}.{published}") for mine, published in pairs.items()),
        *attention_names(f"{ours}.attention", f"{theirs}.self_attn"),
    ]


def attention_names(ours: str, theirs: str) -> list[Name]:
    """The names of the parameters of an `Attention`."""
    return [
        Name(
            f"{ours}.{part}.{{kind}}",
            f"{theirs}.{part if part == 'out' else part[0]}_proj.{{kind}}",
        )
        for part in ("query", "key", "value", "out")
    ]


#: Published names; what is ignored holds frequencies and powers of two, nothing learned.
TOKENIZER_NAMES = Names(
    [
        *block_names("encoder.{i}", "encoder.{i}"),
        *block_names("decoder.{i}", "decoder.{i}"),
        Name("embed.{kind}", "embed.{kind}"),
        Name("head.{kind}", "head.{kind}"),
        Name("to_code.{kind}", "quant_embed.{kind}"),
        Name("from_coarse.{kind}", "post_quant_embed_pre.{kind}"),
        Name("from_code.{kind}", "post_quant_embed.{kind}"),
    ],
    ignored=[
        "encoder.{i}.self_attn.rotary.inv_freq",
        "decoder.{i}.self_attn.rotary.inv_freq",
        "tokenizer.bsq.basis",
        "tokenizer.bsq.group_basis",
    ],
)
