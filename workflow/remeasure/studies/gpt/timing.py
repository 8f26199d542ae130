"""What a cache of keys and values saves: counted always, timed where the settings ask for it.

Times differ from run to run, so that by default no result holds any: then the work of a token
is counted, in multiply-adds, for GPT-2's sizes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import dataframely as dy
import numpy as np
import polars as pl

from remeasure.ledger.measurement import Measurement
from remeasure.ledger.reference import Key
from remeasure.model import Model
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.studies.gpt import article
from remeasure.studies.gpt.article import Sizes
from remeasure.studies.gpt.published import NEEDS_TIMING, answer, keys, measurement
from remeasure.studies.gpt.settings import Device, TimingSettings
from remeasure.studies.gpt.typed import frame_of

if TYPE_CHECKING:
    import torch

    from remeasure.nn.models.gpt2 import GPT2

#: Tokens of the published prompt.
PROMPT: Final = 19
_WARM: Final = 5

COSTS = declare(
    "cost of a token",
    {
        "length": dy.Int64(min=1),
        "cached": dy.Bool(),
        "multiply_adds": dy.Int64(),
        "milliseconds": dy.Float64(nullable=True),
    },
)

ASKED: tuple[Key, ...] = (
    *(key for key in keys("stat_kv_timing") if key[2] != "setting"),
    *keys("fig_kv_timing", "shape without the cache"),
    *keys("fig_kv_timing", "shape with the cache"),
)


class TimingStep(Model):
    """Settings of `measure_timing`: whether and how long to time, and where."""

    timing: TimingSettings
    device: Device
    threads: int


def multiply_adds(sizes: Sizes, length: int, *, cached: bool) -> int:
    """Multiply-adds of the step that makes token ``length + 1``.

    Matrices cost 12 d² a layer and token, scores and means 2 d a layer and pair of tokens, the
    output V d once. Without a cache all tokens are computed again, and all their pairs (the
    causal half of them); with one, the newest alone.
    """
    layers, d = sizes.layers, sizes.width
    tokens = 1 if cached else length
    pairs = length if cached else length * (length + 1) // 2
    return layers * (12 * d * d * tokens + 2 * d * pairs) + sizes.vocabulary * d


def counted(steps: int) -> pl.DataFrame:
    """`COSTS` without times, for GPT-2."""
    sizes = article.FAMILY["gpt2"]
    lines = [
        (PROMPT + step, cached, multiply_adds(sizes, PROMPT + step, cached=cached), None)
        for cached in (False, True)
        for step in range(steps)
    ]
    return frame_of(lines, COSTS)


def timed(steps: int, device: Device) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Milliseconds of each step without a cache and with one, shape ``(2, steps)``.

    A model of GPT-2's size with random weights: no weight changes what a product costs.
    """
    import torch

    from remeasure.nn.device import device_of
    from remeasure.nn.models.gpt2 import GPT2, GPT2_SMALL, initialise

    place = device_of(device)
    model = GPT2(GPT2_SMALL)
    initialise(model, article.SEED)
    model.eval().to(place)
    ids = torch.randint(
        50_257, (1, PROMPT), generator=torch.Generator().manual_seed(article.SEED)
    ).to(place)
    found = np.zeros((2, steps))
    with torch.inference_mode():
        _run(model, ids, _WARM, cached=True)
        for row, cached in enumerate((False, True)):
            found[row] = _run(model, ids, steps, cached=cached)
    return found


def _run(model: GPT2, ids: torch.Tensor, steps: int, *, cached: bool) -> list[float]:
    import torch

    def wait() -> None:
        if ids.device.type == "cuda":
            torch.cuda.synchronize()

    cache = model.cache(1, ids.shape[1] + steps) if cached else None
    text, fresh, spent = ids, ids, []
    for _ in range(steps):
        wait()
        began = time.perf_counter()
        scores = model.logits(model.hidden(fresh if cached else text, None, cache)[:, -1])
        fresh = scores.argmax(-1, keepdim=True)
        wait()
        spent.append(1e3 * (time.perf_counter() - began))
        text = torch.cat((text, fresh), dim=1)
    return spent


def measure_timing(*, costs: Path, settings: TimingStep) -> list[Measurement]:
    """Step: the cost of each token without a cache and with one.

    Parameters
    ----------
    costs
        Output, Parquet: see `COSTS`; times are null where they are not measured.
    """
    steps = settings.timing.steps
    table = counted(steps)
    measured: list[Measurement] = []
    if settings.timing.measure:
        import torch

        torch.set_num_threads(settings.threads)
        spent = timed(steps, settings.device)
        table = table.with_columns(pl.Series("milliseconds", spent.ravel(), dtype=pl.Float64))
        measured = list(_answers(spent, steps))
    write_frame(table, costs, COSTS)
    return answer(measured, ASKED, NEEDS_TIMING)


def _answers(
    spent: np.ndarray[tuple[int, int], np.dtype[np.float64]], steps: int
) -> Iterator[Measurement]:
    covered = f"{steps} tokens on this machine, not {article.TIMED_STEPS} on a T4"
    seconds = spent.sum(axis=1) / 1e3
    values: dict[str, float | str] = {
        "without the cache": float(seconds[0]),
        "with the cache": float(seconds[1]),
        "ratio": float(seconds[0] / seconds[1]),
        "shape without the cache": growth(spent[0]),
        "shape with the cache": growth(spent[1]),
    }
    for key in ASKED:
        yield measurement(key, values[key[1]], coverage=covered)


def growth(times: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    """Whether the last quarter of the steps takes clearly longer than the second quarter."""
    second, last = np.array_split(times, 4)[1], np.array_split(times, 4)[3]
    return "rising" if np.median(last) > 1.3 * np.median(second) else "flat"
