"""Surfaces out of a package: read as another reader reads them, with the topology of a sphere."""

from __future__ import annotations

import base64
import gzip
import zlib
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from remeasure.errors import DataError
from remeasure.store.fsaverage import (
    EDGE,
    POINTS,
    TRIANGLES,
    VERSION,
    Ball,
    listed_files,
    mesh_files,
    read_depth,
    read_surface,
    volume,
    weight,
)
from remeasure.store.gifti import read_gifti


def gifti(*arrays: np.ndarray, **changed: str) -> bytes:
    kinds = {"float32": "NIFTI_TYPE_FLOAT32", "int32": "NIFTI_TYPE_INT32"}
    parts = []
    for array in arrays:
        dims = {f"Dim{axis}": str(size) for axis, size in enumerate(array.shape)}
        declared = {
            "DataType": kinds[str(array.dtype)],
            "ArrayIndexingOrder": "RowMajorOrder",
            "Dimensionality": str(array.ndim),
            "Encoding": "GZipBase64Binary",
            "Endian": "LittleEndian",
            **dims,
            **changed,
        }
        words = " ".join(f'{name}="{value}"' for name, value in declared.items())
        body = base64.b64encode(zlib.compress(array.tobytes())).decode()
        parts.append(f"<DataArray {words}><Data>{body}</Data></DataArray>")
    return gzip.compress(f'<GIFTI Version="1.0">{"".join(parts)}</GIFTI>'.encode())


def test_arrays_come_back_in_their_shapes(tmp_path: Path) -> None:
    points = np.arange(12, dtype="<f4").reshape(4, 3)
    faces = np.array([[0, 1, 2], [1, 2, 3]], dtype="<i4")
    path = tmp_path / "a.gii.gz"
    path.write_bytes(gifti(points, faces))
    found = read_gifti(path)
    np.testing.assert_array_equal(found[0], points)
    np.testing.assert_array_equal(found[1], faces)


@pytest.mark.parametrize(
    "body",
    [
        b"no gzip",
        gzip.compress(b"<GIFTI>"),
        gzip.compress(b"<OTHER/>"),
        gifti(np.zeros(4, "f4"), Dim0="5"),
        gifti(np.zeros(4, "f4"), Dim0="3"),
        gifti(np.zeros(4, "f4"), Encoding="ASCII"),
        gifti(np.zeros(4, "f4"), DataType="NIFTI_TYPE_COMPLEX64"),
        gifti(np.zeros(4, "f4"), Dim0="99999999999"),
        gifti(np.zeros(4, "f4"))[:-9],
    ],
    ids=["plain", "cut XML", "other XML", "long", "short", "ASCII", "complex", "huge", "cut gzip"],
)
def test_other_files_are_refused(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "a.gii.gz"
    path.write_bytes(body)
    with pytest.raises(DataError, match="no surface that can be read"):
        read_gifti(path)


def test_a_weight_is_one_inside_and_half_at_the_radius() -> None:
    points = np.array([[0.0, 0, 0], [10, 0, 0], [10 - EDGE, 0, 0], [10 + EDGE, 0, 0], [40, 0, 0]])
    found = weight(points, (Ball(0, 0, 0, 10), Ball(100, 0, 0, 1)))
    np.testing.assert_allclose(found, [1, 0.5, 1, 0, 0])


def test_the_volume_of_a_tetrahedron() -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    assert volume(points, faces) == pytest.approx(1 / 6)
    assert volume(points, faces[:, ::-1]) == pytest.approx(-1 / 6)


def test_the_packaged_surface_is_a_left_hemisphere() -> None:
    try:
        installed = metadata.version("nilearn")
    except metadata.PackageNotFoundError:
        pytest.skip("the package nilearn is not installed")
    assert installed == VERSION
    manifest = listed_files("test", mesh_files(("pial_left", "sulc_left")))
    assert [len(each.sha256) for each in manifest.files] == [64, 64]
    points, faces = read_surface(manifest, "left", "pial")
    depth = read_depth(manifest, "left")
    assert points.shape == (POINTS, 3)
    assert faces.shape == (TRIANGLES, 3)
    assert depth.shape == (POINTS,)
    # Euler: a closed surface without a hole has points - edges + triangles = 2.
    edges = np.unique(np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1), axis=0)
    assert POINTS - len(edges) + TRIANGLES == 2
    # Millimetres of a left hemisphere, of the size that one has (about half a litre).
    assert points[:, 0].max() < 3
    assert 350_000 < volume(points, faces) < 650_000
    # Ridges lie farther out than furrows.
    out = np.linalg.norm(points - points.mean(axis=0), axis=1)
    assert np.corrcoef(out, depth)[0, 1] < -0.1
