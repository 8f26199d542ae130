"""Every encoder against transformers on random weights, all of them moved, both ways round.

One file, because importing the referee costs more than all that is computed here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from remeasure.nn.checkpoints.loading import Names, load, published_names
from remeasure.nn.layers.positions import alibi_slopes, deberta_buckets, distances, t5_buckets
from remeasure.nn.models import (
    bert,
    colbert,
    cross_encoder,
    deberta,
    distilbert,
    electra,
    modernbert,
    roberta,
)
from remeasure.nn.models.bert import BertConfig
from remeasure.nn.models.deberta import DebertaConfig
from remeasure.nn.models.modernbert import ModernBertConfig

transformers = pytest.importorskip("transformers", reason="transformers is the referee here")

VOCABULARY, PADDING, LENGTHS = 53, 1, (14, 9, 3)
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "pad_token_id": PADDING,
    "max_position_embeddings": 32,
    "num_labels": 5,
}
WINDOWED = SIZES | {
    "num_hidden_layers": 5,
    "local_attention": 6,
    "bos_token_id": 2,
    "eos_token_id": 3,
    "cls_token_id": 2,
    "sep_token_id": 3,
    "global_rope_theta": 700.0,
    "local_rope_theta": 90.0,
}


@dataclass(frozen=True)
class Case:
    """One model: the referee, ours for its configuration, the names, what the two are fed."""

    reference: Callable[[], nn.Module]
    build: Callable[[dict[str, Any]], nn.Module]
    names: Names
    segments: bool = False
    whole: bool = False  # one output a text, not a token
    apart: frozenset[str] = frozenset()  # what the way back may leave out: ties and other heads


def _bert(name: str) -> Callable[[], nn.Module]:
    config = transformers.BertConfig(**SIZES, layer_norm_eps=1e-3)
    return lambda: getattr(transformers, name)(config)


def _roberta(name: str) -> Callable[[], nn.Module]:
    config = transformers.RobertaConfig(**SIZES, type_vocab_size=1, layer_norm_eps=1e-4)
    return lambda: getattr(transformers, name)(config)


def _distilbert(name: str) -> Callable[[], nn.Module]:
    config = transformers.DistilBertConfig(
        vocab_size=VOCABULARY,
        dim=24,
        n_layers=3,
        n_heads=4,
        hidden_dim=40,
        pad_token_id=PADDING,
        max_position_embeddings=32,
        num_labels=5,
    )
    return lambda: getattr(transformers, name)(config)


def _modernbert(name: str, pooling: str = "mean") -> Callable[[], nn.Module]:
    config = transformers.ModernBertConfig(**WINDOWED, classifier_pooling=pooling)
    return lambda: getattr(transformers, name)(config)


def _deberta(name: str, **more: Any) -> Callable[[], nn.Module]:
    sizes = SIZES | {"type_vocab_size": 0, "layer_norm_eps": 1e-4, "position_biased_input": False}
    config = transformers.DebertaV2Config(
        **sizes,
        relative_attention=True,
        position_buckets=4,
        max_relative_positions=-1,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type="p2c|c2p",
        **more,
    )
    return lambda: getattr(transformers, name)(config)


def _of_deberta(
    make: Callable[[DebertaConfig], nn.Module],
) -> Callable[[dict[str, Any]], nn.Module]:
    return lambda config: make(DebertaConfig.from_json(config))


def _of(make: Callable[[BertConfig], nn.Module]) -> Callable[[dict[str, Any]], nn.Module]:
    return lambda config: make(BertConfig.from_json(config))


def _of_roberta(make: Callable[[BertConfig], nn.Module]) -> Callable[[dict[str, Any]], nn.Module]:
    return lambda config: make(roberta.from_json(config))


def _of_distil(make: Callable[[BertConfig], nn.Module]) -> Callable[[dict[str, Any]], nn.Module]:
    return lambda config: make(distilbert.from_json(config))


def _of_modern(
    make: Callable[[ModernBertConfig], nn.Module],
) -> Callable[[dict[str, Any]], nn.Module]:
    return lambda config: make(ModernBertConfig.from_json(config))


TIED = frozenset({"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"})
CASES = {
    "bert masked": Case(
        _bert("BertForMaskedLM"), _of(bert.Masked), bert.HEAD_NAMES, segments=True, apart=TIED
    ),
    "bert pre-training": Case(
        _bert("BertForPreTraining"),
        _of(bert.Pretraining),
        bert.HEAD_NAMES,
        segments=True,
        apart=TIED,
    ),
    "bert sequence": Case(
        _bert("BertForSequenceClassification"),
        _of(lambda config: bert.Sequence(config, 5)),
        bert.HEAD_NAMES,
        segments=True,
        whole=True,
    ),
    "bert tokens": Case(
        _bert("BertForTokenClassification"),
        _of(lambda config: bert.Tokens(config, 5)),
        bert.HEAD_NAMES,
        segments=True,
    ),
    "distilbert": Case(
        _distilbert("DistilBertModel"),
        _of_distil(bert.Encoder),
        Names(distilbert.encoder_names("", "")),
    ),
    "distilbert masked": Case(
        _distilbert("DistilBertForMaskedLM"),
        _of_distil(bert.Masked),
        distilbert.HEAD_NAMES,
        apart=frozenset({"vocab_projector.weight"}),
    ),
    "distilbert sequence": Case(
        _distilbert("DistilBertForSequenceClassification"),
        _of_distil(lambda config: distilbert.Sequence(config, 5)),
        distilbert.HEAD_NAMES,
        whole=True,
    ),
    "roberta masked": Case(
        _roberta("RobertaForMaskedLM"),
        _of_roberta(bert.Masked),
        roberta.MASKED_NAMES,
        apart=frozenset({"lm_head.decoder.weight", "lm_head.decoder.bias"}),
    ),
    "roberta sequence": Case(
        _roberta("RobertaForSequenceClassification"),
        _of_roberta(lambda config: roberta.RobertaSequence(config, 5)),
        roberta.SEQUENCE_NAMES,
        whole=True,
    ),
    "roberta tokens": Case(
        _roberta("RobertaForTokenClassification"),
        _of_roberta(lambda config: bert.Tokens(config, 5)),
        roberta.TOKEN_NAMES,
    ),
    "albert masked": Case(
        lambda: transformers.AlbertForMaskedLM(
            transformers.AlbertConfig(**SIZES, embedding_size=10)
        ),
        _of(bert.Masked),
        bert.ALBERT_HEAD_NAMES,
        segments=True,
        apart=frozenset({"predictions.decoder.weight", "predictions.decoder.bias"}),
    ),
    "electra discriminator": Case(
        lambda: transformers.ElectraForPreTraining(
            transformers.ElectraConfig(**SIZES, embedding_size=10)
        ),
        _of(electra.Discriminator),
        electra.NAMES,
        segments=True,
    ),
    "electra generator": Case(
        lambda: transformers.ElectraForMaskedLM(
            transformers.ElectraConfig(**SIZES, embedding_size=10, layer_norm_eps=1e-3)
        ),
        _of(bert.Masked),
        electra.GENERATOR_NAMES,
        segments=True,
        apart=frozenset({"generator_lm_head.weight"}),
    ),
    "deberta masked": Case(
        _deberta("DebertaV2ForMaskedLM", legacy=False),
        _of_deberta(deberta.Masked),
        deberta.MASKED_NAMES,
    ),
    "deberta sequence": Case(
        _deberta("DebertaV2ForSequenceClassification"),
        _of_deberta(lambda config: deberta.Sequence(config, 5)),
        deberta.SEQUENCE_NAMES,
        whole=True,
    ),
    "modernbert masked": Case(
        _modernbert("ModernBertForMaskedLM"),
        _of_modern(modernbert.Masked),
        modernbert.MASKED_NAMES,
        apart=frozenset({"decoder.weight"}),
    ),
    "modernbert sequence by mean": Case(
        _modernbert("ModernBertForSequenceClassification"),
        _of_modern(lambda config: modernbert.Sequence(config, 5)),
        modernbert.CLASS_NAMES,
        whole=True,
    ),
    "modernbert sequence by first": Case(
        _modernbert("ModernBertForSequenceClassification", "cls"),
        _of_modern(lambda config: modernbert.Sequence(config, 5)),
        modernbert.CLASS_NAMES,
        whole=True,
    ),
    "modernbert tokens": Case(
        _modernbert("ModernBertForTokenClassification"),
        _of_modern(lambda config: modernbert.Tokens(config, 5)),
        modernbert.CLASS_NAMES,
    ),
}


def moved(model: nn.Module, seed: int = 0) -> nn.Module:
    """Every parameter away from where it starts, norms and biases too."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.2)
    return model.eval()


def batch(seed: int = 1) -> dict[str, Tensor]:
    """Three texts of several lengths, padded on the right with anything but words."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, VOCABULARY, (len(LENGTHS), max(LENGTHS)), generator=generator)
    real = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    segments = (torch.arange(max(LENGTHS)) >= 2).long().expand_as(ids)
    return {"ids": ids.masked_fill(~real, PADDING), "real": real, "segments": segments}


def theirs_on(model: nn.Module, case: Case, fed: dict[str, Tensor]) -> Tensor:
    more = {"token_type_ids": fed["segments"]} if case.segments else {}
    out = model(input_ids=fed["ids"], attention_mask=fed["real"].long(), **more)
    kinds = ("logits", "prediction_logits", "last_hidden_state")
    first = next(out[kind] for kind in kinds if kind in out)
    return first if case.whole else first[fed["real"]]


def ours_on(model: nn.Module, case: Case, fed: dict[str, Tensor]) -> Tensor:
    more = {"segments": fed["segments"]} if case.segments else {}
    out = model(fed["ids"], fed["real"], **more)
    return out if case.whole else out[fed["real"]]


@pytest.mark.parametrize("name", CASES)
def test_outputs_gradients_and_the_way_back(name: str) -> None:
    case, fed = CASES[name], batch()
    theirs = moved(case.reference())
    model = case.build(theirs.config.to_dict()).eval()
    load(model, dict(theirs.state_dict()), case.names, where="random")
    with torch.no_grad():
        left, right = ours_on(model, case, fed), theirs_on(theirs, case, fed)
    torch.testing.assert_close(left, right, atol=1e-5, rtol=1e-5)

    model, theirs = model.double(), theirs.double()
    ours_on(model, case, fed).sin().sum().backward()
    theirs_on(theirs, case, fed).sin().sum().backward()
    reference = dict(theirs.named_parameters())
    for place, parameter in model.named_parameters():
        if parameter.grad is None:
            continue  # a head that this output does not touch
        other = case.names.theirs(place)
        assert other is not None
        expected = reference[other[0]].grad
        error = (parameter.grad - expected).abs().max()
        assert error <= 1e-4 * expected.abs().max() + 1e-9, place

    torch.manual_seed(3)
    model = moved(case.build(theirs.config.to_dict()), seed=4)
    theirs = theirs.float()
    found = theirs.load_state_dict(published_names(model, case.names), strict=False)
    assert not found.unexpected_keys
    assert set(found.missing_keys) <= case.apart
    theirs.tie_weights()
    with torch.no_grad():
        torch.testing.assert_close(
            ours_on(model, case, fed), theirs_on(theirs, case, fed), atol=1e-5, rtol=1e-5
        )


def test_an_encoder_out_of_a_checkpoint_with_a_head() -> None:
    """DistilBERT's, as its published files are: names with a prefix, a masked-word head."""
    theirs, fed = moved(_distilbert("DistilBertForMaskedLM")()), batch()
    model = bert.Encoder(distilbert.from_json(theirs.config.to_dict())).eval()
    report = load(model, dict(theirs.state_dict()), distilbert.NAMES, where="random")
    assert len(report.ignored) == 6
    with torch.no_grad():
        expected = theirs.distilbert(fed["ids"], fed["real"].long()).last_hidden_state
        found = model(fed["ids"], fed["real"])
    torch.testing.assert_close(found[fed["real"]], expected[fed["real"]], atol=1e-5, rtol=1e-5)
    newest = transformers.DistilBertConfig().to_dict()
    assert distilbert.from_json(newest) == bert.DISTILBERT_BASE


def test_whether_a_text_follows() -> None:
    case, fed = CASES["bert pre-training"], batch()
    theirs = moved(case.reference())
    model = case.build(theirs.config.to_dict()).eval()
    load(model, dict(theirs.state_dict()), case.names, where="random")
    expected = theirs(
        input_ids=fed["ids"], attention_mask=fed["real"].long(), token_type_ids=fed["segments"]
    )
    words, follows = model.both(fed["ids"], fed["real"], fed["segments"])
    torch.testing.assert_close(follows, expected.seq_relationship_logits, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(words, expected.prediction_logits, atol=1e-5, rtol=1e-5)


def test_maps_of_attention() -> None:
    fed = batch()
    theirs = transformers.BertModel(
        transformers.BertConfig(**SIZES, attn_implementation="eager"), add_pooling_layer=False
    )
    model = bert.Encoder(BertConfig.from_json(moved(theirs).config.to_dict())).eval()
    load(model, dict(theirs.state_dict()), bert.NAMES, where="random")
    out = theirs(input_ids=fed["ids"], attention_mask=fed["real"].long(), output_attentions=True)
    found = model.maps(fed["ids"], fed["real"])
    expected = torch.stack(out.attentions)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(found.sum(-1), torch.ones(found.shape[:-1]))
    assert not found.movedim(1, 0)[
        ~fed["real"][:, None, None, None].expand_as(found.movedim(1, 0))
    ].any()


def test_a_cross_encoder_is_a_classifier_with_one_class() -> None:
    fed = batch()
    config = transformers.BertConfig(**SIZES | {"num_labels": 1})
    theirs = moved(transformers.BertForSequenceClassification(config))
    model = cross_encoder.CrossEncoder(BertConfig.from_json(theirs.config.to_dict())).eval()
    load(model, dict(theirs.state_dict()), cross_encoder.NAMES, where="random")
    expected = theirs(
        input_ids=fed["ids"], attention_mask=fed["real"].long(), token_type_ids=fed["segments"]
    ).logits.squeeze(-1)
    found = model(fed["ids"], fed["real"], fed["segments"])
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    blind = model(fed["ids"], fed["real"], torch.zeros_like(fed["segments"]))
    assert (blind - expected).abs().min() > 1e-3


def test_the_enhanced_decoder_is_the_last_block_twice() -> None:
    fed = batch()
    theirs = moved(CASES["deberta masked"].reference())
    config = DebertaConfig.from_json(theirs.config.to_dict())
    model = deberta.Masked(config, positions=32).eval()
    places = torch.randn(32, config.width, generator=torch.Generator().manual_seed(5))
    tensors = dict(theirs.state_dict())
    tensors["deberta.embeddings.position_embeddings.weight"] = places
    load(model, tensors, deberta.MASKED_NAMES, where="random")
    inner = theirs.deberta
    seen = inner(
        input_ids=fed["ids"], attention_mask=fed["real"].long(), output_hidden_states=True
    ).hidden_states[-2]
    asks = seen + places[: seen.shape[1]]
    mask = inner.encoder.get_attention_mask(fed["real"].long())
    for _ in range(2):
        asks, _ = inner.encoder.layer[-1](
            seen,
            mask,
            query_states=asks,
            relative_pos=inner.encoder.get_rel_pos(seen),
            rel_embeddings=inner.encoder.get_rel_embedding(),
        )
    expected = theirs.lm_predictions(asks, inner.embeddings.word_embeddings)
    found = model(fed["ids"], fed["real"])
    torch.testing.assert_close(found[fed["real"]], expected[fed["real"]], atol=1e-5, rtol=1e-5)


def test_colbert_is_an_encoder_and_a_map() -> None:
    config = transformers.BertConfig(**SIZES | {"vocab_size": 120})
    theirs = moved(transformers.BertModel(config))
    weight = torch.randn(8, 24, generator=torch.Generator().manual_seed(6))
    tensors = {f"bert.{name}": tensor for name, tensor in theirs.state_dict().items()}
    model = colbert.ColBert(BertConfig.from_json(theirs.config.to_dict()), dimensions=8).eval()
    report = load(model, tensors | {"linear.weight": weight}, colbert.NAMES, where="random")
    assert report.ignored == ("bert.pooler.dense.bias", "bert.pooler.dense.weight")
    for framed in (
        colbert.frame_questions([[7, 8, 9], [10]], length=9),
        colbert.frame_documents([[7, 8, 30, 9], [10]], dropped=[30]),
    ):
        states = theirs(input_ids=framed.ids, attention_mask=framed.real.long()).last_hidden_state
        expected = nn.functional.normalize(states @ weight.T, dim=-1) * framed.kept[..., None]
        torch.testing.assert_close(model(framed), expected, atol=1e-5, rtol=1e-5)


def test_an_encoder_is_loaded_out_of_any_checkpoint_of_its_kind() -> None:
    fed = batch()
    for name, build, names in (
        ("bert pre-training", _of(bert.Encoder), bert.NAMES),
        ("roberta sequence", _of_roberta(bert.Encoder), roberta.NAMES),
        ("modernbert masked", _of_modern(modernbert.Encoder), modernbert.NAMES),
        ("deberta sequence", _of_deberta(deberta.Encoder), deberta.NAMES),
    ):
        theirs = moved(CASES[name].reference())
        model = build(theirs.config.to_dict()).eval()
        report = load(model, dict(theirs.state_dict()), names, where="random")
        assert report.ignored
        expected = theirs.base_model(
            input_ids=fed["ids"], attention_mask=fed["real"].long()
        ).last_hidden_state
        found = model(fed["ids"], fed["real"])
        torch.testing.assert_close(found[fed["real"]], expected[fed["real"]], atol=1e-5, rtol=1e-5)


def test_positions_from_zero_are_another_roberta() -> None:
    fed = batch()
    theirs = moved(_roberta("RobertaModel")())
    model = bert.Encoder(BertConfig.from_json(theirs.config.to_dict())).eval()
    load(model, dict(theirs.state_dict()), roberta.NAMES, where="random")
    expected = theirs(input_ids=fed["ids"], attention_mask=fed["real"].long()).last_hidden_state
    assert (model(fed["ids"], fed["real"]) - expected)[fed["real"]].abs().max() > 0.1


def test_buckets_and_slopes_are_those_of_the_reference() -> None:
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor
    from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position
    from transformers.models.t5.modeling_t5 import T5Attention

    apart = torch.arange(-3000, 3001)
    for buckets, furthest in ((32, 128), (64, 200), (8, 20)):
        for both_sides in (True, False):
            expected = T5Attention._relative_position_bucket(
                apart, bidirectional=both_sides, num_buckets=buckets, max_distance=furthest
            )
            found = t5_buckets(apart, buckets, furthest, both_sides=both_sides)
            assert torch.equal(found, expected)
        expected = make_log_bucket_position(apart, buckets, furthest).long()
        assert torch.equal(deberta_buckets(apart, buckets, furthest), expected)
    for heads in (1, 3, 4, 12, 20):
        # Bloom adds slope times the key's place, which softmax cannot tell from a distance.
        added = build_alibi_tensor(torch.ones(1, 6), heads, torch.float32).view(heads, 6)
        torch.testing.assert_close(added, alibi_slopes(heads)[:, None] * torch.arange(6))
    assert distances(3, 3)[0].tolist() == [0, 1, 2]
