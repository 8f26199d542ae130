"""Forecasting with Kronos: candles to tokens, tokens on from there, tokens back to candles.

The rules are those of the published predictor. A window is normalised column by column in
single precision. The next token's coarse half is chosen, then its fine half. A window longer
than ``max_context`` slides, and its first token then stands at place 0. Several paths may be
drawn; the published forecast is their mean. The hour that comes next never enters, not even
its place in the calendar: marks belong to candles that are there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from remeasure.nn.models.kronos import Kronos
from remeasure.nn.models.kronos_tokenizer import KronosTokenizer

COLUMNS = ("open", "high", "low", "close", "volume", "amount")
CLIP = 5.0
TINY = np.float32(1e-5)

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Sampling:
    """How a token is drawn.

    Attributes
    ----------
    temperature
        Divides the logits, above 0.
    top_k
        Only the k likeliest; 0 for no such limit. Where it is set, `top_p` does not count.
    top_p
        Only the likeliest whose probabilities without the last of them sum to at most this
        (Holtzman et al. 2020); 1 for no such limit.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 0.9


def keep_likely(logits: Tensor, *, top_k: int = 0, top_p: float = 1.0) -> Tensor:
    """Logits with the unlikely ones at minus infinity; see `Sampling`. ``(..., n)`` in and out."""
    if top_k > 0:
        least = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[..., -1:]
        return logits.masked_fill(logits < least, -torch.inf)
    if top_p >= 1.0:
        return logits
    ordered, order = logits.sort(dim=-1, descending=True, stable=True)
    reached = ordered.softmax(-1).cumsum(-1)
    drop = torch.zeros_like(reached, dtype=torch.bool)
    drop[..., 1:] = reached[..., :-1] > top_p
    return logits.masked_fill(torch.zeros_like(drop).scatter(-1, order, drop), -torch.inf)


def choose(logits: Tensor, uniform: Tensor, sampling: Sampling) -> Tensor:
    """A token for each row of logits.

    Parameters
    ----------
    logits
        Shape ``(..., n)``.
    uniform
        Float32, shape ``(...)``. A number in [0, 1) takes the token whose stretch of the
        cumulative distribution holds it; NaN the likeliest token, the first of equals.

    Returns
    -------
    Tensor
        Integers of shape ``(...)``.
    """
    likeliest = logits.argmax(-1)
    kept = keep_likely(logits / sampling.temperature, top_k=sampling.top_k, top_p=sampling.top_p)
    reached = kept.double().softmax(-1).cumsum(-1)
    # A float32 below 1 times the whole is below the whole in float64: no token beyond the last.
    level = uniform.double().nan_to_num().unsqueeze(-1) * reached[..., -1:]
    drawn = torch.searchsorted(reached, level, right=True).squeeze(-1)
    return torch.where(uniform.isnan(), likeliest, drawn)


@torch.inference_mode()
def generate(
    tokenizer: KronosTokenizer,
    model: Kronos,
    x: Tensor,
    marks: Tensor,
    *,
    uniform: Tensor,
    sampling: Sampling = Sampling(),
    max_context: int = 512,
) -> Tensor:
    """Normalised candles that follow windows, along one or more paths.

    The paths of a window share their first pass through the network.

    Parameters
    ----------
    x
        Normalised candles, shape ``(batch, length, 6)``.
    marks
        Of the known candles and of all that follow but the last, integers of shape
        ``(batch, length + steps - 1, 5)``.
    uniform
        What each choice of a coarse and a fine half is made of, see `choose`: float32, shape
        ``(batch, paths, steps, 2)``.

    Returns
    -------
    Tensor
        Shape ``(batch, paths, steps, 6)``.

    Raises
    ------
    ValueError
        When the shapes disagree, or more candles are asked for than fit a window.
    """
    batch, length, _ = x.shape
    windows, paths, steps, _ = uniform.shape
    if not 1 <= steps <= max_context:
        raise ValueError(f"steps must be from 1 to {max_context}, not {steps}")
    if windows != batch or marks.shape[:2] != (batch, length + steps - 1):
        raise ValueError(
            f"{batch} windows of {length} candles and {steps} steps do not fit marks of shape"
            f" {tuple(marks.shape)} and numbers of shape {tuple(uniform.shape)}"
        )

    coarse, fine = tokenizer.encode(x)  # (batch, length)
    for step in range(steps):
        end = length + step
        begin = max(0, end - max_context)
        hidden = model(coarse[:, begin:], fine[:, begin:], marks[:, begin:end])
        # First all paths hang on one window; afterwards each is a window of its own.
        fan = paths if step == 0 else 1
        first_draw, second_draw = uniform[:, :, step].reshape(-1, fan, 2).unbind(-1)
        logits = model.coarse_logits(hidden[:, -1:]).expand(-1, fan, -1)
        first = choose(logits, first_draw, sampling)  # (windows, fan)
        second = choose(model.fine_logits(hidden, first), second_draw, sampling)
        if step == 0:
            coarse, fine, marks = (
                each.repeat_interleave(paths, 0) for each in (coarse, fine, marks)
            )
        coarse = torch.cat((coarse, first.reshape(-1, 1)), dim=1)
        fine = torch.cat((fine, second.reshape(-1, 1)), dim=1)
    candles = tokenizer.decode(coarse[:, -max_context:], fine[:, -max_context:])[:, -steps:]
    return candles.reshape(batch, paths, steps, -1)


def forecast(
    tokenizer: KronosTokenizer,
    model: Kronos,
    candles: Floats,
    marks: NDArray[np.int64],
    *,
    uniform: Tensor,
    sampling: Sampling = Sampling(),
    max_context: int = 512,
) -> Floats:
    """Candles that follow windows of candles; every window is forecast from itself alone.

    Parameters
    ----------
    candles
        In the order of `COLUMNS`, in their own units, shape ``(batch, length, 6)``.
    marks
        See `marks_of`, shape ``(batch, length + steps - 1, 5)``.
    uniform, sampling, max_context
        See `generate`; `likeliest` gives numbers for the likeliest path.

    Returns
    -------
    numpy.ndarray
        Float32, shape ``(batch, paths, steps, 6)``, in the units of ``candles``.
    """
    device = model.norm.weight.device
    x = np.asarray(candles, dtype=np.float32)
    mean, spread = x.mean(axis=1, keepdims=True), x.std(axis=1, keepdims=True) + TINY
    scaled = np.clip((x - mean) / spread, -CLIP, CLIP)
    paths = generate(
        tokenizer,
        model,
        torch.from_numpy(scaled).to(device),
        torch.from_numpy(np.ascontiguousarray(marks)).to(device),
        uniform=uniform.to(device),
        sampling=sampling,
        max_context=max_context,
    )
    out: Floats = paths.cpu().numpy() * spread[:, np.newaxis] + mean[:, np.newaxis]
    return out


def likeliest(batch: int, steps: int = 1) -> Tensor:
    """What `choose` takes for one path of the likeliest tokens."""
    return torch.full((batch, 1, steps, 2), torch.nan)


def marks_of(times: NDArray[np.datetime64]) -> NDArray[np.int64]:
    """Minute, hour, weekday (Monday 0), day, month of times in UTC: ``(...)`` to ``(..., 5)``."""
    minute, hour, day, month = (times.astype(f"datetime64[{unit}]") for unit in "mhDM")
    return np.stack(
        [
            (minute - hour).astype(np.int64),
            (hour - day).astype(np.int64),
            (day.astype(np.int64) + 3) % 7,  # 1970-01-01 was a Thursday
            (day - month.astype("datetime64[D]")).astype(np.int64) + 1,
            month.astype(np.int64) % 12 + 1,
        ],
        axis=-1,
    )
