"""Where networks are computed."""

from __future__ import annotations

from typing import Literal

import torch

from remeasure.errors import DataError

Device = Literal["auto", "cpu", "cuda"]


def device_of(wanted: Device) -> torch.device:
    """The device of a setting; ``auto`` takes a GPU where there is one.

    Raises
    ------
    DataError
        When a GPU is asked for and there is none.
    """
    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise DataError(
            "there is no GPU that torch can use",
            where="device: cuda",
            remedy="set device to auto or cpu, or run on a machine with a GPU",
        )
    return torch.device("cuda" if there and wanted != "cpu" else "cpu")
