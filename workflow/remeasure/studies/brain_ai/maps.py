"""Idealised maps of a place cell and of a grid cell.

Sources: a place field as a Gaussian; a grid as three plane waves 60 degrees apart (Solstad, Moser
and Einevoll 2006, Hippocampus 16), scaled to lie between 0 and 1.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def place(points: Floats, centre: Floats, width: float) -> Floats:
    """``exp(-|x - c|^2 / (2 s^2))`` at points ``(..., 2)``."""
    distance = np.square(points - centre).sum(axis=-1)
    return np.asarray(np.exp(-distance / (2 * width**2)))


def waves(spacing: float, turn: float) -> Floats:
    """Three wave vectors, ``(3, 2)``: length ``4 pi / (sqrt(3) spacing)``, 60 degrees apart.

    ``turn`` rotates them together, in degrees.
    """
    angles = np.radians(turn + np.array([0.0, 60.0, 120.0]))
    length = 4 * math.pi / (math.sqrt(3) * spacing)
    return np.asarray(length * np.column_stack([np.cos(angles), np.sin(angles)]))


def grid(points: Floats, vertex: Floats, spacing: float, turn: float = 0.0) -> Floats:
    """``(2/3)(s/3 + 1/2)`` at points ``(..., 2)``, where s sums three cosines: from 0 to 1."""
    total = np.cos((points - vertex) @ waves(spacing, turn).T).sum(axis=-1)
    return np.asarray((2 / 3) * (total / 3 + 0.5))


def lattice(spacing: float, turn: float = 0.0, reach: int = 2) -> Floats:
    """Peaks around the one at the origin, without it, ``(n, 2)``.

    Where two of the waves are in phase the third is, too: ``k1 x = 2 pi m``, ``k2 x = 2 pi n``.
    """
    first, second, _ = waves(spacing, turn)
    steps = [
        (m, n)
        for m in range(-reach, reach + 1)
        for n in range(-reach, reach + 1)
        if (m, n) != (0, 0)
    ]
    phases = 2 * math.pi * np.array(steps, dtype=np.float64)
    return np.asarray(np.linalg.solve(np.array([first, second]), phases.T).T)


def neighbours(spacing: float, turn: float = 0.0) -> tuple[int, float, float]:
    """How many nearest peaks there are, how far, and the angle between two of them in degrees.

    Raises
    ------
    ValueError
        When their angles are not all alike.
    """
    peaks = lattice(spacing, turn)
    distance = np.linalg.norm(peaks, axis=1)
    near = peaks[np.isclose(distance, distance.min(), rtol=1e-9)]
    angles = np.sort(np.degrees(np.arctan2(near[:, 1], near[:, 0])))
    gaps = np.diff(np.append(angles, angles[0] + 360))
    if not np.allclose(gaps, gaps[0], rtol=1e-9):
        raise ValueError(f"nearest peaks lie at unlike angles: {gaps}")
    return len(near), float(distance.min()), float(gaps.mean())


def trough(spacing: float, turn: float = 0.0) -> Floats:
    """A place of least firing, ``(2,)``: the middle of a triangle of peaks."""
    peaks = lattice(spacing, turn)
    distance = np.linalg.norm(peaks, axis=1)
    near = peaks[np.isclose(distance, distance.min(), rtol=1e-9)]
    angles = np.arctan2(near[:, 1], near[:, 0])
    first, second = near[np.argsort(angles)][:2]
    return np.asarray((first + second) / 3)


def box(side: float, points: int) -> Floats:
    """Points of a square box, ``(points, points, 2)``: rows from south to north."""
    along = np.linspace(0.0, side, points)
    east, north = np.meshgrid(along, along)
    return np.stack([east, north], axis=-1)
