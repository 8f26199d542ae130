"""Gradient boosting of the next hour's direction, walked forward in time.

One LightGBM classifier a refit, pooled over the coins (the coin is a feature),
without early stopping and without tuning. LightGBM bins each training set by
itself: bins of a larger set would carry the future's quantiles into the past.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from remeasure.errors import DataError
from remeasure.evaluate.walk_forward import Fold, Mask, Times
from remeasure.studies.crypto.settings import BoostingSettings

if TYPE_CHECKING:
    import lightgbm

Floats = npt.NDArray[np.float64]

SEED = 0
CATEGORICAL = "coin"


@dataclass(frozen=True)
class Examples:
    """Rows to learn from, in a fixed order.

    Attributes
    ----------
    x
        Features, shape ``(n, k)``.
    up
        Whether the target rose, shape ``(n,)``; an unchanged price did not.
    target_start, target_end
        When the target begins and when it is known, UTC, shape ``(n,)``.
    names
        Names of the ``k`` features.
    """

    x: Floats
    up: Mask
    target_start: Times
    target_end: Times
    names: tuple[str, ...]


@dataclass(frozen=True)
class Refit:
    """One walked fold: its model and what it says of the rows tested."""

    fold: Fold
    booster: lightgbm.Booster
    rows: npt.NDArray[np.intp]
    probability: Floats


def parameters(settings: BoostingSettings) -> dict[str, Any]:
    """LightGBM's parameters: the settings, and what makes its bytes repeatable."""
    return {
        "objective": "binary",
        "num_leaves": settings.num_leaves,
        "max_depth": settings.max_depth,
        "learning_rate": settings.learning_rate,
        "min_data_in_leaf": settings.min_data_in_leaf,
        "feature_fraction": settings.feature_fraction,
        "bagging_fraction": settings.bagging_fraction,
        "bagging_freq": 1,
        "lambda_l2": settings.lambda_l2,
        "max_bin": settings.max_bin,
        "seed": SEED,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }


def fit(x: Floats, up: Mask, names: Sequence[str], settings: BoostingSettings) -> lightgbm.Booster:
    """A classifier of ``up`` trained on all rows of ``x``, shape ``(n, k)``."""
    import lightgbm

    options = parameters(settings)
    data = lightgbm.Dataset(
        x,
        label=up.astype(np.float64),
        feature_name=list(names),
        categorical_feature=[CATEGORICAL] if CATEGORICAL in names else [],
        params=options,
    )
    return lightgbm.train(options, data, num_boost_round=settings.rounds)


def predict(booster: lightgbm.Booster, x: Floats) -> Floats:
    """Probabilities of a rise, shape ``(n,)``."""
    return np.asarray(booster.predict(x, num_threads=1), dtype=np.float64)


def walk(examples: Examples, folds: Sequence[Fold], settings: BoostingSettings) -> Iterator[Refit]:
    """Fit and predict fold by fold; folds without a row to predict are passed over.

    Raises
    ------
    DataError
        When a fold has rows to predict but none, or only one class, to learn from.
    """
    for fold in folds:
        rows = np.flatnonzero(fold.test(examples.target_start))
        if rows.size == 0:
            continue
        train = fold.train(examples.target_end)
        up = examples.up[train]
        if up.size == 0 or up.all() or not up.any():
            raise DataError(
                f"{up.size} rows end by {fold.cutoff} and do not hold both directions: "
                f"nothing to learn {fold.first} from",
                where="walk-forward",
                remedy="start the candles earlier or set walk_forward.first_test later",
            )
        booster = fit(examples.x[train], up, examples.names, settings)
        yield Refit(fold, booster, rows, predict(booster, examples.x[rows]))
