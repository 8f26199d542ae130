"""Training throughput of the chess GPT against the same model from transformers.

    PYTHONPATH=workflow python tests/benchmarks/bench_chess_gpt.py

Both make the same steps of AdamW on the same batches, in turn, one thread; the ratio of the
median processor times is ours over theirs, in characters a second of one core, and must be
at least 1.
"""

from __future__ import annotations

import statistics
import sys
import time

import torch
from torch import Tensor, nn
from transformers import GPT2Config as LibraryConfig
from transformers import GPT2LMHeadModel

from remeasure.nn.models.gpt2 import GPT2, GPT2Config, initialise
from remeasure.studies.gpt.training import next_character_loss

LAYERS, WIDTH, HEADS, CONTEXT, BATCH = 4, 128, 4, 256, 16
REPEATS = 9


def library_loss(model: nn.Module, batch: Tensor) -> Tensor:
    scores = model(batch[:, :-1], use_cache=False).logits.float()
    return nn.functional.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten())


def main() -> int:
    torch.set_num_threads(1)
    ours = GPT2(GPT2Config(vocabulary=32, context=CONTEXT, width=WIDTH, layers=LAYERS, heads=HEADS))
    initialise(ours, 42)
    theirs = GPT2LMHeadModel(
        LibraryConfig(
            vocab_size=32,
            n_positions=CONTEXT,
            n_embd=WIDTH,
            n_layer=LAYERS,
            n_head=HEADS,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
    ).train()
    batch = torch.randint(32, (BATCH, CONTEXT + 1), generator=torch.Generator().manual_seed(1))
    sides = [(ours, next_character_loss), (theirs, library_loss)]
    optimizers = [torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True) for model, _ in sides]
    spent: list[list[float]] = [[], []]
    for repeat in range(REPEATS + 1):
        for side, ((model, loss), optimizer) in enumerate(zip(sides, optimizers, strict=True)):
            began = time.process_time()
            loss(model, batch).backward()
            optimizer.step()
            optimizer.zero_grad()
            if repeat:
                spent[side].append(time.process_time() - began)
    own, other = (statistics.median(each) for each in spent)
    rate = BATCH * CONTEXT / own
    print(f"ours {own:.3f} s a step ({rate:,.0f} characters a second), theirs {other:.3f} s")
    print(f"ratio {other / own:.3f}")
    return 0 if other / own >= 1.0 else 1


if __name__ == "__main__":
    sys.exit(main())
