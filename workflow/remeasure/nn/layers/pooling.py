"""One vector for a whole text out of the states of its tokens."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Pooling = Literal["mean", "cls", "last"]


def pool(states: Tensor, real: Tensor | None, how: Pooling) -> Tensor:
    """The mean over real tokens, the first state, or that of the last real token.

    Which one is right belongs to the model, like its weights: it was trained for one.

    Parameters
    ----------
    states
        Shape ``(batch, length, width)``.
    real
        False on padding, shape ``(batch, length)``; None: no padding. Every text has a token.

    Returns
    -------
    Tensor
        Shape ``(batch, width)``, the type of ``states``.
    """
    if how == "cls":
        return states[:, 0]
    if real is None:
        return states.mean(1) if how == "mean" else states[:, -1]
    if how == "mean":
        weight = real.to(states.dtype).unsqueeze(-1)
        return (states * weight).sum(1) / weight.sum(1)
    place = torch.arange(states.shape[1], device=states.device)
    last = (place * real.long()).argmax(-1)
    return states[torch.arange(len(states), device=states.device), last]
