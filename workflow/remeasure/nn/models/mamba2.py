"""Mamba-2 (Dao and Gu 2024): Mamba with one decay a head, so that the scan is a product.

The block is that of Mamba. One map gives gate, stream, what is written and read, and the
steps; the convolution covers all but gate and steps; the gate multiplies before the last norm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.short_conv import ShortConv
from remeasure.nn.layers.ssd import ssd, ssd_loop
from remeasure.nn.layers.state_cache import StateCache
from remeasure.nn.models.decoder import widened
from remeasure.nn.models.published import only
from remeasure.nn.models.state_decoder import StateDecoder

#: Below so many tokens the plain loop is the fastest scan.
_FEW = 4


def _number(value: Any) -> float:
    """A number of a configuration; infinity is no JSON and comes as ``{"__float__": ...}``."""
    return float(value["__float__"] if isinstance(value, dict) else value)


@dataclass(frozen=True, kw_only=True)
class Mamba2Config:
    """Sizes of a model.

    Attributes
    ----------
    vocabulary, width, layers
        Tokens; channels outside of the mixer; blocks.
    heads, head, states, groups
        Heads; channels of a head; numbers of state a channel; how many heads' worth of what is
        written and read there are.
    reach, chunk
        Tokens that the convolution sees; tokens that are computed as one matrix.
    eps
        Added to mean squares in the norms.
    bias, conv_bias
        Of the maps in and out; of the convolution.
    limits
        Smallest and largest step.
    tied
        The output map is the transposed embedding.
    selective
        False: step, write and read are learned but the same for every token.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    head: int
    states: int
    groups: int = 1
    reach: int = 4
    chunk: int = 256
    eps: float = 1e-5
    bias: bool = False
    conv_bias: bool = True
    limits: tuple[float, float] = (0.0, math.inf)
    tied: bool = True
    selective: bool = True

    @property
    def inner(self) -> int:
        """Channels inside the mixer."""
        return self.heads * self.head

    @property
    def mixed(self) -> int:
        """Channels of the convolution: stream, writes and reads."""
        return self.inner + 2 * self.groups * self.states

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> Mamba2Config:
        """From the published ``config.json``.

        Raises
        ------
        KeyError
            When a size is missing.
        DataError
            When it asks for something that this model does not have.
        """
        only(config, hidden_act="silu", residual_in_fp32=True)
        low, high = config.get("time_step_limit", (0.0, math.inf))
        return cls(
            vocabulary=config["vocab_size"],
            width=config["hidden_size"],
            layers=config["num_hidden_layers"],
            heads=config["num_heads"],
            head=config["head_dim"],
            states=config["state_size"],
            groups=config["n_groups"],
            reach=config.get("conv_kernel", 4),
            chunk=config.get("chunk_size", 256),
            eps=config.get("layer_norm_epsilon", 1e-5),
            bias=config.get("use_bias", False),
            conv_bias=config.get("use_conv_bias", True),
            limits=(_number(low), _number(high)),
            tied=config.get("tie_word_embeddings", False),
        )

    def mixer_parameters(self) -> int:
        """How many numbers one mixer learns."""
        entering = self.inner + self.mixed + self.heads
        maps = self.width * (entering + self.inner) + (entering + self.width) * self.bias
        conv = self.mixed * (self.reach + self.conv_bias)
        fixed = 0 if self.selective else 2 * self.groups * self.states
        return maps + conv + fixed + 3 * self.heads + self.inner

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        embedding = self.vocabulary * self.width * (1 if self.tied else 2)
        return embedding + self.layers * (self.mixer_parameters() + self.width) + self.width

    def state_numbers(self) -> int:
        """Numbers that one text needs to go on, however long it is."""
        return self.layers * (self.mixed * self.reach + self.inner * self.states)


#: mamba2-130m: sizes as in its published configuration.
MAMBA2_130M = Mamba2Config(vocabulary=50_288, width=768, layers=24, heads=24, head=64, states=128)

NAMES = Names(
    [
        Name("embed.weight", "backbone.embeddings.weight"),
        Name("blocks.{i}.norm.weight", "backbone.layers.{i}.norm.weight"),
        Name("blocks.{i}.mixer.into.{part}", "backbone.layers.{i}.mixer.in_proj.{part}"),
        Name("blocks.{i}.mixer.conv.{part}", "backbone.layers.{i}.mixer.conv1d.{part}"),
        Name("blocks.{i}.mixer.step_bias", "backbone.layers.{i}.mixer.dt_bias"),
        Name("blocks.{i}.mixer.rate_log", "backbone.layers.{i}.mixer.A_log"),
        Name("blocks.{i}.mixer.skip", "backbone.layers.{i}.mixer.D"),
        Name("blocks.{i}.mixer.norm.weight", "backbone.layers.{i}.mixer.norm.weight"),
        Name("blocks.{i}.mixer.out.{part}", "backbone.layers.{i}.mixer.out_proj.{part}"),
        Name("norm.weight", "backbone.norm_f.weight"),
        Name("head.weight", "lm_head.weight"),
    ],
    ignored=["lm_head.weight"],
)


class GatedNorm(nn.Module):
    """``rms_norm(x * silu(gate))`` within each group of channels, float32 inside."""

    def __init__(self, width: int, groups: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.groups, self.eps = groups, eps

    def forward(self, x: Tensor, gate: Tensor) -> Tensor:
        """Shape ``(..., width)`` in and out."""
        gated = (widened(x) * F.silu(widened(gate))).view(*x.shape[:-1], self.groups, -1)
        scaled = gated * torch.rsqrt(gated.square().mean(-1, keepdim=True) + self.eps)
        out: Tensor = self.weight * scaled.flatten(-2).to(x.dtype)
        return out


class Mixer(nn.Module):
    """Convolution and state-space duality, gated and normed, between two maps."""

    def __init__(self, config: Mamba2Config) -> None:
        super().__init__()
        self.config = config
        heads = config.heads
        self.into = nn.Linear(config.width, config.inner + config.mixed + heads, bias=config.bias)
        self.conv = ShortConv(config.mixed, config.reach, bias=config.conv_bias)
        first = torch.logspace(-3, -1, heads)
        self.step_bias = nn.Parameter(first + torch.log(-torch.expm1(-first)))
        self.rate_log = nn.Parameter(torch.linspace(1, 16, heads).log())
        self.skip = nn.Parameter(torch.ones(heads))
        self.norm = GatedNorm(config.inner, config.groups, config.eps)
        self.out = nn.Linear(config.inner, config.width, bias=config.bias)
        if not config.selective:
            shape = (config.groups, config.states)
            self.b = nn.Parameter(torch.randn(shape) / math.sqrt(config.states))
            self.c = nn.Parameter(torch.randn(shape) / math.sqrt(config.states))

    def entering(
        self, x: Tensor, real: Tensor | None = None, window: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None]:
        """What goes into the scan, and the window after it.

        Returns
        -------
        tuple
            Gate ``(batch, length, inner)``, stream ``(batch, length, heads, head)``, writes and
            reads ``(batch, length, groups, states)``, steps ``(batch, length, heads)``, and the
            convolution's window.
        """
        config = self.config
        sizes = (config.inner, config.mixed, config.heads)
        gate, mixed, gaps = self.into(x).split(sizes, dim=-1)
        if real is not None:
            mixed = mixed * real  # after the map, whose bias would reach into the convolution
        mixed, after = self.conv(mixed, window)
        mixed = F.silu(mixed)
        if real is not None:
            mixed = mixed * real  # the convolution's bias would write where no token is
        shared = config.groups * config.states
        u, b, c = torch.split(widened(mixed), [config.inner, shared, shared], dim=-1)
        place = x.shape[:2]
        u = u.view(*place, config.heads, config.head)
        if config.selective:
            b, c = (each.view(*place, config.groups, config.states) for each in (b, c))
        else:
            gaps = torch.zeros_like(gaps)
            b, c = (widened(each).expand(*place, -1, -1) for each in (self.b, self.c))
        steps = F.softplus(widened(gaps) + widened(self.step_bias)).clamp(*config.limits)
        return gate, u, b, c, steps, after

    def decays(self, steps: Tensor) -> Tensor:
        """Logarithm of what is left of a state, ``(batch, length, heads)``."""
        return -torch.exp(widened(self.rate_log)) * steps

    def forward(
        self,
        x: Tensor,  # (batch, length, width)
        real: Tensor | None = None,  # (batch, length, 1), 0 on padding
        past: tuple[StateCache, int] | None = None,
    ) -> Tensor:
        """Shape of ``x``; ``past`` is the cache and the number of this block."""
        window, state = (past[0].windows[past[1]], past[0].states[past[1]]) if past else (None,) * 2
        gate, u, b, c, steps, window = self.entering(x, real, window)
        taken = (u * steps.unsqueeze(-1), self.decays(steps), b, c)
        if x.shape[1] < _FEW:
            y, after = ssd_loop(*taken, state)
        else:
            y, after = ssd(*taken, chunk=self.config.chunk, state=state)
        if past and window is not None:
            past[0].windows[past[1]], past[0].states[past[1]] = window, after
        y = (y + u * widened(self.skip).unsqueeze(-1)).flatten(-2)
        mixed: Tensor = self.out(self.norm(y, gate).to(x.dtype))
        return mixed


class Mamba2(StateDecoder):
    """Token ids to logits of the next token.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: Mamba2Config) -> None:
        super().__init__(
            vocabulary=config.vocabulary,
            width=config.width,
            eps=config.eps,
            mixers=[Mixer(config) for _ in range(config.layers)],
            tied=config.tied,
            window=(config.mixed, config.reach),
            state=(config.heads, config.head, config.states),
        )
