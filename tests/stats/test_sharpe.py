"""Sharpe ratios, against hand arithmetic, scale laws and the spread of simulated records."""

from __future__ import annotations

import math

import numpy as np
import pytest

from remeasure.stats.sharpe import days_needed, sharpe, sharpe_needed, standard_error


def test_by_hand() -> None:
    # mean 2, deviations -1, 0, 1: sd with n - 1 is 1.
    assert sharpe([1.0, 2.0, 3.0], 365) == pytest.approx(2 * math.sqrt(365))


def test_scale_and_sign() -> None:
    x = np.random.default_rng(3).normal(0.1, 1, 500)
    assert sharpe(7 * x, 8760) == pytest.approx(sharpe(x, 8760))
    assert sharpe(-x, 8760) == pytest.approx(-sharpe(x, 8760))


@pytest.mark.parametrize("constant", [0.0, 0.1])
def test_a_strategy_without_risk_has_ratio_zero(constant: float) -> None:
    assert sharpe(np.full(1000, constant), 8760) == 0


def test_one_return_is_refused() -> None:
    with pytest.raises(ValueError, match="two returns"):
        sharpe([0.1], 365)


def test_standard_error_is_the_spread_of_records() -> None:
    rng = np.random.default_rng(8)
    days = 60
    ratios = [sharpe(rng.normal(0.05, 1, days), 365) for _ in range(4000)]
    assert np.std(ratios) == pytest.approx(standard_error(days), rel=0.05)


def test_numbers_of_the_article() -> None:
    assert standard_error(17) == pytest.approx(4.6336, abs=5e-5)
    assert sharpe_needed(17) == pytest.approx(9.082, abs=5e-4)
    assert days_needed(1) == pytest.approx(1402.18, abs=5e-3)
    assert days_needed(1, z=2) == 1460


def test_needed_days_and_needed_ratio_are_inverse() -> None:
    assert sharpe_needed(days_needed(0.7)) == pytest.approx(0.7)
    assert days_needed(0) == math.inf
    with pytest.raises(ValueError, match="positive"):
        standard_error(0)
