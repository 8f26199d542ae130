"""DistilBERT (Sanh et al. 2019): BERT with half of its blocks, without segments and pooler.

The encoder and the masked-word head are those of `bert`; the names and the configuration are
DistilBERT's own, and so is the head for a whole text, which takes a ReLU where BERT takes a tanh.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.models.bert import BertConfig, Encoder, linear_names, norm_names
from remeasure.nn.models.published import only


def from_json(config: dict[str, Any]) -> BertConfig:
    """From the published ``config.json``.

    Raises
    ------
    DataError
        When it describes what is not built here.
    KeyError
        Where a size is missing.
    """
    only(config, activation="gelu", model_type="distilbert")
    return BertConfig(
        vocabulary=config["vocab_size"],
        width=config["dim"],
        layers=config["n_layers"],
        heads=config["n_heads"],
        hidden=config["hidden_dim"],
        positions=config["max_position_embeddings"],
        segments=0,
        dropout=config["dropout"],
    )


def encoder_names(ours: str, theirs: str) -> list[Name]:
    """The encoder, with a prefix (or none) on both sides."""
    block, layer = f"{ours}blocks.{{i}}", f"{theirs}transformer.layer.{{i}}"
    rules = [
        Name(f"{ours}words.weight", f"{theirs}embeddings.word_embeddings.weight"),
        Name(f"{ours}positions.weight", f"{theirs}embeddings.position_embeddings.weight"),
        *norm_names(f"{ours}norm", f"{theirs}embeddings.LayerNorm"),
        *linear_names(f"{block}.up", f"{layer}.ffn.lin1"),
        *linear_names(f"{block}.down", f"{layer}.ffn.lin2"),
        *norm_names(f"{block}.attention_norm", f"{layer}.sa_layer_norm"),
        *norm_names(f"{block}.mlp_norm", f"{layer}.output_layer_norm"),
    ]
    for our, their in (("q", "q_lin"), ("k", "k_lin"), ("v", "v_lin"), ("o", "out_lin")):
        rules += linear_names(f"{block}.attention.{our}", f"{layer}.attention.{their}")
    return rules


_UNLEARNED = ["distilbert.embeddings.position_ids", "embeddings.position_ids"]
_HEADS = [
    f"{head}.{kind}"
    for head in (
        "vocab_transform",
        "vocab_layer_norm",
        "vocab_projector",
        "pre_classifier",
        "classifier",
        "qa_outputs",
    )
    for kind in ("weight", "bias")
]

#: The encoder alone, out of any checkpoint: whatever stands on top is left out.
NAMES = Names(
    [*encoder_names("", "distilbert."), *encoder_names("", "")], ignored=[*_UNLEARNED, *_HEADS]
)
#: An encoder with a head (`bert.Masked`, `bert.Tokens`, `Sequence`); heads that the model does
#: not have are left out.
HEAD_NAMES = Names(
    [
        *encoder_names("encoder.", "distilbert."),
        *linear_names("words.map", "vocab_transform"),
        *norm_names("words.norm", "vocab_layer_norm"),
        Name("words.bias", "vocab_projector.bias"),
        *linear_names("before", "pre_classifier"),
        *linear_names("classes", "classifier"),
    ],
    ignored=[*_UNLEARNED, *_HEADS],
)


class Sequence(nn.Module):
    """Scores of classes for a whole text: map and ReLU of the first state, dropout, map.

    Parameters
    ----------
    config
        Sizes.
    classes
        How many.
    dropout
        Between the maps (``seq_classif_dropout``).
    """

    def __init__(self, config: BertConfig, classes: int, dropout: float = 0.2) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.before = nn.Linear(config.width, config.width)
        self.drop = nn.Dropout(dropout)
        self.classes = nn.Linear(config.width, classes)

    def forward(self, ids: Tensor, real: Tensor | None = None) -> Tensor:
        """Shape ``(batch, classes)``; arguments as in `bert.Encoder.forward`."""
        states = self.encoder(ids, real)  # (batch, length, width)
        out: Tensor = self.classes(self.drop(F.relu(self.before(states[:, 0]))))
        return out
