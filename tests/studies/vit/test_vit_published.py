"""Every step that needs published weights, on random weights in the published layout."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from safetensors.torch import load_file

from answers import answer
from remeasure.errors import DataError, SourceError
from remeasure.store.frames import read_frame, read_json, write_json
from remeasure.studies.vit import chart_opened, chart_race, tables
from remeasure.studies.vit.backbone import read_backbone, take_backbone_features
from remeasure.studies.vit.features import FrozenStep
from remeasure.studies.vit.maps import permutation
from remeasure.studies.vit.opened import OpenDinoStep, open_dino, open_published
from remeasure.studies.vit.parts import measure_parts
from remeasure.studies.vit.photos import PHOTOS, show_photos
from remeasure.studies.vit.picture import SHOWN
from remeasure.studies.vit.probing import FeaturesStep, ProbeStep, take_features, train_probe
from remeasure.studies.vit.race import RaceMeasureStep, measure_race
from remeasure.studies.vit.runs import ACCURACY, CONFUSION, GUESSES, LEARNERS, NAMES, RUNS
from remeasure.studies.vit.settings import Length, ProbeSettings, SmallSettings, TunedSettings
from remeasure.studies.vit.tiles import TilesStep, read_tiles
from remeasure.studies.vit.training import SmallStep, TunedStep, fine_tune, train_small
from vit_files import (
    backbone_file,
    body_checkpoint,
    dinov2_checkpoint,
    photo_folder,
    tile_tables,
    vit_checkpoint,
)

pytest.importorskip("transformers", reason="transformers is the referee here")

SHORT = Length(batch=8, least=20, passes=0)
RACE = {"budgets": (1, 3), "seeds": 2, "test_per_class": None, "device": "cpu", "threads": 1}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("opened")
    photos = photo_folder(at)
    open_published(
        photos=photos,
        checkpoint=vit_checkpoint(at),
        opened=at / "opened.safetensors",
        summary=at / "opened.json",
    )
    show_photos(photos=photos, pictures=at / "p.safetensors", summary=at / "photos.json")
    return at


def test_the_published_model_is_opened_on_its_photographs(opened: Path) -> None:
    told, tensors = read_json(opened / "opened.json"), load_file(opened / "opened.safetensors")
    assert told["names"] == list(PHOTOS)
    assert told["parity"] < 1e-5
    assert told["embedding_difference"] < 1e-5
    assert told["order_difference"] < 1e-6
    assert [side["tokens"] for side in told["sides"]] == [50, 145]  # 56 and 96 pixels of 8
    assert [each["label"] for each in told["top"][0]].count("brown bear") == 1
    assert tensors["distance"].shape == (2, 3)
    assert tensors["rollout"].shape == (5, 7, 7)
    assert tensors["similarity"].shape == (7, 7, 7, 7)
    # Without positions the two orders answer alike, with them not.
    rows = {(r["positions"], r["patches"], r["image"]): r["probability"] for r in told["orders"]}
    same = [abs(rows["removed", "in order", n] - rows["removed", "shuffled", n]) for n in PHOTOS]
    other = [abs(rows["learned", "in order", n] - rows["learned", "shuffled", n]) for n in PHOTOS]
    assert max(same) < 1e-6 < max(other)
    assert permutation(49).tolist() != list(range(49))


def test_every_row_of_the_published_model_is_answered(opened: Path, tmp_path: Path) -> None:
    """The rows that name 224 and 384 pixels are those of a model of that size: told so here."""
    told = read_json(opened / "opened.json")
    for side, published in zip(told["sides"], (224, 384), strict=True):
        side["side"] = published
    write_json(told, tmp_path / "opened.json")
    measured = measure_parts(
        photos_summary=opened / "photos.json",
        opened_summary=tmp_path / "opened.json",
        cost=tmp_path / "cost.parquet",
        sizes=tmp_path / "sizes.json",
    )
    assert all(each.value is not None for each in measured)
    label = answer(measured, "fig_top5", "photo orca")
    assert label.value == told["top"][3][0]["label"]
    shares = answer(measured, "top-1 probability", "384 px; photo lava")
    assert shares.value == round(100 * told["sides"][1]["answers"][2]["probability"])
    assert "published weights" in answer(measured, "max abs logit difference").note


@pytest.mark.parametrize(
    "name", ["sequence", "top", "filters", "similarity", "distance", "rollout"]
)
def test_charts_of_the_published_model_have_their_numbers(opened: Path, name: str) -> None:
    chart = getattr(chart_opened, name)(
        load_file_numpy(opened / "opened.safetensors"), read_json(opened / "opened.json")
    )
    assert chart.data.height > 0
    assert "ViT-B/16" in chart.alt_text


def load_file_numpy(path: Path) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in load_file(path).items()}


def test_dino_s_maps_are_attention_of_the_last_block(opened: Path, tmp_path: Path) -> None:
    checkpoint = body_checkpoint(tmp_path, name="dino", image=24, patch=4)
    open_dino(
        photos=opened / "photos.manifest.json",
        checkpoint=checkpoint,
        opened=tmp_path / "dino.safetensors",
        summary=tmp_path / "dino.json",
        settings=OpenDinoStep(side=32),
    )
    maps = load_file(tmp_path / "dino.safetensors")["maps"]
    assert maps.shape == (5, 3, 8, 8)
    assert float(maps.sum((-2, -1)).max()) < 1  # the class token keeps its own share
    chart = chart_opened.dino(
        load_file_numpy(tmp_path / "dino.safetensors"), read_json(tmp_path / "dino.json")
    )
    assert chart.data["image"].unique(maintain_order=True).to_list() == list(SHOWN)
    # One row a patch, as drawn; the map of lava is computed and not drawn.
    names = read_json(tmp_path / "dino.json")["names"]
    for (image, head), part in chart.data.group_by("image", "head"):
        drawn = part.sort("row", "column")["attention"].to_numpy().reshape(8, 8)
        assert drawn == pytest.approx(maps[names.index(image), head].numpy())


def test_a_classifier_without_names_is_refused(tmp_path: Path) -> None:
    body = body_checkpoint(tmp_path)
    with pytest.raises(DataError, match="no classifier"):
        open_published(
            photos=photo_folder(tmp_path), checkpoint=body,
            opened=tmp_path / "o", summary=tmp_path / "s",
        )  # fmt: skip


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All four learners on thirty tiles of random blocks under EuroSAT's names."""
    at = tmp_path_factory.mktemp("raced")
    tiles = at / "tiles.safetensors"
    read_tiles(
        manifest=tile_tables(at),
        tiles=tiles,
        summary=at / "tiles.json",
        settings=TilesStep(test_per_class=1),
    )
    small = SmallSettings(
        side=16, patch=4, width=8, layers=1, heads=2, cnn_width=2, vit_rate=1e-2, cnn_rate=1e-2,
        length=SHORT,
    )  # fmt: skip
    for learner in ("vit", "cnn"):
        train_small(
            tiles=tiles,
            runs=at / f"runs_{learner}.parquet",
            guesses=at / f"guesses_{learner}.parquet",
            weights=at / f"weights_{learner}.safetensors",
            learner=learner,
            settings=SmallStep(save_every=0, small=small, **RACE),
            rng=np.random.default_rng(0),
        )
    fine_tune(
        tiles=tiles,
        checkpoint=body_checkpoint(at),
        runs=at / "runs_tuned.parquet",
        guesses=at / "guesses_tuned.parquet",
        weights=at / "weights_tuned.safetensors",
        settings=TunedStep(save_every=0, tuned=TunedSettings(rate=1e-3, length=SHORT), **RACE),
        rng=np.random.default_rng(0),
    )
    take_features(
        tiles=tiles,
        checkpoint=dinov2_checkpoint(at),
        features=at / "features.safetensors",
        settings=FeaturesStep(
            batch=16, most=3, test_per_class=None, device="cpu", threads=1, side=28
        ),
    )
    take_backbone_features(
        tiles=tiles,
        checkpoint=backbone_file(at),
        features=at / "shipped.safetensors",
        settings=FrozenStep(
            batch=16, most=3, test_per_class=None, device="cpu", threads=1, side=32
        ),
    )
    for learner, features in (("probe", "features"), ("shipped", "shipped")):
        train_probe(
            features=at / f"{features}.safetensors",
            runs=at / f"runs_{learner}.parquet",
            guesses=at / f"guesses_{learner}.parquet",
            learner=learner,
            settings=ProbeStep(
                budgets=(1, 3),
                seeds=2,
                probe=ProbeSettings(rate=0.01, decay=0.001, steps=30, batch=16),
            ),
            rng=np.random.default_rng(0),
        )
    return at


def test_every_learner_runs_every_budget_and_seed(raced: Path) -> None:
    for learner in NAMES:
        runs = read_frame(raced / f"runs_{learner}.parquet", RUNS)
        assert runs.select("budget", "seed").rows() == [(1, 0), (1, 1), (3, 0), (3, 1)]
        assert runs["tiles"].to_list() == [10, 10, 30, 30]
        guesses = read_frame(raced / f"guesses_{learner}.parquet", GUESSES)
        assert guesses.height == 4 * 20
    features = load_file(raced / "features.safetensors")
    assert features["train"].shape == (30, 48)
    assert load_file(raced / "shipped.safetensors")["train"].shape == (30, 1280)
    # The new head has one row a class and the weights are no longer those it started from.
    tuned = load_file(raced / "weights_tuned.safetensors")
    assert tuned["head.weight"].shape == (10, 24)


def race(raced: Path, at: Path, learners: tuple[str, ...]) -> list:
    return measure_race(
        tiles=raced / "tiles.safetensors",
        tiles_summary=raced / "tiles.json",
        runs=[raced / f"runs_{each}.parquet" for each in learners],
        guesses=[raced / f"guesses_{each}.parquet" for each in learners],
        accuracy=at / "accuracy.parquet",
        confusion=at / "confusion.parquet",
        samples=at / "samples.safetensors",
        summary=at / "race.json",
        settings=RaceMeasureStep(generated=False),
    )


def test_the_race_of_four(raced: Path, tmp_path: Path) -> None:
    measured = race(raced, tmp_path, tuple(LEARNERS))
    assert len({(m.output_id, m.quantity, m.condition) for m in measured}) == len(measured)
    table = read_frame(tmp_path / "accuracy.parquet", ACCURACY)
    assert table["learner"].to_list() == [each for each in LEARNERS for _ in range(2)]
    told = read_json(tmp_path / "race.json")
    assert told["learner"] == "ViT-B/16 pretrained"
    confusion = read_frame(tmp_path / "confusion.parquet", CONFUSION)
    own = pl.read_parquet(raced / "runs_tuned.parquet").filter(
        pl.col("budget") == 3, pl.col("seed") == 0
    )
    right = confusion.filter(pl.col("truth") == pl.col("guess"))["tiles"].sum()
    assert right == own["correct"][0] == told["tested"] - told["wrong"]
    assert answer(measured, "class name", "label 9").value == "SeaLake"
    assert "sample" in answer(measured, "train tensor dimension 0").coverage
    assert answer(measured, "training steps", "small nets; nominal n 16200").value == 7593
    samples = load_file_numpy(tmp_path / "samples.safetensors")
    assert samples["samples"].shape == (20, 20, 20, 3)
    assert len(samples["mistakes"]) == min(12, told["wrong"])
    assert "EuroSAT" in chart_race.race(table, told).alt_text


def test_a_learner_out_of_a_package_answers_no_published_row(raced: Path, tmp_path: Path) -> None:
    """With it the rows are those of the four, its name says whose it is, its lead is measured."""
    measured = race(raced, tmp_path, tuple(NAMES))
    told, table = (
        read_json(tmp_path / "race.json"),
        read_frame(tmp_path / "accuracy.parquet", ACCURACY),
    )
    four = race(raced, tmp_path, tuple(LEARNERS))
    assert [(m.quantity, m.condition, m.value) for m in measured] == [
        (m.quantity, m.condition, m.value) for m in four
    ]
    assert table["name"][-1] == "EfficientNet-Lite0 + linear probe"
    chart = chart_race.race(table, told)
    assert "Not one of the article's learners: EfficientNet-Lite0" in chart.alt_text
    frame = tables.race_frame(table, published=True)
    assert frame["learner"][-1].endswith("(none of the article's)")
    assert frame["published"][-1] is None
    pairs = told["orderings"]["pretrained_minus_scratch"]
    assert len(pairs) == 2 * 3 * 2  # budgets, pretrained learners, learners from scratch
    for pair in pairs:
        own = table.filter(pl.col("budget") == pair["budget"])
        one, other = (
            own.filter(pl.col("learner") == pair[side])["value"].item() for side in ("one", "other")
        )
        assert pair["value"] == pytest.approx(one - other)
        assert pair["low"] < pair["value"] < pair["high"]
    assert "EfficientNet-Lite0 + linear probe minus small ViT" in tables.orderings_in_words(
        told["orderings"]
    )


def test_features_out_of_a_package_are_of_the_tiles_as_the_net_reads_them(raced: Path) -> None:
    model = read_backbone(raced / "backbone.manifest.json")
    tiles, features = (
        load_file(raced / "tiles.safetensors"),
        load_file(raced / "shipped.safetensors"),
    )
    row = 7
    pixels = tiles["test"][features["test_row"][row]][None].float()
    grown = torch.nn.functional.interpolate(pixels, (32, 32), mode="bilinear")
    with torch.inference_mode():
        expected = model.features((grown - 127) / 128)[0]
    torch.testing.assert_close(features["test"][row], expected, atol=1e-5, rtol=1e-4)
    (raced / "backbone/lite0.pth").write_bytes(b"other")
    with pytest.raises(SourceError):
        read_backbone(raced / "backbone.manifest.json")


def test_without_pretrained_learners_rows_say_what_they_need(raced: Path, tmp_path: Path) -> None:
    measured = race(raced, tmp_path, ("vit", "cnn"))
    row = answer(measured, "test accuracy", "ViT-B/16 pretrained; 10 labels per class")
    assert row.value is None
    assert "published weights" in row.note
    assert "budgets are 1, 3" in row.note


RUN = """
import sys
from pathlib import Path
import numpy as np
from remeasure.studies.vit.training import SmallStep, train_small
out = Path(sys.argv[2])
train_small(
    tiles=Path(sys.argv[1]), runs=out / "runs", guesses=out / "guesses", weights=out / "weights",
    learner="cnn", settings=SmallStep.model_validate_json(sys.argv[3]),
    rng=np.random.default_rng(0),
)
"""


def test_a_killed_training_ends_with_the_same_bytes(raced: Path, tmp_path: Path) -> None:
    """SIGKILL in the second training, after a checkpoint of it, then the same step again."""
    small = SmallSettings(
        side=16, patch=4, width=8, layers=1, heads=2, cnn_width=2, vit_rate=1e-2, cnn_rate=1e-2,
        length=Length(batch=8, least=100, passes=0),
    )  # fmt: skip
    work = tmp_path / "work"
    told = SmallStep(
        save_every=5, small=small, work=str(work), **(RACE | {"budgets": (3,), "seeds": 2})
    )
    for out in ("broken", "whole"):
        (tmp_path / out).mkdir()
    words = [RUN, str(raced / "tiles.safetensors"), str(tmp_path / "broken")]
    project = Path(__file__).parents[3]
    env = {**os.environ, "PYTHONPATH": str(project / "workflow"), "OMP_NUM_THREADS": "1"}
    broken = subprocess.Popen([sys.executable, "-c", *words, told.model_dump_json()], env=env)
    deadline, seen = time.monotonic() + 120, set[str]()
    while len(seen) < 2:
        seen |= {path.name for path in work.glob("vit-cnn-*.pt")}
        assert broken.poll() is None, "the step ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    broken.send_signal(signal.SIGKILL)
    assert broken.wait() == -signal.SIGKILL
    assert not (tmp_path / "broken" / "runs").exists()
    (kept,) = work.glob("vit-cnn-*.pt")
    assert 0 < torch.load(kept, weights_only=True)["done"] < 100
    for out, place in (("broken", work), ("whole", tmp_path / "other")):
        train_small(
            tiles=raced / "tiles.safetensors",
            runs=tmp_path / out / "runs",
            guesses=tmp_path / out / "guesses",
            weights=tmp_path / out / "weights",
            learner="cnn",
            settings=told.model_copy(update={"work": str(place)}),
            rng=np.random.default_rng(0),
        )
    for name in ("runs", "guesses", "weights"):
        left, right = (tmp_path / out / name for out in ("broken", "whole"))
        assert left.read_bytes() == right.read_bytes(), name
    assert not list(work.glob("*.pt"))
