"""Arrays in the NIfTI-1 format: a header of 348 bytes, then numbers.

Read here rather than with nibabel, which would import seconds of code for a header of fixed
size. Source of the layout: the format's own definition (Cox et al. 2004, ``nifti1.h``).
FreeSurfer writes surfaces in it, whose length may exceed the 32,767 that a dimension can hold: it
then writes the first as -1 and the length where the format has an unused field (``glmin``), or
spreads it over three dimensions.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from remeasure.errors import DataError

Floats = npt.NDArray[np.float64]

HEADER = 348
#: Largest body unpacked.
MAX_BYTES = 128 << 20
_TYPES = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2"}


@dataclass(frozen=True)
class Image:
    """Values in the file's order of dimensions, and the matrix from indices to millimetres.

    Attributes
    ----------
    values
        Scaled as the header says.
    affine
        Shape ``(4, 4)``: of the ``sform``, zeros where the file has none.
    """

    values: Floats
    affine: Floats


def read_nifti(body: bytes, where: object) -> Image:
    """An image from the bytes of a ``.nii`` or ``.nii.gz`` file.

    Raises
    ------
    DataError
        When it is not NIfTI-1 in one file, of a kind of number that is not read here, or shorter
        than it declares.
    """
    if body[:2] == b"\x1f\x8b":
        body = _unpacked(body, where)
    if len(body) < HEADER or body[344:348] != b"n+1\0":
        _refuse("it has no header of NIfTI-1 in one file", where)
    end = "<" if struct.unpack_from("<i", body)[0] == HEADER else ">"
    if struct.unpack_from(f"{end}i", body)[0] != HEADER:
        _refuse("its header has another length", where)
    dims = list(struct.unpack_from(f"{end}8h", body, 40))
    (kind,) = struct.unpack_from(f"{end}h", body, 70)
    offset, slope, intercept = struct.unpack_from(f"{end}3f", body, 108)
    if dims[1] < 0:
        (dims[1],) = struct.unpack_from(f"{end}i", body, 144)
    shape = dims[1 : 1 + dims[0]]
    if not 1 <= dims[0] <= 7 or min(shape) < 1 or kind not in _TYPES:
        _refuse(f"dimensions {dims} or kind of number {kind} are not read here", where)
    number = np.dtype(end + _TYPES[kind])
    count, start = int(np.prod(shape, dtype=np.int64)), int(offset)
    if start < HEADER or len(body) < start + count * number.itemsize:
        _refuse(f"it is shorter than the {count:,} numbers that it declares", where)
    raw = np.frombuffer(body, number, count, start).astype(np.float64)
    if slope not in (0.0,) and np.isfinite(slope):
        raw = raw * slope + intercept
    (form,) = struct.unpack_from(f"{end}h", body, 254)
    affine = np.zeros((4, 4))
    if form > 0:
        affine[:3] = np.array(struct.unpack_from(f"{end}12f", body, 280)).reshape(3, 4)
        affine[3, 3] = 1.0
    return Image(raw.reshape(shape, order="F"), affine)


def _unpacked(body: bytes, where: object) -> bytes:
    try:
        unpacker = zlib.decompressobj(wbits=31)
        found = unpacker.decompress(body, MAX_BYTES + 1)
    except (zlib.error, gzip.BadGzipFile) as error:
        _refuse(f"it cannot be unpacked ({error})", where)
    if len(found) > MAX_BYTES or not unpacker.eof:
        _refuse(f"it is cut off or unpacks to more than {MAX_BYTES:,} bytes", where)
    return found


def _refuse(why: str, where: object) -> NoReturn:
    raise DataError(
        f"this is no NIfTI file that can be read: {why}",
        where=where,
        remedy="get the file again",
    )
