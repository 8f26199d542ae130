"""A bi-encoder (Reimers and Gurevych 2019): one vector a text, alike when the texts mean alike.

Any encoder that maps ``(ids, real)`` to states will do. Pooling, and a phrase that some
models want in front of a question, belong to the model: read otherwise it still gives
vectors, only worse ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.errors import DataError
from remeasure.nn.layers.pooling import Pooling, pool

_MODES: dict[str, Pooling] = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "last",
}


def pooling_of(config: Mapping[str, Any]) -> Pooling:
    """The pooling that sentence-transformers' ``1_Pooling/config.json`` names.

    Raises
    ------
    DataError
        When it names none that is built here, or more than one.
    """
    named = sorted(
        key for key, value in config.items() if key.startswith("pooling_mode_") and value
    )
    if len(named) != 1 or named[0] not in _MODES:
        raise DataError(
            f"the pooling of these vectors is {', '.join(named) or 'not named'};"
            f" one of {', '.join(_MODES)} is built here",
            where="1_Pooling/config.json",
            remedy="take a model with one of these",
        )
    return _MODES[named[0]]


class BiEncoder(nn.Module):
    """Token ids to one vector a text.

    Parameters
    ----------
    encoder
        Maps ids and real, both ``(batch, length)``, to states ``(batch, length, width)``.
    pooling
        Of the states.
    normalise
        To length one, so that a dot product is a cosine.
    """

    def __init__(
        self, encoder: nn.Module, pooling: Pooling = "mean", *, normalise: bool = True
    ) -> None:
        super().__init__()
        self.encoder, self.pooling, self.normalise = encoder, pooling, normalise

    def forward(self, ids: Tensor, real: Tensor | None = None) -> Tensor:
        """Shape ``(batch, width)``, float32."""
        vectors = pool(self.encoder(ids, real).float(), real, self.pooling)
        return F.normalize(vectors, dim=-1) if self.normalise else vectors


def contrast(left: Tensor, right: Tensor, scale: float = 20.0) -> Tensor:
    """Cross-entropy of each left text against all right ones, the partner being right (InfoNCE).

    Parameters
    ----------
    left, right
        Vectors of length one, partner at the same row, shape ``(pairs, width)``.
    scale
        Factor of the cosines: one over the temperature.

    Returns
    -------
    Tensor
        A scalar; ``log(pairs)`` when all vectors are one.
    """
    cosines = left @ right.T
    partner = cosines.new_tensor(range(len(left))).long()
    return F.cross_entropy(scale * cosines, partner)
