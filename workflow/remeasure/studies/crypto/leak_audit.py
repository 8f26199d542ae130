"""Is the edge a leak? Three checks that a good backtest has to survive.

1. *Parity*: hours rebuilt from finer candles close as the exchange's own hours do.
2. *Skipped bars*: the edge is still there when every price that a forecast may know
   is taken from candles that close some bars earlier, with the target left alone.
   An edge that lives on the last quote before the forecast would vanish.
3. *The detector itself*: on a target of a day, shuffled cross-validation trains on
   days that overlap the tested one. Its hit rate against that of a walk forward
   shows what a leak would look like, and whether this audit would notice.

The walk here is cheaper than that of the forecasts; both sides of a comparison
use the same one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from remeasure.errors import DataError
from remeasure.evaluate.walk_forward import folds
from remeasure.ledger.measurement import WHOLE, Measurement, not_run
from remeasure.model import Model
from remeasure.stats.bootstrap import ratio_interval
from remeasure.store.frames import write_json
from remeasure.store.tables import read_table
from remeasure.studies.crypto import calendar
from remeasure.studies.crypto.boosting import SEED, Examples, fit, predict, walk
from remeasure.studies.crypto.coverage import coverage
from remeasure.studies.crypto.features import LEADER, hourly_bars, pooled_features
from remeasure.studies.crypto.forecasts import examples
from remeasure.studies.crypto.published import answer_all, walked_coverage
from remeasure.studies.crypto.series import coin
from remeasure.studies.crypto.settings import (
    BoostingSettings,
    Dataset,
    DirectionSettings,
    LeakAuditSettings,
    Symbol,
    WalkForwardSettings,
)
from remeasure.studies.crypto.sources import CANDLES, read_candles

Bars = Mapping[str, pl.DataFrame]

OUTPUTS = ("stat_leak_audit",)

#: What the publication skips.
SKIPPED_MINUTES = 5

#: The detector's classifier: overlapping targets give themselves away only to a model that can
#: memorise days, so its trees have more leaves than those of the forecasts.
MEMORY: Mapping[str, float] = {
    "rounds": 60,
    "learning_rate": 0.1,
    "num_leaves": 127,
    "max_depth": 12,
    "min_data_in_leaf": 20,
}

#: Standard errors by which shuffled cross-validation may beat the walk before it is suspected.
SUSPICION = 3.0

#: Prices that are compared.
PRICES = ("open", "high", "low", "close")


class LeakAuditStep(Model):
    """What the audit needs: its settings, the finer candles, the coins, the bootstrap."""

    leak_audit: LeakAuditSettings
    candles: Dataset
    coins: tuple[Symbol, ...]
    direction: DirectionSettings


@dataclass(frozen=True)
class HitRate:
    """A hit rate over some rows with its 95% interval, all fractions."""

    rate: float
    low: float
    high: float
    rows: int

    def json(self) -> dict[str, float | int]:
        """As a JSON object."""
        return {"hit_rate": self.rate, "low": self.low, "high": self.high, "rows": self.rows}


@dataclass(frozen=True)
class Walked:
    """Which examples a walk predicted, and whether it was right.

    Attributes
    ----------
    rows
        Indices of the examples predicted, ascending, shape ``(n,)``.
    right
        Shape ``(n,)``.
    """

    rows: npt.NDArray[np.intp]
    right: npt.NDArray[np.bool_]


def walked(data: Examples, settings: WalkForwardSettings) -> Walked:
    """Walk forward over the examples and compare each forecast with what came."""
    every = folds(
        settings.first_test,
        settings.last_test,
        gap_hours=settings.gap_hours,
        refit_months=settings.refit_months,
    )
    said = np.full(data.up.size, np.nan)
    for refit in walk(data, every, settings.boosting):
        said[refit.rows] = refit.probability
    rows = np.flatnonzero(~np.isnan(said))
    return Walked(rows, (said[rows] > 0.5) == data.up[rows])


def shuffled(data: Examples, splits: int, settings: BoostingSettings) -> npt.NDArray[np.bool_]:
    """Whether shuffled cross-validation is right in each row, shape ``(n,)``: the classic leak.

    Every row is predicted by a model trained on rows drawn from all times, before and
    after it. Where targets overlap, the model has seen most of the answer.
    """
    from sklearn.model_selection import KFold

    right = np.zeros(data.up.size, dtype=np.bool_)
    parts = KFold(n_splits=splits, shuffle=True, random_state=SEED)
    for train, test in parts.split(data.x):
        booster = fit(data.x[train], data.up[train], data.names, settings)
        right[test] = (predict(booster, data.x[test]) > 0.5) == data.up[test]
    return right


def leak_suspected(
    shuffled_rate: float, walked_rate: float, *, hours: int, target_hours: int = 1
) -> bool:
    """Whether shuffling lifts the hit rate by more than chance can.

    Targets of ``target_hours`` hours that begin every hour hold only
    ``hours / target_hours`` independent outcomes. Each rate then has a standard error of
    at most ``sqrt(0.25 x target_hours / hours)``; three errors of the difference are allowed.

    Parameters
    ----------
    shuffled_rate, walked_rate
        Hit rates as fractions, over the same rows.
    hours, target_hours
        Number of hours scored, and length of the target.
    """
    error = math.sqrt(2 * 0.25 * target_hours / hours)
    return shuffled_rate - walked_rate > SUSPICION * error


def hit_rate(
    right: npt.NDArray[np.bool_],
    hour: npt.NDArray[np.datetime64],
    settings: DirectionSettings,
    rng: np.random.Generator,
) -> HitRate:
    """Hit rate pooled over the coins, by resampling blocks of hours with all their coins.

    Parameters
    ----------
    right, hour
        Of each row, shape ``(n,)``, in any order.
    """
    _, place = np.unique(hour, return_inverse=True)
    hits, rows = np.bincount(place, right.astype(np.float64)), np.bincount(place)
    block = min(settings.block_hours, rows.size)
    low, high = ratio_interval(hits, rows.astype(np.float64), block, settings.resamples, rng)
    return HitRate(float(right.mean()), float(low), float(high), right.size)


def later_rise(features: pl.DataFrame, bars: pl.DataFrame, target_hours: int) -> pl.DataFrame:
    """One coin's feature rows with the move of the next ``target_hours`` hours as target.

    The column ``up`` is exchanged; rows without a close at the end of the target are dropped.
    """
    target = bars.select(
        pl.col("hour").alias("known_hour"),
        (pl.col("close").shift(-target_hours) > pl.col("close")).alias("up"),
    )
    return (
        features.drop("up")
        .join(target, on="known_hour", how="left", maintain_order="left")
        .drop_nulls("up")
    )


@dataclass(frozen=True)
class Parity:
    """Rebuilt hours of one coin against the archive's own.

    Attributes
    ----------
    first, last
        Days that both cover.
    hours
        Hours that both have.
    alone
        Hours of these days that only one of them has.
    largest
        Largest absolute difference of each price, USDT.
    """

    first: date
    last: date
    hours: int
    alone: int
    largest: Mapping[str, float]

    def json(self) -> dict[str, object]:
        """As a JSON object."""
        days = {"first": str(self.first), "last": str(self.last)}
        return {**days, "hours": self.hours, "alone": self.alone, "largest": dict(self.largest)}


def parity(rebuilt: pl.DataFrame, archive: pl.DataFrame) -> Parity | None:
    """Compare rebuilt hours with the archive's; None where they have no day in common.

    Parameters
    ----------
    rebuilt
        One coin's hours on the regular grid, from ``features.hourly_bars``.
    archive
        The same coin's hourly candles, columns ``open_time`` and prices.
    """
    own = rebuilt.select("hour", *PRICES).drop_nulls("close")
    other = archive.select(pl.col("open_time").alias("hour"), *PRICES)
    if own.is_empty() or other.is_empty():
        return None
    first: date = max(own["hour"].item(0), other["hour"].item(0)).date()
    last: date = min(own["hour"].item(-1), other["hour"].item(-1)).date()
    inside = pl.col("hour").dt.date().is_between(first, last)
    own, other = own.filter(inside), other.filter(inside)
    both = own.join(other, on="hour", suffix="_archive", maintain_order="left")
    if both.is_empty():
        return None
    apart = both.select((pl.col(name) - pl.col(f"{name}_archive")).abs().max() for name in PRICES)
    return Parity(
        first=first,
        last=last,
        hours=both.height,
        alone=own.height + other.height - 2 * both.height,
        largest=apart.row(0, named=True),
    )


@dataclass(frozen=True)
class Skipped:
    """Hit rates with all bars and with the last ones skipped, over the same rows, by coin.

    The coin ``pooled`` stands for all of them together.
    """

    minutes: int
    full: Mapping[str, HitRate]
    early: Mapping[str, HitRate]

    def json(self) -> dict[str, object]:
        """As a JSON object."""
        coins = {
            name: {"full": self.full[name].json(), "skipped": self.early[name].json()}
            for name in self.full
        }
        return {"minutes": self.minutes, "coins": coins}


def skipped(
    features: pl.DataFrame,
    early: pl.DataFrame,
    settings: LeakAuditStep,
    rng: np.random.Generator,
) -> Skipped:
    """Walk over features as they are, and over features whose prices are some bars older.

    Parameters
    ----------
    features, early
        Tables of features with the same targets; only rows that both have are scored.
    """
    tables = {"full": features, "early": early}
    keys = ["symbol", "target_hour"]
    rates: dict[str, dict[str, HitRate]] = {"full": {}, "early": {}}
    common = features.select(keys).join(early.select(keys), on=keys, maintain_order="left")
    for name, table in tables.items():
        own = common.join(table, on=keys, how="left", maintain_order="left")
        result = walked(examples(own), settings.leak_audit.walk_forward)
        scored = own[result.rows].select(keys).with_columns(right=pl.Series(result.right))
        if scored.is_empty():
            raise DataError(
                "the walk forward of the leak audit predicts no hour",
                where="crypto.leak_audit.walk_forward",
                remedy="set first_test and last_test to months that its candles cover",
            )
        groups = {"pooled": scored} | {
            coin(symbol): scored.filter(pl.col("symbol") == symbol) for symbol in settings.coins
        }
        rates[name] = {
            label: hit_rate(
                rows["right"].to_numpy(), rows["target_hour"].to_numpy(), settings.direction, rng
            )
            for label, rows in groups.items()
            if rows.height
        }
    step = int(calendar.step(settings.leak_audit.interval) / np.timedelta64(1, "m"))
    return Skipped(settings.leak_audit.skip_bars * step, rates["full"], rates["early"])


@dataclass(frozen=True)
class Detector:
    """Hit rates of shuffled cross-validation and of a walk over the same hours of one coin.

    Attributes
    ----------
    coin, target_hours, hours
        Whose hours, how long the target is, how many were scored.
    shuffled, walk_forward
        Hit rates as fractions.
    suspected
        What :func:`leak_suspected` says of them.
    """

    coin: str
    target_hours: int
    hours: int
    shuffled: float
    walk_forward: float
    suspected: bool


def detector(
    features: pl.DataFrame, bars: pl.DataFrame, settings: LeakAuditSettings, target_hours: int
) -> Detector:
    """Set shuffled cross-validation against the walk on a target of ``target_hours`` hours.

    Parameters
    ----------
    features, bars
        Feature rows and hours of one coin: other coins of the same hour would be a second leak.
    settings
        Folds and the walk; both sides use its classifier with :data:`MEMORY`.
    """
    table = later_rise(features, bars, target_hours)
    data = examples(table, target_hours)
    walk_forward = settings.walk_forward
    memory = walk_forward.boosting.model_copy(update=dict(MEMORY))
    result = walked(data, walk_forward.model_copy(update={"boosting": memory}))
    guessed = shuffled(data, settings.folds, memory)[result.rows]
    rates = float(guessed.mean()), float(result.right.mean())
    hours = result.rows.size
    return Detector(
        coin=coin(table["symbol"].item(0)),
        target_hours=target_hours,
        hours=hours,
        shuffled=rates[0],
        walk_forward=rates[1],
        suspected=leak_suspected(*rates, hours=hours, target_hours=target_hours),
    )


def measure_leak_audit(
    *,
    candles: Path,
    hourly: list[Path],
    audit: Path,
    settings: LeakAuditStep,
    rng: np.random.Generator,
    origin: str = "",
) -> list[Measurement]:
    """Step: run the three checks and answer the rows of ``stat_leak_audit``.

    Parameters
    ----------
    candles
        DuckDB file with the finer candles (5 or 15 minutes).
    hourly
        DuckDB file with the archive's own hourly candles; an empty list where there are none.
    audit
        Output, JSON: ``parity`` by coin, ``skipped`` and ``detector``, see the ``json`` methods.
    settings, rng
        See :class:`LeakAuditStep`; random numbers are for the bootstrap.
    origin
        Weakest origin of the inputs: on generated data the parity is planted.

    Raises
    ------
    DataError
        When a coin has no candles, or no hour is predicted.
    """
    leak = settings.leak_audit
    every = {symbol: read_candles(candles, symbol) for symbol in settings.coins}
    bars, early = (_bars(every, settings, skip) for skip in (0, leak.skip_bars))
    compared = {
        coin(symbol): parity(bars[symbol], _archive(path, symbol))
        for path in hourly
        for symbol in settings.coins
    }
    same = {name: each for name, each in compared.items() if each is not None}
    features = pooled_features(bars, settings.coins)
    edge = skipped(features, pooled_features(early, settings.coins, bars), settings, rng)
    own = features.filter(pl.col("symbol") == LEADER)
    shuffle = detector(own, bars[LEADER], leak, leak.target_hours)
    write_json(
        {
            "parity": {name: each.json() for name, each in same.items()},
            "skipped": edge.json(),
            "detector": asdict(shuffle),
        },
        audit,
    )
    return answer_all(
        [_parity_answer(same, settings, origin), _edge_answer(edge, settings)], OUTPUTS, ""
    )


def _bars(candles: Bars, settings: LeakAuditStep, skip_bars: int) -> dict[str, pl.DataFrame]:
    return {
        symbol: hourly_bars(
            frame,
            interval=settings.leak_audit.interval,
            first=settings.candles.first,
            last=settings.candles.last,
            skip_bars=skip_bars,
        )
        for symbol, frame in candles.items()
    }


def _archive(path: Path, symbol: str) -> pl.DataFrame:
    """The archive's hourly candles of a coin; without rows where it has none."""
    columns = ["open_time", *PRICES]
    return read_table(path, CANDLES, columns=columns, where="symbol = ?", parameters=[symbol])


def _parity_answer(same: Mapping[str, Parity], settings: LeakAuditStep, origin: str) -> Measurement:
    key = ("stat_leak_audit", "rebuilt hourly close minus archive hourly close", "all hours")
    if not same:
        return not_run(*key, "this run has no hourly candles of the archive to compare with")
    hours = sum(each.hours for each in same.values())
    alone = sum(each.alone for each in same.values())
    parts = {
        coverage(each.first, each.last, base=settings.leak_audit.interval, base_matters=True)
        for each in same.values()
    }
    absent = [coin(symbol) for symbol in settings.coins if coin(symbol) not in same]
    parts |= {f"without {', '.join(absent)}"} if absent else set()
    return Measurement(
        output_id=key[0],
        quantity=key[1],
        condition=key[2],
        value=max(each.largest["close"] for each in same.values()),
        n=hours,
        # The generator cuts hours out of the same five-minute candles.
        truth=0.0 if origin == "generated" else None,
        coverage=", ".join(sorted(parts - {WHOLE})) or WHOLE,
        note=f"largest absolute difference over {', '.join(same)}"
        + (f"; {alone} hours are in only one of the two" if alone else ""),
    )


def _edge_answer(edge: Skipped, settings: LeakAuditStep) -> Measurement:
    leak = settings.leak_audit
    covered = walked_coverage(leak.walk_forward, settings.candles, leak.interval, settings.coins)
    if edge.minutes != SKIPPED_MINUTES:
        other = f"{edge.minutes} minutes skipped instead of {SKIPPED_MINUTES}"
        covered = other if covered == WHOLE else f"{covered}, {other}"
    full, early = edge.full["pooled"], edge.early["pooled"]
    return Measurement(
        output_id="stat_leak_audit",
        quantity="edge after skipping last 5 minutes",
        condition="1 = survives",
        value=int(early.low > 0.5),
        n=early.rows,
        coverage=covered,
        note=f"hit rate {100 * early.rate:.2f}% ({100 * early.low:.2f} to {100 * early.high:.2f})"
        f" after {100 * full.rate:.2f}% without skipping, pooled over the coins;"
        " it survives when the whole interval lies above 50%",
    )
