"""The gated delta rule (Yang, Kautz and Hatamizadeh 2024) and what it grew out of.

Per head a memory ``S`` holds values under keys. A token first lets it fade, then corrects what
it would answer for the token's key, and at last asks it::

    S <- exp(g[t]) S
    S <- S + beta[t] k[t] (v[t] - S^T k[t])^T        o[t] = S^T q[t]

With ``g = 0`` this is the delta rule (Schlag et al. 2021); without the subtraction and with
``beta = 1`` it is linear attention without its divisor (Katharopoulos et al. 2020), which
stands here too, as `linear_attention`. Keys must have unit length for the rule to store
exactly; nothing here scales queries or keys.

Kimi Delta Attention (Kimi team 2025, Kimi Linear) lets every channel of the keys fade by itself:
``g[t]`` is then a vector, and ``exp(g[t])`` multiplies the rows of ``S``.

Shapes: ``q`` and ``k`` are ``(batch, length, heads, keys)``, ``v`` ``(batch, length, heads,
values)``, ``beta`` ``(batch, length, heads)``, ``g`` (not positive) the same or, by channel,
``(batch, length, heads, keys)``; memories ``(batch, heads, keys, values)``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

#: Tokens of a chunk whose fadings by channel are written out pair by pair.
BLOCK = 16


def gated_delta_loop(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, state: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The definition, one token after the other; gives the answers and the last memory."""
    batch, _, heads, keys = k.shape
    if state is None:
        state = v.new_zeros(batch, heads, keys, v.shape[-1])
    rows = []
    fade = (g if g.ndim == k.ndim else g.unsqueeze(-1)).exp().unsqueeze(-1)
    parts = (q.unbind(1), k.unbind(1), v.unbind(1), fade.unbind(1), beta.unbind(1))
    for ask, key, value, kept, rate in zip(*parts, strict=True):
        state = kept * state
        answer = (key.unsqueeze(-2) @ state).squeeze(-2)
        correction = rate.unsqueeze(-1) * (value - answer)
        state = state + key.unsqueeze(-1) * correction.unsqueeze(-2)
        rows.append((ask.unsqueeze(-2) @ state).squeeze(-2))
    return torch.stack(rows, dim=1), state


def _pairs(left: Tensor, right: Tensor, total: Tensor) -> Tensor:
    """``left[i] . right[j]``, channels weighed by ``exp(total[i] - total[j])``, for ``j <= i``.

    Above the diagonal stand zeros. Only differences that are not positive are raised: between
    tokens of one block pair by pair, and from a block to those before it in two steps, with a
    halt before its first token (the chunks of chunks of Yang et al. 2024, GLA, section 4.3).

    Parameters
    ----------
    left, right, total
        Shape ``(..., chunk, keys)``; ``total`` falls along the chunk.

    Returns
    -------
    Tensor
        Shape ``(..., chunk, chunk)``.
    """
    chunk = left.shape[-2]
    rows = []
    for start in range(0, chunk, BLOCK):
        part = slice(start, min(start + BLOCK, chunk))
        size = part.stop - start
        here = total[..., part, :]
        later = torch.ones(size, size, dtype=torch.bool, device=left.device).tril().unsqueeze(-1)
        fades = here.unsqueeze(-2) - here.unsqueeze(-3)  # (..., size, size, keys)
        fades = fades.masked_fill(~later, -math.inf).exp()
        inside = torch.einsum(
            "...ik,...jk,...ijk->...ij", left[..., part, :], right[..., part, :], fades
        )
        row = [inside]
        if start:
            halt = total[..., start - 1 : start, :]
            asks = left[..., part, :] * (here - halt).exp()
            held = right[..., :start, :] * (halt - total[..., :start, :]).exp()
            row.insert(0, asks @ held.transpose(-1, -2))
        rows.append(F.pad(torch.cat(row, dim=-1), (0, chunk - part.stop)))
    return torch.cat(rows, dim=-2)


def gated_delta(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    *,
    chunk: int = 64,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The same in chunks: exact, with a loop over chunks alone.

    Inside a chunk the corrections ``U`` depend on each other: ``(I + A) U = B``, where
    ``A[i, j] = beta[i] (k[i] . k[j]) exp(G[i] - G[j])`` for ``j < i``, ``G`` the running sum of
    ``g``, and ``B[i] = beta[i] (v[i] - exp(G[i]) S^T k[i])``. The system is solved for both
    parts of ``B`` at once, before any memory ``S`` is known. Where channels fade by themselves,
    the factor of ``G`` stands inside the products of keys: `_pairs`.

    Returns
    -------
    tuple
        The answers, shape ``(batch, length, heads, values)``, and the last memory.
    """
    batch, length, heads, keys = k.shape
    values = v.shape[-1]
    chunk = min(chunk, length)
    chunks = -(-length // chunk)
    missing = chunks * chunk - length

    def cut(part: Tensor) -> Tensor:
        """To ``(batch, heads, chunks, chunk, ...)``; padding writes nothing and fades nothing."""
        padded = F.pad(part, (0, 0) * (part.ndim - 2) + (0, missing)) if missing else part
        return padded.reshape(batch, chunks, chunk, heads, -1).permute(0, 3, 1, 2, 4)

    q, k, v, beta = cut(q), cut(k), cut(v), cut(beta)  # beta: (..., chunk, 1)
    total = cut(g).cumsum(-2)  # (batch, heads, chunks, chunk, 1 or keys)
    kept = total.exp()
    weighted = beta * k
    if total.shape[-1] == 1:
        later = torch.ones(chunk, chunk, dtype=torch.bool, device=q.device).tril()
        # A difference of logarithms, made safe before exp: a quotient of products underflows.
        fades = (total - total.transpose(-1, -2)).masked_fill(~later, -math.inf).exp()
        among = (weighted @ k.transpose(-1, -2)) * fades
        reads = (q @ k.transpose(-1, -2)) * fades
    else:
        among, reads = _pairs(weighted, k, total), _pairs(q, k, total)
    both = torch.cat((beta * v, weighted * kept), dim=-1)
    # Only what stands below the diagonal is read.
    solved = torch.linalg.solve_triangular(among, both, upper=False, unitriangular=True)
    fresh, known = solved.split((values, keys), dim=-1)
    asks = q * kept
    writes = (k * torch.exp(total[..., -1:, :] - total)).transpose(-1, -2)
    whole = kept[..., -1, :].unsqueeze(-1)  # (batch, heads, chunks, 1 or keys, 1)

    now = v.new_zeros(batch, heads, keys, values) if state is None else state
    rows = []
    parts = (fresh.unbind(2), known.unbind(2), reads.unbind(2), asks.unbind(2))
    for new, old, inside, ask, write, left in zip(
        *parts, writes.unbind(2), whole.unbind(2), strict=True
    ):
        corrections = new - old @ now
        rows.append(ask @ now + inside @ corrections)
        now = left * now + write @ corrections
    out = torch.stack(rows, dim=2)  # (batch, heads, chunks, chunk, values)
    out = out.permute(0, 2, 3, 1, 4).reshape(batch, chunks * chunk, heads, values)
    return out[:, :length], now


def positive(x: Tensor) -> Tensor:
    """The feature map of linear attention, ``elu(x) + 1``."""
    return F.elu(x) + 1.0


def linear_attention_loop(
    q: Tensor, k: Tensor, v: Tensor, state: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Linear attention as a recurrence (Katharopoulos et al. 2020, eq. 16 to 20).

    Queries and keys as they come: `positive` is applied here. The state is the sum of written
    values, ``(batch, heads, keys, values)``, and that of keys, ``(batch, heads, keys)``.
    """
    q, k = positive(q), positive(k)
    batch, _, heads, keys = k.shape
    if state is None:
        state = v.new_zeros(batch, heads, keys, v.shape[-1]), v.new_zeros(batch, heads, keys)
    memory, weight = state
    rows = []
    for ask, key, value in zip(q.unbind(1), k.unbind(1), v.unbind(1), strict=True):
        memory = memory + key.unsqueeze(-1) * value.unsqueeze(-2)
        weight = weight + key
        answer = (ask.unsqueeze(-2) @ memory).squeeze(-2)
        rows.append(answer / (ask * weight).sum(-1, keepdim=True))
    return torch.stack(rows, dim=1), (memory, weight)


def linear_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The same for a whole text, as a masked product: quadratic in the length."""
    length = q.shape[1]
    scores = torch.einsum("blhk,bshk->bhls", positive(q), positive(k))
    scores = scores.masked_fill(
        ~torch.ones(length, length, dtype=torch.bool, device=q.device).tril(), 0.0
    )
    return torch.einsum("bhls,bshv->blhv", scores / scores.sum(-1, keepdim=True), v)
