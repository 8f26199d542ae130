"""What the page computes, against closed forms, models that are really built, and real texts."""

from __future__ import annotations

import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from remeasure.nn.models import llama, mamba, olmoe, small_cnn, vit
from remeasure.nn.models.qwen3 import Qwen3, Qwen3Config
from remeasure.studies.models import caches, catalogue, parts, places, recurrent
from remeasure.studies.models.caches import Remembered
from remeasure.studies.models.published import Answer


@pytest.mark.parametrize("name", ["small ViT", "small CNN", "copying Mamba-2, fixed", "tiny BERT"])
def test_a_model_without_memory_has_the_tensors_of_a_real_one(name: str) -> None:
    entry = next(
        each for each in (*catalogue.CATALOGUE, *catalogue.EXPERIMENTS) if each.name == name
    )
    real = {key: tuple(each.shape) for key, each in entry.build().named_parameters()}
    assert catalogue.shapes(name) == real


def test_large_tensors_have_no_memory() -> None:
    large = catalogue.model("Llama 3.1 8B").get_parameter("embed.weight")
    assert large.is_meta


def test_parts_are_those_that_the_configuration_knows() -> None:
    found = parts.counts(catalogue.shapes("OLMoE 1B-7B"))
    known = olmoe.OLMOE_1B_7B.parts()
    assert found == {
        "embeddings and output": known["embeddings"],
        "attention": known["attention"],
        "MLP": 0,
        "experts": known["experts"],
        "state space": 0,
        "rest": known["routers"] + known["norms"],
    }


sizes = st.builds(
    Remembered,
    layers=st.integers(1, 9),
    groups=st.integers(1, 4),
    head=st.sampled_from([2, 4]),
    window=st.none() | st.integers(1, 40),
    every=st.integers(0, 4),
)


@settings(max_examples=60, deadline=None)
@given(sizes=sizes, tokens=st.integers(1, 90))
def test_numbers_of_a_cache_are_the_closed_form(sizes: Remembered, tokens: int) -> None:
    seen = [
        tokens if sizes.everywhere(layer) else min(tokens, sizes.window or tokens)
        for layer in range(sizes.layers)
    ]
    assert sizes.numbers(tokens) == 2 * sizes.groups * sizes.head * sum(seen)
    full = 2 * sizes.layers * sizes.groups * sizes.head * tokens
    assert sizes.full_bytes(tokens) == 2 * full


def test_a_text_that_is_read_fills_as_many_numbers() -> None:
    config = Qwen3Config(
        vocabulary=11, width=8, layers=3, heads=2, groups=1, head=4, hidden=6, windows=(5, None, 5)
    )
    model = Qwen3(config).eval()
    cache = model.cache(1, 16, rolling=True)
    with torch.inference_mode():
        model(torch.randint(0, 11, (1, 13)), None, cache)
    told = Remembered(layers=3, groups=1, head=4, window=5, every=2)
    assert told.windows() == [5, None, 5]
    assert cache.numbers() == told.numbers(13) == 2 * 4 * (5 + 13 + 5)


def test_a_state_does_not_grow_with_the_text() -> None:
    config = mamba.MambaConfig(vocabulary=11, width=8, layers=2, inner=16, states=3, rank=2)
    model = mamba.Mamba(config).eval()
    cache = model.cache(1)
    with torch.inference_mode():
        for length in (1, 9):
            model(torch.randint(0, 11, (1, length)), None, cache)
            assert cache.numbers() == config.state_numbers() == 2 * 16 * (4 + 3)
    assert recurrent.delta_state(3, 5, 7) == 105


def test_heads_of_a_group_cost_as_many_times_more() -> None:
    eight = caches.SIZES["Llama 3.1 8B"]
    assert eight.spread_bytes(10) == 4 * eight.full_bytes(10)
    assert caches.of_decoder(llama.TINYLLAMA).bytes(1) == 2 * 2 * 22 * 4 * 64


def test_ranges_that_are_no_bucket_have_no_answer() -> None:
    def asked(condition: str) -> int | Answer:
        return places.shared_bucket(condition, sign=-1, both_sides=True)

    assert asked("distances 8 to 11") == 8
    assert isinstance(asked("distances 8 to 12"), Answer)
    assert isinstance(asked("distances 8 to 10"), Answer)
    assert isinstance(asked("distances 92 to inf"), Answer)


def test_turns_are_the_closed_form_in_double_precision() -> None:
    found = places.turns()
    for pair in (0, 7, 31):
        exact = 2048 * 10_000 ** (-2 * pair / 64) / (2 * math.pi)
        assert float(found[pair]) == pytest.approx(exact, rel=1e-13)
    # Interpolation slows all pairs, NTK the first not at all and the last as much.
    assert places.slower("NTK, pair 0, TinyLlama, s = 8") == 1
    assert places.slower("NTK, pair 31, TinyLlama, s = 8") == pytest.approx(1 / 8, rel=1e-6)


@pytest.mark.parametrize(("window", "layers"), [(1, 3), (4, 3), (7, 2)])
def test_reach_of_stacked_windows(window: int, layers: int) -> None:
    assert places.spans(window, layers) == [1 + n * (window - 1) for n in range(1, layers + 1)]


def test_patterns_count_what_their_rules_say() -> None:
    marks = Counter(recurrent.PATTERNS["Nemotron-H"])
    assert marks == {"M": 24, "*": 4, "-": 24}
    jamba = recurrent.PATTERNS["Jamba"]
    assert [place for place, mark in enumerate(jamba) if mark == "*"] == [4, 12, 20, 28]
    kimi = recurrent.PATTERNS["Kimi Linear"]
    attends = [place + 1 for place, mark in enumerate(kimi) if mark == "*"]
    assert attends == [4, 8, 12, 16, 20, 24, 27]


def test_vision_models_have_the_parameters_of_their_tensors() -> None:
    assert catalogue.counted("small ViT") == vit.SMALL_VIT.parameters()
    assert catalogue.counted("small CNN") == small_cnn.SMALL_CNN.parameters()
