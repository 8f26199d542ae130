"""What a decoder thinks of a text: probabilities of its tokens, and guesses layer by layer.

The logit lens (nostalgebraist 2020) reads every state of the residual stream as if it were the
last: through the final norm and the output matrix.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import torch
from torch import Tensor, nn

from remeasure.nn.models.gpt2 import GPT2
from remeasure.studies.gpt.read_tables import LENS, TOKENS
from remeasure.studies.gpt.typed import frame_of


@torch.inference_mode()
def token_probabilities(model: nn.Module, ids: Sequence[int], device: str | torch.device) -> Tensor:
    """Probability of each token but the first, given those before it, shape ``(length - 1,)``.

    The model gives logits of the next token at every place. Float64 on the CPU. Minus the mean of
    the logarithms is the loss of the text.
    """
    text = torch.tensor([list(ids)], device=device)
    scores: Tensor = model(text)[0, :-1].double().log_softmax(-1)
    return scores.gather(1, text[0, 1:, None]).squeeze(1).exp().cpu()


@torch.inference_mode()
def guesses_by_layer(
    model: GPT2, ids: Sequence[int], device: str | torch.device
) -> list[tuple[int, float]]:
    """The likeliest next token and its probability, after the embeddings and each block."""
    text = torch.tensor([list(ids)], device=device)
    found = []
    for state in model.states(text):
        chances = model.unembed(state[:, -1])[0].double().softmax(-1)
        top = int(chances.argmax())
        found.append((top, float(chances[top])))
    return found


@torch.inference_mode()
def sampled(
    model: GPT2,
    ids: Sequence[int],
    *,
    tokens: int,
    temperature: float,
    generator: torch.Generator,
    device: str | torch.device,
) -> list[int]:
    """A continuation drawn token by token, with a cache."""
    cache = model.cache(1, len(ids) + tokens)
    fresh = torch.tensor([list(ids)], device=device)
    said: list[int] = []
    for _ in range(tokens):
        scores = model.logits(model.hidden(fresh, None, cache)[0, -1]).float().cpu()
        said.append(
            int(torch.multinomial((scores / temperature).softmax(-1), 1, generator=generator))
        )
        fresh = torch.tensor([said[-1:]], device=device)
    return said


def tokens_frame(model: str, shown: Sequence[str], chances: Tensor) -> pl.DataFrame:
    """`TOKENS` of one model."""
    lines = [
        (model, place, token, chance)
        for place, (token, chance) in enumerate(zip(shown, chances.tolist(), strict=True), 1)
    ]
    return frame_of(lines, TOKENS)


def lens_frame(
    model: str, prompt: str, found: Sequence[tuple[int, float]], shown: Sequence[str]
) -> pl.DataFrame:
    """`LENS` of one model after one prompt."""
    lines = [
        (model, prompt, layer, token, chance)
        for layer, ((_, chance), token) in enumerate(zip(found, shown, strict=True))
    ]
    return frame_of(lines, LENS)
