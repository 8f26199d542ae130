"""Tiles and photographs in: every way they come, and what is refused."""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from remeasure.errors import ConfigError, DataError
from remeasure.fetch.manifest import Manifest, RawFile, digest
from remeasure.store.frames import read_json
from remeasure.studies.vit.fetching import (
    FetchPhotosStep,
    FetchTilesStep,
    fetch_photos,
    fetch_tiles,
)
from remeasure.studies.vit.generate import GenerateStep, generate_tiles, members, sizes
from remeasure.studies.vit.photos import PHOTOS, read_photos, show_photos
from remeasure.studies.vit.settings import DataFiles, GeneratorSettings, PackagePhotos
from remeasure.studies.vit.texture import CLASSES, textures
from remeasure.studies.vit.tiles import EUROSAT, TEST, TRAIN, TilesStep, load_split, read_tiles
from vit_files import photo_folder, picture, tile_tables

DATASET = DataFiles(id="timm/eurosat-rgb", files=("a.parquet",))
PACKAGE = PackagePhotos(
    distribution="scikit-learn", version="1.9.1", files=("sklearn/datasets/images/china.jpg",)
)


def read(manifest: Path, at: Path, test_per_class: int = 1) -> dict[str, object]:
    read_tiles(
        manifest=manifest,
        tiles=at / "tiles.safetensors",
        summary=at / "tiles.json",
        settings=TilesStep(test_per_class=test_per_class),
    )
    told: dict[str, object] = read_json(at / "tiles.json")
    return told


def listed(folder: Path, *paths: Path) -> Path:
    files = [RawFile(path.relative_to(folder).as_posix(), *digest(path)) for path in sorted(paths)]
    manifest = folder / "m.manifest.json"
    Manifest.of("vit_tiles", "files", folder, files).write(manifest)
    return manifest


def test_generated_tiles_are_unbalanced_and_come_back_byte_for_byte(tmp_path: Path) -> None:
    own = GeneratorSettings(seed=3, most=8, tests=2, noise=0.5)
    manifest = tmp_path / "m.json"
    settings = GenerateStep(generator=own, raw=str(tmp_path / "raw"))
    generate_tiles(manifest=manifest, settings=settings)
    first = manifest.read_bytes()
    generate_tiles(manifest=manifest, settings=settings)
    assert manifest.read_bytes() == first
    told = read(manifest, tmp_path)
    assert told["classes"] == list(CLASSES)
    assert told["train"] == sizes(8)
    assert (max(sizes(8)), min(sizes(8))) == (8, 6)
    assert told["test"] == [2] * 10
    assert told["eurosat"] is False
    taught = load_split(tmp_path / "tiles.safetensors", TRAIN)
    made = textures(CLASSES[0], 10, np.random.default_rng([3, 0]), noise=0.5)
    pixels = {tile.tobytes() for tile in made.transpose(0, 3, 1, 2)[:8]}
    assert {tile.tobytes() for tile in taught.pixels[taught.labels == 0]} == pixels
    # Classes are mixed: the first mistakes are not all of one class.
    assert len(set(taught.labels[:12])) > 3
    # A damaged zip is written again.
    (target,) = (tmp_path / "raw").rglob("*.zip")
    target.write_bytes(b"broken")
    generate_tiles(manifest=manifest, settings=settings)
    assert manifest.read_bytes() == first


def test_equal_settings_give_equal_bytes() -> None:
    own = GeneratorSettings(seed=3, most=8, tests=2, noise=0.5)
    assert dict(members(own)) == dict(members(own))


def test_no_class_is_told_by_brightness_or_colour() -> None:
    means = [
        textures(name, 150, np.random.default_rng([1, n]), noise=0.3).mean((1, 2))
        for n, name in enumerate(CLASSES)
    ]
    every = np.concatenate(means)
    for own in means:
        apart = np.abs(own.mean(0) - every.mean(0))
        assert np.all(apart < 4.5 * every.std(0) / np.sqrt(150))


def test_published_tables_keep_their_order_and_splits(tmp_path: Path) -> None:
    manifest = tile_tables(tmp_path, train=30, test=20, side=20)
    told = read(manifest, tmp_path)
    assert told["classes"] == list(EUROSAT)
    assert (told["eurosat"], told["train"], told["test"]) == (True, [3] * 10, [2] * 10)
    taught = load_split(tmp_path / "tiles.safetensors", TRAIN)
    assert taught.pixels.shape == (30, 3, 20, 20)
    assert taught.labels.tolist() == [n % 10 for n in range(30)]
    assert set(load_file(tmp_path / "tiles.safetensors")) == {
        "train", "train_label", "test", "test_label",
    }  # fmt: skip


def test_a_zip_and_a_folder_of_class_folders_are_one_set(tmp_path: Path) -> None:
    bodies = {f"{name}/{name}_{n}.png": picture(n, 20, 20) for name in "ab" for n in range(5)}
    packed, loose = tmp_path / "zip", tmp_path / "loose"
    packed.mkdir()
    with zipfile.ZipFile(packed / "t.zip", "w") as archive:
        archive.writestr("README.txt", "not a tile")
        for name, body in bodies.items():
            archive.writestr(name, body)
    for name, body in bodies.items():
        (loose / name).parent.mkdir(parents=True, exist_ok=True)
        (loose / name).write_bytes(body)
    found = []
    for place in (packed / "t.zip", loose):
        manifest = tmp_path / "m.json"
        fetch_tiles(
            manifest=manifest,
            settings=FetchTilesStep(origin="files", path=str(place), dataset=DATASET),
        )
        told = read(manifest, tmp_path, test_per_class=2)
        assert (told["train"], told["test"]) == ([3, 3], [2, 2])
        tested = load_split(tmp_path / "tiles.safetensors", TEST)
        found.append(Counter(tile.tobytes() for tile in tested.pixels))
    assert found[0] == found[1]


def _zip(entries: dict[str, bytes], **how: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", how.get("method", zipfile.ZIP_STORED)) as archive:
        for name, body in entries.items():
            archive.writestr(name, body)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"PK not a zip", "this zip cannot be read"),
        (_zip({"x.png": picture(0, 20, 20)}), "no class folder"),
        (_zip({"a/x.png": b"no image"}), "no image that can be read"),
        (_zip({"a/x.png": picture(0, 20, 20), "a/y.png": picture(0, 25, 25)}), "pixels, not"),
        (_zip({"a/x.png": picture(0, 20, 25)}), "no square"),
        (_zip({"a/x.png": picture(0, 20, 20)}), "no tile to train"),
        (_zip({"a/x.png": bytes(5 << 20)}, method=zipfile.ZIP_DEFLATED), "too large for a tile"),
        (_zip({"a.txt": b"words"}), "no tiles were found"),
    ],
)  # fmt: skip
def test_what_is_no_set_of_tiles_is_refused(tmp_path: Path, body: bytes, message: str) -> None:
    path = tmp_path / "t.zip"
    path.write_bytes(body)
    with pytest.raises(DataError, match=message):
        read(listed(tmp_path, path), tmp_path)


def test_tiles_that_are_not_named_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no tiles are named"):
        fetch_tiles(
            manifest=tmp_path / "m", settings=FetchTilesStep(origin="files", dataset=DATASET)
        )


def test_photographs_of_a_package_and_of_a_folder(tmp_path: Path) -> None:
    manifest = tmp_path / "m.json"
    fetch_photos(manifest=manifest, settings=FetchPhotosStep(origin="package", package=PACKAGE))
    (photo,) = read_photos(manifest)
    assert (photo.name, photo.pixels.shape) == ("china", (427, 640, 3))
    photo_folder(tmp_path)
    own = FetchPhotosStep(origin="files", folder=str(tmp_path / "photos"), package=PACKAGE)
    fetch_photos(manifest=manifest, settings=own)
    assert tuple(each.name for each in read_photos(manifest)) == PHOTOS
    show_photos(photos=manifest, pictures=tmp_path / "p.safetensors", summary=tmp_path / "p.json")
    told = read_json(tmp_path / "p.json")["photos"]
    assert [each["name"] for each in told] == list(PHOTOS)
    assert all(each["shape"] == [3, 224, 224] for each in told)
    assert all(-1 <= each["least"] < each["most"] <= 1 for each in told)
    assert all(sum(counts) == 224 * 224 for each in told for counts in each["counts"])


def test_photographs_need_their_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no folder is named"):
        fetch_photos(
            manifest=tmp_path / "m", settings=FetchPhotosStep(origin="files", package=PACKAGE)
        )
