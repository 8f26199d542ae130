"""Budgets, augmentation, normalisation and batches: what a learner sees of the tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from remeasure.studies.vit.photos import Scale

Labels = NDArray[np.int64]


class Batch(NamedTuple):
    """Tiles that are normalised, shape ``(n, 3, side, side)``, and their labels, ``(n,)``."""

    tiles: Tensor
    labels: Tensor


def subset(labels: Labels, budget: int) -> Labels:
    """Rows of the first ``budget`` tiles of each class, class by class.

    A class with fewer tiles gives all it has, so a nominal budget may bring less than ten
    times as many tiles. Smaller budgets are contained in larger ones.
    """
    return np.concatenate(
        [np.flatnonzero(labels == label)[:budget] for label in np.unique(labels)]
    ).astype(np.int64)


def augment(tiles: Tensor, rng: np.random.Generator) -> Tensor:
    """Mirror each tile with probability one half; turn the whole batch by 0 to 3 quarters.

    The flip is drawn for each tile, the turn once for all: as the article's loop does.
    """
    flipped = torch.from_numpy(rng.random(tiles.shape[0]) < 0.5).to(tiles.device)
    mirrored = torch.where(flipped[:, None, None, None], tiles.flip(-1), tiles)
    return torch.rot90(mirrored, int(rng.integers(4)), (-2, -1))


def normalise(tiles: Tensor, side: int, scale: Scale) -> Tensor:
    """From bytes to what a model reads.

    Parameters
    ----------
    tiles
        Bytes, shape ``(n, 3, height, width)``.
    side
        Wanted; bilinear without antialiasing, corners not aligned, where it is another.
    scale
        Mean and deviation of each colour, which differ from model to model.

    Returns
    -------
    Tensor
        float32, shape ``(n, 3, side, side)``.
    """
    light = tiles.float() / 255
    if light.shape[-1] != side:
        light = F.interpolate(light, size=(side, side), mode="bilinear", align_corners=False)
    mean, deviation = (torch.tensor(part, device=tiles.device).view(3, 1, 1) for part in scale)
    return (light - mean) / deviation


def batches(
    tiles: Tensor, labels: Tensor, *, size: int, side: int, scale: Scale, seed: list[int]
) -> Callable[[int], Batch]:
    """Batches for the training loop, drawn uniformly with replacement, augmented, normalised.

    A batch is a function of its number and the seed, so that a training that was stopped goes
    on with the tiles that it would have seen.
    """

    def batch(number: int) -> Batch:
        rng = np.random.default_rng([*seed, number])
        rows = torch.from_numpy(rng.integers(0, labels.shape[0], size)).to(tiles.device)
        return Batch(normalise(augment(tiles[rows], rng), side, scale), labels[rows])

    return batch
