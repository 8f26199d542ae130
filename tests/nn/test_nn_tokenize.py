"""Tokenizers from scratch against the library, closed forms and published merges."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import math
import re
import sys
from collections import Counter
from importlib import import_module, metadata
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remeasure.errors import DataError, SourceError
from remeasure.nn.tokenize import unigram
from remeasure.nn.tokenize.byte_pairs import BytePairs, learn_bytes, split
from remeasure.nn.tokenize.framing import Frame, pad_right
from remeasure.nn.tokenize.merging import (
    Learned,
    association,
    continued,
    frequency,
    learn,
    likelihood_gain,
    marked,
)
from remeasure.nn.tokenize.stored import read_tokenizer
from remeasure.nn.tokenize.unigram import Unigram
from remeasure.nn.tokenize.word_pieces import WordPieces

tokenizers = pytest.importorskip("tokenizers", reason="the library is the referee here")


def _zen() -> Counter[str]:
    with contextlib.redirect_stdout(io.StringIO()):
        said = import_module("this").s
    return Counter(re.findall("[a-z]+", codecs.decode(said, "rot13").lower()))


def _descriptions() -> list[str]:
    """Real prose that a dependency ships."""
    folder = Path(str(metadata.distribution("scikit-learn").locate_file("sklearn/datasets/descr")))
    return [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.rst"))]


ZEN = _zen()
PROSE = _descriptions()
# Signs of old blocks of Unicode, so that Python and the library agree on what they are.
SIGNS = st.sampled_from(
    "aabbcdeeilnostzABEÀÉèñöüßșİıσςΣΑωЖжяאבتขก漢字かなアｱ０１²½ⅨV'’\"-–_.,;:!?()[]{}$€+<=>^`|~@#%&*/\\"
    " \t\n\r\u00a0\u2003\u200b\u00ad\u0301\u0308🚀☃\0\x07\ufffd"
)
TEXT = st.text(SIGNS, max_size=30)


# --- merging --------------------------------------------------------------------------------


def test_merges_of_the_zen_of_python_are_the_published_ones() -> None:
    assert (ZEN.total(), len(ZEN), sum(len(w) * n for w, n in ZEN.items())) == (147, 87, 677)
    words = {continued(word): count for word, count in ZEN.items()}
    published = {
        frequency: (["th", "##er", "be", "##pl", "is", "##ou"], 602),
        association: (["ex", "##bv", "obv", "exp", "of", "##mp"], 653),
        likelihood_gain: (["th", "##pl", "##mpl", "##xpl", "expl", "be"], 621),
    }
    for score, (merged, tokens) in published.items():
        learned = learn(words, 6, score=score, join=marked, tie="largest")
        assert [marked(*pair) for pair in learned.merges] == merged
        assert learned.tokens() == tokens
    for score, tokens in ((frequency, 366), (association, 537)):
        assert learn(words, 60, score=score, join=marked, tie="largest").tokens() == tokens


def test_the_gain_in_likelihood_is_the_gain() -> None:
    words = {tuple("abcab"): 3, tuple("cab"): 2, tuple("bca"): 4}

    def likelihood(text: dict[tuple[str, ...], int]) -> float:
        counts: Counter[str] = Counter()
        for word, count in text.items():
            counts.update({symbol: word.count(symbol) * count for symbol in set(word)})
        return sum(n * math.log(n / counts.total()) for n in counts.values())

    one = learn(words, 1, score=likelihood_gain)
    singles = Counter({s: sum(w.count(s) * n for w, n in words.items()) for s in "abc"})
    pairs: Counter[tuple[str, str]] = Counter()
    for word, count in words.items():
        for pair in pairwise(word):
            pairs[pair] += count
    (left, right) = one.merges[0]
    gain = likelihood_gain(pairs[left, right], singles[left], singles[right], singles.total())
    assert gain == pytest.approx(likelihood(one.words) - likelihood(words))


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text("abc", min_size=1, max_size=7), st.integers(1, 9), max_size=8))
def test_counts_kept_up_to_date_are_counts_from_scratch(text: dict[str, int]) -> None:
    learned = learn({tuple(word): count for word, count in text.items()}, 5)
    words = {tuple(word): count for word, count in text.items()}
    age = {symbol: place for place, symbol in enumerate(learned.alphabet)}
    for pair in learned.merges:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, count in words.items():
            for each in pairwise(word):
                pairs[each] += count
        assert pair == max(pairs, key=lambda p: (pairs[p], -age[p[0]], -age[p[1]]))
        age.setdefault("".join(pair), len(age))
        merged: Counter[tuple[str, ...]] = Counter()
        for word, count in words.items():
            joined = "\0".join(word)
            joined = re.sub(rf"(?<![^\0]){pair[0]}\0{pair[1]}(?![^\0])", "".join(pair), joined)
            merged[tuple(joined.split("\0"))] += count
        words = dict(merged)
    assert words == learned.words


# --- byte-level BPE -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learned() -> Learned:
    return learn_bytes(PROSE[:6], 300)


@pytest.fixture(scope="module")
def bytes_(learned: Learned) -> BytePairs:
    return BytePairs.of(learned)


def test_byte_merges_are_those_of_the_library(learned: Learned, bytes_: BytePairs) -> None:
    referee = tokenizers.Tokenizer(tokenizers.models.BPE())
    referee.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=556,
        show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    referee.train_from_iterator(PROSE[:6], trainer)
    model = json.loads(referee.to_str())["model"]
    assert [tuple(pair) for pair in model["merges"]] == list(learned.merges)
    assert model["vocab"] == bytes_.vocabulary
    for text in PROSE[6:]:
        assert bytes_.encode(text) == referee.encode(text).ids


@settings(max_examples=150, deadline=None)
@given(text=TEXT)
def test_words_of_gpt2_and_the_way_back(text: str, bytes_: BytePairs) -> None:
    splitter = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    spans = [span for _, span in splitter.pre_tokenize_str(text)]
    assert split(text) == [text[start:end] for start, end in spans]
    assert "".join(split(text)) == text
    assert bytes_.decode(bytes_.encode(text)) == text


def test_contractions_and_spaces() -> None:
    assert split("we're  here's\n\n x'LL 10") == [
        "we", "'re", " ", " here", "'s", "\n\n", " x", "'", "LL", " 10"
    ]  # fmt: skip
    assert split("it'd ") == ["it", "'d", " "]


# --- WordPiece ------------------------------------------------------------------------------


def _vocabulary() -> dict[str, int]:
    words = Counter(re.findall("[a-zé漢ßσж]+", " ".join(PROSE[:4]).lower()))
    merged = learn({continued(word): n for word, n in words.items()}, 150, join=marked)
    signs = "abcdeilnostzéèüßσςωжя漢字かא.,-'!?[]$0²½🚀☃"
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *merged.alphabet]
    tokens += [marked(*pair) for pair in merged.merges]
    tokens += [*signs, *(f"##{sign}" for sign in signs), "A", "B", "E", "##A", "É", "##É"]
    return {token: place for place, token in enumerate(dict.fromkeys(tokens))}


VOCABULARY = _vocabulary()


def _bert(lower: bool) -> object:
    referee = tokenizers.Tokenizer(
        tokenizers.models.WordPiece(VOCABULARY, unk_token="[UNK]")  # noqa: S106
    )
    referee.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=lower)
    referee.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    referee.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return referee


REFEREES = {lower: _bert(lower) for lower in (True, False)}


@settings(max_examples=200, deadline=None)
@given(
    text=TEXT | st.lists(st.sampled_from(["[MASK]", "data", " ", "."])).map("".join),
    lower=st.booleans(),
)
def test_word_pieces_are_those_of_the_library(text: str, lower: bool) -> None:
    expected = REFEREES[lower].encode(text)
    found = WordPieces(VOCABULARY, lower=lower).encode(text)
    assert list(found.tokens) == expected.tokens
    assert list(found.ids) == expected.ids
    assert list(found.spans) == expected.offsets


def test_word_pieces_of_prose(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    ours = WordPieces.read(path)
    assert ours.vocabulary == VOCABULARY
    for text in [*PROSE[:6], "a" * 100 + " " + "a" * 101, "[MASK]a[mask] [CLS]"]:
        expected = REFEREES[True].encode(text)
        found = ours.encode(text)
        assert list(found.tokens) == expected.tokens
        assert list(found.spans) == expected.offsets
    with pytest.raises(DataError, match="does not exist"):
        WordPieces.read(tmp_path / "none.txt")
    path.write_text("a\nb\n")
    with pytest.raises(DataError, match=r"no \[UNK\]"):
        WordPieces.read(path)


# --- unigram --------------------------------------------------------------------------------

PIECES = st.dictionaries(st.text("abc", min_size=2, max_size=4), st.floats(-9, -1), max_size=8).map(
    lambda more: {"a": -3.1, "b": -4.2, "c": -5.3} | more
)


def _segmentations(text: str, scores: dict[str, float]) -> list[tuple[tuple[str, ...], float]]:
    if not text:
        return [((), 0.0)]
    out = []
    for end in range(1, len(text) + 1):
        if text[:end] in scores:
            for rest, score in _segmentations(text[end:], scores):
                out.append(((text[:end], *rest), scores[text[:end]] + score))
    return out


@settings(max_examples=60, deadline=None)
@given(scores=PIECES, text=st.text("abc", max_size=8))
def test_best_sum_and_mean_over_all_segmentations(scores: dict[str, float], text: str) -> None:
    model = Unigram(scores)
    every = _segmentations(text, scores)
    assert model.cut(text).score == pytest.approx(max(score for _, score in every))
    total = math.fsum(math.exp(score) for _, score in every)
    assert model.evidence(text) == pytest.approx(math.log(total), abs=1e-9)
    mean: Counter[str] = Counter()
    for pieces, score in every:
        for piece in pieces:
            mean[piece] += math.exp(score) / total
    assert model.expected(text) == pytest.approx(dict(mean))


@settings(max_examples=60, deadline=None)
@given(scores=PIECES, text=st.text("abcxy", max_size=20))
def test_the_likeliest_cut_is_that_of_the_library(scores: dict[str, float], text: str) -> None:
    referee = tokenizers.models.Unigram([("<unk>", 0.0), *scores.items()], unk_id=0)
    found = Unigram(scores).cut(text)
    expected = [token.value for token in referee.tokenize(text)]
    if list(found.pieces) != expected:  # equally likely, up to the last bit
        again = sum(scores[piece] for piece in expected)
        assert again == pytest.approx(found.score, rel=1e-12)


def test_fitting_never_lowers_the_likelihood() -> None:
    model = Unigram(unigram.seeds(ZEN, 120))
    before = -math.inf
    for _ in range(4):
        after = sum(count * model.evidence(word) for word, count in ZEN.items())
        assert after >= before - 1e-9
        before = after
        model = unigram.refit(ZEN, model, sparse=False)
        assert math.fsum(map(math.exp, model.scores.values())) == pytest.approx(1.0)


def test_training_keeps_all_characters_and_meets_its_size() -> None:
    model = unigram.train(ZEN, 60, start=200)
    letters = {letter for word in ZEN for letter in word}
    assert letters <= model.scores.keys()
    assert len(model.scores) <= 60
    tokens = sum(len(model.cut(word).pieces) * count for word, count in ZEN.items())
    assert tokens < 0.75 * 677
    assert all("".join(model.cut(word).pieces) == word for word in ZEN)
    assert unigram.train(ZEN, 60, start=200).scores == model.scores


# --- frames and files -----------------------------------------------------------------------


def test_frames() -> None:
    frame = Frame()
    assert frame.single([7, 8, 9], longest=4) == [101, 7, 8, 102]
    assert frame.pair([7], [8, 9, 10], longest=6) == (
        [101, 7, 102, 8, 9, 102],
        [0, 0, 0, 1, 1, 1],
    )
    ids, segments = frame.pair([7, 8], [9])
    assert (ids, segments) == ([101, 7, 8, 102, 9, 102], [0, 0, 0, 0, 1, 1])
    with pytest.raises(ValueError, match="does not fit in 4"):
        frame.pair([7, 8], [9], longest=4)
    together, real = pad_right([[1, 2, 3], [4]], padding=9)
    assert together.tolist() == [[1, 2, 3], [4, 9, 9]]
    assert real.tolist() == [[True, True, True], [True, False, False]]


def test_files_of_tokenizers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokenizer.json"
    REFEREES[True].save(str(path))
    assert read_tokenizer(path).encode("data").ids == REFEREES[True].encode("data").ids
    with pytest.raises(DataError, match="does not exist"):
        read_tokenizer(tmp_path / "none.json")
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match="no tokenizer"):
        read_tokenizer(path)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(SourceError, match="tokenizers is not installed"):
        read_tokenizer(path)
