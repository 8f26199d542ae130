"""Photographs as a Vision Transformer reads them, and what the drawings show of them.

A photograph is resized straight to the side that is wanted, whatever its shape, by PIL's bilinear
filter, which averages where it shrinks; then every colour is scaled to 0..1 and normalised.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from safetensors.numpy import save_file

from remeasure.errors import DataError
from remeasure.fetch.manifest import Manifest
from remeasure.store.frames import write_json
from remeasure.studies.vit.picture import BINS, RANGE, SIDE

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]

#: The article's photographs in the order of its batch.
PHOTOS = ("bear", "shuttle", "lava", "orca", "hummingbird")
#: Where copies of them are published.
ADDRESS = (
    "https://raw.githubusercontent.com/xmarva/transformers-from-scratch/main/assets/photos/a11/"
    "{name}.jpg"
)

#: Mean and deviation of each colour, by model: Google's, and everybody else's.
HALVES = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
Scale = tuple[tuple[float, float, float], tuple[float, float, float]]

#: More pixels than any photograph here has: a larger image is refused before it is unpacked.
MOST_PIXELS = 40_000_000


@dataclass(frozen=True)
class Photo:
    """A photograph: its name and its pixels, shape ``(height, width, 3)``."""

    name: str
    pixels: Bytes

    def resized(self, side: int) -> Bytes:
        """Shape ``(side, side, 3)``."""
        image = Image.fromarray(self.pixels).resize((side, side), Image.Resampling.BILINEAR)
        return np.asarray(image, dtype=np.uint8)


def normalised(pixels: Bytes, scale: Scale) -> Floats:
    """Channels first, shape ``(..., 3, height, width)``, from ``(..., height, width, 3)``."""
    mean, deviation = (np.array(part, dtype=np.float32) for part in scale)
    light = pixels.astype(np.float32) / np.float32(255)
    return np.ascontiguousarray(np.moveaxis((light - mean) / deviation, -1, -3))


def opened_image(body: bytes, where: object, *, size: tuple[int, int] | None = None) -> Bytes:
    """The pixels of an image file, shape ``(height, width, 3)``.

    Raises
    ------
    DataError
        When it is no image, larger than ``MOST_PIXELS``, or not of ``size`` (width, height).
    """
    try:
        with Image.open(io.BytesIO(body)) as image:
            wrong = size is not None and image.size != size
            if wrong or image.width * image.height > MOST_PIXELS:
                raise DataError(
                    f"this image has {image.width} x {image.height} pixels"
                    + (f", not {size[0]} x {size[1]}" if size and wrong else ""),
                    where=where,
                    remedy="take the file away, or replace it by one of the right size",
                )
            return np.asarray(image.convert("RGB"), dtype=np.uint8)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(
            f"this is no image that can be read: {error}",
            where=where,
            remedy="take the file away, or fetch it again",
        ) from error


def read_photos(manifest: Path) -> list[Photo]:
    """The photographs of a manifest: the article's in its order, others by name.

    Raises
    ------
    DataError, SourceError
        When a file is no image, or not the one that the manifest names.
    """
    known = Manifest.read(manifest)
    photos = [
        Photo(
            PurePosixPath(entry.path).stem,
            opened_image(known.read_verified(entry), known.file(entry)),
        )
        for entry in known.files
        if entry.path.lower().endswith((".jpg", ".jpeg", ".png"))
    ]
    order = {name: place for place, name in enumerate(PHOTOS)}
    return sorted(photos, key=lambda photo: (order.get(photo.name, len(order)), photo.name))


def are_the_article_s(names: Iterable[str]) -> bool:
    """Whether these are the five photographs that the publication looked at."""
    return tuple(names) == PHOTOS


def show_photos(*, photos: Path, pictures: Path, summary: Path) -> None:
    """Step: pixels and normalised values of every photograph.

    Parameters
    ----------
    photos
        Manifest of the photographs.
    pictures
        Output, safetensors: of each photograph ``<name>`` (a copy of at most 480 pixels) and
        ``<name>.resized``, bytes of shape ``(height, width, 3)``.
    summary
        Output, JSON: of each its name, size in pixels, shape, smallest and largest normalised
        value, and for each colour the counts in ``BINS`` equal bins of ``RANGE``.
    """
    found = read_photos(photos)
    tensors: dict[str, Bytes] = {}
    told: list[dict[str, Any]] = []
    for photo in found:
        height, width = photo.pixels.shape[:2]
        resized = photo.resized(SIDE)
        ready = normalised(resized, HALVES)
        tensors[photo.name] = _copy(photo.pixels)
        tensors[f"{photo.name}.resized"] = resized
        told.append(
            {
                "name": photo.name,
                "width": width,
                "height": height,
                "shape": list(ready.shape),
                "least": float(ready.min()),
                "most": float(ready.max()),
                "counts": [
                    np.histogram(colour, bins=BINS, range=RANGE)[0].tolist() for colour in ready
                ],
            }
        )
    save_file(tensors, pictures)
    write_json({"photos": told}, summary)


def _copy(pixels: Bytes) -> Bytes:
    image = Image.fromarray(pixels)
    image.thumbnail((480, 480), Image.Resampling.BILINEAR)
    return np.ascontiguousarray(np.asarray(image, dtype=np.uint8))
