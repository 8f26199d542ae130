"""ColBERT (Khattab and Zaharia 2020; v2: Santhanam et al. 2022): one short vector a token.

A question's token takes the best of all tokens of a document, and these maxima add up. A
question is filled up with masks: they are not attended to, but their vectors count. In a
document the vectors of punctuation and padding are zero, and still take part in the maximum.
"""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.nn.checkpoints.loading import Name, Names
from remeasure.nn.models.bert import HEAD_NAMES, BertConfig, Encoder

NAMES = Names(
    [*HEAD_NAMES.rules, Name("linear.weight", "linear.weight")],
    ignored=[
        "bert.embeddings.position_ids",
        *(f"bert.pooler.dense.{k}" for k in ("weight", "bias")),
    ],
)


@dataclass(frozen=True)
class Marks:
    """Token ids with a meaning; those of the uncased vocabulary by default.

    Attributes
    ----------
    first, last, mask, padding
        ``[CLS]``, ``[SEP]``, ``[MASK]``, ``[PAD]``.
    question, document
        What stands at position 1 and says what the text is.
    """

    first: int = 101
    last: int = 102
    mask: int = 103
    padding: int = 0
    question: int = 1
    document: int = 2


@dataclass(frozen=True)
class Framed:
    """Texts ready for `ColBert`.

    Attributes
    ----------
    ids
        Shape ``(batch, length)``.
    real
        True where a token may be attended to.
    kept
        True where a token's vector counts.
    """

    ids: Tensor
    real: Tensor
    kept: Tensor


def frame_questions(texts: Many[Many[int]], marks: Marks | None = None, length: int = 32) -> Framed:
    """Questions at one fixed length: cut, or filled up with masks.

    Parameters
    ----------
    texts
        Word pieces of each, without special tokens.
    """
    marks = Marks() if marks is None else marks
    rows = [_frame(text, marks.question, marks, length) for text in texts]
    ids = torch.tensor([row + [marks.mask] * (length - len(row)) for row in rows])
    real = _until(rows, length)
    return Framed(ids, real, torch.ones_like(real))


def frame_documents(
    texts: Many[Many[int]], dropped: Many[int], marks: Marks | None = None, length: int = 180
) -> Framed:
    """Documents, cut at a length and padded to the longest.

    Parameters
    ----------
    texts
        Word pieces of each, without special tokens.
    dropped
        Pieces whose vectors do not count: punctuation.
    """
    marks = Marks() if marks is None else marks
    rows = [_frame(text, marks.document, marks, length) for text in texts]
    longest = max(len(row) for row in rows)
    ids = torch.tensor([row + [marks.padding] * (longest - len(row)) for row in rows])
    real = _until(rows, longest)
    return Framed(ids, real, real & ~torch.isin(ids, torch.tensor(list(dropped), dtype=torch.long)))


def _frame(text: Many[int], kind: int, marks: Marks, length: int) -> list[int]:
    return [marks.first, kind, *text[: length - 3], marks.last]


def _until(rows: list[list[int]], length: int) -> Tensor:
    return torch.arange(length) < torch.tensor([len(row) for row in rows])[:, None]


class ColBert(nn.Module):
    """Token ids to vectors of length one, zero where they do not count.

    Parameters
    ----------
    config
        Sizes.
    dimensions
        Of the vectors.
    """

    def __init__(self, config: BertConfig, dimensions: int = 128) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.linear = nn.Linear(config.width, dimensions, bias=False)

    @staticmethod
    def parameters_of(config: BertConfig, dimensions: int = 128) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        return config.parameters() + config.width * dimensions

    def forward(self, texts: Framed) -> Tensor:
        """Shape ``(batch, length, dimensions)``."""
        states = self.encoder(texts.ids, texts.real)
        vectors = F.normalize(self.linear(states), dim=-1)
        return vectors * texts.kept.unsqueeze(-1).to(vectors.dtype)


def maxsim(questions: Tensor, documents: Tensor) -> Tensor:
    """Sum over a question's vectors of the largest dot product with a document's.

    Parameters
    ----------
    questions
        Shape ``(questions, tokens, dimensions)``.
    documents
        Shape ``(documents, tokens, dimensions)``, zero rows counting as any other.

    Returns
    -------
    Tensor
        Shape ``(questions, documents)``.
    """
    return torch.einsum("qid,pjd->qpij", questions, documents).amax(-1).sum(-1)
