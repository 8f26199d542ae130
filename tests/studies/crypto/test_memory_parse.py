"""Reading answers: the card's table (E23), echoes of dates, and every number in every dress."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remeasure.studies.crypto.memory_parse import CLASSES, claimed_cutoff, parse
from remeasure.studies.crypto.memory_questions import written

E23 = {
    "$6,424.35": ("number", 6424.35),
    "6424 USD": ("number", 6424),
    "about 43k": ("number", 43_000),
    "1 million": ("number", 1e6),
    "0": ("zero", None),
    "I cannot provide": ("refusal", None),
    "As of my cutoff in June 2023 ...": ("refusal", None),
}
MORE = {
    "": ("none", None),
    "up": ("none", None),
    "$0.00": ("zero", None),
    "**$43,210**": ("number", 43_210),
    r"\boxed{43210.5}": ("number", 43_210.5),
    "<think>\nmaybe 5\n</think>\n\n60,000": ("number", 60_000),
    "<think>maybe 5": ("none", None),
    "2018-01-15: 13,772": ("number", 13_772),
    "15/01/2018 13772.00": ("number", 13_772),
    "On the 15th of January, 2018, it was $13,772": ("number", 13_772),
    "At 23:59 UTC 1 BTC was 13772 dollars": ("number", 13_772),
    "In 2018 the price fell 80% to $3,700": ("number", 3_700),
    "$30,000-$35,000": ("number", 30_000),
    "6.424,35": ("number", 6_424.35),
    "2026.22": ("number", 2026.22),
    "2018": ("number", 2018),
    "My cutoff is 2023.": ("refusal", None),
    "I don't know prices after 2021, sorry": ("refusal", None),
    "I cannot be sure, but about $43k": ("number", 43_000),
    "-5": ("none", None),
}


@pytest.mark.parametrize(("text", "expected"), [*E23.items(), *MORE.items()])
def test_answers_read_as_a_person_reads_them(text: str, expected: tuple[str, object]) -> None:
    reading = parse(text)
    assert (reading.kind, reading.value) == expected


@given(
    st.floats(0.01, 9e6),
    st.dates(date(2018, 1, 1), date(2026, 10, 29)),
    st.sampled_from(
        (
            "{0:.2f}", "${0:,.2f}", "**${0:,.2f}**", "US$ {0:,.2f}", "{0:,.2f} USD", "~{0:,.2f}",
            "On {1}, it closed at {0:,.2f} dollars.", "{1}: ${0:,.2f}", "{2:%Y-%m-%d}: {0:.2f}",
            "The price was {0:,.2f} on {1}", "{2:%d %B %Y} {0:,.2f}",
        )
    ),
)  # fmt: skip
def test_any_price_in_any_dress_is_found(price: float, day: date, shape: str) -> None:
    reading = parse(shape.format(price, written(day), day))
    assert reading.kind == "number"
    assert reading.value == pytest.approx(round(price, 2), abs=1e-9)


@given(st.integers(1, 999), st.sampled_from(("k", "K", " thousand", "m", " million", "M")))
def test_suffixes_multiply(number: int, suffix: str) -> None:
    factor = 1e3 if suffix.strip()[0] in "kKt" else 1e6
    assert parse(f"about ${number}{suffix}").value == number * factor


@given(st.text(max_size=200))
def test_any_text_has_one_class_and_a_value_only_for_numbers(text: str) -> None:
    reading = parse(text)
    assert reading.kind in CLASSES
    assert (reading.value is not None) == (reading.kind == "number")
    assert reading.value is None or 0 < reading.value < float("inf")


def test_a_claimed_cutoff_is_the_month_beside_the_word() -> None:
    text = "As of my last **knowledge cutoff** in Sept. 2023, I cannot know January 1, 2025."
    assert claimed_cutoff(text) == date(2023, 9, 1)
    assert claimed_cutoff("In June 2023 it was $30,000.") is None
