"""Rotary decoders against transformers on random weights, and against themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nn_parity import counted, gap, gradient_gaps, moved, tokens
from remeasure.errors import DataError
from remeasure.nn.checkpoints.loading import Names, load, published_names
from remeasure.nn.checkpoints.stacked import stack_experts, unstack_experts
from remeasure.nn.generate.greedy import greedy, last_logits
from remeasure.nn.layers.experts import balancing_loss
from remeasure.nn.layers.stretch import Rope
from remeasure.nn.models import llama, minicpm3, olmoe, pythia, qwen3
from remeasure.nn.models.decoder import RotaryDecoder

transformers = pytest.importorskip("transformers", reason="transformers is the referee here")


@dataclasses.dataclass(frozen=True)
class Case:
    """A small model of ours and the reference of the same shape."""

    config: Any
    model: Callable[[Any], RotaryDecoder]
    names: Names
    theirs: str
    published: dict[str, Any]


COMMON = {"max_position_embeddings": 64, "rms_norm_eps": 1e-6}
QWEN = qwen3.Qwen3Config(
    vocabulary=61, width=24, layers=3, heads=4, groups=2, head=8, hidden=40, rope=Rope(theta=500.0)
)
QWEN_JSON = {
    "vocab_size": 61, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 40,
    "tie_word_embeddings": True, **COMMON,
}  # fmt: skip
LLAMA_JSON = {
    "vocab_size": 50, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 20, **COMMON,
}  # fmt: skip
LLAMA = llama.LlamaConfig(
    vocabulary=50, width=32, layers=2, heads=4, groups=2, hidden=20, eps=1e-6, tied=False
)


def _rope(rope: Rope) -> dict[str, Any]:
    """As the reference writes it."""
    rule: dict[str, Any] = {"rope_type": rope.kind, "rope_theta": rope.theta}
    if rope.kind != "default":
        rule["factor"] = rope.factor
    if rope.kind in ("yarn", "llama3"):
        rule["original_max_position_embeddings"] = rope.trained
    if rope.kind == "llama3":
        rule |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    return {"rope_parameters": rule}


def _stretched(rope: Rope) -> Case:
    return Case(
        dataclasses.replace(LLAMA, rope=rope),
        llama.Llama,
        llama.NAMES,
        "Llama",
        LLAMA_JSON | {"tie_word_embeddings": False} | _rope(rope),
    )


CASES = {
    "qwen3": Case(QWEN, qwen3.Qwen3, qwen3.NAMES, "Qwen3", QWEN_JSON | _rope(QWEN.rope)),
    "qwen3 untied with windows": Case(
        dataclasses.replace(QWEN, tied=False, windows=(None, 5, None), head=16),
        qwen3.Qwen3,
        qwen3.NAMES,
        "Qwen3",
        QWEN_JSON | _rope(QWEN.rope)
        | {"tie_word_embeddings": False, "head_dim": 16, "use_sliding_window": True,
           "sliding_window": 5,
           "layer_types": ["full_attention", "sliding_attention", "full_attention"]},
    ),
    "mistral": Case(
        dataclasses.replace(LLAMA, window=4),
        llama.Llama,
        llama.NAMES,
        "Mistral",
        LLAMA_JSON | {"sliding_window": 4, "tie_word_embeddings": False} | _rope(Rope()),
    ),
    "llama yarn": _stretched(Rope(kind="yarn", factor=4.0, trained=16)),
    "llama 3.1": _stretched(Rope(kind="llama3", factor=8.0, trained=16)),
    "llama linear": _stretched(Rope(kind="linear", factor=2.0, trained=64)),
    "pythia": Case(
        pythia.PythiaConfig(vocabulary=61, width=32, layers=2, heads=2, hidden=48, rotated=4),
        pythia.Pythia,
        pythia.NAMES,
        "GPTNeoX",
        {"vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
         "intermediate_size": 48, "max_position_embeddings": 8},
    ),
    "neox one after the other": Case(
        pythia.PythiaConfig(
            vocabulary=61, width=32, layers=2, heads=2, hidden=48, rotated=16, parallel=False
        ),
        pythia.Pythia,
        pythia.NAMES,
        "GPTNeoX",
        {"vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
         "intermediate_size": 48, "use_parallel_residual": False,
         "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0,
                             "partial_rotary_factor": 1.0}},
    ),
    "olmoe": Case(
        olmoe.OlmoeConfig(
            vocabulary=61, width=32, layers=2, heads=4, groups=4, hidden=12, experts=8, chosen=3
        ),
        olmoe.Olmoe,
        olmoe.NAMES,
        "Olmoe",
        {"vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 12, "num_experts": 8, "num_experts_per_tok": 3,
         "pad_token_id": None, "eos_token_id": 7} | _rope(Rope()),
    ),
    "olmoe renormalised, grouped": Case(
        olmoe.OlmoeConfig(
            vocabulary=61, width=32, layers=2, heads=4, groups=2, hidden=12, experts=8, chosen=3,
            renormalise=True, tied=True,
        ),
        olmoe.Olmoe,
        olmoe.NAMES,
        "Olmoe",
        {"vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "intermediate_size": 12, "num_experts": 8,
         "num_experts_per_tok": 3, "norm_topk_prob": True, "tie_word_embeddings": True,
         "pad_token_id": None, "eos_token_id": 7} | _rope(Rope()),
    ),
    "minicpm3": Case(
        minicpm3.MiniCPM3Config(
            vocabulary=61, width=32, layers=2, heads=4, hidden=40, query_rank=12, rank=8, nope=6,
            rotary=4, value=5, base_width=16, rope=Rope(kind="factors", factors=(1.5, 3.0)),
        ),
        minicpm3.MiniCPM3,
        minicpm3.NAMES,
        "MiniCPM3",
        {"vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 4, "intermediate_size": 40, "q_lora_rank": 12, "kv_lora_rank": 8,
         "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5, "dim_model_base": 16,
         "max_position_embeddings": 64,
         "rope_parameters": {"rope_type": "longrope", "rope_theta": 10_000.0, "factor": 1.0,
                             "short_factor": [1.5, 3.0], "long_factor": [2.0, 2.0],
                             "original_max_position_embeddings": 64}},
    ),
}  # fmt: skip
every = pytest.mark.parametrize("name", list(CASES))


def referee(case: Case, seed: int = 0) -> nn.Module:
    config = getattr(transformers, f"{case.theirs}Config")(**case.published)
    return moved(getattr(transformers, f"{case.theirs}ForCausalLM")(config), seed)


def ours(theirs: nn.Module, case: Case) -> RotaryDecoder:
    model = case.model(case.config).eval()
    load(model, dict(theirs.state_dict()), case.names, where="random")
    return model


def renamed(case: Case, name: str) -> str:
    """The reference calls Pythia's head otherwise than the published file does."""
    return "lm_head.weight" if name == "embed_out.weight" else name


@every
def test_logits_states_and_gradients_equal_the_reference(name: str) -> None:
    case = CASES[name]
    theirs = referee(case)
    model = ours(theirs, case)
    ids = tokens(case.config.vocabulary, 2, 23)
    right = theirs(ids, output_hidden_states=True)
    kept: list[Tensor] = []
    left = model.logits(model.hidden(ids, keep=kept))
    assert gap(left, right.logits) <= 1e-5
    for own, other in zip(kept[:-1], right.hidden_states, strict=False):
        assert gap(own, other) <= 1e-5
    left.logsumexp(-1).sum().backward()
    right.logits.logsumexp(-1).sum().backward()
    parameters = dict(theirs.named_parameters())
    if "lm_head.weight" in parameters:
        parameters["embed_out.weight"] = parameters["lm_head.weight"]
    gaps = gradient_gaps(model, parameters, case.names)
    assert max(gaps.values()) <= 1e-4, gaps


@every
def test_our_weights_go_back_into_the_reference(name: str) -> None:
    case = CASES[name]
    model = moved(case.model(case.config), seed=5)
    theirs = referee(case)
    published = published_names(model, case.names)
    renamed_too = {renamed(case, key): value for key, value in published.items()}
    missing = theirs.load_state_dict(renamed_too, strict=False)
    assert not missing.unexpected_keys
    assert set(missing.missing_keys) <= {"lm_head.weight"}
    theirs.tie_weights()
    ids = tokens(case.config.vocabulary, 2, 9)
    assert gap(model(ids), theirs(ids).logits) <= 1e-5


@every
def test_the_configuration_and_its_formula(name: str) -> None:
    case = CASES[name]
    published = referee(case).config.to_dict()
    assert type(case.config).from_json(published) == case.config
    assert counted(case.model(case.config)) == case.config.parameters()
    with pytest.raises(DataError, match="hidden_act is 'relu'"):
        type(case.config).from_json(published | {"hidden_act": "relu"})


@pytest.mark.parametrize(
    ("config", "model", "published"),
    [
        (llama.TINYLLAMA, llama.Llama, 1_100_048_384),
        (llama.LLAMA_3_1_8B, llama.Llama, 8_030_261_248),
        (qwen3.QWEN3_0_6B, qwen3.Qwen3, 596_049_920),
        (qwen3.QWEN3_4B, qwen3.Qwen3, 4_022_468_096),
        (qwen3.QWEN3_8B, qwen3.Qwen3, 8_190_735_360),
        (pythia.PYTHIA_160M, pythia.Pythia, 162_322_944),
        (olmoe.OLMOE_1B_7B, olmoe.Olmoe, 6_919_161_856),
        (minicpm3.MINICPM3_4B, minicpm3.MiniCPM3, 4_073_875_968),
    ],
)
def test_published_sizes(config: Any, model: type[nn.Module], published: int) -> None:
    with torch.device("meta"):
        assert counted(model(config)) == published
    assert config.parameters() == published


def test_parts_of_olmoe() -> None:
    config = olmoe.OLMOE_1B_7B
    assert config.parts() == {
        "embeddings": 206_045_184,
        "attention": 268_435_456,
        "routers": 2_097_152,
        "experts": 6_442_450_944,
        "norms": 133_120,
    }
    assert config.active() == 1_282_017_280


@every
def test_a_cache_changes_nothing(name: str) -> None:
    case = CASES[name]
    model = moved(case.model(case.config))
    ids = tokens(case.config.vocabulary, 2, 17)
    with torch.inference_mode():
        whole = model(ids)
        for cuts in ([1] * 17, [9, 1, 1, 6], [3, 14]):
            for rolling in {False, any(model.windows)}:
                cache = model.cache(2, 17, rolling=rolling)
                parts = [model(part, None, cache) for part in ids.split(cuts, dim=1)]
                together = torch.cat(parts, dim=1)
                assert gap(together, whole) <= 1e-5


@every
def test_padding_changes_no_real_position(name: str) -> None:
    case = CASES[name]
    model = moved(case.model(case.config))
    vocabulary = case.config.vocabulary
    texts = [tokens(vocabulary, 1, length, seed=length)[0].tolist() for length in (11, 3, 1, 7)]
    together = last_logits(model, texts, padding=0)
    alone = [model(torch.tensor([text])) for text in texts]
    for row, text in zip(together, alone, strict=True):
        assert gap(row, text[0, -1]) <= 1e-5
    # The same in pieces, the first of which are padding alone for the shorter texts.
    real = torch.tensor([[place >= 11 - len(text) for place in range(14)] for text in texts])
    ids = torch.zeros(4, 14, dtype=torch.long)
    more = tokens(vocabulary, 4, 3, seed=9)
    for row, text in enumerate(texts):
        ids[row, 11 - len(text) :] = torch.cat((torch.tensor(text), more[row]))
    for rolling in {False, any(model.windows)}:
        with torch.inference_mode():
            cache = model.cache(4, 14, rolling=rolling)
            for part in ids.split([2, 6, 3, 1, 1, 1], dim=1):
                got = model(part, real[:, : cache.length + part.shape[1]], cache)
        for row, text in enumerate(texts):
            expected = model(torch.tensor([[*text, *more[row].tolist()]]))[0, -1]
            assert gap(got[row, -1], expected) <= 1e-5


@every
def test_later_tokens_change_no_earlier_score(name: str) -> None:
    case = CASES[name]
    model = moved(case.model(case.config))
    ids = tokens(case.config.vocabulary, 1, 12)
    other = ids.clone()
    other[:, 7:] = (other[:, 7:] + 1) % case.config.vocabulary
    left, right = model(ids), model(other)
    assert gap(right[:, :7], left[:, :7]) <= 1e-6
    assert gap(right[:, 7:], left[:, 7:]) > 1e-3


@pytest.mark.parametrize("name", ["qwen3 untied with windows", "pythia", "olmoe", "minicpm3"])
def test_greedy_equals_the_reference(name: str) -> None:
    case = CASES[name]
    theirs = referee(case)
    model = ours(theirs, case)
    text = tokens(case.config.vocabulary, 1, 5)
    expected = theirs.generate(
        text, max_new_tokens=12, do_sample=False, eos_token_id=7, pad_token_id=7
    )[0, 5:].tolist()
    assert greedy(model, text.tolist(), new_tokens=12, end=7)[0] == (
        expected[: expected.index(7)] if 7 in expected else expected
    )


def test_frequencies_exchanged_after_training() -> None:
    case = CASES["llama yarn"]
    stretched = moved(case.model(case.config))
    plain = llama.Llama(LLAMA)
    plain.load_state_dict(stretched.state_dict())
    ids = tokens(50, 1, 20)
    assert gap(plain(ids), stretched(ids)) > 1e-3
    plain.turns, plain.temperature = stretched.turns, stretched.temperature
    assert torch.equal(plain(ids), stretched(ids))


def test_frequencies_that_depend_on_the_length() -> None:
    case = _stretched(Rope(kind="dynamic", factor=2.0, trained=16))
    theirs = referee(dataclasses.replace(case, published=case.published | {
        "max_position_embeddings": 16}))  # fmt: skip
    model = ours(theirs, case)
    short, long = tokens(50, 2, 12), tokens(50, 2, 23)
    assert gap(model(short), theirs(short).logits) <= 1e-5
    with pytest.raises(ValueError, match=r"stretch_to\(23\)"):
        model(long)
    model.stretch_to(23)
    assert gap(model(long), theirs(long).logits) <= 1e-5


def test_windows_and_first_tokens_imposed_on_a_model() -> None:
    model = moved(qwen3.Qwen3(QWEN))
    ids = tokens(61, 1, 14)
    whole = model(ids)
    model.windows = (14,) * 3
    assert torch.equal(model(ids), whole)  # a window as long as the text
    model.windows = (4,) * 3
    kept: list[Tensor] = []
    near = model.logits(model.hidden(ids, keep=kept))
    assert gap(near[:, :4], whole[:, :4]) <= 1e-5
    assert not torch.allclose(near[:, 4:], whole[:, 4:])
    # Three blocks with a window of four reach 1 + 3 · 3 tokens back, no further.
    other = ids.clone()
    other[:, :4] = (other[:, :4] + 1) % 61
    assert gap(model(other)[:, 13], near[:, 13]) <= 1e-6
    assert not torch.allclose(model(other)[:, 12], near[:, 12])
    model.sinks = 2
    sunk = model(ids)
    assert not torch.allclose(sunk[:, 13], near[:, 13])
    with pytest.raises(ValueError, match="forgets the first tokens"):
        model.cache(1, 14, rolling=True)
    model.sinks = 14
    assert gap(model(ids), whole) <= 1e-5


def test_a_rolling_cache_holds_a_window_and_can_be_kept_in_another_order() -> None:
    case = CASES["qwen3 untied with windows"]
    model = moved(case.model(case.config))
    ids = tokens(61, 3, 9)
    rows = torch.tensor([2, 0, 0, 1])
    more = tokens(61, 4, 2, seed=6)
    with torch.inference_mode():
        cache = model.cache(3, 12, rolling=True)
        model(ids, None, cache)
        assert cache.numbers() == 3 * 2 * (9 + 5 + 9) * 2 * 16
        with pytest.raises(ValueError, match="cannot be rewound to 7"):
            cache.rewind(7)
        cache.select(rows)
        for part in more.split(1, dim=1):
            got = model(part, None, cache)
        expected = model(torch.cat((ids[rows], more), dim=1))[:, -1:]
    assert gap(got, expected) <= 1e-5


@pytest.mark.parametrize("form", ["rebuilt", "absorbed"])
def test_latent_attention_is_the_same_in_every_form_and_cache(form: Any) -> None:
    case = CASES["minicpm3"]
    theirs = referee(case)
    model = ours(theirs, case)
    assert isinstance(model, minicpm3.MiniCPM3)
    model.use(form)
    ids = tokens(61, 2, 12)
    whole = theirs(ids).logits.detach()
    with torch.inference_mode():
        assert gap(model(ids), whole) <= 1e-5
        for expanded, width in ((False, 8 + 4), (True, 4 * (6 + 4 + 5))):
            for cuts in ([1] * 12, [5, 4, 3]):
                cache = model.cache(2, 12, expanded=expanded)
                parts = [model(part, None, cache) for part in ids.split(cuts, dim=1)]
                assert gap(torch.cat(parts, dim=1), whole) <= 1e-5
                assert cache.numbers() == 2 * 2 * 12 * width
    model(ids).logsumexp(-1).sum().backward()
    theirs(ids).logits.logsumexp(-1).sum().backward()
    gaps = gradient_gaps(model, dict(theirs.named_parameters()), case.names)
    assert max(gaps.values()) <= 1e-4, gaps


def test_experts_stacked_and_one_by_one() -> None:
    case = CASES["olmoe"]
    theirs = referee(case)
    stacked = dict(theirs.state_dict())
    single = unstack_experts(stacked)
    assert len(single) - len(stacked) == 2 * (3 * 8 - 2)
    assert "model.layers.1.mlp.experts.7.up_proj.weight" in single
    again = stack_experts(single, case.config.experts, where="random")
    assert again.keys() == stacked.keys()
    assert all(torch.equal(again[name], stacked[name]) for name in stacked)
    del single["model.layers.1.mlp.experts.3.up_proj.weight"]
    with pytest.raises(DataError, match=r"experts.3.up_proj.weight: missing"):
        stack_experts(single, case.config.experts, where="random")


def test_routing_is_watched_weighed_and_restricted() -> None:
    case = CASES["olmoe"]
    theirs = referee(case)
    model = ours(theirs, case)
    assert isinstance(model, olmoe.Olmoe)
    ids = tokens(61, 2, 15)
    whole = model(ids)
    seen: list[tuple[Tensor, Tensor]] = []
    for mixture in model.mixtures():
        mixture.watch = seen
        mixture.kept = torch.ones(8, dtype=torch.bool)
    assert torch.equal(model(ids), whole)
    assert [scores.shape for scores, _ in seen] == [(30, 8)] * 2
    # The reference weighs all layers as one, and leaves padding out.
    for mask in (None, torch.ones(2, 15, dtype=torch.long)):
        if mask is not None:
            mask[0, :4] = 0
        right = theirs(ids, output_router_logits=True).router_logits
        expected = transformers.models.olmoe.modeling_olmoe.load_balancing_loss_func(
            right, 8, 3, mask
        )
        scores, chosen = (torch.cat(parts) for parts in zip(*seen, strict=True))
        real = None if mask is None else mask.flatten().bool().repeat(2)
        assert gap(balancing_loss(scores, chosen, real), expected) <= 1e-5
    seen.clear()
    for mixture in model.mixtures():
        mixture.kept = torch.tensor([True, False] * 4)
    assert not torch.allclose(model(ids), whole)
    assert all(bool((chosen % 2 == 0).all()) for _, chosen in seen)


def test_attention_of_pythia_can_be_watched() -> None:
    case = CASES["pythia"]
    theirs = referee(case)
    theirs.set_attn_implementation("eager")
    model = ours(theirs, case)
    ids = tokens(61, 2, 9)
    seen: list[Tensor] = []
    for block in model.blocks:
        block.attention.watch = seen
    model(ids)
    for own, other in zip(seen, theirs(ids, output_attentions=True).attentions, strict=True):
        torch.testing.assert_close(own, other, atol=1e-6, rtol=1e-5)


def test_half_precision_keeps_the_stream_of_olmoe_and_minicpm3_wide() -> None:
    for name in ("olmoe", "minicpm3"):
        case = CASES[name]
        model = moved(case.model(case.config)).to(torch.bfloat16)
        kept: list[Tensor] = []
        hidden = model.hidden(tokens(61, 1, 5), keep=kept)
        assert {state.dtype for state in kept} == {torch.float32}
        assert hidden.dtype == torch.bfloat16
        assert model.logits(hidden).dtype == torch.float32
