"""Chronos-2: one transformer that forecasts any series it is shown, without being fitted to it.

A series is brought to a common scale and cut into patches of 16 values. Each patch becomes one
token; after the past come a mark (where the past ends) and one token for every patch of the
future. Blocks of attention along time, attention across the series of a group and an MLP turn
the future's tokens into 21 quantiles of each of their 16 values. Nothing is masked in time:
the future's tokens hold no values, so there is nothing to hide.

Past values only: covariates whose future is known are not built here.

Source: Ansari et al. (2025), Chronos-2: From univariate to universal forecasting,
arXiv 2510.15821, section 3; names of the weights as in the published checkpoint.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import torch
from pydantic import BaseModel, Field, ValidationError
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.errors import DataError
from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.layers.attention import attend, join_heads, split_heads
from remeasure.nn.layers.norms import RMSNorm
from remeasure.nn.layers.rotary import angles, frequencies, rotate

#: 0.01, 0.05, 0.10 … 0.95, 0.99.
QUANTILES = (0.01, *(round(0.05 * step, 2) for step in range(1, 20)), 0.99)

#: Size of the published checkpoint.
PARAMETERS = 119_477_664

#: Row of the table of special tokens that marks the end of the past; row 0 is never read.
END_OF_PAST, SPECIAL = 1, 2

#: Spread of a constant series, so that nothing is divided by zero.
LEAST_SCALE = 1e-5


@dataclass(frozen=True)
class Config:
    """Sizes; the defaults are those of the published checkpoint.

    Attributes
    ----------
    width, heads, head_width, layers, hidden
        Channels of a token; heads of attention and channels of each; blocks; channels inside
        the MLPs.
    patch
        Values in a token, of the past and of the future.
    future_patches
        The most that are forecast at once.
    context
        Values of the past that are seen; older ones are cut off.
    time_scale
        Steps that count as one unit of time.
    quantiles
        Levels forecast, ascending.
    arcsinh
        Whether scaled values are compressed by the inverse hyperbolic sine.
    """

    width: int = 768
    heads: int = 12
    head_width: int = 64
    layers: int = 12
    hidden: int = 3072
    patch: int = 16
    future_patches: int = 64
    context: int = 8192
    time_scale: int = 8192
    quantiles: tuple[float, ...] = QUANTILES
    arcsinh: bool = True
    eps: float = 1e-6
    theta: float = 10_000.0

    @classmethod
    def of(cls, published: Mapping[str, Any], *, where: object = "config.json") -> Self:
        """From the contents of a checkpoint's ``config.json``.

        Raises
        ------
        DataError
            When it is not one of Chronos-2, or asks for what is not built here.
        """
        try:
            outer = _Published.model_validate(published)
        except ValidationError as error:
            raise DataError(
                f"this is no configuration of Chronos-2: {error}",
                where=where,
                remedy="name a checkpoint of Chronos-2, as amazon/chronos-2",
            ) from error
        inner = outer.chronos_config
        if not inner.input_patch_size == inner.input_patch_stride == inner.output_patch_size:
            raise DataError(
                "patches that overlap, or differ between past and future, are not built here",
                where=where,
                remedy="name a checkpoint whose patches have one size, as amazon/chronos-2",
            )
        return cls(
            width=outer.d_model,
            heads=outer.num_heads,
            head_width=outer.d_kv,
            layers=outer.num_layers,
            hidden=outer.d_ff,
            patch=inner.input_patch_size,
            future_patches=inner.max_output_patches,
            context=inner.context_length,
            time_scale=inner.time_encoding_scale or inner.context_length,
            quantiles=inner.quantiles,
            arcsinh=inner.use_arcsinh,
            eps=outer.layer_norm_epsilon,
            theta=outer.rope_theta,
        )

    def parameters(self) -> int:
        """Number of parameters, by hand; 119,477,664 at the published sizes."""
        residual = sum(
            fan_in * self.hidden + self.hidden  # hidden layer
            + self.hidden * fan_out + fan_out  # its way out
            + fan_in * fan_out + fan_out  # the skip
            for fan_in, fan_out in (
                (3 * self.patch, self.width),
                (self.width, len(self.quantiles) * self.patch),
            )
        )  # fmt: skip
        attention = 4 * self.width * self.heads * self.head_width
        block = 2 * attention + 2 * self.width * self.hidden + 3 * self.width
        return SPECIAL * self.width + residual + self.layers * block + self.width


class _Forecasting(BaseModel):
    context_length: int = Field(ge=1)
    input_patch_size: int = Field(ge=1)
    input_patch_stride: int
    output_patch_size: int
    max_output_patches: int = Field(ge=1)
    quantiles: tuple[float, ...] = Field(min_length=1)
    time_encoding_scale: int | None = None
    use_reg_token: Literal[True]
    use_arcsinh: bool


class _Published(BaseModel):
    """What of ``config.json`` matters here; other keys are left alone."""

    d_model: int = Field(ge=1)
    d_kv: int = Field(ge=2)
    d_ff: int = Field(ge=1)
    num_layers: int = Field(ge=1)
    num_heads: int = Field(ge=1)
    layer_norm_epsilon: float = 1e-6
    rope_theta: float = 10_000.0
    feed_forward_proj: Literal["relu"] = "relu"
    chronos_config: _Forecasting


_BLOCK = "encoder.block.{i}.layer"
NAMES = Names(
    [
        Name("special.weight", "shared.weight"),
        *(
            Name(f"{ours}.{part}.{{kind}}", f"{theirs}_patch_embedding.{layer}_layer.{{kind}}")
            for ours, theirs in (("embed", "input"), ("head", "output"))
            for part, layer in (("hidden", "hidden"), ("out", "output"), ("skip", "residual"))
        ),
        *(
            name
            for number, ours in enumerate(("time", "group"))
            for name in (
                Name(
                    f"blocks.{{i}}.{ours}.{{map}}.weight",
                    f"{_BLOCK}.{number}.self_attention.{{map}}.weight",
                ),
                Name(f"blocks.{{i}}.{ours}_norm.weight", f"{_BLOCK}.{number}.layer_norm.weight"),
            )
        ),
        Name("blocks.{i}.mlp_in.weight", f"{_BLOCK}.2.mlp.wi.weight"),
        Name("blocks.{i}.mlp_out.weight", f"{_BLOCK}.2.mlp.wo.weight"),
        Name("blocks.{i}.mlp_norm.weight", f"{_BLOCK}.2.layer_norm.weight"),
        Name("norm.weight", "encoder.final_layer_norm.weight"),
    ]
)
"""How the published checkpoint calls the parameters."""


class Attention(nn.Module):
    """Four maps without biases around attention whose scores are not scaled."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        inner = config.heads * config.head_width
        self.heads = config.heads
        self.q = nn.Linear(config.width, inner, bias=False)
        self.k = nn.Linear(config.width, inner, bias=False)
        self.v = nn.Linear(config.width, inner, bias=False)
        self.o = nn.Linear(inner, config.width, bias=False)

    def forward(self, x: Tensor, mask: Tensor, turn: tuple[Tensor, Tensor] | None = None) -> Tensor:
        """Along the second axis of ``x``, shape (batch, length, width) in and out.

        Parameters
        ----------
        mask
            True where a query may look, broadcast against (batch, heads, length, length).
        turn
            Cosines and sines of the rotary embedding; none where there is no order.
        """
        q, k, v = (split_heads(each(x), self.heads) for each in (self.q, self.k, self.v))
        if turn is not None:
            q, k = rotate(q, *turn), rotate(k, *turn)
        out: Tensor = self.o(join_heads(attend(q, k, v, mask=mask, scale=1.0)))
        return out

    def alone(self, x: Tensor) -> Tensor:
        """The same where everything may look at itself only: all weight lies on its own value."""
        out: Tensor = self.o(self.v(x))
        return out


class Block(nn.Module):
    """Attention along time, attention across the series of a group, MLP; each adds to the last."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.time_norm = RMSNorm(config.width, config.eps)
        self.time = Attention(config)
        self.group_norm = RMSNorm(config.width, config.eps)
        self.group = Attention(config)
        self.mlp_norm = RMSNorm(config.width, config.eps)
        self.mlp_in = nn.Linear(config.width, config.hidden, bias=False)
        self.mlp_out = nn.Linear(config.hidden, config.width, bias=False)

    def forward(
        self, x: Tensor, turn: tuple[Tensor, Tensor], time: Tensor, group: Tensor | None
    ) -> Tensor:
        """Shape (series, tokens, width) in and out; masks as in `Chronos2.masks`."""
        x = x + self.time(self.time_norm(x), time, turn)
        apart = self.group_norm(x)
        if group is None:
            x = x + self.group.alone(apart)
        else:  # the series of a batch stand where the tokens stood
            x = x + self.group(apart.transpose(0, 1), group).transpose(0, 1)
        out: Tensor = x + self.mlp_out(F.relu(self.mlp_in(self.mlp_norm(x))))
        return out


class Residual(nn.Module):
    """An MLP with biases beside a linear map: into the tokens, and out of them."""

    def __init__(self, fan_in: int, hidden: int, fan_out: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(fan_in, hidden)
        self.out = nn.Linear(hidden, fan_out)
        self.skip = nn.Linear(fan_in, fan_out)

    def forward(self, x: Tensor) -> Tensor:
        """Shape (..., fan_in) to (..., fan_out)."""
        out: Tensor = self.out(F.relu(self.hidden(x))) + self.skip(x)
        return out


class Chronos2(nn.Module):
    """The whole model.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.special = nn.Embedding(SPECIAL, config.width)
        self.embed = Residual(3 * config.patch, config.hidden, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.width, config.eps)
        self.head = Residual(config.width, config.hidden, len(config.quantiles) * config.patch)

    def scale(self, context: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and population standard deviation of what is known of each series.

        Shapes (series, length) to twice (series, 1), float32. A series without any value has
        mean 0 and deviation 1, a constant one the deviation `LEAST_SCALE`.
        """
        context = context.float()
        mean = context.nanmean(-1, keepdim=True).nan_to_num(nan=0.0)
        spread = (context - mean).square().nanmean(-1, keepdim=True).sqrt().nan_to_num(nan=1.0)
        return mean, torch.where(spread == 0, LEAST_SCALE, spread)

    def tokens(self, scaled: Tensor, future: int) -> tuple[Tensor, Tensor]:
        """Past, mark and future as tokens, and which of them hold something to look at.

        Parameters
        ----------
        scaled
            Shape (series, length), NaN where a value is missing.
        future
            Patches of the future.

        Returns
        -------
        tuple
            Tokens (series, past + 1 + future, width) and what is seen, boolean, one a token.
        """
        size, dtype = self.config.patch, self.special.weight.dtype
        series, length = scaled.shape
        # A length that is no multiple of a patch is filled up with missing values on the left.
        scaled = F.pad(scaled, ((-length) % size, 0), value=math.nan)
        past = scaled.shape[-1] // size
        time = torch.arange(-past * size, future * size, device=scaled.device)
        clock = (time.float() / self.config.time_scale).view(1, past + future, size)
        known = ~scaled.isnan()
        values = F.pad(torch.where(known, scaled, 0.0), (0, future * size))
        # Each patch: times, values, and which values are there.  (series, past + future, 3 size)
        patches = torch.cat(
            [
                clock.expand(series, -1, -1),
                values.view(series, -1, size),
                F.pad(known, (0, future * size)).view(series, -1, size),
            ],
            dim=-1,
        )
        embedded: Tensor = self.embed(patches.to(dtype))
        mark = self.special.weight[END_OF_PAST].expand(series, 1, -1)
        seen = known.view(series, past, size).any(-1)
        return (
            torch.cat([embedded[:, :past], mark, embedded[:, past:]], dim=1),
            F.pad(seen, (0, 1 + future), value=True),
        )

    def masks(self, seen: Tensor, groups: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Who may look at whom, along time and across series.

        A token without any value is looked at by none but, across series, itself: what it
        becomes is never read.

        Parameters
        ----------
        seen
            Boolean, shape (series, tokens).
        groups
            Number of each series' group, shape (series,); None where each stands alone.

        Returns
        -------
        tuple
            Booleans (series, 1, 1, tokens) and (tokens, 1, series, series) or None.
        """
        time = seen[:, None, None, :]
        if groups is None:
            return time, None
        same = groups[:, None] == groups[None, :]
        itself = torch.eye(groups.numel(), dtype=torch.bool, device=seen.device)
        return time, ((same & seen.T[:, None, :]) | itself).unsqueeze(1)

    def forward(self, context: Tensor, groups: Tensor | None = None, horizon: int = 1) -> Tensor:
        """Quantiles of the next values of each series.

        Parameters
        ----------
        context
            Past values, the latest last, NaN where one is missing; shape (series, length).
        groups
            Number of each series' group, shape (series,). Series of one group inform each
            other. None: each series is forecast from itself alone, and costs the least.
        horizon
            Steps ahead.

        Returns
        -------
        Tensor
            Float32, shape (series, quantiles, horizon), in the units of the series.

        Raises
        ------
        ValueError
            When the horizon is longer than the model can forecast at once.
        """
        config = self.config
        future = -(-horizon // config.patch)
        if not 1 <= future <= config.future_patches:
            most = config.future_patches * config.patch
            raise ValueError(f"the horizon must lie within 1..{most}, not {horizon}")
        context = context[:, -config.context :].float()
        mean, spread = self.scale(context)
        scaled = (context - mean) / spread
        x, seen = self.tokens(scaled.arcsinh() if config.arcsinh else scaled, future)
        time, group = self.masks(seen, groups)
        place = torch.arange(x.shape[1], device=x.device)
        turn = angles(place, frequencies(config.head_width, config.theta))
        for block in self.blocks:
            x = block(x, turn, time, group)
        ahead = self.head(self.norm(x[:, -future:]))  # (series, future, quantiles * patch)
        ahead = ahead.view(*ahead.shape[:2], len(config.quantiles), config.patch)
        ahead = ahead.transpose(1, 2).flatten(2).float()[..., :horizon]
        ahead = ahead.sinh() if config.arcsinh else ahead
        out: Tensor = ahead * spread.unsqueeze(-1) + mean.unsqueeze(-1)
        return out
