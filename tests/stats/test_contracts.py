"""Returns, spreads and fees of contracts, against loops, identities and worked examples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remeasure.stats.bands import band, complement, ticks
from remeasure.stats.contracts import (
    annualised,
    band_returns,
    fee_of_money_paid,
    fee_per_share,
    half_spread,
    net_return,
    of_money_paid,
    returns,
)

EDGES = (50, 200, 500, 2000, 8000, 9500, 9800, 9950)


def test_bands_against_a_loop() -> None:
    rng = np.random.default_rng(1)
    p = np.round(rng.uniform(0.001, 0.999, size=800), 3)
    y, w = (rng.random(800) < p).astype(float), rng.gamma(0.8, size=800)
    index = band(ticks(p), EDGES)
    found = band_returns(p, y, w, index, 7)
    for number in range(7):
        at = index == number
        assert found.contracts[number] == at.sum()
        own_p, own_y, own_w = p[at], y[at], w[at]
        mean = sum(
            weight * (outcome / price - 1)
            for price, outcome, weight in zip(own_p, own_y, own_w, strict=True)
        )
        assert found.mean_return[number] == pytest.approx(mean / own_w.sum(), abs=1e-12)
        pooled = (own_w * own_y).sum() / (own_w * own_p).sum() - 1
        assert found.pooled_return[number] == pytest.approx(pooled, abs=1e-12)
        assert found.win[number] == pytest.approx(np.average(own_y, weights=own_w))
        assert found.cost[number] == pytest.approx(np.average(own_p, weights=own_w))
        assert found.effective[number] == pytest.approx(own_w.sum() ** 2 / (own_w**2).sum())


def test_the_two_means_differ() -> None:
    found = band_returns([0.02, 0.04], [1, 0], [1, 1], [0, 0], 1)
    assert found.mean_return[0] == pytest.approx((1 / 0.02 - 1 - 1) / 2)
    assert found.pooled_return[0] == pytest.approx(1 / 0.06 - 1)
    assert np.isnan(band_returns([0.5], [1], [1], [-1], 1).mean_return[0])


@given(st.integers(0, 10**6))
def test_dollars_won_are_dollars_lost_on_the_other_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tick = rng.integers(1, 10_000, size=200)
    p, w = tick / 10_000, rng.gamma(1.0, size=200)
    y = (rng.random(200) < p).astype(float)
    low, high = 200, 500
    own = (tick >= low) & (tick < high)
    other = complement(tick)
    # The mirrored band is open where the band itself is closed.
    mirrored = (other > 10_000 - high) & (other <= 10_000 - low)
    gain = (w * (y - p))[own].sum()
    loss = (w * ((1 - y) - (1 - p)))[mirrored].sum()
    assert gain == pytest.approx(-loss, abs=1e-12)


@given(st.integers(1, 98), st.integers(1, 50))
def test_spreads(bid_cents: int, width: int) -> None:
    bid, ask = bid_cents / 100, min(bid_cents + width, 99) / 100
    cost = half_spread(bid, ask)
    middle = (bid + ask) / 2
    assert 0 <= cost <= 1
    assert of_money_paid(cost) == pytest.approx((ask - middle) / ask, abs=1e-12)
    # The other side: same distance in cents.
    other = half_spread(1 - ask, 1 - bid)
    assert other * (1 - middle) == pytest.approx(cost * middle, abs=1e-12)


def test_worked_costs() -> None:
    assert half_spread(0.01, 0.03) == pytest.approx(0.5)
    assert of_money_paid(0.5) == pytest.approx(1 / 3)
    assert of_money_paid([0.667, 0.13]) == pytest.approx([0.40012, 0.115044], abs=5e-7)
    assert net_return(0.0115, 0.021) == pytest.approx(-0.0093046, abs=5e-8)
    assert net_return(0.0035, 0.006) == pytest.approx(-0.00248509, abs=5e-9)


@given(st.floats(0.001, 0.999), st.floats(0, 0.1))
def test_fees(price: float, rate: float) -> None:
    assert fee_per_share(rate, price) / price == pytest.approx(
        float(fee_of_money_paid(rate, price)), abs=1e-12
    )
    assert fee_per_share(rate, price) == pytest.approx(
        float(fee_per_share(rate, 1 - price)), abs=1e-12
    )


def test_worked_fees() -> None:
    assert fee_of_money_paid(0.05, [0.05, 0.95]) == pytest.approx([0.0475, 0.0025])
    assert fee_per_share(0.05, 0.05) == pytest.approx(0.002375)
    assert fee_per_share(0.07, 0.5) == pytest.approx(0.0175)
    assert fee_per_share(0.25, 0.5, exponent=2) == pytest.approx(0.25 / 16)


def test_years() -> None:
    assert annualised(1 / 0.95 - 1, 6) == pytest.approx(0.108033, abs=1e-6)
    assert annualised(0.018, 1) == pytest.approx(0.238721, abs=1e-6)
    assert annualised(0.077, 12) == pytest.approx(0.077)


def test_what_costs_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        returns([0.0], [1])
