"""Train the chess model on characters of games, watched by the share of legal moves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import dataframely as dy
import numpy as np
import polars as pl
import torch
from torch import Tensor
from torch.nn import functional as F

from remeasure.fingerprint import fingerprint
from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.nn.device import device_of
from remeasure.nn.models.gpt2 import GPT2
from remeasure.nn.train.loop import Plan, train
from remeasure.nn.train.schedules import warmup_cosine
from remeasure.stats.proportion import wilson
from remeasure.store.frames import read_frame, read_json, write_frame, write_json
from remeasure.store.schema import declare
from remeasure.studies.gpt import article
from remeasure.studies.gpt.chess_model import ChessPlayer, fresh, save
from remeasure.studies.gpt.chess_text import encode_stream
from remeasure.studies.gpt.games import GAMES
from remeasure.studies.gpt.positions import POSITIONS
from remeasure.studies.gpt.published import answer, keys, measurement
from remeasure.studies.gpt.says import judged
from remeasure.studies.gpt.settings import Device, ModelSettings, TrainingSettings
from remeasure.studies.gpt.windows import drawn, starts, window

_MINUTES: Final = "a time, which no deterministic result holds"

LOG = declare(
    "training log",
    {
        "step": dy.Int64(min=1),
        "rate": dy.Float64(),
        "loss": dy.Float64(),
        "gradient_norm": dy.Float64(),
        "legal": dy.Float64(nullable=True),
        "low": dy.Float64(nullable=True),
        "high": dy.Float64(nullable=True),
    },
)

ASKED = tuple(
    key
    for key in (
        *keys("tab_training_log", "loss"),
        *keys("tab_training_log", "legal moves"),
        *keys("tab_training_log", "minutes"),
        *(key for key in keys("fig_training") if "dashed" not in key[1]),
    )
)


class TrainingStep(Model):
    """Settings of `train_model`.

    Attributes
    ----------
    model, training
        Sizes, and how to train.
    monitored
        Positions that watch it, the first of the test positions.
    device, threads
        Where it runs; threads of the CPU (one gives the same bytes everywhere).
    checkpoints
        Folder for the state of an unfinished training.
    """

    model: ModelSettings
    training: TrainingSettings
    monitored: int
    device: Device
    threads: int
    checkpoints: str


def next_character_loss(model: GPT2, batch: Tensor) -> Tensor:
    """Mean ``-log p`` of each character given all before it in its window, nats, in float32.

    ``batch`` holds ids, shape ``(windows, context + 1)``.
    """
    scores = model(batch[:, :-1]).float()
    return F.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten())


def train_model(
    *,
    games: Path,
    positions: Path,
    summary: Path,
    weights: Path,
    log: Path,
    training_facts: Path,
    settings: TrainingStep,
) -> list[Measurement]:
    """Step: train from fresh weights, or go on from where a killed run stood.

    Parameters
    ----------
    games, positions, summary
        Inputs, as the steps ``games`` and ``positions`` write them.
    weights
        Output, safetensors: the trained model.
    log
        Output, Parquet: see `LOG`.
    training_facts
        Output, JSON: characters of the stream, windows, parameters, device.

    Raises
    ------
    DataError
        When the training diverges, or a GPU is asked for and there is none.
    """
    torch.set_num_threads(settings.threads)
    texts = read_frame(games, GAMES).filter(~pl.col("test"))["text"].to_list()
    stream = encode_stream(texts)
    context, options = settings.model.context, settings.training
    begins = starts(stream, context)
    chosen = drawn(begins.size, options.steps, options.batch, options.seed)
    watched = read_frame(positions, POSITIONS).head(settings.monitored)
    device = device_of(settings.device)
    model = fresh(settings.model, options.seed)
    first_loss = _first_loss(model, window(stream, begins[chosen[0]], context))

    def batch(step: int) -> Tensor:
        taken = window(stream, begins[chosen[step]], context)
        return torch.from_numpy(taken).to(device)

    def observe(step: int, learner: GPT2) -> dict[str, float]:
        found = judged(ChessPlayer(learner, device), watched)
        return {"legal": float((found["verdict"] == "legal").sum())}

    checkpoint = _checkpoint(settings, games, positions)
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    table = train(
        model,
        next_character_loss,
        batch,
        plan=Plan(
            steps=options.steps,
            weight_decay=options.decay,
            betas=options.betas,
            clip=options.clip,
            decay="matrices",
            save_every=options.every,
            seed=options.seed,
        ),
        schedule=warmup_cosine(
            options.rate, options.steps, warm=options.warm_up, floor=options.floor
        ),
        device=device,
        checkpoint=checkpoint,
        observe=observe,
        observe_every=options.every,
        progress="training the chess model",
    )
    save(model.cpu(), weights)
    logged = _logged(table, watched.height)
    write_frame(logged, log, LOG)
    facts = read_json(summary)
    covered = coverage(settings, facts)
    write_json(
        {
            "parameters": model.config.parameters(),
            "characters": int(stream.size),
            "windows": int(begins.size),
            "first_loss": first_loss,
            "monitored": watched.height,
            "coverage": covered,
        },
        training_facts,
    )
    checkpoint.unlink(missing_ok=True)
    return answer(_answers(logged, settings, watched.height, covered), ASKED, _MINUTES)


def _checkpoint(settings: TrainingStep, games: Path, positions: Path) -> Path:
    """Where an unfinished training of these settings, data and code keeps its state."""
    digest = hashlib.sha256()
    for part in (games.read_bytes(), positions.read_bytes(), settings.model_dump_json().encode()):
        digest.update(hashlib.sha256(part).digest())
    digest.update(fingerprint(__name__).encode())
    return Path(settings.checkpoints) / f"{digest.hexdigest()[:16]}.pt"


@torch.inference_mode()
def _first_loss(model: GPT2, batch: np.ndarray[Any, np.dtype[np.int64]]) -> float:
    """Loss of the fresh weights on the first batch."""
    return float(next_character_loss(model, torch.from_numpy(batch)))


def _logged(table: pl.DataFrame, monitored: int) -> pl.DataFrame:
    """`LOG` out of the loop's table: steps count from 1, legal moves become shares."""
    shares: list[tuple[float | None, float | None, float | None]] = [
        (None, None, None) if each is None else (each / monitored, *wilson(int(each), monitored))
        for each in table["legal"]
    ]
    names = ("legal", "low", "high")
    return table.select(pl.col("step") + 1, "rate", "loss", "gradient_norm").with_columns(
        pl.Series(name, [each[place] for each in shares], dtype=pl.Float64)
        for place, name in enumerate(names)
    )


def coverage(settings: TrainingStep, facts: dict[str, Any]) -> str:
    """``whole`` for the published model on the published games; else what it is."""
    sizes, options, chess = settings.model, settings.training, article.CHESS
    same_model = tuple(sizes.model_dump().values()) == chess[:4]
    same_training = (options.steps, options.batch, options.rate, options.warm_up) == (
        article.STEPS,
        article.BATCH,
        article.RATE,
        article.WARM_UP,
    )
    if same_model and same_training and facts["coverage"] == WHOLE:
        return WHOLE
    return (
        f"another model: {sizes.layers} layers of width {sizes.width}, {options.steps} steps of"
        f" {options.batch} windows, {facts['training']} training games"
    )


def _answers(
    log: pl.DataFrame, settings: TrainingStep, monitored: int, covered: str
) -> Iterator[Measurement]:
    """Rows of the log by the share of the training that was done at their step."""
    looked = log.drop_nulls("legal")
    steps = [int(key[2].removeprefix("step ")) for key in keys("tab_training_log", "loss")]
    panels = {
        "loss": keys("fig_training", "left panel: loss"),
        "legal moves": keys("fig_training", "right panel: legal moves"),
    }
    for place, step in enumerate(steps):
        own = round(step / article.STEPS * settings.training.steps)
        row = looked.filter(pl.col("step") >= own).row(0, named=True)
        note = "" if covered == WHOLE else f"after {row['step']} of {settings.training.steps} steps"
        loss = (keys("tab_training_log", "loss")[place], panels["loss"][place])
        for key in loss:
            yield measurement(key, row["loss"], coverage=covered, note=note)
        legal = (keys("tab_training_log", "legal moves")[place], panels["legal moves"][place])
        for key, scale in zip(legal, (100.0, 1.0), strict=True):
            yield measurement(
                key,
                scale * row["legal"],
                low=scale * row["low"],
                high=scale * row["high"],
                n=monitored,
                coverage=covered,
                note=note,
            )
