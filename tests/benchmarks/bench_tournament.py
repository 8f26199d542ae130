"""How fast expected payoffs are, beside sampling the same tournament to the printed precision.

    python tests/benchmarks/bench_tournament.py [runs]

Twelve strategies, 250 rounds. A million rounds are sampled, all matches at once; the time that
sampling would take for half a unit of the fourth decimal with 95% confidence follows from their
standard errors. One process, one thread. Fails when a score lies more than 3.35 standard errors
away, or when products of automata are not a hundred times as fast.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

PROJECT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(PROJECT / "workflow"), str(PROJECT / "tests/studies/game_theory")]

WANTED, PRECISION, RUNS = 100.0, 0.5e-4 / 1.96, 5


def main(runs: int) -> int:
    import numpy as np
    from test_game_theory_tournament import COPIES, ROUNDS, sampled

    from remeasure.studies.game_theory.strategies import NAMED
    from remeasure.studies.game_theory.tournament import play

    automata = list(NAMED.values())
    products, samples, worst, needed = [], [], 0.0, 0.0
    for run in range(runs):
        started = time.process_time()
        exact = play(NAMED, ROUNDS, 0.0, True).scores
        products.append(time.process_time() - started)
        started = time.process_time()
        scores, errors = sampled(automata, ROUNDS, COPIES, np.random.default_rng(run))
        samples.append(time.process_time() - started)
        worst = max(worst, float(np.max(np.abs(scores - exact) / errors)))
        needed = max(needed, float(np.max(errors) / PRECISION) ** 2)
    product, sample = float(np.median(products)), float(np.median(samples))
    print(f"products of automata        {product:10.4f} s, exact to rounding")
    print(
        f"a million sampled rounds    {sample:10.4f} s, largest error {worst:.2f} standard errors"
    )
    print(f"sampling to four decimals   {sample * needed:10.0f} s, {needed:,.0f} million rounds")
    print(f"ratio                       {sample * needed / product:10,.0f}, wanted {WANTED:g}")
    return 0 if worst < 3.35 and sample * needed > WANTED * product else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS))
