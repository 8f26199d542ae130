"""What is read off a Vision Transformer: distances, rollout, similarity, filters, and its cost."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from remeasure.nn.models.vit import ViT, ViTConfig

#: Principal directions of the filters that are drawn.
DIRECTIONS = 28
#: Seed of the permutation of patches.
SHUFFLED = 42


def distances(grid: int, patch: int) -> Tensor:
    """Pixels between the places of patches in reading order, shape ``(grid², grid²)``."""
    place = torch.stack(
        torch.meshgrid(torch.arange(grid), torch.arange(grid), indexing="ij"), -1
    ).view(-1, 2)
    return torch.cdist(place.double(), place.double()) * patch


def mean_distance(weights: Tensor, apart: Tensor) -> Tensor:
    """How far heads look, in pixels (Dosovitskiy et al. 2021, appendix D.7).

    Attention among patches alone, its rows summing to 1 again, times the distances, summed over
    keys and averaged over queries and images.

    Parameters
    ----------
    weights
        Of one block, shape ``(images, heads, 1 + n, 1 + n)``; the class token stands first.
    apart
        From `distances`, shape ``(n, n)``.

    Returns
    -------
    Tensor
        Shape ``(heads,)``.
    """
    among = weights[..., 1:, 1:].double()
    among = among / among.sum(-1, keepdim=True)
    far: Tensor = (among * apart).sum(-1).mean((0, 2))
    return far


def rollout(weights: Sequence[Tensor]) -> Tensor:
    """Attention followed through all blocks (Abnar and Zuidema 2020).

    Each block's mean over heads is mixed half and half with the identity, its rows sum to 1,
    and later blocks multiply from the left.

    Parameters
    ----------
    weights
        Of every block, shape ``(images, heads, length, length)``.

    Returns
    -------
    Tensor
        Shape ``(images, length, length)``; rows sum to 1.
    """
    length = weights[0].shape[-1]
    through = torch.eye(length, dtype=torch.float64)
    for each in weights:
        mixed = 0.5 * each.double().mean(1) + 0.5 * torch.eye(length, dtype=torch.float64)
        through = mixed / mixed.sum(-1, keepdim=True) @ through
    return through


def similarity(positions: Tensor) -> Tensor:
    """Cosines of the patches' position vectors, shape ``(grid, grid, grid, grid)``.

    Parameters
    ----------
    positions
        Shape ``(1, 1 + grid², width)``; the class token's is left out. A vector of zeros is
        similar to nothing.
    """
    own = positions[0, 1:].double()
    unit = own / own.norm(dim=1, keepdim=True).clamp_min(1e-30)
    grid = round(len(own) ** 0.5)
    cosines: Tensor = (unit @ unit.T).view(grid, grid, grid, grid)
    return cosines


def directions(filters: Tensor, count: int = DIRECTIONS) -> Tensor:
    """Principal directions of patch filters as pictures, each scaled to 0..1 on its own.

    Parameters
    ----------
    filters
        Shape ``(width, 3, patch, patch)``. The mean filter is taken off first; signs are
        arbitrary, so a picture may be the negative of another implementation's.

    Returns
    -------
    Tensor
        Shape ``(count, 3, patch, patch)``.
    """
    flat = filters.double().flatten(1)
    found = torch.linalg.svd(flat - flat.mean(0), full_matrices=False).Vh[:count]
    low, high = found.amin(1, keepdim=True), found.amax(1, keepdim=True)
    pictures: Tensor = ((found - low) / (high - low)).view(-1, *filters.shape[1:])
    return pictures


def tokens(image: int, patch: int) -> int:
    """Length of the sequence: whole patches and the class token."""
    return (image // patch) ** 2 + 1


def gigaflops(length: int, config: ViTConfig) -> tuple[float, float]:
    """Of the linear maps and of attention in all blocks, a multiplication and addition as two.

    Patch embedding, norms, softmax and classifier are left out, and blocks are four times as
    wide inside.
    """
    linear = config.layers * length * 12 * config.width**2 * 2
    attention = config.layers * 2 * length**2 * config.width * 2
    return linear / 1e9, attention / 1e9


def answers(model: ViT, images: Tensor, **how: object) -> tuple[Tensor, Tensor]:
    """The most likely class of each image and its probability, each of shape ``(images,)``."""
    with torch.inference_mode():
        best = model(images, **how).double().softmax(-1).max(-1)
    return best.indices, best.values


def permutation(patches: int) -> Tensor:
    """The order in which patches are shuffled: torch's generator on the CPU, seed 42."""
    torch.manual_seed(SHUFFLED)
    return torch.randperm(patches)


def class_maps(model: ViT, images: Tensor) -> Tensor:
    """Attention of the last block from the class token to patches: (images, heads, grid, grid)."""
    kept: list[Tensor] = []
    with torch.inference_mode():
        model.hidden(images, keep=kept)
    grid = images.shape[-1] // model.config.patch
    looked = kept[-1][:, :, 0, 1:]
    return looked.reshape(*looked.shape[:2], grid, grid).float().contiguous()
