"""Networks answer: masses of first tokens, chat templates, and two ways to run a model."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nn_files import CHAT, chat_folder, chat_gguf
from remeasure.errors import DataError
from remeasure.fetch.manifest import Manifest, RawFile, digest
from remeasure.studies.crypto.memory_networks import (
    AskStep,
    Published,
    Shipped,
    ask,
    ask_published,
    ask_shipped,
    first_tokens,
    masses,
)
from remeasure.studies.crypto.memory_table import read_answers

transformers = pytest.importorskip("transformers", reason="transformers runs the published models")
pytest.importorskip("gguf", reason="the gguf package reads these files")

FEW = AskStep(label="tiny", first="2020-01-01", last="2020-03-31", batch=4)


# --- first tokens and masses (E22) ----------------------------------------------------------

WORDS = {"up": [5], "Up": [6], " up": [7], " Up": [7], "UP": [8, 9], "down": [10], "Down": [11]}
WORDS |= {" down": [12], " Down": [12], "DOWN": [13, 14], " ": [3]}


def test_every_spelling_counts_by_its_first_token() -> None:
    assert first_tokens(WORDS.__getitem__) == ([5, 6, 7, 8], [10, 11, 12, 13])


def test_what_begins_both_words_or_is_a_space_tells_nothing() -> None:
    spaced = WORDS | {" up": [3, 5], " Up": [3, 6], " down": [3, 10], " Down": [3, 11]}
    spaced |= {"UP": [20, 1], "DOWN": [20, 2]}
    assert first_tokens(spaced.__getitem__) == ([5, 6], [10, 11])
    with pytest.raises(DataError, match="begins both words"):
        first_tokens(lambda text: [1])


def test_masses_of_constructed_logits() -> None:
    probability = np.full(20, 0.3 / 16)
    probability[[5, 6]], probability[[10, 11]] = [0.3, 0.1], [0.05, 0.25]
    scores = torch.from_numpy(np.log(probability))[None]
    up, down = masses(scores, [5, 6], [10, 11])
    assert up[0] == pytest.approx(0.4, abs=1e-9)
    assert down[0] == pytest.approx(0.3, abs=1e-9)
    assert up[0] / (up[0] + down[0]) == pytest.approx(4 / 7, abs=1e-9)


@given(
    st.lists(st.floats(-20, 20), min_size=6, max_size=6),
    st.floats(-50, 50),
)
def test_a_constant_added_to_all_logits_changes_nothing(row: list[float], constant: float) -> None:
    scores = torch.tensor([row], dtype=torch.float64)
    before = masses(scores, [0, 1], [2, 3])
    after = masses(scores + constant, [0, 1], [2, 3])
    np.testing.assert_allclose(before, after, atol=1e-9)
    assert 0 <= before[0][0] + before[1][0] <= 1 + 1e-9


# --- two ways to run one model --------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return chat_folder(tmp_path_factory.mktemp("checkpoint") / "resolve" / "main")


@pytest.fixture(scope="module")
def shipped(folder: Path) -> Path:
    return chat_gguf(folder, folder.parent.parent / "m.gguf")


def manifest(files: list[Path], root: Path, path: Path) -> Path:
    entries = [RawFile(each.relative_to(root).as_posix(), *digest(each)) for each in files]
    Manifest.of("m", "package", root, entries).write(path)
    return path


def test_both_ways_give_one_answer(folder: Path, shipped: Path) -> None:
    """The same weights through transformers and through our Llama: other code, same answers."""
    theirs, ours = ask(Published(folder, "cpu"), FEW), ask(Shipped(shipped), FEW)
    assert theirs.height == 6 + 3 + 12
    assert theirs["text"].to_list() == ours["text"].to_list()
    assert len(set(theirs["text"].drop_nulls())) > 1
    for name in ("mass_up", "mass_down"):
        np.testing.assert_allclose(
            theirs[name].drop_nulls(), ours[name].drop_nulls(), rtol=1e-4, atol=1e-7
        )
        assert theirs[name].drop_nulls().n_unique() > 5


def test_a_batch_changes_nothing(shipped: Path) -> None:
    network = Shipped(shipped)
    one, many = (ask(network, FEW.model_copy(update={"batch": n})) for n in (1, 7))
    assert one["text"].to_list() == many["text"].to_list()
    np.testing.assert_allclose(one["mass_up"].drop_nulls(), many["mass_up"].drop_nulls(), rtol=1e-4)


def test_the_question_stands_alone_in_the_template(folder: Path, shipped: Path) -> None:
    """One user turn, no system prompt, the answer's place last, thinking off."""
    network = Published(folder, "cpu")
    batch = network._prompts(["up or down"])["input_ids"][0]
    text = network._tokenizer.decode(batch)
    assert text == "<|user|>up or down<|end|><|assistant|><quiet>"
    assert Shipped(shipped)._prompt("up or down")[:1] == [network.tokenize("<|user|>")[0]]
    assert CHAT.count("role") == 1


def test_steps_write_whole_tables(folder: Path, shipped: Path, tmp_path: Path) -> None:
    root = folder.parent.parent
    files = [each for each in folder.iterdir() if each.suffix in (".json", ".safetensors")]
    ask_published(
        manifest=manifest(files, root, tmp_path / "hub.json"),
        answers=tmp_path / "a.parquet",
        settings=FEW.model_copy(update={"device": "cpu"}),
    )
    ask_shipped(
        manifest=manifest([shipped], root, tmp_path / "package.json"),
        answers=tmp_path / "b.parquet",
        settings=FEW.model_copy(update={"label": "small", "device": "cpu", "every": 3}),
    )
    hub, small = read_answers(tmp_path / "a.parquet"), read_answers(tmp_path / "b.parquet")
    assert hub.filter(pl.col("kind") == "month")["first"].to_list() == [
        date(2020, month, 1) for month in (1, 2, 3)
    ]
    assert small.group_by("kind").len().sort("kind").rows() == [
        ("month", 1),
        ("price", 2),
        ("week", 4),
    ]
    # Of every three of a kind the first, on the same days as the model that is asked all.
    keys = ["kind", "first", "last"]
    every = pl.int_range(pl.len()).over("kind") % 3 == 0
    assert small.select(keys).rows() == hub.filter(every).select(keys).rows()
    (folder / "config.json").rename(folder / "kept")
    try:
        (folder / "config.json").write_text("{", "utf-8")
        with pytest.raises(DataError, match="no JSON"):
            ask_published(
                manifest=tmp_path / "hub.json", answers=tmp_path / "c.parquet", settings=FEW
            )
    finally:
        (folder / "kept").replace(folder / "config.json")
    assert json.loads((folder / "config.json").read_text("utf-8"))
    assert not (tmp_path / "c.parquet").exists()
