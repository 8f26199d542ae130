"""T5 and BART against transformers on random weights, and against themselves."""

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
from remeasure.nn.generate.beam import beam_from
from remeasure.nn.generate.decoding import begin_from_source, pad_right
from remeasure.nn.generate.greedy import greedy_from
from remeasure.nn.generate.rules import first_token, last_token, no_repeat
from remeasure.nn.models import bart, t5
from remeasure.nn.models.bart import BART_BASE, Bart, BartConfig
from remeasure.nn.models.t5 import FLAN_T5_BASE, T5, T5_BASE, T5_SMALL, T5Config

transformers = pytest.importorskip("transformers", reason="transformers is the referee here")

FIRST = T5Config(
    vocabulary=61, width=24, heads=3, head=6, hidden=40, encoder=2, decoder=3, furthest=20
)
GATED = dataclasses.replace(FIRST, gated=True, tied=False, buckets=12)
REPAIR = BartConfig(vocabulary=61, context=40, width=32, heads=4, hidden=48, encoder=2, decoder=3)
CONFIGS = {"t5": FIRST, "t5 gated, untied": GATED, "bart": REPAIR}
every = pytest.mark.parametrize("name", list(CONFIGS))


def referee(name: str, seed: int = 0) -> nn.Module:
    config = CONFIGS[name]
    if isinstance(config, BartConfig):
        theirs = transformers.BartForConditionalGeneration(
            transformers.BartConfig(
                vocab_size=config.vocabulary,
                max_position_embeddings=config.context,
                d_model=config.width,
                encoder_attention_heads=config.heads,
                decoder_attention_heads=config.heads,
                encoder_ffn_dim=config.hidden,
                decoder_ffn_dim=config.hidden,
                encoder_layers=config.encoder,
                decoder_layers=config.decoder,
            )
        )
        theirs.final_logits_bias.copy_(
            torch.randn(1, 61, generator=torch.Generator().manual_seed(2))
        )
        return moved(theirs, seed)
    theirs = transformers.T5ForConditionalGeneration(
        transformers.T5Config(
            vocab_size=config.vocabulary,
            d_model=config.width,
            num_heads=config.heads,
            d_kv=config.head,
            d_ff=config.hidden,
            num_layers=config.encoder,
            num_decoder_layers=config.decoder,
            relative_attention_num_buckets=config.buckets,
            relative_attention_max_distance=config.furthest,
            feed_forward_proj="gated-gelu" if config.gated else "relu",
            tie_word_embeddings=config.tied,
            decoder_start_token_id=0,
        )
    )
    if not config.tied:  # the library ties what it builds; files of version 1.1 are not tied
        theirs.lm_head.weight = nn.Parameter(torch.zeros(config.vocabulary, config.width))
    return moved(theirs, seed)


def names_of(name: str) -> Names:
    config = CONFIGS[name]
    return t5.names(config) if isinstance(config, T5Config) else bart.NAMES


def built(name: str) -> Any:
    config = CONFIGS[name]
    return (T5(config) if isinstance(config, T5Config) else Bart(config)).eval()


def ours(theirs: nn.Module, name: str) -> Any:
    model = built(name)
    load(model, dict(theirs.state_dict()), names_of(name), where="random")
    return model


def batch(name: str) -> tuple[Tensor, Tensor, Tensor]:
    """Sources of different lengths, padded on the right, and targets."""
    texts = [tokens(61, 1, length, seed=length)[0].tolist() for length in (27, 9, 16)]
    source, real = pad_right(texts, 0 if "t5" in name else 1)
    return source, real, tokens(61, 3, 25, seed=4)


@every
def test_logits_and_gradients_equal_the_reference(name: str) -> None:
    theirs = referee(name)
    model = ours(theirs, name)
    source, real, target = batch(name)
    left = model(source, target, real)
    right = theirs(source, attention_mask=real.long(), decoder_input_ids=target).logits
    assert gap(left, right) <= 1e-5
    left.logsumexp(-1).sum().backward()
    right.logsumexp(-1).sum().backward()
    gaps = gradient_gaps(model, dict(theirs.named_parameters()), names_of(name))
    assert max(gaps.values()) <= 1e-4, gaps


@every
def test_our_weights_go_back_into_the_reference(name: str) -> None:
    model = moved(built(name), seed=6)
    theirs = referee(name)
    missing = theirs.load_state_dict(published_names(model, names_of(name)), strict=False)
    assert not missing.unexpected_keys
    assert {key.rpartition(".")[0] for key in missing.missing_keys} <= {
        "lm_head", "encoder.embed_tokens", "decoder.embed_tokens",
        "model.encoder.embed_tokens", "model.decoder.embed_tokens",
    }  # fmt: skip
    source, real, target = batch(name)
    right = theirs(source, attention_mask=real.long(), decoder_input_ids=target).logits
    assert gap(model(source, target, real), right) <= 1e-5


@pytest.mark.parametrize(
    ("config", "model", "published"),
    [
        (T5_SMALL, T5, 60_506_624),
        (T5_BASE, T5, 222_903_552),
        (FLAN_T5_BASE, T5, 247_577_856),
        (BART_BASE, Bart, 139_420_416),
        (FIRST, T5, None),
        (GATED, T5, None),
        (REPAIR, Bart, None),
    ],
)
def test_the_formula_counts_what_is_built(
    config: Any, model: Callable[[Any], nn.Module], published: int | None
) -> None:
    with torch.device("meta"):
        assert counted(model(config)) == config.parameters()
    assert published is None or config.parameters() == published


@every
def test_the_configuration_is_read_as_published(name: str) -> None:
    config = CONFIGS[name]
    published = referee(name).config.to_dict()
    assert type(config).from_json(published) == config
    wrong = {"feed_forward_proj": "gated-silu", "activation_function": "relu"}
    with pytest.raises(DataError, match="this model is built for"):
        type(config).from_json(published | wrong)
    # Version 1.1's own file says so by untying.
    old = {key: value for key, value in published.items() if key != "scale_decoder_outputs"}
    if isinstance(config, T5Config):
        assert T5Config.from_json(old | {"tie_word_embeddings": config.tied}) == config


@every
def test_a_cache_changes_nothing(name: str) -> None:
    model = moved(built(name))
    source, real, target = batch(name)
    with torch.inference_mode():
        whole = model(source, target, real)
        for cuts in ([1] * 25, [7, 1, 9, 8]):
            cache = model.read(source, real, 25)
            parts = [model.hidden(part, None, cache) for part in target.split(cuts, dim=1)]
            assert gap(model.logits(torch.cat(parts, dim=1)), whole) <= 1e-5
        with pytest.raises(ValueError, match="have no padding"):
            model.hidden(target, real, cache)


@every
def test_padding_of_a_source_and_later_tokens_change_nothing(name: str) -> None:
    model = moved(built(name))
    source, real, target = batch(name)
    together = model(source, target, real)
    for row in range(3):
        alone = model(source[row : row + 1, real[row]], target[row : row + 1])
        assert gap(together[row], alone[0]) <= 1e-5
    other = target.clone()
    other[:, 12:] = (other[:, 12:] + 1) % 61
    changed = model(source, other, real)
    assert gap(changed[:, :12], together[:, :12]) <= 1e-6
    assert gap(changed[:, 12:], together[:, 12:]) > 1e-3


@every
def test_a_cache_of_a_source_is_kept_in_another_order(name: str) -> None:
    model = moved(built(name))
    source, real, target = batch(name)
    rows = torch.tensor([2, 0, 0, 1, 1])
    with torch.inference_mode():
        cache = model.read(source, real, 10)
        model.hidden(target[:, :4], None, cache)
        cache.select(rows)
        got = model.logits(model.hidden(target[rows, 4:6], None, cache))
        expected = model(source, target[:, :6], real)[rows, 4:]
    assert gap(got, expected) <= 1e-5


@every
@pytest.mark.parametrize("beams", [1, 4])
def test_answers_equal_the_reference(name: str, beams: int) -> None:
    theirs = referee(name)
    model = ours(theirs, name)
    start, padding, end = (2, 1, 2) if name == "bart" else (0, 0, 1)
    source, real, _ = batch(name)
    texts = [row[keep].tolist() for row, keep in zip(source, real, strict=True)]
    rules, forced = [], {}
    if name == "bart":
        rules = [no_repeat(3), first_token(0), last_token(2, 18)]
        forced = {"forced_bos_token_id": 0, "forced_eos_token_id": 2, "no_repeat_ngram_size": 3}
    expected = theirs.generate(
        source, attention_mask=real.long(), max_new_tokens=18, num_beams=beams, do_sample=False,
        decoder_start_token_id=start, pad_token_id=padding, eos_token_id=end,
        use_cache=False,  # the library counts the encoder's blocks for the decoder's cache
        **forced,
    )[:, 1:].tolist()  # fmt: skip
    beginning = begin_from_source(model, texts, start=start, new_tokens=18, padding=padding)
    if beams == 1:
        answers = greedy_from(model, beginning, new_tokens=18, end=end, rules=rules)
    else:
        answers, _ = beam_from(model, beginning, beams=beams, new_tokens=18, end=end, rules=rules)
    for answer, row in zip(answers, expected, strict=True):
        assert answer == (row[: row.index(end)] if end in row else row)


def test_attention_to_a_source_can_be_watched() -> None:
    model = moved(built("t5"))
    source, real, target = batch("t5")
    seen: list[Tensor] = []
    model.decoder.blocks[1].cross.watch = seen
    model(source, target, real)
    assert seen[0].shape == (3, 3, 25, 27)
    torch.testing.assert_close(seen[0].sum(-1), torch.ones(3, 3, 25))
    assert not seen[0].masked_select(~real[:, None, None, :]).any()


def test_dropout_acts_in_training_alone() -> None:
    for name in CONFIGS:
        model = moved(built(name))
        source, real, target = batch(name)
        still = model(source, target, real)
        assert torch.equal(model(source, target, real), still)
        model.train()
        assert not torch.allclose(model(source, target, real), still)


def test_a_text_longer_than_the_positions_of_bart_is_refused() -> None:
    with pytest.raises(ValueError, match="41 tokens, but the model has 40 positions"):
        built("bart")(tokens(61, 1, 41), tokens(61, 1, 3))
