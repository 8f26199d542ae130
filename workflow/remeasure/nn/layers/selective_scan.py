"""Selective state spaces (Gu and Dao 2023, Mamba, eq. 2 and algorithm 2), three ways.

Every channel keeps ``states`` numbers. At each token they fade and are written to::

    h[t] = exp(step[t] * a) * h[t - 1] + step[t] * b[t] * u[t]        y[t] = c[t] . h[t]

`scan_loop` is this definition, one token after the other. `scan_doubling` is the associative
scan of Hillis and Steele (1986): a number of passes that grows with the logarithm of the
length, at the price of holding every state. `selective_scan` is what the models use: many
chunks of the text walk in step, first from nothing to learn what each leaves behind, then
from the right start, and the gradient is walked back in the same way from a few kept states.
All three are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

#: Tokens of a chunk.
CHUNK = 32
#: States that are worked on together: about what fits into a core's second cache.
TOGETHER = 1 << 15
#: Tokens whose fadings are made at once where each is needed only once: they stay in the cache.
NEAR = 8


def scan_loop(
    u: Tensor, step: Tensor, a: Tensor, b: Tensor, c: Tensor, state: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The definition: see `selective_scan` for shapes."""
    rows = []
    if state is None:
        state = u.new_zeros(u.shape[0], *a.shape)
    for now, gap, into, out in zip(
        u.unbind(1), step.unbind(1), b.unbind(1), c.unbind(1), strict=True
    ):
        wide = gap.unsqueeze(-1)  # (batch, channels, 1)
        state = torch.exp(wide * a) * state + (gap * now).unsqueeze(-1) * into.unsqueeze(1)
        rows.append((state @ out.unsqueeze(-1)).squeeze(-1))
    return torch.stack(rows, dim=1), state


def scan_doubling(decay: Tensor, write: Tensor) -> Tensor:
    """All states of ``h[t] = decay[t] * h[t - 1] + write[t]`` along axis 1, from zero.

    Round by round every place takes up what stands 1, 2, 4, ... places before it: two pairs
    ``(a, w)`` compose to ``(a2 * a1, a2 * w1 + w2)``, and the order of composing is free.

    Parameters
    ----------
    decay, write
        Shape ``(batch, length, ...)``.
    """
    shift, length = 1, decay.shape[1]
    rest = (0, 0) * (decay.ndim - 2)
    while shift < length:
        before = F.pad(write[:, :-shift], (*rest, shift, 0))
        write = decay * before + write
        decay = decay * F.pad(decay[:, :-shift], (*rest, shift, 0), value=1.0)
        shift *= 2
    return write


def selective_scan(
    u: Tensor, step: Tensor, a: Tensor, b: Tensor, c: Tensor, state: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The selective scan, in chunks that walk together.

    Parameters
    ----------
    u, step
        What enters and the size of each step, shape ``(batch, length, channels)``; steps are
        not negative.
    a
        Rates, not positive, shape ``(channels, states)``.
    b, c
        How a token is written and read, shape ``(batch, length, states)``.
    state
        What stands before the first token, shape ``(batch, channels, states)``; None: zero.

    Returns
    -------
    tuple
        What is read, shape ``(batch, length, channels)``, and the state after the last token,
        both differentiable once in every argument.
    """
    if state is None:
        state = u.new_zeros(u.shape[0], *a.shape)
    out: tuple[Tensor, Tensor] = _Scan.apply(  # type: ignore[no-untyped-call]
        u, step, a, b, c, state
    )
    return out


class _Walk:
    """One stretch of the text, cut into chunks that lie side by side.

    Inside, states lie as ``(batch * chunks, states, channels)``: the long axis is the last.
    """

    def __init__(self, u: Tensor, step: Tensor, a: Tensor, b: Tensor, c: Tensor, chunks: int):
        batch, length = u.shape[:2]
        self.batch, self.chunks, self.length = batch, chunks, -(-length // chunks)
        self.rates = a.T.contiguous()
        self.real = length
        # A step of zero keeps the state as it is: padding that changes nothing.
        self.step = self.cut(step).unsqueeze(2)  # (length, batch * chunks, 1, channels)
        self.into = self.cut(step * u).unsqueeze(2)
        self.b = self.cut(b).unsqueeze(3)  # (length, batch * chunks, states, 1)
        self.c = self.cut(c).unsqueeze(2)  # (length, batch * chunks, 1, states)
        self.shape = (batch * chunks, *self.rates.shape)

    @cached_property
    def decays(self) -> Tensor:
        """What one token leaves of each state: ``(length, batch * chunks, states, channels)``."""
        return torch.mul(self.step, self.rates).exp_()

    def fades(self) -> Iterator[Tensor]:
        """`decays` token by token; each is overwritten a few tokens later where none is kept."""
        if self.chunks > 1:
            yield from self.decays
            return
        near = self.step.new_empty(min(NEAR, self.length), *self.shape)
        for step in torch.split(self.step, NEAR):
            yield from torch.mul(step, self.rates, out=near[: len(step)]).exp_()

    def cut(self, x: Tensor) -> Tensor:
        """``(batch, stretch, n)`` to ``(length of a chunk, batch * chunks, n)``."""
        x = F.pad(x, (0, 0, 0, self.chunks * self.length - self.real))
        parts = x.view(self.batch, self.chunks, self.length, -1).permute(2, 0, 1, 3)
        return parts.reshape(self.length, self.batch * self.chunks, -1)

    def join(self, x: Tensor) -> Tensor:
        """The way back, padding left out."""
        parts = x.view(self.length, self.batch, self.chunks, -1).permute(1, 2, 0, 3)
        return parts.reshape(self.batch, self.chunks * self.length, -1)[:, : self.real]

    def _carry(self, left: Tensor, enters: Tensor, *, back: bool) -> tuple[Tensor, Tensor]:
        """From what each chunk leaves by itself to what enters it; and what leaves the last."""
        whole = torch.exp(self.step.sum(0) * self.rates)
        view = (self.batch, self.chunks, *self.rates.shape)
        left, whole = left.view(view), whole.view(view)
        entering = torch.empty_like(left)
        order = range(self.chunks)
        for chunk in reversed(order) if back else order:
            entering[:, chunk] = enters
            enters = whole[:, chunk] * enters + left[:, chunk]
        return entering.view(self.shape), enters

    def starts(self, state: Tensor) -> Tensor:
        """The state that each chunk starts from; ``state`` is ``(batch, states, channels)``."""
        if self.chunks == 1:
            return state.clone()
        h = state.new_zeros(self.shape)
        for decay, b, into in zip(self.decays, self.b, self.into, strict=True):
            h.mul_(decay).addcmul_(b, into)
        return self._carry(h, state, back=False)[0]

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """What is read, and the state at the end."""
        h = self.starts(state)
        y = h.new_empty(self.length, self.shape[0], 1, self.shape[2])
        for decay, b, into, c, out in zip(self.fades(), self.b, self.into, self.c, y, strict=True):
            h.mul_(decay).addcmul_(b, into)
            torch.bmm(c, h, out=out)
        last = h.view(self.batch, self.chunks, *self.rates.shape)[:, -1]
        return self.join(y), last

    def backward(self, state: Tensor, dy: Tensor, dlast: Tensor) -> dict[str, Tensor]:
        """Gradients of one stretch from those of what is read and of its last state."""
        h = self.starts(state)
        # What is kept of the state before each token, and by how much it was multiplied.
        kept = torch.empty_like(self.decays)
        for place in range(self.length):
            torch.mul(h, self.decays[place], out=kept[place])
            torch.addcmul(kept[place], self.b[place], self.into[place], out=h)
        out = self.cut(dy).unsqueeze(2)  # (length, batch * chunks, 1, channels)
        c = self.c.transpose(2, 3)
        g = h.new_zeros(self.shape)
        if self.chunks > 1:
            for place in reversed(range(self.length)):
                g.addcmul_(c[place], out[place]).mul_(self.decays[place])
            g, _ = self._carry(g, dlast, back=True)
        else:
            g.copy_(dlast)
        dinto, dstep = torch.empty_like(self.into), torch.empty_like(self.step)
        db, dc = torch.empty_like(self.b), torch.empty_like(self.b)
        da, through = torch.zeros_like(h), torch.empty_like(h)
        for place in reversed(range(self.length)):
            g.addcmul_(c[place], out[place])
            torch.bmm(self.b[place].transpose(1, 2), g, out=dinto[place])
            torch.bmm(g, self.into[place].transpose(1, 2), out=db[place])
            torch.bmm(kept[place], out[place].transpose(1, 2), out=dc[place])
            torch.mul(g, kept[place], out=through)
            da.addcmul_(through, self.step[place])
            torch.sum(through.mul_(self.rates), dim=1, keepdim=True, out=dstep[place])
            g.mul_(self.decays[place])
        # The part of c that reads what the token itself wrote.
        dc += self.b * (self.into * out).sum(-1, keepdim=True)
        first = g.view(self.batch, self.chunks, *self.rates.shape)[:, 0]
        return {
            "into": self.join(dinto),
            "step": self.join(dstep),
            "b": self.join(db),
            "c": self.join(dc),
            "a": da.sum(0),
            "state": first,
        }


def _stretches(length: int, states: int) -> tuple[int, list[slice]]:
    """How many chunks walk together, and the stretches of the text that they cover."""
    chunks = max(1, min(TOGETHER // max(1, states), -(-length // CHUNK), 64))
    stretch = chunks * CHUNK
    return chunks, [slice(start, start + stretch) for start in range(0, length, stretch)]


class _Scan(torch.autograd.Function):
    """`selective_scan` with its own gradient: only the states between stretches are kept."""

    @staticmethod
    def forward(
        ctx: Any, u: Tensor, step: Tensor, a: Tensor, b: Tensor, c: Tensor, state: Tensor
    ) -> tuple[Tensor, Tensor]:
        """See `selective_scan`."""
        with torch.autocast(u.device.type, enabled=False):
            ctx.chunks, stretches = _stretches(u.shape[1], u.shape[0] * a.numel())
            if ctx.chunks == 1 and not any(ctx.needs_input_grad):
                stretches = [slice(0, u.shape[1])]  # no states to keep, so nothing to cut for
            h = state.transpose(1, 2).contiguous()
            rows, starts = [], []
            for part in stretches:
                starts.append(h)
                walk = _Walk(u[:, part], step[:, part], a, b[:, part], c[:, part], ctx.chunks)
                y, h = walk.forward(h)
                rows.append(y)
            ctx.save_for_backward(u, step, a, b, c, *starts)
            return torch.cat(rows, dim=1), h.transpose(1, 2).contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor, dlast: Tensor) -> tuple[Tensor, ...]:
        """Stretch by stretch from the end."""
        u, step, a, b, c, *starts = ctx.saved_tensors
        with torch.autocast(u.device.type, enabled=False):
            _, stretches = _stretches(u.shape[1], u.shape[0] * a.numel())
            g = dlast.transpose(1, 2).contiguous()
            da = torch.zeros_like(a)
            parts = []
            for part, start in reversed(list(zip(stretches, starts, strict=True))):
                walk = _Walk(u[:, part], step[:, part], a, b[:, part], c[:, part], ctx.chunks)
                found = walk.backward(start, dy[:, part], g)
                da += found["a"].T
                g = found["state"]
                parts.append(found)
            parts.reverse()
            dinto, dstep, db, dc = (
                torch.cat([found[name] for found in parts], dim=1)
                for name in ("into", "step", "b", "c")
            )
            return dinto * step, dstep + dinto * u, da, db, dc, g.transpose(1, 2)
