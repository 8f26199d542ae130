"""The average cortical surface that the package nilearn ships, and regions on it.

The meshes are FreeSurfer's ``fsaverage5``: 10,242 points and 20,480 triangles a hemisphere.
Points of the pial surface are millimetres in the space of MNI305 (x to the right, y to the
front, z up); those of the inflated surface belong to the same numbers but lie elsewhere. The
package is never imported: its files are checked against its own record and read here, so that
neither nibabel nor pandas costs a step anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import dataframely as dy
import numpy as np
import numpy.typing as npt
import polars as pl

from remeasure.errors import DataError
from remeasure.fetch import origins
from remeasure.fetch.manifest import Manifest
from remeasure.store.gifti import read_gifti
from remeasure.store.schema import declare, one_of

Floats = npt.NDArray[np.float64]
Faces = npt.NDArray[np.int64]

#: The pinned package and where its files lie.
PACKAGE, VERSION = "nilearn", "0.13.1"
FOLDER = "nilearn/datasets/data"

#: Points and triangles of a hemisphere: the fifth icosahedron of FreeSurfer.
POINTS, TRIANGLES = 10_242, 20_480

#: Millimetres over which the edge of a region fades.
EDGE = 5.0

SURFACE = declare(
    "points of a cortical surface",
    {
        "hemisphere": one_of(["left", "right"]),
        "point": dy.Int64(min=0, max=POINTS - 1),
        "x": dy.Float64(),
        "y": dy.Float64(),
        "z": dy.Float64(),
        "depth": dy.Float64(),
    },
)
TRIANGLE = declare(
    "triangles of a cortical surface",
    {
        "hemisphere": one_of(["left", "right"]),
        **{corner: dy.Int64(min=0, max=POINTS - 1) for corner in "abc"},
    },
)
WEIGHTS = declare(
    "points of regions",
    {
        "region": dy.String(),
        "point": dy.Int64(min=0, max=POINTS - 1),
        "weight": dy.Float64(min=0, max=1),
    },
)


@dataclass(frozen=True)
class Ball:
    """A ball whose cut with the cortex belongs to a region: centre (MNI, mm) and radius (mm)."""

    x: float
    y: float
    z: float
    radius: float


@dataclass(frozen=True)
class Region:
    """A region of the left hemisphere, given by balls.

    Attributes
    ----------
    name
        As it is shown.
    group
        What it is coloured by.
    balls
        Their union, on the pial surface, is the region.
    """

    name: str
    group: str
    balls: tuple[Ball, ...]


def mesh_files(surfaces: Iterable[str]) -> tuple[str, ...]:
    """Paths in the package of surfaces such as ``pial_left`` and ``sulc_left``."""
    return tuple(f"{FOLDER}/fsaverage5/{name}.gii.gz" for name in surfaces)


def listed_files(source: str, paths: Sequence[str]) -> Manifest:
    """The manifest of some files of the package, checked against the package's own record.

    Raises
    ------
    SourceError
        When the package is absent, of another version, or its files were edited.
    """
    return origins.from_package(source, origins.Package(PACKAGE, VERSION, tuple(paths)))


def packaged(manifest: Manifest, name: str) -> Path:
    """Where a file of the manifest lies, by the end of its path."""
    return manifest.file(next(each for each in manifest.files if each.path.endswith(name)))


def read_surface(manifest: Manifest, hemisphere: str, shape: str) -> tuple[Floats, Faces]:
    """Points ``(n, 3)`` and triangles ``(m, 3)`` of a surface; ``shape`` is ``pial`` or ``infl``.

    Triangles are turned so that their normals point outwards.

    Raises
    ------
    DataError
        When it is not the surface that the package is known for.
    """
    path = packaged(manifest, f"/{shape}_{hemisphere}.gii.gz")
    arrays = read_gifti(path)
    if [each.shape for each in arrays] != [(POINTS, 3), (TRIANGLES, 3)]:
        raise DataError(
            f"the surface has arrays of the shapes {[each.shape for each in arrays]}",
            where=path,
            remedy=f"install {PACKAGE}=={VERSION}",
        )
    points, faces = arrays[0].astype(np.float64), arrays[1].astype(np.int64)
    return points, faces if volume(points, faces) > 0 else faces[:, ::-1]


def read_depth(manifest: Manifest, hemisphere: str) -> Floats:
    """Depth of the folds at each point, ``(n,)``: above 0 in a furrow, below 0 on a ridge."""
    path = packaged(manifest, f"/sulc_{hemisphere}.gii.gz")
    (values,) = read_gifti(path)
    return values.astype(np.float64)


def volume(points: Floats, faces: Faces) -> float:
    """Signed volume within a closed surface: above 0 where normals point outwards.

    The sum of the tetrahedra between the origin and each triangle (divergence theorem).
    """
    a, b, c = (points[faces[:, corner]] for corner in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


def weight(points: Floats, balls: Sequence[Ball]) -> Floats:
    """How much each point ``(n, 3)`` belongs to the union of balls: 1 inside, fading at the edge.

    Half a weight lies at the radius; the fade is `EDGE` wide.
    """
    outside = [
        np.linalg.norm(points - (ball.x, ball.y, ball.z), axis=1) - ball.radius for ball in balls
    ]
    return np.asarray(np.clip(0.5 - np.min(outside, axis=0) / EDGE, 0.0, 1.0))


def surface_frame(hemisphere: str, points: Floats, depth: Floats) -> pl.DataFrame:
    """A surface as `SURFACE`."""
    return pl.DataFrame(
        {
            "hemisphere": [hemisphere] * len(points),
            "point": np.arange(len(points)),
            **{axis: points[:, number] for number, axis in enumerate("xyz")},
            "depth": depth,
        }
    )


def triangle_frame(hemisphere: str, faces: Faces) -> pl.DataFrame:
    """Its triangles as `TRIANGLE`."""
    corners = {corner: faces[:, number] for number, corner in enumerate("abc")}
    return pl.DataFrame({"hemisphere": [hemisphere] * len(faces), **corners})


def weights_frame(points: Floats, regions: Sequence[Region]) -> pl.DataFrame:
    """Points that belong to regions at all, as `WEIGHTS`, in the order of the regions."""
    frames = []
    for region in regions:
        own = weight(points, region.balls)
        inside = np.flatnonzero(own)
        frames.append(
            pl.DataFrame(
                {"region": [region.name] * len(inside), "point": inside, "weight": own[inside]}
            )
        )
    return pl.concat(frames)
