"""Where a token stands: tables, waves, buckets of distances and slopes.

Rotary embedding has a module of its own (`rotary`). Distances have no common sign in the
literature; each function here says which it takes.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def counted(real: Tensor, first: int = 0) -> Tensor:
    """Positions of learned tables where padding takes no place (RoBERTa, OPT).

    Parameters
    ----------
    real
        False on padding, shape ``(batch, length)``.
    first
        Position of the first real token; padding gets ``first - 1``, or 0 when that is negative.

    Returns
    -------
    Tensor
        Integers, shape ``(batch, length)``.
    """
    place = real.long().cumsum(-1) * real.long()
    return (place + first - 1).clamp_min(0)


def sinusoidal(length: int, width: int, base: float = 10_000.0) -> Tensor:
    """Sines and cosines of falling frequency (Vaswani et al. 2017, section 3.5).

    Returns
    -------
    Tensor
        Float32, shape ``(length, width)``: channel 2i is ``sin(p base^(-2i/width))``,
        channel 2i + 1 the cosine.

    Raises
    ------
    ValueError
        When ``width`` is odd.
    """
    if width % 2:
        raise ValueError(f"waves come in pairs, so the width is even, not {width}")
    turns = base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = torch.arange(length, dtype=torch.float64).unsqueeze(-1) * turns
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2).float()


def distances(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Key's place minus query's, the last query standing at the last key.

    Returns
    -------
    Tensor
        Integers, shape ``(queries, keys)``.
    """
    place = torch.arange(keys - queries, keys, device=device).unsqueeze(-1)
    return torch.arange(keys, device=device) - place


def t5_buckets(
    distance: Tensor, buckets: int = 32, furthest: int = 128, *, both_sides: bool = True
) -> Tensor:
    """Distances in buckets: one each while near, then ever wider (Raffel et al. 2020, section 2.1).

    Parameters
    ----------
    distance
        Integers, key minus query (see `distances`), any shape.
    buckets
        How many there are; with ``both_sides`` half of them lie on each side.
    furthest
        All distances from here on share the last bucket.
    both_sides
        False in a causal decoder: every key ahead counts as distance 0.

    Returns
    -------
    Tensor
        Integers from 0 to ``buckets - 1``, the shape of ``distance``.
    """
    side = torch.zeros_like(distance)
    if both_sides:
        buckets //= 2
        side = (distance > 0).long() * buckets
        size = distance.abs()
    else:
        size = (-distance).clamp_min(0)
    near = buckets // 2
    # Single precision and this order of operations decide the edges of the buckets.
    stretched = torch.log(size.clamp_min(1).float() / near) / math.log(furthest / near)
    far = (near + (stretched * (buckets - near)).long()).clamp_max(buckets - 1)
    return side + torch.where(size < near, size, far)


def deberta_buckets(distance: Tensor, buckets: int = 256, furthest: int = 512) -> Tensor:
    """Signed buckets of distances, exact to half of ``buckets``, then logarithmic.

    He et al. 2021 (DeBERTaV3, after DeBERTa's section 3.1); beyond ``furthest - 1`` the
    result exceeds ``buckets - 1`` and the model clamps it.

    Parameters
    ----------
    distance
        Integers, query minus key: the opposite of `distances`.
    buckets
        Buckets of one direction.
    furthest
        The distance that just leaves the last bucket.

    Returns
    -------
    Tensor
        Integers, odd in ``distance``, the shape of ``distance``.
    """
    middle = buckets // 2
    size = distance.abs().clamp_min(middle)
    # Single precision and this order of operations decide the edges of the buckets.
    widest = torch.log(torch.tensor((furthest - 1) / middle))
    stretched = torch.ceil(torch.log(size / middle) / widest * (middle - 1)) + middle
    return torch.where(size <= middle, distance, stretched.long() * distance.sign())


def alibi_slopes(heads: int) -> Tensor:
    """How fast each head's attention fades with distance (Press et al. 2022, section 3).

    ``2 ** (-8 h / heads)`` for h from 1 where ``heads`` is a power of two; otherwise those of
    the next smaller power, then every second one of the next larger.

    Returns
    -------
    Tensor
        Float32, shape ``(heads,)``.
    """
    power = 2 ** int(math.log2(heads))
    steps = [8.0 * (h + 1) / power for h in range(power)]
    steps += [4.0 * (2 * h + 1) / power for h in range(heads - power)]
    return 2.0 ** -torch.tensor(steps)


def alibi_bias(heads: int, queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """What ALiBi adds to the scores: minus slope times distance, zero ahead of the query.

    Returns
    -------
    Tensor
        Float32, shape ``(heads, queries, keys)``.
    """
    behind = distances(queries, keys, device).clamp_max(0)
    return alibi_slopes(heads).to(behind.device)[:, None, None] * behind
