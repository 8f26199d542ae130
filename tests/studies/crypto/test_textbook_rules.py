"""Indicators against pandas and brute force, rules against loops, and no look into the future."""

from __future__ import annotations

import math
from datetime import date

import numpy as np
import pandas as pd
import pytest

from candle_tables import walk
from remeasure.evaluate.positions import net_pnl
from remeasure.stats.sharpe import sharpe
from remeasure.studies.crypto.market import aggregate, simulate
from remeasure.studies.crypto.textbook_rules import (
    BOLLINGER,
    BREAKOUT,
    CROSSOVER,
    FAMILIES,
    RSI,
    Rule,
    all_rules,
    positions,
    rolling_max,
    rolling_mean,
    rolling_min,
    rolling_sd,
    wilder_rsi,
)

N = 3000
CLOSE = walk(3, N, sd=0.01, start=60_000.0)
HIGH, LOW = CLOSE * 1.004, CLOSE * 0.997


def brute(values: np.ndarray, n: int, what: str) -> np.ndarray:
    out = np.full(values.size, np.nan)
    for end in range(n - 1, values.size):
        out[end] = getattr(values[end - n + 1 : end + 1], what)()
    return out


@pytest.mark.parametrize("n", [1, 2, 6, 168, 720, N, N + 5])
def test_rolling_indicators_against_brute_force(n: int) -> None:
    for ours, values, what in (
        (rolling_mean, CLOSE, "mean"),
        (rolling_sd, CLOSE, "std"),
        (rolling_max, HIGH, "max"),
        (rolling_min, LOW, "min"),
    ):
        np.testing.assert_allclose(ours(values, n), brute(values, n, what), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [6, 21, 168])
def test_rolling_indicators_against_pandas(n: int) -> None:
    series = pd.Series(CLOSE).rolling(n)
    for ours, referee in (
        (rolling_mean(CLOSE, n), series.mean()),
        (rolling_max(CLOSE, n), series.max()),
        (rolling_min(CLOSE, n), series.min()),
    ):
        np.testing.assert_allclose(ours, referee.to_numpy(), rtol=1e-9)


@pytest.mark.parametrize("n", [6, 9, 14, 21])
def test_rsi_against_pandas_and_a_loop(n: int) -> None:
    move = np.diff(CLOSE)
    smoothed = []
    for part in (np.maximum(move, 0), np.maximum(-move, 0)):
        seeded = np.concatenate([[part[:n].mean()], part[n:]])
        smoothed.append(pd.Series(seeded).ewm(alpha=1 / n, adjust=False).mean().to_numpy())
    referee = 100 - 100 / (1 + smoothed[0] / smoothed[1])
    ours = wilder_rsi(CLOSE, n)
    assert np.isnan(ours[:n]).all()
    np.testing.assert_allclose(ours[n:], referee, rtol=1e-9)
    rise, fall = np.maximum(move[:n], 0).mean(), np.maximum(-move[:n], 0).mean()
    looped = [100 * rise / (rise + fall)]
    for each in move[n:]:
        rise, fall = (rise * (n - 1) + max(each, 0)) / n, (fall * (n - 1) + max(-each, 0)) / n
        looped.append(100 * rise / (rise + fall))
    np.testing.assert_allclose(ours[n:], looped, rtol=1e-9)


def test_rsi_at_the_edges() -> None:
    assert np.isnan(wilder_rsi(CLOSE[:6], 6)).all()
    np.testing.assert_allclose(wilder_rsi(np.full(20, 7.0), 6)[6:], 50)
    np.testing.assert_allclose(wilder_rsi(np.arange(1.0, 21), 6)[6:], 100)
    np.testing.assert_allclose(wilder_rsi(np.arange(20.0, 0, -1), 6)[6:], 0)


def test_sixty_six_rules_in_four_families() -> None:
    rules = all_rules()
    names = [rule.name for rule in rules]
    assert len(set(names)) == 66
    counts = {family: sum(rule.family == family for rule in rules) for family in FAMILIES}
    assert counts == {CROSSOVER: 28, BREAKOUT: 10, RSI: 16, BOLLINGER: 12}
    assert Rule(CROSSOVER, 12, 24) in rules
    assert {"MA 12/24", "channel 96", "RSI 14/30", "Bollinger 48/2.5"} <= set(names)
    assert [rule for rule, _ in positions(HIGH, LOW, CLOSE)] == list(rules)


def looped(rule: Rule) -> list[int]:
    """A rule's positions the plain way: one bar after the other, windows cut out anew."""
    out, s = [], 0
    before = math.nan  # on which side of the average the bar before closed
    strength = wilder_rsi(CLOSE, rule.first) if rule.family == RSI else CLOSE
    for t in range(N):
        if rule.family == CROSSOVER:
            slow = int(rule.second)
            s = 0
            if t >= slow - 1:
                difference = CLOSE[t - rule.first + 1 : t + 1].mean()
                difference -= CLOSE[t - slow + 1 : t + 1].mean()
                s = int(np.sign(difference))
        elif rule.family == BREAKOUT and t >= rule.first:
            past = slice(t - rule.first, t)
            s = 1 if CLOSE[t] > HIGH[past].max() else -1 if CLOSE[t] < LOW[past].min() else s
        elif rule.family == RSI:
            s = 1 if strength[t] < rule.second else -1 if strength[t] > 100 - rule.second else s
        elif rule.family == BOLLINGER and t >= rule.first - 1:
            window = CLOSE[t - rule.first + 1 : t + 1]
            mean, width = window.mean(), rule.second * window.std()
            side = np.sign(CLOSE[t] - mean)
            if CLOSE[t] < mean - width:
                s = 1
            elif CLOSE[t] > mean + width:
                s = -1
            elif side != before:
                s = 0
            before = side
        out.append(s)
    return out


@pytest.mark.parametrize(
    "rule",
    [
        Rule(CROSSOVER, 6, 12),
        Rule(CROSSOVER, 12, 24),
        Rule(CROSSOVER, 48, 720),
        Rule(BREAKOUT, 12),
        Rule(BREAKOUT, 168),
        Rule(RSI, 6, 20),
        Rule(RSI, 14, 30),
        Rule(BOLLINGER, 24, 1.5),
        Rule(BOLLINGER, 96, 2.5),
    ],
    ids=lambda rule: rule.name,
)
def test_positions_against_loops(rule: Rule) -> None:
    ours = dict(positions(HIGH, LOW, CLOSE))[rule]
    expected = looped(rule)
    assert ours.tolist() == expected
    assert {-1, 1} <= set(expected)


def test_equal_averages_are_flat() -> None:
    """Twenty-four equal closes: both averages are the same number, whatever was before."""
    close = np.concatenate([CLOSE[:100], np.full(24, 1234.56), CLOSE[124:200]])
    ours = dict(positions(close * 1.1, close * 0.9, close))[Rule(CROSSOVER, 12, 24)]
    assert ours[123] == 0
    assert (ours[24:122] != 0).all()


def test_averages_that_differ_by_rounding_are_flat() -> None:
    """Closes that repeat every six hours: all averages are equal, up to the last bits."""
    close = np.tile([0.1, 0.3, 0.7, 0.2, 0.9, 0.4], 40)
    ours = dict(positions(close * 1.1, close * 0.9, close))
    difference = rolling_mean(close, 12) - rolling_mean(close, 168)
    assert np.nanmax(np.abs(difference)) > 0
    for slow in (12, 24, 48, 96, 168):
        assert not ours[Rule(CROSSOVER, 6, slow)].any()


def test_no_rule_knows_the_future() -> None:
    """Positions from a prefix equal the beginning of positions from everything."""
    whole = dict(positions(HIGH, LOW, CLOSE))
    for cut in (5, 30, 168, 720, 721, 1441, 2222, N - 1):
        for rule, part in positions(HIGH[:cut], LOW[:cut], CLOSE[:cut]):
            assert (part == whole[rule][:cut]).all(), (rule.name, cut)


@pytest.mark.slow
def test_no_family_earns_where_there_is_no_edge() -> None:
    """Twelve worlds without a reversal: gross Sharpe ratios within 3 standard errors of zero."""
    means: dict[str, list[float]] = {family: [] for family in FAMILIES}
    for seed in range(12):
        coin = simulate(("BTCUSDT",), date(2021, 1, 1), date(2022, 12, 31), seed=seed, beta=0.0)[
            "BTCUSDT"
        ]
        bars = aggregate(coin.traded(), "1h")
        returns = np.diff(np.log(bars.close))
        ratios: dict[str, list[float]] = {family: [] for family in FAMILIES}
        for rule, position in positions(bars.high, bars.low, bars.close):
            ratios[rule.family].append(sharpe(net_pnl(position[:-1], returns), 8760))
        for family, every in ratios.items():
            means[family].append(float(np.mean(every)))
    for family, every in means.items():
        error = np.std(every, ddof=1) / math.sqrt(len(every))
        assert abs(np.mean(every)) < 3 * error, (family, np.mean(every), error)
