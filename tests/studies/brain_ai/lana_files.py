"""Files of the language atlas as its laboratory writes them, with a known map."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile

import numpy as np

from remeasure.studies.brain_ai.atlas import ALL_POINTS, MEMBERS

#: Dimensions over which FreeSurfer spreads 163,842 numbers, each below 32,768.
SPREAD = (27_307, 1, 6)


def nifti(
    values: np.ndarray,
    shape: tuple[int, ...],
    *,
    kind: int = 16,
    end: str = "<",
    slope: float = 0.0,
    intercept: float = 0.0,
    long_first: int | None = None,
    affine: np.ndarray | None = None,
) -> bytes:
    """A NIfTI-1 file in one piece; ``long_first`` puts the length into ``glmin``."""
    number = {2: "u1", 4: "i2", 16: "f4", 64: "f8"}[kind]
    header = bytearray(352)
    struct.pack_into(f"{end}i", header, 0, 348)
    dims = [len(shape), *shape, *([1] * (7 - len(shape)))]
    if long_first is not None:
        dims[1] = -1
        struct.pack_into(f"{end}i", header, 144, long_first)
    struct.pack_into(f"{end}8h", header, 40, *dims)
    struct.pack_into(f"{end}2h", header, 70, kind, 8 * np.dtype(number).itemsize)
    struct.pack_into(f"{end}3f", header, 108, 352.0, slope, intercept)
    if affine is not None:
        struct.pack_into(f"{end}h", header, 254, 2)
        struct.pack_into(f"{end}12f", header, 280, *affine[:3].ravel())
    header[344:348] = b"n+1\0"
    return bytes(header) + np.asarray(values).astype(end + number).tobytes()


def shares(side: str) -> np.ndarray:
    """A map with its peak at one point, higher and wider in the left hemisphere."""
    peak, width = {"left": (0.8, 900.0), "right": (0.5, 600.0)}[side]
    return peak * np.exp(-np.square(np.arange(ALL_POINTS) - 4000.0) / (2 * width**2))


def archive(**maps: np.ndarray) -> bytes:
    """The zip archive; maps of single hemispheres may be replaced."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for side, name in MEMBERS.items():
            values = maps.get(side, shares(side))
            body = nifti(values, SPREAD if values.size == ALL_POINTS else values.shape)
            file.writestr(f"FS/{name}", gzip.compress(body, 1))
            file.writestr(f"__MACOSX/FS/{name}", b"resource fork")
    return packed.getvalue()
