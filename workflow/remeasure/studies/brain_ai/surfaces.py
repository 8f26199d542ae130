"""Surfaces and a slice of average brains out of a package, and where regions lie on them."""

from __future__ import annotations

from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl

from remeasure.errors import DataError
from remeasure.store.frames import write_frame
from remeasure.store.fsaverage import (
    FOLDER,
    SURFACE,
    TRIANGLE,
    WEIGHTS,
    listed_files,
    mesh_files,
    packaged,
    read_depth,
    read_surface,
    surface_frame,
    triangle_frame,
    weights_frame,
)
from remeasure.store.schema import declare
from remeasure.studies.brain_ai.content import MODULES, SLICE, VENTRAL
from remeasure.studies.brain_ai.nifti import Image, read_nifti

TEMPLATE = "mni_icbm152_t1_tal_nlin_sym_09a_converted.nii.gz"
SIDES = ("left", "right")

PLANE = declare(
    "coronal slice of an average brain",
    {
        "x": dy.Float64(),
        "z": dy.Float64(),
        "value": dy.Float64(min=0, max=1),
    },
)


def coronal(image: Image, y: float, where: object = "") -> pl.DataFrame:
    """The slice of a volume nearest to ``y`` (mm): x, z and brightness from 0 to 1, as `PLANE`.

    Raises
    ------
    DataError
        When the volume's axes are not those of the space, or the slice lies outside.
    """
    affine, values = image.affine, image.values
    scale, shift = np.diag(affine)[:3], affine[:3, 3]
    if not np.allclose(affine[:3, :3], np.diag(scale)) or not np.all(scale):
        raise DataError("this volume is turned", where=where, remedy="use the package's template")
    index = round((y - shift[1]) / scale[1])
    if values.ndim < 3 or not 0 <= index < values.shape[1]:
        raise DataError(
            f"this volume has no slice at {y:g} mm", where=where, remedy="choose another"
        )
    plane = values.reshape(values.shape[:3])[:, index, :]
    x, z = (shift[axis] + scale[axis] * np.arange(values.shape[axis]) for axis in (0, 2))
    return pl.DataFrame(
        {
            "x": np.repeat(x, z.size),
            "z": np.tile(z, x.size),
            "value": np.clip(plane / max(float(plane.max()), 1e-12), 0, 1).ravel(),
        }
    )


def read_surfaces(
    *, manifest: Path, points: Path, triangles: Path, regions: Path, plane: Path
) -> None:
    """Step: inflated surfaces of both hemispheres, the regions, and one slice.

    Regions are balls on the pial surface of the left hemisphere; its points have the same
    numbers on the inflated one.

    Parameters
    ----------
    manifest
        Output, JSON: the package's files with their hashes.
    points, triangles, regions, plane
        Outputs, Parquet: see `SURFACE`, `TRIANGLE`, `WEIGHTS` and `PLANE`.

    Raises
    ------
    SourceError
        When the package is absent, of another version, or its files were edited.
    """
    names = [f"{shape}_{side}" for side in SIDES for shape in ("infl", "sulc")]
    files = listed_files(
        "brain_ai_surfaces",
        (*mesh_files((*names, "pial_left")), f"{FOLDER}/{TEMPLATE}"),
    )
    files.write(manifest)
    surfaces = {side: read_surface(files, side, "infl") for side in SIDES}
    write_frame(
        pl.concat(
            [surface_frame(side, surfaces[side][0], read_depth(files, side)) for side in SIDES]
        ),
        points,
        SURFACE,
    )
    write_frame(
        pl.concat([triangle_frame(side, surfaces[side][1]) for side in SIDES]), triangles, TRIANGLE
    )
    pial, _ = read_surface(files, "left", "pial")
    write_frame(weights_frame(pial, (*VENTRAL, *MODULES)), regions, WEIGHTS)
    template = packaged(files, TEMPLATE)
    write_frame(coronal(read_nifti(template.read_bytes(), template), SLICE, template), plane, PLANE)
