"""A tiny checkpoint of Chronos-2 with random weights, in the layout of the published one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from remeasure.fetch.manifest import Manifest, RawFile, digest
from remeasure.nn.checkpoints.loading import published_names
from remeasure.nn.models.chronos2 import NAMES, QUANTILES, Chronos2, Config

FOLDER = "huggingface.co/amazon/chronos-2/resolve/main"

PUBLISHED: dict[str, Any] = {
    "architectures": ["Chronos2Model"],
    "d_model": 16,
    "d_kv": 8,
    "d_ff": 24,
    "num_layers": 2,
    "num_heads": 2,
    "feed_forward_proj": "relu",
    "layer_norm_epsilon": 1e-6,
    "rope_theta": 10_000.0,
    "vocab_size": 2,
    "chronos_config": {
        "context_length": 1024,
        "input_patch_size": 16,
        "input_patch_stride": 16,
        "output_patch_size": 16,
        "max_output_patches": 4,
        "quantiles": list(QUANTILES),
        "time_encoding_scale": 1024,
        "use_arcsinh": True,
        "use_reg_token": True,
    },
}


def write_checkpoint(folder: Path, config: dict[str, Any] | None = None, seed: int = 0) -> Path:
    """Write ``config.json``, ``model.safetensors`` and their manifest; returns the manifest."""
    published = PUBLISHED if config is None else config
    torch.manual_seed(seed)
    model = Chronos2(Config.of(published))
    raw = folder / FOLDER
    raw.mkdir(parents=True)
    (raw / "config.json").write_text(json.dumps(published), "utf-8")
    save_file(published_names(model, NAMES), raw / "model.safetensors")
    files = [RawFile(f"{FOLDER}/{path.name}", *digest(path)) for path in sorted(raw.iterdir())]
    manifest = folder / "checkpoint.manifest.json"
    Manifest.of("chronos-2", "files", folder, files).write(manifest)
    return manifest
