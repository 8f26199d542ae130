"""A published checkpoint as it was stored: its configuration and its weights, bytes checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from torch import Tensor

from remeasure.errors import DataError
from remeasure.fetch.manifest import Manifest, RawFile
from remeasure.nn.checkpoints.loading import read_safetensors

CONFIG, WEIGHTS = "config.json", ".safetensors"


@dataclass(frozen=True)
class Stored:
    """One checkpoint.

    Attributes
    ----------
    where
        The manifest's source and the folder of the files, for messages.
    config
        Contents of ``config.json``.
    tensors
        By their published names.
    """

    where: str
    config: dict[str, Any]
    tensors: dict[str, Tensor]


def read_stored(manifest: Path) -> Stored:
    """The checkpoint of a manifest with one ``config.json`` and its ``.safetensors`` files.

    Every file is hashed again before it is used.

    Raises
    ------
    SourceError
        When the manifest is damaged, or a file is not the one that it names.
    DataError
        When the manifest names no checkpoint, or a file cannot be read as what it is.
    """
    known = Manifest.read(manifest)
    configs = [entry for entry in known.files if PurePosixPath(entry.path).name == CONFIG]
    weights = [entry for entry in known.files if entry.path.endswith(WEIGHTS)]
    if len(configs) != 1 or not weights:
        raise DataError(
            f"a checkpoint has one {CONFIG} and its weights ({WEIGHTS}); this one has"
            f" {len(configs)} and {len(weights)}",
            where=manifest,
            remedy="run the step that fetches the checkpoint again",
        )
    config = _json(known, configs[0])
    for entry in weights:
        known.read_verified(entry)
    return Stored(
        where=f"{known.source}, {known.file(configs[0]).parent}",
        config=config,
        tensors=read_safetensors(known.file(entry) for entry in weights),
    )


def _json(manifest: Manifest, entry: RawFile) -> dict[str, Any]:
    try:
        config = json.loads(manifest.read_verified(entry))
    except ValueError as error:
        raise DataError(
            f"this is no JSON: {error}",
            where=manifest.file(entry),
            remedy="delete the file and fetch it again",
        ) from error
    if not isinstance(config, dict):
        raise DataError(
            "this is no configuration of a model",
            where=manifest.file(entry),
            remedy="delete the file and fetch it again",
        )
    return config
