"""Cortical surfaces: seen from a side, shaded by light and folds, coloured by regions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb

from remeasure.draw.style import Theme

Floats = npt.NDArray[np.float64]
Faces = npt.NDArray[np.int64]
View = Literal["lateral", "medial", "ventral"]

#: Resolution of the shaded surfaces inside an SVG, dots an inch.
DPI = 200

#: Light comes from the viewer's upper left: right, up, towards the viewer.
LIGHT = np.array([-0.35, 0.55, 0.76])


@dataclass(frozen=True)
class Mesh:
    """A closed surface: points ``(n, 3)``, triangles ``(m, 3)`` and depth of folds ``(n,)``."""

    points: Floats
    faces: Faces
    depth: Floats


def seen(points: Floats, hemisphere: str, view: View) -> Floats:
    """Points as the viewer has them: right, up, towards; shape ``(n, 3)``.

    The front of a left hemisphere lies left in the lateral and ventral views and right in the
    medial one; of a right hemisphere the other way round.

    >>> seen(np.array([[-60.0, 20.0, 5.0]]), "left", "lateral").tolist()
    [[-20.0, 5.0, 60.0]]
    """
    x, y, z = points.T
    side = 1.0 if hemisphere == "left" else -1.0
    columns = {
        "lateral": (-side * y, z, -side * x),
        "medial": (side * y, z, side * x),
        "ventral": (-side * y, -side * x, -z),
    }[view]
    return np.column_stack(columns)


def colours(
    mesh: Mesh, theme: Theme, paint: list[tuple[str, Floats]], normals: Floats
) -> npt.NDArray[np.float64]:
    """Colour of each triangle, ``(m, 3)``: grey by folds, painted over, darkened off the light.

    Parameters
    ----------
    paint
        Colours and how much of each a point has, ``(n,)`` from 0 to 1, one over the other.
    normals
        Of the triangles as the viewer has them, unit length, ``(m, 3)``.
    """
    ridge, furrow = ((0.86, 0.66), (0.62, 0.42))[theme.name == "dark"]
    folds = 1 / (1 + np.exp(-6 * mesh.depth))
    grey = ridge + (furrow - ridge) * folds
    points = np.repeat(grey[:, None], 3, axis=1)
    for colour, amount in paint:
        share = 0.88 * amount[:, None]
        points = points * (1 - share) + np.array(to_rgb(colour)) * share * (
            1 - 0.22 * folds[:, None]
        )
    light = 0.55 + 0.5 * np.clip(normals @ (LIGHT / np.linalg.norm(LIGHT)), 0, 1)
    return np.asarray(np.clip(points[mesh.faces].mean(axis=1) * light[:, None], 0, 1))


def draw_surface(
    ax: Axes,
    theme: Theme,
    mesh: Mesh,
    *,
    hemisphere: str,
    view: View,
    paint: list[tuple[str, Floats]],
    margin: float = 4.0,
) -> None:
    """Draw one hemisphere; the axes are switched off and scaled alike.

    Triangles that face the viewer are drawn from the farthest to the nearest, as an image
    inside the figure: as paths they would be ten thousand.
    """
    flat = seen(mesh.points, hemisphere, view)
    a, b, c = (flat[mesh.faces[:, corner]] for corner in range(3))
    normals = np.cross(b - a, c - a)
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    normals = normals / np.where(length > 0, length, 1.0)
    front = np.flatnonzero(normals[:, 2] > 0)
    order = front[np.argsort((a + b + c)[front, 2], kind="stable")]
    shade = colours(mesh, theme, paint, normals)[order]
    ax.add_collection(
        PolyCollection(
            flat[mesh.faces[order]][:, :, :2],  # type: ignore[arg-type]  # an array is drawn, too
            facecolors=shade,
            edgecolors=shade,
            linewidths=0.3,
            rasterized=True,
        )
    )
    low, high = flat[:, :2].min(axis=0) - margin, flat[:, :2].max(axis=0) + margin
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    ax.set_aspect("equal")
    ax.set_axis_off()
    figure = ax.get_figure(root=True)
    if figure is not None:
        figure.set_dpi(DPI)
