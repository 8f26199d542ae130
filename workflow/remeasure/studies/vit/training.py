"""The learners whose weights are trained: two small nets from scratch, and a pretrained ViT.

Each learner is trained afresh for every budget and seed, with AdamW (weight decay 0.05 on all
parameters) along one cosine cycle that moves the first beta too, and its last weights are
scored: no validation, no early stopping. A training that is killed goes on from its checkpoint
below ``data/training``; one that ends deletes it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.fetch.manifest import digest
from remeasure.model import Model
from remeasure.nn.checkpoints.loading import load
from remeasure.nn.checkpoints.stored import read_stored
from remeasure.nn.device import device_of
from remeasure.nn.models.small_cnn import SmallCNN, SmallCNNConfig
from remeasure.nn.models.vit import ViT, ViTConfig, names_of
from remeasure.nn.train.loop import Plan, train
from remeasure.nn.train.schedules import one_cycle
from remeasure.store.frames import write_frame
from remeasure.studies.vit.photos import HALVES, IMAGENET, Scale
from remeasure.studies.vit.runs import GUESSES, LEARNERS, RUNS
from remeasure.studies.vit.settings import Device, Length, SmallSettings, TunedSettings
from remeasure.studies.vit.subsets import Batch, batches, normalise, subset
from remeasure.studies.vit.tiles import TEST, TRAIN, load_split

log = logging.getLogger(__name__)

DECAY, WARM = 0.05, 0.1
#: Tiles in one pass of an evaluation.
EVALUATED = 256


class RaceStep(Model):
    """What every learner is told: see `RaceSettings`; ``work`` holds checkpoints of trainings."""

    budgets: tuple[int, ...]
    seeds: int
    test_per_class: int | None
    device: Device
    threads: int
    save_every: int
    work: str = "data/training"


class SmallStep(RaceStep):
    """Settings of `train_small`."""

    small: SmallSettings


class TunedStep(RaceStep):
    """Settings of `fine_tune`."""

    tuned: TunedSettings


@dataclass(frozen=True)
class Recipe:
    """A learner: its name, what it reads, and how long it is trained at which largest rate."""

    learner: str
    build: Callable[[], nn.Module]
    side: int
    scale: Scale
    rate: float
    length: Length


def small_vit(settings: SmallSettings, classes: int) -> ViTConfig:
    """Sizes of the small ViT."""
    return ViTConfig(
        image=settings.side,
        patch=settings.patch,
        width=settings.width,
        layers=settings.layers,
        heads=settings.heads,
        hidden=4 * settings.width,
        classes=classes,
    )


def small_cnn(settings: SmallSettings, classes: int) -> SmallCNNConfig:
    """Sizes of the small CNN."""
    return SmallCNNConfig(width=settings.cnn_width, classes=classes)


def train_small(
    *,
    tiles: Path,
    runs: Path,
    guesses: Path,
    weights: Path,
    learner: str,
    settings: SmallStep,
    rng: np.random.Generator,
) -> None:
    """Step: train one of the small nets.

    Parameters
    ----------
    tiles
        As ``tiles.read_tiles`` writes them.
    runs, guesses
        Outputs, Parquet: see ``runs.RUNS`` and ``runs.GUESSES``.
    weights
        Output, safetensors: of the largest budget and the first seed.
    learner
        ``vit`` or ``cnn``.
    """
    own = settings.small
    classes = int(load_split(tiles, TRAIN).labels.max()) + 1
    if learner == "vit":
        build: Callable[[], nn.Module] = lambda: ViT(small_vit(own, classes))  # noqa: E731
    else:
        build = lambda: SmallCNN(small_cnn(own, classes))  # noqa: E731
    rate = own.vit_rate if learner == "vit" else own.cnn_rate
    recipe = Recipe(learner, build, own.side, IMAGENET, rate, own.length)
    _race(recipe, tiles, runs, guesses, weights, settings, rng)


def fine_tune(
    *,
    tiles: Path,
    checkpoint: Path,
    runs: Path,
    guesses: Path,
    weights: Path,
    settings: TunedStep,
    rng: np.random.Generator,
) -> None:
    """Step: train every weight of a pretrained ViT, and a new classifier.

    Parameters
    ----------
    tiles, runs, guesses, weights
        As in `train_small`.
    checkpoint
        Manifest of the pretrained weights; a classifier among them is not used.

    Raises
    ------
    DataError, SourceError
        When the checkpoint is not of a ViT, or not the one that the manifest names.
    """
    body = read_body(checkpoint)
    classes = int(load_split(tiles, TRAIN).labels.max()) + 1
    start = {name: tensor.clone() for name, tensor in body.state_dict().items()}

    def build() -> nn.Module:
        model = ViT(body.config)
        model.load_state_dict(start)
        model.replace_head(classes)
        return model

    own = settings.tuned
    recipe = Recipe("tuned", build, body.config.image, HALVES, own.rate, own.length)
    _race(recipe, tiles, runs, guesses, weights, settings, rng)


def read_body(checkpoint: Path) -> ViT:
    """A published ViT without its classifier."""
    stored = read_stored(checkpoint)
    config = replace(ViTConfig.from_json(stored.config, where=stored.where), classes=0)
    model = ViT(config)
    tensors = {n: t for n, t in stored.tensors.items() if not n.startswith("classifier.")}
    load(model, tensors, names_of(tensors), where=stored.where)
    return model


def loss(model: nn.Module, batch: Batch) -> Tensor:
    """Cross-entropy of a batch, a scalar."""
    return F.cross_entropy(model(batch.tiles), batch.labels)


def guessed(model: nn.Module, tiles: Tensor, recipe: Recipe, device: torch.device) -> Tensor:
    """The most likely class of each tile, shape ``(n,)``, on the CPU."""
    model.eval()
    half = device.type == "cuda"
    with torch.inference_mode(), torch.autocast(device.type, torch.float16, enabled=half):
        parts = [
            model(normalise(part.to(device), recipe.side, recipe.scale)).argmax(-1).cpu()
            for part in torch.split(tiles, EVALUATED)
        ]
    return torch.cat(parts)


def _race(
    recipe: Recipe,
    tiles: Path,
    runs: Path,
    guesses: Path,
    weights: Path,
    settings: RaceStep,
    rng: np.random.Generator,
) -> None:
    """Every budget and seed of one learner."""
    torch.set_num_threads(settings.threads)
    device = device_of(settings.device)
    taught, tested = load_split(tiles, TRAIN), load_split(tiles, TEST)
    scored = (
        np.arange(tested.labels.size)
        if settings.test_per_class is None
        else subset(tested.labels, settings.test_per_class)
    )
    rows = torch.from_numpy(scored)
    questions, answers = (
        torch.from_numpy(tested.pixels)[rows],
        torch.from_numpy(tested.labels)[rows],
    )
    base = int(rng.integers(2**31))
    told, given = [], []
    for budget in settings.budgets:
        chosen = torch.from_numpy(subset(taught.labels, budget))
        own = Batch(
            torch.from_numpy(taught.pixels)[chosen].to(device),
            torch.from_numpy(taught.labels)[chosen].to(device),
        )
        for seed in range(settings.seeds):
            began = time.perf_counter()
            saved = _checkpoint(settings, recipe, tiles, base, budget, seed)
            model, last = _trained(recipe, own, settings, device, [base, budget, seed], saved)
            found = guessed(model, questions, recipe, device)
            correct = int((found == answers).sum())
            named = f"{LEARNERS[recipe.learner]}, {budget} labels a class, seed {seed}"
            log.info(
                "%s: %d of %d right after %.1f s",
                named, correct, len(answers), time.perf_counter() - began,
            )  # fmt: skip
            told.append(
                {
                    "learner": recipe.learner,
                    "budget": budget,
                    "seed": seed,
                    "tiles": len(own.labels),
                    "steps": recipe.length.steps(len(own.labels)),
                    "parameters": sum(each.numel() for each in model.parameters()),
                    "loss": last,
                    "correct": correct,
                    "tested": len(answers),
                }
            )
            given.append(
                pl.DataFrame({"tile": scored, "guess": found.numpy()}).select(
                    pl.lit(recipe.learner).alias("learner"),
                    pl.lit(budget, pl.Int64).alias("budget"),
                    pl.lit(seed, pl.Int64).alias("seed"),
                    pl.all(),
                )
            )
            if budget == settings.budgets[-1] and seed == 0:
                state = {name: each.cpu().contiguous() for name, each in model.state_dict().items()}
                save_file(state, weights)
            if saved is not None:
                saved.unlink(missing_ok=True)
    write_frame(pl.DataFrame(told), runs, RUNS)
    write_frame(pl.concat(given), guesses, GUESSES)


def _trained(
    recipe: Recipe,
    own: Batch,
    settings: RaceStep,
    device: torch.device,
    seed: list[int],
    saved: Path | None,
) -> tuple[nn.Module, float]:
    """A trained model and its last loss, from a start that the seed alone decides."""
    number = int(np.random.SeedSequence(seed).generate_state(1)[0])
    torch.manual_seed(number)
    model = recipe.build()
    steps = recipe.length.steps(len(own.labels))
    table = train(
        model,
        loss,
        batches(
            own.tiles,
            own.labels,
            size=recipe.length.batch,
            side=recipe.side,
            scale=recipe.scale,
            seed=seed,
        ),
        plan=Plan(steps=steps, weight_decay=DECAY, save_every=settings.save_every, seed=number),
        schedule=one_cycle(recipe.rate, steps, warm=WARM),
        device=device,
        checkpoint=saved,
        progress=LEARNERS[recipe.learner],
    )
    return model, float(table["loss"].tail(1).item())


def _checkpoint(
    settings: RaceStep, recipe: Recipe, tiles: Path, base: int, budget: int, seed: int
) -> Path | None:
    """Where a training keeps its state: a name that no other settings or tiles share."""
    if settings.save_every == 0:
        return None
    told = [
        settings.model_dump(mode="json", exclude={"budgets", "seeds", "threads", "device"}),
        digest(tiles)[1],
        recipe.learner,
        base,
        budget,
        seed,
    ]
    name = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:24]
    return Path(settings.work, f"vit-{recipe.learner}-{name}.pt")
