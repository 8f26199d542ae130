"""The most likely continuation, token by token, for many texts at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor


class Decoder(Protocol):
    """A model that scores the next token and keeps a cache of its own kind."""

    def cache(self, batch: int, longest: int) -> Any:
        """An empty cache."""

    def hidden(self, ids: Tensor, real: Tensor | None, cache: Any) -> Tensor:
        """States of the given tokens, which the cache then remembers."""

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every token."""


def pad_left(texts: Sequence[Sequence[int]], padding: int) -> tuple[Tensor, Tensor]:
    """Texts of different lengths in one tensor, their ends aligned.

    Returns
    -------
    tuple
        Ids and whether they are real, both of shape ``(texts, longest)``.
    """
    longest = max(map(len, texts))
    ids = torch.full((len(texts), longest), padding, dtype=torch.long)
    real = torch.zeros((len(texts), longest), dtype=torch.bool)
    for row, text in enumerate(texts):
        ids[row, longest - len(text) :] = torch.as_tensor(text, dtype=torch.long)
        real[row, longest - len(text) :] = True
    return ids, real


@torch.inference_mode()
def last_logits(
    model: Decoder, texts: Sequence[Sequence[int]], *, padding: int, device: str = "cpu"
) -> Tensor:
    """Scores of the token after each text, shape ``(texts, vocabulary)``, float32 on the CPU."""
    ids, real = (part.to(device) for part in pad_left(texts, padding))
    hidden = model.hidden(ids, None if bool(real.all()) else real, None)
    return model.logits(hidden[:, -1]).float().cpu()


@torch.inference_mode()
def greedy(
    model: Decoder,
    texts: Sequence[Sequence[int]],
    *,
    new_tokens: int,
    end: int,
    device: str = "cpu",
) -> list[list[int]]:
    """The likeliest token each time, until ``end`` or ``new_tokens`` of them.

    Parameters
    ----------
    model
        A decoder with a cache.
    texts
        Token ids of each prompt, none empty.
    new_tokens
        At most so many.
    end
        Token that ends an answer; also the padding.
    device
        Where the model lies.

    Returns
    -------
    list
        The new tokens of each text, ``end`` left out.
    """
    ids, real = (part.to(device) for part in pad_left(texts, end))
    padded = not bool(real.all())
    batch, length = ids.shape
    cache = model.cache(batch, length + new_tokens)
    answers = torch.full((batch, new_tokens), end, dtype=torch.long, device=device)
    alive = torch.ones(batch, dtype=torch.bool, device=device)
    for step in range(new_tokens):
        hidden = model.hidden(ids, real if padded else None, cache)
        chosen = model.logits(hidden[:, -1]).argmax(-1)
        alive = alive & (chosen != end)
        if not bool(alive.any()):
            break
        answers[:, step] = torch.where(alive, chosen, end)
        ids = chosen.unsqueeze(-1)
        real = torch.cat((real, torch.ones_like(ids, dtype=torch.bool)), dim=1)
    return [[token for token in row if token != end] for row in answers.tolist()]
