"""The generated set: ten classes of textures, told apart by what repeats and how finely.

Quarter turns and mirror images change no class, as augmentation needs it; neither colour nor
brightness tells a class. Three kinds at three scales, and one class of a line across a cloud:

=======  ==========================================================================
stripes  one wave in one direction
grid     two waves that cross at right angles
cloud    waves of one length in all directions
road     a straight line, as wide as coarse stripes, across a medium cloud
=======  ==========================================================================

Directions, phases and colours are drawn afresh for each tile, wave lengths from ranges that lie
close, contrast from weak to strong, and noise lies over everything: ten tiles of a class do
not tell all of it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bytes = NDArray[np.uint8]

#: Side of a tile in pixels.
SIDE = 64
KINDS = ("stripes", "grid", "cloud")
#: Waves across a tile: the range that each scale draws from.
SCALES = {"coarse": (2.0, 3.5), "medium": (4.0, 6.0), "fine": (7.0, 10.0)}
ROAD = "road"
#: Class names in the order of their labels.
CLASSES = tuple(sorted([*(f"{kind}-{scale}" for kind in KINDS for scale in SCALES), ROAD]))

#: Waves that make a cloud.
_WAVES = 24


def _planes(side: int, waves: Floats, angles: Floats, rng: np.random.Generator) -> Floats:
    """Sums of sines with random phases, shape ``(count, side, side)``.

    ``waves`` and ``angles`` have the shape ``(count, sines)``. A sine of a sum is a sum of
    products, so that each tile is one product of two matrices.
    """
    step = 2 * np.pi * (np.arange(side) + 0.5) / side
    phase = rng.uniform(0, 2 * np.pi, waves.shape)
    across = (waves * np.cos(angles))[..., None] * step + phase[..., None]
    down = (waves * np.sin(angles))[..., None] * step
    first = np.concatenate([np.sin(across), np.cos(across)], axis=1)
    second = np.concatenate([np.cos(down), np.sin(down)], axis=1)
    out: Floats = second.transpose(0, 2, 1) @ first
    return out


def _pattern(kind: str, scale: str, count: int, side: int, rng: np.random.Generator) -> Floats:
    """Patterns of mean about 0 and deviation 1, shape ``(count, side, side)``."""
    low, high = SCALES[scale]
    angle = rng.uniform(0, np.pi, (count, 1))
    if kind == "cloud":
        waves = rng.uniform(low, high, (count, _WAVES))
        angles = rng.uniform(0, np.pi, (count, _WAVES))
        return _planes(side, waves, angles, rng) * math.sqrt(2 / _WAVES)
    turns = np.array([[0.0]]) if kind == "stripes" else np.array([[0.0, np.pi / 2]])
    waves = np.repeat(rng.uniform(low, high, (count, 1)), turns.size, axis=1)
    return _planes(side, waves, angle + turns, rng) * math.sqrt(2 / turns.size)


def _road(count: int, side: int, rng: np.random.Generator) -> Floats:
    """A cloud, and a line of half a coarse wave across it."""
    cloud = 0.7 * _pattern("cloud", "medium", count, side, rng)
    step = (np.arange(side) + 0.5) / side - 0.5
    angle = rng.uniform(0, np.pi, (count, 1, 1))
    away = np.cos(angle) * step[None, None, :] + np.sin(angle) * step[None, :, None]
    far = np.abs(away - rng.uniform(-0.25, 0.25, (count, 1, 1)))
    half = 0.25 / rng.uniform(*SCALES["coarse"], (count, 1, 1))
    sign = rng.choice([-1.0, 1.0], (count, 1, 1))
    line: Floats = cloud + 2.0 * sign / (1.0 + np.exp((far - half) * side))
    return line


def textures(
    name: str, count: int, rng: np.random.Generator, *, noise: float, side: int = SIDE
) -> Bytes:
    """Tiles of one class.

    Parameters
    ----------
    name
        One of ``CLASSES``.
    count
        How many.
    noise
        Deviation of the noise of each pixel and colour; that of a pattern lies in 0.5 to 1.
    side
        Pixels along a side.

    Returns
    -------
    ndarray
        Shape ``(count, side, side, 3)``: red, green, blue.
    """
    kind, _, scale = name.partition("-")
    made = _road(count, side, rng) if name == ROAD else _pattern(kind, scale, count, side, rng)
    contrast = rng.uniform(0.5, 1.0, (count, 1, 1))
    made = made * contrast
    base = rng.uniform(105, 150, (count, 1, 1, 3))
    swing = rng.uniform(35, 50, (count, 1, 1, 3))
    light = made[..., None] + noise * rng.standard_normal((count, side, side, 3))
    whole: Bytes = np.clip(np.rint(base + swing * light), 0, 255).astype(np.uint8)
    return whole
