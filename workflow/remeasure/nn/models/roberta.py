"""RoBERTa (Liu et al. 2019): BERT trained longer, with other positions and other heads.

Its tables start two rows late: rows 0 and 1 of the positions belong to padding, so that
the first token stands at 2. There is one segment, always the same. The heads of masked words
and of tokens are BERT's, under other names.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.models.bert import (
    BertConfig,
    Encoder,
    encoder_names,
    linear_names,
    norm_names,
)

#: Sizes as in the published configuration.
ROBERTA_BASE = BertConfig(
    vocabulary=50_265,
    width=768,
    layers=12,
    heads=12,
    hidden=3072,
    positions=514,
    segments=1,
    eps=1e-5,
    first=2,
)

_IGNORED = [
    *(f"{model}embeddings.position_ids" for model in ("", "roberta.")),
    *(f"{model}pooler.dense.{kind}" for model in ("", "roberta.") for kind in ("weight", "bias")),
    *(f"lm_head.{part}" for part in ("bias", "decoder.weight", "decoder.bias")),
    *(f"lm_head.{part}.{kind}" for part in ("dense", "layer_norm") for kind in ("weight", "bias")),
]

#: The encoder alone, out of any checkpoint: whatever stands on top is left out.
NAMES = Names(
    [*encoder_names("", "roberta."), *encoder_names("", "")],
    ignored=[
        *_IGNORED,
        *(f"classifier.{kind}" for kind in ("weight", "bias")),
        *(
            f"classifier.{part}.{kind}"
            for part in ("dense", "out_proj")
            for kind in ("weight", "bias")
        ),
    ],
)
#: With the head of masked words.
MASKED_NAMES = Names(
    [
        *encoder_names("encoder.", "roberta."),
        *linear_names("words.map", "lm_head.dense"),
        *norm_names("words.norm", "lm_head.layer_norm"),
        Name("words.bias", "lm_head.bias"),
    ],
    ignored=_IGNORED,
)
#: With the head of a whole text.
SEQUENCE_NAMES = Names(
    [
        *encoder_names("encoder.", "roberta."),
        *linear_names("map", "classifier.dense"),
        *linear_names("classes", "classifier.out_proj"),
    ],
    ignored=_IGNORED,
)
#: With the head of every token.
TOKEN_NAMES = Names(
    [*encoder_names("encoder.", "roberta."), *linear_names("classes", "classifier")],
    ignored=_IGNORED,
)


def from_json(config: dict[str, Any]) -> BertConfig:
    """Sizes from the published ``config.json``; errors as `BertConfig.from_json`."""
    return replace(BertConfig.from_json(config), first=config["pad_token_id"] + 1)


class RobertaSequence(nn.Module):
    """Scores of classes for a whole text: the first state through a map and a tanh, then a map.

    Parameters
    ----------
    config
        Sizes.
    classes
        How many.
    """

    def __init__(self, config: BertConfig, classes: int) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.drop = nn.Dropout(config.dropout)
        self.map = nn.Linear(config.width, config.width)
        self.classes = nn.Linear(config.width, classes)

    def forward(self, ids: Tensor, real: Tensor | None = None) -> Tensor:
        """Shape ``(batch, classes)``; arguments as in `Encoder.forward`."""
        first = self.drop(self.encoder(ids, real)[:, 0])
        out: Tensor = self.classes(self.drop(torch.tanh(self.map(first))))
        return out
