"""Recurrences, their chunks and their matrices: the same map, in values and gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from remeasure.nn.layers import gated_delta as delta
from remeasure.nn.layers import selective_scan as scans
from remeasure.nn.layers import ssd as dual
from remeasure.nn.layers.short_conv import ShortConv

LENGTHS = st.integers(1, 40)
CHUNKS = st.integers(1, 50)
SEEDS = st.integers(0, 2**31)


def gradients(
    outputs: tuple[Tensor, Tensor], inputs: list[Tensor], seed: int
) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    weights = [torch.randn(each.shape, generator=generator).double() for each in outputs]
    return torch.autograd.grad(outputs, inputs, weights)


def same(
    left: tuple[Tensor, Tensor], right: tuple[Tensor, Tensor], inputs: list[Tensor], seed: int
) -> None:
    for one, other in zip(left, right, strict=True):
        torch.testing.assert_close(one, other, atol=1e-10, rtol=1e-10)
    pairs = zip(gradients(left, inputs, seed), gradients(right, inputs, seed), strict=True)
    for one, other in pairs:
        torch.testing.assert_close(one, other, atol=1e-9, rtol=1e-9)


def selective(length: int, seed: int, batch: int = 2) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    channels, states = 3, 4
    parts = [
        draw(batch, length, channels),
        F.softplus(draw(batch, length, channels)),
        -draw(channels, states).exp(),
        draw(batch, length, states),
        draw(batch, length, states),
        draw(batch, channels, states),
    ]
    return [part.requires_grad_() for part in parts]


@settings(max_examples=20, deadline=None)
@given(LENGTHS, st.integers(1, 12), st.sampled_from([1, 60, 10**9]), SEEDS)
def test_walking_chunks_are_the_loop(length: int, chunk: int, together: int, seed: int) -> None:
    inputs = selective(length, seed)
    patch = pytest.MonkeyPatch()
    patch.setattr(scans, "CHUNK", chunk)
    patch.setattr(scans, "TOGETHER", together)
    with patch.context():
        left = scans.selective_scan(*inputs)
        right = scans.scan_loop(*inputs)
        same(left, right, inputs, seed)
        with torch.no_grad():  # no states are kept then, and a text may be one stretch
            for one, other in zip(scans.selective_scan(*inputs), right, strict=True):
                torch.testing.assert_close(one, other, atol=1e-10, rtol=1e-10)
    patch.undo()


def test_the_scan_at_its_own_sizes() -> None:
    """Several stretches of several chunks, the last of both not whole, in float32."""
    torch.manual_seed(0)
    length, channels, states = 1100, 160, 4
    inputs = [
        torch.randn(1, length, channels),
        F.softplus(torch.randn(1, length, channels) - 3),
        -torch.rand(channels, states) * 8,
        torch.randn(1, length, states),
        torch.randn(1, length, states),
    ]
    assert scans._stretches(length, channels * states)[0] > 8
    assert len(scans._stretches(length, 4 * channels * states)[1]) > 1
    for batch in (1, 4):
        taken = [part if part.ndim == 2 else part.repeat(batch, 1, 1) for part in inputs]
        left, right = scans.selective_scan(*taken), scans.scan_loop(*taken)
        torch.testing.assert_close(left[0], right[0], atol=2e-6, rtol=1e-5)
        torch.testing.assert_close(left[1], right[1], atol=2e-6, rtol=1e-5)


@settings(max_examples=15, deadline=None)
@given(LENGTHS, SEEDS)
def test_doubling_is_the_loop(length: int, seed: int) -> None:
    u, step, a, b, c, _ = selective(length, seed)
    decay = torch.exp(step.unsqueeze(-1) * a)
    write = (step * u).unsqueeze(-1) * b.unsqueeze(2)
    states = scans.scan_doubling(decay, write)
    y = (states @ c.unsqueeze(-1)).squeeze(-1)
    expected, last = scans.scan_loop(u, step, a, b, c)
    torch.testing.assert_close(y, expected, atol=1e-11, rtol=1e-11)
    torch.testing.assert_close(states[:, -1], last, atol=1e-11, rtol=1e-11)


def test_doubling_on_the_published_tensors() -> None:
    """The tensors of the published check, whose largest difference was 9.5e-07."""
    torch.manual_seed(42)
    decay, write = torch.rand(1, 3, 37, 4), torch.randn(1, 3, 37, 4)
    c = torch.randn(1, 37, 4)
    state, rows = torch.zeros(1, 3, 4), []
    for place in range(37):
        state = decay[:, :, place] * state + write[:, :, place]
        rows.append((state * c[:, place, None]).sum(-1))
    states = scans.scan_doubling(decay.transpose(1, 2), write.transpose(1, 2))
    y = (states * c.unsqueeze(2)).sum(-1)
    assert (y - torch.stack(rows, 1)).abs().max() <= 2e-6


def dualities(length: int, seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    heads, width, groups, states = 4, 3, 2, 5
    parts = [
        draw(2, length, heads, width),
        -draw(2, length, heads).exp(),
        draw(2, length, groups, states),
        draw(2, length, groups, states),
        draw(2, heads, width, states),
    ]
    return [part.requires_grad_() for part in parts]


@settings(max_examples=20, deadline=None)
@given(LENGTHS, CHUNKS, SEEDS)
def test_the_duality_in_three_forms(length: int, chunk: int, seed: int) -> None:
    inputs = dualities(length, seed)
    loop = dual.ssd_loop(*inputs)
    same(dual.ssd(*inputs[:4], chunk=chunk, state=inputs[4]), loop, inputs, seed)
    from_zero = dual.ssd_loop(*inputs[:4])[0]
    torch.testing.assert_close(dual.ssd_matrix(*inputs[:4]), from_zero, atol=1e-10, rtol=1e-10)


def test_the_duality_on_the_published_tensors() -> None:
    """The tensors of the published check, whose largest difference was 6.7e-06."""
    torch.manual_seed(42)
    x = torch.randn(1, 150, 3, 8)
    a = -torch.rand(1, 150, 3) * 0.3
    b, c = torch.randn(1, 150, 3, 16), torch.randn(1, 150, 3, 16)
    expected = dual.ssd_loop(x, a, b, c)[0]
    for chunk in (16, 32, 64, 150):
        assert (dual.ssd(x, a, b, c, chunk=chunk)[0] - expected).abs().max() <= 2e-5


def test_without_decay_the_duality_is_linear_attention() -> None:
    _, a, b, c, _ = dualities(20, 3)
    weights = dual.ssd_weights(torch.zeros_like(a), b, c)
    scores = torch.einsum("blgn,bsgn->bgls", c, b).tril().repeat_interleave(2, dim=1)
    torch.testing.assert_close(weights, scores)
    assert torch.equal(weights, weights.tril())


def test_constant_steps_make_a_convolution() -> None:
    torch.manual_seed(1)
    length, gap, rate = 50, 0.3, -1.2
    b, c, u = torch.randn(4).double(), torch.randn(4).double(), torch.randn(length).double()
    y, _ = dual.ssd(
        (gap * u).view(1, -1, 1, 1),
        torch.full((1, length, 1), rate * gap, dtype=torch.float64),
        b.expand(1, length, 1, 4),
        c.expand(1, length, 1, 4),
        chunk=16,
    )
    kernel = gap * (c @ b) * torch.exp(rate * gap * torch.arange(length).double())
    direct = [(kernel[: place + 1].flip(0) * u[: place + 1]).sum() for place in range(length)]
    torch.testing.assert_close(y.flatten(), torch.stack(direct))


def memories(length: int, seed: int, gated: bool = True, by_channel: bool = False) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    heads, keys, values = 2, 5, 3
    parts = [
        draw(2, length, heads, keys),
        F.normalize(draw(2, length, heads, keys), dim=-1),
        draw(2, length, heads, values),
        -draw(2, length, heads, *[keys] * by_channel).exp() * gated,
        draw(2, length, heads).sigmoid(),
        draw(2, heads, keys, values),
    ]
    return [part.requires_grad_() for part in parts]


@settings(max_examples=20, deadline=None)
@given(LENGTHS, CHUNKS, SEEDS, st.booleans())
def test_the_delta_rule_in_chunks(length: int, chunk: int, seed: int, gated: bool) -> None:
    inputs = memories(length, seed, gated)
    loop = delta.gated_delta_loop(*inputs)
    same(delta.gated_delta(*inputs[:5], chunk=chunk, state=inputs[5]), loop, inputs, seed)


@settings(max_examples=20, deadline=None)
@given(LENGTHS, CHUNKS, st.integers(1, 20), SEEDS)
def test_channels_that_fade_by_themselves(length: int, chunk: int, block: int, seed: int) -> None:
    inputs = memories(length, seed, by_channel=True)
    loop = delta.gated_delta_loop(*inputs)
    patch = pytest.MonkeyPatch()
    patch.setattr(delta, "BLOCK", block)
    with patch.context():
        same(delta.gated_delta(*inputs[:5], chunk=chunk, state=inputs[5]), loop, inputs, seed)
    patch.undo()


def test_fading_by_channel_against_its_definition() -> None:
    """Numbers alone, one entry of the memory after the other: Kimi Linear, eq. 1."""
    q, k, v, g, beta, state = (part.detach().numpy() for part in memories(9, 4, by_channel=True))
    answers, last = delta.gated_delta(
        *map(torch.from_numpy, (q, k, v, g, beta)), state=torch.from_numpy(state)
    )
    memory = state.copy()
    for text, head in np.ndindex(2, 2):
        s = memory[text, head]
        for t in range(9):
            key, rate = k[text, t, head], beta[text, t, head]
            # (I - beta k k^T) Diag(alpha) S + beta k v^T
            s = (np.eye(5) - rate * np.outer(key, key)) @ np.diag(np.exp(g[text, t, head])) @ s
            s = s + rate * np.outer(key, v[text, t, head])
            np.testing.assert_allclose(answers[text, t, head], s.T @ q[text, t, head], atol=1e-12)
        np.testing.assert_allclose(last[text, head], s, atol=1e-12)


def test_equal_channels_fade_as_one_gate_does() -> None:
    q, k, v, g, beta, state = (part.detach() for part in memories(70, 6))
    one = delta.gated_delta(q, k, v, g, beta, state=state)
    each = delta.gated_delta(q, k, v, g.unsqueeze(-1).expand_as(k), beta, state=state)
    for left, right in zip(each, one, strict=True):
        torch.testing.assert_close(left, right, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("strong", [1.0, 60.0])
def test_fading_by_channel_against_the_reference(strong: float) -> None:
    """Also where a whole chunk leaves nothing that float32 can hold."""
    theirs = pytest.importorskip(
        "transformers.models.kimi_linear.modeling_kimi_linear",
        reason="transformers is the referee here",
    )
    q, k, v, g, beta, state = (part.detach().float() for part in memories(70, 7, by_channel=True))
    g = strong * g
    answers, last = delta.gated_delta(q * 5**-0.5, k, v, g, beta, state=state)
    expected, kept = theirs.recurrent_kimi_delta_attention(
        q, k, v, g=g, beta=beta, initial_state=state, output_final_state=True
    )
    torch.testing.assert_close(answers, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(last, kept, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("length", [1, 64, 131])
def test_the_delta_rule_against_the_reference(length: int) -> None:
    theirs = pytest.importorskip(
        "transformers.models.qwen3_next.modeling_qwen3_next",
        reason="transformers is the referee here",
    )
    q, k, v, g, beta, state = (part.detach().float() for part in memories(length, 5))
    answers, last = delta.gated_delta(q * 5**-0.5, k, v, g, beta, state=state)
    for rule in (theirs.torch_recurrent_gated_delta_rule, theirs.torch_chunk_gated_delta_rule):
        expected, kept = rule(q, k, v, g=g, beta=beta, initial_state=state, output_final_state=True)
        torch.testing.assert_close(answers, expected, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(last, kept, atol=1e-5, rtol=1e-5)


def test_one_write_of_the_delta_rule() -> None:
    """A unit key and beta 1 store exactly, beta 0.5 halves the error; a step of descent."""
    _, k, v, _, _, state = (part.detach() for part in memories(1, 8))
    nothing = torch.zeros(2, 1, 2, dtype=torch.float64)
    for beta in (1.0, 0.5):
        rate = torch.full_like(nothing, beta)
        _, after = delta.gated_delta_loop(k, k, v, nothing, rate, state)
        before = (k[:, 0].unsqueeze(-2) @ state).squeeze(-2)
        answer = (k[:, 0].unsqueeze(-2) @ after).squeeze(-2)
        torch.testing.assert_close(answer - v[:, 0], (1 - beta) * (before - v[:, 0]))
        memory = state.clone().requires_grad_()
        error = (k[:, 0].unsqueeze(-2) @ memory).squeeze(-2) - v[:, 0]
        (error.square().sum() / 2).backward()
        torch.testing.assert_close(after - state, -beta * memory.grad)
    # All fades at once: only the newest write is left.
    gone = torch.full_like(nothing, -torch.inf)
    _, after = delta.gated_delta_loop(k, k, v, gone, torch.ones_like(nothing), state)
    torch.testing.assert_close(after, k[:, 0].unsqueeze(-1) * v[:, 0].unsqueeze(-2))


def test_orthonormal_keys_are_all_kept() -> None:
    keys = torch.linalg.qr(torch.randn(8, 8, dtype=torch.float64)).Q.view(1, 8, 1, 8)
    values = torch.randn(1, 8, 1, 8, dtype=torch.float64)
    zero = torch.zeros(1, 8, 1, dtype=torch.float64)
    _, memory = delta.gated_delta(keys, keys, values, zero, zero + 1, chunk=3)
    recalled = torch.einsum("blhk,bhkv->blhv", keys, memory)
    torch.testing.assert_close(recalled, values, atol=1e-12, rtol=1e-12)


@settings(max_examples=10, deadline=None)
@given(LENGTHS, SEEDS)
def test_linear_attention_in_both_forms(length: int, seed: int) -> None:
    q, k, v, *_ = memories(length, seed)
    torch.testing.assert_close(
        delta.linear_attention(q, k, v),
        delta.linear_attention_loop(q, k, v)[0],
        atol=1e-12,
        rtol=1e-12,
    )


@settings(max_examples=10, deadline=None)
@given(st.integers(2, 30), st.data(), SEEDS)
def test_no_form_sees_later_tokens(length: int, drawn: st.DataObject, seed: int) -> None:
    cut = drawn.draw(st.integers(1, length - 1))

    def changed(part: Tensor) -> Tensor:
        other = part.detach().clone()
        other[:, cut:] = other[:, cut:] * 0.5 - 0.1
        return other

    u, step, a, b, c, _ = (part.detach() for part in selective(length, seed))
    x, fades, into, out, _ = (part.detach() for part in dualities(length, seed))
    q, k, v, g, beta, _ = (part.detach() for part in memories(length, seed))
    forms: list[tuple[Callable[..., Tensor], tuple[Tensor, ...]]] = [
        (lambda *t: scans.selective_scan(t[0], t[1].abs(), a, t[2], t[3])[0], (u, step, b, c)),
        (lambda *t: dual.ssd(*t, chunk=7)[0], (x, fades, into, out)),
        (dual.ssd_matrix, (x, fades, into, out)),
        (lambda *t: delta.gated_delta(*t, chunk=7)[0], (q, k, v, g, beta)),
        (delta.linear_attention, (q, k, v)),
    ]
    for form, inputs in forms:
        before, after = form(*inputs), form(*map(changed, inputs))
        torch.testing.assert_close(before[:, :cut], after[:, :cut], atol=1e-10, rtol=1e-10)
        assert not torch.allclose(before[:, cut:], after[:, cut:])


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 12), st.lists(st.integers(1, 4), min_size=1, max_size=4), SEEDS)
def test_the_window_replaces_the_past(reach: int, pieces: list[int], seed: int) -> None:
    torch.manual_seed(seed)
    conv = ShortConv(3, reach)
    x = torch.randn(2, sum(pieces), 3)
    whole, none = conv(x)
    assert none is None
    window: Tensor | None = torch.zeros(2, 3, reach)
    parts = []
    for piece in x.split(pieces, dim=1):
        mixed, window = conv(piece, window)
        parts.append(mixed)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole)
    assert window is not None
    kept = min(reach, x.shape[1])
    assert torch.equal(window[..., reach - kept :], x.transpose(1, 2)[..., -kept:])
