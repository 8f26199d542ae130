"""How fast random strategies are, beside a dense matrix of their positions.

    python tests/benchmarks/bench_selection.py [runs]

20,000 paths over three years of hours, both ways on the same reversals, in slices of the
memory that the project allows itself; one process, one thread. The dense way fills a matrix
with one position an hour and takes means and standard deviations of its profits. Both times
include drawing the reversals. Seconds are those of the processor; the order is reversed in
every other run. Fails when the Sharpe ratios differ by more than 1e-9 or the median of the
project's way is not ten times as fast.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

if TYPE_CHECKING:
    import numpy as np

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "workflow"))

PATHS, BARS, FLIP, FEE, SEED = 20_000, 26_280, 1 / 24, 5e-4, 0
HOURS_A_YEAR = 8760
#: Paths of a dense slice: 100 MiB of profits.
DENSE_SLICE = 500
WANTED = 10.0
RUNS = 5


def returns() -> np.ndarray:
    import numpy as np

    return np.asarray(0.0065 * np.random.default_rng(1).standard_t(4, BARS) / math.sqrt(2))


def by_flips(earned: np.ndarray) -> np.ndarray:
    """The project's way."""
    import numpy as np

    from remeasure.studies.crypto.random_strategies import random_sharpes

    return random_sharpes(earned, PATHS, FLIP, FEE, np.random.default_rng(SEED))


def dense(earned: np.ndarray) -> np.ndarray:
    """The same reversals, every hour of every path written down."""
    import numpy as np

    from remeasure.studies.crypto import random_strategies as own

    rng = np.random.default_rng(SEED)
    signs = (2 * rng.integers(0, 2, PATHS) - 1).astype(np.int8)
    # The reversals are drawn in the project's slices, so that they are the same ones.
    drawn = max(1, int(own.SLICE_BYTES / (4 * 8 * (FLIP * BARS + 1))))
    out = np.empty(PATHS)
    for first in range(0, PATHS, drawn):
        flips = own.draw_flips(min(drawn, PATHS - first), BARS, FLIP, rng)
        for start in range(0, len(flips), DENSE_SLICE):
            part = flips[start : start + DENSE_SLICE]
            rows = slice(first + start, first + start + len(part))
            out[rows] = dense_slice(part, signs[rows], earned)
    return out


def dense_slice(flips: np.ndarray, signs: np.ndarray, earned: np.ndarray) -> np.ndarray:
    import numpy as np

    turned = np.zeros((len(flips), BARS + 1), dtype=np.int8)
    np.put_along_axis(turned, flips, 1, axis=1)
    turned = turned[:, :BARS]
    position = signs[:, None] * (1 - 2 * (np.cumsum(turned, axis=1, dtype=np.int32) & 1))
    pnl = position * earned
    pnl -= FEE * 2.0 * turned
    pnl[:, 0] -= FEE
    return np.asarray(pnl.mean(axis=1) / pnl.std(axis=1, ddof=1) * math.sqrt(HOURS_A_YEAR))


def seconds(way: Callable[[np.ndarray], np.ndarray], earned: np.ndarray) -> float:
    start = time.process_time()
    way(earned)
    return time.process_time() - start


def main(runs: int) -> int:
    import statistics

    import numpy as np

    earned = returns()
    difference = float(np.abs(by_flips(earned) - dense(earned)).max())
    assert difference < 1e-9, difference
    ways = {"reversals alone": by_flips, "dense positions": dense}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for run in range(runs):
        for name in list(ways)[:: 1 if run % 2 else -1]:
            taken[name].append(seconds(ways[name], earned))
    middle = {name: statistics.median(times) for name, times in taken.items()}
    for name, times in taken.items():
        print(f"{name}: {middle[name]:.2f} s (from {min(times):.2f} to {max(times):.2f})")
    faster = middle["dense positions"] / middle["reversals alone"]
    print(
        f"{PATHS:,} paths of {BARS:,} hours, largest difference {difference:.1e}; median of"
        f" {runs} runs; {faster:.1f} times as fast as dense positions (wanted {WANTED:g})"
    )
    return int(faster < WANTED)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else RUNS))
