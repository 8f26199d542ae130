"""Where a training stands, in one file: written whole or not at all, refused when damaged."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import torch

from remeasure.errors import DataError


def write_saved(path: Path, state: dict[str, Any]) -> None:
    """Replace the file at once; a process killed meanwhile leaves the older one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def read_saved(path: Path) -> dict[str, Any]:
    """What `write_saved` wrote, on the CPU, every byte checked; tensors and plain values only.

    Raises
    ------
    DataError
        Naming the file, when it is cut short, changed or holds anything but data.
    """
    try:
        # torch itself does not compare the checksums that the format carries.
        with zipfile.ZipFile(path) as archive:
            broken = archive.testzip()
        if broken is not None:
            raise zipfile.BadZipFile(f"{broken} is not what was written")
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise DataError(
            f"this checkpoint is damaged: {error}",
            where=path,
            remedy="delete the file: the training then starts again from its first step",
        ) from error
    return state
