"""What may not be written: rules that published models generate with."""

from __future__ import annotations

import torch
from torch import Tensor

from remeasure.nn.generate.decoding import Rule


def _only(scores: Tensor, token: int) -> Tensor:
    out = torch.full_like(scores, -torch.inf)
    out[:, token] = 0.0
    return out


def first_token(token: int, before: int = 1) -> Rule:
    """The first token written is this one; ``before`` is the length of the beginning."""

    def rule(scores: Tensor, written: Tensor) -> Tensor:
        return _only(scores, token) if written.shape[1] == before else scores

    return rule


def last_token(token: int, new_tokens: int, before: int = 1) -> Rule:
    """The last of ``new_tokens`` is this one; ``before`` is the length of the beginning."""

    def rule(scores: Tensor, written: Tensor) -> Tensor:
        return _only(scores, token) if written.shape[1] == before + new_tokens - 1 else scores

    return rule


def no_repeat(size: int) -> Rule:
    """No run of ``size`` tokens occurs twice in a text (Paulus et al. 2018, section 2.5)."""

    def rule(scores: Tensor, written: Tensor) -> Tensor:
        length = written.shape[1]
        if length < size:
            return scores
        runs = written.unfold(1, size, 1)  # (texts, places, size)
        ending = written[:, length - size + 1 :].unsqueeze(1)
        again = (runs[..., :-1] == ending).all(-1)  # where the text's ending stood before
        banned = torch.zeros_like(scores)
        banned.scatter_add_(1, runs[..., -1], again.to(scores.dtype))
        return scores.masked_fill(banned > 0, -torch.inf)

    return rule
