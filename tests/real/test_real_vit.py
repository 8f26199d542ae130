"""Real EuroSAT tiles: read whole, and both nets learn from ten labels a class."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from remeasure.config import read_files, validate
from remeasure.fetch.settings import DataFiles
from remeasure.store.frames import read_frame, read_json
from remeasure.studies.vit.fetching import FetchTilesStep, fetch_tiles
from remeasure.studies.vit.runs import RUNS
from remeasure.studies.vit.settings import Length, Settings
from remeasure.studies.vit.tiles import EUROSAT, TilesStep, read_tiles
from remeasure.studies.vit.training import SmallStep, train_small

PROJECT = Path(__file__).parents[2]
FILES = Path(os.environ.get("REMEASURE_FILES", PROJECT / ".." / "shared" / "data"))
ZIP = FILES / "eurosat_rgb" / "eurosat_rgb_300_per_class.zip"

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not ZIP.is_file(), reason=f"no real tiles at {ZIP} (set REMEASURE_FILES)"
    ),
]  # fmt: skip


def test_real_tiles_are_read_and_learned(tmp_path: Path) -> None:
    manifest, tiles = tmp_path / "m.json", tmp_path / "tiles.safetensors"
    fetch_tiles(
        manifest=manifest,
        settings=FetchTilesStep(
            origin="files", path=str(ZIP), dataset=DataFiles(id="a/b", files=("x",))
        ),
    )
    read_tiles(
        manifest=manifest, tiles=tiles, summary=tmp_path / "t.json",
        settings=TilesStep(test_per_class=100),
    )  # fmt: skip
    told = read_json(tmp_path / "t.json")
    assert told["classes"] == list(EUROSAT)
    assert (told["eurosat"], told["train"], told["test"]) == (True, [200] * 10, [100] * 10)
    raw = read_files([PROJECT / "config/config.yaml", PROJECT / "config/vit_files.yaml"])
    section: Settings = validate(raw).section("vit")
    small = section.race.small.model_copy(
        update={"cnn_width": 8, "length": Length(batch=32, least=60, passes=0)}
    )
    shares = {}
    for learner in ("vit", "cnn"):
        train_small(
            tiles=tiles,
            runs=tmp_path / "r.parquet",
            guesses=tmp_path / "g.parquet",
            weights=tmp_path / "w.safetensors",
            learner=learner,
            settings=SmallStep(
                budgets=(10,), seeds=1, test_per_class=30, device="cpu", threads=1, save_every=0,
                small=small,
            ),
            rng=np.random.default_rng(0),
        )  # fmt: skip
        run = read_frame(tmp_path / "r.parquet", RUNS).row(0, named=True)
        shares[learner] = run["correct"] / run["tested"]
    assert shares["cnn"] > 0.3
    assert shares["vit"] > 0.2
