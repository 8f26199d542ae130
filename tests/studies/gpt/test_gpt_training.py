"""Training as a step: the loss falls, results repeat, and a killed run ends as an unbroken one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import typing
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from torch.nn import functional as F

from gpt_small import training_step
from remeasure.studies.gpt.chess_model import fresh
from remeasure.studies.gpt.chess_text import encode_stream
from remeasure.studies.gpt.settings import ModelSettings
from remeasure.studies.gpt.training import next_character_loss, train_model
from remeasure.studies.gpt.windows import starts, window

RUN = """
import sys
from pathlib import Path
from remeasure.studies.gpt.training import TrainingStep, train_model
at, out = Path(sys.argv[1]), Path(sys.argv[2])
train_model(
    games=at / "games.parquet", positions=at / "positions.parquet", summary=at / "games.json",
    weights=out / "weights", log=out / "log", training_facts=out / "facts",
    settings=TrainingStep.model_validate_json(sys.argv[3]),
)
"""


def run(at: Path, out: Path, settings: typing.Any) -> subprocess.Popen[bytes]:
    out.mkdir(exist_ok=True)
    words = [sys.executable, "-c", RUN, str(at), str(out), settings.model_dump_json()]
    project = Path(__file__).parents[3]
    env = {**os.environ, "PYTHONPATH": str(project / "workflow"), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(words, env=env)


def test_a_killed_training_ends_with_the_same_bytes(made: typing.Any, tmp_path: Path) -> None:
    """SIGKILL after the first checkpoint, then the same step again."""
    given = training_step(made.settings, tmp_path)
    # Long enough to be killed on the way, with a checkpoint every few steps.
    longer = given.training.model_copy(update={"steps": 120, "every": 4})
    given = given.model_copy(update={"training": longer, "monitored": 1})
    broken = run(made.at, tmp_path / "broken", given)
    unfinished = Path(given.checkpoints)
    deadline = time.monotonic() + 120
    while not list(unfinished.glob("*.pt")):
        assert broken.poll() is None, "the training ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    broken.send_signal(signal.SIGKILL)
    assert broken.wait() == -signal.SIGKILL
    assert not (tmp_path / "broken" / "weights").exists()
    (kept,) = unfinished.glob("*.pt")
    assert 0 < torch.load(kept, weights_only=True)["done"] < 120
    for out, checkpoints in (("broken", given.checkpoints), ("whole", str(tmp_path / "other"))):
        target = tmp_path / out
        target.mkdir(exist_ok=True)
        train_model(
            games=made.at / "games.parquet",
            positions=made.at / "positions.parquet",
            summary=made.at / "games.json",
            weights=target / "weights",
            log=target / "log",
            training_facts=target / "facts",
            settings=given.model_copy(update={"checkpoints": checkpoints}),
        )
    for name in ("weights", "log", "facts"):
        left, right = (tmp_path / out / name for out in ("broken", "whole"))
        assert left.read_bytes() == right.read_bytes()
    assert not list(unfinished.glob("*.pt"))


def test_the_log_of_the_small_run(made: typing.Any) -> None:
    log = pl.read_parquet(made.at / "training_log.parquet")
    assert log["step"].to_list() == list(range(1, 7))
    assert log.drop_nulls("legal")["step"].to_list() == [3, 6]
    assert log["loss"][-1] < log["loss"][0]
    assert 3.4 < log["loss"][0] < 4.3


def test_a_model_learns_to_repeat_a_game() -> None:
    """A few steps on one game: the loss of its text falls far below that of the alphabet."""
    from remeasure.nn.train.loop import Plan, train
    from remeasure.nn.train.schedules import warmup_cosine

    stream = encode_stream([";1.e4 e5 2.Nf3 Nc6 3.Bb5 a6 4.Ba4 Nf6 5.O-O Be7"] * 3)
    begins = starts(stream, 40)
    taken = torch.from_numpy(window(stream, begins[:1], 40))
    model = fresh(ModelSettings(layers=2, width=32, heads=2, context=64), 1)
    table = train(
        model,
        next_character_loss,
        lambda step: taken,
        plan=Plan(steps=60, betas=(0.9, 0.95), clip=1.0, decay="matrices"),
        schedule=warmup_cosine(0.01, 60, warm=5),
    )
    assert table["loss"][-1] < 0.3 < 3 < table["loss"][0]


def test_the_loss_is_the_mean_of_minus_log_p() -> None:
    model = fresh(ModelSettings(layers=1, width=16, heads=2, context=64), 1)
    batch = torch.from_numpy(np.random.default_rng(1).integers(0, 32, (3, 11)))
    with torch.inference_mode():
        chances = F.softmax(model(batch[:, :-1]).double(), -1)
        wanted = -chances.gather(2, batch[:, 1:, None]).log().mean()
        found = next_character_loss(model, batch)
    assert float(found) == pytest.approx(float(wanted), rel=1e-5)
