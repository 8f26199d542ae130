"""Numbers on pages: rounded for reading, never changed in meaning."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remeasure.report import numbers

MINUS = "\N{MINUS SIGN}"


def back(text: str) -> float:
    return float(text.replace(",", "").replace(MINUS, "-"))


@pytest.mark.parametrize(
    ("value", "published", "text"),
    [
        ("53.8712345", "53.9", "53.87"),
        ("51057", "51057", "51,057"),
        ("0.00010074439", "0.0001007444", "0.00010074439"),
        ("1.973175290075396e-09", "1.973175e-09", f"1.9731753e{MINUS}09"),
        ("-0.0612", "-0.06", f"{MINUS}0.06120"),
        ("0", "1", "0"),
        ("2025-03", "2025-03", "2025-03"),
        (None, "1", ""),
    ],
)
def test_measured_values_are_one_digit_finer_than_published(
    value: str | None, published: str, text: str
) -> None:
    assert numbers.measured(value, published) == text


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
def test_rounding_keeps_four_digits(value: float) -> None:
    assert math.isclose(back(numbers.rounded(value)), value, rel_tol=5.1e-4, abs_tol=0)


@given(st.floats(-1e6, 1e6), st.floats(1e-5, 1e5))
def test_intervals_say_both_ends_within_a_hundredth_of_their_distance(
    low: float, size: float
) -> None:
    one, other = numbers.interval(low, low + size).split(" to ")
    width = (low + size) - low
    assert abs(back(one) - low) <= 0.051 * width + 1e-9
    assert abs(back(other) - (low + size)) <= 0.051 * width + 1e-9


def test_intervals_and_printed_values() -> None:
    assert numbers.interval(53.12345, 54.09) == "53.12 to 54.09"
    assert numbers.interval(-0.0001, 12.3) == "0 to 12"
    assert numbers.interval(None, 1.0) == ""
    assert numbers.width(53.1, 54.2) == "1.10"
    assert numbers.grouped("119477664") == "119,477,664"
    assert numbers.grouped("2021") == "2021"
    assert numbers.grouped("46.0") == "46.0"
    assert numbers.grouped("-244") == f"{MINUS}244"
    assert numbers.grouped("1.5e-05") == "1.5e-05"
    assert numbers.significant_digits("0.285") == 3
    assert numbers.significant_digits("46.0") == 3
    assert numbers.number("nan") is None
    assert numbers.number("1e3") == 1000
