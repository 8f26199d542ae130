"""Generate the funding archive: monthly files of payments whose yearly averages are planted.

Rates persist like the real ones, and the payments of each year add up to a number that was
chosen beforehand, to the last digit that a file can hold. What a reader of the files finds
for a year is therefore known exactly: nothing is left to sampling.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import Field

from remeasure.fetch.binance import plan_funding
from remeasure.fetch.manifest import Manifest
from remeasure.fingerprint import fingerprint
from remeasure.model import Model
from remeasure.store.frames import write_json
from remeasure.studies.crypto import candle_files
from remeasure.studies.crypto.raw_files import put_raw
from remeasure.studies.crypto.settings import Dataset

Integers = npt.NDArray[np.int64]
Times = npt.NDArray[np.datetime64]

#: Rates have eight decimals: they are counted in units of the last one.
UNIT = 1e-8

#: Hours between payments, and payments in a year of 365 days.
HOURS = 8
PAYMENTS = 365 * 24 // HOURS

#: Planted yearly averages: median in percent, and spread of their logarithms.
MEDIAN_PERCENT, SPREAD = 9.0, 0.6

#: Rates around the yearly average: standard deviation, and half-life of their memory in days.
SD, HALF_LIFE = 0.9e-4, 6.0


class GenerateFundingStep(Model):
    """Settings of `generate_funding`.

    Attributes
    ----------
    dataset
        Contracts, first and last day. Files are whole months all the same.
    seed
        Seed of the world; every contract draws from a stream of its own.
    raw
        Folder of raw data; files go to ``<raw>/generated/<world>/``.
    """

    dataset: Dataset
    seed: int = Field(ge=0)
    raw: str = "data/raw"


def world(settings: GenerateFundingStep) -> dict[str, Any]:
    """What the bytes of a world follow from; contracts are none of it."""
    return {
        "code": fingerprint(__name__),
        "seed": settings.seed,
        "first": str(settings.dataset.first),
        "last": str(settings.dataset.last),
    }


def world_id(settings: GenerateFundingStep) -> str:
    """Name of the world: 16 hexadecimal digits over code, seed and window."""
    text = json.dumps(world(settings), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def generate_funding(*, manifest: Path, truth: Path, settings: GenerateFundingStep) -> None:
    """Step: write or complete the funding files of a world, their manifest and the truth.

    Parameters
    ----------
    manifest
        Output, JSON: the files.
    truth
        Output, JSON: for each contract and year, within the window, the number of
        payments, their sum in units of 1e-8, and how many are negative.
    """
    window = settings.dataset
    root = Path(settings.raw, "generated", world_id(settings))
    plan = plan_funding(window.coins, window.first, window.last)
    files, planted = [], {}
    for symbol in sorted(window.coins):
        months = [each for each in plan if each.symbol == symbol]
        times = _grid(months[0].first, months[-1].last)
        stream = _stream(settings.seed, symbol)
        rates = planted_rates(times, window, stream)
        planted[symbol] = summary(times, rates, window)
        late = stream.integers(0, 10, times.size)
        for each in months:
            inside = _between(times, each.first, each.last)
            body = csv_body(times[inside], rates[inside], late[inside])
            packed = candle_files.zipped(each.member, body)
            files.append(put_raw(root, each.path, packed, checksum=True))
    Manifest.of("crypto_funding", "generated", root.as_posix(), files).write(manifest)
    write_json({"world": world(settings), "contracts": planted}, truth)


def planted_rates(times: Times, window: Dataset, rng: np.random.Generator) -> Integers:
    """Rates in units of 1e-8; those of each year inside the window have the planted sum.

    An autoregressive series around the year's average. Payments of the first and last month
    that lie outside the window belong to no year.
    """
    memory = 0.5 ** (HOURS / 24 / HALF_LIFE)
    shocks = rng.standard_normal(times.size) * math.sqrt(1 - memory**2)
    noise = np.empty(times.size)
    level = rng.standard_normal()
    for index, shock in enumerate(shocks.tolist()):
        level = memory * level + shock
        noise[index] = level
    rates = np.rint(SD * noise / UNIT).astype(np.int64)
    for _, inside in years(times, window):
        percent = MEDIAN_PERCENT * math.exp(SPREAD * rng.standard_normal())
        count = int(np.count_nonzero(inside))
        total = round(percent / 100 / PAYMENTS * count / UNIT)
        missing = total - int(rates[inside].sum())
        share, rest = divmod(missing, count)
        # The first payments of the year take one unit more: together exactly what is missing.
        rates[inside] += share + (np.arange(count) < rest)
    return rates


def summary(times: Times, rates: Integers, window: Dataset) -> dict[str, dict[str, int]]:
    """Payments, sum (units of 1e-8) and negative ones of each year inside the window."""
    return {
        year: {
            "payments": int(np.count_nonzero(inside)),
            "sum": int(rates[inside].sum()),
            "negative": int(np.count_nonzero(rates[inside] < 0)),
        }
        for year, inside in years(times, window)
    }


def years(times: Times, window: Dataset) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
    """Each calendar year of the window, and which payments lie in both."""
    inside = _between(times, window.first, window.last)
    own = times.astype("datetime64[Y]")
    for year in np.unique(own[inside]):
        yield str(year), inside & (own == year)


def csv_body(times: Times, rates: Integers, late_ms: Integers) -> bytes:
    """The bytes of one file: header, time in milliseconds, interval, rate with 8 decimals."""
    stamps = times.astype("datetime64[ms]").astype(np.int64) + late_ms
    lines = ["calc_time,funding_interval_hours,last_funding_rate"]
    for stamp, rate in zip(stamps.tolist(), rates.tolist(), strict=True):
        sign, size = "-" if rate < 0 else "", abs(rate)
        lines.append(f"{stamp},{HOURS},{sign}{size // 10**8}.{size % 10**8:08d}")
    return ("\n".join(lines) + "\n").encode("ascii")


def _grid(first: object, last: object) -> Times:
    end = np.datetime64(str(last), "h") + np.timedelta64(24, "h")
    return np.arange(np.datetime64(str(first), "h"), end, np.timedelta64(HOURS, "h"))


def _between(times: Times, first: object, last: object) -> npt.NDArray[np.bool_]:
    day = times.astype("datetime64[D]")
    return (day >= np.datetime64(str(first), "D")) & (day <= np.datetime64(str(last), "D"))


def _stream(seed: int, name: str) -> np.random.Generator:
    """A stream of its own for every contract: adding one never moves another."""
    words = np.random.SeedSequence([seed, *f"funding {name}".encode()])
    return np.random.Generator(np.random.PCG64(words))
