"""Karvonen's chess model: a nanoGPT checkpoint of the same shape, trained 550 times longer.

Source: Karvonen 2024, arXiv 2403.15498; the file is a pickle, read as tensors and plain values
only (``weights_only=True``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from remeasure.errors import DataError
from remeasure.fetch.manifest import Manifest
from remeasure.ledger.measurement import Measurement
from remeasure.ledger.reference import Key
from remeasure.nn.checkpoints.loading import load
from remeasure.nn.models.gpt2 import GPT2, NANOGPT_NAMES, GPT2Config
from remeasure.studies.gpt import article
from remeasure.studies.gpt.chess_text import ALPHABET
from remeasure.studies.gpt.published import measurement

_EMBEDDING, _HEAD = "_orig_mod.transformer.wte.weight", "_orig_mod.lm_head.weight"


@dataclass(frozen=True)
class Checkpoint:
    """The file: sizes as its author names them, updates, windows an update, and tensors."""

    arguments: Mapping[str, Any]
    updates: int
    batch: int
    tensors: Mapping[str, Tensor]
    where: str

    @property
    def characters(self) -> int:
        """Characters seen in training."""
        return self.updates * self.batch * int(self.arguments["block_size"])

    @property
    def tied(self) -> bool:
        """Whether the output layer is the embedding."""
        tensors = self.tensors
        return torch.equal(tensors[_EMBEDDING], tensors[_HEAD])


def read_checkpoint(manifest: Path) -> Checkpoint:
    """The checkpoint of a manifest.

    Raises
    ------
    SourceError
        When the file is not the one that the manifest names.
    DataError
        When it is no nanoGPT checkpoint, or holds more than tensors and plain values.
    """
    known = Manifest.read(manifest)
    entry = next((each for each in known.files if each.path.endswith(".pt")), None)
    if entry is None:
        raise DataError("the manifest names no checkpoint", where=manifest, remedy="fetch it again")
    known.read_verified(entry)
    path = known.file(entry)
    try:
        body = torch.load(path, map_location="cpu", weights_only=True)
        return Checkpoint(
            arguments=dict(body["model_args"]),
            updates=int(body["iter_num"]),
            batch=int(body["config"]["batch_size"]),
            tensors={name: each.float() for name, each in body["model"].items()},
            where=str(path),
        )
    except Exception as error:
        raise DataError(
            f"this is no nanoGPT checkpoint of tensors alone: {error!r}",
            where=path,
            remedy="fetch it again; nothing else is ever unpickled",
        ) from error


def karvonen_model(found: Checkpoint) -> GPT2:
    """The model of a checkpoint.

    Raises
    ------
    DataError
        When its alphabet is not ours, or its tensors are not those of the model.
    """
    if found.arguments["vocab_size"] != len(ALPHABET):
        raise DataError(
            f"this model has {found.arguments['vocab_size']} characters, not {len(ALPHABET)}",
            where=found.where,
            remedy="fetch the checkpoint named in config/config.yaml",
        )
    model = GPT2(GPT2Config.from_nanogpt(dict(found.arguments)))
    load(model, found.tensors, NANOGPT_NAMES, where=found.where)
    return model.eval()


def answers(found: Checkpoint, asked: Iterable[Key]) -> Iterator[Measurement]:
    """Rows that the file alone answers."""
    ours = article.STEPS * article.BATCH * article.CHESS.context
    values: dict[str, float | int | str] = {
        "characters seen in training": found.characters / 1e9,
        "ratio of training, stated": found.characters / ours,
        "tensors in the file": len(found.tensors),
        "output layer tied to the embeddings": str(found.tied),
    }
    for key in asked:
        value = values.get(key[1])
        if value is None:
            value = found.arguments[key[1]]
            value = str(value) if isinstance(value, bool) else value
        yield measurement(key, value)
