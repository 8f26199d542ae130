"""Mamba (Gu and Dao 2023): a language model without attention, MLP or positions.

Every block is ``x + mixer(norm(x))``; the mixer is a short convolution and a selective scan
between two linear maps, and what it remembers has a fixed size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.selective_scan import scan_loop, selective_scan
from remeasure.nn.layers.short_conv import ShortConv
from remeasure.nn.layers.state_cache import StateCache
from remeasure.nn.models.decoder import widened
from remeasure.nn.models.published import only
from remeasure.nn.models.state_decoder import StateDecoder

#: Below so many tokens the plain loop is the fastest scan.
_FEW = 8


@dataclass(frozen=True, kw_only=True)
class MambaConfig:
    """Sizes of a model.

    Attributes
    ----------
    vocabulary, width, layers
        Tokens; channels outside of the mixer; blocks.
    inner, states, rank
        Channels inside the mixer; numbers of state a channel; width of the map that makes
        the steps.
    reach
        Tokens that the convolution sees.
    eps
        Added to mean squares in the norms.
    bias, conv_bias
        Of the maps in and out; of the convolution.
    tied
        The output map is the transposed embedding.
    """

    vocabulary: int
    width: int
    layers: int
    inner: int
    states: int
    rank: int
    reach: int = 4
    eps: float = 1e-5
    bias: bool = False
    conv_bias: bool = True
    tied: bool = True

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> MambaConfig:
        """From the published ``config.json``.

        Raises
        ------
        KeyError
            When a size is missing.
        DataError
            When it asks for something that this model does not have.
        """
        only(config, hidden_act="silu", residual_in_fp32=True)
        width = config["hidden_size"]
        rank = config.get("time_step_rank", "auto")
        return cls(
            vocabulary=config["vocab_size"],
            width=width,
            layers=config["num_hidden_layers"],
            inner=int(config.get("expand", 2) * width),
            states=config["state_size"],
            rank=math.ceil(width / 16) if rank == "auto" else rank,
            reach=config.get("conv_kernel", 4),
            eps=config.get("layer_norm_epsilon", 1e-5),
            bias=config.get("use_bias", False),
            conv_bias=config.get("use_conv_bias", True),
            tied=config.get("tie_word_embeddings", True),
        )

    def mixer_parameters(self) -> int:
        """How many numbers one mixer learns."""
        maps = 3 * self.width * self.inner
        biases = (2 * self.inner + self.width) * self.bias + self.inner * self.conv_bias
        select = self.inner * (self.rank + 2 * self.states)
        steps = self.rank * self.inner + self.inner
        return (
            maps
            + biases
            + self.inner * self.reach
            + select
            + steps
            + self.inner * (self.states + 1)
        )

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        embedding = self.vocabulary * self.width * (1 if self.tied else 2)
        return embedding + self.layers * (self.mixer_parameters() + self.width) + self.width

    def state_numbers(self) -> int:
        """Numbers that one text needs to go on, however long it is."""
        return self.layers * self.inner * (self.reach + self.states)


#: mamba-130m: sizes as in its published configuration.
MAMBA_130M = MambaConfig(vocabulary=50_280, width=768, layers=24, inner=1536, states=16, rank=48)

NAMES = Names(
    [
        Name("embed.weight", "backbone.embeddings.weight"),
        Name("blocks.{i}.norm.weight", "backbone.layers.{i}.norm.weight"),
        Name("blocks.{i}.mixer.into.{part}", "backbone.layers.{i}.mixer.in_proj.{part}"),
        Name("blocks.{i}.mixer.conv.{part}", "backbone.layers.{i}.mixer.conv1d.{part}"),
        Name("blocks.{i}.mixer.select.weight", "backbone.layers.{i}.mixer.x_proj.weight"),
        Name("blocks.{i}.mixer.step.{part}", "backbone.layers.{i}.mixer.dt_proj.{part}"),
        Name("blocks.{i}.mixer.rate_log", "backbone.layers.{i}.mixer.A_log"),
        Name("blocks.{i}.mixer.skip", "backbone.layers.{i}.mixer.D"),
        Name("blocks.{i}.mixer.out.{part}", "backbone.layers.{i}.mixer.out_proj.{part}"),
        Name("norm.weight", "backbone.norm_f.weight"),
        Name("head.weight", "lm_head.weight"),
    ],
    ignored=["lm_head.weight"],
)


class Mixer(nn.Module):
    """Convolution and selective scan, gated, between two maps."""

    def __init__(self, config: MambaConfig) -> None:
        super().__init__()
        inner, states = config.inner, config.states
        self.states, self.rank = states, config.rank
        self.into = nn.Linear(config.width, 2 * inner, bias=config.bias)
        self.conv = ShortConv(inner, config.reach, bias=config.conv_bias)
        self.select = nn.Linear(inner, config.rank + 2 * states, bias=False)
        self.step = nn.Linear(config.rank, inner)
        self.rate_log = nn.Parameter(torch.arange(1.0, states + 1).log().repeat(inner, 1))
        self.skip = nn.Parameter(torch.ones(inner))
        self.out = nn.Linear(inner, config.width, bias=config.bias)
        with torch.no_grad():
            # First steps spread evenly in logarithm between 0.001 and 0.1.
            first = torch.exp(torch.empty(inner).uniform_(math.log(1e-3), math.log(0.1)))
            self.step.bias.copy_(first + torch.log(-torch.expm1(-first)))
            nn.init.uniform_(self.step.weight, -(config.rank**-0.5), config.rank**-0.5)

    def steps(self, seed: Tensor) -> Tensor:
        """Size of each step, positive, float32: ``(batch, length, inner)`` from the seed."""
        return F.softplus(widened(F.linear(seed, self.step.weight)) + widened(self.step.bias))

    def forward(
        self,
        x: Tensor,  # (batch, length, width)
        real: Tensor | None = None,  # (batch, length, 1), 0 on padding
        past: tuple[StateCache, int] | None = None,
    ) -> Tensor:
        """Shape of ``x``; ``past`` is the cache and the number of this block."""
        u, gate = self.into(x).chunk(2, dim=-1)  # (batch, length, inner) each
        if real is not None:
            u = u * real  # after the map, whose bias would reach into the convolution
        window, state = (past[0].windows[past[1]], past[0].states[past[1]]) if past else (None,) * 2
        u, window = self.conv(u, window)
        u = F.silu(u)
        if real is not None:
            u = u * real  # the convolution's bias would write where no token is
        seed, b, c = self.select(u).split((self.rank, self.states, self.states), dim=-1)
        scan = selective_scan if x.shape[1] >= _FEW else scan_loop
        wide = widened(u)
        y, after = scan(
            wide,
            self.steps(seed),
            -torch.exp(widened(self.rate_log)),
            widened(b),
            widened(c),
            state,
        )
        if past and window is not None:
            past[0].windows[past[1]], past[0].states[past[1]] = window, after
        y = (y + wide * widened(self.skip)) * F.silu(widened(gate))
        mixed: Tensor = self.out(y.to(x.dtype))
        return mixed


class Mamba(StateDecoder):
    """Token ids to logits of the next token.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: MambaConfig) -> None:
        super().__init__(
            vocabulary=config.vocabulary,
            width=config.width,
            eps=config.eps,
            mixers=[Mixer(config) for _ in range(config.layers)],
            tied=config.tied,
            window=(config.inner, config.reach),
            state=(config.inner, config.states),
        )
