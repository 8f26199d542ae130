"""Images as sequences of patches (Dosovitskiy et al. 2021, section 3.1), and their places.

Patches stand in reading order. Inside a patch all numbers of the first channel come first, row by
row, then those of the second, so that a patch times the flattened filters of a convolution is
that convolution.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def patchify(images: Tensor, patch: int) -> Tensor:
    """Cut images into flat patches.

    Parameters
    ----------
    images
        Shape ``(batch, channels, height, width)``; both sides are multiples of ``patch``.

    Returns
    -------
    Tensor
        Shape ``(batch, patches, channels * patch * patch)``.

    Raises
    ------
    ValueError
        When a side is no multiple of ``patch``.
    """
    batch, channels, height, width = images.shape
    if height % patch or width % patch:
        raise ValueError(f"{height} x {width} pixels cannot be cut into patches of {patch}")
    rows, columns = height // patch, width // patch
    cut = images.reshape(batch, channels, rows, patch, columns, patch)
    return cut.permute(0, 2, 4, 1, 3, 5).reshape(batch, rows * columns, -1)


def unpatchify(patches: Tensor, patch: int, grid: tuple[int, int]) -> Tensor:
    """Put patches back: the inverse of `patchify`; ``grid`` is rows and columns of patches."""
    batch = patches.shape[0]
    rows, columns = grid
    cut = patches.reshape(batch, rows, columns, -1, patch, patch)
    return cut.permute(0, 3, 1, 4, 2, 5).reshape(batch, -1, rows * patch, columns * patch)


class PatchEmbedding(nn.Module):
    """A linear map of each patch, kept as the convolution that it equals.

    Parameters
    ----------
    channels, patch, width
        Of the image; side of a patch in pixels; numbers of a patch vector.
    """

    def __init__(self, channels: int, patch: int, width: int) -> None:
        super().__init__()
        self.patch = patch
        self.projection = nn.Conv2d(channels, width, patch, stride=patch)

    def forward(self, images: Tensor) -> Tensor:
        """From ``(batch, channels, height, width)`` to ``(batch, patches, width)``.

        Pixels beyond the last whole patch are left out.
        """
        mapped: Tensor = self.projection(images)  # (batch, width, rows, columns)
        return mapped.flatten(2).transpose(1, 2)

    def by_matrix(self, images: Tensor) -> Tensor:
        """The same as one product of flat patches and flat filters: equal within rounding."""
        flat = self.projection.weight.flatten(1)  # (width, channels * patch * patch)
        return F.linear(patchify(images, self.patch), flat, self.projection.bias)


def stretch(positions: Tensor, grid: tuple[int, int]) -> Tensor:
    """Learned positions for another grid of patches, by bicubic interpolation in float32.

    Parameters
    ----------
    positions
        Shape ``(1, 1 + side * side, width)``: the class token's, then those of a square grid.
    grid
        Rows and columns wanted.

    Returns
    -------
    Tensor
        Shape ``(1, 1 + rows * columns, width)``: the class token's place is as it was, and a
        grid of the old size is returned untouched.

    Raises
    ------
    ValueError
        When the positions are of no square grid.
    """
    patches, width = positions.shape[1] - 1, positions.shape[2]
    side = round(patches**0.5)
    if side * side != patches:
        raise ValueError(f"{patches} positions of patches are no square grid")
    if grid == (side, side):
        return positions
    image = positions[:, 1:].reshape(1, side, side, width).permute(0, 3, 1, 2)
    wider = F.interpolate(image.float(), size=grid, mode="bicubic", align_corners=False)
    flat = wider.to(positions.dtype).permute(0, 2, 3, 1).reshape(1, grid[0] * grid[1], width)
    return cat_tokens(positions[:, :1], flat)


def cat_tokens(first: Tensor, rest: Tensor) -> Tensor:
    """Tokens in front of others, shape ``(batch, length, width)``; one of batch 1 serves all."""
    return torch.cat((first.expand(rest.shape[0], -1, -1), rest), dim=1)
