"""Our Mamba and Mamba-2 against transformers on random weights, and against themselves."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from remeasure.nn.checkpoints.loading import Names, load, published_names
from remeasure.nn.generate.greedy import greedy, last_logits
from remeasure.nn.models import mamba, mamba2
from remeasure.nn.models.mamba import MAMBA_130M, Mamba, MambaConfig
from remeasure.nn.models.mamba2 import MAMBA2_130M, Mamba2, Mamba2Config

transformers = pytest.importorskip("transformers", reason="transformers is the referee here")

FIRST = MambaConfig(vocabulary=61, width=24, layers=2, inner=48, states=5, rank=3)
BIASED = MambaConfig(
    vocabulary=50,
    width=16,
    layers=3,
    inner=48,
    states=4,
    rank=2,
    reach=3,
    eps=1e-3,
    bias=True,
    conv_bias=False,
    tied=False,
)
SECOND = Mamba2Config(
    vocabulary=61, width=24, layers=2, heads=6, head=8, states=5, groups=1, chunk=4
)
GROUPED = Mamba2Config(
    vocabulary=50,
    width=16,
    layers=3,
    heads=4,
    head=12,
    states=4,
    groups=2,
    reach=3,
    chunk=8,
    eps=1e-3,
    bias=True,
    conv_bias=False,
    limits=(0.2, 0.8),
    tied=True,
)
EVERY = [FIRST, BIASED, SECOND, GROUPED]
#: The copy models of the study.
COPIER = Mamba2Config(
    vocabulary=18, width=64, layers=2, heads=4, head=32, states=32, chunk=64, tied=False
)

Config = MambaConfig | Mamba2Config


def referee(config: Config, seed: int = 0) -> torch.nn.Module:
    """The reference model with every parameter moved away from where it starts."""
    torch.manual_seed(seed)
    common: dict[str, Any] = {
        "vocab_size": config.vocabulary,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "state_size": config.states,
        "conv_kernel": config.reach,
        "layer_norm_epsilon": config.eps,
        "expand": config.inner // config.width,
        "use_bias": config.bias,
        "use_conv_bias": config.conv_bias,
        "tie_word_embeddings": config.tied,
    }
    if isinstance(config, MambaConfig):
        made = transformers.MambaConfig(time_step_rank=config.rank, **common)
        model = transformers.MambaForCausalLM(made).eval()
    else:
        made = transformers.Mamba2Config(
            num_heads=config.heads,
            head_dim=config.head,
            n_groups=config.groups,
            chunk_size=config.chunk,
            time_step_limit=config.limits,
            **common,
        )
        model = transformers.Mamba2ForCausalLM(made).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.2)
    return model


def blank(config: Config) -> tuple[Mamba | Mamba2, Names]:
    if isinstance(config, MambaConfig):
        return Mamba(config).eval(), mamba.NAMES
    return Mamba2(config).eval(), mamba2.NAMES


def ours(theirs: torch.nn.Module, config: Config) -> Mamba | Mamba2:
    model, names = blank(config)
    load(model, dict(theirs.state_dict()), names, where="random")
    return model


def tokens(config: Config, batch: int, length: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, config.vocabulary, (batch, length), generator=generator)


@pytest.mark.parametrize("config", EVERY)
@pytest.mark.parametrize("length", [3, 21])
def test_logits_and_gradients_equal_the_reference(config: Config, length: int) -> None:
    theirs = referee(config)
    model = ours(theirs, config)
    ids = tokens(config, 2, length)
    left, right = model(ids), theirs(ids).logits
    torch.testing.assert_close(left, right, atol=1e-5, rtol=1e-5)
    left.logsumexp(-1).sum().backward()
    right.logsumexp(-1).sum().backward()
    reference = dict(theirs.named_parameters())
    names = blank(config)[1]
    for name, parameter in model.named_parameters():
        other = names.theirs(name)
        assert other is not None
        expected = reference[other[0]].grad
        scale = expected.abs().max()
        assert (parameter.grad - expected).abs().max() <= 1e-4 * scale, name


@pytest.mark.parametrize("config", EVERY)
def test_our_weights_go_back_into_the_reference(config: Config) -> None:
    torch.manual_seed(3)
    model, names = blank(config)
    theirs = referee(config)
    missing = theirs.load_state_dict(published_names(model, names), strict=False)
    assert not missing.unexpected_keys
    assert set(missing.missing_keys) <= {"lm_head.weight"}
    theirs.tie_weights()
    ids = tokens(config, 3, 12)
    torch.testing.assert_close(model(ids), theirs(ids).logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("config", "published"),
    [
        *((config, None) for config in EVERY),
        (MAMBA_130M, 129_135_360),
        (MAMBA2_130M, 128_989_632),
        (COPIER, 62_552),
        (dataclasses.replace(COPIER, selective=False), 62_680),
    ],
)
def test_the_formula_counts_what_is_built(config: Config, published: int | None) -> None:
    with torch.device("meta"):
        built = sum(each.numel() for each in blank(config)[0].parameters())
    assert built == config.parameters()
    if published is not None:
        assert built == published


def test_published_shapes_and_sizes_of_the_mixer() -> None:
    """tab_block_parameters, stat_mamba2_parity and stat_step_parity."""
    with torch.device("meta"):
        first, second = mamba.Mixer(MAMBA_130M), mamba2.Mixer(MAMBA2_130M)
    sizes = {name: tuple(each.shape) for name, each in first.named_parameters()}
    assert sizes == {
        "rate_log": (1536, 16),
        "skip": (1536,),
        "into.weight": (3072, 768),
        "conv.weight": (1536, 1, 4),
        "conv.bias": (1536,),
        "select.weight": (80, 1536),
        "step.weight": (1536, 48),
        "step.bias": (1536,),
        "out.weight": (768, 1536),
    }
    assert MAMBA_130M.mixer_parameters() == 3_770_880
    assert MAMBA_130M.state_numbers() * 2 == 1_474_560
    assert second.into.weight.shape == (3352, 768)
    assert second.conv.weight.shape == (1792, 1, 4)
    assert second.norm.weight.shape == (1536,)
    assert Mamba(FIRST).cache(1).numbers() == FIRST.state_numbers()
    assert Mamba2(GROUPED).cache(2).numbers() == 2 * GROUPED.state_numbers()


@pytest.mark.parametrize("config", EVERY)
def test_the_configuration_is_read_as_published(config: Config) -> None:
    assert type(config).from_json(referee(config).config.to_dict()) == config


@pytest.mark.parametrize("config", EVERY)
@settings(max_examples=6, deadline=None)
@given(cut=st.integers(1, 13), seed=st.integers(0, 9))
def test_a_state_changes_nothing(config: Config, cut: int, seed: int) -> None:
    model, _ = blank(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.1)
    ids = tokens(config, 2, 14, seed)
    with torch.inference_mode():
        whole = model(ids)
        cache = model.cache(2)
        parts = [model(ids[:, :cut], None, cache)]
        while cache.length < 14:
            parts.append(model(ids[:, cache.length : cache.length + 1], None, cache))
        torch.testing.assert_close(torch.cat(parts, dim=1), whole, atol=1e-5, rtol=1e-5)
        # Several tokens at once go on from a state as well.
        again = model.cache(2)
        both = [model(ids[:, :cut], None, again), model(ids[:, cut:], None, again)]
    torch.testing.assert_close(torch.cat(both, dim=1), whole, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("config", EVERY)
def test_padding_changes_no_real_position(config: Config) -> None:
    model = ours(referee(config), config)
    texts = [tokens(config, 1, length, seed=length)[0].tolist() for length in (12, 3, 1, 9)]
    together = last_logits(model, texts, padding=0)
    for text, row in zip(texts, together, strict=True):
        alone = model(torch.tensor([text]))[0, -1]
        torch.testing.assert_close(row, alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("config", [BIASED, SECOND])
def test_later_tokens_change_no_earlier_score(config: Config) -> None:
    model = ours(referee(config), config)
    ids = tokens(config, 1, 20)
    other = ids.clone()
    other[:, 11:] = (other[:, 11:] + 1) % config.vocabulary
    left, right = model(ids), model(other)
    torch.testing.assert_close(left[:, :11], right[:, :11], atol=1e-6, rtol=1e-6)
    assert not torch.allclose(left[:, 11:], right[:, 11:])


@pytest.mark.parametrize("config", [FIRST, SECOND])
def test_greedy_equals_the_reference_text_by_text(config: Config) -> None:
    theirs = referee(config)
    model = ours(theirs, config)
    texts = [tokens(config, 1, length, seed=length)[0].tolist() for length in (9, 2)]
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


def test_what_is_fixed_does_not_depend_on_the_token() -> None:
    torch.manual_seed(0)
    config = dataclasses.replace(COPIER, selective=False)
    mixer = mamba2.Mixer(config)
    _, _, b, c, steps, _ = mixer.entering(torch.randn(2, 6, 64))
    for part in (b, c, steps):
        torch.testing.assert_close(part, part[:1, :1].expand_as(part))
    expected = torch.tensor([1e-3, 10 ** (-7 / 3), 10 ** (-5 / 3), 1e-1])
    torch.testing.assert_close(steps[0, 0], expected, atol=1e-7, rtol=0)
    ids = tokens(config, 2, 70)
    model = Mamba2(config)
    model(ids).logsumexp(-1).sum().backward()
    assert all(each.grad is not None for each in model.parameters())
