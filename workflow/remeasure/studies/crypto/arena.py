"""Six accounts against luck: bands in which an account without skill would stay.

Hourly log changes of account ``m`` have a variance ``s_m^2``; ``sigma^2`` is their mean over
the accounts. After ``h`` hours an account without skill lies within ``capital * exp(+/- z
sigma sqrt(h))``, with ``z = 1`` two times in three and with ``z = 1.96`` nineteen times in
twenty. In a game that is fair in dollars the middle falls by ``sigma^2 h / 2``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import dataframely as dy
import numpy as np
import numpy.typing as npt
import polars as pl
from numpy.random import Generator
from pydantic import Field

from remeasure.ledger.measurement import WHOLE, Measurement, not_run
from remeasure.model import Model
from remeasure.stats.bootstrap import (
    draw_blocks,
    fitting_block,
    percentile_interval,
    resampled_means,
)
from remeasure.stats.expected_maximum import exact_maximum
from remeasure.stats.normal import two_sided_tail
from remeasure.store.frames import read_json, write_frame
from remeasure.store.schema import declare, one_of
from remeasure.store.tables import read_table
from remeasure.studies.crypto.account_files import ACCOUNT_TABLE, ACCOUNTS, CAPITAL, HOURS, START
from remeasure.studies.crypto.published import answer_all, printed
from remeasure.studies.crypto.series import read_closes

OUTPUTS = ("fig_arena", "stat_arena_luck", "stat_arena_correlation")
HELD = "Bitcoin held"
NAMES = tuple(dict.fromkeys(ACCOUNTS.values()))

#: Ends of the two bands in standard deviations.
DARK, LIGHT = 1.0, 1.96

#: Mean of the largest of six independent standard normal numbers: 1.267206.
BEST_OF_SIX = exact_maximum(len(NAMES))

Floats = npt.NDArray[np.float64]

PATHS = declare(
    "account values",
    {
        "account": one_of([*NAMES, HELD]),
        "hour": dy.Int64(min=0, max=HOURS),
        "dollars": dy.Float64(min_exclusive=0),
    },
    unique=["account", "hour"],
)
"""One row an account and hour: its value; bitcoin held starts with the same capital."""

BANDS = declare(
    "bands without skill",
    {
        "hour": dy.Int64(),
        "light_low": dy.Float64(),
        "dark_low": dy.Float64(),
        "dark_high": dy.Float64(),
        "light_high": dy.Float64(),
    },
)
"""One row an hour: ends of the bands of two in three (dark) and nineteen in twenty (light)."""


class ArenaSettings(Model):
    """Bootstrap of the volatility: block in hours, and resamples."""

    block_hours: int = Field(ge=1)
    resamples: int = Field(ge=100)


class ArenaStep(Model):
    """What measuring needs."""

    arena: ArenaSettings


def hourly_changes(values: Mapping[int, float], hours: int = HOURS) -> Floats:
    """Log changes from hour to hour, shape ``(hours,)``; NaN where either value is missing."""
    level = np.full(hours + 1, np.nan)
    for hour, value in values.items():
        level[hour] = math.log(value)
    return np.diff(level)


def band(sigma: float, hours: Floats, z: float, *, fair_in_dollars: bool = False) -> Floats:
    """Both ends of a band, shape ``(2, hours)``, in dollars.

    Parameters
    ----------
    sigma
        Standard deviation of an hourly log change.
    hours
        Since the start.
    z
        Half-width in standard deviations.
    fair_in_dollars
        Whether the middle falls by half the variance, so that the mean value stays.
    """
    middle = -(sigma**2) * hours / 2 if fair_in_dollars else 0.0 * hours
    half = z * sigma * np.sqrt(hours)
    return CAPITAL * np.exp(np.stack([middle - half, middle + half]))


def together(correlations: Mapping[frozenset[str], float]) -> tuple[str, ...]:
    """The four accounts whose least correlated pair is most correlated, in order of name."""
    names = sorted(frozenset().union(*correlations))
    return max(
        combinations(names, 4),
        key=lambda four: min(correlations[frozenset(pair)] for pair in combinations(four, 2)),
    )


def measure_arena(
    *,
    accounts: list[Path],
    hours: Path,
    paths: Path,
    bands: Path,
    settings: ArenaStep,
    rng: Generator,
    truth: Path | None = None,
) -> list[Measurement]:
    """Final returns, bands without skill, the winner's luck, and which accounts move together.

    Parameters
    ----------
    accounts
        DuckDB files with the table ``accounts``: one, or none where this run has none.
    hours
        DuckDB file with the table ``hours``, for bitcoin held over the season.
    paths, bands
        Outputs, Parquet: see ``PATHS`` and ``BANDS``.
    truth
        Of generated accounts: what `generate_accounts.generate_accounts` planted.

    Raises
    ------
    DataError
        When a database or the truth is missing or cannot be read.
    """
    values = {
        name: dict(zip(part["hour"].to_list(), part["dollars"].to_list(), strict=True))
        for path in accounts
        for (name,), part in read_table(path, ACCOUNT_TABLE).group_by(
            "account", maintain_order=True
        )
    }
    prices = _prices(hours)
    held = _held(prices)
    changes = {name: hourly_changes(own) for name, own in values.items()}
    sigma = _sigma(changes) if changes else None
    rows = [
        (name, hour, value)
        for name, own in {**values, HELD: held}.items()
        for hour, value in sorted(own.items())
    ]
    table = pl.DataFrame(
        rows,
        schema={"account": pl.String(), "hour": pl.Int64(), "dollars": pl.Float64()},
        orient="row",
    )
    write_frame(table, paths, PATHS)
    write_frame(_bands(sigma), bands, BANDS)
    planted: dict[str, Any] = {} if truth is None else read_json(truth)
    measured = [*_arithmetic(), _bitcoin(held, prices)]
    if sigma is not None:
        measured += _finals(values, planted)
        measured += _luck(values, changes, sigma, planted, settings.arena, rng)
        measured += _correlations(changes, planted)
    return answer_all(measured, OUTPUTS, "this run has no account values of Alpha Arena")


def _prices(hours: Path) -> dict[int, float]:
    """Price of bitcoin by hour since the start, from an hour before it to an hour after the end."""
    (closes,) = read_closes(hours, ("BTCUSDT",))
    # A close belongs to the end of its hour.
    ends = closes.open_time + np.timedelta64(1, "h")
    hour = (ends - np.datetime64(START)) // np.timedelta64(1, "h")
    inside = (hour >= -1) & (hour <= HOURS + 1)
    return dict(zip(hour[inside].tolist(), closes.close[inside].tolist(), strict=True))


def _held(prices: Mapping[int, float]) -> dict[int, float]:
    """Bitcoin bought at the start, by hour; empty unless prices reach over the season."""
    if 0 not in prices or HOURS not in prices:
        return {}
    return {at: CAPITAL * price / prices[0] for at, price in prices.items() if 0 <= at <= HOURS}


def _sigma(changes: Mapping[str, Floats]) -> float:
    return math.sqrt(float(np.mean([np.nanvar(each, ddof=1) for each in changes.values()])))


def _bands(sigma: float | None) -> pl.DataFrame:
    hour = np.arange(HOURS + 1 if sigma is not None else 0)
    light, dark = (band(sigma or 0.0, hour.astype(np.float64), z) for z in (LIGHT, DARK))
    return pl.DataFrame(
        {
            "hour": hour,
            "light_low": light[0],
            "dark_low": dark[0],
            "dark_high": dark[1],
            "light_high": light[1],
        }
    )


def _coverage(own: Mapping[int, float]) -> str:
    if max(own) == HOURS and len(own) >= 0.999 * (HOURS + 1):
        return WHOLE
    last = START + timedelta(hours=max(own))
    return f"{len(own) - 1} of {HOURS} hourly values, the last of {last:%Y-%m-%d %H:%M} UTC"


def _bitcoin(held: Mapping[int, float], prices: Mapping[int, float]) -> Measurement:
    key = ("fig_arena", "final return", HELD)
    if not held:
        return not_run(*key, "this run's candles of BTC do not reach over the season")
    moved = [
        100 * (prices[last] / prices[first] - 1)
        for first in (-1, 0, 1)
        for last in (HOURS - 1, HOURS, HOURS + 1)
        if first in prices and last in prices
    ]
    return Measurement(
        output_id=key[0],
        quantity=key[1],
        condition=key[2],
        value=100 * (held[HOURS] / CAPITAL - 1),
        n=len(held) - 1,
        note=(
            f"spot, {START:%Y-%m-%d %H:%M} to {START + timedelta(hours=HOURS):%Y-%m-%d %H:%M} UTC;"
            f" with either end moved by up to an hour {min(moved):.2f} to {max(moved):.2f}"
        ),
    )


def _finals(
    values: Mapping[str, Mapping[int, float]], planted: Mapping[str, Any]
) -> list[Measurement]:
    known = planted.get("final", {})
    return [
        Measurement(
            output_id="fig_arena",
            quantity="final return",
            condition=name,
            value=100 * (own[max(own)] / CAPITAL - 1),
            n=len(own) - 1,
            truth=100 * (known[name] / CAPITAL - 1) if name in known else None,
            coverage=_coverage(own),
        )
        for name, own in values.items()
    ]


def _luck(
    values: Mapping[str, Mapping[int, float]],
    changes: Mapping[str, Floats],
    sigma: float,
    planted: Mapping[str, Any],
    settings: ArenaSettings,
    rng: Generator,
) -> list[Measurement]:
    """How many accounts lie inside the light band, and the winner's lead in units of luck."""
    covered = next((words for words in map(_coverage, values.values()) if words != WHOLE), WHOLE)
    last = {name: max(own) for name, own in values.items()}
    inside, fair = (
        sum(
            bool(low <= values[name][hour] <= high)
            for name, hour in last.items()
            for low, high in (
                band(sigma, np.array([float(hour)]), LIGHT, fair_in_dollars=drift)[:, 0],
            )
        )
        for drift in (False, True)
    )
    spread = sigma * math.sqrt(max(last.values()))
    lead = math.log(max(values[name][hour] for name, hour in last.items()) / CAPITAL)
    ratio = lead / (BEST_OF_SIX * spread)
    squares = np.stack([(each - np.nanmean(each)) ** 2 for each in changes.values()])
    whole = np.isfinite(squares).all(axis=0)
    mean = squares[:, whole].mean(axis=0)
    block = fitting_block(settings.block_hours, mean.size)
    starts = draw_blocks(mean.size, block, settings.resamples, rng)
    ends = percentile_interval(np.sqrt(resampled_means(mean, block, starts)))
    low, high = sorted(ratio * sigma / float(end) for end in ends)
    truth = None
    if planted:
        best = math.log(max(planted["final"].values()) / CAPITAL)
        truth = best / (BEST_OF_SIX * planted["sigma"])
    return [
        Measurement(
            output_id="fig_arena",
            quantity="models inside the 95% no-skill band",
            value=inside,
            n=len(values),
            coverage=covered,
            note=f"{fair} where the game is fair in dollars; sigma {spread:.3f} over the season",
        ),
        Measurement(
            output_id="stat_arena_luck",
            quantity="winner lead / typical no-skill lead",
            value=ratio,
            low=low,
            high=high,
            n=int(whole.sum()),
            truth=truth,
            coverage=covered,
            note=(
                "against the expected best of six; against one standard deviation it is"
                f" {lead / spread:.3f}"
            ),
        ),
    ]


def correlations(changes: Mapping[str, Floats]) -> dict[frozenset[str], float]:
    """Pearson correlation of the hourly changes of each pair, over hours that both have."""
    found = {}
    for left, right in combinations(changes, 2):
        both = np.isfinite(changes[left]) & np.isfinite(changes[right])
        pair = np.corrcoef(changes[left][both], changes[right][both])
        found[frozenset((left, right))] = float(pair[0, 1])
    return found


def _correlations(changes: Mapping[str, Floats], planted: Mapping[str, Any]) -> list[Measurement]:
    pairs = correlations(changes)
    if len(changes) < 4:
        return []
    four = together(pairs)
    own = sorted((pairs[frozenset(pair)], pair) for pair in combinations(four, 2))
    every = ", ".join(
        f"{' and '.join(sorted(pair))} {value:.2f}"
        for pair, value in sorted(pairs.items(), key=lambda each: -each[1])
    )
    rows = []
    for name, (value, pair) in (("lowest", own[0]), ("highest", own[-1])):
        both = int(np.sum(np.isfinite(changes[pair[0]]) & np.isfinite(changes[pair[1]])))
        # Fisher's transformation: the error of one pair, not of the choice among pairs.
        error = 1.96 / math.sqrt(both - 3)
        rows.append(
            Measurement(
                output_id="stat_arena_correlation",
                quantity=f"{name} hourly correlation",
                condition="four co-moving models",
                value=value,
                low=math.tanh(math.atanh(value) - error),
                high=math.tanh(math.atanh(value) + error),
                n=both,
                coverage=WHOLE if both >= 0.999 * HOURS else f"{both} of {HOURS} hours",
                note=f"{', '.join(four)}. All pairs: {every}",
            )
        )
    return rows


def _arithmetic() -> list[Measurement]:
    """The rows that are mathematics."""
    winner, last = (
        1 + printed("fig_arena", "final return", name) / 100 for name in ("Qwen3-Max", "GPT-5")
    )
    lead = 3 * math.log(winner)
    bands = (
        ("dark band (two in three)", DARK),
        ("light band (nineteen in twenty)", LIGHT),
    )
    sigmas = (
        ("sigma over 17 days if lead = sigma/3", "ln 1.23 x 3", lead),
        (
            "sigma over 17 days if lead = E[max of 6]/3",
            "ln 1.23 x 3 / 1.267206",
            lead / BEST_OF_SIX,
        ),
        (
            "minimum sigma for GPT-5 inside 95% without drift",
            "-ln 0.37 / 1.96",
            -math.log(last) / LIGHT,
        ),
    )
    rows = [
        *(("fig_arena", "band coverage", name, 100 * (1 - two_sided_tail(z))) for name, z in bands),
        *(("stat_arena_luck", *each) for each in sigmas),
    ]
    return [
        Measurement(output_id=output, quantity=quantity, condition=condition, value=value)
        for output, quantity, condition, value in rows
    ]
