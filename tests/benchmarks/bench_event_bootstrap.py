"""How fast the event bootstrap is, beside resampling rows with pandas.

    python tests/benchmarks/bench_event_bootstrap.py [runs]

400 resamples of 12,000 events with 18,000 markets: mean returns of 14 bands, both sides of every
market, weighted. The plain way draws events with replacement, gathers their rows and groups them
by band, once a resample. Both ways are given the same draws and must agree to 1e-9. One process,
one thread; the order is reversed in every other run; seconds are those of the processor, and
include the making of counts from the draws. The fastest runs are compared: whatever else the
machine does can only make a run slower. Fails when the project's way is not 30 times as fast as
the faster of both plain ones.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

if TYPE_CHECKING:
    import numpy as np

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "workflow"))

MARKETS, EVENTS, RESAMPLES, SEED = 18_000, 12_000, 400, 20_261_031
EDGES = (50, 200, 500, *range(1000, 10_000, 1000), 9500, 9800, 9950)
WANTED = 30.0
RUNS = 5


@dataclass(frozen=True)
class Contracts:
    """Both sides of every market."""

    event: np.ndarray
    price: np.ndarray
    gain: np.ndarray
    weight: np.ndarray
    band: np.ndarray
    drawn: np.ndarray


def contracts() -> Contracts:
    import numpy as np
    from scipy.special import expit

    from remeasure.stats.bands import band, complement, ticks

    rng = np.random.default_rng(SEED)
    event = np.concatenate([np.arange(EVENTS), rng.integers(0, EVENTS, MARKETS - EVENTS)])
    tick = ticks(np.clip(np.rint(2000 * expit(2.5 * rng.standard_normal(MARKETS) - 1.5)), 1, 1999) / 2000)  # fmt: skip  # noqa: E501
    won = rng.random(MARKETS) < tick / 10_000
    both = np.concatenate([tick, complement(tick)])
    y = np.concatenate([won, ~won])
    return Contracts(
        event=np.tile(event, 2),
        price=both / 10_000,
        gain=y / (both / 10_000) - 1,
        weight=np.tile(1 / rng.uniform(0.02, 1, MARKETS), 2),
        band=band(both, EDGES),
        drawn=rng.integers(0, EVENTS, (RESAMPLES, EVENTS)),
    )


def by_sums(given: Contracts) -> np.ndarray:
    """The project's way: sums of each event once, then one matrix product."""
    import numpy as np

    from remeasure.stats.cluster_bootstrap import Clusters, cluster_sums

    bands = len(EDGES) - 1
    inside = given.band >= 0
    cell = np.zeros((given.band.size, bands))
    cell[np.flatnonzero(inside), given.band[inside]] = given.weight[inside]
    both = np.stack([cell * given.gain[:, None], cell], axis=-1)
    sums = cluster_sums(both, Clusters(given.event, EVENTS)).reshape(EVENTS, -1)
    flat = given.drawn + np.arange(RESAMPLES)[:, None] * EVENTS
    counts = np.bincount(flat.ravel(), minlength=RESAMPLES * EVENTS).reshape(RESAMPLES, EVENTS)
    drawn = (counts.astype(np.float64) @ sums).reshape(RESAMPLES, bands, 2)
    return np.asarray(drawn[..., 0] / drawn[..., 1])


def by_rows(given: Contracts) -> np.ndarray:
    """The same draws, row by row in pandas."""
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame(
        {
            "event": given.event,
            "band": given.band,
            "w": given.weight,
            "wr": given.weight * given.gain,
        }
    )
    frame = frame[frame["band"] >= 0].set_index("event").sort_index()
    rows_of = frame.groupby(level=0).indices
    empty = np.empty(0, dtype=np.int64)
    out = np.empty((RESAMPLES, len(EDGES) - 1))
    for number, events in enumerate(given.drawn):
        rows = np.concatenate([rows_of.get(event, empty) for event in events])
        grouped = frame.iloc[rows].groupby("band")[["wr", "w"]].sum()
        out[number] = (grouped["wr"] / grouped["w"]).reindex(range(len(EDGES) - 1))
    return out


def by_merge(given: Contracts) -> np.ndarray:
    """The same draws with one merge a resample, the usual way to write it."""
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame(
        {
            "event": given.event,
            "band": given.band,
            "w": given.weight,
            "wr": given.weight * given.gain,
        }
    )
    frame = frame[frame["band"] >= 0]
    out = np.empty((RESAMPLES, len(EDGES) - 1))
    for number, events in enumerate(given.drawn):
        rows = pd.DataFrame({"event": events}).merge(frame, on="event")
        grouped = rows.groupby("band")[["wr", "w"]].sum()
        out[number] = (grouped["wr"] / grouped["w"]).reindex(range(len(EDGES) - 1))
    return out


VARIANTS: dict[str, Callable[[Contracts], Any]] = {
    "sums and counts": by_sums,
    "pandas, merge": by_merge,
    "pandas, gathered rows": by_rows,
}


def main(runs: int) -> int:
    import numpy as np
    from rich import box
    from rich.console import Console
    from rich.table import Table

    given = contracts()
    results = {name: variant(given) for name, variant in VARIANTS.items()}
    ours = results["sums and counts"]
    difference = max(float(np.abs(ours - other).max()) for other in results.values())
    assert difference < 1e-9, difference
    taken: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for run in range(runs):
        for name in list(VARIANTS)[:: 1 if run % 2 else -1]:
            began = time.process_time()
            VARIANTS[name](given)
            taken[name].append(time.process_time() - began)
    best = {name: min(seconds) for name, seconds in taken.items()}
    table = Table("variant", "fastest, s", "slowest, s", "x", box=box.MARKDOWN)
    for name, seconds in taken.items():
        ratio = best[name] / best["sums and counts"]
        table.add_row(name, f"{min(seconds):.3f}", f"{max(seconds):.3f}", f"{ratio:.1f}")
    console = Console(width=120)
    console.print(table)
    fastest = min(best[name] for name in VARIANTS if name.startswith("pandas"))
    faster = fastest / best["sums and counts"]
    console.print(
        f"{RESAMPLES} resamples, {MARKETS} markets, {EVENTS} events, {len(EDGES) - 1} bands;"
        f" largest difference {difference:.1e}; fastest of {runs} runs; {faster:.0f} times as fast"
        f" as the faster pandas way (wanted {WANTED:g})"
    )
    return int(faster < WANTED)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else RUNS))
