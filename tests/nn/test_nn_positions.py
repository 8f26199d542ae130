"""Positions against closed forms and tables; two of them against transformers elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from remeasure.nn.layers.positions import (
    alibi_bias,
    alibi_slopes,
    counted,
    deberta_buckets,
    distances,
    sinusoidal,
    t5_buckets,
)


def test_waves_are_powers_of_one_rotation() -> None:
    length, width = 50, 16
    turns = np.exp(1j * 10_000.0 ** (-np.arange(0, width, 2) / width))
    powers = turns[None] ** np.arange(length)[:, None]
    found = sinusoidal(length, width).numpy()
    np.testing.assert_allclose(found[:, 0::2], powers.imag, atol=1e-6)
    np.testing.assert_allclose(found[:, 1::2], powers.real, atol=1e-6)
    products = sinusoidal(length, width) @ sinusoidal(length, width).T
    torch.testing.assert_close(products[:-3, :-3], products[3:, 3:], atol=1e-5, rtol=1e-5)
    with pytest.raises(ValueError, match="even, not 5"):
        sinusoidal(3, 5)


def test_padding_takes_no_position() -> None:
    real = torch.tensor([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]])
    assert counted(real, first=2).tolist() == [[2, 3, 4, 1, 1], [1, 1, 2, 3, 4]]
    assert counted(real).tolist() == [[0, 1, 2, 0, 0], [0, 0, 0, 1, 2]]


def test_distances_end_at_the_last_key() -> None:
    assert distances(2, 4).tolist() == [[-2, -1, 0, 1], [-3, -2, -1, 0]]


@settings(max_examples=60, deadline=None)
@given(st.integers(-5000, 5000), st.booleans())
def test_t5_buckets_by_counting_edges(distance: int, both_sides: bool) -> None:
    """The bucket of a far distance is the number of edges of the geometric series behind it."""
    half = 16 if both_sides else 32
    size = abs(distance) if both_sides else max(-distance, 0)
    near = half // 2
    if size < near:
        bucket = size
    else:
        edges = [near * (128 / near) ** (k / (half - near)) for k in range(1, half - near)]
        bucket = near + sum(size >= edge - 1e-6 * edge for edge in edges)
    if both_sides and distance > 0:
        bucket += half
    found = t5_buckets(torch.tensor([distance]), both_sides=both_sides).item()
    assert found == bucket


def test_deberta_buckets_as_tabulated() -> None:
    """The card's table, and what must hold of all."""
    table = {132: 131, 150: 143, 200: 169, 256: 192, 300: 207, 400: 233, 510: 255, 511: 255}
    table |= {512: 256, 600: 270, 700: 284}
    keys = torch.tensor(list(table))
    assert deberta_buckets(keys).tolist() == list(table.values())
    assert deberta_buckets(-keys).tolist() == [-value for value in table.values()]
    near = torch.arange(-131, 132)
    assert torch.equal(deberta_buckets(near), near)
    every = deberta_buckets(torch.arange(512))
    assert sorted(set(every.tolist())) == list(range(256))
    assert bool((every.diff() >= 0).all())


@pytest.mark.parametrize("heads", [1, 2, 8, 16])
def test_slopes_are_a_geometric_series(heads: int) -> None:
    assert alibi_slopes(heads).tolist() == pytest.approx(
        [2 ** (-8 * (h + 1) / heads) for h in range(heads)]
    )


def test_slopes_of_other_numbers_of_heads_fill_in_between() -> None:
    """Twelve heads: the eight of eight, then every second of sixteen."""
    eight, sixteen = alibi_slopes(8).tolist(), alibi_slopes(16).tolist()
    assert alibi_slopes(12).tolist() == eight + sixteen[0:8:2]
    assert math.prod(alibi_slopes(1).tolist()) == 2.0**-8


def test_bias_is_slope_times_distance() -> None:
    bias = alibi_bias(4, 2, 3)
    slopes = alibi_slopes(4)
    expected = torch.tensor([[-1.0, 0.0, 0.0], [-2.0, -1.0, 0.0]])
    torch.testing.assert_close(bias, slopes[:, None, None] * expected)
