"""Writing token by token: how a text is begun, and the loop that every way of choosing shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

#: Scores of the next token, ``(texts, vocabulary)``, and the tokens so far, ``(texts, length)``,
#: to scores; minus infinity forbids a token.
Rule = Callable[[Tensor, Tensor], Tensor]


class Decoder(Protocol):
    """A model that scores the next token and keeps a cache of its own kind."""

    def cache(self, batch: int, longest: int) -> Any:
        """An empty cache."""

    def hidden(self, ids: Tensor, real: Tensor | None, cache: Any) -> Tensor:
        """States of the given tokens, which the cache then remembers."""

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every token."""


class Reader(Protocol):
    """A model with an encoder, whose cache begins with the source."""

    def read(self, source: Tensor, real: Tensor | None, longest: int) -> Any:
        """A cache that holds the source."""

    def hidden(self, ids: Tensor, real: Tensor | None, cache: Any) -> Tensor:
        """States of the given tokens, which the cache then remembers."""

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of every token."""


@dataclass
class Beginning:
    """What stands before the first token that is written.

    Attributes
    ----------
    ids
        Tokens not yet in the cache, shape ``(texts, length)``.
    real
        False on padding, the same shape; None: no padding.
    cache
        The model's own, with room for what is to be written.
    """

    ids: Tensor
    real: Tensor | None
    cache: Any


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


def pad_right(texts: Sequence[Sequence[int]], padding: int) -> tuple[Tensor, Tensor]:
    """Texts of different lengths in one tensor, their beginnings aligned; see `pad_left`."""
    backwards, real = pad_left([text[::-1] for text in texts], padding)
    return backwards.flip(-1), real.flip(-1)


def begin(
    model: Decoder,
    texts: Sequence[Sequence[int]],
    *,
    new_tokens: int,
    padding: int,
    device: str = "cpu",
) -> Beginning:
    """Texts to be continued, none empty."""
    ids, real = (part.to(device) for part in pad_left(texts, padding))
    cache = model.cache(len(texts), ids.shape[1] + new_tokens)
    return Beginning(ids, None if bool(real.all()) else real, cache)


@torch.inference_mode()
def begin_from_source(
    model: Reader,
    sources: Sequence[Sequence[int]],
    *,
    start: int,
    new_tokens: int,
    padding: int,
    device: str = "cpu",
) -> Beginning:
    """Sources to be answered, none empty; the decoder reads ``start`` before it writes."""
    ids, real = (part.to(device) for part in pad_right(sources, padding))
    cache = model.read(ids, None if bool(real.all()) else real, 1 + new_tokens)
    first = torch.full((len(sources), 1), start, dtype=torch.long, device=device)
    return Beginning(first, None, cache)


def apply(rules: Sequence[Rule], scores: Tensor, written: Tensor) -> Tensor:
    """Scores after all rules, in order."""
    for rule in rules:
        scores = rule(scores, written)
    return scores


def trimmed(answers: Tensor, end: int | None) -> list[list[int]]:
    """Rows up to the first ``end``, which is left out."""
    rows: list[list[int]] = answers.tolist()
    return [row[: row.index(end)] if end in row else row for row in rows]


@torch.inference_mode()
def write(
    model: Decoder | Reader,
    beginning: Beginning,
    *,
    new_tokens: int,
    end: int | None,
    choose: Callable[[Tensor], Tensor],
    rules: Sequence[Rule] = (),
) -> list[list[int]]:
    """One token after another, until ``end`` or ``new_tokens`` of them.

    Parameters
    ----------
    model
        Of which the beginning is.
    beginning
        From `begin` or `begin_from_source`; its cache is used up.
    new_tokens
        At most so many.
    end
        Token that ends an answer; None: nothing does.
    choose
        From scores, ``(texts, vocabulary)`` in float32, to tokens, ``(texts,)``.
    rules
        Change the scores first; they see the text so far, its beginning included.

    Returns
    -------
    list
        The new tokens of each text, ``end`` left out.
    """
    ids, real, cache = beginning.ids, beginning.real, beginning.cache
    written = ids
    alive = torch.ones(len(ids), dtype=torch.bool, device=ids.device)
    for _ in range(new_tokens):
        scores = model.logits(model.hidden(ids, real, cache)[:, -1]).float()
        chosen = choose(apply(rules, scores, written))
        if end is not None:
            chosen = torch.where(alive, chosen, end)
            alive = alive & (chosen != end)
        ids = chosen.unsqueeze(-1)
        written = torch.cat((written, ids), dim=1)
        if not bool(alive.any()):
            break
        if real is not None:
            real = torch.cat((real, torch.ones_like(ids, dtype=torch.bool)), dim=1)
    return trimmed(written[:, beginning.ids.shape[1] :], end)
