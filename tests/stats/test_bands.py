"""Bands by whole ten-thousandths, against exact decimal arithmetic."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remeasure.stats.bands import ONE, OUTSIDE, band, complement, names, ticks

EDGES = (50, 200, 500, 1000, 2000, 5000, 9000, 9500, 9800, 9950)


def by_hand(price: Decimal) -> int:
    for index, (low, high) in enumerate(pairwise(EDGES)):
        if Decimal(low) / ONE <= price < Decimal(high) / ONE:
            return index
    return OUTSIDE


@given(st.integers(0, ONE))
def test_every_price_and_its_complement(tick: int) -> None:
    price = Decimal(tick) / ONE
    # The complement as floating point has it, rounding error and all.
    for floating, exact in ((float(price), price), (1 - float(price), 1 - price)):
        assert band(ticks(floating), EDGES) == by_hand(exact)
    assert complement(ticks(float(price))) == ticks(1 - float(price)) == ONE - tick


@pytest.mark.parametrize(
    ("price", "own", "other"),
    [
        (0.05, 2, 7),  # [5, 10) and [95, 98)
        (0.95, 7, 2),
        (0.02, 1, 8),  # [2, 5) and [98, 99.5)
        (0.98, 8, 1),
        (0.005, 0, OUTSIDE),  # [0.5, 2) and beyond 99.5
        (0.995, OUTSIDE, 0),
    ],
)
def test_edges_land_on_the_right(price: float, own: int, other: int) -> None:
    assert band(ticks(price), EDGES) == own
    assert band(complement(ticks(price)), EDGES) == other
    assert band(ticks(1 - price), EDGES) == other


def test_floating_point_would_err() -> None:
    assert 1 - 0.95 > 0.05
    assert ticks(1 - 0.95) == ticks(0.05) == 500


def test_last_edge() -> None:
    edges = (0, 5000, ONE)
    assert band([0, 4999, 5000, ONE], edges).tolist() == [0, 0, 1, OUTSIDE]
    assert band([0, 4999, 5000, ONE], edges, last_closed=True).tolist() == [0, 0, 1, 1]


def test_names() -> None:
    assert names(EDGES[:4]) == ["0.5-2", "2-5", "5-10"]


@pytest.mark.parametrize("price", [-0.1, 1.1, float("nan")])
def test_nonsense_is_refused(price: float) -> None:
    with pytest.raises(ValueError, match="within 0"):
        ticks(price)
    with pytest.raises(ValueError, match="rise"):
        band(np.array([1]), (5, 5))
