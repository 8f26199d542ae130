"""Our GPT-2 and its relatives against transformers, a nanoGPT checkpoint, and themselves."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from nn_parity import counted, gap, gradient_gaps, moved, tokens
from remeasure.errors import DataError
from remeasure.nn.checkpoints.loading import Names, load, published_names
from remeasure.nn.generate.greedy import greedy, last_logits
from remeasure.nn.layers.cache import KeyValueCache
from remeasure.nn.models.gpt2 import (
    CHESS,
    GPT1,
    GPT1_NAMES,
    GPT2,
    GPT2_LARGE,
    GPT2_MEDIUM,
    GPT2_SMALL,
    GPT2_XL,
    KARVONEN_CHESS,
    NAMES,
    NANOGPT_NAMES,
    GPT2Config,
    initialise,
)

transformers = pytest.importorskip("transformers", reason="transformers is the referee here")

SMALL = GPT2Config(vocabulary=61, context=40, width=32, layers=3, heads=4)
EXACT = dataclasses.replace(SMALL, gelu="none", eps=1e-3, layers=2)
FIRST = dataclasses.replace(SMALL, post_norm=True, layers=2)


def referee(config: GPT2Config, seed: int = 0) -> nn.Module:
    sizes = {
        "vocab_size": config.vocabulary,
        "n_positions": config.context,
        "n_embd": config.width,
        "n_layer": config.layers,
        "n_head": config.heads,
        "layer_norm_epsilon": config.eps,
    }
    if config.post_norm:
        return moved(transformers.OpenAIGPTLMHeadModel(transformers.OpenAIGPTConfig(**sizes)), seed)
    name = "gelu_new" if config.gelu == "tanh" else "gelu"
    published = transformers.GPT2Config(
        **sizes, activation_function=name, bos_token_id=0, eos_token_id=7
    )
    return moved(transformers.GPT2LMHeadModel(published), seed)


def names_of(config: GPT2Config) -> Names:
    return GPT1_NAMES if config.post_norm else NAMES


def inner(theirs: nn.Module) -> nn.Module:
    """Without the prefix: the names of the published files."""
    part: nn.Module = theirs.transformer
    return part


def ours(theirs: nn.Module, config: GPT2Config) -> GPT2:
    model = GPT2(config).eval()
    load(model, dict(inner(theirs).state_dict()), names_of(config), where="random")
    return model


@pytest.mark.parametrize("config", [SMALL, EXACT, FIRST], ids=["gpt2", "exact gelu", "gpt1"])
def test_states_logits_and_gradients_equal_the_reference(config: GPT2Config) -> None:
    theirs = referee(config)
    model = ours(theirs, config)
    ids = tokens(config.vocabulary, 2, 17)
    right = theirs(ids, output_hidden_states=True)
    left = model(ids)
    assert gap(left, right.logits) <= 1e-5
    states = model.states(ids)
    assert len(states) == config.layers + 1
    for number, (own, other) in enumerate(zip(states, right.hidden_states, strict=True)):
        # The reference norms its last state; ours is the stream before the norm.
        own = model.norm(own) if number == config.layers else own
        assert gap(own, other) <= 1e-5, number
    assert torch.equal(model.unembed(states[-1]), left)
    left.logsumexp(-1).sum().backward()
    right.logits.logsumexp(-1).sum().backward()
    gaps = gradient_gaps(model, dict(inner(theirs).named_parameters()), names_of(config))
    assert max(gaps.values()) <= 1e-4, gaps


@pytest.mark.parametrize("config", [SMALL, FIRST], ids=["gpt2", "gpt1"])
def test_our_weights_go_back_into_the_reference(config: GPT2Config) -> None:
    model = moved(GPT2(config), seed=5)
    theirs = referee(config)
    missing = inner(theirs).load_state_dict(published_names(model, names_of(config)), strict=False)
    assert not missing.unexpected_keys
    assert all(name.endswith("attn.bias") for name in missing.missing_keys)
    theirs.tie_weights()
    ids = tokens(config.vocabulary, 3, 9)
    assert gap(model(ids), theirs(ids).logits) <= 1e-5


def test_names_with_a_prefix_and_stored_masks_load_as_well() -> None:
    theirs = referee(SMALL)
    stored = dict(theirs.state_dict()) | {
        f"transformer.h.{i}.attn.bias": torch.ones(1, 1, 4, 4) for i in range(SMALL.layers)
    }
    model = GPT2(SMALL)
    report = load(model, stored, NAMES, where="random")
    assert report.parameters == SMALL.parameters()
    assert len(report.ignored) == SMALL.layers + 1
    ids = tokens(SMALL.vocabulary, 1, 5)
    assert gap(model(ids), theirs(ids).logits) <= 1e-5


def test_a_wrong_gelu_and_a_forgotten_transpose_are_noticed() -> None:
    theirs = referee(SMALL)
    model = ours(theirs, SMALL)
    ids = tokens(SMALL.vocabulary, 2, 17)
    expected = theirs(ids).logits
    other = GPT2(dataclasses.replace(SMALL, gelu="none"))
    other.load_state_dict(model.state_dict())
    assert (other(ids) - expected).abs().max() > 1e-4
    with torch.no_grad():
        weight = model.blocks[0].attention.out.weight
        weight.copy_(weight.T.clone())
    assert gap(model(ids), expected) > 1e-2


def test_a_nanogpt_checkpoint_of_chess() -> None:
    """Against the same function written out: no biases, exact GELU, nothing transposed."""
    config = dataclasses.replace(KARVONEN_CHESS, width=32, layers=2, heads=4, context=20)
    arguments = {
        "n_layer": 2, "n_head": 4, "n_embd": 32, "block_size": 20, "bias": False,
        "vocab_size": 32, "dropout": 0.0,
    }  # fmt: skip
    assert GPT2Config.from_nanogpt(arguments) == config
    model = moved(GPT2(config))
    stored = published_names(model, NANOGPT_NAMES)
    assert len(stored) == config.layers * 6 + 3
    stored["_orig_mod.lm_head.weight"] = stored["_orig_mod.transformer.wte.weight"]
    again = GPT2(config)
    report = load(again, stored, NANOGPT_NAMES, where="random")
    assert report.ignored == ("_orig_mod.lm_head.weight",)
    ids = tokens(32, 1, 12)

    def take(name: str) -> Tensor:
        return stored[f"_orig_mod.transformer.{name}.weight"]

    def norm(x: Tensor, name: str) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * take(name)

    x = take("wte")[ids[0]] + take("wpe")[:12]
    for block in range(2):
        q, k, v = (norm(x, f"h.{block}.ln_1") @ take(f"h.{block}.attn.c_attn").T).split(32, -1)
        heads = []
        for head in range(4):
            part = slice(8 * head, 8 * head + 8)
            scores = q[:, part] @ k[:, part].T / math.sqrt(8)
            scores = scores.masked_fill(torch.ones(12, 12).triu(1).bool(), -math.inf)
            heads.append(scores.softmax(-1) @ v[:, part])
        x = x + torch.cat(heads, -1) @ take(f"h.{block}.attn.c_proj").T
        up = norm(x, f"h.{block}.ln_2") @ take(f"h.{block}.mlp.c_fc").T
        x = x + (up * 0.5 * (1 + torch.erf(up / math.sqrt(2)))) @ take(f"h.{block}.mlp.c_proj").T
    assert gap(again(ids)[0], norm(x, "ln_f") @ take("wte").T) <= 1e-5
    # A model with biases takes the file when the biases that it lacks are given as zeros.
    wide = GPT2(dataclasses.replace(config, bias=True))
    assert len(dict(wide.named_parameters())) - len(dict(model.named_parameters())) == 2 * 6 + 1


@pytest.mark.parametrize(
    ("config", "published"),
    [
        (GPT1, 116_534_784),
        (GPT2_SMALL, 124_439_808),
        (GPT2_MEDIUM, 354_823_168),
        (GPT2_LARGE, 774_030_080),
        (GPT2_XL, 1_557_611_200),
        (CHESS, 25_498_624),
        (KARVONEN_CHESS, 25_714_688),
        (dataclasses.replace(KARVONEN_CHESS, bias=True), 25_760_256),
        (SMALL, None),
        (FIRST, None),
    ],
)
def test_the_formula_counts_what_is_built(config: GPT2Config, published: int | None) -> None:
    with torch.device("meta"):
        assert counted(GPT2(config)) == config.parameters()
    assert published is None or config.parameters() == published


def test_the_configuration_is_read_as_published() -> None:
    for config in (SMALL, EXACT, FIRST):
        assert GPT2Config.from_json(referee(config).config.to_dict()) == config
    published = referee(SMALL).config.to_dict()
    with pytest.raises(DataError, match="n_inner is 50"):
        GPT2Config.from_json(published | {"n_inner": 50})
    with pytest.raises(DataError, match="scale_attn_by_inverse_layer_idx is True"):
        GPT2Config.from_json(published | {"scale_attn_by_inverse_layer_idx": True})


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 11), st.integers(1, 4), st.sampled_from([SMALL, FIRST]))
def test_a_cache_changes_nothing(first: int, chunk: int, config: GPT2Config) -> None:
    model = moved(GPT2(config))
    ids = tokens(config.vocabulary, 2, 12)
    with torch.inference_mode():
        whole = model(ids)
        cache = model.cache(2, 12)
        parts = [model(ids[:, :first], None, cache)]
        parts += [model(part, None, cache) for part in ids[:, first:].split(chunk, dim=1)]
    assert cache.length == 12
    assert gap(torch.cat(parts, dim=1), whole) <= 1e-5


def test_padding_changes_no_real_position() -> None:
    model = moved(GPT2(SMALL))
    texts = [tokens(61, 1, length, seed=length)[0].tolist() for length in (9, 3, 1, 6)]
    together = last_logits(model, texts, padding=0)
    for text, row in zip(texts, together, strict=True):
        alone = model(torch.tensor([text]))[0, -1]
        assert gap(row, alone) <= 1e-5


def test_later_tokens_change_no_earlier_score() -> None:
    model = moved(GPT2(SMALL))
    ids = tokens(61, 1, 10)
    other = ids.clone()
    other[:, 6:] = (other[:, 6:] + 1) % 61
    left, right = model(ids), model(other)
    assert gap(right[:, :6], left[:, :6]) <= 1e-6
    assert gap(right[:, 6:], left[:, 6:]) > 1e-3


def test_greedy_equals_the_reference_and_the_path_without_a_cache() -> None:
    theirs = referee(SMALL)
    model = ours(theirs, SMALL)
    text = tokens(61, 1, 6)
    expected = theirs.generate(text, max_new_tokens=20, do_sample=False, pad_token_id=7)[0, 6:]
    answer = greedy(model, text.tolist(), new_tokens=20, end=7)[0]
    whole = expected.tolist()
    assert answer == (whole[: whole.index(7)] if 7 in whole else whole)
    ids = text
    for token in answer:
        assert int(model(ids)[0, -1].argmax()) == token
        ids = torch.cat((ids, torch.tensor([[token]])), dim=1)


def test_a_text_longer_than_the_positions_is_refused() -> None:
    model = GPT2(SMALL)
    with pytest.raises(ValueError, match="41 tokens, but the model has 40 positions"):
        model(tokens(61, 1, 41))


def test_fresh_weights_are_spread_as_published_and_the_same_for_one_seed() -> None:
    model, again = (
        GPT2(dataclasses.replace(CHESS, layers=2)),
        GPT2(dataclasses.replace(CHESS, layers=2)),
    )
    initialise(model, 42)
    initialise(again, 42)
    for (name, one), other in zip(model.named_parameters(), again.parameters(), strict=True):
        assert torch.equal(one, other)
        if name.endswith("bias"):
            assert not one.any()
        elif "norm" in name:
            assert bool((one == 1).all())
        else:
            out = name.endswith(("attention.out.weight", "mlp.down.weight"))
            wanted = 0.02 / (2 if out else 1)  # sqrt(2 · 2 layers) = 2
            assert float(one.detach().std()) == pytest.approx(wanted, rel=0.05), name
    initialise(again, 43)
    assert not torch.equal(model.embed.weight, again.embed.weight)
    ids = tokens(32, 8, 64)
    with torch.inference_mode():
        loss = nn.functional.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    assert 3.4 < float(loss) < 4.3


def test_a_cache_is_kept_in_another_order_and_rewound() -> None:
    model = moved(GPT2(SMALL))
    ids = tokens(61, 3, 8)
    rows = torch.tensor([2, 0, 0])
    for chosen in (rows, torch.tensor([1]), torch.tensor([0, 1, 2, 2, 1])):
        with torch.inference_mode():
            cache = model.cache(3, 10)
            model(ids, None, cache)
            cache.rewind(6)
            cache.select(chosen)
            more = tokens(61, len(chosen), 3, seed=4)
            got = model(more, None, cache)
            expected = model(torch.cat((ids[chosen, :6], more), dim=1))[:, 6:]
        assert gap(got, expected) <= 1e-5
    with pytest.raises(ValueError, match="cannot be rewound to 10"):
        cache.rewind(10)
    assert isinstance(cache, KeyValueCache)
    # One token of GPT-2 small: 2 · layers · width numbers, 36,864 bytes in 16 bits.
    small = KeyValueCache(12, 1, 12, 1, 64, torch.empty(0, device="meta"))
    small.length = 1
    assert 2 * small.numbers() == 36_864
