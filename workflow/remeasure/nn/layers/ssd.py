"""State-space duality (Dao and Gu 2024, Mamba-2): one map, as a recurrence and as a matrix.

Per head the state is a matrix that fades by one number a token::

    H[t] = exp(a[t]) H[t - 1] + b[t] x[t]^T        y[t] = c[t] H[t]

`ssd_loop` is this definition. `ssd_matrix` writes the same map as masked attention without a
softmax: ``y = ((c b^T) * exp(S)) x`` with ``S[t, s] = a[s + 1] + ... + a[t]``. `ssd` cuts the
text into chunks, the matrix inside of each and the recurrence between them, so that the
work grows with the length and not its square. All three are equal.

Shapes: ``x`` is ``(batch, length, heads, width)``, already multiplied by its step; ``a``
``(batch, length, heads)``, not positive; ``b`` and ``c`` ``(batch, length, groups, states)``,
each group serving ``heads / groups`` neighbouring heads; states ``(batch, heads, width,
states)``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def segment_sums(a: Tensor) -> Tensor:
    """``S[t, s] = a[s + 1] + ... + a[t]`` for ``s <= t``, minus infinity above.

    Each is a sum of its own terms and no difference of two long ones, which would lose digits
    where much has faded.

    Parameters
    ----------
    a
        Shape ``(..., length)``.

    Returns
    -------
    Tensor
        Shape ``(..., length, length)``.
    """
    length = a.shape[-1]
    later = torch.ones(length, length, dtype=torch.bool, device=a.device)
    terms = a.unsqueeze(-1).expand(*a.shape, length).masked_fill(~later.tril(-1), 0.0)
    return terms.cumsum(-2).masked_fill(~later.tril(), -math.inf)


def _to_heads(x: Tensor, heads: int) -> Tensor:
    """Repeat what a group shares for each of its heads, on axis 2."""
    return x if x.shape[2] == heads else x.repeat_interleave(heads // x.shape[2], dim=2)


def ssd_loop(
    x: Tensor, a: Tensor, b: Tensor, c: Tensor, state: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The definition, one token after the other; gives what is read and the last state."""
    batch, _, heads, width = x.shape
    b, c = _to_heads(b, heads), _to_heads(c, heads)
    if state is None:
        state = x.new_zeros(batch, heads, width, b.shape[-1])
    rows = []
    parts = (x.unbind(1), a.exp().unbind(1), b.unbind(1), c.unbind(1))
    for now, kept, into, out in zip(*parts, strict=True):
        state = kept[..., None, None] * state + now.unsqueeze(-1) * into.unsqueeze(-2)
        rows.append((state @ out.unsqueeze(-1)).squeeze(-1))
    return torch.stack(rows, dim=1), state


def ssd_weights(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """The matrix of each head, shape ``(batch, heads, length, length)``, zero above."""
    heads = a.shape[2]
    scores = torch.einsum("blgn,bsgn->bgls", c, b)
    scores = scores.repeat_interleave(heads // scores.shape[1], dim=1)
    return scores * segment_sums(a.transpose(1, 2)).exp()


def ssd_matrix(x: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """The same map as one matrix a head, from a state of zero: quadratic in the length."""
    return torch.einsum("bhls,bshp->blhp", ssd_weights(a, b, c), x)


def ssd(
    x: Tensor,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    *,
    chunk: int,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The same map in chunks of ``chunk`` tokens; see the module for shapes.

    Returns
    -------
    tuple
        What is read, shape of ``x``, and the state after the last token.
    """
    batch, length, heads, width = x.shape
    groups, states = b.shape[2:]
    # A text shorter than a chunk needs no padding up to it.
    chunk = min(chunk, length)
    chunks = -(-length // chunk)
    missing = chunks * chunk - length
    shared = heads // groups

    def cut(part: Tensor, *last: int) -> Tensor:
        # Padding: no input, and a decay of exp(0), so that the last state stays.
        padded = F.pad(part, (0, 0) * (part.ndim - 2) + (0, missing)) if missing else part
        return padded.reshape(batch, chunks, chunk, *last)

    # k: chunk, g: group, r: head of a group, l and s: places in a chunk, p: width, n: states.
    xs = cut(x, groups, shared, width).permute(0, 1, 3, 4, 2, 5)  # (batch, k, g, r, l, p)
    fades = cut(a, groups, shared).permute(0, 1, 3, 4, 2)  # (batch, k, g, r, l)
    bs = cut(b, groups, states).transpose(2, 3)  # (batch, k, g, l, n)
    cs = cut(c, groups, states).transpose(2, 3)
    total = fades.cumsum(-1)

    scores = (cs @ bs.transpose(-1, -2)).unsqueeze(3)  # (batch, k, g, 1, l, s)
    inside = (scores * segment_sums(fades).exp()) @ xs
    left = torch.exp(total[..., -1:] - total).unsqueeze(-1) * xs
    leaves = left.transpose(-1, -2) @ bs.unsqueeze(3)  # (batch, k, g, r, p, n)
    whole = total[..., -1].exp()[..., None, None]

    if state is None:
        now = x.new_zeros(batch, groups, shared, width, states)
    else:
        now = state.view(batch, groups, shared, width, states)
    entering = []
    for number in range(chunks):
        entering.append(now)
        now = whole[:, number] * now + leaves[:, number]
    before = torch.stack(entering, dim=1)
    carried = (cs.unsqueeze(3) @ before.transpose(-1, -2)) * total.exp().unsqueeze(-1)

    y = (inside + carried).permute(0, 1, 4, 2, 3, 5)
    y = y.reshape(batch, chunks * chunk, heads, width)[:, :length]
    return y, now.reshape(batch, heads, width, states)
