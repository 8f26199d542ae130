"""Drawing the next token from part of the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from remeasure.nn.generate.decoding import Beginning, Decoder, Reader, Rule, begin, write


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which tokens may be drawn; each filter works on what the one before left.

    Attributes
    ----------
    temperature
        Scores are divided by it first.
    top_k
        The k largest scores, and all equal to the last of them; None: all.
    top_p
        The fewest tokens that together have at least this probability (Holtzman et al. 2020).
    min_p
        Tokens with at least this share of the likeliest one's probability (Nguyen et al. 2024).
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None

    def __post_init__(self) -> None:
        """ValueError where a setting makes no sense."""
        if self.temperature <= 0:
            raise ValueError(f"temperature is {self.temperature}, not above 0; 0 would be greedy")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k is {self.top_k}, but at least one token must stay")
        for name in ("top_p", "min_p"):
            share = getattr(self, name)
            if share is not None and not 0 <= share <= 1:
                raise ValueError(f"{name} is {share}, which is no share")

    def filtered(self, scores: Tensor) -> Tensor:
        """Scores with minus infinity where a token may not be drawn; the likeliest stays.

        Parameters
        ----------
        scores
            Shape ``(texts, vocabulary)``.
        """
        scores = scores / self.temperature
        if self.top_k is not None:
            least = scores.topk(min(self.top_k, scores.shape[-1]), dim=-1).values[..., -1:]
            scores = scores.masked_fill(scores < least, -torch.inf)
        if self.top_p is not None:
            # From the unlikeliest up: those that together make no more than the rest.
            ordered, order = scores.sort(dim=-1)
            dropped = ordered.softmax(-1).cumsum(-1) <= 1 - self.top_p
            dropped[..., -1] = False
            scores = scores.masked_fill(
                torch.zeros_like(dropped).scatter(-1, order, dropped), -torch.inf
            )
        if self.min_p is not None:
            share = scores.softmax(-1)
            dropped = share < self.min_p * share.amax(-1, keepdim=True)
            scores = scores.masked_fill(dropped, -torch.inf)
        return scores

    def draw(self, scores: Tensor, generator: torch.Generator) -> Tensor:
        """One token a text, shape ``(texts,)``; the generator lies where the scores do."""
        share = self.filtered(scores).softmax(-1)
        return torch.multinomial(share, 1, generator=generator).squeeze(-1)


def sample_from(
    model: Decoder | Reader,
    beginning: Beginning,
    *,
    new_tokens: int,
    end: int | None,
    choice: Choice,
    generator: torch.Generator,
    rules: Sequence[Rule] = (),
) -> list[list[int]]:
    """Tokens drawn one by one from a beginning; see `write`."""
    return write(
        model,
        beginning,
        new_tokens=new_tokens,
        end=end,
        choose=lambda scores: choice.draw(scores, generator),
        rules=rules,
    )


def sample(
    model: Decoder,
    texts: Sequence[Sequence[int]],
    *,
    new_tokens: int,
    end: int | None,
    choice: Choice,
    generator: torch.Generator,
    device: str = "cpu",
) -> list[list[int]]:
    """Tokens drawn one by one, until ``end`` or ``new_tokens`` of them.

    Parameters
    ----------
    model, texts, new_tokens, end, device
        As in `greedy`.
    choice
        Which tokens may be drawn.
    generator
        Of random numbers, on the model's device; the same seed gives the same texts there.

    Returns
    -------
    list
        The new tokens of each text, ``end`` left out.
    """
    beginning = begin(
        model, texts, new_tokens=new_tokens, padding=0 if end is None else end, device=device
    )
    return sample_from(
        model, beginning, new_tokens=new_tokens, end=end, choice=choice, generator=generator
    )
