"""How fast raw archive files become features, beside the plain pandas way and the floor.

    python tests/benchmarks/bench_features.py [runs]

Reads the hourly files of the mirror (folder REMEASURE_MIRROR, default ../shared/mirror),
seven coins, 48 months. One process, one thread, the order of the variants reversed in
every other run. Seconds are those of the processor, so that other work on the machine
counts little; wall-clock medians stand beside them. The peak memory of each variant is
measured in a process of its own. Fails when the results differ by more than 1e-9, the
pipeline is less than 1.7 times as fast as pandas or needs more memory. Linux only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]
    import polars as pl

    from remeasure.studies.crypto.sources import CandlesStep

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "workflow"))

MIRROR = Path(os.environ.get("REMEASURE_MIRROR", PROJECT / "../shared/mirror")).resolve()
KLINES = MIRROR / "data.binance.vision/data/spot/monthly/klines"
FIRST, LAST = date(2022, 1, 1), date(2025, 12, 31)
COINS = tuple(sorted(path.parent.name for path in KLINES.glob("*/1h")))
STUDY = ("BTCUSDT", "ETHUSDT", "SOLUSDT")
WANTED = 1.7
RUNS = 11


def settings() -> CandlesStep:
    from remeasure.studies.crypto.settings import Dataset
    from remeasure.studies.crypto.sources import CandlesStep

    return CandlesStep(interval="1h", dataset=Dataset(coins=COINS, first=FIRST, last=LAST))


def write_manifest(path: Path) -> None:
    from remeasure.fetch.manifest import Manifest, RawFile, digest

    files = [path for coin in COINS for path in (KLINES / coin / "1h").glob("*.zip")]
    entries = [RawFile(file.relative_to(MIRROR).as_posix(), *digest(file)) for file in files]
    Manifest.of("crypto_spot_1h", "mirror", MIRROR, entries).write(path)


def pipeline(manifest: Path) -> pl.DataFrame:
    """This project's parsing and features, every check of a row, no checksum, no database."""
    from remeasure.fetch.manifest import Manifest, RawFile
    from remeasure.studies.crypto.features import hourly_bars, pooled_features
    from remeasure.studies.crypto.sources import read_coins

    class Unhashed(Manifest):
        """The one difference from a real run: bytes are taken as they are."""

        def read_verified(self, entry: RawFile) -> bytes:
            return self.file(entry).read_bytes()

    listed, asked = Unhashed.read(manifest), settings()
    bars = {
        coin: hourly_bars(candles, interval="1h", first=FIRST, last=LAST)
        for coin, candles in read_coins(listed, asked)
    }
    return pooled_features(bars, STUDY)


def whole_pipeline(manifest: Path) -> None:
    """Both steps as the workflow runs them: checksums verified, two databases written."""
    from remeasure.studies.crypto.features import HoursStep, build_hours
    from remeasure.studies.crypto.sources import parse_candles

    asked = settings()
    with tempfile.TemporaryDirectory() as folder:
        candles, hours = Path(folder, "candles.duckdb"), Path(folder, "hours.duckdb")
        parse_candles(manifest=manifest, candles=candles, settings=asked)
        build_hours(
            candles=candles,
            hours=hours,
            settings=HoursStep(interval="1h", dataset=asked.dataset, coins=STUDY),
        )


def plain_pandas(_: Path) -> pd.DataFrame:
    """The same table as one would write it in pandas: read each zip, concat, rolling."""
    import numpy as np
    import pandas as pd

    names = {0: "open_time", 2: "high", 3: "low", 4: "close", 5: "volume", 9: "taker"}
    kinds = {"open_time": "int64", **dict.fromkeys(list(names.values())[1:], "float64")}
    grid = pd.date_range(FIRST, pd.Timestamp(LAST) + pd.Timedelta(hours=23), freq="h")

    def hours(coin: str) -> pd.DataFrame:
        files = sorted((KLINES / coin / "1h").glob("*.zip"))
        parts = [
            pd.read_csv(
                file, header=None, usecols=list(names), names=list(names.values()), dtype=kinds
            )
            for file in files
        ]
        frame = pd.concat(parts, ignore_index=True)
        stamp = frame["open_time"].to_numpy()
        micro = np.where(stamp >= 10**14, stamp, stamp * 1000)
        frame.index = pd.DatetimeIndex(micro.astype("datetime64[us]"))
        return frame.reindex(grid)

    def features(frame: pd.DataFrame, btc: pd.DataFrame, coin: str, code: int) -> pd.DataFrame:
        out = pd.DataFrame(index=frame.index)
        close, log_btc = np.log(frame["close"]), np.log(btc["close"])
        for k in (1, 2, 4, 8, 24, 72, 168):
            out[f"ret_{k}"] = close.diff(k)
        for k in (1, 4, 24):
            out[f"btc_{k}"] = log_btc.diff(k)
        variance = close.diff() ** 2
        for n in (1, 24, 168):
            total = variance if n == 1 else variance.rolling(n).sum()
            out[f"vol_{n}"] = 0.5 * np.log(total + 1e-12)
        volume = frame["volume"].where(frame["volume"] > 0)
        out["vol_ratio"] = np.log(volume / frame["volume"].rolling(168).mean())
        out["taker_1"] = frame["taker"] / volume
        out["taker_24"] = frame["taker"].rolling(24).sum() / frame["volume"].rolling(24).sum()
        out["range_1"] = np.log(frame["high"] / frame["low"])
        out["hour"], out["dow"], out["coin"] = out.index.hour, out.index.day_of_week, code
        out["ret_next"] = close.shift(-1) - close
        out["up"] = frame["close"].shift(-1) > frame["close"]
        out.insert(0, "symbol", coin)
        return out.dropna()

    table = {coin: hours(coin) for coin in COINS}
    codes = {coin: at for at, coin in enumerate([*STUDY, *sorted(set(COINS) - set(STUDY))])}
    return pd.concat([features(table[c], table["BTCUSDT"], c, codes[c]) for c in COINS])


def decompress(_: Path) -> int:
    """The floor: read the zips and decompress them, nothing else."""
    import zipfile

    size = 0
    for coin in COINS:
        for file in (KLINES / coin / "1h").glob("*.zip"):
            with zipfile.ZipFile(file) as archive:
                size += len(archive.read(archive.namelist()[0]))
    return size


VARIANTS: dict[str, Callable[[Path], Any]] = {
    "pipeline": pipeline,
    "plain pandas": plain_pandas,
    "decompression alone": decompress,
    "pipeline, checksums and databases": whole_pipeline,
}


def largest_difference(ours: pl.DataFrame, theirs: pd.DataFrame) -> float:
    """Largest difference of any feature of any row; the rows must be the same ones."""
    import numpy as np

    from remeasure.studies.crypto.features import FEATURES

    assert ours["symbol"].to_list() == theirs["symbol"].to_list()
    assert (ours["known_hour"].to_numpy() == theirs.index.to_numpy()).all()
    assert (ours["up"].to_numpy() == theirs["up"].to_numpy(dtype=bool)).all()
    columns = [*FEATURES, "ret_next"]
    a = ours.select(columns).to_numpy().astype(np.float64)
    return float(np.abs(a - theirs[columns].to_numpy(np.float64)).max())


def seconds(variant: Callable[[Path], Any], manifest: Path) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    variant(manifest)
    return time.process_time() - cpu, time.perf_counter() - wall


def peak_mib(name: str, manifest: Path) -> float:
    done = subprocess.run(
        [sys.executable, __file__, "--child", name, str(manifest)],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(json.loads(done.stdout))


def child(name: str, manifest: Path) -> None:
    VARIANTS[name](manifest)
    # Not getrusage: its maximum outlives exec, so a child would report its parent's.
    status = Path("/proc/self/status").read_text()
    print(int(status.partition("VmHWM:")[2].split()[0]) / 1024)


def main(runs: int) -> int:
    import statistics

    from rich import box
    from rich.console import Console
    from rich.table import Table

    with tempfile.TemporaryDirectory() as folder:
        manifest = Path(folder, "crypto_spot_1h.manifest.json")
        write_manifest(manifest)
        ours, theirs = pipeline(manifest), plain_pandas(manifest)
        difference = largest_difference(ours, theirs)
        assert difference < 1e-9, difference
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in VARIANTS}
        for run in range(runs):
            for name in list(VARIANTS)[:: 1 if run % 2 else -1]:
                taken[name].append(seconds(VARIANTS[name], manifest))
        peaks = {name: peak_mib(name, manifest) for name in VARIANTS}
    cpu = {name: statistics.median(pair[0] for pair in taken[name]) for name in VARIANTS}
    wall = {name: statistics.median(pair[1] for pair in taken[name]) for name in VARIANTS}
    columns = ("variant", "s", "from", "to", "x decompression", "wall s", "peak MiB")
    table = Table(*columns, box=box.MARKDOWN)
    for name in VARIANTS:
        low, high = (pick(pair[0] for pair in taken[name]) for pick in (min, max))
        numbers = (f"{value:.3f}" for value in (cpu[name], low, high))
        ratio = f"{cpu[name] / cpu['decompression alone']:.2f}"
        table.add_row(name, *numbers, ratio, f"{wall[name]:.3f}", f"{peaks[name]:.0f}")
    faster = cpu["plain pandas"] / cpu["pipeline"]
    console = Console(width=120)
    console.print(table)
    console.print(
        f"{ours.height} rows, largest difference {difference:.1e}; median of {runs} runs;"
        f" the pipeline is {faster:.2f} times as fast as plain pandas (wanted {WANTED});"
        f" by the wall clock {wall['plain pandas'] / wall['pipeline']:.2f} times"
    )
    return int(faster < WANTED or peaks["pipeline"] > peaks["plain pandas"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], Path(sys.argv[3]))
    else:
        sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else RUNS))
