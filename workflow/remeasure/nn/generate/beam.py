"""Beam search: several continuations of a text kept side by side (Sutskever et al. 2014).

The rules of what counts as finished are those that transformers generates with, so that
published outputs can be measured again.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from remeasure.nn.generate.decoding import (
    Beginning,
    Decoder,
    Reader,
    Rule,
    apply,
    begin,
    trimmed,
)

#: The score of what cannot be: small enough to lose, finite so that sums stay ordered.
_NEVER = -1e9


def _take(x: Tensor, index: Tensor) -> Tensor:
    """Entries of each text's candidates: ``(texts, from, ...)`` by ``(texts, to)``."""
    shape = (*index.shape, *x.shape[2:])
    return x.gather(1, index.view(*index.shape, *(1,) * (x.dim() - 2)).expand(shape))


@torch.inference_mode()
def beam_from(
    model: Decoder | Reader,
    beginning: Beginning,
    *,
    beams: int,
    new_tokens: int,
    end: int,
    length_penalty: float = 1.0,
    early: bool = False,
    rules: Sequence[Rule] = (),
) -> tuple[list[list[int]], Tensor]:
    """The best continuation found of each text.

    Parameters
    ----------
    model
        Of which the beginning is; its cache can `select`.
    beginning
        From `begin` or `begin_from_source`; its cache is used up.
    beams
        Continuations kept a text.
    new_tokens
        At most so many.
    end
        Token that ends an answer.
    length_penalty
        A finished continuation scores its log-probability over its length, ``end`` included,
        to this power.
    early
        Stop at the first ``beams`` finished ones; otherwise as soon as no running one could,
        at its present length, beat the worst of them.
    rules
        Change the log-probabilities first; they see the text so far, its beginning included.

    Returns
    -------
    tuple
        The new tokens of each text, ``end`` left out, and the score of each, ``(texts,)``.
    """
    ids, real, cache = beginning.ids, beginning.real, beginning.cache
    texts = len(ids)
    device = ids.device
    prompt = ids.repeat_interleave(beams, dim=0)
    running = torch.zeros(texts, beams, 0, dtype=torch.long, device=device)
    score = torch.zeros(texts, beams, device=device)
    score[:, 1:] = _NEVER  # all beams begin equal: only the first may branch
    done = torch.full((texts, beams, new_tokens), end, dtype=torch.long, device=device)
    done_score = torch.full((texts, beams), _NEVER, device=device)
    finished = torch.zeros(texts, beams, dtype=torch.bool, device=device)
    open_ = torch.ones(texts, 1, dtype=torch.bool, device=device)  # may still improve
    offset = torch.arange(texts, device=device).unsqueeze(-1) * beams
    for step in range(1, new_tokens + 1):
        logits = model.logits(model.hidden(ids, real, cache)[:, -1]).float()
        if step == 1:
            logits = logits.repeat_interleave(beams, dim=0)
        written = torch.cat((prompt, running.flatten(0, 1)), dim=1)
        gain = apply(rules, logits.log_softmax(-1), written).view(texts, beams, -1)
        total = (score.unsqueeze(-1) + gain).flatten(1)
        # Twice as many as beams: enough to go on with when all beams end here.
        best, place = total.topk(2 * beams, dim=-1)
        parent, token = place // gain.shape[-1], place % gain.shape[-1]
        longer = torch.cat((_take(running, parent), token.unsqueeze(-1)), dim=-1)
        ends = (token == end) | (step == new_tokens)

        value = best / step**length_penalty
        counts = ends & open_  # only the first `beams` candidates may finish
        counts[:, beams:] = False
        if early:
            counts &= ~finished.all(-1, keepdim=True)
        value = torch.where(counts, value, value + _NEVER)
        padded = done.new_full((texts, 2 * beams, new_tokens), end)
        padded[..., :step] = longer
        ends_too = ends.clone()
        ends_too[:, beams:] = False
        done_score, keep = torch.cat((done_score, value), dim=1).topk(beams, dim=-1)
        done = _take(torch.cat((done, padded), dim=1), keep)
        finished = _take(torch.cat((finished, ends_too), dim=1), keep)

        score, keep = (best + ends * _NEVER).topk(beams, dim=-1)
        running = _take(longer, keep)
        possible = score[:, :1] / step**length_penalty
        worst = torch.where(finished, done_score.amin(-1, keepdim=True), _NEVER)
        open_ = open_ & (possible > worst).any(-1, keepdim=True)
        if not bool(open_.any()) or bool(ends.all()) or (early and bool(finished.all())):
            break
        # After the first step all beams of a text go on from the one row that it had.
        rows = offset // beams if step == 1 else _take(parent, keep) + offset
        cache.select(rows.expand(-1, beams).flatten())
        ids = running[..., -1].reshape(-1, 1)
        if real is not None:
            if step == 1:
                real = real.repeat_interleave(beams, dim=0)
            real = torch.cat((real, torch.ones_like(ids, dtype=torch.bool)), dim=1)
    return trimmed(done[:, 0], end), done_score[:, 0]


def beam(
    model: Decoder,
    texts: Sequence[Sequence[int]],
    *,
    beams: int,
    new_tokens: int,
    end: int,
    length_penalty: float = 1.0,
    early: bool = False,
    device: str = "cpu",
) -> list[list[int]]:
    """The best continuation found of each text, without ``end``; see `beam_from`."""
    beginning = begin(model, texts, new_tokens=new_tokens, padding=end, device=device)
    return beam_from(
        model,
        beginning,
        beams=beams,
        new_tokens=new_tokens,
        end=end,
        length_penalty=length_penalty,
        early=early,
    )[0]
