"""EfficientNet-Lite: a convolutional net of inverted bottlenecks, without squeeze and excitation.

A block widens its channels by a 1 x 1 convolution, filters each on its own, and narrows them
again (Sandler et al. 2018, MobileNetV2); where stride and channels allow it is added to its
input. How often, how wide and with which kernels is EfficientNet-B0's (Tan and Le 2019, table
1); the Lite models leave out squeeze and excitation and clip at 6 (ReLU6) instead of swish.

Maps are padded as TensorFlow's SAME does: where a stride leaves an odd number of rows to add,
the additional one stands below and to the right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.errors import DataError
from remeasure.nn.checkpoints.loading import Name, Names, Report, load

#: Mean and deviation of a byte that published weights were trained with.
BYTE_MEAN, BYTE_DEVIATION = 127.0, 128.0


class Stage(NamedTuple):
    """Blocks of one kind: how many, kernel, stride of the first, widening, channels out."""

    blocks: int
    kernel: int
    stride: int
    widening: int
    out: int


@dataclass(frozen=True, kw_only=True)
class EfficientNetLiteConfig:
    """Sizes of a model.

    Attributes
    ----------
    stem, head
        Channels of the first convolution and of the features.
    stages
        Blocks in between.
    classes
        Of the classifier.
    eps
        Added to variances in the norms.
    """

    stem: int
    stages: tuple[Stage, ...]
    head: int
    classes: int
    eps: float = 1e-3

    def shapes(self) -> Iterator[tuple[int, int, Stage]]:
        """Every block: channels in, stride, and its stage."""
        channels = self.stem
        for stage in self.stages:
            for number in range(stage.blocks):
                yield channels, stage.stride if number == 0 else 1, stage
                channels = stage.out

    def parameters(self) -> int:
        """How many numbers are learned: the formula that the built model must meet."""
        total = 27 * self.stem + 2 * self.stem
        for channels, _, stage in self.shapes():
            wide = stage.widening * channels
            if stage.widening > 1:
                total += channels * wide + 2 * wide
            total += stage.kernel**2 * wide + 2 * wide + wide * stage.out + 2 * stage.out
        last = self.stages[-1].out
        return total + last * self.head + 2 * self.head + (self.head + 1) * self.classes


#: EfficientNet-Lite0: native images of 224 pixels, 1,000 classes of ImageNet.
LITE0 = EfficientNetLiteConfig(
    stem=32,
    stages=(
        Stage(1, 3, 1, 1, 16),
        Stage(2, 3, 2, 6, 24),
        Stage(2, 5, 2, 6, 40),
        Stage(3, 3, 2, 6, 80),
        Stage(3, 5, 1, 6, 112),
        Stage(4, 5, 2, 6, 192),
        Stage(1, 3, 1, 6, 320),
    ),
    head=1280,
    classes=1000,
)

_LAYERS = (
    ("stem", "_conv_stem"),
    ("stem_norm", "_bn0"),
    ("blocks.{i}.expand", "_blocks.{i}._expand_conv"),
    ("blocks.{i}.expand_norm", "_blocks.{i}._bn0"),
    ("blocks.{i}.depthwise", "_blocks.{i}._depthwise_conv"),
    ("blocks.{i}.depthwise_norm", "_blocks.{i}._bn1"),
    ("blocks.{i}.project", "_blocks.{i}._project_conv"),
    ("blocks.{i}.project_norm", "_blocks.{i}._bn2"),
    ("head", "_conv_head"),
    ("head_norm", "_bn1"),
    ("classifier", "_fc"),
)
#: A norm's means and variances are learned too, though not by gradients: they have names.
NAMES = Names(Name(f"{ours}.{{part}}", f"{theirs}.{{part}}") for ours, theirs in _LAYERS)


def same(x: Tensor, kernel: int, stride: int) -> Tensor:
    """Padded so that a convolution gives ``ceil(side / stride)`` rows and columns."""
    sides = []
    for side in (x.shape[-1], x.shape[-2]):  # F.pad names the last axis first
        more = max((-(-side // stride) - 1) * stride + kernel - side, 0)
        sides += [more // 2, more - more // 2]
    return F.pad(x, sides)


class Block(nn.Module):
    """An inverted bottleneck.

    Parameters
    ----------
    channels, stride
        Coming in; of the depthwise convolution.
    stage
        Kernel, widening, channels out.
    eps
        Of the norms.
    """

    def __init__(self, channels: int, stride: int, stage: Stage, eps: float) -> None:
        super().__init__()
        wide = stage.widening * channels
        self.kernel, self.stride = stage.kernel, stride
        self.widens = stage.widening > 1
        self.adds = stride == 1 and channels == stage.out
        if self.widens:
            self.expand = nn.Conv2d(channels, wide, 1, bias=False)
            self.expand_norm = nn.BatchNorm2d(wide, eps)
        self.depthwise = nn.Conv2d(wide, wide, stage.kernel, stride, groups=wide, bias=False)
        self.depthwise_norm = nn.BatchNorm2d(wide, eps)
        self.project = nn.Conv2d(wide, stage.out, 1, bias=False)
        self.project_norm = nn.BatchNorm2d(stage.out, eps)

    def forward(self, x: Tensor) -> Tensor:
        """From ``(batch, channels, h, w)`` to ``(batch, out, ceil(h / stride), ...)``."""
        y = F.relu6(self.expand_norm(self.expand(x))) if self.widens else x
        y = self.depthwise(same(y, self.kernel, self.stride))
        y = self.project_norm(self.project(F.relu6(self.depthwise_norm(y))))
        out: Tensor = x + y if self.adds else y
        return out


class EfficientNetLite(nn.Module):
    """Images to logits of classes, or to features.

    Parameters
    ----------
    config
        Sizes.
    """

    def __init__(self, config: EfficientNetLiteConfig) -> None:
        super().__init__()
        self.config = config
        self.stem = nn.Conv2d(3, config.stem, 3, 2, bias=False)
        self.stem_norm = nn.BatchNorm2d(config.stem, config.eps)
        self.blocks = nn.ModuleList(Block(*shape, config.eps) for shape in config.shapes())
        self.head = nn.Conv2d(config.stages[-1].out, config.head, 1, bias=False)
        self.head_norm = nn.BatchNorm2d(config.head, config.eps)
        self.classifier = nn.Linear(config.head, config.classes)

    def features(self, images: Tensor) -> Tensor:
        """From ``(batch, 3, height, width)`` to ``(batch, head)``: the mean over places."""
        x = F.relu6(self.stem_norm(self.stem(same(images, 3, 2))))  # half the height and width
        for block in self.blocks:
            x = block(x)  # in the end (batch, last stage's channels, height / 32, width / 32)
        x = F.relu6(self.head_norm(self.head(x)))
        return x.mean((2, 3))

    def forward(self, images: Tensor) -> Tensor:
        """From ``(batch, 3, height, width)`` to ``(batch, classes)``."""
        out: Tensor = self.classifier(self.features(images))
        return out


def prepared(pixels: Tensor) -> Tensor:
    """Bytes, or floats of their range, as published weights read them."""
    return (pixels.float() - BYTE_MEAN) / BYTE_DEVIATION


def load_published(model: EfficientNetLite, tensors: Mapping[str, Tensor], *, where: str) -> Report:
    """Fill a model strictly: without a norm's means and variances it would be another one.

    Raises
    ------
    DataError
        Naming what is missing, unknown, of another shape or not finite.
    """
    wanted = [NAMES.theirs(name) for name, _ in model.named_buffers()]
    missing = [name[0] for name in wanted if name is not None and name[0] not in tensors]
    if missing:
        raise DataError(
            f"{len(missing)} numbers of norms are missing, the first {missing[0]}",
            where=where,
            remedy="install the package again; a state without its buffers is no whole model",
        )
    return load(model, tensors, NAMES, where=where)


def published_state(model: EfficientNetLite) -> dict[str, Tensor]:
    """The model's numbers by their published names: the way back."""
    state = {NAMES.theirs(name): each for name, each in model.state_dict().items()}
    return {name[0]: torch.clone(each) for name, each in state.items() if name is not None}
