"""Walk-forward forecasts of the next hour's direction, pooled over the coins.

The costly part of the study, so it runs in shards: one for each calendar year
of predicted months. Refits are counted from the first month predicted, whatever
the shard, so the shards together hold exactly what one run over all months would.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import dataframely as dy
import numpy as np
import numpy.typing as npt
import polars as pl

from remeasure.errors import ConfigError, DataError
from remeasure.evaluate.walk_forward import Fold, folds, months
from remeasure.model import Model
from remeasure.store.frames import read_frame, write_frame
from remeasure.store.schema import declare
from remeasure.studies.crypto.boosting import Examples, Refit, walk
from remeasure.studies.crypto.features import FEATURES, read_features
from remeasure.studies.crypto.settings import Symbol, WalkForwardSettings

HOUR = np.timedelta64(1, "h")

#: One row a coin and predicted hour, ordered by (symbol, target_hour).
FORECASTS = declare(
    "forecasts",
    {
        "symbol": dy.String(),
        "target_hour": dy.Datetime(description="open of the predicted hour, UTC"),
        "p": dy.Float64(
            min=0,
            max=1,
            description="forecast probability that the hour closes above the one before",
        ),
        "ret_next": dy.Float64(description="log return of the predicted hour"),
        "up": dy.Bool(description="whether it closed above; unchanged is not up"),
        "ret_1": dy.Float64(description="log return of the hour before"),
        "refit": dy.String(description="first month of the model's fold, YYYY-MM"),
    },
    unique=["symbol", "target_hour"],
)

#: What each model split on, in order of refit and feature.
IMPORTANCE = declare(
    "importance",
    {
        "refit": dy.String(description="first month of the model's fold, YYYY-MM"),
        "feature": dy.String(),
        "gain": dy.Float64(min=0, description="sum of the splits' gains"),
        "splits": dy.Int64(min=0),
    },
    unique=["refit", "feature"],
)


class ForecastStep(Model):
    """What the forecasts need: the coins that are pooled and the walk-forward."""

    coins: tuple[Symbol, ...]
    walk_forward: WalkForwardSettings


def years(settings: WalkForwardSettings) -> tuple[str, ...]:
    """Calendar years of the months predicted: the shards."""
    every = months(settings.first_test, settings.last_test)
    return tuple(sorted({month[:4] for month in every}))


def shard_folds(settings: WalkForwardSettings, year: str) -> tuple[Fold, ...]:
    """The folds of the whole walk that predict months of one year, cut to that year.

    A fold that spans two years keeps its training window in both.

    Raises
    ------
    ConfigError
        When no month of the year is predicted.
    """
    if year not in years(settings):
        raise ConfigError(
            f"no month of {year} is predicted",
            where=f"walk_forward.first_test {settings.first_test}, last_test {settings.last_test}",
            remedy=f"ask for one of {', '.join(years(settings))}",
        )
    low = np.datetime64(year, "Y").astype("datetime64[us]")
    high = (np.datetime64(year, "Y") + 1).astype("datetime64[us]")
    every = folds(
        settings.first_test,
        settings.last_test,
        gap_hours=settings.gap_hours,
        refit_months=settings.refit_months,
    )
    return tuple(
        Fold(fold.first, fold.last, max(fold.start, low), min(fold.end, high), fold.cutoff)
        for fold in every
        if fold.start < high and fold.end > low
    )


def examples(features: pl.DataFrame, target_hours: int = 1) -> Examples:
    """The feature table as arrays; a target lasts ``target_hours`` from ``target_hour`` on."""
    start = features["target_hour"].to_numpy()
    return Examples(
        x=features.select(pl.col(FEATURES).cast(pl.Float64)).to_numpy(),
        up=features["up"].to_numpy(),
        target_start=start,
        target_end=np.asarray(start + target_hours * HOUR, dtype="datetime64[us]"),
        names=tuple(FEATURES),
    )


def forecast(features: pl.DataFrame, refits: Sequence[Refit]) -> pl.DataFrame:
    """What some refits say of the rows of ``features``, in the columns of :data:`FORECASTS`."""
    return pl.concat(
        [
            features[refit.rows].select(
                "symbol",
                "target_hour",
                pl.Series("p", refit.probability),
                "ret_next",
                "up",
                "ret_1",
                pl.lit(refit.fold.first).alias("refit"),
            )
            for refit in refits
        ]
    ).sort("symbol", "target_hour")


def hits(forecasts: pl.DataFrame) -> npt.NDArray[np.bool_]:
    """Whether each forecast was right, shape ``(n,)``."""
    return np.asarray((forecasts["p"].to_numpy() > 0.5) == forecasts["up"].to_numpy())


def importance_of(refits: Sequence[Refit]) -> pl.DataFrame:
    """Gain and number of splits of each feature in each refit, in columns :data:`IMPORTANCE`."""
    return pl.concat(
        [
            pl.DataFrame(
                {
                    "refit": [refit.fold.first] * len(FEATURES),
                    "feature": list(FEATURES),
                    "gain": refit.booster.feature_importance("gain").astype(np.float64),
                    "splits": refit.booster.feature_importance("split").astype(np.int64),
                }
            )
            for refit in refits
        ]
    )


def forecast_year(
    *,
    hours: Path,
    forecasts: Path,
    importance: Path,
    booster: Path,
    settings: ForecastStep,
    year: str,
) -> None:
    """Step: forecast every hour of one calendar year that belongs to a predicted month.

    Parameters
    ----------
    hours
        DuckDB file with the table ``features``.
    forecasts, importance
        Outputs, Parquet: :data:`FORECASTS`, :data:`IMPORTANCE`.
    booster
        Output, text: the last model of the year in LightGBM's own format.
    settings
        Coins that are pooled, and the walk-forward.
    year
        As ``2022``; see :func:`years`.

    Raises
    ------
    ConfigError
        When no month of the year is predicted.
    DataError
        When the year has no complete row, or a fold nothing to learn from.
    """
    features = read_features(hours, settings.coins)
    walked = shard_folds(settings.walk_forward, year)
    refits = list(walk(examples(features), walked, settings.walk_forward.boosting))
    if not refits:
        raise DataError(
            f"no hour of {year} has all features and a target",
            where=hours,
            remedy="set walk_forward.last_test to a month that the candles cover",
        )
    write_frame(forecast(features, refits), forecasts, FORECASTS)
    write_frame(importance_of(refits), importance, IMPORTANCE)
    refits[-1].booster.save_model(booster)


def join_forecasts(*, shards: list[Path], forecasts: Path) -> None:
    """Step: the forecasts of all years in one table.

    Parameters
    ----------
    shards
        Outputs ``forecasts`` of :func:`forecast_year`, each year once, in any order.
    forecasts
        Output, Parquet: :data:`FORECASTS`.

    Raises
    ------
    DataError
        When two shards hold the same hour of the same coin.
    """
    tables = [read_frame(shard, FORECASTS) for shard in shards]
    write_frame(pl.concat(tables).sort("symbol", "target_hour"), forecasts, FORECASTS)
