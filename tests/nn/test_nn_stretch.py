"""Rules of stretched rotary positions against transformers, and what they claim."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from remeasure.nn.layers.rotary import angles, frequencies, rotate
from remeasure.nn.layers.stretch import (
    Rope,
    dynamic_ntk,
    linear,
    llama3,
    ntk,
    ntk_base,
    turns_made,
    yarn,
    yarn_by_turns,
    yarn_ramp,
    yarn_scale,
)

transformers = pytest.importorskip("transformers", reason="transformers is the referee here")

#: Head width, base, training length, stretch: TinyLlama, Qwen3-4B, Llama 3.1.
SHAPES = [(64, 1e4, 2048, 8.0), (128, 1e6, 32_768, 4.0), (128, 5e5, 8192, 8.0)]


def referee(
    kind: str, width: int, theta: float, trained: int, length: int | None = None, **rule: Any
) -> tuple[Tensor, float, dict[str, Any]]:
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = transformers.LlamaConfig(
        hidden_size=2 * width,
        num_attention_heads=2,
        head_dim=width,
        max_position_embeddings=trained,
        rope_parameters={"rope_type": kind, "rope_theta": theta, **rule},
    )
    turns, scale = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=length)
    return turns, scale, config.to_dict()


def gap(ours: Tensor, theirs: Tensor) -> float:
    return float((ours / theirs - 1).abs().max())


@pytest.mark.parametrize(("width", "theta", "trained", "factor"), SHAPES)
def test_every_rule_equals_the_library(
    width: int, theta: float, trained: int, factor: float
) -> None:
    turns = frequencies(width, theta)
    original = {"original_max_position_embeddings": trained}
    theirs, scale, published = referee("linear", width, theta, trained, factor=factor)
    assert torch.equal(linear(turns, factor), theirs)
    assert scale == 1.0
    assert torch.equal(Rope.from_json(published).turns(width), theirs)
    theirs, scale, _ = referee("dynamic", width, theta, trained, int(factor * trained), factor=1.0)
    assert torch.equal(ntk(width, theta, factor), theirs)
    assert torch.equal(Rope(theta=theta, kind="ntk", factor=factor).turns(width), theirs)
    theirs, scale, published = referee("dynamic", width, theta, trained, 3 * trained, factor=factor)
    assert gap(dynamic_ntk(width, theta, factor, trained, 3 * trained), theirs) <= 2.4e-7
    assert gap(Rope.from_json(published).turns(width, 3 * trained), theirs) <= 2.4e-7
    assert torch.equal(Rope.from_json(published).turns(width, trained // 2), turns)
    theirs, scale, published = referee("yarn", width, theta, trained, factor=factor, **original)
    assert gap(yarn(width, theta, factor, trained), theirs) <= 1.2e-7
    assert yarn_scale(factor) == pytest.approx(scale, abs=1e-12)
    rope = Rope.from_json(published)
    assert torch.equal(rope.turns(width), yarn(width, theta, factor, trained))
    assert rope.temperature() == pytest.approx(scale, abs=1e-12)
    theirs, scale, published = referee(
        "llama3", width, theta, trained, factor=factor, low_freq_factor=1.0, high_freq_factor=4.0,
        **original,
    )  # fmt: skip
    assert gap(llama3(turns, factor, trained), theirs) <= 2.4e-7
    assert gap(Rope.from_json(published).turns(width), theirs) <= 2.4e-7
    # In exact arithmetic this rule is the paper's ramp with bounds of 1 and 4 turns.
    paper = yarn_by_turns(turns, factor, trained, fast=4.0, slow=1.0)
    assert gap(llama3(turns, factor, trained), paper) <= 2.4e-7


def test_other_bounds_and_an_explicit_temperature() -> None:
    rule = {"factor": 3.0, "original_max_position_embeddings": 500, "beta_fast": 20.0,
            "beta_slow": 2.0, "attention_factor": 0.7}  # fmt: skip
    theirs, scale, published = referee("yarn", 32, 300.0, 500, **rule)
    rope = Rope.from_json(published)
    assert gap(rope.turns(32), theirs) <= 1.2e-7
    assert rope.temperature() == scale == 0.7


def test_factors_of_each_pair_equal_the_library() -> None:
    short = [1.0 + 0.3 * i for i in range(8)]
    theirs, scale, published = referee(
        "longrope", 16, 1e4, 64, short_factor=short, long_factor=[9.0] * 8, factor=1.0,
        original_max_position_embeddings=64,
    )  # fmt: skip
    rope = Rope.from_json(published)
    assert gap(rope.turns(16), theirs) <= 1.2e-7
    assert scale == rope.temperature() == 1.0


def test_the_older_layout_of_a_configuration_means_the_same() -> None:
    old = {
        "rope_theta": 5e5,
        "max_position_embeddings": 131_072,
        "rope_scaling": {
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
        },
    }  # fmt: skip
    assert Rope.from_json(old) == Rope(theta=5e5, kind="llama3", factor=8.0, trained=8192)
    assert Rope.from_json({}) == Rope()
    assert Rope.from_json({"rope_scaling": {"type": "linear", "factor": 2.0}}).kind == "linear"
    with pytest.raises(ValueError, match="proportional is no rule"):
        Rope.from_json({"rope_parameters": {"rope_type": "proportional"}})


def test_both_layouts_of_pairs_equal_the_library() -> None:
    from transformers.models.gptj import modeling_gptj
    from transformers.models.llama import modeling_llama

    x = torch.randn(2, 9, 3, 16, generator=torch.Generator().manual_seed(1))  # by place, by head
    cos, sin = angles(torch.arange(9), frequencies(16))
    expected = modeling_gptj.apply_rotary_pos_emb(x, sin[None], cos[None])
    ours = rotate(x.transpose(1, 2), cos, sin, interleaved=True).transpose(1, 2)
    torch.testing.assert_close(ours, expected)
    both = [torch.cat((part, part), dim=-1)[None] for part in (cos, sin)]
    expected, _ = modeling_llama.apply_rotary_pos_emb(x.transpose(1, 2), x.transpose(1, 2), *both)
    torch.testing.assert_close(rotate(x.transpose(1, 2), cos, sin), expected)


def test_published_numbers_of_the_rules() -> None:
    tiny = turns_made(frequencies(64), 2048)
    assert int((tiny < 1).sum()) == 11
    assert bool((tiny[21:] < 1).all())
    assert float(tiny[0]) == pytest.approx(2048 / (2 * math.pi), rel=1e-6)
    assert int((turns_made(frequencies(128, 1e6), 32_768) < 1).sum()) == 24
    assert int((turns_made(frequencies(128, 5e5), 8192) < 1).sum()) == 29
    assert [yarn_ramp(w, t, n) for w, t, n, _ in SHAPES] == [(8, 21), (23, 40), (18, 35)]
    assert ntk_base(64, 1e4, 8.0) == pytest.approx(85_550.3759, abs=1e-3)
    assert yarn_scale(8.0) == pytest.approx(1.2079441541679836, abs=1e-12)
    assert yarn_scale(4.0) == pytest.approx(1.138629436111989, abs=1e-12)


@pytest.mark.parametrize(("width", "theta", "trained", "factor"), SHAPES)
def test_what_each_rule_keeps_and_stretches(
    width: int, theta: float, trained: int, factor: float
) -> None:
    turns = frequencies(width, theta)
    first, last = yarn_ramp(width, theta, trained)
    ratio = yarn(width, theta, factor, trained) / turns
    assert bool((ratio[: first + 1] == 1).all())
    torch.testing.assert_close(ratio[last:], torch.full_like(ratio[last:], 1 / factor))
    ratio = ntk(width, theta, factor) / turns
    pairs = torch.arange(width // 2)
    torch.testing.assert_close(ratio, factor ** (-2 * pairs / (width - 2)), rtol=2e-6, atol=0)
    # Without a stretch every rule is the identity.
    for same in (
        linear(turns, 1.0),
        ntk(width, theta, 1.0),
        dynamic_ntk(width, theta, 1.0, trained, trained),
        yarn(width, theta, 1.0, trained),
        yarn_by_turns(turns, 1.0, trained),
        llama3(turns, 1.0, trained),
    ):
        torch.testing.assert_close(same, turns, rtol=1.2e-7, atol=0)
    assert yarn_scale(1.0) == 1.0


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(["default", "linear", "ntk", "dynamic", "yarn", "llama3"]),
    st.integers(0, 3000),
    st.booleans(),
)
def test_products_depend_on_distances_alone(kind: str, shift: int, interleaved: bool) -> None:
    rope = Rope(kind=kind, factor=4.0, trained=64)  # type: ignore[arg-type]
    generator = torch.Generator().manual_seed(3)
    query, key = (torch.randn(6, 16, generator=generator) for _ in range(2))
    turns = rope.turns(16, 200).double()

    def scores(start: int) -> Tensor:
        angle = torch.arange(start, start + 6).double()[:, None] * turns
        cos, sin = angle.cos(), angle.sin()
        left, right = (rotate(x.double(), cos, sin, interleaved=interleaved) for x in (query, key))
        return left @ right.T

    torch.testing.assert_close(scores(0), scores(shift), atol=1e-9, rtol=1e-9)
    cos, sin = angles(torch.arange(6) + shift, rope.turns(16, 200))
    turned = rotate(query, cos, sin, interleaved=interleaved)
    torch.testing.assert_close(turned.norm(dim=-1), query.norm(dim=-1))
