"""A Vision Transformer opened: what it sees, how it looks, what the order of patches means to it.

The published ViT-B/16 is opened on photographs, DINO too. A run without these weights opens the
small ViT that it trained itself, on the first test tile of each of five classes: the same
functions, another model, and its numbers answer no published row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

from remeasure.errors import DataError
from remeasure.model import Model
from remeasure.nn.checkpoints.loading import load
from remeasure.nn.checkpoints.stored import Stored, read_stored
from remeasure.nn.models.vit import ViT, ViTConfig, names_of
from remeasure.store.frames import read_json, write_json
from remeasure.studies.vit.library import logit_difference
from remeasure.studies.vit.maps import (
    answers,
    class_maps,
    directions,
    distances,
    mean_distance,
    permutation,
    rollout,
    similarity,
)
from remeasure.studies.vit.photos import (
    HALVES,
    IMAGENET,
    Scale,
    normalised,
    read_photos,
)
from remeasure.studies.vit.picture import DIMENSIONS, LARGER
from remeasure.studies.vit.runs import LEARNERS
from remeasure.studies.vit.settings import SmallSettings
from remeasure.studies.vit.tiles import TEST, load_split
from remeasure.studies.vit.training import small_vit

Bytes = NDArray[np.uint8]

#: Images that a trained model is opened on: one a class.
OPENED = 5
TOP = 5
ORDERS = ("in order", "shuffled")
POSITIONS = ("learned", "removed")


@dataclass(frozen=True)
class Subject:
    """What is opened.

    Attributes
    ----------
    model, label
        The network, and what it is called.
    classes
        Names by label; text before the first comma.
    names, images
        Of the images: names, and pixels of shape ``(n, height, width, 3)`` for each side.
    scale
        How images are normalised.
    sides
        The native side, and the larger one.
    published
        Whether its answers are those of the published model.
    """

    model: ViT
    label: str
    classes: list[str]
    names: list[str]
    images: dict[int, Bytes]
    scale: Scale
    sides: tuple[int, int]
    published: bool


class OpenTrainedStep(Model):
    """Settings of `open_trained`: the sizes of the small ViT."""

    small: SmallSettings


def open_published(*, photos: Path, checkpoint: Path, opened: Path, summary: Path) -> None:
    """Step: open the published ViT-B/16 on photographs.

    Parameters
    ----------
    photos, checkpoint
        Manifests.
    opened, summary
        Outputs: see `open_model`.

    Raises
    ------
    DataError, SourceError
        When the checkpoint is not of a ViT with a classifier, or a file not the one named.
    """
    stored = read_stored(checkpoint)
    model = read_vit(stored)
    found = read_photos(photos)
    native = model.config.image
    larger = LARGER * native // 224
    subject = Subject(
        model=model,
        label=f"ViT-B/16 ({parameters(model):,} parameters)",
        classes=class_names(stored.config, model.config.classes),
        names=[photo.name for photo in found],
        images={side: np.stack([p.resized(side) for p in found]) for side in (native, larger)},
        scale=HALVES,
        sides=(native, larger),
        published=True,
    )
    told = open_model(subject, opened)
    images = _ready(subject.images[native], HALVES)
    told["parity"] = logit_difference(stored.config, stored.tensors, model, images)
    write_json(told, summary)


def open_trained(
    *,
    tiles: Path,
    tiles_summary: Path,
    weights: Path,
    opened: Path,
    summary: Path,
    settings: OpenTrainedStep,
) -> None:
    """Step: open the small ViT of this run on tiles.

    Parameters
    ----------
    tiles, tiles_summary
        As ``tiles.read_tiles`` writes them.
    weights
        As ``training.train_small`` writes them for ``vit``.
    opened, summary
        Outputs: see `open_model`.
    """
    classes = read_json(tiles_summary)["classes"]
    model = ViT(small_vit(settings.small, len(classes))).eval()
    model.load_state_dict(load_file(weights))
    split = load_split(tiles, TEST)
    rows = [int(np.flatnonzero(split.labels == label)[0]) for label in range(OPENED)]
    pixels = torch.from_numpy(split.pixels[rows])
    side = settings.small.side
    sides = (side, 2 * side)
    subject = Subject(
        model=model,
        label=f"{LEARNERS['vit']} of this run ({parameters(model):,} parameters)",
        classes=classes,
        names=[classes[label] for label in range(OPENED)],
        images={each: _resized(pixels, each) for each in sides},
        scale=IMAGENET,
        sides=sides,
        published=False,
    )
    write_json(open_model(subject, opened), summary)


def _resized(pixels: Tensor, side: int) -> Bytes:
    scaled = torch.nn.functional.interpolate(
        pixels.float(), size=(side, side), mode="bilinear", align_corners=False
    )
    whole: Bytes = scaled.round().clamp(0, 255).byte().permute(0, 2, 3, 1).contiguous().numpy()
    return whole


def parameters(model: torch.nn.Module) -> int:
    """Numbers that are learned."""
    return sum(each.numel() for each in model.parameters())


def read_vit(stored: Stored) -> ViT:
    """A published ViT with its classifier, ready to answer."""
    model = ViT(ViTConfig.from_json(stored.config, where=stored.where))
    load(model, stored.tensors, names_of(stored.tensors), where=stored.where)
    return model.eval()


def class_names(config: dict[str, Any], classes: int) -> list[str]:
    """Names by label out of a published configuration.

    Raises
    ------
    DataError
        When a label has no name, or there is no classifier.
    """
    known = config.get("id2label", {})
    if not known:
        raise DataError(
            "this model has no classifier",
            where="id2label of config.json",
            remedy="name a checkpoint with one, as google/vit-base-patch16-224",
        )
    try:
        return [str(known[str(label)]).partition(",")[0] for label in range(classes)]
    except KeyError as error:
        raise DataError(
            f"the label {error.args[0]} has no name",
            where="id2label of config.json",
            remedy="name a checkpoint with a classifier",
        ) from error


def open_model(subject: Subject, opened: Path) -> dict[str, Any]:
    """Everything that is read off one model.

    Parameters
    ----------
    opened
        Output, safetensors: ``images`` (bytes), ``sequence`` of the first image (its first
        ``DIMENSIONS`` numbers), ``directions``, ``similarity``, ``distance`` (blocks, heads)
        and ``rollout`` (images, grid, grid).

    Returns
    -------
    dict
        For JSON: model, sizes, names, the two ways to embed patches compared, answers with and
        without positions and order, the five likeliest classes, answers at the larger side.
    """
    model, config = subject.model, subject.model.config
    native, larger = subject.sides
    ready = {side: _ready(subject.images[side], subject.scale) for side in subject.sides}
    images, grid = ready[native], config.grid
    kept: list[Tensor] = []
    with torch.inference_mode():
        logits = model(images, keep=kept)
        sequence = model.sequence(images[:1])[0]
        convolved = model.embed(images[:1])
        difference = float((convolved - model.embed.by_matrix(images[:1])).abs().max())
        apart = distances(grid, config.patch)
        far = torch.stack([mean_distance(each, apart) for each in kept])
        flow = rollout(kept)[:, 0, 1:].reshape(-1, grid, grid)
        cosines = similarity(model.positions)
        pictures = directions(model.embed.projection.weight)
    save_file(
        {
            "images": torch.from_numpy(subject.images[native]),
            "sequence": sequence[:, :DIMENSIONS].contiguous(),
            "directions": pictures.float().contiguous(),
            "similarity": cosines.float().contiguous(),
            "distance": far.float().contiguous(),
            "rollout": flow.float().contiguous(),
        },
        opened,
    )
    shuffled, unplaced = _orders(subject, images)
    return {
        "model": subject.label,
        "published": subject.published,
        "names": subject.names,
        "image": native,
        "patch": config.patch,
        "grid": grid,
        "layers": config.layers,
        "heads": config.heads,
        "tokens": list(sequence.shape),
        "batch": list(images.shape),
        "logits": list(logits.shape),
        "embedding_difference": difference,
        "distance": far.tolist(),
        "orders": shuffled,
        "order_difference": unplaced,
        "top": _top(logits, subject.classes),
        "sides": [
            _side(subject, side, ready[side], (side // config.patch) ** 2 + 1)
            for side in (native, larger)
        ],
    }


def _ready(images: Bytes, scale: Scale) -> Tensor:
    return torch.from_numpy(normalised(images, scale))


def _orders(subject: Subject, images: Tensor) -> tuple[list[dict[str, Any]], float]:
    """Answers for each of {learned, removed} x {in order, shuffled} and image.

    Also the largest difference of any probability between the orders without positions.
    """
    order = permutation(subject.model.config.grid**2)
    rows: list[dict[str, Any]] = []
    for places in POSITIONS:
        for how in ORDERS:
            label, share = answers(
                subject.model,
                images,
                positions=places == "learned",
                order=order if how == "shuffled" else None,
            )
            rows += [
                {
                    "positions": places,
                    "patches": how,
                    "image": name,
                    "label": subject.classes[int(which)],
                    "probability": float(p),
                }
                for name, which, p in zip(subject.names, label, share, strict=True)
            ]
    with torch.inference_mode():
        one, other = (
            subject.model(images, positions=False, order=each).double().softmax(-1)
            for each in (None, order)
        )
    return rows, float((one - other).abs().max())


def _top(logits: Tensor, classes: list[str]) -> list[list[dict[str, Any]]]:
    found = logits.double().softmax(-1).topk(min(TOP, len(classes)))
    return [
        [
            {"label": classes[int(label)], "probability": float(share)}
            for label, share in zip(labels, shares, strict=True)
        ]
        for labels, shares in zip(found.indices, found.values, strict=True)
    ]


def _side(subject: Subject, side: int, images: Tensor, tokens: int) -> dict[str, Any]:
    label, share = answers(subject.model, images)
    return {
        "side": side,
        "tokens": tokens,
        "answers": [
            {"image": name, "label": subject.classes[int(which)], "probability": float(p)}
            for name, which, p in zip(subject.names, label, share, strict=True)
        ],
    }


class OpenDinoStep(Model):
    """Settings of `open_dino`: the side of the photographs, a multiple of the patch."""

    side: int = 224


def open_dino(
    *, photos: Path, checkpoint: Path, opened: Path, summary: Path, settings: OpenDinoStep
) -> None:
    """Step: where the class token of DINO's last block looks.

    Parameters
    ----------
    photos, checkpoint
        Manifests.
    opened
        Output, safetensors: ``images`` (bytes) and ``maps`` (images, heads, rows, columns).
    summary
        Output, JSON: model and names.

    Raises
    ------
    DataError, SourceError
        When the checkpoint is not of a ViT, or a file not the one named.
    """
    stored = read_stored(checkpoint)
    config = replace(ViTConfig.from_json(stored.config, where=stored.where), classes=0)
    model = ViT(config)
    load(model, stored.tensors, names_of(stored.tensors), where=stored.where)
    found = read_photos(photos)
    pixels = np.stack([photo.resized(settings.side) for photo in found])
    save_file(
        {
            "images": torch.from_numpy(pixels),
            "maps": class_maps(model.eval(), _ready(pixels, IMAGENET)),
        },
        opened,
    )
    write_json(
        {
            "model": f"DINO ViT-S/{config.patch} ({parameters(model):,} parameters)",
            "names": [photo.name for photo in found],
        },
        summary,
    )
