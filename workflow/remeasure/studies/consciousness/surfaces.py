"""The cortical surface that the regions of the theories are painted on."""

from __future__ import annotations

from pathlib import Path

from remeasure.store.frames import write_frame
from remeasure.store.fsaverage import (
    SURFACE,
    TRIANGLE,
    WEIGHTS,
    listed_files,
    mesh_files,
    read_depth,
    read_surface,
    surface_frame,
    triangle_frame,
    weights_frame,
)
from remeasure.studies.consciousness.content import REGIONS


def read_surfaces(*, manifest: Path, points: Path, triangles: Path, regions: Path) -> None:
    """Step: the left pial surface out of the package, and where the regions lie on it.

    Parameters
    ----------
    manifest
        Output, JSON: the package's files with their hashes.
    points, triangles, regions
        Outputs, Parquet: see `SURFACE`, `TRIANGLE` and `WEIGHTS`.

    Raises
    ------
    SourceError
        When the package is absent, of another version, or its files were edited.
    """
    files = listed_files("consciousness_surface", mesh_files(("pial_left", "sulc_left")))
    files.write(manifest)
    where, faces = read_surface(files, "left", "pial")
    write_frame(surface_frame("left", where, read_depth(files, "left")), points, SURFACE)
    write_frame(triangle_frame("left", faces), triangles, TRIANGLE)
    write_frame(weights_frame(where, REGIONS), regions, WEIGHTS)
