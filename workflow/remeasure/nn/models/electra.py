"""ELECTRA (Clark et al. 2020): a small generator fills masks, a discriminator finds the fakes.

Both are BERT encoders that share one table of words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.models.bert import (
    BERT_BASE,
    BertConfig,
    Encoder,
    WordHead,
    encoder_names,
    linear_names,
    norm_names,
)

#: The encoder of the published base discriminator and, as its configuration has it, of the
#: generator: a third as wide, under embeddings as wide as the discriminator's.
ELECTRA_BASE = BERT_BASE
ELECTRA_BASE_GENERATOR = replace(BERT_BASE, width=256, heads=4, hidden=1024, embedding=768)

#: A published discriminator.
NAMES = Names(
    [
        *encoder_names("encoder.", "electra."),
        *linear_names("map", "discriminator_predictions.dense"),
        *linear_names("fake", "discriminator_predictions.dense_prediction"),
    ],
    ignored=["electra.embeddings.position_ids"],
)
#: A published generator, which is a `bert.Masked`.
GENERATOR_NAMES = Names(
    [
        *encoder_names("encoder.", "electra."),
        *linear_names("words.map", "generator_predictions.dense"),
        *norm_names("words.norm", "generator_predictions.LayerNorm"),
        Name("words.bias", "generator_lm_head.bias"),
    ],
    ignored=["electra.embeddings.position_ids", "generator_lm_head.weight"],
)


class Discriminator(nn.Module):
    """How much every token looks replaced.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.map = nn.Linear(config.width, config.width)
        self.fake = nn.Linear(config.width, 1)

    @staticmethod
    def parameters_of(config: BertConfig) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        return config.parameters() + config.width * (config.width + 2) + 1

    def forward(
        self, ids: Tensor, real: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Log-odds of a replacement, shape ``(batch, length)``; see `Encoder.forward`."""
        states = self.encoder(ids, real, segments)
        out: Tensor = self.fake(F.gelu(self.map(states))).squeeze(-1)
        return out


@dataclass(frozen=True)
class Losses:
    """One step's parts.

    Attributes
    ----------
    generator, discriminator
        Mean cross-entropy at the masks and mean binary cross-entropy at real tokens.
    total
        ``generator + weight * discriminator``.
    replaced
        True where the discriminator's input differs from the original, ``(batch, length)``.
    """

    generator: Tensor
    discriminator: Tensor
    total: Tensor
    replaced: Tensor


class Electra(nn.Module):
    """Generator and discriminator over one table of words.

    Parameters
    ----------
    config
        Sizes of the discriminator.
    layers
        Blocks of the generator, which is as wide.
    weight
        Of the discriminator's loss (50 in the paper).
    eps
        Of the norm in the generator's head, where it is not the encoder's.
    """

    def __init__(
        self, config: BertConfig, layers: int, *, weight: float = 50.0, eps: float | None = None
    ) -> None:
        super().__init__()
        self.discriminator = Discriminator(config)
        self.generator = Encoder(replace(config, layers=layers), self.discriminator.encoder.words)
        self.words = WordHead(config, eps)
        self.weight = weight

    @staticmethod
    def parameters_of(config: BertConfig, layers: int) -> int:
        """How many numbers are learned, the shared table once."""
        table = config.vocabulary * config.narrow
        generator = replace(config, layers=layers).parameters("masked") - table
        return Discriminator.parameters_of(config) + generator

    def forward(
        self,
        original: Tensor,
        masked: Tensor,
        picked: Tensor,
        real: Tensor | None = None,
        draws: torch.Generator | None = None,
    ) -> Losses:
        """The losses of one batch.

        A token that the generator guesses right counts as original, and no gradient flows
        through its choice.

        Parameters
        ----------
        original, masked
            Token ids before and after masking, shape ``(batch, length)``.
        picked
            True where a token was picked for masking, the same shape.
        real
            False on padding.
        draws
            Random stream of the generator's choices.
        """
        states = self.generator(masked, real)[picked]  # (picked, narrow)
        scores = self.words(states, self.generator.words)  # (picked, vocabulary)
        generator = F.cross_entropy(scores.float(), original[picked])
        with torch.no_grad():
            chances = scores.float().softmax(-1)
            choice = torch.multinomial(chances, 1, generator=draws).squeeze(-1)
        corrupted = original.clone()
        corrupted[picked] = choice
        replaced = corrupted != original
        odds = self.discriminator(corrupted, real).float()
        if real is not None:
            odds, answer = odds[real.bool()], replaced[real.bool()]
        else:
            answer = replaced
        discriminator = F.binary_cross_entropy_with_logits(odds, answer.to(odds.dtype))
        return Losses(generator, discriminator, generator + self.weight * discriminator, replaced)
