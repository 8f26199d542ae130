"""Sampling, beams and rules against transformers, closed forms and an exhaustive search."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from nn_parity import moved, tokens
from remeasure.nn.checkpoints.loading import load
from remeasure.nn.generate.beam import beam, beam_from
from remeasure.nn.generate.decoding import begin, pad_right
from remeasure.nn.generate.greedy import greedy, greedy_from
from remeasure.nn.generate.rules import first_token, last_token, no_repeat
from remeasure.nn.generate.sampling import Choice, sample
from remeasure.nn.layers.stretch import Rope
from remeasure.nn.models.gpt2 import GPT2, GPT2Config
from remeasure.nn.models.minicpm3 import MiniCPM3, MiniCPM3Config
from remeasure.nn.models.qwen3 import NAMES, Qwen3, Qwen3Config

transformers = pytest.importorskip("transformers", reason="transformers is the referee here")

QWEN = Qwen3Config(
    vocabulary=23, width=16, layers=2, heads=2, groups=1, head=8, hidden=20,
    rope=Rope(theta=500.0), windows=(None, 6), tied=False,
)  # fmt: skip
END = 7


def scores_of(seed: int, rows: int = 3, vocabulary: int = 40) -> Tensor:
    return 3 * torch.randn(rows, vocabulary, generator=torch.Generator().manual_seed(seed))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 1000),
    st.floats(0.1, 5.0),
    st.none() | st.integers(1, 60),
    st.none() | st.floats(0.0, 1.0),
    st.none() | st.floats(0.0, 1.0),
)
def test_filters_equal_the_library(
    seed: int, temperature: float, top_k: int | None, top_p: float | None, min_p: float | None
) -> None:
    from transformers.generation import logits_process as theirs

    scores = scores_of(seed)
    expected = theirs.TemperatureLogitsWarper(temperature)(None, scores)
    if top_k is not None:
        expected = theirs.TopKLogitsWarper(top_k)(None, expected)
    if top_p is not None:
        expected = theirs.TopPLogitsWarper(top_p)(None, expected)
    if min_p is not None:
        expected = theirs.MinPLogitsWarper(min_p)(None, expected)
    choice = Choice(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    assert torch.equal(choice.filtered(scores), expected)
    assert bool((choice.filtered(scores).isfinite().sum(-1) >= 1).all())


def test_filters_of_a_distribution_that_is_known() -> None:
    share = torch.tensor([[0.05, 0.4, 0.2, 0.3, 0.05]])
    scores = share.log()

    def kept(**settings_: Any) -> list[float]:
        return Choice(**settings_).filtered(scores).softmax(-1)[0].tolist()

    assert kept(top_k=2) == pytest.approx([0, 4 / 7, 0, 3 / 7, 0])
    assert kept(top_k=9) == pytest.approx(share[0].tolist())
    assert kept(top_p=0.65) == pytest.approx([0, 4 / 7, 0, 3 / 7, 0])
    assert kept(top_p=0.75) == pytest.approx([0, 4 / 9, 2 / 9, 3 / 9, 0])
    assert kept(top_p=0.0) == pytest.approx([0, 1, 0, 0, 0])
    assert kept(min_p=0.6) == pytest.approx([0, 4 / 7, 0, 3 / 7, 0])
    assert kept(temperature=0.5) == pytest.approx((share**2 / (share**2).sum())[0].tolist())
    # Each filter sees what the one before left: 4/9, 2/9, 3/9 after the first.
    assert kept(top_k=3, top_p=0.7) == pytest.approx([0, 4 / 7, 0, 3 / 7, 0])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"temperature": 0.0}, "temperature is 0.0"),
        ({"top_k": 0}, "top_k is 0"),
        ({"top_p": 1.2}, "top_p is 1.2"),
        ({"min_p": -0.1}, "min_p is -0.1"),
    ],
)
def test_settings_without_a_meaning_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Choice(**wrong)


def test_draws_have_the_filtered_distribution_and_a_seed_repeats_them() -> None:
    scores = torch.tensor([[0.05, 0.4, 0.2, 0.3, 0.05]]).log().expand(40_000, -1)
    choice = Choice(top_k=3)
    drawn = choice.draw(scores, torch.Generator().manual_seed(1))
    count = drawn.bincount(minlength=5).double()
    expected = 40_000 * torch.tensor([0, 4 / 9, 2 / 9, 3 / 9, 0]).double()
    assert float(((count - expected)[1:4].square() / expected[1:4]).sum()) < 13.8  # 0.1 %, 2 d.o.f.
    assert count[[0, 4]].tolist() == [0, 0]
    assert torch.equal(drawn, choice.draw(scores, torch.Generator().manual_seed(1)))


def test_sampled_texts_repeat_with_their_seed_and_do_not_depend_on_the_cache() -> None:
    model = moved(Qwen3(QWEN))
    texts = [tokens(23, 1, length, seed=length)[0].tolist() for length in (5, 2)]

    def written(seed: int, **choice: Any) -> list[list[int]]:
        generator = torch.Generator().manual_seed(seed)
        return sample(
            model, texts, new_tokens=12, end=None, choice=Choice(**choice), generator=generator
        )

    first = written(1)
    assert first == written(1)
    assert first != written(2)
    assert written(5, top_k=1) == greedy(model, texts, new_tokens=12, end=None)
    generator = torch.Generator().manual_seed(1)
    longer = [list(text) for text in texts]
    for _ in range(12):  # the same draws from whole texts each time
        last = torch.cat([model(torch.tensor([text]))[:, -1] for text in longer])
        for text, token in zip(longer, Choice().draw(last, generator).tolist(), strict=True):
            text.append(token)
    assert [text[-12:] for text in longer] == first


def reference(seed: int = 0) -> tuple[Any, Qwen3]:
    theirs = moved(
        transformers.Qwen3ForCausalLM(
            transformers.Qwen3Config(
                vocab_size=23, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                num_key_value_heads=1, head_dim=8, intermediate_size=20,
                tie_word_embeddings=False, use_sliding_window=True, sliding_window=6,
                layer_types=["full_attention", "sliding_attention"],
                rope_parameters={"rope_type": "default", "rope_theta": 500.0},
            )
        ),
        seed,
    )  # fmt: skip
    model = Qwen3(QWEN).eval()
    load(model, dict(theirs.state_dict()), NAMES, where="random")
    return theirs, model


@pytest.mark.parametrize("penalty", [-0.5, 0.0, 1.0, 2.0])
@pytest.mark.parametrize("early", [False, True])
def test_beams_equal_the_reference(penalty: float, early: bool) -> None:
    for seed in range(3):
        theirs, model = reference(seed)
        ids = tokens(23, 4, 6, seed=seed)
        expected = theirs.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=10, num_beams=3,
            do_sample=False, length_penalty=penalty, early_stopping=early, eos_token_id=END,
            pad_token_id=END, return_dict_in_generate=True, output_scores=True,
        )  # fmt: skip
        answers, scores = beam_from(
            model, begin(model, ids.tolist(), new_tokens=10, padding=END),
            beams=3, new_tokens=10, end=END, length_penalty=penalty, early=early,
        )  # fmt: skip
        torch.testing.assert_close(scores, expected.sequences_scores, atol=1e-5, rtol=1e-5)
        for answer, row in zip(answers, expected.sequences[:, 6:].tolist(), strict=True):
            assert answer == (row[: row.index(END)] if END in row else row)


def test_beams_of_padded_texts_equal_each_alone() -> None:
    _, model = reference()
    texts = [tokens(23, 1, length, seed=length)[0].tolist() for length in (6, 1, 4)]
    together = beam(model, texts, beams=3, new_tokens=8, end=END)
    alone = [beam(model, [text], beams=3, new_tokens=8, end=END)[0] for text in texts]
    assert together == alone
    assert beam(model, texts, beams=1, new_tokens=8, end=END) == greedy(
        model, texts, new_tokens=8, end=END
    )


def test_enough_beams_find_the_best_of_all_continuations() -> None:
    """Every continuation of three tokens out of five, scored whole."""
    config = GPT2Config(vocabulary=5, context=8, width=16, layers=1, heads=2)
    model = moved(GPT2(config), seed=3)
    text = [1, 3]
    every = {tuple(text[:stop]) for text in itertools.product(range(5), repeat=3)
             for stop in (1, 2, 3) if 0 not in text[: stop - 1]
             and (stop == 3 or text[stop - 1] == 0)}  # fmt: skip

    @torch.inference_mode()
    def score(answer: tuple[int, ...]) -> float:
        logp = model(torch.tensor([text + list(answer)]))[0].log_softmax(-1)
        total = sum(float(logp[1 + i, token]) for i, token in enumerate(answer))
        return total / len(answer)

    best = max(every, key=score)
    answers, scores = beam_from(
        model, begin(model, [text], new_tokens=3, padding=0), beams=25, new_tokens=3, end=0
    )
    assert answers[0] == [token for token in best if token != 0]
    assert float(scores[0]) == pytest.approx(score(best), abs=1e-5)


@pytest.mark.parametrize("form", ["rebuilt", "absorbed"])
def test_beams_and_draws_with_latents_equal_the_path_without_a_cache(form: Any) -> None:
    config = MiniCPM3Config(
        vocabulary=23, width=16, layers=2, heads=2, hidden=20, query_rank=8, rank=6, nope=4,
        rotary=4, value=4, base_width=8,
    )  # fmt: skip
    model = moved(MiniCPM3(config))
    assert isinstance(model, MiniCPM3)
    model.use(form)
    texts = [tokens(23, 1, length, seed=length)[0].tolist() for length in (6, 3)]
    answers = greedy(model, texts, new_tokens=8, end=None)
    for text, answer in zip(texts, answers, strict=True):
        whole = model(torch.tensor([text + answer]))[0].argmax(-1)
        assert whole[len(text) - 1 : -1].tolist() == answer
    together = beam(model, texts, beams=3, new_tokens=6, end=END)
    assert together == [beam(model, [text], beams=3, new_tokens=6, end=END)[0] for text in texts]


def test_a_shared_beginning_is_read_once() -> None:
    """A prefix in the cache, repeated for each text, then texts of different lengths."""
    _, model = reference()
    prefix = tokens(23, 1, 9, seed=5)
    texts = [tokens(23, 1, length, seed=length)[0].tolist() for length in (4, 1, 6)]
    beginning = begin(model, texts, new_tokens=7, padding=END)
    with torch.inference_mode():
        cache = model.cache(1, 9 + 6 + 7)
        model.hidden(prefix, None, cache)
        cache.select(torch.zeros(3, dtype=torch.long))
    assert beginning.real is not None
    beginning.real = torch.cat((torch.ones(3, 9, dtype=torch.bool), beginning.real), dim=1)
    beginning.cache = cache
    answers = greedy_from(model, beginning, new_tokens=7, end=None)
    whole = greedy(model, [prefix[0].tolist() + text for text in texts], new_tokens=7, end=None)
    assert answers == whole


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(1, 14), st.integers(0, 500))
def test_the_rule_against_repeats_equals_the_library(size: int, length: int, seed: int) -> None:
    from transformers.generation.logits_process import NoRepeatNGramLogitsProcessor

    written, scores = tokens(4, 3, length, seed=seed), scores_of(seed, 3, 4)
    expected = NoRepeatNGramLogitsProcessor(size)(written, scores)
    assert torch.equal(no_repeat(size)(scores, written), expected)


def test_forced_tokens() -> None:
    _, model = reference()
    beginning = begin(model, [[1, 2], [3, 4]], new_tokens=5, padding=END)
    rules = [first_token(9, before=2), last_token(11, 5, before=2)]
    for answer in greedy_from(model, beginning, new_tokens=5, end=None, rules=rules):
        assert (answer[0], answer[-1], len(answer)) == (9, 11, 5)


def test_beginnings_are_aligned() -> None:
    ids, real = pad_right([[1, 2, 3], [4]], padding=9)
    assert ids.tolist() == [[1, 2, 3], [4, 9, 9]]
    assert real.tolist() == [[True, True, True], [True, False, False]]
