"""How fast the walk forward is, beside refitting scikit-learn's histogram boosting.

    python tests/benchmarks/bench_walk_forward.py [refit_months]

58 months of pooled hourly forecasts on the generated market (seed 7, reversal 0.40), one
model a month, each on every hour known by then: the project's LightGBM with the settings of
config/config.yaml, and HistGradientBoostingClassifier with the same number of trees, leaves
and levels, the same learning rate, bins and smallest leaf, without early stopping. One
process, one thread; seconds are those of the processor. Fails when the project's way is not
twice as fast, or right in fewer hours by more than the paired sampling error allows (two
standard errors of the difference).
"""

from __future__ import annotations

import os
import sys
import time
from datetime import date
from pathlib import Path

THREADS = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))

PROJECT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "workflow"))

WANTED = 2.0
COINS = ("BTCUSDT", "ETHUSDT", "SOLUSDT")


def main() -> int:
    """Measure, print, and say by the exit status whether all holds."""
    import numpy as np
    import polars as pl
    import yaml
    from sklearn.ensemble import HistGradientBoostingClassifier

    from remeasure.evaluate.walk_forward import folds
    from remeasure.studies.crypto.boosting import CATEGORICAL, walk
    from remeasure.studies.crypto.features import hourly_bars, pooled_features
    from remeasure.studies.crypto.forecasts import examples
    from remeasure.studies.crypto.market import simulate
    from remeasure.studies.crypto.settings import BoostingSettings

    section = yaml.safe_load((PROJECT / "config" / "config.yaml").read_text("utf-8"))["crypto"]
    options = section["walk_forward"]
    boosting = BoostingSettings.model_validate(options["boosting"])
    refit = int(sys.argv[1]) if len(sys.argv) > 1 else options["refit_months"]
    first, last = date(2021, 1, 1), date(2026, 10, 29)
    coins = simulate(COINS, first, last, seed=7, beta=0.4)
    bars = {
        symbol: hourly_bars(
            pl.DataFrame(vars(coin.traded())), interval="5m", first=first, last=last
        )
        for symbol, coin in coins.items()
    }
    data = examples(pooled_features(bars, COINS))
    every = folds(
        options["first_test"],
        options["last_test"],
        gap_hours=options["gap_hours"],
        refit_months=refit,
    )

    start = time.process_time()
    ours = np.full(data.up.size, np.nan)
    for each in walk(data, every, boosting):
        ours[each.rows] = each.probability
    project = time.process_time() - start

    start = time.process_time()
    theirs = np.full(data.up.size, np.nan)
    for fold in every:
        rows = np.flatnonzero(fold.test(data.target_start))
        train = fold.train(data.target_end)
        model = HistGradientBoostingClassifier(
            max_iter=boosting.rounds,
            learning_rate=boosting.learning_rate,
            max_leaf_nodes=boosting.num_leaves,
            max_depth=boosting.max_depth,
            min_samples_leaf=boosting.min_data_in_leaf,
            l2_regularization=boosting.lambda_l2,
            max_bins=boosting.max_bin,
            max_features=boosting.feature_fraction,
            categorical_features=[data.names.index(CATEGORICAL)],
            early_stopping=False,
            random_state=0,
        ).fit(data.x[train], data.up[train])
        theirs[rows] = model.predict_proba(data.x[rows])[:, 1]
    sklearn = time.process_time() - start

    scored = ~np.isnan(ours)
    right = [(said[scored] > 0.5) == data.up[scored] for said in (ours, theirs)]
    lead = right[0].astype(float) - right[1].astype(float)
    error = lead.std(ddof=1) / np.sqrt(lead.size)
    ratio = sklearn / project
    print(f"{len(every)} refits, {int(scored.sum()):,} forecasts")
    print(f"project {project:.1f} s, scikit-learn {sklearn:.1f} s, ratio {ratio:.2f}")
    rates = [100 * float(each.mean()) for each in right]
    print(
        f"hit rates {rates[0]:.3f} and {rates[1]:.3f}%,"
        f" lead {100 * lead.mean():+.3f} points, standard error {100 * error:.3f}"
    )
    return int(ratio < WANTED or lead.mean() < -2 * error)


if __name__ == "__main__":
    sys.exit(main())
