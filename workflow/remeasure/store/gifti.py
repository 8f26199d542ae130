"""Surfaces in the GIFTI format: points, triangles and values, as they lie in a gzip file.

Only what packages ship is read: arrays in row-major order, compressed and in base64. Source of
the layout: GIFTI Surface Data Format 1.0 (Harwell et al. 2011), sections 2.2 and 2.3.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib
from pathlib import Path
from typing import NoReturn
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from remeasure.errors import DataError

#: Largest file unpacked, and largest array: more than a surface of 160,000 points needs.
MAX_BYTES = 64 << 20

_TYPES = {"NIFTI_TYPE_FLOAT32": "f4", "NIFTI_TYPE_INT32": "i4", "NIFTI_TYPE_UINT8": "u1"}
_ENDS = {"LittleEndian": "<", "BigEndian": ">"}


def read_gifti(path: Path) -> list[npt.NDArray[np.generic]]:
    """All arrays of a GIFTI file (``.gii.gz``), in the order in which they stand.

    Returns
    -------
    Arrays of floats or whole numbers in the shapes that the file declares, as ``(n, 3)`` for
    points and triangles and ``(n,)`` for values.

    Raises
    ------
    DataError
        When the file is no gzip, no GIFTI, larger than a surface can be, or not laid out as
        declared.
    """
    try:
        with gzip.open(path) as file:
            text = file.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            _refuse(path, f"it unpacks to more than {MAX_BYTES:,} bytes")
        # Entities are not expanded from outside, and the bytes are those of a checked package.
        root = ElementTree.fromstring(text)  # noqa: S314
    except (OSError, EOFError, zlib.error, ElementTree.ParseError) as error:
        _refuse(path, str(error))
    if root.tag != "GIFTI":
        _refuse(path, f"its root is {root.tag!r}")
    return [_array(each, path) for each in root.iter("DataArray")]


def _array(node: ElementTree.Element, path: Path) -> npt.NDArray[np.generic]:
    declared = node.attrib
    try:
        kind = _ENDS[declared["Endian"]] + _TYPES[declared["DataType"]]
        shape = tuple(
            int(declared[f"Dim{axis}"]) for axis in range(int(declared["Dimensionality"]))
        )
    except (KeyError, ValueError) as error:
        _refuse(path, f"an array is of a kind that is not read here ({error})")
    if declared.get("Encoding") != "GZipBase64Binary" or (
        len(shape) > 1 and declared.get("ArrayIndexingOrder") != "RowMajorOrder"
    ):
        _refuse(path, "an array is not compressed base64 in row-major order")
    size = np.dtype(kind).itemsize * int(np.prod(shape, dtype=np.int64))
    if not 0 < size <= MAX_BYTES:
        _refuse(path, f"an array declares {size:,} bytes")
    try:
        packed = base64.b64decode(node.findtext("Data", ""))
        body = zlib.decompressobj().decompress(packed, size + 1)
    except (binascii.Error, zlib.error) as error:
        _refuse(path, f"an array cannot be unpacked ({error})")
    if len(body) != size:
        _refuse(path, f"an array declares {size:,} bytes and has another number")
    return np.frombuffer(body, dtype=kind).reshape(shape)


def _refuse(path: Path, why: str) -> NoReturn:
    raise DataError(
        f"this is no surface that can be read: {why}",
        where=path,
        remedy="install the package that ships it again",
    )
