"""How fast the grid of textbook rules is, beside the same rules on vectorbt's compiled path.

    python -m pip install vectorbt==1.2.0        # for this benchmark alone
    python tests/benchmarks/bench_grid.py [runs]

66 rules on twelve generated coins over 51,058 hours, fees and Sharpe ratios in two periods
included; one process, one thread. vectorbt gives the rolling means, deviations and extremes,
the smoothing of the RSI, the carrying on of signals and the Sharpe ratios, all compiled; it
is called once before the clock starts. Then both are timed as whole processes, imports and
compilation included, as a user meets them.

Fails when a Sharpe ratio differs by more than 1e-9, when the project's way is slower than the
compiled one, or when it is not three times faster as a whole process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

if TYPE_CHECKING:
    import numpy as np

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "workflow"))

COINS, BARS, SPLIT, FEE = 12, 51_058, 26_266, 5e-4
HOURS_A_YEAR = 8760
#: Averages that are equal: vectorbt sums over the whole record, which costs it four digits.
TIE = 1e-9
AS_FAST, WHOLE = 1.0, 3.0
RUNS = 5

Prices = tuple["np.ndarray", "np.ndarray", "np.ndarray"]


def prices() -> Prices:
    """Highs, lows and closes, each of shape (bars, coins), printed as an exchange prints them."""
    import numpy as np

    rng = np.random.default_rng(7)
    moves = 0.006 * rng.standard_t(4, (BARS, COINS)) / np.sqrt(2)
    close = 100 * np.exp(np.cumsum(moves, axis=0))
    before = np.vstack([np.full((1, COINS), 100.0), close[:-1]])
    wider = np.abs(0.003 * rng.standard_normal((2, BARS, COINS)))
    high = np.maximum(close, before) * (1 + wider[0])
    low = np.minimum(close, before) / (1 + wider[1])
    return high.round(4), low.round(4), close.round(4)


def ours(data: Prices) -> np.ndarray:
    """The project's way: Sharpe ratios, shape (2 periods, coins * rules)."""
    import numpy as np

    from remeasure.evaluate.positions import net_pnl
    from remeasure.stats.sharpe import sharpe
    from remeasure.studies.crypto.textbook_rules import positions

    out = []
    for high, low, close in zip(*(each.T.copy() for each in data), strict=True):
        returns = np.diff(np.log(close))
        for _, position in positions(high, low, close):
            pnl = net_pnl(position[:-1], returns, FEE)
            out.append([sharpe(pnl[:SPLIT], HOURS_A_YEAR), sharpe(pnl[SPLIT:], HOURS_A_YEAR)])
    return np.array(out).T


def compiled(data: Prices) -> np.ndarray:
    """The same on vectorbt: all coins side by side, as it likes best."""
    import numpy as np
    from vectorbt.generic import nb
    from vectorbt.returns import nb as returns_nb

    from remeasure.studies.crypto import textbook_rules as rules

    high, low, close = data
    returns = np.diff(np.log(close), axis=0)
    flat = np.zeros((1, COINS))

    def held(long: Any, short: Any, out: Any = None) -> Any:
        signal = np.where(long, 1.0, np.where(short, -1.0, np.nan))
        if out is not None:
            signal[out & np.isnan(signal)] = 0.0
        return np.nan_to_num(nb.ffill_nb(signal))

    def scored(position: Any) -> Any:
        own = position[:-1]
        pnl = own * returns - FEE * np.abs(np.diff(own, axis=0, prepend=flat))
        return [
            returns_nb.sharpe_ratio_nb(part, float(HOURS_A_YEAR), 0.0, 1)
            for part in (pnl[:SPLIT], pnl[SPLIT:])
        ]

    def before(values: Any) -> Any:
        return np.vstack([np.full((1, COINS), np.nan), values[:-1]])

    found: dict[tuple[str, int, float], Any] = {}
    averages = {n: nb.rolling_mean_nb(close, n, n) for n in rules.AVERAGES}
    move = np.diff(close, axis=0)
    for rule in rules.all_rules():
        key = (rule.family, rule.first, rule.second)
        if rule.family == rules.CROSSOVER:
            apart = averages[rule.first] - averages[int(rule.second)]
            apart[np.abs(apart) <= TIE * close] = 0.0
            found[key] = scored(np.nan_to_num(np.sign(apart)))
        elif rule.family == rules.BREAKOUT:
            n = rule.first
            top, bottom = nb.rolling_max_nb(high, n, n), nb.rolling_min_nb(low, n, n)
            found[key] = scored(held(close > before(top), close < before(bottom)))
    for n in rules.RSI_PERIODS:
        smooth = []
        for side in (np.maximum(move, 0.0), np.maximum(-move, 0.0)):
            seeded = side.copy()
            seeded[n - 1] = side[:n].mean(axis=0)
            # A span of 2n - 1 is Wilder's smoothing by 1/n.
            smooth.append(nb.ewm_mean_nb(seeded[n - 1 :], 2 * n - 1, 0, False))
        strength = np.full(close.shape, np.nan)
        strength[n:] = 100 * smooth[0] / (smooth[0] + smooth[1])
        for q in rules.RSI_THRESHOLDS:
            found[rules.RSI, n, q] = scored(held(strength < q, strength > 100 - q))
    for n in rules.BOLLINGER_PERIODS:
        mean, sd = nb.rolling_mean_nb(close, n, n), nb.rolling_std_nb(close, n, n, 0)
        side = np.nan_to_num(np.sign(close - mean))
        crossed = np.diff(side, axis=0, prepend=side[:1]) != 0
        for k in rules.BOLLINGER_WIDTHS:
            bands = close < mean - k * sd, close > mean + k * sd
            found[rules.BOLLINGER, n, k] = scored(held(*bands, crossed))
    order = [(rule.family, rule.first, rule.second) for rule in rules.all_rules()]
    stacked = np.array([found[key] for key in order])  # (rules, periods, coins)
    return np.asarray(stacked.transpose(1, 2, 0).reshape(2, -1))


WAYS: dict[str, Callable[[Prices], Any]] = {"project": ours, "vectorbt": compiled}


def whole_process(name: str) -> float:
    """Seconds of a new process that does it once."""
    start = time.perf_counter()
    subprocess.run([sys.executable, __file__, "--only", name], check=True)
    return time.perf_counter() - start


def main() -> int:
    """Measure, print, and say by the exit status whether all holds."""
    if sys.argv[1:2] == ["--only"]:
        WAYS[sys.argv[2]](prices())
        return 0
    import numpy as np

    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    data = prices()
    results = {name: way(data) for name, way in WAYS.items()}  # compiles, too
    apart = float(np.abs(results["project"] - results["vectorbt"]).max())
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    for run in range(runs):
        for name in sorted(WAYS, reverse=bool(run % 2)):
            start = time.process_time()
            WAYS[name](data)
            seconds[name].append(time.process_time() - start)
    medians = {name: median(each) for name, each in seconds.items()}
    whole = {name: median(whole_process(name) for _ in range(3)) for name in WAYS}
    ratio = medians["vectorbt"] / medians["project"]
    process = whole["vectorbt"] / whole["project"]
    print(f"{results['project'].shape[1]} strategies, largest difference {apart:.1e}")
    print(f"compiled beforehand: {medians}, ratio {ratio:.2f} (wanted {AS_FAST})")
    print(f"whole processes:     {whole}, ratio {process:.2f} (wanted {WHOLE})")
    return int(apart > 1e-9 or ratio < AS_FAST or process < WHOLE)


if __name__ == "__main__":
    sys.exit(main())
