"""Layers against torch's own, another layout of the same thing, and what must not change."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from remeasure.nn.layers.attention import attend, causal_mask, join_heads, split_heads
from remeasure.nn.layers.mlp import SwiGLU
from remeasure.nn.layers.norms import RMSNorm
from remeasure.nn.layers.rotary import angles, frequencies, rotate


def _normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_rms_norm_equals_torch() -> None:
    norm = RMSNorm(12, eps=1e-5)
    with torch.no_grad():
        norm.weight.copy_(_normal(12, seed=1))
    x = _normal(3, 5, 12)
    torch.testing.assert_close(norm(x), F.rms_norm(x, (12,), norm.weight, eps=1e-5))


def test_rms_norm_in_half_precision_is_computed_in_single() -> None:
    norm = RMSNorm(8).to(torch.bfloat16)
    x = (_normal(4, 8) * 1e3).to(torch.bfloat16)
    expected = (x.float() * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6)).to(
        torch.bfloat16
    )
    assert torch.equal(norm(x), expected)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(0, 200), st.booleans())
def test_a_product_depends_on_the_distance_of_positions_alone(
    half: int, shift: int, interleaved: bool
) -> None:
    width = 2 * half
    query, key = _normal(7, width, seed=2), _normal(7, width, seed=3)
    turns = frequencies(width)

    def scores(start: int) -> torch.Tensor:
        cos, sin = angles(torch.arange(start, start + 7), turns)
        turned = [rotate(x, cos, sin, interleaved=interleaved) for x in (query, key)]
        return turned[0] @ turned[1].T

    torch.testing.assert_close(scores(0), scores(shift), atol=2e-4, rtol=1e-4)


def test_the_two_layouts_of_pairs_are_one_rotation() -> None:
    x = _normal(9, 16)
    cos, sin = angles(torch.arange(9), frequencies(16))
    order = torch.arange(16).view(8, 2).T.flatten()  # even channels, then odd ones
    halves = rotate(x[:, order], cos, sin)
    torch.testing.assert_close(halves, rotate(x, cos, sin, interleaved=True)[:, order])


def test_rotation_by_complex_numbers() -> None:
    x = _normal(5, 8)
    turns = frequencies(8, theta=500.0)
    cos, sin = angles(torch.arange(5), turns)
    pairs = torch.view_as_complex(x.view(5, 4, 2).double())
    turned = pairs * torch.exp(1j * torch.arange(5)[:, None].double() * turns.double())
    torch.testing.assert_close(
        rotate(x, cos, sin, interleaved=True).double(),
        torch.view_as_real(turned).flatten(-2),
        atol=1e-6,
        rtol=1e-6,
    )


def test_an_odd_width_cannot_turn() -> None:
    with pytest.raises(ValueError, match="even width, not 7"):
        frequencies(7)


def test_heads_there_and_back() -> None:
    x = _normal(2, 5, 12)
    assert split_heads(x, 3).shape == (2, 3, 5, 4)
    assert torch.equal(join_heads(split_heads(x, 3)), x)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([(1, 1), (4, 4), (4, 2), (6, 1)]),
    st.integers(1, 6),
    st.integers(0, 5),
    st.booleans(),
    st.sampled_from([None, 1.0, 0.3]),
    st.sampled_from(["none", "bool", "float"]),
)
def test_the_fused_path_equals_the_explicit_one(
    heads: tuple[int, int], queries: int, more: int, causal: bool, scale: float | None, kind: str
) -> None:
    keys = queries + more
    query = _normal(2, heads[0], queries, 8, seed=4)
    key, value = (_normal(2, heads[1], keys, 8, seed=s) for s in (5, 6))
    mask = None
    if kind != "none":
        mask = torch.rand(2, 1, 1, keys, generator=torch.Generator().manual_seed(7)) > 0.4
        mask[..., 0] = True
        if kind == "float":
            mask = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    both = [
        attend(query, key, value, mask=mask, causal=causal, scale=scale, explicit=explicit)
        for explicit in (False, True)
    ]
    torch.testing.assert_close(*both, atol=2e-6, rtol=1e-5)


def test_no_query_looks_beyond_its_place() -> None:
    query, key, value = (_normal(1, 2, 6, 4, seed=s) for s in (1, 2, 3))
    before = attend(query, key, value, causal=True)
    key[:, :, 4:], value[:, :, 4:] = 9.0, -9.0
    after = attend(query, key, value, causal=True)
    assert torch.equal(before[:, :, :4], after[:, :, :4])
    assert not torch.allclose(before[:, :, 4:], after[:, :, 4:])


def test_the_last_query_stands_at_the_last_key() -> None:
    query, key, value = (_normal(1, 2, 6, 4, seed=s) for s in (1, 2, 3))
    whole = attend(query, key, value, causal=True)
    for last in (1, 2, 5):
        torch.testing.assert_close(
            attend(query[:, :, -last:], key, value, causal=True), whole[:, :, -last:]
        )
    assert causal_mask(2, 3).tolist() == [[True, True, False], [True, True, True]]


def test_a_group_serves_neighbouring_heads() -> None:
    query = _normal(1, 4, 3, 8, seed=1)
    key, value = _normal(1, 2, 3, 8, seed=2), _normal(1, 2, 3, 8, seed=3)
    together = attend(query, key, value)
    for head in range(4):
        alone = attend(query[:, [head]], key[:, [head // 2]], value[:, [head // 2]])
        torch.testing.assert_close(together[:, [head]], alone)


def test_swiglu_is_its_formula() -> None:
    mlp = SwiGLU(6, 10, bias=True)
    x = _normal(4, 6)
    gate = x @ mlp.gate.weight.T + mlp.gate.bias
    up = x @ mlp.up.weight.T + mlp.up.bias
    expected = (gate * torch.sigmoid(gate) * up) @ mlp.down.weight.T + mlp.down.bias
    torch.testing.assert_close(mlp(x), expected)
