"""Rows that are arithmetic, against exact decimal arithmetic."""

from __future__ import annotations

from decimal import Decimal, localcontext

import pytest

from answers import answer, answered, printed_rows
from remeasure.studies.crypto.closed_forms import OUTPUTS, compounded, measure_closed_forms


def test_every_row_is_answered_once() -> None:
    assert answered(measure_closed_forms()) == sorted(printed_rows("crypto", OUTPUTS))


def test_against_decimals() -> None:
    measured = measure_closed_forms()
    with localcontext() as context:
        context.prec = 40
        error = (Decimal(365) / Decimal(17)).sqrt()
        expected = {
            "standard error, unrounded": error,
            "standard error of annual Sharpe": error,
            "Sharpe needed to differ from zero": error * Decimal("1.96"),
            "Sharpe needed (printed as above)": error * Decimal("1.96"),
            "days to show Sharpe 1": 365 * Decimal("1.96") ** 2,
            "years to show Sharpe 1 (printed about)": Decimal("1.96") ** 2,
        }
    for quantity, value in expected.items():
        assert answer(measured, quantity).value == pytest.approx(float(value), rel=1e-14)


def test_sharpe_rows_round_to_the_printed_values() -> None:
    measured = measure_closed_forms()
    for key, row in printed_rows("crypto", ["stat_sharpe_se"]).items():
        digits = len(row["value"].partition(".")[2])
        assert round(float(answer(measured, *key).value), digits) == float(row["value"])


def test_sixty_percent_a_month() -> None:
    measured = measure_closed_forms()
    year = answer(measured, "$1,000 at 60% a month", "12 months")
    assert year.value == pytest.approx(float(1000 * Decimal("1.6") ** 12), rel=1e-12)
    assert round(float(year.value)) == 281_475


def test_the_printed_value_after_36_months_is_a_thousand_times_too_small() -> None:
    """$1,000 becomes 22 billion; the printed 22 million is what one dollar becomes."""
    three_years = answer(measure_closed_forms(), "$1,000 at 60% a month", "36 months")
    assert three_years.value == pytest.approx(float(1000 * Decimal("1.6") ** 36), rel=1e-12)
    printed = printed_rows("crypto", ["stat_sixty_percent"])
    wrong = float(printed["stat_sixty_percent", "$1,000 at 60% a month", "36 months"]["value"])
    assert compounded(1, 0.60, 36) == pytest.approx(wrong, abs=0.5)
    assert float(three_years.value) / wrong == pytest.approx(1000, rel=1e-6)
