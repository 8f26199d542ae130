"""Small checkpoints of Kronos whose weights follow from their names, in the raw layout."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from remeasure.fetch.manifest import Manifest, RawFile, digest
from remeasure.nn.checkpoints.loading import Names, load, published_names
from remeasure.nn.models.kronos import KRONOS_NAMES, Kronos, KronosConfig
from remeasure.nn.models.kronos_tokenizer import TOKENIZER_NAMES, KronosTokenizer, TokenizerConfig

# Threads that wait for each other cost more than these networks do.
torch.set_num_threads(1)

#: What the published ``config.json`` files hold, with the keys that only training needs.
TRAINING = {"ffn_dropout_p": 0.25, "attn_dropout_p": 0.1, "resid_dropout_p": 0.25}
LOSSES = {"beta": 0.05, "gamma0": 1.0, "gamma": 1.1, "zeta": 0.05}
TOKENIZER: dict[str, Any] = {
    "d_in": 6, "d_model": 32, "n_heads": 4, "ff_dim": 48, "n_enc_layers": 3, "n_dec_layers": 4,
    "s1_bits": 5, "s2_bits": 5, "group_size": 5, **TRAINING, **LOSSES,
}  # fmt: skip
MODEL: dict[str, Any] = {
    "s1_bits": 5, "s2_bits": 5, "n_layers": 3, "d_model": 48, "n_heads": 2, "ff_dim": 40,
    "learn_te": True, "token_dropout_p": 0.1, **TRAINING,
}  # fmt: skip


def uniform(name: str, count: int) -> np.ndarray:
    """Numbers in [-1, 1) that follow from a name: SHA-256 of it seeds PCG64's raw output."""
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    return np.random.PCG64(seed).random_raw(count) / 2.0**63 - 1.0


def weights(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    """Weights of a checkpoint by published name and shape.

    ``u`` being `uniform` of the name: maps and embeddings are ``u sqrt(3 / last axis)``,
    norms ``1 + 0.3 u``, biases ``0.3 u``; float32.
    """
    out = {}
    for name, shape in shapes.items():
        u = uniform(name, int(np.prod(shape))).reshape(shape)
        if name.endswith("bias"):
            u = 0.3 * u
        elif len(shape) == 1:
            u = 1 + 0.3 * u
        else:
            u = u * np.sqrt(3 / shape[-1])
        out[name] = torch.from_numpy(u.astype(np.float32))
    return out


def filled(model: nn.Module, names: Names) -> dict[str, Tensor]:
    """Give a model the weights of its published names; returns them."""
    tensors = weights({name: tuple(t.shape) for name, t in published_names(model, names).items()})
    load(model, tensors, names, where="formula")
    return tensors


def tokenizer_of(config: Mapping[str, Any] = TOKENIZER) -> KronosTokenizer:
    """A tokenizer with the weights of the formula."""
    model = KronosTokenizer(TokenizerConfig.of(config)).eval()
    filled(model, TOKENIZER_NAMES)
    return model


def network_of(config: Mapping[str, Any] = MODEL) -> Kronos:
    """A network with the weights of the formula."""
    model = Kronos(KronosConfig.of(config)).eval()
    filled(model, KRONOS_NAMES)
    return model


def market(windows: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Candles by the formula, and their hours across the end of a month.

    Returns
    -------
    tuple
        Float32 ``(windows, length, 6)`` and datetime64[m] ``(windows, length)``.
    """
    u = uniform("candles", windows * length * 6).reshape(windows, length, 6)
    close = 100 * np.exp(np.cumsum(0.02 * u[..., 0], axis=1))
    opened = np.concatenate((np.full((windows, 1), 100.0), close[:, :-1]), axis=1)
    high = np.maximum(opened, close) * (1 + 0.01 * np.abs(u[..., 1]))
    low = np.minimum(opened, close) * (1 - 0.01 * np.abs(u[..., 2]))
    volume = 50 * np.exp(u[..., 3])
    amount = volume * (opened + close) / 2
    candles = np.stack((opened, high, low, close, volume, amount), axis=-1).astype(np.float32)
    start = np.datetime64("2026-02-27T20:00", "m") + 5 * np.arange(windows)[:, None]
    return candles, start + 60 * np.arange(length)


def stored(folder: Path, repository: str, config: Mapping[str, Any], model: nn.Module, names: Names,
           extra: Mapping[str, Tensor] | None = None) -> Path:  # fmt: skip
    """A checkpoint in the raw layout and its manifest, whose path is returned."""
    place = f"huggingface.co/{repository}/resolve/main"
    (folder / place).mkdir(parents=True)
    (folder / place / "config.json").write_text(json.dumps(dict(config)))
    save_file(
        published_names(model, names) | dict(extra or {}), folder / place / "model.safetensors"
    )
    files = []
    for name in ("config.json", "model.safetensors"):
        size, sha256 = digest(folder / place / name)
        files.append(RawFile(f"{place}/{name}", size, sha256))
    path = folder / f"{repository.rpartition('/')[2]}.manifest.json"
    Manifest.of(path.name.removesuffix(".manifest.json"), "mirror", folder, files).write(path)
    return path
