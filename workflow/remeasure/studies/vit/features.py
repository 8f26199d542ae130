"""What a frozen network says of every tile that the race uses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from remeasure.model import Model
from remeasure.studies.vit.settings import Device
from remeasure.studies.vit.subsets import subset
from remeasure.studies.vit.tiles import TEST, TRAIN, load_split


class FrozenStep(Model):
    """Tiles in one pass and their side, largest budget, test tiles of each class, device."""

    batch: int
    side: int
    most: int
    test_per_class: int | None
    device: Device
    threads: int


def write_features(
    tiles: Path,
    features: Path,
    settings: FrozenStep,
    *,
    device: torch.device,
    take: Callable[[Tensor], Tensor],
) -> None:
    """Write the features of both splits, their labels and the rows of the test split.

    Parameters
    ----------
    tiles
        As ``tiles.read_tiles`` writes them.
    features
        Output, safetensors: ``train`` and ``test`` of shape ``(n, width)``, ``train_label``,
        ``test_label``, and the rows of each split, ``train_row`` and ``test_row``.
    take
        From bytes, shape ``(n, 3, height, width)`` on the device, to ``(n, width)``.
    """
    out: dict[str, Tensor] = {}
    for split, most in ((TRAIN, settings.most), (TEST, settings.test_per_class)):
        found = load_split(tiles, split)
        rows = np.arange(found.labels.size) if most is None else subset(found.labels, most)
        pixels = torch.from_numpy(found.pixels)[torch.from_numpy(rows)]
        half = device.type == "cuda"
        with torch.inference_mode(), torch.autocast(device.type, torch.float16, enabled=half):
            parts = [
                take(part.to(device)).float().cpu() for part in torch.split(pixels, settings.batch)
            ]
        out[split] = torch.cat(parts).contiguous()
        out[f"{split}_label"] = torch.from_numpy(found.labels[rows])
        out[f"{split}_row"] = torch.from_numpy(rows)
    save_file(out, features)
