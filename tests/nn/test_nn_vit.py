"""Our Vision Transformers against transformers on random weights, and against themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.errors import DataError
from remeasure.nn.checkpoints.loading import Names, load, published_names
from remeasure.nn.layers.patches import PatchEmbedding, patchify, stretch, unpatchify
from remeasure.nn.models import dinov2
from remeasure.nn.models.dinov2 import DINOV2_SMALL, Dinov2, Dinov2Config
from remeasure.nn.models.small_cnn import SMALL_CNN, SmallCNN, SmallCNNConfig
from remeasure.nn.models.vit import (
    BODY_NAMES,
    DINO_S8,
    NAMES,
    SMALL_VIT,
    VIT_B16,
    ViT,
    ViTConfig,
    names_of,
)

transformers = pytest.importorskip("transformers", reason="transformers is the referee here")

#: The card's sizes of its parity check, and a body with other sizes and eps, as DINO is.
CLASSIFIER = ViTConfig(
    image=64, patch=16, width=64, layers=2, heads=4, hidden=128, classes=30, eps=1e-12
)
BODY = ViTConfig(image=24, patch=8, width=24, layers=3, heads=2, hidden=40, classes=0, eps=1e-6)
SELF_TAUGHT = Dinov2Config(image=42, patch=14, width=32, layers=2, heads=4, hidden=128)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def perturbed(model: nn.Module) -> nn.Module:
    """Every parameter moved from where it starts: no bias, scale or token stays 0 or 1."""
    for number, parameter in enumerate(model.parameters()):
        parameter.data.add_(0.2 * normal(*parameter.shape, seed=number))
    return model.eval()


def referee(kind: str) -> nn.Module:
    if kind == "dinov2":
        c = SELF_TAUGHT
        return perturbed(
            transformers.Dinov2Model(
                transformers.Dinov2Config(
                    image_size=c.image, patch_size=c.patch, hidden_size=c.width,
                    num_hidden_layers=c.layers, num_attention_heads=c.heads, mlp_ratio=4,
                )
            )
        )  # fmt: skip
    own = CLASSIFIER if kind == "classifier" else BODY
    config = transformers.ViTConfig(
        image_size=own.image, patch_size=own.patch, hidden_size=own.width,
        num_hidden_layers=own.layers, num_attention_heads=own.heads,
        intermediate_size=own.hidden, layer_norm_eps=own.eps, num_labels=own.classes or 2,
    )  # fmt: skip
    if kind == "classifier":
        return perturbed(transformers.ViTForImageClassification(config))
    return perturbed(transformers.ViTModel(config))


def answer(model: Any, images: Tensor) -> Tensor:
    """Logits, or the last states of a model without a classifier."""
    own = isinstance(model, ViT | Dinov2)
    if own:
        headless = isinstance(model, ViT) and model.head is None
        return model.hidden(images) if headless else model(images)
    out = model(images, interpolate_pos_encoding=True) if _vit(model) else model(images)
    return out.logits if hasattr(out, "logits") else out.last_hidden_state


def _vit(model: Any) -> bool:
    return "Dinov2" not in type(model).__name__


def own_model(kind: str) -> tuple[ViT | Dinov2, Names]:
    if kind == "dinov2":
        return Dinov2(SELF_TAUGHT).eval(), dinov2.NAMES
    if kind == "classifier":
        return ViT(CLASSIFIER).eval(), NAMES
    return ViT(BODY).eval(), BODY_NAMES


#: Sides of the images of each model: its own, and others that stretch its positions.
SIDES = {"classifier": (64, 96), "body": (24, 40), "dinov2": (42, 70, 28)}


@pytest.mark.parametrize("kind", SIDES)
def test_states_and_gradients_equal_the_reference(kind: str, tmp_path: Path) -> None:
    theirs = referee(kind)
    theirs.save_pretrained(tmp_path / "weights")
    stored = load_file(tmp_path / "weights/model.safetensors")
    model, names = own_model(kind)
    assert kind == "dinov2" or names_of(stored) is names
    load(model, stored, names, where="random")
    read = Dinov2Config.from_json if kind == "dinov2" else ViTConfig.from_json
    config = read(theirs.config.to_dict())
    assert config == (replace(model.config, classes=2) if kind == "body" else model.config)
    for side in SIDES[kind]:
        images = normal(2, 3, side, side, seed=side)
        left, right = answer(model, images), answer(theirs, images)
        torch.testing.assert_close(left, right, atol=1e-5, rtol=1e-4)
    left.square().sum().backward()
    right.square().sum().backward()
    # The reference's gradients under their published names: saved as if they were weights.
    for parameter in theirs.parameters():
        parameter.data = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
    theirs.save_pretrained(tmp_path / "gradients")
    gradients = load_file(tmp_path / "gradients/model.safetensors")
    for name, parameter in model.named_parameters():
        hit = names.theirs(name)
        assert hit is not None
        expected = gradients[hit[0]]
        found = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        if name.endswith("key.bias"):  # softmax does not see it: both are rounding
            assert found.abs().max() < 1e-3
            continue
        assert (found - expected).abs().max() <= 1e-4 * expected.abs().max(), name


@pytest.mark.parametrize("kind", SIDES)
def test_our_weights_go_back_into_the_reference(kind: str, tmp_path: Path) -> None:
    model, names = own_model(kind)
    perturbed(model)
    theirs = referee(kind)
    theirs.config.save_pretrained(tmp_path)
    save_file(published_names(model, names), tmp_path / "model.safetensors", {"format": "pt"})
    theirs = type(theirs).from_pretrained(tmp_path).eval()
    images = normal(2, 3, SIDES[kind][0], SIDES[kind][0])
    torch.testing.assert_close(answer(model, images), answer(theirs, images), atol=1e-5, rtol=1e-4)


def test_the_card_s_parity_check(tmp_path: Path) -> None:
    """Width 64, two blocks, four heads, 1,000 classes, seed 0: at 224 and at 384 pixels."""
    torch.manual_seed(0)
    theirs = transformers.ViTForImageClassification(
        transformers.ViTConfig(
            hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
            num_labels=1000,
        )
    ).eval()  # fmt: skip
    theirs.save_pretrained(tmp_path)
    config = ViTConfig.from_json(theirs.config.to_dict())
    model = ViT(config).eval()
    load(model, load_file(tmp_path / "model.safetensors"), NAMES, where="random")
    with torch.inference_mode():
        for side in (224, 384):
            images = normal(1, 3, side, side)
            assert (model(images) - answer(theirs, images)).abs().max() <= 1e-5


def test_the_formulas_count_what_is_built() -> None:
    wanted = {
        VIT_B16: 86_567_656,
        replace(VIT_B16, classes=10): 85_806_346,
        SMALL_VIT: 2_721_226,
        replace(DINO_S8, classes=1): 21_670_657,
        DINOV2_SMALL: 22_056_576,
        SMALL_CNN: 2_330_954,
        CLASSIFIER: None,
        BODY: None,
        SELF_TAUGHT: None,
        SmallCNNConfig(width=3, classes=4, channels=2): None,
    }
    for config, count in wanted.items():
        made = {ViTConfig: ViT, Dinov2Config: Dinov2, SmallCNNConfig: SmallCNN}[type(config)]
        with torch.device("meta"):
            built = sum(each.numel() for each in made(config).parameters())
        assert built == config.parameters()
        assert count in (None, built)


def test_patches_are_those_of_unfold_and_go_back() -> None:
    images = normal(2, 3, 224, 224)
    flat = patchify(images, 16)
    assert torch.equal(flat, F.unfold(images, 16, stride=16).transpose(1, 2))
    assert torch.equal(unpatchify(flat, 16, (14, 14)), images)
    # Patch 50 stands in row 3 and column 8; its first channel comes first.
    assert torch.equal(flat[0, 50, :256].view(16, 16), images[0, 0, 48:64, 128:144])
    assert torch.equal(flat[0, 50, 512:].view(16, 16), images[0, 2, 48:64, 128:144])


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_a_matrix_is_the_convolution(patch: int, rows: int, columns: int, channels: int) -> None:
    images = normal(2, channels, rows * patch, columns * patch)
    embedding = PatchEmbedding(channels, patch, 7)
    torch.testing.assert_close(embedding(images), embedding.by_matrix(images), atol=1e-5, rtol=1e-5)
    back = unpatchify(patchify(images, patch), patch, (rows, columns))
    assert torch.equal(back, images)


def test_a_side_that_patches_do_not_fill_is_refused() -> None:
    with pytest.raises(ValueError, match="30 x 32 pixels"):
        patchify(normal(1, 3, 30, 32), 16)


def keys(old: int, new: int, a: float = -0.75) -> Tensor:
    """Weights of a bicubic interpolation, shape ``(new, old)``, for pixels with centres."""
    place = (torch.arange(new) + 0.5) * old / new - 0.5
    weights = torch.zeros(new, old, dtype=torch.float64)
    for row, at in enumerate(place.tolist()):
        for near in range(int(at // 1) - 1, int(at // 1) + 3):
            d = abs(at - near)
            inner = (a + 2) * d**3 - (a + 3) * d**2 + 1
            outer = a * (d**3 - 5 * d**2 + 8 * d - 4)
            weights[row, min(max(near, 0), old - 1)] += inner if d <= 1 else outer
    return weights


def test_stretching() -> None:
    positions = normal(1, 197, 6)
    assert stretch(positions, (14, 14)) is positions
    wider = stretch(positions, (24, 24))
    assert wider.shape == (1, 577, 6)
    assert torch.equal(wider[:, 0], positions[:, 0])
    # By hand: one matrix of Keys' kernel (1981) along each axis, borders repeated.
    image = positions[0, 1:].view(14, 14, 6).double()
    rows, columns = keys(14, 24), keys(14, 20)
    by_hand = torch.einsum("ai,bj,ijw->abw", rows, columns, image).reshape(480, 6)
    torch.testing.assert_close(
        stretch(positions, (24, 20))[0, 1:].double(), by_hand, atol=1e-5, rtol=0
    )
    with pytest.raises(ValueError, match="no square"):
        stretch(normal(1, 13, 4), (4, 4))


def trained_like(config: ViTConfig) -> ViT:
    model = perturbed(ViT(config))
    assert isinstance(model, ViT)
    return model


def test_written_out_attention_is_the_fused_one() -> None:
    model, images = trained_like(CLASSIFIER), normal(3, 3, 64, 64)
    kept: list[Tensor] = []
    with torch.inference_mode():
        torch.testing.assert_close(model(images, keep=kept), model(images), atol=1e-5, rtol=1e-5)
    assert [tuple(each.shape) for each in kept] == [(3, 4, 17, 17)] * 2
    for each in kept:
        torch.testing.assert_close(each.sum(-1), torch.ones(3, 4, 17), atol=1e-5, rtol=0)


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(16)))
def test_without_positions_order_does_not_count_and_with_them_it_does(order: list[int]) -> None:
    model, images = trained_like(CLASSIFIER), normal(2, 3, 64, 64)
    moved = torch.tensor(order)
    with torch.inference_mode():
        without = model(images, positions=False)
        same = model(images, positions=False, order=moved)
        torch.testing.assert_close(same, without, atol=1e-5, rtol=1e-5)
        if order != list(range(16)):
            assert (model(images, order=moved) - model(images)).abs().max() > 1e-3


def test_a_new_head() -> None:
    model = ViT(BODY)
    assert model(normal(2, 3, 24, 24)).shape == (2, 24)
    model.replace_head(10)
    assert model(normal(2, 3, 24, 24)).shape == (2, 10)


def test_small_vit_starts_without_class_token_and_positions() -> None:
    model = ViT(replace(SMALL_VIT, layers=1))
    assert not model.cls.any()
    assert not model.positions.any()


@pytest.mark.parametrize(
    ("read", "config", "message"),
    [
        (ViTConfig.from_json, {"hidden_act": "quick_gelu"}, "quick_gelu"),
        (ViTConfig.from_json, {"image_size": 8}, "patch_size"),
        (Dinov2Config.from_json, {"use_swiglu_ffn": True}, "SwiGLU"),
        (Dinov2Config.from_json, {"image_size": 8}, "patch_size"),
    ],
)
def test_another_architecture_is_refused(read: Any, config: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(config, where="here")
