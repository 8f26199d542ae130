"""Published checkpoints opened: all that GPT-2's weights answer, and what Karvonen's file says.

Nothing is loaded where the configuration names no source of checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.ledger.reference import Key
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.studies.gpt.published import NEEDS_GPT2, NEEDS_KARVONEN, answer, keys
from remeasure.studies.gpt.read_tables import LENS, TOKENS
from remeasure.studies.gpt.settings import Device
from remeasure.studies.gpt.typed import frame_of

#: Rows that need GPT-2's weights.
WEIGHTS: tuple[Key, ...] = (
    *(key for key in keys("stat_gpt2_load") if key[1] != "parameters loaded"),
    *(key for key in keys("stat_gpt2_parity") if "largest" in key[1]),
    *keys("stat_alphago_loss", "mean loss"),
    *(key for key in keys("fig_alphago_probs") if "labels" not in key[1]),
    *keys("stat_ruy_lopez", "greedy text, 40 new tokens"),
    *keys("stat_samples"),
    *(key for key in keys("fig_logit_lens") if key[1] != "states shown"),
)
#: Rows that Karvonen's file alone answers.
LOADED: tuple[Key, ...] = tuple(
    key
    for key in keys("stat_karvonen_load")
    if "computed" not in key[1] and key[1] not in ("ours", "biases of ours set to zero")
)


class ReadingStep(Model):
    """Settings of `measure_reading`: where networks run."""

    device: Device
    threads: int


def measure_reading(
    *,
    gpt2: list[Path],
    karvonen: list[Path],
    tokens: Path,
    lens: Path,
    settings: ReadingStep,
) -> list[Measurement]:
    """Step: read the published checkpoints.

    Parameters
    ----------
    gpt2, karvonen
        Inputs, JSON: manifests of both checkpoints, or nothing.
    tokens, lens
        Outputs, Parquet: see ``read_tables``; empty without GPT-2.
    """
    tables = [frame_of([], each) for each in (TOKENS, LENS)]
    measured: list[Measurement] = []
    if gpt2:
        tables, measured = _gpt2(gpt2[0], settings)
    for table, path, schema in zip(tables, (tokens, lens), (TOKENS, LENS), strict=True):
        write_frame(table, path, schema)
    return [
        *answer(measured, WEIGHTS, NEEDS_GPT2),
        *answer(_karvonen(karvonen), LOADED, NEEDS_KARVONEN),
    ]


def _gpt2(manifest: Path, settings: ReadingStep) -> tuple[list[pl.DataFrame], list[Measurement]]:
    import torch

    from remeasure.nn.device import device_of
    from remeasure.studies.gpt import gpt2_reading

    torch.set_num_threads(settings.threads)
    own, ignored = gpt2_reading.opened(manifest, device_of(settings.device))
    tables = [gpt2_reading.large_tokens(own), gpt2_reading.large_lens(own)]
    return tables, list(gpt2_reading.answers(own, ignored, manifest, *tables))


def _karvonen(manifests: list[Path]) -> Iterator[Measurement]:
    if manifests:
        from remeasure.studies.gpt.karvonen import answers, read_checkpoint

        yield from answers(read_checkpoint(manifests[0]), LOADED)
