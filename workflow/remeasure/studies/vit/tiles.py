"""Tiles out of raw files, whichever way they come, with their labels and their two splits.

The published set is two tables, one a split, in an order of their own. Everything else is images
in class folders, in a zip or on disk, in the order of the hashes of their names; where they stand
in folders ``train`` and ``test`` the split is theirs, and where they do not the first ones of
each class are for testing.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath

import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from remeasure.errors import DataError
from remeasure.fetch.manifest import Manifest, RawFile
from remeasure.model import Model
from remeasure.store.frames import write_json
from remeasure.studies.vit.photos import opened_image

Bytes = NDArray[np.uint8]
Labels = NDArray[np.int64]

TRAIN, TEST = "train", "test"
#: Classes of EuroSAT in the order of their labels.
EUROSAT = (
    "AnnualCrop",
    "Forest",
    "HerbaceousVegetation",
    "Highway",
    "Industrial",
    "Pasture",
    "PermanentCrop",
    "Residential",
    "River",
    "SeaLake",
)
IMAGES = (".jpg", ".jpeg", ".png", ".tif", ".tiff")
#: No tile is larger than this, packed.
_TILE_BYTES = 4 << 20


class TilesStep(Model):
    """Settings of `read_tiles`: test tiles of each class where the files have no split."""

    test_per_class: int


@dataclass(frozen=True)
class Raw:
    """A tile before it is unpacked: split ('' for none), class, file name, bytes.

    ``listed`` is true where a published table gives the order of tiles.
    """

    split: str
    name: str
    file: str
    body: bytes
    listed: bool = False

    @property
    def place(self) -> bytes:
        """The hash of its name: an order that is as good as random and never changes."""
        return hashlib.sha256(self.file.encode()).digest()


@dataclass(frozen=True)
class Tiles:
    """One split: pixels of shape ``(n, 3, side, side)`` and labels of shape ``(n,)``."""

    pixels: Bytes
    labels: Labels


def read_tiles(*, manifest: Path, tiles: Path, summary: Path, settings: TilesStep) -> None:
    """Step: unpack every tile.

    Parameters
    ----------
    manifest
        Of the raw files.
    tiles
        Output, safetensors: ``train`` and ``test`` (bytes, channels first), ``train_label`` and
        ``test_label``, each split in the order of its table, or of the hashes of its names.
    summary
        Output, JSON: names of the classes in the order of their labels, tiles of each class in
        each split, and whether these are EuroSAT's names.

    Raises
    ------
    DataError
        When a file is no tile, sizes differ, or a class has no tile for one of the splits.
    SourceError
        When a raw file is not the one that the manifest names.
    """
    known = Manifest.read(manifest)
    raw = list(raw_tiles(known))
    if not raw:
        raise DataError(
            "no tiles were found",
            where=manifest,
            remedy="name a zip or a folder that holds one folder of images for each class",
        )
    classes = sorted({each.name for each in raw})
    split = list(split_up(raw, settings.test_per_class))
    every = unpacked(split, classes)
    of = np.array([each.split for each in split])
    made = {
        part: Tiles(every.pixels[of == part], every.labels[of == part]) for part in (TRAIN, TEST)
    }
    counts = {
        part: np.bincount(own.labels, minlength=len(classes)).tolist() for part, own in made.items()
    }
    for part, found in counts.items():
        if 0 in found:
            raise DataError(
                f"the class {classes[found.index(0)]} has no tile to {part}",
                where=manifest,
                remedy="give each class more tiles than vit.tiles.test_per_class",
            )
    save_file(
        {
            "train": made[TRAIN].pixels,
            "train_label": made[TRAIN].labels,
            "test": made[TEST].pixels,
            "test_label": made[TEST].labels,
        },
        tiles,
    )
    write_json(
        {"classes": classes, **counts, "eurosat": classes == list(EUROSAT), "origin": known.origin},
        summary,
    )


def load_split(path: Path, split: str) -> Tiles:
    """One split of what `read_tiles` wrote."""
    tensors = load_file(path)
    return Tiles(tensors[split], tensors[f"{split}_label"])


def split_up(raw: Iterable[Raw], test_per_class: int) -> Iterator[Raw]:
    """Tiles with a split each, in the order of a table, or else of their names' hashes."""
    unlisted = []
    for each in raw:
        if each.listed:
            yield each
        else:
            unlisted.append(each)
    taken: Counter[str] = Counter()
    for tile in sorted(unlisted, key=lambda each: each.place):
        if tile.split:
            yield tile
            continue
        split = TEST if taken[tile.name] < test_per_class else TRAIN
        taken[tile.name] += 1
        yield Raw(split, tile.name, tile.file, tile.body)


def unpacked(raw: Iterable[Raw], classes: list[str]) -> Tiles:
    """Pixels and labels in the order given.

    Raises
    ------
    DataError
        When a tile is no image, or not a square of the size of the first.
    """
    labels = {name: label for label, name in enumerate(classes)}
    ordered = list(raw)
    pixels: list[Bytes] = []
    for each in ordered:
        size = pixels[0].shape[:2] if pixels else None
        image = opened_image(each.body, each.file, size=size and (size[1], size[0]))
        if image.shape[0] != image.shape[1]:
            raise DataError(
                f"this tile has {image.shape[1]} x {image.shape[0]} pixels and is no square",
                where=each.file,
                remedy="take the file away, or cut it to a square",
            )
        pixels.append(image)
    return Tiles(
        np.ascontiguousarray(np.stack(pixels).transpose(0, 3, 1, 2)),
        np.array([labels[each.name] for each in ordered], dtype=np.int64),
    )


def raw_tiles(known: Manifest) -> Iterator[Raw]:
    """Every tile of the manifest's files, in their order; other files are passed over."""
    for entry in known.files:
        suffix = PurePosixPath(entry.path).suffix.lower()
        if suffix == ".parquet":
            yield from _of_table(known, entry)
        elif suffix == ".zip":
            yield from _of_zip(known, entry)
        elif suffix in IMAGES:
            split, name = _folders(PurePosixPath(entry.path), known.file(entry))
            yield Raw(split, name, entry.path, known.read_verified(entry))


def _folders(path: PurePosixPath, where: object) -> tuple[str, str]:
    """Split and class of a path; DataError when it stands in no class folder."""
    parts = path.parts
    if len(parts) < 2:
        raise DataError(
            "this tile stands in no class folder",
            where=where,
            remedy="put the tiles of each class into a folder with its name",
        )
    return (parts[-3] if len(parts) > 2 and parts[-3] in (TRAIN, TEST) else ""), parts[-2]


def _of_zip(known: Manifest, entry: RawFile) -> Iterator[Raw]:
    where = known.file(entry)
    try:
        with zipfile.ZipFile(BytesIO(known.read_verified(entry))) as archive:
            infos = [
                each
                for each in archive.infolist()
                if PurePosixPath(each.filename).suffix.lower() in IMAGES
            ]
            twice = [name for name, n in Counter(i.filename for i in infos).items() if n > 1]
            for info in sorted(infos, key=lambda each: each.filename):
                if info.file_size > _TILE_BYTES or info.flag_bits & 1 or twice:
                    raise DataError(
                        f"the member {(twice or [info.filename])[0]} is too large for a tile,"
                        " encrypted, or there twice",
                        where=where,
                        remedy="pack the tiles anew: one folder a class, plain files",
                    )
                split, name = _folders(PurePosixPath(info.filename), f"{where}: {info.filename}")
                yield Raw(split, name, info.filename, archive.read(info))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise DataError(
            f"this zip cannot be read: {error}", where=where, remedy="fetch or pack it again"
        ) from error


def _of_table(known: Manifest, entry: RawFile) -> Iterator[Raw]:
    """The published table of a split: records of bytes, and names that begin with the class."""
    where = known.file(entry)
    split = PurePosixPath(entry.path).name.partition("-")[0]
    try:
        table = pl.read_parquet(BytesIO(known.read_verified(entry)), columns=["image", "image_id"])
        bodies = table["image"].struct.field("bytes").to_list()
        names = table["image_id"].cast(pl.String).to_list()
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"this is no table of tiles: {error}",
            where=where,
            remedy="compare with the published columns: image (bytes), label, image_id",
        ) from error
    if split in (TRAIN, TEST):
        for body, name in zip(bodies, names, strict=True):
            yield Raw(split, name.partition("_")[0], name, body, listed=True)
