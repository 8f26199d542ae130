"""Routers, experts and latent attention: published numbers, closed forms, two ways of one sum."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from remeasure.nn.layers.experts import (
    Experts,
    balancing_loss,
    sigmoid_bias,
    softmax_top,
    softmax_top_renormalised,
    top_softmax,
    z_loss,
)
from remeasure.nn.layers.latent import LatentAttention
from remeasure.nn.layers.mlp import SwiGLU
from remeasure.nn.layers.rotary import angles, frequencies, rotate


def test_the_published_table_of_routers() -> None:
    torch.manual_seed(0)
    scores = 2 * torch.randn(1000, 64)
    weights, chosen = top_softmax(scores, 8)
    routers = {
        "R1": (softmax_top(scores, 8), 2.23e-01, 0.744),
        "R2": (softmax_top_renormalised(scores, 8), 1.79e-07, 1.0),
        "R4": (sigmoid_bias(scores, 8), 8.51e-01, 1.0),
    }
    for name, ((share, experts), furthest, total) in routers.items():
        assert torch.equal(experts, chosen), name
        assert float((share - weights).abs().max()) == pytest.approx(furthest, rel=5e-3), name
        assert float(share.sum(-1).mean()) == pytest.approx(total, abs=5e-4), name
        assert bool((share.diff(dim=-1) <= 0).all())
    assert bool((routers["R1"][0][0].sum(-1) < 1).all())
    wide = scores.double()
    gap = softmax_top_renormalised(wide, 8)[0] - top_softmax(wide, 8)[0]
    assert float(gap.abs().max()) < 1e-15


def test_a_bias_moves_the_choice_and_no_weight() -> None:
    scores = torch.tensor([[2.0, 1.0, 0.0, -1.0]])
    bias = torch.tensor([0.0, 0.0, 0.0, 5.0])
    weights, chosen = sigmoid_bias(scores, 2, bias)
    assert chosen.tolist() == [[0, 3]]  # in the order of the weights, not of the choice
    share = torch.sigmoid(torch.tensor([2.0, -1.0]))
    torch.testing.assert_close(weights[0], share / share.sum())


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 30), st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
def test_grouped_experts_equal_the_wasteful_way_and_a_plain_loop(
    tokens: int, count: int, k: int, seed: int
) -> None:
    k = min(k, count)
    torch.manual_seed(seed)
    experts = Experts(count, 6, 5)
    x = torch.randn(tokens, 6, requires_grad=True)
    weights, chosen = softmax_top(torch.randn(tokens, count), k)
    if seed % 3 == 0:  # most experts without a token
        chosen = torch.arange(k).expand(tokens, k)
    grouped = experts(x, chosen, weights)
    torch.testing.assert_close(grouped, experts.everyone(x, chosen, weights), atol=1e-6, rtol=1e-5)
    plain = torch.zeros_like(x)
    for token in range(tokens):
        for expert, weight in zip(chosen[token].tolist(), weights[token], strict=True):
            alone = SwiGLU(6, 5)
            alone.gate.weight.data, alone.up.weight.data = experts.gate_up[expert].chunk(2)
            alone.down.weight.data = experts.down[expert]
            plain[token] += weight * alone(x[token])
    torch.testing.assert_close(grouped, plain, atol=1e-6, rtol=1e-5)


def test_gradients_reach_inputs_weights_and_chosen_experts_alone() -> None:
    torch.manual_seed(1)
    experts = Experts(4, 3, 2).double()
    x = torch.randn(5, 3, dtype=torch.double, requires_grad=True)
    weights = torch.rand(5, 2, dtype=torch.double, requires_grad=True)
    chosen = torch.tensor([[0, 1], [1, 3], [0, 3], [3, 1], [1, 0]])
    assert torch.autograd.gradcheck(lambda x, w: experts(x, chosen, w), (x, weights))
    experts(x, chosen, weights).sum().backward()
    assert experts.down.grad is not None
    assert experts.down.grad.flatten(1).any(-1).tolist() == [True, True, False, True]


def test_losses_of_a_router_in_closed_form() -> None:
    even = torch.zeros(8, 8)
    chosen = torch.stack([torch.arange(8), (torch.arange(8) + 1) % 8], dim=1)
    assert float(balancing_loss(even, chosen)) == pytest.approx(2.0)  # k
    one = torch.full((8, 8), -100.0)
    one[:, 3] = 0
    assert float(balancing_loss(one, torch.full((8, 1), 3))) == pytest.approx(8.0)  # E
    assert float(z_loss(torch.zeros(3, 8))) == pytest.approx(math.log(8) ** 2)
    assert float(z_loss(torch.full((3, 8), 10.0))) == pytest.approx((10 + math.log(8)) ** 2)
    assert float(z_loss(one)) == pytest.approx(0.0, abs=1e-6)
    real = torch.tensor([True] * 4 + [False] * 4)
    mixed = torch.cat((one[:4], even[:4]))
    assert float(balancing_loss(mixed, torch.full((8, 1), 3), real)) == pytest.approx(8.0)
    assert float(z_loss(mixed, real)) == pytest.approx(0.0, abs=1e-6)
    # f is a constant in the backward pass: the gradient is that of E Σ f P.
    scores = torch.randn(6, 4, dtype=torch.double, requires_grad=True)
    balancing_loss(scores, scores.topk(2).indices).backward()
    assert scores.grad is not None
    assert bool(scores.grad.any())


def _latent(dtype: torch.dtype) -> tuple[LatentAttention, Tensor, tuple[Tensor, Tensor]]:
    """The layer of the published check: seeded, every matrix drawn again."""
    torch.manual_seed(0)
    layer = LatentAttention(256, 8, query_rank=96, rank=64, nope=32, rope=16, value=32, eps=1e-5)
    for parameter in layer.parameters():
        if parameter.dim() == 2:
            torch.nn.init.normal_(parameter, std=0.08)
    x = torch.randn(2, 40, 256)
    cos, sin = angles(torch.arange(40), frequencies(16))
    return layer.to(dtype), x.to(dtype), (cos.to(dtype), sin.to(dtype))


@pytest.mark.parametrize(("dtype", "furthest"), [(torch.float32, 5e-6), (torch.float64, 1e-13)])
def test_absorbed_equals_rebuilt(dtype: torch.dtype, furthest: float) -> None:
    layer, x, turns = _latent(dtype)
    with torch.inference_mode():
        rebuilt = layer(x, turns)
        layer.form = "absorbed"
        assert float((layer(x, turns) - rebuilt).abs().max()) < furthest


def test_scores_of_the_shared_rotary_key_depend_on_distances_alone() -> None:
    layer, x, _ = _latent(torch.float32)
    out = []
    for start in (0, 77):
        cos, sin = angles(torch.arange(start, start + 40), frequencies(16))
        with torch.inference_mode():
            out.append(layer(x, (cos, sin)))
    torch.testing.assert_close(out[0], out[1], atol=1e-4, rtol=1e-4)


def test_why_rotation_blocks_absorption() -> None:
    torch.manual_seed(1)
    up, latents, query = torch.randn(32, 64) / 8, torch.randn(32, 64), torch.randn(32)
    cos, sin = angles(torch.arange(32), frequencies(32))
    turned = rotate(query[None], cos[-1:], sin[-1:])[0]
    true = rotate(latents @ up.T, cos, sin) @ turned
    assert float((true - latents @ (up.T @ turned)).abs().max()) == pytest.approx(15.72, abs=5e-3)
    plain = (latents @ up.T) @ query
    assert float((plain - latents @ (up.T @ query)).abs().max()) < 2e-5
