"""Rows that are arithmetic, against exact fractions and the publication's own rows."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import answer, answered, printed_rows
from remeasure.ledger.verdict import agrees
from remeasure.studies.polymarket.closed_forms import (
    OUTPUTS,
    manski,
    measure_closed_forms,
    mirrored,
    two_outcome_brier,
)
from remeasure.studies.polymarket.crypto_months import recounted
from remeasure.studies.polymarket.estimates import implied_base
from remeasure.studies.polymarket.published import printed, rows


def test_every_row_is_answered_once_and_equal() -> None:
    measured = measure_closed_forms()
    assert answered(measured) == sorted(printed_rows("polymarket", OUTPUTS))
    for each in measured:
        row = rows()[each.output_id, each.quantity, each.condition]
        assert each.value is not None
        assert agrees(row, each.value), (row.published, each.value)


def test_against_fractions() -> None:
    measured = measure_closed_forms()
    p = Fraction(7, 10)
    exact = {
        ("doubled log-odds", "p 0.7"): p**2 / (p**2 + (1 - p) ** 2),
        ("doubled log-odds", "p 0.3"): (1 - p) ** 2 / (p**2 + (1 - p) ** 2),
        ("weight", "pi1=0.11, pi2=0.3"): 1 / (1 - Fraction(89, 100) * Fraction(7, 10)),
        ("(1-r m)/(1-m)", "r=2.14, m=.095"): (1 - Fraction(214, 100) * Fraction(95, 1000))
        / (1 - Fraction(95, 1000)),
        ("r p(1-p) per share", "r .05, p .05"): Fraction(5, 100) ** 2 * Fraction(95, 100),
    }
    for key, value in exact.items():
        assert answer(measured, *key).value == pytest.approx(float(value), abs=1e-12)
    with localcontext() as context:
        context.prec = 40
        root = Decimal("0.7").sqrt() / (Decimal("0.7").sqrt() + Decimal("0.3").sqrt())
        year = 100 * ((1 / Decimal("0.95")) ** 2 - 1)
    assert answer(measured, "halved log-odds", "p 0.7").value == pytest.approx(float(root))
    waiting = answer(measured, "annual return", "No at 95 cents, pays after half a year")
    assert waiting.value == pytest.approx(float(year))


@given(st.floats(0.01, 0.99), st.integers(0, 1))
def test_the_original_score_is_twice_this_one(p: float, y: int) -> None:
    assert two_outcome_brier(p, y) == pytest.approx(2 * (p - y) ** 2)


def test_manski_bounds_by_brute_force() -> None:
    """Traders with equal budgets: buyers believe more than the price, sellers less."""
    assert manski(0.75) == (0.5625, 0.9375)
    price = 0.3
    # A share `price` of the money stands on Yes: those are the buyers. The mean belief is least
    # when buyers believe just the price and sellers nothing.
    assert price * price == pytest.approx(manski(price)[0])
    assert price * 1 + (1 - price) * price == pytest.approx(manski(price)[1])


@given(st.floats(0, 3), st.floats(0.02, 0.2), st.integers(0, 10**6))
def test_favourites_mirror_longshots(ratio: float, price: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.02, 0.2, size=50)
    w = rng.gamma(1.0, size=50)
    y = (rng.random(50) < p).astype(float)
    r, m = (w * y).sum() / (w * p).sum(), (w * p).sum() / w.sum()
    favourites = (w * (1 - y)).sum() / (w * (1 - p)).sum()
    assert favourites == pytest.approx(mirrored(r, m), abs=1e-12)
    assert mirrored(1.0, price) == pytest.approx(1)


def test_printed_numbers_agree_with_each_other() -> None:
    """The population's years, the decomposition, and skills that follow from printed scores."""
    years = [
        printed("fig_population", "resolved markets", f"closed in {y}") for y in range(2024, 2027)
    ]
    assert sum(years) == printed("stat_population", "resolved markets", "2024 to Oct 2026")
    week = {
        name: printed("stat_calibration", f"{name} term", "1 week")
        for name in ("reliability", "resolution", "uncertainty")
    }
    three = week["reliability"] - week["resolution"] + week["uncertainty"]
    assert three == pytest.approx(printed("stat_calibration", "Brier score", "1 week"), abs=5e-4)
    skill = 1 - printed("stat_calibration", "Brier score", "1 week") / week["uncertainty"]
    assert skill == pytest.approx(0.575, abs=5e-4)
    base = printed("fig_convergence", "base-rate Brier", "same markets")
    for days, expected in (("60", 0.44), ("30", 0.63), ("7", 0.78), ("0.5", 0.86)):
        score = printed("fig_convergence", "Brier score", f"{days} days before close")
        assert 1 - score / base == pytest.approx(expected, abs=0.01)
    assert implied_base(week["uncertainty"]) == pytest.approx(0.247, abs=5e-4)
    assert implied_base(base) == pytest.approx(0.184, abs=5e-4)


def test_crypto_rows_are_counts() -> None:
    """Every printed share is a whole number of wins; pooled they give the printed pools."""
    for (output, quantity, month), row in rows().items():
        if output == "fig_crypto" and quantity == "share of bullish bets won":
            wins = printed("fig_crypto", "bullish wins (deduced count)", month)
            n = printed("fig_crypto", "markets", month)
            assert row.number is not None
            assert abs(100 * wins / n - float(row.number)) <= 0.5
    measured = recounted()
    assert answer(measured, "wins / markets in rising months").value == pytest.approx(63 / 100)
    assert answer(measured, "wins / markets in falling months").value == pytest.approx(33 / 102)
    found = answer(measured, "correlation recomputed from printed rows").value
    assert found == pytest.approx(0.784, abs=5e-4)
