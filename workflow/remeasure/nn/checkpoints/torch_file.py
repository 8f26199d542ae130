"""Weights in torch's own format, which is a pickle: read so that nothing in it can run."""

from __future__ import annotations

import pickle
from pathlib import Path

import torch
from torch import Tensor

from remeasure.errors import DataError

#: What torch raises on a file that was cut or written over, depending on where.
_DAMAGED = (EOFError, OSError, RuntimeError, ValueError, LookupError, AttributeError, TypeError)


def read_torch(path: Path) -> dict[str, Tensor]:
    """All tensors of a ``pytorch_model.bin``, on the CPU, of the types stored.

    Tensors are read with ``weights_only``: a file that names anything to call but the
    makers of tensors is refused before it is called.

    Raises
    ------
    DataError
        When the file is missing, cut short, holds code, or holds no plain dict of tensors.
    """
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise DataError(
            "this file of weights does not exist", where=path, remedy="fetch the checkpoint"
        ) from error
    except pickle.UnpicklingError as error:
        reason = str(error).splitlines()
        told = [line.strip() for line in reason if "Unsupported" in line or "GLOBAL" in line]
        raise DataError(
            "this file holds more than tensors, or is no whole file of weights:"
            f" {(told or reason)[0]}",
            where=path,
            remedy="do not open it otherwise; take the checkpoint's safetensors file",
        ) from error
    except _DAMAGED as error:
        reason = str(error).splitlines() or ["it ends early"]
        raise DataError(
            f"this is no whole file of weights: {reason[0].split('. ')[0]}",
            where=path,
            remedy="delete the file and fetch it again",
        ) from error
    if not isinstance(found, dict) or not all(
        isinstance(name, str) and isinstance(value, Tensor) for name, value in found.items()
    ):
        raise DataError(
            "this file holds something else than tensors by name",
            where=path,
            remedy="take the checkpoint's file of weights, not that of its training",
        )
    return dict(found)
