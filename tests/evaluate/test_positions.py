"""Positions, turnover and costs: identities, properties and a loop that needs no cleverness."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from remeasure.evaluate.positions import (
    band_positions,
    fee_drag,
    growth,
    implied_sides_per_day,
    net_pnl,
    return_per_year,
    sides_per_day,
    turnover,
)

probabilities = arrays(np.float64, st.integers(1, 200), elements=st.floats(0, 1))
bands = st.sampled_from([0.0, 0.01, 0.02, 0.03, 0.05, 0.08, 0.3])


def by_hand(probability: np.ndarray, band: float) -> list[int]:
    """The rule in words, one bar after the other."""
    held, path = 0, []
    for p in probability:
        if p > 0.5 + band:
            held = 1
        elif p < 0.5 - band:
            held = -1
        path.append(held)
    return path


@pytest.fixture(scope="module")
def market() -> tuple[np.ndarray, np.ndarray]:
    """Forecasts and returns of 42,142 hours."""
    rng = np.random.default_rng(3)
    return rng.beta(60, 60, 42142), rng.normal(0, 0.005, 42142)


@given(probability=probabilities, band=bands)
def test_band_is_the_rule(probability: np.ndarray, band: float) -> None:
    assert band_positions(probability, band).tolist() == by_hand(probability, band)


@given(probability=probabilities)
def test_no_band_is_the_sign_after_the_first_signal(probability: np.ndarray) -> None:
    """E6, first half."""
    position = band_positions(probability, 0.0)
    decided = probability != 0.5
    assert (position[decided] == np.sign(probability[decided] - 0.5)).all()
    first = int(np.argmax(decided)) if decided.any() else probability.size
    assert (position[:first] == 0).all()
    assert (position[first:] != 0).all()


@given(probability=probabilities, low=bands, high=bands)
def test_wider_bands_trade_no_more(probability: np.ndarray, low: float, high: float) -> None:
    """E6, second half."""
    low, high = min(low, high), max(low, high)
    assert turnover(band_positions(probability, high)).sum() <= (
        turnover(band_positions(probability, low)).sum()
    )


def test_reversal_costs_two_sides() -> None:
    position = np.array([0, 1, 1, -1, 0], dtype=np.int8)
    assert turnover(position).tolist() == [0, 1, 0, 2, 1]
    assert sides_per_day(position) == pytest.approx(24 * 4 / 5, rel=1e-15)
    pnl = net_pnl(position, np.full(5, 0.01), fee=0.001)
    assert pnl == pytest.approx([0, 0.009, 0.01, -0.012, -0.001], abs=1e-15)


@pytest.mark.parametrize("band", [0.0, 0.02, 0.05])
def test_fee_identity(market: tuple[np.ndarray, np.ndarray], band: float) -> None:
    """E4: return(fee) = return(0) - 365 x fee x sides a day, on any forecasts."""
    probability, returns = market
    position = band_positions(probability, band)
    gross = return_per_year(net_pnl(position, returns))
    for fee in (0.0001, 0.0002, 0.0005):
        net = return_per_year(net_pnl(position, returns, fee))
        drag = fee_drag(sides_per_day(position), fee)
        assert net == pytest.approx(gross - drag, rel=1e-12)


@pytest.mark.parametrize("fee", [0.0002, 0.0005])
def test_growth_identity(market: tuple[np.ndarray, np.ndarray], fee: float) -> None:
    """E5: growth(0) / growth(fee) = exp(fee x all sides)."""
    probability, returns = market
    position = band_positions(probability, 0.0)
    ratio = growth(net_pnl(position, returns))[-1] / growth(net_pnl(position, returns, fee))[-1]
    assert ratio == pytest.approx(math.exp(fee * turnover(position).sum()), rel=1e-10)
    implied = implied_sides_per_day(ratio, 1.0, fee=fee, days=probability.size / 24)
    assert implied == pytest.approx(sides_per_day(position), rel=1e-10)


def test_holding_grows_with_the_price(market: tuple[np.ndarray, np.ndarray]) -> None:
    _, returns = market
    held = net_pnl(np.ones(returns.size, dtype=np.int8), returns)
    assert growth(held)[-1] == pytest.approx(math.exp(math.fsum(returns)), rel=1e-12)


def test_what_cannot_be_traded() -> None:
    with pytest.raises(ValueError, match="negative"):
        band_positions(np.array([0.5]), -0.1)
    with pytest.raises(ValueError, match="missing"):
        band_positions(np.array([0.5, np.nan]))
    with pytest.raises(ValueError, match="do not match"):
        net_pnl(np.ones(2, dtype=np.int8), np.ones(3))
