"""How fast prices are read at three horizons, beside one search a series.

    python tests/benchmarks/bench_asof.py [series]

150,000 hourly series of 14 days with gaps (44 million points) at a quarter of a day, a day and
a week before their closes: one as-of join of all series, in slices of 10,000 as the workflow
reads its shards, beside a loop that searches each pandas series. Both must give the same prices
and ages. One process, one thread; seconds are those of the processor. The loop runs on every
tenth slice, and its time is multiplied. Fails when results differ, when the join is not five
times as fast, or when it needs more than 3 GiB.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

if TYPE_CHECKING:
    import polars as pl

    from remeasure.studies.polymarket.settings import Definitions

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "workflow"))

SERIES, SLICE, EVERY, SEED = 150_000, 10_000, 10, 3
DAYS = (0.25, 1.0, 7.0)
HOURS = 14 * 24
#: Share of points that are missing: their place is taken by an older price, or by none.
GAPS = 0.12
WANTED, MEMORY = 5.0, 3 * 2**30


def definitions() -> Definitions:
    import yaml

    from remeasure.studies.polymarket.settings import Settings

    text = (PROJECT / "config" / "config.yaml").read_text("utf-8")
    return Settings.model_validate(yaml.safe_load(text)["polymarket"]).definitions


def series(first: int, count: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Markets with their closes, and the points of their series."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng([SEED, first])
    names = [f"0x{number:064x}" for number in range(first, first + count)]
    close = 1_700_000_000 + rng.integers(0, 80_000_000, count)
    stamp = (close // 3600 * 3600)[:, None] - 3600 * np.arange(HOURS - 1, -1, -1)[None, :]
    kept = rng.random(stamp.shape) >= GAPS
    price = rng.integers(1, 2000, stamp.shape) / 2000
    market = np.repeat(np.arange(count), kept.sum(axis=1))
    points = pl.DataFrame(
        {
            "market": pl.Series(names)[market],
            "kind": pl.repeat("hourly", market.size, eager=True),
            "t": stamp[kept],
            "p": price[kept],
        }
    )
    markets = pl.DataFrame(
        {
            "market": names,
            "closed": pl.Series(close * 1_000_000).cast(pl.Datetime("us")),
            "life_days": np.full(count, 14.0),
        }
    )
    return markets, points


def by_join(markets: pl.DataFrame, points: pl.DataFrame, rules: Definitions) -> pl.DataFrame:
    """The project's way."""
    import polars as pl

    from remeasure.studies.polymarket.asof import priced, targets

    wanted = targets(markets, pl.DataFrame({"days": DAYS}, schema={"days": pl.Float64}))
    return priced(wanted, points, rules).select("market", "days", "price", "stale_hours")


def by_search(markets: pl.DataFrame, points: pl.DataFrame, rules: Definitions) -> pl.DataFrame:
    """One sorted pandas series a market, and one search for each horizon."""
    import polars as pl

    own = {key[0]: group for key, group in points.to_pandas().groupby(["market"], sort=False)}
    found = []
    for market, closed in markets.select("market", "closed").iter_rows():
        line = own[market].set_index("t")["p"]
        close = closed.timestamp() if closed.tzinfo else (closed - _EPOCH).total_seconds()
        for days in DAYS:
            at = close - days * 86_400
            place = line.index.searchsorted(at, side="right") - 1
            age = (at - line.index[place]) / 3600 if place >= 0 else float("inf")
            fresh = age <= rules.stale_hourly
            found.append(
                (market, days, line.iloc[place] if fresh else None, age if fresh else None)
            )
    return pl.DataFrame(found, schema=["market", "days", "price", "stale_hours"], orient="row")


def main(total: int) -> int:
    import polars as pl
    from polars.testing import assert_frame_equal

    rules = definitions()
    joined = searched = 0.0
    points_seen = slices = 0
    for number, first in enumerate(range(0, total, SLICE)):
        markets, points = series(first, min(SLICE, total - first))
        points_seen += points.height
        began = time.process_time()
        ours = by_join(markets, points, rules)
        joined += time.process_time() - began
        if number % EVERY == 0:
            began = time.process_time()
            theirs = by_search(markets, points, rules)
            searched += time.process_time() - began
            slices += markets.height
            keys = ["market", "days"]
            assert_frame_equal(
                ours.sort(keys), theirs.sort(keys).cast(pl.Schema(ours.schema)), abs_tol=1e-9
            )
    loop = searched * total / slices
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"{total} series, {points_seen / 1e6:.1f} million points, {3 * total} prices:"
        f" {joined:.2f} s by the join ({points_seen / joined / 1e6:.1f} million points a second),"
        f" {loop:.1f} s by one search a series ({loop / joined:.1f} times, wanted {WANTED:g});"
        f" peak memory {peak / 2**20:.0f} MiB with the making of the series"
    )
    return int(loop < WANTED * joined or peak > MEMORY)


if __name__ == "__main__":
    from datetime import datetime

    _EPOCH = datetime(1970, 1, 1)
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else SERIES))
