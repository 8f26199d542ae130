"""Features of tiles from EfficientNet-Lite0, whose weights ship inside a package.

It is none of the publication's learners: a convolutional net of 4.7 million numbers that was
trained on ImageNet, in the place of DINOv2 where a run has no published weights. Its features
go to the same linear map (``probing.train_probe``), and answer no published row.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from remeasure.fetch.manifest import Manifest
from remeasure.nn.checkpoints.torch_file import read_torch
from remeasure.nn.device import device_of
from remeasure.nn.models.efficientnet_lite import (
    LITE0,
    EfficientNetLite,
    EfficientNetLiteConfig,
    load_published,
    prepared,
)
from remeasure.studies.vit.features import FrozenStep, write_features


def take_backbone_features(
    *, tiles: Path, checkpoint: Path, features: Path, settings: FrozenStep
) -> None:
    """Step: features of every tile that the race uses.

    Parameters
    ----------
    tiles
        As ``tiles.read_tiles`` writes them.
    checkpoint
        Manifest of the package's file of weights.
    features
        Output, safetensors: see ``features.write_features``; 1,280 numbers a tile.

    Raises
    ------
    DataError, SourceError
        When the weights are none of EfficientNet-Lite0, or not those that the manifest names.
    """
    torch.set_num_threads(settings.threads)
    device = device_of(settings.device)
    model = read_backbone(checkpoint).to(device)
    write_features(
        tiles,
        features,
        settings,
        device=device,
        take=lambda part: model.features(enlarged(part, settings.side)),
    )


def enlarged(tiles: Tensor, side: int) -> Tensor:
    """From bytes ``(n, 3, height, width)`` to what the net reads, ``(n, 3, side, side)``.

    Bilinear with corners not aligned, as all tiles are brought to a side here. Channels stand
    last in memory, which filters of single channels read a third faster.
    """
    light = tiles.float()
    if light.shape[-1] != side:
        light = F.interpolate(light, size=(side, side), mode="bilinear", align_corners=False)
    return prepared(light).contiguous(memory_format=torch.channels_last)


def read_backbone(checkpoint: Path, config: EfficientNetLiteConfig = LITE0) -> EfficientNetLite:
    """The net of a manifest, ready to be read from; the file is hashed again first."""
    known = Manifest.read(checkpoint)
    known.read_verified(known.files[0])
    path = known.file(known.files[0])
    model = EfficientNetLite(config)
    load_published(model, read_torch(path), where=str(path))
    return model.eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]
