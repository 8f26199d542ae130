"""Textbook rules on many coins in two periods: what the best of yesterday earn tomorrow.

Every rule of ``textbook_rules`` trades every coin by the hour and pays a fee on its turnover.
The twenty best of the early period are looked up in the later one.

Sampling error comes from resampling blocks of days, all strategies together, as they share the
same market. The twenty are held fixed meanwhile. A resample adds noise of its own, which lifts
maxima and lowers rank correlations, so an interval is the estimate +/- 1.96 standard
deviations of the resamples rather than their quantiles. On real hours of 2022 to 2025 these
are equal with blocks of a day and of a week; with longer ones two years hold too few.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import dataframely as dy
import numpy as np
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

from remeasure.errors import DataError
from remeasure.evaluate.positions import BARS_PER_YEAR, BASIS_POINT, net_pnl, sides_per_day
from remeasure.ledger.measurement import WHOLE, Measurement
from remeasure.model import Model
from remeasure.stats.bootstrap import draw_blocks, fitting_block, resampled_sums
from remeasure.stats.expected_maximum import approximate_maximum, kurtosis, skewness
from remeasure.stats.ranks import spearman
from remeasure.store.frames import write_frame, write_json
from remeasure.store.schema import declare
from remeasure.store.tables import reader, select
from remeasure.studies.crypto.coverage import FIRST, LAST, coverage, outside
from remeasure.studies.crypto.published import answer_all, printed
from remeasure.studies.crypto.series import coin
from remeasure.studies.crypto.settings import KNOWN_COINS, Dataset, GridSettings, Period
from remeasure.studies.crypto.textbook_rules import BOLLINGER, RSI, Rule, positions

Floats = NDArray[np.float64]

OUTPUTS = ("fig_overfitting", "stat_grid_families")

#: How many of the best are followed, and the publication's two periods.
BEST = 20
EARLY = (FIRST, date(2023, 12, 31))
LATER = (date(2024, 1, 1), LAST)

#: A period shorter than this is not worth a Sharpe ratio.
FEWEST_DAYS = 30

Z95 = 1.959963984540054

_NUMBERS = (
    "none", "one", "two", "three", "four", "five", "six",
    "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip

GRID = declare(
    "grid of rules",
    {
        "coin": dy.String(),
        "family": dy.String(),
        "rule": dy.String(),
        "first": dy.Int64(),
        "second": dy.Float64(),
        "rank": dy.Int64(min=1, unique=True),
        "early": dy.Float64(),
        "early_se": dy.Float64(min=0),
        "later": dy.Float64(),
        "later_se": dy.Float64(min=0),
        "early_bars": dy.Int64(min_exclusive=1),
        "later_bars": dy.Int64(min_exclusive=1),
        "early_skewness": dy.Float64(),
        "early_kurtosis": dy.Float64(),
        "sides_per_day": dy.Float64(min=0),
    },
)
"""One row a strategy (a rule on a coin), in the order of coins and rules. ``early`` and
``later`` are yearly Sharpe ratios after fees with their standard errors, ``rank`` is 1 for the
best of the early period; ``first`` and ``second`` are the rule's parameters."""


class GridStep(Model):
    """What the grid needs: its hourly candles (None: this run has none) and its settings."""

    candles: Dataset | None
    grid: GridSettings


@dataclass(frozen=True)
class Strategy:
    """One rule on one coin."""

    coin: str
    rule: Rule


@dataclass(frozen=True)
class Record:
    """What all strategies earned in one period, by day.

    Attributes
    ----------
    sums
        Sum and sum of squares of the net profit, shape (days, 2, strategies).
    bars
        Hours, shape (days, strategies): a coin may have been listed later than another.
    """

    sums: Floats
    bars: Floats

    def sharpe(self) -> Floats:
        """Yearly Sharpe ratio of each strategy, shape (strategies,)."""
        return sharpe_ratios(self.sums.sum(axis=0), self.bars.sum(axis=0))

    def resampled(self, block_days: int, resamples: int, rng: Generator) -> Floats:
        """The same in resamples of blocks of days, shape (resamples, strategies)."""
        days, _, strategies = self.sums.shape
        block = fitting_block(block_days, days)
        starts = draw_blocks(days, block, resamples, rng)
        flat = np.concatenate([self.sums.reshape(days, -1), self.bars], axis=1)
        drawn = resampled_sums(flat, block, starts).reshape(resamples, 3, strategies)
        return np.stack([sharpe_ratios(each[:2], each[2]) for each in drawn])


def sharpe_ratios(sums: Floats, bars: Floats) -> Floats:
    """Yearly Sharpe ratios from sums and sums of squares, shape (strategies,).

    ``mean / sd * sqrt(8760)`` with n - 1 in the standard deviation; 0 for a strategy whose
    profit never changes, as in :func:`remeasure.stats.sharpe.sharpe`.

    Parameters
    ----------
    sums
        Sum and sum of squares of the profit a bar, shape (2, strategies).
    bars
        Number of bars, shape (strategies,).
    """
    total, squares = sums
    variance = np.maximum(squares - total**2 / bars, 0.0) / (bars - 1)
    moved = variance > 1e-24
    sd = np.sqrt(np.where(moved, variance, 1.0))
    return np.where(moved, total / bars / sd * math.sqrt(BARS_PER_YEAR), 0.0)


def measure_grid(
    *, candles: list[Path], grid: Path, summary: Path, settings: GridStep, rng: Generator
) -> list[Measurement]:
    """Trade every rule on every coin, and follow the best of the early period.

    Positions run through both periods; a bar's profit belongs to the period of the hour in
    which it is earned. The first bars of the candles are flat until a rule has its indicator.

    Parameters
    ----------
    candles
        DuckDB files with the table ``candles`` of hours: one, or none.
    grid
        Output, Parquet: see ``GRID``.
    summary
        Output, JSON: ``estimates`` (value and standard error by name), ``coverage`` in words
        by period and ``periods``; or ``not_run``, the reason.

    Raises
    ------
    DataError
        When a coin has too few candles in a period.
    """
    exact = _exact(settings)
    reason = _reason(candles, settings)
    if reason is not None or settings.candles is None:
        write_frame(GRID.empty(), grid, GRID)
        write_json({"not_run": reason}, summary)
        return answer_all(exact, OUTPUTS, str(reason))
    strategies, rows, early, later = _trade(candles[0], settings.candles, settings.grid)
    options = settings.grid.block_days, settings.grid.resamples, rng
    drawn = early.resampled(*options), later.resampled(*options)
    ratios = early.sharpe(), later.sharpe()
    table = _table(rows, ratios, drawn)
    write_frame(table, grid, GRID)
    estimates = _estimates(strategies, ratios, drawn)
    told = _coverage(settings.candles, settings.grid)
    write_json(
        {
            "estimates": estimates,
            "coverage": told,
            "periods": {
                name: [str(day) for day in _within(settings.candles, period)]
                for name, period in _periods(settings.grid)
            },
        },
        summary,
    )
    measured = [*exact, *_answers(estimates, told, table)]
    return answer_all(measured, OUTPUTS, "no step measures it")


# --- trading --------------------------------------------------------------------------------


def _trade(
    path: Path, dataset: Dataset, grid: GridSettings
) -> tuple[list[Strategy], list[dict[str, Any]], Record, Record]:
    strategies: list[Strategy] = []
    rows: list[dict[str, Any]] = []
    parts: dict[str, list[tuple[Floats, Floats]]] = {name: [] for name, _ in _periods(grid)}
    spans = {name: _within(dataset, period) for name, period in _periods(grid)}
    for symbol in dataset.coins:
        bars = _bars(path, symbol)
        close = bars["close"].to_numpy()
        returns = np.diff(np.log(close))
        days = bars["open_time"].to_numpy()[1:].astype("datetime64[D]")
        inside = {name: _inside(days, span, symbol, path) for name, span in spans.items()}
        for rule, position in positions(bars["high"].to_numpy(), bars["low"].to_numpy(), close):
            pnl = net_pnl(position[:-1], returns, grid.fee_bp * BASIS_POINT)
            for name, (first, last) in spans.items():
                own, number = pnl[inside[name]], (last - first).days + 1
                day = (days[inside[name]] - np.datetime64(first)).astype(np.int64)
                sums = [np.bincount(day, each, number) for each in (own, own**2)]
                count = np.bincount(day, minlength=number).astype(np.float64)
                parts[name].append((np.stack(sums, axis=1), count))
            own = pnl[inside["early"]]
            strategies.append(Strategy(coin(symbol), rule))
            rows.append(
                {
                    "coin": coin(symbol),
                    "family": rule.family,
                    "rule": rule.name,
                    "first": rule.first,
                    "second": float(rule.second),
                    **{f"{name}_bars": int(inside[name].sum()) for name in spans},
                    "early_skewness": skewness(own),
                    "early_kurtosis": kurtosis(own),
                    "sides_per_day": sides_per_day(position[:-1]),
                }
            )
    early, later = (
        Record(
            np.stack([sums for sums, _ in parts[name]], axis=2),
            np.stack([count for _, count in parts[name]], axis=1),
        )
        for name in spans
    )
    return strategies, rows, early, later


def _bars(path: Path, symbol: str) -> pl.DataFrame:
    with reader(path) as connection:
        return select(
            connection,
            "SELECT open_time, high, low, close FROM candles WHERE symbol = ? ORDER BY open_time",
            [symbol],
        )


def _inside(
    days: NDArray[np.datetime64], span: tuple[date, date], symbol: str, path: Path
) -> NDArray[np.bool_]:
    first, last = span
    inside = (days >= np.datetime64(first)) & (days <= np.datetime64(last))
    if inside.sum() < 24 * FEWEST_DAYS / 2:
        raise DataError(
            f"{symbol} has {inside.sum()} hours from {first} to {last}, too few to trade rules",
            where=path,
            remedy="choose other periods in crypto.grid, or leave the coin out of crypto.spot.1h",
        )
    return inside


# --- estimates ------------------------------------------------------------------------------

Pair = tuple[Floats, Floats]
Estimates = dict[str, dict[str, float]]


def _best(early: Floats) -> NDArray[np.int64]:
    """Strategies from the best of the early period to the worst; ties in their own order."""
    return np.argsort(-early, kind="stable")


def _estimates(strategies: list[Strategy], ratios: Pair, drawn: Pair) -> Estimates:
    """Every quantity that rests on the whole grid, with its standard error."""
    best = _best(ratios[0])[:BEST]
    luck = approximate_maximum(len(strategies))

    def numbers(early: Floats, later: Floats) -> dict[str, float]:
        found = {
            "best_early": early[best].mean(),
            "best_later": later[best].mean(),
            "losing": float((later[best] < 0).sum()),
            "rank_correlation": spearman(early, later),
            "trial_mean": early.mean(),
            "trial_sd": early.std(ddof=1),
            "excess": early[best[0]] - luck * early.std(ddof=1),
            "excess_with_mean": early[best[0]] - early.mean() - luck * early.std(ddof=1),
        }
        for family in families:
            own = [index for index, each in enumerate(strategies) if each.rule.family == family]
            found[f"{family}, early"] = early[own].mean()
            found[f"{family}, later"] = later[own].mean()
        return found

    families = dict.fromkeys(each.rule.family for each in strategies)
    resamples = [numbers(*pair) for pair in zip(*drawn, strict=True)]
    return {
        name: {
            "value": float(value),
            "se": float(np.std([each[name] for each in resamples], ddof=1)),
        }
        for name, value in numbers(*ratios).items()
    }


def _table(rows: list[dict[str, Any]], ratios: Pair, drawn: Pair) -> pl.DataFrame:
    rank = np.empty(len(rows), dtype=np.int64)
    rank[_best(ratios[0])] = np.arange(1, len(rows) + 1)
    columns: dict[str, NDArray[Any]] = {"rank": rank}
    for name, own, resampled in zip(("early", "later"), ratios, drawn, strict=True):
        columns[name], columns[f"{name}_se"] = own, resampled.std(axis=0, ddof=1)
    return pl.DataFrame(rows).with_columns(**columns).select(list(GRID.columns))


# --- what of the publication's grid this run has --------------------------------------------


def _periods(grid: GridSettings) -> tuple[tuple[str, Period], ...]:
    return ("early", grid.early), ("later", grid.later)


def _within(dataset: Dataset, period: Period) -> tuple[date, date]:
    """The days of a period that have candles; the last before the first where none has."""
    return max(dataset.first, period.first), min(dataset.last, period.last)


def _reason(candles: list[Path], settings: GridStep) -> str | None:
    """Why the grid cannot be measured; None where it can."""
    dataset = settings.candles
    if dataset is None or not candles:
        return "this run has no hourly candles"
    for name, period in _periods(settings.grid):
        first, last = _within(dataset, period)
        if last < first + timedelta(days=FEWEST_DAYS - 1):
            what = f"the {name} period ({period.first} to {period.last})"
            if last < first:
                return outside(what, dataset.first, dataset.last)
            return f"{what} has fewer than {FEWEST_DAYS} days of candles"
    return None


def coins_covered(symbols: tuple[str, ...]) -> str:
    """``whole`` for the publication's twelve coins, else how many of them, in words.

    >>> coins_covered(("BTCUSDT", "ETHUSDT"))
    'two of twelve coins'
    """
    others = [coin(symbol) for symbol in symbols if symbol not in KNOWN_COINS]
    count = len(symbols) - len(others)
    if count == len(KNOWN_COINS) and not others:
        return WHOLE
    words = f"{_NUMBERS[count]} of twelve coins"
    return f"{words}, and {', '.join(others)}" if others else words


def _coverage(dataset: Dataset, grid: GridSettings) -> dict[str, str]:
    """Coverage of the early and the later period and of both, in words."""
    shared = [coins_covered(dataset.coins)]
    fee = printed("fig_overfitting", "fee per side", "")
    if grid.fee_bp != fee:
        shared.append(f"fee {grid.fee_bp:g} bp a side, not {fee:g}")
    windows = {
        name: coverage(
            *_within(dataset, period), published_first=window[0], published_last=window[1]
        )
        for (name, period), window in zip(_periods(grid), (EARLY, LATER), strict=True)
    }
    told = {
        "early": [*shared, windows["early"]],
        "later": [*shared, windows["later"]],
        "both": [*shared, *windows.values()],
    }
    return {
        name: ", ".join(part for part in parts if part != WHOLE) or WHOLE
        for name, parts in told.items()
    }


# --- answers --------------------------------------------------------------------------------


def interval95(
    value: float, se: float, lowest: float = -math.inf, highest: float = math.inf
) -> tuple[float, float]:
    """``value +/- 1.96 se`` within the bounds of the quantity."""
    return max(lowest, value - Z95 * se), min(highest, value + Z95 * se)


def _exact(settings: GridStep) -> list[Measurement]:
    kept = printed("fig_overfitting", "mean Sharpe of the same 20", "2024..2026-10") / printed(
        "fig_overfitting", "mean Sharpe of 20 best", "2021-2023"
    )
    return [
        Measurement(
            output_id="fig_overfitting",
            quantity="share of Sharpe kept",
            condition="0.19/1.56",
            value=kept,
            note="from printed numbers",
        ),
        Measurement(
            output_id="fig_overfitting",
            quantity="fee per side",
            value=settings.grid.fee_bp,
            note="as set in this run",
        ),
    ]


def _answers(
    estimates: Estimates, told: dict[str, str], table: pl.DataFrame
) -> Iterator[Measurement]:
    fixed = f"interval with these {BEST} held fixed"
    best = table.filter(pl.col("rank") == 1).row(0, named=True)
    family = table.group_by("family").len().sort("len", descending=True)
    sizes = dict(zip(family["family"], family["len"], strict=True))
    for name, quantity, condition, period, n, bounds, note in (
        (
            "best_early", "mean Sharpe of 20 best", "2021-2023", "early", BEST, (),
            f"{fixed}; best: {best['coin']} {best['rule']}",
        ),
        ("best_later", "mean Sharpe of the same 20", "2024..2026-10", "both", BEST, (), fixed),
        (
            "rank_correlation", "rank correlation of the two periods", "792 strategies", "both",
            table.height, (-1.0, 1.0), f"{table.height} strategies",
        ),
        ("losing", "of 20 best, losing later", "", "both", BEST, (0.0, float(BEST)), fixed),
    ):  # fmt: skip
        each = estimates[name]
        low, high = interval95(each["value"], each["se"], *bounds)
        yield Measurement(
            output_id="fig_overfitting",
            quantity=quantity,
            condition=condition,
            value=each["value"],
            low=low,
            high=high,
            n=n,
            coverage=told[period],
            note=note,
        )
    for name in (RSI, BOLLINGER):
        early, later = estimates[f"{name}, early"], estimates[f"{name}, later"]
        means = (
            f"{each['value']:.2f} (standard error {each['se']:.2f})" for each in (early, later)
        )
        yield Measurement(
            output_id="stat_grid_families",
            quantity=f"{name} family profitable",
            condition="both periods, 0 = no",
            # The claim is that both periods lose: earning in one of them contradicts it.
            value=int(early["value"] > 0 or later["value"] > 0),
            n=sizes[name],
            coverage=told["both"],
            note=f"mean Sharpe of the family {' and later '.join(means)}; 1 if either earns",
        )
