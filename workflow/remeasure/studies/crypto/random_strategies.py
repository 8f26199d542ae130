"""Strategies that know nothing: how good the best of many looks.

A path starts long or short by the toss of a coin and reverses each hour with a fixed
probability. Between two reversals its position is constant, so its profit there is a
difference of cumulative returns: the moments of a path are sums over its reversals, a
thousand of them, instead of over its hours, twenty-six thousand. No positions are ever
written down hour by hour.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import dataframely as dy
import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from remeasure.errors import DataError
from remeasure.evaluate.positions import BARS_PER_YEAR, BASIS_POINT
from remeasure.ledger.measurement import WHOLE, Measurement, not_run
from remeasure.model import Model
from remeasure.stats.expected_maximum import (
    approximate_maximum,
    exact_maximum,
    expected_best,
    maximum_sd,
    mean_block_maximum,
)
from remeasure.store.frames import write_frame, write_json
from remeasure.store.schema import declare
from remeasure.store.tables import reader, select
from remeasure.studies.crypto.coverage import coverage, outside
from remeasure.studies.crypto.published import answer_all, measurable, printed
from remeasure.studies.crypto.rules_grid import EARLY, FEWEST_DAYS, interval95
from remeasure.studies.crypto.settings import Dataset, Period, RandomSettings

Floats = NDArray[np.float64]
Flips = NDArray[np.int64]

OUTPUTS = ("fig_noise",)
HEADLINE = ("tab_headline", "best Sharpe of 20,000 random strategies", "")

BEST_QUANTITY = "best Sharpe among N random strategies"
BITCOIN = "BTCUSDT"

#: Working memory of one slice of paths: its reversals, four arrays at a time.
SLICE_BYTES = 32 * 2**20

#: Reversals are drawn for a path at once: the mean number and this many deviations more.
MARGIN = 5.0

NOISE = declare(
    "best of N random strategies",
    {
        "n": dy.Int64(min=1, unique=True),
        "blocks": dy.Int64(min=1),
        "best": dy.Float64(),
        "low": dy.Float64(),
        "high": dy.Float64(),
    },
)
"""One row an N: mean over ``blocks`` disjoint blocks of N paths of the best yearly Sharpe
ratio, with a 95% interval over other draws of paths on the same market."""

CURVE = declare(
    "expected best of N",
    {
        "n": dy.Int64(min=2, unique=True),
        "formula": dy.Float64(),
        "exact": dy.Float64(),
    },
)
"""Mean plus standard deviation of the paths' Sharpe ratios times the expected maximum of N
normal numbers: z(N) in ``formula``, the integral in ``exact``."""


class RandomStep(Model):
    """What the experiment needs: hourly candles (None: this run has none) and its settings."""

    candles: Dataset | None
    random: RandomSettings


@dataclass(frozen=True)
class Theory:
    """Mean and standard deviation of a path's yearly Sharpe ratio on given returns."""

    mean: float
    sd: float


def draw_flips(paths: int, bars: int, probability: float, rng: Generator) -> Flips:
    """Bars at which each path reverses, ascending, shape (paths, k).

    A path may reverse at any bar but the first. What lies beyond the record is ``bars``.
    """
    mean = probability * bars
    width = math.ceil(mean + MARGIN * math.sqrt(mean) + MARGIN)
    flips = _waits(paths, width, probability, rng)
    while (flips[:, -1] < bars).any():  # once in a million paths
        more = _waits(paths, width, probability, rng)
        flips = np.concatenate([flips, flips[:, -1:] + more], axis=1)
    return np.minimum(flips, bars, out=flips)


def _waits(paths: int, width: int, probability: float, rng: Generator) -> Flips:
    """Running sums of geometric waiting times, shape (paths, width), each wait at least 1.

    A whole number of steps of an exponential law is geometric. Drawn like this it takes a
    third of the time of ``rng.geometric``.
    """
    waits = rng.standard_exponential((paths, width))
    waits /= -math.log1p(-probability)
    np.floor(waits, out=waits)
    waits += 1.0
    return np.cumsum(waits, axis=1, out=waits).astype(np.int64)


def moments(flips: Flips, signs: Floats, returns: Floats, fee: float) -> tuple[Floats, Floats]:
    """Sum and sum of squares of each path's net profit a bar, shape (paths,) each.

    As ``net_pnl`` would have them: ``s_t r_{t+1} - fee |s_t - s_{t-1}|`` from a flat start, so
    the first bar costs one fee and each reversal two.

    Parameters
    ----------
    flips
        As :func:`draw_flips` gives them, shape (paths, k).
    signs
        First position of each path, +1 or -1, shape (paths,).
    returns
        Log returns of the bars that positions earn, shape (bars,).
    fee
        Fee a side as a fraction.

    Notes
    -----
    With C the cumulative return, a path that starts long earns
    ``2 (C[f_1] - C[f_2] + C[f_3] - ...) +/- C[bars]``: each stretch adds a difference of C with
    alternating sign. Reversals beyond the record sit at its end, where they add nothing.
    """
    cumulative = np.concatenate([[0.0], np.cumsum(returns)])
    padded = np.append(returns, 0.0)
    count = (flips < returns.size).sum(axis=1)
    turn = np.ones(flips.shape[1])
    turn[1::2] = -1.0
    ends = cumulative[-1] if flips.shape[1] % 2 == 0 else -cumulative[-1]
    gross = signs * (2.0 * (cumulative[flips] @ turn) + ends)
    # The bar of a reversal is charged twice the fee in its new direction.
    charged = signs * (returns[0] - 2.0 * (padded[flips] @ turn))
    total = gross - fee * (1 + 2 * count)
    squares = returns @ returns - 2 * fee * charged + fee**2 * (1 + 4 * count)
    return total, squares


def random_sharpes(
    returns: Floats, paths: int, probability: float, fee: float, rng: Generator
) -> Floats:
    """Yearly Sharpe ratios of paths that know nothing, shape (paths,)."""
    signs = (2 * rng.integers(0, 2, paths) - 1).astype(np.float64)
    bars = returns.size
    out = np.empty(paths)
    slice_ = max(1, int(SLICE_BYTES / (4 * 8 * (probability * bars + 1))))
    for first in range(0, paths, slice_):
        part = signs[first : first + slice_]
        flips = draw_flips(part.size, bars, probability, rng)
        total, squares = moments(flips, part, returns, fee)
        sd = np.sqrt((squares - total**2 / bars) / (bars - 1))
        out[first : first + slice_] = total / bars / sd * math.sqrt(BARS_PER_YEAR)
    return out


def theory(returns: Floats, probability: float, fee: float) -> Theory:
    """What the paths' Sharpe ratios are on average and how they spread, without drawing any.

    The position's correlation over k hours is ``(1 - 2p)^k``, which gives the variance of the
    gross profit exactly; the number of reversals is binomial and independent of the first
    sign. Taken as constant is the standard deviation of a path's profit a bar, which differs
    between paths by less than a thousandth.
    """
    from scipy.signal import lfilter  # two seconds to import

    bars = returns.size
    rho = 1 - 2 * probability
    # w_t = r_t + rho w_{t-1}: the discounted past, r_t with itself once.
    weighted = lfilter([1.0], [1.0, -rho], returns)
    variance = returns @ (2 * weighted - returns)
    flips = probability * (bars - 1)
    variance += 4 * fee**2 * flips * (1 - probability)
    cost = fee * (1 + 2 * flips)
    squares = returns @ returns + fee**2 * (1 + 4 * flips) - (variance + cost**2) / bars
    scale = math.sqrt(BARS_PER_YEAR) / bars / math.sqrt(squares / (bars - 1))
    return Theory(mean=-cost * scale, sd=math.sqrt(variance) * scale)


def best_of(sharpes: Floats, n: int) -> tuple[float, float]:
    """Mean maximum of the blocks of ``n``, and its standard error over other draws of paths.

    The error is that of the maximum of n normal numbers: a single block of all paths has one,
    too, where the blocks themselves could tell nothing.
    """
    blocks = sharpes.size // n
    error = float(sharpes.std(ddof=1)) * maximum_sd(n) / math.sqrt(blocks)
    return mean_block_maximum(sharpes, n), error


def _as_published(chosen: float, published: float) -> str:
    """Coverage of a row that repeats a setting."""
    return WHOLE if chosen == published else f"this run is set to {chosen:g}"


def measure_random(
    *,
    candles: list[Path],
    noise: Path,
    curve: Path,
    summary: Path,
    settings: RandomStep,
    rng: Generator,
    origin: str,
) -> list[Measurement]:
    """Draw random strategies on BTC's hours, and take the best of N.

    Parameters
    ----------
    candles
        DuckDB files with the table ``candles`` of hours: one, or none.
    noise, curve
        Outputs, Parquet: see ``NOISE`` and ``CURVE``.
    summary
        Output, JSON: ``paths``, ``mean`` and ``sd`` of their Sharpe ratios, what ``theory``
        says of both, and ``period``; or ``not_run``, the reason.
    origin
        Origin of the candles.

    Raises
    ------
    DataError
        When BTC has too few candles in the period.
    """
    wanted = _wanted()
    reason = _reason(candles, settings)
    if reason is not None or settings.candles is None:
        write_frame(NOISE.empty(), noise, NOISE)
        write_frame(CURVE.empty(), curve, CURVE)
        write_json({"not_run": reason}, summary)
        return _answered([*_exact(settings)], str(reason))
    options, dataset = settings.random, settings.candles
    first, last = _within(dataset, options.period)
    returns = _returns(candles[0], first, last)
    fee = options.fee_bp * BASIS_POINT
    sharpes = random_sharpes(returns, options.paths, options.flip_probability, fee, rng)
    rows, measured = [], _exact(settings)
    known = theory(returns, options.flip_probability, fee)
    covered = _coverage(first, last, options)
    for n in wanted:
        if n > options.paths:
            why = f"this run draws only {options.paths} paths"
            measured.append(not_run("fig_noise", BEST_QUANTITY, f"N={n}", why))
            continue
        best, error = best_of(sharpes, n)
        low, high = interval95(best, error)
        blocks = options.paths // n
        rows.append({"n": n, "blocks": blocks, "best": best, "low": low, "high": high})
        measured.append(
            Measurement(
                output_id="fig_noise",
                quantity=BEST_QUANTITY,
                condition=f"N={n}",
                value=best,
                low=low,
                high=high,
                n=blocks * n,
                # Nothing is known to these paths, so what they earn on average is.
                truth=known.mean if n == 1 and origin == "generated" else None,
                coverage=covered,
                note=_note(n, sharpes, known, returns.size),
            )
        )
    write_frame(pl.DataFrame(rows), noise, NOISE)
    mean, sd = float(sharpes.mean()), float(sharpes.std(ddof=1))
    write_frame(_curve(mean, sd, options.paths), curve, CURVE)
    write_json(
        {
            "paths": options.paths,
            "mean": mean,
            "sd": sd,
            "theory": {"mean": known.mean, "sd": known.sd},
            "period": [str(first), str(last)],
        },
        summary,
    )
    return _answered(measured, "no step measures it")


def _wanted() -> list[int]:
    """The published N, ascending."""
    rows = measurable(OUTPUTS)
    return [int(row.condition[2:]) for row in rows if row.quantity == BEST_QUANTITY]


def _within(dataset: Dataset, period: Period) -> tuple[date, date]:
    return max(dataset.first, period.first), min(dataset.last, period.last)


def _reason(candles: list[Path], settings: RandomStep) -> str | None:
    dataset = settings.candles
    if dataset is None or not candles:
        return "this run has no hourly candles"
    if BITCOIN not in dataset.coins:
        return "this run has no hourly candles of BTC"
    period = settings.random.period
    first, last = _within(dataset, period)
    if last < first + timedelta(days=FEWEST_DAYS - 1):
        what = f"the period of the random strategies ({period.first} to {period.last})"
        return outside(what, dataset.first, dataset.last)
    return None


def _returns(path: Path, first: date, last: date) -> Floats:
    """Log returns from row to row of BTC's hours, gaps ignored, shape (bars,)."""
    with reader(path) as connection:
        close = select(
            connection,
            """
            SELECT close FROM candles WHERE symbol = ? AND open_time >= ? AND open_time < ?
            ORDER BY open_time
            """,
            [BITCOIN, first, last + timedelta(days=1)],
        )["close"].to_numpy()
    if close.size < 24 * FEWEST_DAYS / 2:
        raise DataError(
            f"{BITCOIN} has {close.size} hours from {first} to {last}, too few",
            where=path,
            remedy="choose another period in crypto.random",
        )
    return np.diff(np.log(close))


def _curve(mean: float, sd: float, paths: int) -> pl.DataFrame:
    every = np.unique(np.rint(np.geomspace(2, max(paths, 2), 120)).astype(np.int64))
    return pl.DataFrame(
        {
            "n": every,
            "formula": [expected_best(mean, sd, int(n)) for n in every],
            "exact": [mean + sd * exact_maximum(int(n)) for n in every],
        }
    )


# --- answers --------------------------------------------------------------------------------


def _coverage(first: date, last: date, options: RandomSettings) -> str:
    parts = [coverage(first, last, published_first=EARLY[0], published_last=EARLY[1])]
    paths = printed("fig_noise", "random strategies", "")
    if options.paths != paths:
        parts.append(f"{options.paths:,} of {paths:,.0f} paths")
    fee = printed("fig_overfitting", "fee per side", "")
    if options.fee_bp != fee:
        parts.append(f"fee {options.fee_bp:g} bp a side, not {fee:g}")
    if not math.isclose(options.flip_probability, 1 / 24, rel_tol=1e-6):
        parts.append(f"reversals with probability {options.flip_probability:g}, not 1/24")
    return ", ".join(part for part in parts if part != WHOLE) or WHOLE


def _note(n: int, sharpes: Floats, known: Theory, bars: int) -> str:
    if n == 1:
        years = bars / BARS_PER_YEAR
        return f"closed form {known.mean:.3f}, spread {known.sd:.3f} over {years:.2f} years"
    mean, sd = float(sharpes.mean()), float(sharpes.std(ddof=1))
    return f"mean + sd z(N) = {expected_best(mean, sd, n):.3f}; interval over draws of paths"


def _exact(settings: RandomStep) -> list[Measurement]:
    """Rows that are mathematics, and the settings of the experiment."""
    options = settings.random
    fee = printed("fig_overfitting", "fee per side", "") * BASIS_POINT
    mean = printed("fig_noise", BEST_QUANTITY, "N=1")
    measured = [
        Measurement(
            output_id="fig_noise",
            quantity="random strategies",
            value=options.paths,
            coverage=_as_published(options.paths, printed("fig_noise", "random strategies", "")),
        ),
        Measurement(
            output_id="fig_noise",
            quantity="flip probability per hour",
            condition="about once a day",
            value=options.flip_probability,
            coverage=_as_published(
                round(options.flip_probability, 7),
                printed("fig_noise", "flip probability per hour", "about once a day"),
            ),
        ),
        Measurement(
            output_id="fig_noise",
            quantity="volatility implied by mean -0.55",
            condition="10 bp a day / 0.55",
            value=2 * fee * 365 / -mean,
            note="from printed numbers",
        ),
    ]
    formulas = {
        "z(N), Bailey-Lopez de Prado": approximate_maximum,
        "exact expected maximum of N normals": exact_maximum,
    }
    measured += [
        Measurement(
            output_id="fig_noise",
            quantity=row.quantity,
            condition=row.condition,
            value=formulas[row.quantity](int(row.condition[2:])),
        )
        for row in measurable(OUTPUTS)
        if row.quantity in formulas
    ]
    return measured


def _answered(measured: list[Measurement], reason: str) -> list[Measurement]:
    """Every row of the figure, and the headline, which repeats the best of all."""
    answers = answer_all(measured, OUTPUTS, reason)
    largest = f"N={max(_wanted())}"
    best = next(
        each for each in answers if each.quantity == BEST_QUANTITY and each.condition == largest
    )
    headline = replace(best, output_id=HEADLINE[0], quantity=HEADLINE[1], condition=HEADLINE[2])
    return [*answers, headline]
