"""Our Llama against transformers on random weights, and against itself with caches and padding."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from remeasure.nn.checkpoints.loading import load, published_names
from remeasure.nn.generate.decoding import pad_left
from remeasure.nn.generate.greedy import greedy, last_logits
from remeasure.nn.layers.stretch import Rope
from remeasure.nn.models.llama import NAMES, SMOLLM2_135M, Llama, LlamaConfig

transformers = pytest.importorskip("transformers", reason="transformers is the referee here")

SMALL = LlamaConfig(
    vocabulary=61,
    width=24,
    layers=3,
    heads=6,
    groups=2,
    hidden=40,
    rope=Rope(theta=500.0),
    tied=True,
)
UNTIED = LlamaConfig(
    vocabulary=50, width=16, layers=2, heads=4, groups=4, hidden=20, tied=False, eps=1e-2
)


def referee(config: LlamaConfig, seed: int = 0) -> torch.nn.Module:
    """The reference model with every parameter moved away from where it starts."""
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=config.vocabulary,
            hidden_size=config.width,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=config.groups,
            intermediate_size=config.hidden,
            rope_parameters={"rope_type": "default", "rope_theta": config.rope.theta},
            rms_norm_eps=config.eps,
            tie_word_embeddings=config.tied,
            max_position_embeddings=64,
        )
    ).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.2)
    return model


def ours(theirs: torch.nn.Module, config: LlamaConfig) -> Llama:
    model = Llama(config).eval()
    load(model, dict(theirs.state_dict()), NAMES, where="random")
    return model


def tokens(config: LlamaConfig, batch: int, length: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, config.vocabulary, (batch, length), generator=generator)


@pytest.mark.parametrize("config", [SMALL, UNTIED])
def test_logits_and_gradients_equal_the_reference(config: LlamaConfig) -> None:
    theirs = referee(config)
    model = ours(theirs, config)
    ids = tokens(config, 2, 11)
    left, right = model(ids), theirs(ids).logits
    torch.testing.assert_close(left, right, atol=1e-5, rtol=1e-5)
    left.logsumexp(-1).sum().backward()
    right.logsumexp(-1).sum().backward()
    reference = dict(theirs.named_parameters())
    for name, parameter in model.named_parameters():
        other = NAMES.theirs(name)
        assert other is not None
        expected = reference[other[0]].grad
        scale = expected.abs().max()
        assert (parameter.grad - expected).abs().max() <= 1e-4 * scale, name


@pytest.mark.parametrize("config", [SMALL, UNTIED])
def test_our_weights_go_back_into_the_reference(config: LlamaConfig) -> None:
    torch.manual_seed(3)
    model = Llama(config).eval()
    theirs = referee(config)
    missing = theirs.load_state_dict(published_names(model, NAMES), strict=False)
    assert not missing.unexpected_keys
    assert set(missing.missing_keys) <= {"lm_head.weight"}
    theirs.tie_weights()
    ids = tokens(config, 3, 7)
    torch.testing.assert_close(model(ids), theirs(ids).logits, atol=1e-5, rtol=1e-5)


def test_the_formula_counts_what_is_built() -> None:
    for config in (SMALL, UNTIED, SMOLLM2_135M):
        with torch.device("meta"):
            built = sum(each.numel() for each in Llama(config).parameters())
        assert built == config.parameters()
    assert SMOLLM2_135M.parameters() == 134_515_008


def test_the_configuration_is_read_as_published() -> None:
    theirs = referee(SMALL)
    assert LlamaConfig.from_json(theirs.config.to_dict()) == SMALL


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 11), st.integers(0, 3))
def test_a_cache_changes_nothing(cut: int, seed: int) -> None:
    model = ours(referee(SMALL, seed), SMALL)
    ids = tokens(SMALL, 2, 12, seed)
    with torch.inference_mode():
        whole = model(ids)
        cache = model.cache(2, 12)
        first = model(ids[:, :cut], None, cache)
        rest = [model(ids[:, place : place + 1], None, cache) for place in range(cut, 12)]
    torch.testing.assert_close(torch.cat([first, *rest], dim=1), whole, atol=1e-5, rtol=1e-5)


def test_padding_changes_no_real_position() -> None:
    model = ours(referee(SMALL), SMALL)
    texts = [tokens(SMALL, 1, length, seed=length)[0].tolist() for length in (9, 3, 1, 6)]
    together = last_logits(model, texts, padding=0)
    for text, row in zip(texts, together, strict=True):
        alone = model(torch.tensor([text]))[0, -1]
        torch.testing.assert_close(row, alone, atol=1e-5, rtol=1e-5)


def test_later_tokens_change_no_earlier_score() -> None:
    model = ours(referee(SMALL), SMALL)
    ids = tokens(SMALL, 1, 10)
    other = ids.clone()
    other[:, 6:] = (other[:, 6:] + 1) % SMALL.vocabulary
    torch.testing.assert_close(model(ids)[:, :6], model(other)[:, :6])


def test_greedy_equals_the_reference_text_by_text() -> None:
    theirs = referee(SMALL)
    model = ours(theirs, SMALL)
    texts = [tokens(SMALL, 1, length, seed=length)[0].tolist() for length in (8, 2, 5)]
    answers = greedy(model, texts, new_tokens=12, end=7)
    for text, answer in zip(texts, answers, strict=True):
        whole = theirs.generate(
            torch.tensor([text]),
            attention_mask=torch.ones(1, len(text), dtype=torch.long),
            max_new_tokens=12,
            do_sample=False,
            eos_token_id=7,
            pad_token_id=7,
        )[0, len(text) :].tolist()
        assert answer == (whole[: whole.index(7)] if 7 in whole else whole)


def test_ends_are_aligned() -> None:
    ids, real = pad_left([[1, 2, 3], [4]], padding=9)
    assert ids.tolist() == [[1, 2, 3], [9, 9, 4]]
    assert real.tolist() == [[True, True, True], [False, False, True]]
