"""The methods on the generated market itself, with and without the planted reversal.

The study's card measured its own generator once. Here the project's generator is simulated
in memory at the card's seed and settings and measured by the project's methods. The two
share the recipe, not the random numbers: what is planted must be found, and the rest lies
apart by the luck of one world.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from remeasure.errors import DataError
from remeasure.evaluate.positions import BARS_PER_YEAR, BASIS_POINT
from remeasure.evaluate.walk_forward import folds
from remeasure.fetch.manifest import Manifest
from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.stats.auc import delong
from remeasure.stats.bootstrap import draw_blocks, fitting_block
from remeasure.store.frames import write_json
from remeasure.studies.crypto.boosting import walk
from remeasure.studies.crypto.coverage import FIRST, LAST
from remeasure.studies.crypto.days import days_of
from remeasure.studies.crypto.features import hourly_bars, pooled_features, row_returns
from remeasure.studies.crypto.forecasts import examples, forecast
from remeasure.studies.crypto.leak_audit import MEMORY, detector, hit_rate, later_rise, shuffled
from remeasure.studies.crypto.market import SyntheticCoin, simulate
from remeasure.studies.crypto.published import answer_all
from remeasure.studies.crypto.random_strategies import best_of, random_sharpes, theory
from remeasure.studies.crypto.series import coin
from remeasure.studies.crypto.settings import (
    Dataset,
    DirectionSettings,
    LeakAuditSettings,
    RandomSettings,
    Symbol,
    SyntheticSettings,
    TailsSettings,
    VolatilitySettings,
)
from remeasure.studies.crypto.tails import count_interval, standardised
from remeasure.studies.crypto.trading import strategies
from remeasure.studies.crypto.volatility import (
    FITTED,
    MAIN,
    VARIANCE,
    score_rows,
)
from remeasure.studies.crypto.volatility import forecasts as volatility_forecasts

OUTPUT = "synthetic"
EACH = "each coin"

#: Coins of the card's world, by the order of their table rows.
COINS: tuple[Symbol, ...] = ("BTCUSDT", "ETHUSDT", "SOLUSDT")
BITCOIN = COINS[0]
#: Days and number of the card's random strategies.
THREE_YEARS = (date(2021, 1, 1), date(2023, 12, 31))
PATHS = 20_000


class SyntheticStep(Model):
    """What the step needs: the world, and the settings of the methods that look at it."""

    synthetic: SyntheticSettings
    leak_audit: LeakAuditSettings
    direction: DirectionSettings
    volatility: VolatilitySettings
    random: RandomSettings
    tails: TailsSettings


@dataclass(frozen=True)
class World:
    """One simulated market: the truth, the hours and the feature rows."""

    coins: Mapping[str, SyntheticCoin]
    bars: Mapping[str, pl.DataFrame]
    features: pl.DataFrame


def world(settings: SyntheticSettings, beta: float) -> World:
    """Simulate the coins and build their features, as the default run does from raw files."""
    made = simulate(COINS, settings.first, settings.last, seed=settings.seed, beta=beta)
    bars = {
        symbol: hourly_bars(
            pl.DataFrame(vars(each.traded())),
            interval="5m",
            first=settings.first,
            last=settings.last,
        )
        for symbol, each in made.items()
    }
    return World(made, bars, pooled_features(bars, COINS))


def walked(features: pl.DataFrame, settings: LeakAuditSettings) -> pl.DataFrame:
    """Forecasts of every tested hour by the audit's cheap walk forward."""
    options = settings.walk_forward
    every = folds(
        options.first_test,
        options.last_test,
        gap_hours=options.gap_hours,
        refit_months=options.refit_months,
    )
    refits = list(walk(examples(features), every, options.boosting))
    if not refits:
        raise DataError(
            "the walk forward predicts no hour of the simulated market",
            where="crypto.synthetic",
            remedy="set first and last to days that crypto.leak_audit.walk_forward covers",
        )
    return forecast(features, refits)


def measure_synthetic(
    *,
    manifest: Path,
    summary: Path,
    settings: SyntheticStep,
    rng: np.random.Generator,
) -> list[Measurement]:
    """Step: simulate two worlds and measure both.

    Parameters
    ----------
    manifest
        Output, JSON: lists no raw file, but says that the origin is ``generated``.
    summary
        Output, JSON: the settings of the worlds, by name.

    Raises
    ------
    DataError
        When the window is too short for the walk forward.
    """
    options = settings.synthetic
    planted, barren = world(options, options.beta), world(options, 0.0)
    measured = [
        *_counts(planted),
        *_edge(planted, settings, rng),
        *_nothing(barren, settings, rng),
        *_leaks(planted, barren, settings),
        *_volatility(planted, settings, rng),
        *_tails(planted, settings, rng),
        *_random(planted, settings, rng),
    ]
    covered = _coverage(settings)
    write_json({"seed": options.seed, "beta": options.beta, "coverage": covered}, summary)
    Manifest.of("crypto_synthetic", "generated", ".", []).write(manifest)
    return answer_all(
        [replace(each, coverage=covered) for each in measured], [OUTPUT], "no step measures it"
    )


def _coverage(settings: SyntheticStep) -> str:
    own = settings.synthetic
    if (own.first, own.last) != (FIRST, LAST):
        return f"simulated from {own.first} to {own.last}, not {FIRST} to {LAST}"
    period = settings.random.period
    if (period.first, period.last, settings.random.paths) != (*THREE_YEARS, PATHS):
        return f"random strategies: {settings.random.paths:,} from {period.first} to {period.last}"
    return WHOLE


def _row(quantity: str, condition: str, value: float, **more: Any) -> Measurement:
    return Measurement(
        output_id=OUTPUT, quantity=quantity, condition=condition, value=value, **more
    )


def _named(symbol: str) -> str:
    return f"{coin(symbol)}, seed 7"


def _counts(planted: World) -> Iterator[Measurement]:
    """Rows that every coin has alike; the smallest stands for all, the note for the rest."""
    bars = {symbol: each.drop_nulls("close").height for symbol, each in planted.bars.items()}
    returns = {symbol: row_returns(each).height for symbol, each in planted.bars.items()}
    features = planted.features.group_by("symbol", maintain_order=True).len()
    rows = dict(features.iter_rows())
    for quantity, found in (
        ("hourly bars", bars),
        ("hourly returns", returns),
        ("forecast rows", _tested(planted, rows)),
    ):
        same = len(set(found.values())) == 1
        note = "" if same else ", ".join(f"{coin(name)} {n:,}" for name, n in found.items())
        yield _row(quantity, EACH, min(found.values()), note=note)


def _tested(planted: World, rows: Mapping[str, int]) -> dict[str, int]:
    """Feature rows whose target hour lies in the published test months."""
    since = pl.col("target_hour") >= pl.lit(np.datetime64("2022-01-01", "us"))
    counted = planted.features.filter(since).group_by("symbol", maintain_order=True).len()
    return {**dict.fromkeys(rows, 0), **dict(counted.iter_rows())}


def _edge(planted: World, settings: SyntheticStep, rng: np.random.Generator) -> list[Measurement]:
    table = walked(planted.features, settings.leak_audit)
    out: list[Measurement] = []
    for symbol in COINS:
        own = table.filter(pl.col("symbol") == symbol)
        right = ((own["p"] > 0.5) == own["up"]).to_numpy()
        rate = hit_rate(right, own["target_hour"].to_numpy(), settings.direction, rng)
        bayes = planted.coins[symbol].bayes_hit_rate(date(2022, 1, 1), settings.synthetic.last)
        best = f"the best forecast of this world is right in {100 * bayes:.2f}%"
        out += [
            _row(
                "hit rate, beta 0.40",
                _named(symbol),
                100 * rate.rate,
                low=100 * rate.low,
                high=100 * rate.high,
                n=rate.rows,
                note=best,
            ),
            _row("Bayes hit rate, beta 0.40", _named(symbol), 100 * bayes, truth=100 * bayes),
        ]
    own = table.filter(pl.col("symbol") == BITCOIN)
    area = delong(own["p"], own["up"])
    out.append(
        _row(
            "AUC, beta 0.40",
            _named(BITCOIN),
            area.value,
            low=area.low,
            high=area.high,
            n=own.height,
        )
    )
    block = fitting_block(settings.direction.block_hours, own.height)
    starts = draw_blocks(own.height, block, settings.direction.resamples, rng)
    (plain,) = strategies(own, [0.0], block, starts)
    sides = plain.sides_per_day()
    out.append(
        _row(
            "sides per day",
            _named(BITCOIN),
            sides.value,
            low=sides.low,
            high=sides.high,
            n=own.height,
        )
    )
    return out


def _nothing(barren: World, settings: SyntheticStep, rng: np.random.Generator) -> list[Measurement]:
    table = walked(barren.features, settings.leak_audit)
    out: list[Measurement] = []
    for symbol in COINS:
        own = table.filter(pl.col("symbol") == symbol)
        right = ((own["p"] > 0.5) == own["up"]).to_numpy()
        rate = hit_rate(right, own["target_hour"].to_numpy(), settings.direction, rng)
        out.append(
            _row(
                "hit rate, beta 0",
                _named(symbol),
                100 * rate.rate,
                low=100 * rate.low,
                high=100 * rate.high,
                n=rate.rows,
                truth=50.0,
            )
        )
    own = table.filter(pl.col("symbol") == BITCOIN)
    area = delong(own["p"], own["up"])
    out.append(
        _row(
            "AUC, beta 0",
            _named(BITCOIN),
            area.value,
            low=area.low,
            high=area.high,
            n=own.height,
            truth=0.5,
        )
    )
    return out


def _leaks(planted: World, barren: World, settings: SyntheticStep) -> list[Measurement]:
    """The detector on a day-long target, on the hour, and a feature out of the future."""
    audit = settings.leak_audit
    bitcoin = barren.features.filter(pl.col("symbol") == BITCOIN)
    bars = barren.bars[BITCOIN]
    seen = detector(bitcoin, bars, audit, 24)
    memory = audit.walk_forward.boosting.model_copy(update=dict(MEMORY))
    hourly = examples(later_rise(bitcoin, bars, 1), 1)
    short = float(shuffled(hourly, audit.folds, memory).mean())
    day, hour = (f"{hours}-hour target, {_named(BITCOIN)}" for hours in (24, 1))
    leaked = _leaked(planted, settings)
    rate = float(((leaked["p"] > 0.5) == leaked["up"]).mean())  # type: ignore[arg-type]
    return [
        _row("shuffled 5-fold hit rate, beta 0", day, 100 * seen.shuffled, n=seen.hours),
        _row("walk-forward hit rate, beta 0", day, 100 * seen.walk_forward, n=seen.hours),
        _row("shuffled 5-fold hit rate, beta 0", hour, 100 * short, n=hourly.up.size),
        _row("hit rate with leaked next-hour high", _named(BITCOIN), 100 * rate, n=leaked.height),
    ]


def _leaked(planted: World, settings: SyntheticStep) -> pl.DataFrame:
    """Forecasts of BTC with one feature exchanged for ln(next hour's high / close)."""
    ahead = (pl.col("high").shift(-1) / pl.col("close")).log()
    hours = planted.bars[BITCOIN].select(pl.col("hour").alias("known_hour"), ahead.alias("taker_1"))
    features = (
        planted.features.filter(pl.col("symbol") == BITCOIN)
        .drop("taker_1")
        .join(hours, on="known_hour", how="left", maintain_order="left")
    )
    return walked(features.select(planted.features.columns), settings.leak_audit)


def _volatility(
    planted: World, settings: SyntheticStep, rng: np.random.Generator
) -> list[Measurement]:
    window = Dataset(coins=COINS, first=settings.synthetic.first, last=settings.synthetic.last)
    options = settings.leak_audit.walk_forward
    out: list[Measurement] = []
    for symbol in COINS:
        traded = planted.coins[symbol].traded()
        days = days_of(symbol, traded.open_time, np.log(traded.close), "5m", window)
        found = volatility_forecasts(days, options.first_test, options.last_test, MAIN)
        scores = score_rows(days, found, MAIN, settings.volatility, rng)
        out += [
            _row(
                "HAR R2",
                _named(symbol),
                row["r2"],
                low=row["low"],
                high=row["high"],
                n=row["days"],
            )
            for row in scores
            if row["target"] == VARIANCE and row["benchmark"] == FITTED
        ]
    return out


def _tails(planted: World, settings: SyntheticStep, rng: np.random.Generator) -> list[Measurement]:
    out: list[Measurement] = []
    for symbol in COINS:
        rows = row_returns(planted.bars[symbol])
        returns, hours = rows["ret"].to_numpy(), rows["hour"].to_numpy()
        days = (hours.astype("datetime64[D]") - hours[0].astype("datetime64[D]")).astype(np.int64)
        beyond = int((np.abs(standardised(returns)) > settings.tails.threshold).sum())
        low, high = count_interval(returns, days, settings.tails.threshold, rng)
        out.append(
            _row(
                "hours beyond 6 sd",
                _named(symbol),
                beyond,
                low=low,
                high=high,
                n=returns.size,
            )
        )
    return out


def _random(planted: World, settings: SyntheticStep, rng: np.random.Generator) -> list[Measurement]:
    """Random strategies on three years of BTC, against what the returns alone imply."""
    options = settings.random
    first, last = options.period.first, options.period.last
    rows = row_returns(planted.bars[BITCOIN]).filter(
        pl.col("hour").is_between(
            pl.lit(first).cast(pl.Datetime("us")),
            pl.lit(last + timedelta(days=1)).cast(pl.Datetime("us")),
            closed="left",
        )
    )
    returns = rows["ret"].to_numpy()
    fee = options.fee_bp * BASIS_POINT
    sharpes = random_sharpes(returns, options.paths, options.flip_probability, fee, rng)
    known = theory(returns, options.flip_probability, fee)
    spread = float(sharpes.std(ddof=1))
    volatility = float(returns.std(ddof=1)) * np.sqrt(BARS_PER_YEAR)
    note = f"volatility of this world {volatility:.3f} a year"
    error = 1.96 * spread / np.sqrt(sharpes.size)
    wide = 1.96 * spread / np.sqrt(2 * sharpes.size)
    best, best_error = best_of(sharpes, sharpes.size)
    mean = float(sharpes.mean())
    shared = {"n": int(sharpes.size), "note": note}
    return [
        _row(
            "random strategies mean Sharpe",
            "3 years, 0.628 volatility",
            mean,
            low=mean - error,
            high=mean + error,
            truth=known.mean,
            **shared,
        ),
        _row(
            "random strategies sd of Sharpe",
            "3 years",
            spread,
            low=spread - wide,
            high=spread + wide,
            truth=known.sd,
            **shared,
        ),
        _row(
            "random strategies best of 20000",
            "3 years",
            best,
            low=best - 1.96 * best_error,
            high=best + 1.96 * best_error,
            **shared,
        ),
    ]
