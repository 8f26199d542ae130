"""What must hold of encoders whatever the weights: sizes, padding, packing, order, heads."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.errors import DataError
from remeasure.nn.layers.attention import attend
from remeasure.nn.layers.pooling import pool
from remeasure.nn.models import bert, colbert, cross_encoder, deberta, electra, modernbert, roberta
from remeasure.nn.models.bert import BertConfig
from remeasure.nn.models.bi_encoder import BiEncoder, contrast, pooling_of
from remeasure.nn.models.deberta import DebertaConfig
from remeasure.nn.models.modernbert import ModernBertConfig

SIZES: dict[str, Any] = {"vocabulary": 40, "width": 24, "heads": 4, "hidden": 36}
BERT = BertConfig(**SIZES, layers=2, positions=32)
DEBERTA = DebertaConfig(**SIZES, layers=2, buckets=4, furthest=16)
MODERN = ModernBertConfig(**SIZES, layers=4, reach=2, far_theta=300.0, near_theta=50.0)


def random(model: nn.Module, seed: int = 0) -> Any:
    """Every parameter random, those that start at one or zero too."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)
            if name.endswith("norm.weight"):
                parameter.add_(1.0)
    return model.eval()


ENCODERS: dict[str, Any] = {
    "bert": random(bert.Encoder(BERT)),
    "roberta": random(bert.Encoder(replace(BERT, first=2, segments=1))),
    "albert": random(bert.Encoder(replace(BERT, shared=True, embedding=8, tanh=True))),
    "deberta": random(deberta.Encoder(DEBERTA)),
    "modernbert": random(modernbert.Encoder(MODERN)),
}


def tokens(*shape: int, seed: int = 1) -> Tensor:
    return torch.randint(0, 40, shape, generator=torch.Generator().manual_seed(seed))


def count(build: Callable[[], nn.Module]) -> int:
    # Drawing tables without memory would import torch's compiler: seconds for nothing.
    with patch.object(nn.Embedding, "reset_parameters"), torch.device("meta"):
        return sum(parameter.numel() for parameter in build().parameters())


# --- sizes ----------------------------------------------------------------------------------

TINY = BertConfig(vocabulary=30_522, width=256, layers=4, heads=4, hidden=1024)
COUNTS: list[tuple[Callable[[], nn.Module], int, int]] = [
    (lambda: bert.Encoder(bert.BERT_BASE), bert.BERT_BASE.parameters(), 108_891_648),
    (lambda: bert.Masked(bert.BERT_BASE), bert.BERT_BASE.parameters("masked"), 109_514_298),
    (
        lambda: bert.Pretraining(bert.BERT_BASE),
        bert.BERT_BASE.parameters("pretraining"),
        110_106_428,
    ),
    (
        lambda: bert.Pretraining(bert.BERT_LARGE),
        bert.BERT_LARGE.parameters("pretraining"),
        336_226_108,
    ),
    (lambda: bert.Encoder(bert.MINILM_L6), bert.MINILM_L6.parameters(), 22_565_376),
    (
        lambda: bert.Encoder(bert.DISTILBERT_BASE),
        bert.DISTILBERT_BASE.parameters(),
        66_362_880,
    ),
    (lambda: bert.Encoder(roberta.ROBERTA_BASE), roberta.ROBERTA_BASE.parameters(), 124_055_040),
    (
        lambda: nn.ModuleList([bert.Encoder(bert.ALBERT_BASE), bert.Pooler(768)]),
        bert.ALBERT_BASE.parameters("pooled"),
        11_683_584,
    ),
    (
        lambda: electra.Discriminator(electra.ELECTRA_BASE),
        electra.Discriminator.parameters_of(electra.ELECTRA_BASE),
        109_483_009,
    ),
    (
        lambda: bert.Masked(electra.ELECTRA_BASE_GENERATOR),
        electra.ELECTRA_BASE_GENERATOR.parameters("masked"),
        33_740_602,
    ),
    (lambda: bert.Encoder(TINY), TINY.parameters(), 11_104_768),
    (lambda: bert.Masked(TINY, eps=1e-5), TINY.parameters("masked"), 11_201_594),
    (lambda: electra.Electra(TINY, 1), electra.Electra.parameters_of(TINY, 1), 12_189_499),
    (
        lambda: deberta.Encoder(deberta.DEBERTA_V3_BASE),
        deberta.DEBERTA_V3_BASE.parameters(),
        183_831_552,
    ),
    (
        lambda: modernbert.Encoder(modernbert.MODERNBERT_BASE),
        modernbert.MODERNBERT_BASE.parameters(),
        149_014_272,
    ),
    (
        lambda: modernbert.Masked(modernbert.MODERNBERT_BASE),
        modernbert.MODERNBERT_BASE.parameters(masked=True),
        149_655_232,
    ),
    (
        lambda: modernbert.Encoder(modernbert.MODERNBERT_LARGE),
        modernbert.MODERNBERT_LARGE.parameters(),
        394_781_696,
    ),
    (
        lambda: cross_encoder.CrossEncoder(bert.MINILM_L6),
        cross_encoder.CrossEncoder.parameters_of(bert.MINILM_L6),
        22_713_601,
    ),
    (
        lambda: colbert.ColBert(bert.BERT_BASE),
        colbert.ColBert.parameters_of(bert.BERT_BASE),
        108_891_648 + 98_304,
    ),
]


@pytest.mark.parametrize(("build", "formula", "published"), COUNTS)
def test_the_formula_counts_what_is_built_and_published(
    build: Callable[[], nn.Module], formula: int, published: int
) -> None:
    assert count(build) == formula == published


def test_parts_of_the_published_count() -> None:
    assert bert.BERT_BASE.block() == 7_087_872
    assert bert.BERT_LARGE.block() == 12_596_224
    assert bert.BERT_BASE.parameters("pooled") == 109_482_240
    assert bert.BERT_LARGE.parameters("pooled") == 335_141_888
    assert roberta.ROBERTA_BASE.parameters("pooled") == 124_645_632
    with patch.object(nn.Embedding, "reset_parameters"), torch.device("meta"):
        whole = bert.Pretraining(bert.BERT_BASE)
    assert len(dict(whole.named_parameters())) == 206
    assert [modernbert.MODERNBERT_BASE.pairs(n) for n in (512, 2048, 8192)] == [
        3_021_824,
        37_253_120,
        551_665_664,
    ]


def test_a_configuration_that_is_not_built_is_refused() -> None:
    config = {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config |= {"intermediate_size": 8, "max_position_embeddings": 8, "type_vocab_size": 2}
    config |= {"layer_norm_eps": 1e-12, "hidden_dropout_prob": 0.1}
    assert BertConfig.from_json(config).width == 8
    with pytest.raises(DataError, match="hidden_act is 'relu'"):
        BertConfig.from_json(config | {"hidden_act": "relu"})
    with pytest.raises(DataError, match="share_att_key is False"):
        DebertaConfig.from_json(config | {"share_att_key": False})
    with pytest.raises(DataError, match="norm_bias is True"):
        ModernBertConfig.from_json(config | {"norm_bias": True})
    newer = config | {"local_attention": 128, "norm_eps": 1e-5, "classifier_pooling": "mean"}
    newer["rope_parameters"] = {
        "full_attention": {"rope_type": "default", "rope_theta": 7.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 5.0},
    }
    kinds = ["full_attention", "sliding_attention"]
    read = ModernBertConfig.from_json(newer | {"layer_types": kinds * 2})
    assert (read.every, read.far_theta, read.near_theta, read.reach) == (2, 7.0, 5.0, 64)
    older = {key: value for key, value in newer.items() if key != "rope_parameters"}
    older |= {"global_rope_theta": 7.0, "local_rope_theta": 5.0, "global_attn_every_n_layers": 2}
    assert ModernBertConfig.from_json(older) == read
    with pytest.raises(DataError, match=r"blocks \[1\] look at all"):
        ModernBertConfig.from_json(newer | {"layer_types": kinds[::-1]})


# --- padding, packing, both forms of attention ----------------------------------------------


@pytest.mark.parametrize("name", ENCODERS)
def test_attention_written_out_equals_the_fused_kernel(name: str) -> None:
    ids, real = tokens(3, 11), torch.arange(11) < torch.tensor([[11], [4], [1]])
    for mask in (None, real):
        fused = ENCODERS[name](ids, mask)
        written = ENCODERS[name](ids, mask, explicit=True)
        kept = torch.ones_like(real) if mask is None else mask
        torch.testing.assert_close(fused[kept], written[kept], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ENCODERS)
@settings(max_examples=8, deadline=None)
@given(lengths=st.lists(st.integers(1, 14), min_size=1, max_size=4), more=st.integers(0, 6))
def test_padding_changes_no_real_position(name: str, lengths: list[int], more: int) -> None:
    texts = [tokens(1, length, seed=place + length) for place, length in enumerate(lengths)]
    longest = max(lengths) + more
    ids = torch.cat([F.pad(text, (0, longest - text.shape[1]), value=7) for text in texts])
    real = torch.arange(longest) < torch.tensor(lengths)[:, None]
    together = ENCODERS[name](ids, real)
    for row, text in zip(together, texts, strict=True):
        alone = ENCODERS[name](text)[0]
        torch.testing.assert_close(row[: len(alone)], alone, atol=1e-5, rtol=1e-5)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=5))
def test_packing_changes_nothing(lengths: list[int]) -> None:
    model = ENCODERS["modernbert"]
    texts = [tokens(1, length, seed=length) for length in lengths]
    packed = model.packed(torch.cat(texts, dim=1)[0], lengths).split(lengths)
    for states, text in zip(packed, texts, strict=True):
        torch.testing.assert_close(states, model(text)[0], atol=1e-5, rtol=1e-5)


def test_an_empty_softmax_would_reach_real_tokens() -> None:
    """Why padding sees itself: written out, a query without any key gives NaN."""
    x = torch.ones(1, 1, 2, 2)
    hidden = torch.tensor([[True, False], [False, False]])
    assert attend(x, x, x, mask=hidden, explicit=True)[0, 0, 1].isnan().all()
    real = torch.arange(12) < 2
    assert ENCODERS["modernbert"](tokens(1, 12), real[None], explicit=True).isfinite().all()


def test_a_near_block_sees_its_window_and_no_more() -> None:
    config = replace(MODERN, layers=2, every=9)
    model = random(modernbert.Encoder(config))
    model.blocks[0].reach = config.reach  # both blocks near: sees two windows
    ids = tokens(1, 16)
    other = ids.clone()
    other[0, 8] = (other[0, 8] + 1) % 40
    turns = model._turns(torch.arange(16))[False]
    mask = modernbert.near(16, config.reach, ids.device)
    states = [model.norm(model.embed(each)) for each in (ids, other)]
    moved = [model.blocks[1](x, turns, mask, False)[0] for x in states]
    differs = (moved[0] != moved[1]).any(-1).nonzero().flatten().tolist()
    assert differs == [6, 7, 8, 9, 10]
    assert modernbert.near(3, 2, ids.device) is None


# --- order ----------------------------------------------------------------------------------


def still(model: Any) -> Any:
    with torch.no_grad():
        model.positions.weight.zero_()
    return model


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(9)))
def test_without_positions_an_encoder_does_not_know_the_order(order: list[int]) -> None:
    ids = tokens(2, 9)
    blind = still(random(bert.Encoder(BERT)))
    torch.testing.assert_close(blind(ids)[:, order], blind(ids[:, order]), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ENCODERS)
def test_with_positions_it_does(name: str) -> None:
    ids, order = tokens(2, 9), [1, 0, *range(2, 9)]
    assert (ENCODERS[name](ids)[:, order] - ENCODERS[name](ids[:, order])).abs().max() > 0.01


@pytest.mark.parametrize("name", ["deberta", "modernbert"])
def test_only_distances_count(name: str) -> None:
    """A text after another that it may not see gives what it gives at the start."""
    ids = tokens(1, 6)
    before = torch.cat([tokens(1, 5, seed=9), ids], dim=1)
    real = (torch.arange(11) >= 5)[None]
    shifted = ENCODERS[name](before, real)[:, 5:]
    torch.testing.assert_close(shifted, ENCODERS[name](ids), atol=2e-5, rtol=1e-4)


# --- heads ----------------------------------------------------------------------------------


def test_the_table_of_words_is_learned_from_both_ends() -> None:
    model = random(bert.Masked(BERT))
    ids = tokens(1, 6)
    model(ids)[0, 0, 3].backward()
    rows = model.encoder.words.weight.grad.abs().sum(-1).nonzero().flatten().tolist()
    assert rows == sorted({3, *ids[0].tolist()})


def test_a_fresh_start() -> None:
    torch.manual_seed(0)
    model = random(bert.Pretraining(replace(BERT, vocabulary=400)))
    bert.restart(model)
    assert model.encoder.words.weight.std().item() == pytest.approx(0.02, rel=0.03)
    assert not model.encoder.blocks[0].up.bias.any()
    assert bool((model.words.norm.weight == 1).all())


def test_electra_learns_as_its_paper_says() -> None:
    model = random(electra.Electra(BERT, 1))
    original = tokens(3, 10)
    real = torch.arange(10) < torch.tensor([[10], [7], [4]])
    picked = real & (torch.rand(3, 10, generator=torch.Generator().manual_seed(2)) < 0.4)
    masked = original.masked_fill(picked, 39)
    draws = torch.Generator().manual_seed(0)
    found = model(original, masked, picked, real, draws)
    assert bool((found.replaced <= picked).all())
    torch.testing.assert_close(found.total, found.generator + 50 * found.discriminator)
    own = [
        parameter for name, parameter in model.named_parameters() if name.startswith("generator.")
    ]
    grads = torch.autograd.grad(found.discriminator, own, allow_unused=True, retain_graph=True)
    assert all(grad is None for grad in grads)
    table = model.discriminator.encoder.words.weight
    assert model.generator.words.weight is table
    with torch.no_grad():
        model.discriminator.fake.weight.zero_()
        model.discriminator.fake.bias.zero_()
    flat = model(original, masked, picked, real, draws).discriminator
    assert flat.item() == pytest.approx(math.log(2))


# --- vectors --------------------------------------------------------------------------------


def test_pooling() -> None:
    states = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))
    real = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]).bool()
    torch.testing.assert_close(pool(states, real, "mean")[1], states[1, :2].mean(0))
    torch.testing.assert_close(pool(states, real, "mean")[2], states[2, 2:].mean(0))
    assert torch.equal(pool(states, real, "cls"), states[:, 0])
    assert torch.equal(pool(states, real, "last"), states[range(3), [4, 1, 4]])
    for how in ("mean", "last"):
        torch.testing.assert_close(pool(states, None, how), pool(states, real | True, how))
    wider = F.pad(states, (0, 0, 0, 2), value=9.0), F.pad(real, (0, 2))
    for how in ("mean", "cls", "last"):
        torch.testing.assert_close(pool(*wider, how), pool(states, real, how))
    assert pooling_of({"word_embedding_dimension": 4, "pooling_mode_cls_token": True}) == "cls"
    for wrong in ({}, {"pooling_mode_max_tokens": True}):
        with pytest.raises(DataError, match="pooling of these vectors"):
            pooling_of(wrong)


def test_cosines_rank_as_distances() -> None:
    model = BiEncoder(ENCODERS["bert"])
    vectors = model(tokens(6, 7))
    torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(6))
    by_cosine = (vectors @ vectors[0]).argsort(descending=True)
    by_distance = (vectors - vectors[0]).square().sum(-1).argsort()
    assert torch.equal(by_cosine, by_distance)


def test_contrast_in_closed_form() -> None:
    same = F.normalize(torch.ones(128, 3), dim=-1)
    assert contrast(same, same).item() == pytest.approx(math.log(128), rel=1e-6)
    apart = torch.eye(128, dtype=torch.float64)
    expected = math.log1p(127 * math.exp(-20))
    assert contrast(apart, apart).item() == pytest.approx(expected, rel=1e-6)
    left, right = (F.normalize(tokens(9, 5, seed=s).double() + 1, dim=-1) for s in (1, 2))
    order = torch.randperm(9, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(contrast(left, right), contrast(left[order], right[order]))


# --- ColBERT --------------------------------------------------------------------------------

COLBERT = random(colbert.ColBert(replace(BERT, vocabulary=120, positions=200), dimensions=8))


def test_questions_and_documents_are_framed_as_published() -> None:
    asked = colbert.frame_questions([[7, 8], list(range(5, 60))], length=8)
    assert asked.ids[0].tolist() == [101, 1, 7, 8, 102, 103, 103, 103]
    assert asked.ids[1].tolist() == [101, 1, 5, 6, 7, 8, 9, 102]
    assert asked.real[0].tolist() == [True] * 5 + [False] * 3
    assert bool(asked.kept.all())
    given_ = colbert.frame_documents([[7, 30, 8], [9]], dropped=[30, 31], length=180)
    assert given_.ids.tolist() == [[101, 2, 7, 30, 8, 102], [101, 2, 9, 102, 0, 0]]
    assert given_.kept.tolist() == [
        [True, True, True, False, True, True],
        [True, True, True, True, False, False],
    ]


@torch.no_grad()
def test_late_interaction() -> None:
    asked = COLBERT(colbert.frame_questions([[7, 8, 30], [9]]))
    framed = colbert.frame_documents([[7, 30, 8], [9], [11, 12, 13, 30]], dropped=[30])
    papers = COLBERT(framed)
    assert asked.shape == (2, 32, 8)
    torch.testing.assert_close(papers.norm(dim=-1), framed.kept.float())
    scores = colbert.maxsim(asked, papers)
    for q, question in enumerate(asked):
        for p, paper in enumerate(papers):
            slow = sum(max(float(a @ b) for b in paper) for a in question)
            assert scores[q, p].item() == pytest.approx(slow, abs=1e-5)
    assert colbert.maxsim(asked, asked).diagonal().tolist() == pytest.approx([32.0, 32.0], abs=1e-4)
    torch.testing.assert_close(colbert.maxsim(asked, papers.flip(1)), scores)
    padded = colbert.maxsim(asked, F.pad(papers, (0, 0, 0, 4)))
    assert bool((padded >= scores).all())


def test_masks_are_not_attended_to_but_count() -> None:
    long, short = (colbert.frame_questions([[7, 8]], length=length) for length in (12, 9))
    torch.testing.assert_close(COLBERT(long)[:, :9], COLBERT(short), atol=1e-6, rtol=1e-5)
    assert bool((COLBERT(long)[0, 9:].norm(dim=-1) > 0.99).all())
