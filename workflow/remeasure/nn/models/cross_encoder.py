"""A cross-encoder (Nogueira and Cho 2019): question and document read together, one score.

The model is BERT with its classifier of whole texts and one class; what is new is how a
pair enters: the question whole, the document cut where the pair would be too long, and
segments that tell the two apart.
"""

from __future__ import annotations

from torch import Tensor

from remeasure.nn.models.bert import HEAD_NAMES, BertConfig, Sequence

NAMES = HEAD_NAMES


class CrossEncoder(Sequence):
    """One score a pair, higher when the document answers the question.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config, classes=1)

    @staticmethod
    def parameters_of(config: BertConfig) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        return config.parameters("pooled") + config.width + 1

    def forward(
        self, ids: Tensor, real: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Scores of framed pairs, shape ``(batch,)``.

        Parameters
        ----------
        ids
            As `tokenize.framing.Frame.pair` frames them, shape ``(batch, length)``.
        real
            False on padding.
        segments
            0 on the question, 1 on the document; the scores need them.
        """
        return super().forward(ids, real, segments).squeeze(-1)
