"""Rotary position embedding (Su et al. 2021, RoFormer, eq. 15).

Pairs of channels of queries and keys turn by an angle that grows with the position, so
that a product of the two depends on the distance of their positions alone. Two layouts
of the pairs are in use: *half-split* (channel i with i + width/2: Llama, Qwen, Chronos-2)
and *interleaved* (channel 2i with 2i + 1: RoFormer, GPT-J). They are the same rotation in
another order of channels.
"""

from __future__ import annotations

import torch
from torch import Tensor


def frequencies(width: int, theta: float = 10_000.0, dtype: torch.dtype = torch.float32) -> Tensor:
    """Turns of each pair in radians a position, ``theta ** (-2 i / width)``.

    Parameters
    ----------
    width
        Channels of one head, even.
    theta
        Base of the geometric series.
    dtype
        In which it is computed; models use single precision, as those that were trained.

    Returns
    -------
    Tensor
        Shape ``(width / 2,)``.

    Raises
    ------
    ValueError
        When ``width`` is odd.
    """
    if width % 2:
        raise ValueError(f"rotary embedding needs an even width, not {width}")
    return 1.0 / theta ** (torch.arange(0, width, 2, dtype=dtype) / width)


def angles(positions: Tensor, turns: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines of each position and pair, float32.

    Parameters
    ----------
    positions
        Integer or real, shape ``(..., length)``.
    turns
        From `frequencies`, shape ``(width / 2,)``.

    Returns
    -------
    tuple
        Two tensors of shape ``(..., length, width / 2)``.
    """
    turned = positions.float().unsqueeze(-1) * turns.to(positions.device)
    return turned.cos(), turned.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool = False) -> Tensor:
    """Turn each pair of channels by its angle; the length of every pair stays.

    Parameters
    ----------
    x
        Queries or keys, shape ``(..., length, width)``.
    cos, sin
        From `angles`, broadcast against ``(..., length, width / 2)``.
    interleaved
        Pairs are neighbours instead of halves.

    Returns
    -------
    Tensor
        The shape and type of ``x``.
    """
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    if interleaved:
        first, second = x[..., 0::2], x[..., 1::2]
        turned = torch.stack((first * cos - second * sin, second * cos + first * sin), dim=-1)
        return turned.flatten(-2)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
