"""Write the generated set as a zip of class folders, the way a user's own tiles may come."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from remeasure.fetch.manifest import Manifest, RawFile, digest
from remeasure.fingerprint import fingerprint
from remeasure.model import Model
from remeasure.studies.vit import texture
from remeasure.studies.vit.settings import GeneratorSettings
from remeasure.studies.vit.texture import CLASSES, textures

#: Where the zip lies below its world, and the split that the folders of a class belong to.
PATH = "textures/textures.zip"
TRAIN, TEST = "train", "test"


class GenerateStep(Model):
    """Settings of `generate_tiles`; files go to ``<raw>/generated/<world>/``."""

    generator: GeneratorSettings
    raw: str = "data/raw"


def sizes(most: int) -> list[int]:
    """Training tiles of each class: unequal, from ``most`` down to three quarters of it."""
    last = len(CLASSES) - 1
    return [most - round(most / 4 * place / last) for place in range(len(CLASSES))]


def generate_tiles(*, manifest: Path, settings: GenerateStep) -> None:
    """Step: write the zip of a world unless it is there whole, and its manifest.

    Parameters
    ----------
    manifest
        Output, JSON: see `remeasure.fetch.manifest`.
    """
    own = settings.generator
    world = json.dumps(
        {"code": fingerprint(texture.__name__), **own.model_dump()}, sort_keys=True
    ).encode()
    root = Path(settings.raw, "generated", hashlib.sha256(world).hexdigest()[:16])
    target = root / PATH
    promise = target.with_name(target.name + ".sha256")
    if not (
        target.is_file() and promise.is_file() and promise.read_text("utf-8") == digest(target)[1]
    ):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".tmp-{os.getpid()}-{target.name}")
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
            for name, body in members(own):
                archive.writestr(zipfile.ZipInfo(name), body)
        temporary.replace(target)
        promise.write_text(digest(target)[1], "utf-8")
    entry = RawFile(PATH, *digest(target))
    Manifest.of("vit_tiles", "generated", root.as_posix(), [entry]).write(manifest)


def members(settings: GeneratorSettings) -> Iterator[tuple[str, bytes]]:
    """Names and PNG bytes of every tile: ``<split>/<class>/<class>_<number>.png``."""
    for place, (name, most) in enumerate(zip(CLASSES, sizes(settings.most), strict=True)):
        rng = np.random.default_rng([settings.seed, place])
        made = textures(name, most + settings.tests, rng, noise=settings.noise)
        for number, pixels in enumerate(made):
            split = TRAIN if number < most else TEST
            stream = io.BytesIO()
            # Noise hardly compresses: the fastest level is enough.
            Image.fromarray(pixels).save(stream, "PNG", compress_level=1)
            yield f"{split}/{name}/{name}_{number:05d}.png", stream.getvalue()
