"""Our Qwen3-Next against transformers on random weights, and against itself with its caches."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import Tensor

from nn_parity import counted, gap, gradient_gaps, moved, tokens
from remeasure.errors import DataError
from remeasure.nn.checkpoints.loading import load, published_names, read_safetensors
from remeasure.nn.checkpoints.stacked import stack_experts, unstack_experts
from remeasure.nn.generate.greedy import greedy, last_logits
from remeasure.nn.models.hybrid import NAMES, QWEN3_NEXT_80B, Hybrid, HybridConfig

transformers = pytest.importorskip("transformers", reason="transformers is the referee here")

#: One rule, one attention, one rule without experts; two value heads a key head.
SMALL = HybridConfig(
    vocabulary=61,
    width=24,
    kinds=("delta", "attention", "delta"),
    heads=4,
    groups=2,
    head=8,
    rotated=4,
    theta=500.0,
    key_heads=2,
    value_heads=4,
    key=6,
    value=5,
    hidden=20,
    experts=5,
    chosen=2,
    expert=8,
    shared=12,
    plain=(2,),
    eps=1e-5,
)
#: No experts at all, as many value heads as key heads, tied.
PLAIN = dataclasses.replace(
    SMALL,
    kinds=("delta", "attention"),
    experts=0,
    chosen=0,
    expert=0,
    shared=0,
    plain=(0, 1),
    value_heads=2,
    reach=3,
    rotated=8,
    tied=True,
)
BOTH = [SMALL, PLAIN]


def referee(config: HybridConfig, seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)
    published = transformers.Qwen3NextConfig(
        vocab_size=config.vocabulary,
        hidden_size=config.width,
        intermediate_size=config.hidden,
        num_hidden_layers=len(config.kinds),
        num_attention_heads=config.heads,
        num_key_value_heads=config.groups,
        head_dim=config.head,
        rms_norm_eps=config.eps,
        tie_word_embeddings=config.tied,
        rope_parameters={
            "rope_type": "default",
            "rope_theta": config.theta,
            "partial_rotary_factor": config.rotated / config.head,
        },
        linear_conv_kernel_dim=config.reach,
        linear_key_head_dim=config.key,
        linear_value_head_dim=config.value,
        linear_num_key_heads=config.key_heads,
        linear_num_value_heads=config.value_heads,
        moe_intermediate_size=config.expert,
        shared_expert_intermediate_size=config.shared,
        num_experts_per_tok=config.chosen,
        num_experts=config.experts,
        norm_topk_prob=config.renormalise,
        mlp_only_layers=list(config.plain),
        layer_types=[
            "full_attention" if kind == "attention" else "linear_attention" for kind in config.kinds
        ],
        max_position_embeddings=64,
    )
    return moved(transformers.Qwen3NextForCausalLM(published), seed)


def ours(theirs: torch.nn.Module, config: HybridConfig) -> Hybrid:
    model = Hybrid(config).eval()
    load(model, dict(theirs.state_dict()), NAMES, where="random")
    return model


@pytest.mark.parametrize("config", [*BOTH, dataclasses.replace(SMALL, renormalise=False)])
@pytest.mark.parametrize("length", [2, 70])
def test_logits_and_gradients_equal_the_reference(config: HybridConfig, length: int) -> None:
    theirs = referee(config)
    model = ours(theirs, config)
    ids = tokens(config.vocabulary, 2, length)
    left, right = model(ids), theirs(ids).logits
    torch.testing.assert_close(left, right, atol=2e-5, rtol=1e-5)
    left.logsumexp(-1).sum().backward()
    right.logsumexp(-1).sum().backward()
    gaps = gradient_gaps(model, dict(theirs.named_parameters()), NAMES)
    assert max(gaps.values()) <= 1e-4, gaps


@pytest.mark.parametrize("config", BOTH)
def test_our_weights_go_back_into_the_reference(config: HybridConfig) -> None:
    torch.manual_seed(3)
    model, theirs = Hybrid(config).eval(), referee(config)
    missing = theirs.load_state_dict(published_names(model, NAMES), strict=False)
    assert not missing.unexpected_keys
    assert set(missing.missing_keys) <= {"lm_head.weight"}
    theirs.tie_weights()
    ids = tokens(config.vocabulary, 3, 12)
    torch.testing.assert_close(model(ids), theirs(ids).logits, atol=1e-5, rtol=1e-5)


def test_published_files_hold_experts_one_by_one(tmp_path: Path) -> None:
    """Out of the files that the reference writes, and from ours into the reference again."""
    theirs, ids = referee(SMALL), tokens(SMALL.vocabulary, 2, 7)
    theirs.save_pretrained(tmp_path / "theirs")
    single = read_safetensors([tmp_path / "theirs" / "model.safetensors"])
    room = "model.layers.1.mlp."
    assert f"{room}experts.4.down_proj.weight" in single
    assert f"{room}shared_expert_gate.weight" in single
    model = Hybrid(SMALL).eval()
    load(model, stack_experts(single, SMALL.experts, where="random"), NAMES, where="random")
    torch.testing.assert_close(model(ids), theirs(ids).logits, atol=2e-5, rtol=1e-5)

    torch.manual_seed(5)
    model = Hybrid(SMALL).eval()
    back = unstack_experts(published_names(model, NAMES))
    assert {name: part.shape for name, part in back.items()} == {
        name: part.shape for name, part in single.items()
    }
    theirs.config.save_pretrained(tmp_path / "ours")
    save_file({k: v.contiguous() for k, v in back.items()}, tmp_path / "ours/model.safetensors")
    again = transformers.Qwen3NextForCausalLM.from_pretrained(tmp_path / "ours").eval()
    torch.testing.assert_close(model(ids), again(ids).logits, atol=2e-5, rtol=1e-5)
    with pytest.raises(DataError, match=r"experts\.5\.gate_proj\.weight: missing"):
        stack_experts(single, 6, where="random")
    with pytest.raises(DataError, match=r"experts\.4\..*has 4 experts"):
        stack_experts(single, 4, where="random")


def test_the_formula_counts_what_is_built() -> None:
    for config in (*BOTH, QWEN3_NEXT_80B):
        with torch.device("meta"):
            assert counted(Hybrid(config)) == config.parameters()
    assert round(QWEN3_NEXT_80B.parameters() / 1e9) == 80
    assert round(QWEN3_NEXT_80B.active() / 1e9) in (3, 4)


def test_published_sizes_of_caches() -> None:
    """fig_kv_memory and stat_kv: 3 GiB for 131,072 tokens and 36 MiB at two bytes a number."""
    assert 2 * QWEN3_NEXT_80B.cache_numbers(131_072) == 3_221_225_472
    assert 2 * QWEN3_NEXT_80B.state_numbers() == 36 * 2**20
    assert (QWEN3_NEXT_80B.kinds.count("delta"), len(QWEN3_NEXT_80B.kinds)) == (36, 48)
    cache = Hybrid(SMALL).cache(3, 9)
    windows = 3 * 2 * SMALL.stream * SMALL.reach
    assert cache.numbers() == windows + 3 * SMALL.state_numbers()
    cache.length = 5
    assert cache.numbers() == windows + 3 * (SMALL.state_numbers() + SMALL.cache_numbers(5))


def test_the_configuration_is_read_as_published() -> None:
    for config in BOTH:
        assert HybridConfig.from_json(referee(config).config.to_dict()) == config
    published = transformers.Qwen3NextConfig(
        rope_parameters={
            "rope_type": "default",
            "rope_theta": 10_000_000.0,
            "partial_rotary_factor": 0.25,
        },
        intermediate_size=5120,
    ).to_dict()
    assert HybridConfig.from_json(published) == QWEN3_NEXT_80B
    with pytest.raises(DataError, match="attention_bias"):
        HybridConfig.from_json(published | {"attention_bias": True})


def through_a_cache(model: Hybrid, ids: Tensor, cut: int) -> tuple[Tensor, Tensor]:
    """Logits of a text of which a cache holds the first ``cut``: then one by one, or the rest."""
    cache = model.cache(*ids.shape)
    parts = [model(ids[:, :cut], None, cache)]
    while cache.length < ids.shape[1]:
        parts.append(model(ids[:, cache.length : cache.length + 1], None, cache))
    again = model.cache(*ids.shape)
    both = [model(ids[:, :cut], None, again), model(ids[:, cut:], None, again)]
    return torch.cat(parts, dim=1), torch.cat(both, dim=1)


@settings(max_examples=8, deadline=None)
@given(cut=st.integers(1, 13), seed=st.integers(0, 9))
def test_a_cache_changes_nothing(cut: int, seed: int) -> None:
    torch.manual_seed(seed)
    fresh = Hybrid(SMALL).eval()
    ids = tokens(SMALL.vocabulary, 2, 14, seed)
    with torch.inference_mode():
        for out in through_a_cache(fresh, ids, cut):
            torch.testing.assert_close(out, fresh(ids), atol=1e-5, rtol=0.0)
        # With weights far from the start only in float64: see the next test.
        model = moved(fresh, seed).double()
        for out in through_a_cache(model, ids, cut):
            torch.testing.assert_close(out, model(ids), atol=1e-9, rtol=1e-9)


def test_a_cache_changes_no_more_than_the_last_bit_does() -> None:
    """Where a memory answers almost nothing, the norm after it magnifies what float32 rounds.

    No order of summation mends that: in exact arithmetic, what every map gives shaken by half
    of a last bit of float32 moves logits by more than 1e-5 already, and a cache, before which
    more than maps is rounded, by a few times as much.
    """
    shaking = torch.Generator().manual_seed(0)

    def shake(_: torch.nn.Module, given: tuple[Tensor, ...], out: Tensor) -> Tensor:
        signs = torch.randint(0, 2, out.shape, generator=shaking) * 2 - 1
        return out * (1 + 2.0**-24 * signs)

    reached = []
    for seed in range(4, 9):
        torch.manual_seed(seed)
        model = moved(Hybrid(SMALL), seed)
        ids = tokens(SMALL.vocabulary, 2, 14, seed)
        with torch.inference_mode():
            whole = model(ids)
            cached = max(gap(out, whole) for out in through_a_cache(model, ids, 3))
            exact = model.double()(ids)
            for part in model.modules():
                if isinstance(part, torch.nn.Linear):
                    part.register_forward_hook(shake)
            moves = [model(ids) - exact for _ in range(8)]
        reached.append(max(float(move.abs().max()) for move in moves))
        assert cached < 1e-5, seed  # as a share of the largest score
        assert cached <= 8 * max(gap(exact + move, exact) for move in moves), seed
    assert max(reached) > 1e-5


def test_texts_of_a_cache_can_be_chosen_again() -> None:
    model = ours(referee(SMALL), SMALL)
    ids = tokens(SMALL.vocabulary, 2, 9)
    rows = torch.tensor([1, 1, 0])
    with torch.inference_mode():
        cache = model.cache(2, 9)
        model(ids[:, :8], None, cache)
        cache.select(rows)
        last = model(ids[rows, 8:], None, cache)
        torch.testing.assert_close(last[:, 0], model(ids)[rows, -1], atol=1e-5, rtol=1e-5)
    with pytest.raises(ValueError, match="rewound"):
        cache.rewind(3)


@pytest.mark.parametrize("config", BOTH)
def test_padding_changes_no_real_position(config: HybridConfig) -> None:
    model = ours(referee(config), config)
    texts = [tokens(config.vocabulary, 1, n, seed=n)[0].tolist() for n in (12, 3, 1, 9)]
    together = last_logits(model, texts, padding=0)
    for text, row in zip(texts, together, strict=True):
        alone = model(torch.tensor([text]))[0, -1]
        torch.testing.assert_close(row, alone, atol=1e-5, rtol=1e-5)


def test_later_tokens_change_no_earlier_score() -> None:
    model = ours(referee(SMALL), SMALL)
    ids = tokens(SMALL.vocabulary, 1, 20)
    other = ids.clone()
    other[:, 11:] = (other[:, 11:] + 1) % SMALL.vocabulary
    left, right = model(ids), model(other)
    assert gap(left[:, :11], right[:, :11]) < 1e-6
    assert gap(left[:, 11:], right[:, 11:]) > 1e-2


def test_greedy_equals_the_reference_text_by_text() -> None:
    theirs = referee(SMALL)
    model = ours(theirs, SMALL)
    texts = [tokens(SMALL.vocabulary, 1, n, seed=n)[0].tolist() for n in (9, 2)]
    answers = greedy(model, texts, new_tokens=6, end=7)
    for text, answer in zip(texts, answers, strict=True):
        whole = theirs.generate(
            torch.tensor([text]),
            attention_mask=torch.ones(1, len(text), dtype=torch.long),
            max_new_tokens=6,
            do_sample=False,
            eos_token_id=7,
            pad_token_id=7,
        )[0, len(text) :].tolist()
        assert answer == (whole[: whole.index(7)] if 7 in whole else whole)
