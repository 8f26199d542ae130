"""A causal depthwise convolution over the last few tokens, and the window that replaces it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class ShortConv(nn.Module):
    """Every channel mixes its own last ``reach`` values; nothing later is seen.

    Parameters
    ----------
    channels, reach
        Size of the last axis; tokens that are seen, this one included.
    bias
        Whether each channel has one.
    """

    def __init__(self, channels: int, reach: int, *, bias: bool = True) -> None:
        super().__init__()
        # torch's own start of a convolution: uniform within one over the root of the inputs.
        bound = reach**-0.5
        self.weight = nn.Parameter(torch.empty(channels, 1, reach).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(channels).uniform_(-bound, bound)) if bias else None
        self.reach = reach

    def forward(self, x: Tensor, window: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Shape ``(batch, length, channels)`` in and out.

        Parameters
        ----------
        window
            The last ``reach`` values before ``x``, shape ``(batch, channels, reach)``; None:
            zeros, and no new window is made.

        Returns
        -------
        tuple
            What is mixed, and the window after the last token.
        """
        across = x.transpose(1, 2)
        if window is None:
            seen, after = F.pad(across, (self.reach - 1, 0)), None
        else:
            seen = torch.cat((window.to(x.dtype), across), dim=-1)
            after = seen[..., -self.reach :]
            seen = seen[..., 1:]
        mixed = F.conv1d(seen, self.weight, self.bias, groups=self.weight.shape[0])
        return mixed.transpose(1, 2), after
