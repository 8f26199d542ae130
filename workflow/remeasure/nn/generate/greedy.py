"""The most likely continuation, token by token, for many texts at once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from remeasure.nn.generate.decoding import Beginning, Decoder, Reader, Rule, begin, pad_left, write


def likeliest(scores: Tensor) -> Tensor:
    """The token with the largest score, shape ``(texts,)``."""
    return scores.argmax(-1)


@torch.inference_mode()
def last_logits(
    model: Decoder, texts: Sequence[Sequence[int]], *, padding: int, device: str = "cpu"
) -> Tensor:
    """Scores of the token after each text, shape ``(texts, vocabulary)``, float32 on the CPU."""
    ids, real = (part.to(device) for part in pad_left(texts, padding))
    hidden = model.hidden(ids, None if bool(real.all()) else real, None)
    return model.logits(hidden[:, -1]).float().cpu()


def greedy(
    model: Decoder,
    texts: Sequence[Sequence[int]],
    *,
    new_tokens: int,
    end: int | None,
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
        Token that ends an answer; None: nothing does.
    device
        Where the model lies.

    Returns
    -------
    list
        The new tokens of each text, ``end`` left out.
    """
    beginning = begin(
        model, texts, new_tokens=new_tokens, padding=0 if end is None else end, device=device
    )
    return write(model, beginning, new_tokens=new_tokens, end=end, choose=likeliest)


def greedy_from(
    model: Decoder | Reader,
    beginning: Beginning,
    *,
    new_tokens: int,
    end: int | None,
    rules: Sequence[Rule] = (),
) -> list[list[int]]:
    """The same from a beginning made elsewhere (a source that was read, a prefix shared)."""
    return write(model, beginning, new_tokens=new_tokens, end=end, choose=likeliest, rules=rules)
