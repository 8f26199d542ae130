"""Tiny checkpoints of the vision models in their published layout, tiles and photographs."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import nn

from remeasure.fetch.manifest import Manifest, RawFile, digest
from remeasure.nn.checkpoints.loading import Names, published_names
from remeasure.nn.models import dinov2
from remeasure.nn.models.dinov2 import Dinov2, Dinov2Config
from remeasure.nn.models.efficientnet_lite import LITE0, EfficientNetLite, published_state
from remeasure.nn.models.vit import BODY_NAMES, NAMES, ViT, ViTConfig
from remeasure.studies.vit.photos import PHOTOS
from remeasure.studies.vit.tiles import EUROSAT

LABELS = ("brown bear, bruin", "space shuttle", "volcano", "killer whale, orca", "hummingbird")


def _config(image: int, patch: int, classes: int = 0) -> dict[str, Any]:
    config: dict[str, Any] = {
        "image_size": image,
        "patch_size": patch,
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "intermediate_size": 48,
        "layer_norm_eps": 1e-12,
        "hidden_act": "gelu",
    }
    if classes:
        config["id2label"] = {str(n): LABELS[n % len(LABELS)] for n in range(classes)}
    return config


def _store(folder: Path, name: str, model: nn.Module, names: Names, config: dict[str, Any],
           extra: dict[str, torch.Tensor] | None = None) -> Path:  # fmt: skip
    raw = folder / name
    raw.mkdir(parents=True)
    (raw / "config.json").write_text(json.dumps(config), "utf-8")
    save_file(published_names(model, names) | (extra or {}), raw / "model.safetensors")
    files = [RawFile(f"{name}/{p.name}", *digest(p)) for p in sorted(raw.iterdir())]
    manifest = folder / f"{name}.manifest.json"
    Manifest.of(f"vit_{name}", "files", folder, files).write(manifest)
    return manifest


def _perturbed(model: nn.Module, seed: int = 0) -> nn.Module:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model


def vit_checkpoint(folder: Path, *, image: int = 56, patch: int = 8, classes: int = 5) -> Path:
    """A classifier, as ``google/vit-base-patch16-224`` is stored; returns its manifest."""
    config = _config(image, patch, classes)
    model = _perturbed(ViT(ViTConfig.from_json(config)))
    return _store(folder, "vit", model, NAMES, config)


def body_checkpoint(folder: Path, *, name: str = "body", image: int = 16, patch: int = 4) -> Path:
    """A body and its pooler without a classifier, as DINO and the ImageNet-21k weights are."""
    config = _config(image, patch)
    model = _perturbed(ViT(ViTConfig.from_json(config)))
    pooler = {"pooler.dense.weight": torch.zeros(24, 24), "pooler.dense.bias": torch.zeros(24)}
    return _store(folder, name, model, BODY_NAMES, config, pooler)


def dinov2_checkpoint(folder: Path) -> Path:
    """DINOv2, as ``facebook/dinov2-small`` is stored."""
    config = _config(42, 14) | {"mlp_ratio": 2, "layer_norm_eps": 1e-6, "use_swiglu_ffn": False}
    model = _perturbed(Dinov2(Dinov2Config.from_json(config)))
    return _store(folder, "dinov2", model, dinov2.NAMES, config)


def backbone_file(folder: Path) -> Path:
    """Random weights of EfficientNet-Lite0 as its package stores them; returns their manifest."""
    raw = folder / "backbone"
    raw.mkdir(parents=True)
    torch.manual_seed(5)
    torch.save(published_state(EfficientNetLite(LITE0)), raw / "lite0.pth")
    manifest = folder / "backbone.manifest.json"
    files = [RawFile("backbone/lite0.pth", *digest(raw / "lite0.pth"))]
    Manifest.of("vit_backbone", "package", folder, files).write(manifest)
    return manifest


def picture(seed: int, width: int = 40, height: int = 30, kind: str = "PNG") -> bytes:
    """An image of random blocks."""
    rng = np.random.default_rng(seed)
    blocks = rng.integers(0, 256, (height // 5, width // 5, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(np.repeat(np.repeat(blocks, 5, 0), 5, 1)).save(stream, kind)
    return stream.getvalue()


def photo_folder(folder: Path) -> Path:
    """The article's five names, other pictures; returns their manifest."""
    raw = folder / "photos"
    raw.mkdir(parents=True)
    for place, name in enumerate(PHOTOS):
        (raw / f"{name}.jpg").write_bytes(picture(place, kind="JPEG"))
    files = [RawFile(f"photos/{p.name}", *digest(p)) for p in sorted(raw.iterdir())]
    manifest = folder / "photos.manifest.json"
    Manifest.of("vit_photos", "files", folder, files).write(manifest)
    return manifest


def tile_tables(folder: Path, *, train: int = 30, test: int = 20, side: int = 20) -> Path:
    """Two tables as the published data set has them, classes mixed; returns their manifest."""
    raw = folder / "data"
    raw.mkdir(parents=True)
    for split, count in (("train", train), ("test", test)):
        labels = [n % len(EUROSAT) for n in range(count)]
        pl.DataFrame(
            {
                "image": [
                    {"bytes": picture(100 * label + n, side, side), "path": None}
                    for n, label in enumerate(labels)
                ],
                "label": labels,
                "image_id": [f"{EUROSAT[label]}_{n}" for n, label in enumerate(labels)],
            }
        ).write_parquet(raw / f"{split}-00000-of-00001.parquet")
    files = [RawFile(f"data/{p.name}", *digest(p)) for p in sorted(raw.iterdir())]
    manifest = folder / "tiles.manifest.json"
    Manifest.of("vit_tiles", "files", folder, files).write(manifest)
    return manifest
