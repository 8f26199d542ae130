"""The parts of a Vision Transformer, measured: patches, sequence, order, maps, sizes and costs.

What follows from definitions alone is computed here from the model room's own definitions. What
is a property of the published weights is taken from the step that opened them, where a run has
them; the small ViT of a run answers none of these rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from remeasure.ledger.measurement import Measurement
from remeasure.ledger.reference import Key
from remeasure.nn.layers.patches import patchify, stretch
from remeasure.nn.models.dinov2 import DINOV2_SMALL, Dinov2
from remeasure.nn.models.small_cnn import SMALL_CNN
from remeasure.nn.models.vit import DINO_S8, SMALL_VIT, VIT_B16, ViT, ViTConfig
from remeasure.store.frames import read_json, write_frame, write_json
from remeasure.studies.vit.library import NO_LIBRARY, random_difference
from remeasure.studies.vit.maps import (
    DIRECTIONS,
    class_maps,
    distances,
    gigaflops,
    mean_distance,
    permutation,
    rollout,
    tokens,
)
from remeasure.studies.vit.photos import HALVES, PHOTOS, are_the_article_s, normalised
from remeasure.studies.vit.picture import (
    BINS,
    COLOURS,
    DIMENSIONS,
    EYE,
    FIRST_PATCHES,
    LARGER,
    PATCH,
    SHOWN,
    SIDE,
    SIMILAR,
)
from remeasure.studies.vit.published import answer, measurement, rows
from remeasure.studies.vit.sizes import COST, IMAGES, PATCHES

OUTPUTS = (
    "fig_hero",
    "fig_photos",
    "stat_input_tensor",
    "fig_normalise",
    "stat_patches",
    "fig_grid",
    "stat_unfold",
    "fig_patch50",
    "fig_embedding",
    "stat_patch_embedding",
    "stat_sequence",
    "fig_sequence",
    "stat_hf_parity",
    "tab_shuffle",
    "fig_top5",
    "fig_filters",
    "fig_position_similarity",
    "fig_attention_distance",
    "fig_rollout",
    "stat_resolution",
    "tab_cost",
    "stat_dino_load",
    "fig_dino_attention",
    "stat_params",
    "stat_dinov2_dim",
)

NO_PHOTOS = "needs the article's five photographs (vit.photos)"
NO_WEIGHTS = (
    "needs the weights google/vit-base-patch16-224 (vit.checkpoints) and the article's five"
    " photographs (vit.photos)"
)
REASONS = {
    "stat_input_tensor": NO_PHOTOS,
    "stat_hf_parity": NO_LIBRARY,
    **dict.fromkeys(
        (
            "stat_patch_embedding",
            "tab_shuffle",
            "fig_top5",
            "fig_attention_distance",
            "stat_resolution",
        ),
        NO_WEIGHTS,
    ),
}

#: Heads that look less far than two patches on average, and further than most of the picture.
NEAR, FAR = 2 * PATCH, 0.8
#: What the two qualitative rows say where it holds.
WIDE, ALL_FAR = "wide", "all far"

Answers = Iterator[Measurement]


def measure_parts(
    *, photos_summary: Path, opened_summary: Path, cost: Path, sizes: Path
) -> list[Measurement]:
    """Step: every number of the article's first six sections.

    Parameters
    ----------
    photos_summary
        JSON, as ``photos.show_photos`` writes it.
    opened_summary
        JSON, as ``opened.open_model`` writes it, of whichever model this run opened; beside it
        ``opened.safetensors`` is not needed.
    cost
        Output, Parquet: see ``sizes.COST``.
    sizes
        Output, JSON: parameters by model.
    """
    table = cost_table(VIT_B16)
    write_frame(table, cost, COST)
    counted = counts()
    write_json(counted, sizes)
    told, seen = read_json(opened_summary), read_json(photos_summary)["photos"]
    measured = [
        *_picture(seen),
        *_patches(),
        *_sequence(),
        *_parity(told),
        *_order(),
        *_opened(told),
        *_maps(),
        *_resolution(),
        *_cost(table),
        *_dino(),
        *_sizes(counted),
    ]
    return answer(measured, OUTPUTS, REASONS)


def counts() -> dict[str, int]:
    """Parameters by model, counted on the built models."""
    return {
        "small ViT": _count(SMALL_VIT),
        "small CNN": SMALL_CNN.parameters(),
        "ViT-B/16 with 1000 classes": _count(VIT_B16),
        "ViT-B/16 with 10 classes": _count(replace(VIT_B16, classes=10)),
        "DINO ViT-S/8 without a classifier": _count(DINO_S8),
        "DINOv2 small": DINOV2_SMALL.parameters(),
    }


def _count(config: ViTConfig) -> int:
    with torch.device("meta"):
        return sum(each.numel() for each in ViT(config).parameters())


def cost_table(config: ViTConfig) -> pl.DataFrame:
    """One row an image side and patch: see ``sizes.COST``."""
    found = []
    for image in IMAGES:
        for patch in PATCHES:
            length = tokens(image, patch)
            linear, attention = gigaflops(length, config)
            found.append(
                {
                    "image": image,
                    "patch": patch,
                    "tokens": length,
                    "gigaflops": linear + attention,
                    "attention": attention / (linear + attention),
                }
            )
    return pl.DataFrame(found, schema=list(COST.columns), strict=False)


def _shape(output: str, quantity: str, condition: str, shape: torch.Size) -> Answers:
    """Rows ``<quantity> <axis>`` of a shape."""
    for axis, size in enumerate(shape):
        yield measurement((output, f"{quantity} {axis}", condition), size)


def _blank() -> Tensor:
    """A black photograph as the models read it, shape ``(3, 224, 224)``."""
    black = Image.new("RGB", (SIDE, SIDE))
    return torch.from_numpy(normalised(np.asarray(black, dtype=np.uint8), HALVES))


def _picture(seen: list[dict[str, Any]]) -> Answers:
    c = VIT_B16
    condition = f"ViT-B/16 at {c.image} px"
    for quantity, value in {
        "image side": c.image,
        "patch side": c.patch,
        "grid side": c.grid,
        "patches": c.grid**2,
        "numbers per patch": c.channels * c.patch**2,
        "sequence length": c.tokens,
        "encoder blocks": c.layers,
        "vector width": c.width,
    }.items():
        yield measurement(("fig_hero", quantity, condition), value)
    own = are_the_article_s(each["name"] for each in seen)
    yield measurement(
        ("fig_photos", "number of photos", ", ".join(PHOTOS)),
        len(PHOTOS),
        note="" if own else f"the article's, by name; this run shows {len(seen)} others",
    )
    blank = _blank()
    yield from _shape("stat_input_tensor", "shape dimension", "one photo", blank.shape)
    yield measurement(
        ("stat_input_tensor", "numbers in the tensor", f"3 x {SIDE} x {SIDE}"), blank.numel()
    )
    yield measurement(("fig_normalise", "histogram bins per channel", "3 channels"), BINS)
    if not own:
        return
    bear = "bear, normalised with mean 0.5 and std 0.5"
    for quantity, part in (("minimum value", "least"), ("maximum value", "most")):
        # Printed with two decimals; a value rounds to it as any other number does.
        yield measurement(("stat_input_tensor", quantity, bear), seen[0][part])


def _patches() -> Answers:
    images = torch.rand(1, 3, SIDE, SIDE, generator=torch.Generator().manual_seed(0))
    flat = patchify(images, PATCH)
    yield measurement(("stat_patches", "rows", "bear"), flat.shape[1])
    yield measurement(("stat_patches", "columns", "bear"), flat.shape[2])
    yield measurement(
        ("stat_patches", "numbers in one patch", f"3 x {PATCH} x {PATCH}"), flat[0, 0].numel()
    )
    grid = SIDE // PATCH
    last = f"indices 0 to {len(FIRST_PATCHES) - 1}"
    yield measurement(("fig_grid", "patches drawn in sequence", last), len(FIRST_PATCHES))
    unfolded = F.unfold(images, PATCH, stride=PATCH).transpose(1, 2)
    yield measurement(
        ("stat_unfold", "max abs difference", "unfold against reshape"),
        float((flat - unfolded).abs().max()),
        note="a random image: both only move numbers",
    )
    condition = f"{grid}-wide grid"
    yield measurement(("fig_patch50", f"row of patch {EYE}", condition), EYE // grid)
    yield measurement(("fig_patch50", f"column of patch {EYE}", condition), EYE % grid)
    strip = "strip of 768 numbers"
    yield measurement(("fig_patch50", "first channel boundary", strip), PATCH**2)
    yield measurement(("fig_patch50", "second channel boundary", strip), 2 * PATCH**2)
    yield measurement(("fig_embedding", "numbers per patch", "flattened"), flat.shape[2])


def _sequence() -> Answers:
    with torch.device("meta"):
        model = ViT(VIT_B16)
        batch = torch.empty(len(PHOTOS), 3, SIDE, SIDE)
        embedded, sequence, logits = model.embed(batch), model.sequence(batch), model(batch)
    embedding, whole = "stat_patch_embedding", "stat_sequence"
    filters = model.embed.projection.weight.shape
    name = "google/vit-base-patch16-224"
    yield from _shape(embedding, "convolution weight dimension", name, filters)
    yield measurement((embedding, "patch vectors rows", ""), embedded.shape[1])
    yield measurement((embedding, "patch vectors columns", ""), embedded.shape[2])
    yield from _shape(whole, "class token dimension", "ViT-B/16", model.cls.shape)
    yield from _shape(whole, "positions dimension", "ViT-B/16", model.positions.shape)
    yield from _shape(whole, "sequence dimension", "ViT-B/16", sequence.shape[1:])
    yield measurement(("fig_sequence", "dimensions drawn", f"of {VIT_B16.width}"), DIMENSIONS)
    symmetric = "symmetric, plus and minus"
    yield measurement(("fig_sequence", "colour range", symmetric), COLOURS)
    yield from _shape("stat_hf_parity", "batch dimension", "five photos", batch.shape)
    yield from _shape("stat_hf_parity", "logits dimension", "five photos", logits.shape)


def _parity(told: dict[str, Any]) -> Answers:
    key = next(k for k in rows() if k[:2] == ("stat_hf_parity", "max abs logit difference"))
    if told["published"] and are_the_article_s(told["names"]) and told["parity"] is not None:
        yield measurement(key, told["parity"], note="with the published weights")
        return
    found = random_difference(len(PHOTOS))
    if found is not None:
        note = "random weights of a small configuration: what is equal is the functions"
        yield measurement(key, found, note=note)


def _order() -> Answers:
    torch.manual_seed(0)
    config = ViTConfig(image=SIDE, patch=PATCH, width=32, layers=2, heads=4, hidden=64, classes=10)
    model = ViT(config).eval()
    images = torch.randn(2, 3, SIDE, SIDE)
    order = permutation(config.grid**2)
    with torch.inference_mode():
        one, other = (
            model(images, positions=False, order=each).double().softmax(-1)
            for each in (None, order)
        )
    key = next(k for k in rows() if k[1].startswith("difference between ordered and shuffled"))
    yield measurement(
        key,
        float((one - other).abs().max()),
        note="random weights and images: attention without positions does not see order",
    )
    for output, quantity, condition in rows():
        if output == "tab_shuffle" and quantity.startswith("permutation element"):
            place = int(quantity.rpartition(" ")[2])
            yield measurement((output, quantity, condition), int(order[place]))


def _percent(share: float) -> int:
    return round(100 * share)


def _opened(told: dict[str, Any]) -> Answers:
    """What the published weights say of the article's photographs; nothing of any other model."""
    if not (told["published"] and are_the_article_s(told["names"])):
        return
    key = next(k for k in rows() if k[1] == "max abs difference matrix against convolution")
    yield measurement(key, told["embedding_difference"], note=ROUNDING)
    for row in told["orders"]:
        condition = f"positions {row['positions']}; patches {row['patches']}; photo {row['image']}"
        yield measurement(("tab_shuffle", "top-1 label", condition), row["label"])
        share = _percent(row["probability"])
        yield measurement(("tab_shuffle", "top-1 probability", condition), share)
    for name, best in zip(told["names"], told["top"], strict=True):
        yield measurement(("fig_top5", "top-1 label", f"photo {name}"), best[0]["label"])
    for side in told["sides"]:
        for each in side["answers"]:
            condition = f"{side['side']} px; photo {each['image']}"
            yield measurement(("stat_resolution", "top-1 label", condition), each["label"])
            yield measurement(
                ("stat_resolution", "top-1 probability", condition), _percent(each["probability"])
            )
    yield from _looking(told["distance"])


ROUNDING = "only rounding, which differs between machines: the card accepts whatever is below 1e-4"


def _looking(far: list[list[float]]) -> Answers:
    """The two rows in words, from mean distances of each block and head."""
    figure = "fig_attention_distance"
    uniform = float(distances(VIT_B16.grid, PATCH).mean())
    first = [each for block in far[:2] for each in block]
    last = [each for block in far[-2:] for each in block]
    wide = min(first) < NEAR and max(first) > FAR * uniform
    key = next(k for k in rows() if k[:2] == (figure, "spread of heads in the first layers"))
    spread = f"{min(first):.0f} to {max(first):.0f} px in the first two blocks"
    yield measurement(key, WIDE if wide else "narrow", note=spread)
    key = next(k for k in rows() if k[:2] == (figure, "heads in the last layers"))
    near = f"at least {min(last):.0f} px in the last two; uniform attention has {uniform:.0f}"
    yield measurement(key, ALL_FAR if min(last) > FAR * uniform else "not all far", note=near)


def _maps() -> Answers:
    grid, length = VIT_B16.grid, VIT_B16.tokens
    apart = distances(grid, PATCH)
    uniform = torch.full((1, 1, length, length), 1 / length, dtype=torch.float64)
    whole = f"{VIT_B16.layers} layers x {VIT_B16.heads} heads"
    distance = "fig_attention_distance"
    yield measurement((distance, "dots", whole), VIT_B16.layers * VIT_B16.heads)
    drawn = {
        ("fig_filters", "components drawn"): DIRECTIONS,
        ("fig_position_similarity", "maps drawn"): len(range(*SIMILAR.indices(grid))) ** 2,
        ("fig_position_similarity", "cells per map"): grid**2,
        (distance, "distance for uniform attention"): float(mean_distance(uniform, apart)),
        (distance, "largest possible distance"): float(apart.max()),
        ("fig_rollout", "maps drawn"): len(PHOTOS),
        ("fig_rollout", "class-to-patch entry under uniform attention"): float(
            rollout([uniform] * VIT_B16.layers)[0, 0, 1]
        ),
        ("fig_dino_attention", "photos drawn"): len(SHOWN),
        ("fig_dino_attention", "heads drawn"): DINO_S8.heads,
    }
    for key in rows():
        if key[:2] in drawn:
            yield measurement(key, drawn[key[0], key[1]])


def _resolution() -> Answers:
    c, output = VIT_B16, "stat_resolution"
    wider = LARGER // c.patch
    positions = torch.zeros(1, c.tokens, 1)
    for side in (c.image, LARGER):
        grid = side // c.patch
        found = stretch(positions, (grid, grid)).shape[1]
        yield measurement((output, "tokens", f"{side} px, patch {c.patch}"), found)
    yield measurement((output, f"grid at {LARGER} px", f"{wider} x {wider}"), wider**2)


def _cost(table: pl.DataFrame) -> Answers:
    for row in table.iter_rows(named=True):
        condition = f"image {row['image']}; patch {row['patch']}"
        for quantity, column in (
            ("tokens", "tokens"),
            ("GFLOPs", "gigaflops"),
            ("attention's share", "attention"),
        ):
            yield measurement(("tab_cost", quantity, condition), row[column])


def _dino() -> Answers:
    with torch.device("meta"):
        body = ViT(DINO_S8)
        own = [name for name, _ in ViT(replace(DINO_S8, classes=1)).named_parameters()]
        images = torch.empty(len(PHOTOS), 3, DINO_S8.image, DINO_S8.image)
        shape = class_maps(body, images).shape
    there = {name for name, _ in body.named_parameters()}
    missing = [name for name in own if name not in there]
    for place, name in zip(("first", "second"), missing, strict=True):
        key = ("stat_dino_load", "missing key", f"DINO into own class; {place}")
        yield measurement(key, name, note="by the names of DINO's file, which has no classifier")
    axes = "photos, heads, rows, columns"
    yield from _shape("stat_dino_load", "map tensor dimension", axes, shape)
    with torch.device("meta"):
        tile = torch.empty(1, 3, SIDE, SIDE)
        length = Dinov2(DINOV2_SMALL).features(tile).shape[1]
    key = ("stat_dinov2_dim", "feature length", "class token plus mean patch token")
    yield measurement(key, length)


def _sizes(counted: dict[str, int]) -> Answers:
    output, quantity = "stat_params", "parameters"
    for name in ("small ViT", "small CNN"):
        key: Key = (output, quantity, f"{name}, as printed")
        yield measurement(key, counted[name] / 1e6)
    for name in (
        "small ViT",
        "small CNN",
        "ViT-B/16 with 1000 classes",
        "ViT-B/16 with 10 classes",
    ):
        yield measurement((output, quantity, f"{name}, counted for this card"), counted[name])
