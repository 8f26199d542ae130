"""Normalisations that torch does not give as the published models compute them."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    """Root-mean-square normalisation (Zhang and Sennrich 2019, eq. 4).

    Computed in float32 at least, whatever the type of the input, then scaled in the weight's
    type: the order of the published models, which matters in half precision. So a residual
    stream kept in float32 leaves the norm in the type of the model.

    Parameters
    ----------
    width
        Size of the last axis.
    eps
        Added to the mean square.
    """

    def __init__(self, width: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Shape ``(..., width)`` in and out."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        scaled = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return self.weight * scaled.to(self.weight.dtype)


class CentredRMSNorm(RMSNorm):
    """`RMSNorm` whose learned scale is stored as its distance from one (Gemma, Qwen3-Next)."""

    def __init__(self, width: int, eps: float = 1e-6) -> None:
        super().__init__(width, eps)
        nn.init.zeros_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Shape ``(..., width)`` in and out."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        scaled = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return (scaled * (1.0 + self.weight.to(wide.dtype))).to(self.weight.dtype)
