"""Training throughput of the race's small ViT against the same model from transformers.

    PYTHONPATH=workflow python tests/benchmarks/bench_small_vit.py

Both have the same weights, with layer norms of the same eps, and make the same steps of AdamW
on the same batches of 64 tiles, in turn, one thread. Outputs must be equal, and the ratio of
the median processor times, theirs over ours, at least 1 within its spread.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import ViTConfig as LibraryConfig
from transformers import ViTForImageClassification

from remeasure.nn.checkpoints.loading import load, read_safetensors
from remeasure.nn.models.vit import NAMES, SMALL_VIT, ViT
from remeasure.studies.vit.subsets import Batch
from remeasure.studies.vit.training import loss

BATCH, REPEATS = 64, 15


def library() -> ViTForImageClassification:
    """The same sizes; positions and class token at their random start, so that they count."""
    torch.manual_seed(0)
    return ViTForImageClassification(
        LibraryConfig(
            image_size=SMALL_VIT.image,
            patch_size=SMALL_VIT.patch,
            hidden_size=SMALL_VIT.width,
            num_hidden_layers=SMALL_VIT.layers,
            num_attention_heads=SMALL_VIT.heads,
            intermediate_size=SMALL_VIT.hidden,
            layer_norm_eps=SMALL_VIT.eps,
            num_labels=SMALL_VIT.classes,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            attn_implementation="sdpa",
        )
    )


def library_loss(model: nn.Module, batch: Batch) -> Tensor:
    return F.cross_entropy(model(batch.tiles).logits, batch.labels)


def main() -> int:
    torch.set_num_threads(1)
    theirs, ours = library(), ViT(SMALL_VIT)
    # Published files have other names than this version of transformers in memory.
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        tensors = read_safetensors([Path(folder) / "model.safetensors"])
    load(ours, tensors, NAMES, where="the library's small ViT")
    generator = torch.Generator().manual_seed(1)
    batch = Batch(
        torch.randn(BATCH, 3, SMALL_VIT.image, SMALL_VIT.image, generator=generator),
        torch.randint(SMALL_VIT.classes, (BATCH,), generator=generator),
    )
    with torch.inference_mode():
        apart = float((ours(batch.tiles) - theirs(batch.tiles).logits).abs().max())
    sides = [(ours.train(), loss), (theirs.train(), library_loss)]
    optimizers = [
        torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05, fused=True)
        for model, _ in sides
    ]
    spent, losses = np.zeros((2, REPEATS + 1)), np.zeros((2, REPEATS + 1))
    for repeat in range(REPEATS + 1):
        # Who goes first changes from step to step: a slow moment hits both alike.
        for side in (0, 1) if repeat % 2 else (1, 0):
            (model, of), optimizer = sides[side], optimizers[side]
            began = time.process_time()
            value = of(model, batch)
            value.backward()
            optimizer.step()
            optimizer.zero_grad()
            spent[side, repeat] = time.process_time() - began
            losses[side, repeat] = float(value.detach())
    own, other = np.median(spent[:, 1:], axis=1)  # the first step allocates
    ratios = np.sort(spent[1, 1:] / spent[0, 1:])
    low, high = ratios[[3, REPEATS - 4]]  # 96% interval of a median of 15: order statistics 4, 12
    drift = float(np.abs(losses[0] / losses[1] - 1).max())
    print(f"outputs differ by {apart:.1e}, losses of {REPEATS + 1} steps by {drift:.1e}")
    print(f"ours {own:.3f} s a step ({BATCH / own:,.0f} tiles a second), theirs {other:.3f} s")
    print(f"ratio {np.median(ratios):.3f} [{low:.3f}, {high:.3f}]")
    return 0 if high >= 1.0 and apart < 1e-5 and drift < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
