"""A linear map of frozen features: nothing of the network is trained.

DINOv2's feature of a tile is the class token's last state beside the mean of its patches'.
Features are taken once, of tiles that are not augmented, standardised by mean and deviation of
the subset, and mapped to classes by AdamW on the full batch at a constant rate.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.model import Model
from remeasure.nn.checkpoints.loading import load
from remeasure.nn.checkpoints.stored import read_stored
from remeasure.nn.device import device_of
from remeasure.nn.models.dinov2 import NAMES, Dinov2, Dinov2Config
from remeasure.nn.train.loop import Plan, train
from remeasure.nn.train.schedules import constant
from remeasure.store.frames import write_frame
from remeasure.studies.vit.features import FrozenStep, write_features
from remeasure.studies.vit.photos import IMAGENET
from remeasure.studies.vit.runs import GUESSES, RUNS
from remeasure.studies.vit.settings import ProbeSettings
from remeasure.studies.vit.subsets import normalise, subset

#: Side to which tiles are brought.
SIDE = 224
#: Added to deviations, so that a constant feature stays finite.
LEAST = 1e-6


class FeaturesStep(FrozenStep):
    """Settings of `take_features`."""

    side: int = SIDE


class ProbeStep(Model):
    """Settings of `train_probe`."""

    budgets: tuple[int, ...]
    seeds: int
    probe: ProbeSettings


def take_features(*, tiles: Path, checkpoint: Path, features: Path, settings: FeaturesStep) -> None:
    """Step: features of every tile that the race uses.

    Parameters
    ----------
    tiles
        As ``tiles.read_tiles`` writes them.
    checkpoint
        Manifest of DINOv2's weights.
    features
        Output, safetensors: see ``features.write_features``; ``(n, 2 width)`` numbers a split.

    Raises
    ------
    DataError, SourceError
        When the checkpoint is none of DINOv2, or not the one that the manifest names.
    """
    torch.set_num_threads(settings.threads)
    device = device_of(settings.device)
    model = read_dinov2(checkpoint).to(device)
    write_features(
        tiles,
        features,
        settings,
        device=device,
        take=lambda part: model.features(normalise(part, settings.side, IMAGENET)),
    )


def read_dinov2(checkpoint: Path) -> Dinov2:
    """DINOv2 of a manifest, ready to be read from."""
    stored = read_stored(checkpoint)
    model = Dinov2(Dinov2Config.from_json(stored.config, where=stored.where))
    load(model, stored.tensors, NAMES, where=stored.where)
    return model.eval()


def standardised(features: Tensor, like: Tensor) -> Tensor:
    """``features`` by the mean and the (unbiased) deviation of ``like``, column by column."""
    return (features - like.mean(0)) / (like.std(0) + LEAST)


def train_probe(
    *,
    features: Path,
    runs: Path,
    guesses: Path,
    learner: str,
    settings: ProbeStep,
    rng: np.random.Generator,
) -> None:
    """Step: a linear map for every budget and seed.

    Parameters
    ----------
    features
        As ``features.write_features`` writes them.
    runs, guesses
        Outputs, Parquet: see ``runs.RUNS`` and ``runs.GUESSES``.
    learner
        Whose features these are: ``probe`` (DINOv2) or ``shipped`` (out of a package).
    """
    stored = load_file(features)
    base = int(rng.integers(2**31))
    told, given = [], []
    for budget in settings.budgets:
        rows = torch.from_numpy(subset(stored["train_label"].numpy(), budget))
        taught, labels = stored["train"][rows], stored["train_label"][rows]
        asked = standardised(stored["test"], taught)
        for seed in range(settings.seeds):
            model, last = fitted(
                standardised(taught, taught), labels, settings.probe, [base, budget, seed]
            )
            with torch.inference_mode():
                found = model(asked).argmax(-1)
            told.append(
                {
                    "learner": learner,
                    "budget": budget,
                    "seed": seed,
                    "tiles": len(labels),
                    "steps": settings.probe.steps,
                    "parameters": sum(each.numel() for each in model.parameters()),
                    "loss": last,
                    "correct": int((found == stored["test_label"]).sum()),
                    "tested": len(found),
                }
            )
            given.append(
                pl.DataFrame({"tile": stored["test_row"].numpy(), "guess": found.numpy()}).select(
                    pl.lit(learner).alias("learner"),
                    pl.lit(budget, pl.Int64).alias("budget"),
                    pl.lit(seed, pl.Int64).alias("seed"),
                    pl.all(),
                )
            )
    write_frame(pl.DataFrame(told), runs, RUNS)
    write_frame(pl.concat(given), guesses, GUESSES)


def fitted(
    features: Tensor, labels: Tensor, settings: ProbeSettings, seed: list[int]
) -> tuple[nn.Linear, float]:
    """A linear classifier of standardised features, and its last loss."""
    number = int(np.random.SeedSequence(seed).generate_state(1)[0])
    torch.manual_seed(number)
    model = nn.Linear(features.shape[1], int(labels.max()) + 1)
    table = train(
        model,
        lambda net, batch: F.cross_entropy(net(batch[0]), batch[1]),
        lambda _: (features, labels),
        plan=Plan(steps=settings.steps, weight_decay=settings.decay, seed=number),
        schedule=constant(settings.rate),
    )
    return model, float(table["loss"].tail(1).item())
