"""Two sides that disagree stop the step; rows are read by their own words."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from remeasure.errors import DataError
from remeasure.studies.identities.claims import Book, Case
from remeasure.studies.identities.published import PUBLISHED, outputs_of
from remeasure.studies.identities.sides import EPS, Sides


def test_exact_sides_must_be_equal_one_by_one() -> None:
    sides = Sides()
    sides.exact("a", "x", [1, Fraction(1, 2)], "y", (1, Fraction(2, 4)))
    assert (sides.checks[0].cases, sides.checks[0].unit) == (2, "exact")
    for ours, theirs in (([1], [2]), ([1, 2], [1]), ([], [])):
        with pytest.raises(DataError, match="two sides"):
            sides.exact("a", "x", ours, "y", theirs)
    assert len(sides.checks) == 1


def test_close_sides_are_measured_in_units_of_epsilon() -> None:
    sides = Sides()
    assert sides.close("a", "x", [1.0, 2.0], "y", [1.0, 2.0 + 2 * EPS], units=2) == 2 * EPS
    assert sides.checks[0].worst == 2.0
    with pytest.raises(DataError, match="allowed"):
        sides.close("a", "x", 1.0, "y", 1.0 + 4 * EPS, units=3)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_never_agrees(wrong: float) -> None:
    sides = Sides()
    with pytest.raises(DataError):
        sides.close("a", "x", wrong, "y", 0.0, units=1e300)
    with pytest.raises(DataError):
        sides.near("a", "x", wrong, "y", 0.0, tolerance=1e300)
    with pytest.raises(DataError):
        sides.at_most("a", "x", wrong, "y", 0.0)
    with pytest.raises(DataError):
        sides.simulated("a", "x", wrong, "y", 0.0, 1.0)
    with pytest.raises(DataError):
        sides.control("a", "x", wrong, 0.1)
    assert not sides.checks


def test_simulations_inequalities_and_controls() -> None:
    sides = Sides()
    sides.simulated("a", "x", [1.0], "y", [1.4], [0.1])
    with pytest.raises(DataError, match="standard errors"):
        sides.simulated("a", "x", [1.0], "y", [1.6], [0.1])
    sides.at_most("a", "x", [1.0, 2.0], "y", 2.0)
    with pytest.raises(DataError, match="exceeded"):
        sides.at_most("a", "x", [1.0, 2.1], "y", 2.0)
    sides.control("a", "broken", 0.2, 0.1)
    with pytest.raises(DataError, match="at least"):
        sides.control("a", "broken", 0.05, 0.1)


def row(output: str, quantity: str, *words: str) -> Case:
    return Book(output.partition("_")[0]).case(output, quantity, *words)


def test_numbers_come_from_the_words_of_a_row() -> None:
    case = row("bert_tab_chains", "accuracy gain", "seed 303")
    assert (case.whole("K"), case.number("concentration"), case.whole("seed")) == (3, 0.3, 303)
    total = row("transformers_tab_totals", "relative deviation from the published 110 million")
    assert total.whole("published") == 110
    assert total.first == "BERT-base"
    with pytest.raises(DataError, match="names no number"):
        case.number("n")
    with pytest.raises(DataError, match="not an integer"):
        case.whole("concentration")


def test_upper_and_lower_case_names_are_different() -> None:
    case = row("t5_tab_reuse", "ratio for N outputs per input (input read once by both)", "N=64")
    assert (case.whole("N"), case.whole("m"), case.whole("k")) == (64, 512, 64)


def test_a_book_refuses_rows_that_do_not_exist_or_are_not_one() -> None:
    book = Book("t5")
    with pytest.raises(DataError, match="not one"):
        book.case("t5_tab_cost", "ratio")
    with pytest.raises(DataError, match="no rows"):
        book.fill("t5_tab_cost", "Ratio", lambda _: 1)
    book.one("t5_tab_cost", "score entries decoder-only", 1)
    book.one("t5_tab_cost", "score entries decoder-only", 1)
    with pytest.raises(ValueError, match="answered already"):
        book.measurements()


def test_articles_share_no_outputs_and_leave_none_out() -> None:
    from remeasure.studies.identities.drawn import ARTICLES

    found = [output for article in ARTICLES for output in outputs_of(article)]
    assert sorted(found) == sorted({key[0] for key in PUBLISHED.rows})
