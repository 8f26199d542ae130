"""Kronos-small, never fitted to these series: the next hour's candle from the 512 before it.

A forecast says "up" where the next close is forecast above the last one. It is made twice: as
the mean of a few paths of drawn tokens, the way the published predictor works, and along the one
path of likeliest tokens, which needs no chance. The publication does not say which it used, nor
how many paths it drew.

Which numbers a draw uses follows from the seed, the coin and the hour alone. So neither the
batch, nor the other hours that are forecast, nor the device changes them.

A window is the last 512 candles that there are. An hour lost to a halt has none and is skipped,
so that the window reaches further back: the model was trained on rows, and its marks say which
hour each is. (In the publication's window of 2026 no hour is lost, so nothing depends on it
there.)
"""

from __future__ import annotations

import hashlib
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from remeasure.errors import DataError
from remeasure.model import Model
from remeasure.nn.checkpoints.loading import load
from remeasure.nn.checkpoints.stored import read_stored
from remeasure.nn.device import Device, device_of
from remeasure.nn.models.kronos import KRONOS_NAMES, Kronos, KronosConfig
from remeasure.nn.models.kronos_forecast import COLUMNS, Sampling, forecast, likeliest, marks_of
from remeasure.nn.models.kronos_tokenizer import TOKENIZER_NAMES, KronosTokenizer, TokenizerConfig
from remeasure.store.frames import write_frame
from remeasure.store.tables import reader, select
from remeasure.studies.crypto.foundation_table import CONTEXT, HOURS, KRONOS, sized
from remeasure.studies.crypto.series import coin
from remeasure.studies.crypto.settings import Symbol

Times = NDArray[np.datetime64]
Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

HOUR = np.timedelta64(1, "h")
CLOSE = COLUMNS.index("close")

#: The second of the two forecasts.
LIKELIEST = f"{KRONOS}, likeliest tokens"

#: As the published predictor reads candles: without an amount, volume times the mean price.
_CANDLES = """
    SELECT hour, open, high, low, close,
           coalesce(volume, 0) AS volume,
           coalesce(quote_volume, volume * (open + high + low + close) / 4, 0) AS amount
    FROM hours
    WHERE symbol = ? AND close IS NOT NULL
    ORDER BY hour
"""


class SamplingSettings(Model):
    """How tokens are drawn: see `remeasure.nn.models.kronos_forecast.Sampling`.

    Attributes
    ----------
    samples
        Paths that a forecast is the mean of.
    seed
        Of the draws.
    """

    temperature: float = Field(gt=0)
    top_k: int = Field(ge=0)
    top_p: float = Field(gt=0, le=1)
    samples: int = Field(ge=1, le=1000)
    seed: int = Field(ge=0)


class KronosStep(Model):
    """What to forecast, and how.

    Attributes
    ----------
    first, last
        Days predicted, both included, UTC.
    every_hours
        1 for every hour; else every so many hours from the first midnight on.
    batch
        Windows in one pass.
    device
        ``auto`` takes a GPU where there is one.
    threads
        Of the processor. Sums are split differently over other numbers of threads.
    """

    coins: tuple[Symbol, ...]
    first: date
    last: date
    every_hours: int = Field(ge=1, le=168)
    sampling: SamplingSettings
    batch: int = Field(ge=1)
    device: Device
    threads: int = Field(ge=1)


def forecast_kronos(
    *, hours: Path, model: Path, tokenizer: Path, forecasts: Path, settings: KronosStep
) -> None:
    """Step: forecast the hours of a period with the weights of two checkpoints.

    Parameters
    ----------
    hours
        DuckDB file with the table ``hours``.
    model, tokenizer
        Manifests of the checkpoints: ``config.json`` and ``model.safetensors`` each.
    forecasts
        Output, Parquet: ``foundation_table.HOURS`` under two names, `KRONOS` (the mean of drawn
        paths) and `LIKELIEST`. Hours that 512 candles of the window do not precede have no row.

    Raises
    ------
    DataError
        When a checkpoint is not what it should be or the two do not fit, a coin has no hours,
        a forecast is no price, or a GPU is asked for that is not there.
    SourceError
        When the files of a checkpoint are not those of its manifest.
    """
    device = device_of(settings.device)
    torch.set_num_threads(settings.threads)
    reads, writes = read_models(tokenizer, model)
    reads.to(device), writes.to(device)
    size = sum(each.numel() for part in (reads, writes) for each in part.parameters())
    published = KronosConfig().parameters() + TokenizerConfig().parameters()
    names = [sized(name, size, published) for name in (KRONOS, LIKELIEST)]
    tables = []
    for symbol in settings.coins:
        times, candles = read_candles(hours, symbol)
        wanted = targets(settings.first, settings.last, settings.every_hours)
        end = np.searchsorted(times, wanted)  # first candle that is not before the hour
        enough = end >= CONTEXT
        wanted, end = wanted[enough], end[enough]
        draws = draws_of(symbol, wanted, settings)
        values = log_returns(reads, writes, times, candles, end, draws, settings)
        tables += [
            pl.DataFrame({"target_hour": wanted, "up": value > 0, "value": value}).select(
                pl.lit(name).alias("model"), pl.lit(coin(symbol)).alias("coin"), pl.all()
            )
            for name, value in zip(names, values.T, strict=True)
        ]
    write_frame(pl.concat(tables).sort("model", "coin", "target_hour"), forecasts, HOURS)


def read_models(tokenizer: Path, model: Path) -> tuple[KronosTokenizer, Kronos]:
    """Tokenizer and network of two manifests, float32, ready to forecast.

    Raises
    ------
    DataError, SourceError
        As in :func:`forecast_kronos`.
    """
    stored = read_stored(tokenizer)
    reads = KronosTokenizer(TokenizerConfig.of(stored.config, where=stored.where))
    load(reads, stored.tensors, TOKENIZER_NAMES, where=stored.where)
    stored = read_stored(model)
    writes = Kronos(KronosConfig.of(stored.config, where=stored.where))
    load(writes, stored.tensors, KRONOS_NAMES, where=stored.where)
    bits = [(part.s1_bits, part.s2_bits) for part in (reads.config, writes.config)]
    if bits[0] != bits[1] or reads.config.d_in != len(COLUMNS):
        raise DataError(
            f"tokens of {bits[0]} bits made of {reads.config.d_in} numbers do not fit a model of"
            f" tokens of {bits[1]} bits that are made of {len(COLUMNS)}",
            where=stored.where,
            remedy="name a model and its own tokenizer, as NeoQuasar/Kronos-small and"
            " NeoQuasar/Kronos-Tokenizer-base",
        )
    return reads.eval(), writes.eval()


def read_candles(hours: Path, symbol: str) -> tuple[Times, Floats]:
    """Hours of a coin that have a candle, and the candles in the order of `COLUMNS`.

    Raises
    ------
    DataError
        When there are none.
    """
    with reader(hours) as connection:
        rows = select(connection, _CANDLES, [symbol])
    if rows.is_empty():
        raise DataError(
            f"there are no hours of {symbol}",
            where=hours,
            remedy="add the coin to crypto.spot, or leave it out of crypto.coins",
        )
    return rows["hour"].cast(pl.Datetime("us")).to_numpy(), rows.select(COLUMNS).to_numpy()


def targets(first: date, last: date, every: int) -> Times:
    """The hours to predict: every so many from the first midnight on."""
    begin, end = np.datetime64(first, "us"), np.datetime64(last + timedelta(days=1), "us")
    return np.arange(begin, end, every * HOUR)


def draws_of(symbol: str, wanted: Times, settings: KronosStep) -> Tensor:
    """What the tokens of hours are drawn with, in [0, 1).

    Every coin has a stream of its own, and every hour from the first day on its place in it.

    Returns
    -------
    Tensor
        Float32, shape ``(hours, samples, 1, 2)``.
    """
    text = f"{settings.sampling.seed} {symbol}".encode()
    seed = int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 1
    place = ((wanted - np.datetime64(settings.first, "us")) // HOUR).astype(np.int64)
    shape = (int(place.max(initial=-1)) + 1, settings.sampling.samples, 1, 2)
    stream = torch.rand(shape, generator=torch.Generator().manual_seed(seed))
    return stream[torch.from_numpy(place)]


def log_returns(
    tokenizer: KronosTokenizer,
    model: Kronos,
    times: Times,
    candles: Floats,
    end: Rows,
    draws: Tensor,
    settings: KronosStep,
) -> Floats:
    """Forecast log returns from the last close to the next one.

    Parameters
    ----------
    times, candles
        From `read_candles`.
    end
        Where the window of each forecast ends: the first candle that it does not see.
    draws
        From `draws_of`.

    Returns
    -------
    numpy.ndarray
        Shape ``(forecasts, 2)``: from the mean of drawn paths, and from the likeliest.

    Raises
    ------
    DataError
        When a forecast close is not above zero.
    """
    how = settings.sampling
    sampling = Sampling(how.temperature, how.top_k, how.top_p)
    out = np.empty((end.size, 2))
    for part in range(0, end.size, settings.batch):
        own = slice(part, part + settings.batch)
        seen = end[own, np.newaxis] + np.arange(-CONTEXT, 0)
        windows = candles[seen].astype(np.float32)
        uniform = torch.cat((draws[own], likeliest(len(seen))), dim=1)
        paths = forecast(
            tokenizer,
            model,
            windows,
            marks_of(times[seen]),
            uniform=uniform,
            sampling=sampling,
            max_context=CONTEXT,
        )
        ahead = paths[:, :, 0, CLOSE].astype(np.float64)
        close = np.stack((ahead[:, :-1].mean(axis=1), ahead[:, -1]), axis=1)
        if not (close > 0).all():
            bad = int(np.flatnonzero((~(close > 0)).any(axis=1))[0])
            raise DataError(
                f"the close forecast after {times[seen[bad, -1]]} is no price: {close[bad]}",
                where="checkpoints of Kronos",
                remedy="check that the tokenizer is the one that the model was trained with",
            )
        out[own] = np.log(close / windows[:, -1:, CLOSE])
    return out
