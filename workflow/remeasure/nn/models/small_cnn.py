"""A small convolutional classifier: four stages of two convolutions each, halved in between."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class SmallCNNConfig:
    """Sizes of a model.

    Attributes
    ----------
    width
        Channels of the first stage; the others have 2, 4 and 4 times as many.
    classes
        Of the classifier.
    channels
        Colours of the image.
    """

    width: int
    classes: int
    channels: int = 3

    @property
    def widths(self) -> tuple[int, int, int, int]:
        """Channels of each stage."""
        return (self.width, 2 * self.width, 4 * self.width, 4 * self.width)

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        stages = sum(
            9 * (before * after + after * after) + 2 * 3 * after
            for before, after in pairwise((self.channels, *self.widths))
        )
        return stages + (self.widths[-1] + 1) * self.classes


#: The CNN of the vit study: about as many parameters as its small ViT.
SMALL_CNN = SmallCNNConfig(width=64, classes=10)


def _stage(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1),
        nn.BatchNorm2d(after),
        nn.GELU(),
        nn.Conv2d(after, after, 3, padding=1),
        nn.BatchNorm2d(after),
        nn.GELU(),
        nn.MaxPool2d(2),
    )


class SmallCNN(nn.Module):
    """Images to logits of classes.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: SmallCNNConfig) -> None:
        super().__init__()
        self.config = config
        sizes = pairwise((config.channels, *config.widths))
        self.stages = nn.Sequential(*(_stage(before, after) for before, after in sizes))
        self.head = nn.Linear(config.widths[-1], config.classes)

    def forward(self, images: Tensor) -> Tensor:
        """From ``(batch, channels, height, width)`` to ``(batch, classes)``."""
        maps: Tensor = self.stages(images)  # (batch, 4 width, height / 16, width / 16)
        out: Tensor = self.head(maps.mean((2, 3)))
        return out
