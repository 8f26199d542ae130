"""Generate the spot archive: raw files of the synthetic market, and the truth planted in it.

The files lie in a world of their own, ``<raw>/generated/<world>/``, in the
layout of the public archive, and go through the same reader. Everything in a
world follows from its name: a hash of the simulation's code, the seed, the
strength of the reversal and the window. Which coins and intervals are written
does not change a byte of the others.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import dataframely as dy
import numpy as np
import polars as pl
from pydantic import Field

from remeasure.errors import ConfigError, SourceError
from remeasure.fetch.binance import plan_klines
from remeasure.fetch.checksum import parse_checksum
from remeasure.fetch.manifest import Manifest, RawFile
from remeasure.fingerprint import fingerprint
from remeasure.model import Model
from remeasure.store.frames import write_frame, write_json
from remeasure.store.schema import declare
from remeasure.studies.crypto import candle_files, market, market_history
from remeasure.studies.crypto.market import Candles, SyntheticCoin
from remeasure.studies.crypto.settings import Dataset, GeneratorSettings, Interval, Month

log = logging.getLogger(__name__)

#: First day of the publication's forecasts.
FORECASTS_FROM = date(2022, 1, 1)

#: Columns of the planted truth by hour.
TRUTH_HOURS = declare(
    "planted truth by hour",
    {
        "symbol": dy.String(),
        "hour": dy.Datetime(),
        "sigma": dy.Float64(min_exclusive=0),
        "direction": dy.Float64(min=-1, max=1),
        "probability": dy.Float64(min=0, max=1),
        "forced": dy.Bool(),
    },
    unique=["symbol", "hour"],
)


class IntervalDataset(Dataset):
    """Candles to write: interval, coins and window."""

    interval: Interval


class GenerateStep(Model):
    """Settings of `generate_archive`.

    Attributes
    ----------
    raw
        Folder of raw data; files go to ``<raw>/generated/<world>/``.
    generator
        Seed of the world and strength of the planted reversal.
    datasets
        What to write, in the order of the manifests. The world's window runs from the
        earliest first day of candles shorter than a day to the latest last day; daily candles
        may begin earlier, see `market_history`.
    first_test
        First month of the walk-forward, for the summary of the truth.
    """

    raw: str = "data/raw"
    generator: GeneratorSettings
    datasets: tuple[IntervalDataset, ...] = Field(min_length=1)
    first_test: Month

    @property
    def first(self) -> date:
        """First day of the world."""
        intraday = [each.first for each in self.datasets if each.interval != "1d"]
        return min(intraday or [each.first for each in self.datasets])

    @property
    def last(self) -> date:
        """Last day of the world."""
        return max(dataset.last for dataset in self.datasets)

    @property
    def coins(self) -> tuple[str, ...]:
        """All coins of the datasets, each once, sorted."""
        return tuple(sorted({coin for dataset in self.datasets for coin in dataset.coins}))


def world_id(settings: GenerateStep) -> str:
    """Name of the world: 16 hexadecimal digits over the simulation's code and its parameters."""
    text = json.dumps(_world(settings), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def generate_archive(
    *, manifests: list[Path], truth: Path, truth_hours: Path, settings: GenerateStep
) -> None:
    """Step: write or complete the raw files of a world, one manifest an interval, and the truth.

    Files that are there already are hashed; the intact ones stay, damaged and missing ones are
    written again under a temporary name and renamed.

    Parameters
    ----------
    manifests
        Outputs, one for each of ``settings.datasets``, in their order.
    truth
        Output, JSON: the world's parameters, and for each coin how often the best forecast is
        right in three windows (null where the world has no such hours).
    truth_hours
        Output, Parquet, one row a coin and hour, see ``TRUTH_HOURS`` and `SyntheticCoin`.

    Raises
    ------
    ConfigError
        When the number of manifests is not that of the datasets.
    """
    if len(manifests) != len(settings.datasets):
        raise ConfigError(
            f"{len(manifests)} manifests are declared for {len(settings.datasets)} datasets",
            where="rule of the generator",
            remedy="declare one manifest for each interval, in the same order",
        )
    root = Path(settings.raw, "generated", world_id(settings))
    _replace(root / "world.json", json.dumps(_world(settings), indent=1, sort_keys=True).encode())
    files: list[list[RawFile]] = [[] for _ in settings.datasets]
    summaries: dict[str, Any] = {}
    hours: list[pl.DataFrame] = []
    shared = market.market(settings.first, settings.last, settings.generator.seed)
    # One coin at a time: a coin takes about 100 MB at the full window.
    for symbol in settings.coins:
        coin = market.simulate_coin(shared, symbol, settings.generator.beta)
        traded = coin.traded()
        for dataset, listed in zip(settings.datasets, files, strict=True):
            if symbol in dataset.coins:
                plan = plan_klines([symbol], dataset.interval, dataset.first, dataset.last)
                paths = [each.path for each in plan]
                candles = traded
                if dataset.first < settings.first:
                    seed, beta = settings.generator.seed, settings.generator.beta
                    candles = market_history.with_history(
                        traded, symbol, settings.first, seed=seed, beta=beta
                    )
                listed += write_archive(root, candles, dataset.interval, paths)
        summaries[symbol] = _summary(coin, settings)
        hours.append(truth_table(coin))
    for manifest, dataset, listed in zip(manifests, settings.datasets, files, strict=True):
        source = f"crypto_spot_{dataset.interval}"
        Manifest.of(source, "generated", root.as_posix(), listed).write(manifest)
    write_json({"world": _world(settings), "coins": summaries}, truth)
    write_frame(pl.concat(hours), truth_hours, TRUTH_HOURS)


def write_archive(
    root: Path, candles: Candles, interval: str, plan: Iterable[str | Path]
) -> list[RawFile]:
    """Write archive files of one coin and their checksum files; keep those that are intact.

    Parameters
    ----------
    root
        Folder of the world, under which the host's folder lies.
    candles
        Five-minute candles of the coin, only those that exist.
    interval
        Interval to write.
    plan
        Paths of the files below ``root``. A file without a candle is not written.

    Returns
    -------
    list of RawFile
        The files that are there now, in the order of the plan.
    """
    paths = [Path(path).as_posix() for path in plan]
    there = {path: _intact(root, path) for path in paths}
    if all(there.values()):
        log.info("%s: all %d files verified", _name(paths), len(paths))
        return [entry for entry in there.values() if entry is not None]
    all_rows = candle_files.rows(market.aggregate(candles, interval), interval)
    listed = []
    for path in paths:
        entry = there[path]
        if entry is None:
            body = candle_files.archive_file(all_rows, path)
            if body is None:
                continue
            entry = RawFile(path, len(body), hashlib.sha256(body).hexdigest())
            target = root / path
            _replace(target, body)
            _replace(_checksum(target), candle_files.checksum_file(target.name, body))
        listed.append(entry)
    kept = sum(entry is not None for entry in there.values())
    log.info("%s: %d files written, %d verified", _name(paths), len(listed) - kept, kept)
    return listed


def truth_table(coin: SyntheticCoin) -> pl.DataFrame:
    """The planted truth of a coin by hour, columns of ``TRUTH_HOURS``, halts included."""
    return pl.DataFrame(
        {
            "symbol": np.full(coin.hour.size, coin.symbol),
            "hour": coin.hour,
            "sigma": coin.sigma,
            "direction": coin.direction,
            "probability": coin.probability,
            "forced": coin.forced,
        }
    )


def _world(settings: GenerateStep) -> dict[str, Any]:
    return {
        "code": fingerprint(market.__name__, also=(candle_files.__name__, market_history.__name__)),
        "seed": settings.generator.seed,
        "beta": settings.generator.beta,
        "first": str(settings.first),
        "last": str(settings.last),
    }


def _summary(coin: SyntheticCoin, settings: GenerateStep) -> dict[str, Any]:
    windows = {
        "window": settings.first,
        "from_2022": FORECASTS_FROM,
        "from_first_test": date.fromisoformat(f"{settings.first_test}-01"),
    }
    rates = {name: coin.bayes_hit_rate(first, settings.last) for name, first in windows.items()}
    return {
        "bayes_hit_rate": {
            name: None if math.isnan(rate) else rate for name, rate in rates.items()
        },
        "annual_volatility": market.annual_volatility(coin.symbol),
    }


def _intact(root: Path, path: str) -> RawFile | None:
    """The entry of a file that is there and is what its checksum file promises."""
    target = root / path
    try:
        body, promise = target.read_bytes(), _checksum(target).read_bytes()
        promised = parse_checksum(promise, target.name, where=target)
    except (FileNotFoundError, SourceError):
        return None
    found = hashlib.sha256(body).hexdigest()
    return RawFile(path, len(body), found) if found == promised else None


def _checksum(target: Path) -> Path:
    return target.with_name(target.name + ".CHECKSUM")


def _replace(target: Path, body: bytes) -> None:
    """Write under a temporary name in the same folder, then rename."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".tmp-{os.getpid()}-{target.name}")
    temporary.write_bytes(body)
    temporary.replace(target)


def _name(paths: list[str]) -> str:
    return Path(paths[0]).parent.as_posix() if paths else "no files"
