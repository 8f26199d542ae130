"""The ALBERT of reactions that rxnmapper ships: the reference's scores, and its published maps.

The package is read where it is installed; its weights are a pickle of tensors.
"""

from __future__ import annotations

import json
import re
from importlib import metadata
from pathlib import Path

import pytest
import torch
from torch import Tensor

from remeasure.nn.checkpoints.loading import load
from remeasure.nn.checkpoints.torch_file import read_torch
from remeasure.nn.models import bert
from remeasure.nn.models.bert import BertConfig
from remeasure.nn.tokenize.framing import Frame, pad_right

PACKAGE = "rxnmapper"
FOLDER = "rxnmapper/models/transformers/albert_heads_8_uspto_all_1310k"
#: Reactions with the atoms that belong together numbered alike, from the package's own tests.
MAPPED = (
    "[CH3:1][CH:2]([CH3:3])[SH:4].CN(C)C=O.F[c:5]1[n:6][cH:7][cH:8][cH:9][c:10]1[F:11]"
    ".O=C([O-])[O-].[K+].[K+]>>[CH3:1][CH:2]([CH3:3])[S:4][c:5]1[n:6][cH:7][cH:8][cH:9][c:10]1[F:11]",
    "C1COCCO1.CC(C)(C)[O:3][C:2](=[O:1])[CH2:4][O:5][NH:6][C:7](=[O:8])[NH:9][CH2:10][c:11]1"
    "[cH:12][cH:13][cH:14][c:15]2[cH:16][cH:17][cH:18][cH:19][c:20]12.Cl>>[O:1]=[C:2]([OH:3])"
    "[CH2:4][O:5][NH:6][C:7](=[O:8])[NH:9][CH2:10][c:11]1[cH:12][cH:13][cH:14][c:15]2[cH:16]"
    "[cH:17][cH:18][cH:19][c:20]12",
)
PARTS = ("CCO", "CC(=O)O", "c1ccccc1N", "BrCC", "O=C([O-])[O-]", "CN(C)C=O", "Fc1ncccc1F", "Cl")
#: Twenty texts of several lengths, from nothing to long reactions; chemistry does not matter here.
TEXTS = (
    "",
    "C",
    "CC(=O)O.OCC>>CC(=O)OCC",
    "C(C)O.BrC(C)>>CCOCC",
    *(".".join(PARTS[n % 5 : n % 5 + 1 + n // 4]) + ">>" + PARTS[n % 8] * 2 for n in range(16)),
)


def split(text: str) -> list[str]:
    """Atoms, bonds, rings and brackets of a reaction."""
    return re.findall(r"\[[^\]]+\]|Br|Cl|>>|%\d\d|.", text)


@pytest.fixture(scope="module")
def folder() -> Path:
    try:
        return Path(str(metadata.distribution(PACKAGE).locate_file(FOLDER)))
    except metadata.PackageNotFoundError:
        pytest.skip(f"the package {PACKAGE} is not installed")


@pytest.fixture(scope="module")
def vocabulary(folder: Path) -> dict[str, int]:
    return {token: n for n, token in enumerate((folder / "vocab.txt").read_text().split("\n"))}


@pytest.fixture(scope="module")
def model(folder: Path) -> bert.Masked:
    config = BertConfig.from_json(json.loads((folder / "config.json").read_text()))
    tensors = read_torch(folder / "pytorch_model.bin")
    words = tensors["albert.embeddings.word_embeddings.weight"]
    assert torch.equal(tensors["predictions.decoder.weight"], words)  # tied, so left out
    made = bert.Masked(config).eval()
    report = load(made, tensors, bert.ALBERT_HEAD_NAMES, where=str(folder))
    assert report.parameters == config.parameters("masked") == 735_567
    return made


def ids_of(text: str, vocabulary: dict[str, int]) -> list[int]:
    frame = Frame(vocabulary["[CLS]"], vocabulary["[SEP]"], vocabulary["[PAD]"])
    return frame.single([vocabulary.get(token, vocabulary["[UNK]"]) for token in split(text)])


@pytest.mark.parametrize("reaction", MAPPED)
def test_one_head_finds_which_atom_became_which(
    reaction: str, model: bert.Masked, vocabulary: dict[str, int]
) -> None:
    """Schwaller et al. 2021: block 11, head 6, both directions, the same element only."""
    numbered = split(reaction)
    tokens = [re.sub(r"^\[([A-Za-z][a-z]?)(?:H\d?)?:\d+\]$", r"\1", each) for each in numbered]
    number = [int(each.split(":")[1][:-1]) if ":" in each else 0 for each in numbered]
    element = [re.sub("[^A-Za-z]", "", each).upper() for each in tokens]
    arrow = tokens.index(">>")
    before = [place for place in range(arrow) if element[place]]
    after = [place for place in range(arrow + 1, len(tokens)) if element[place]]
    with torch.inference_mode():
        maps = model.encoder.maps(torch.tensor([ids_of("".join(tokens), vocabulary)]))
    weights = maps[10, 0, 5, 1:-1, 1:-1]
    both = weights[after][:, before] + weights[before][:, after].T
    same = torch.tensor([[element[new] == element[old] for old in before] for new in after])
    found = (both * same).argmax(1).tolist()
    assert [number[before[place]] for place in found] == [number[new] for new in after]


@pytest.mark.slow
def test_the_shipped_model_equals_the_reference_on_twenty_texts(
    folder: Path, model: bert.Masked, vocabulary: dict[str, int]
) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is the referee here")
    theirs = transformers.AlbertForMaskedLM.from_pretrained(folder).eval()
    texts = [ids_of(text, vocabulary) for text in TEXTS]
    assert len(texts) == 20
    assert len({len(text) for text in texts}) > 10
    ids, real = pad_right(texts, vocabulary["[PAD]"])
    with torch.inference_mode():
        together: Tensor = model(ids, real)
        for row, text in zip(together, texts, strict=True):
            expected = theirs(torch.tensor([text])).logits[0]
            torch.testing.assert_close(row[: len(text)], expected, atol=1e-4, rtol=1e-4)
