"""Scaled dot-product attention (Vaswani et al. 2017, eq. 1): one function for every model."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def split_heads(x: Tensor, heads: int) -> Tensor:
    """From ``(batch, length, heads * width)`` to ``(batch, heads, length, width)``."""
    batch, length, _ = x.shape
    return x.view(batch, length, heads, -1).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """From ``(batch, heads, length, width)`` to ``(batch, length, heads * width)``."""
    batch, heads, length, width = x.shape
    return x.transpose(1, 2).reshape(batch, length, heads * width)


def causal_mask(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """True where a query may look: the last query stands at the last key.

    Returns
    -------
    Tensor
        Boolean, shape ``(queries, keys)``.
    """
    place = torch.arange(keys - queries, keys, device=device).unsqueeze(-1)
    return torch.arange(keys, device=device) <= place


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
    explicit: bool = False,
    dropout: float = 0.0,
) -> Tensor:
    """Weighted means of values, weights by how well queries and keys agree.

    Parameters
    ----------
    query
        Shape ``(batch, heads, queries, width)``.
    key, value
        Shape ``(batch, groups, keys, width)``; ``groups`` divides ``heads``, and each
        group serves that many neighbouring heads (Ainslie et al. 2023; one group is
        multi-query attention).
    mask
        Boolean (True: may look) or added to the scores; broadcast against
        ``(batch, heads, queries, keys)``.
    causal
        No query looks beyond its place; the last query stands at the last key.
    scale
        Factor of the scores; ``1 / sqrt(width)`` when None.
    explicit
        Write out scores, softmax and mean instead of torch's fused kernel: the same
        within rounding, slower, and the form that shows what is computed.
    dropout
        Share of the weights that are set to zero, the rest scaled up to make up for it.

    Returns
    -------
    Tensor
        Shape ``(batch, heads, queries, width of value)``.
    """
    heads, groups = query.shape[1], key.shape[1]
    if groups != heads:
        key = key.repeat_interleave(heads // groups, dim=1)
        value = value.repeat_interleave(heads // groups, dim=1)
    queries, keys = query.shape[2], key.shape[2]
    whole = causal and mask is None and queries == keys
    if causal and not whole and queries > 1:
        allowed = causal_mask(queries, keys, query.device)
        if mask is None:
            mask = allowed
        elif mask.dtype == torch.bool:
            mask = mask & allowed
        else:
            mask = mask.masked_fill(~allowed, -math.inf)
    if not explicit:
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=whole, scale=scale, dropout_p=dropout
        )
    if whole:
        mask = causal_mask(queries, keys, query.device)
    weights = attention_weights(query, key, mask=mask, scale=scale)
    return F.dropout(weights, dropout) @ value


def attention_weights(
    query: Tensor, key: Tensor, *, mask: Tensor | None = None, scale: float | None = None
) -> Tensor:
    """How much each query takes from each key: rows that sum to one.

    Parameters
    ----------
    query, key
        Shape ``(batch, heads, queries or keys, width)``.
    mask, scale
        As in `attend`.

    Returns
    -------
    Tensor
        Shape ``(batch, heads, queries, keys)``.
    """
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ key.transpose(-2, -1) * factor
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, -math.inf)
    elif mask is not None:
        scores = scores + mask
    wide = torch.promote_types(scores.dtype, torch.float32)
    return scores.softmax(-1, dtype=wide).to(query.dtype)
