"""Counting parameters, caches and activations against built models and other routes."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from remeasure.errors import DataError
from remeasure.fetch.manifest import Manifest, RawFile, digest
from remeasure.nn.models.gpt2 import CHESS, GPT2, KARVONEN_CHESS, GPT2Config, initialise
from remeasure.studies.gpt import article, closed_forms
from remeasure.studies.gpt.checkpoint_list import family_files
from remeasure.studies.gpt.closed_forms import family, gelu, gelu_gap, gelu_tanh, parameters
from remeasure.studies.gpt.mechanics import attention_gaps, learned, spreads
from remeasure.studies.gpt.published import rows
from remeasure.studies.gpt.rules_of_chess import seeds_of
from remeasure.studies.gpt.settings import HubModel
from remeasure.studies.gpt.timing import counted, growth, multiply_adds


@pytest.mark.parametrize("name", ["gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"])
def test_built_models_have_the_formulas_parameters(name: str) -> None:
    sizes = article.FAMILY[name]
    assert learned(GPT2Config(**sizes._asdict())) == parameters(sizes)


def test_built_chess_models_have_the_formulas_parameters() -> None:
    assert learned(CHESS) == parameters(article.CHESS)
    his = article.CHESS._replace(context=article.KARVONEN_CONTEXT)
    assert learned(KARVONEN_CHESS) == parameters(his, biases=False)
    bias_tensors = [
        name
        for name, each in GPT2(
            GPT2Config(**article.CHESS._replace(width=8)._asdict())
        ).named_parameters()
        if name.endswith("bias")
    ]
    assert len(bias_tensors) == 8 * 6 + 1


def test_gaps_are_masks_but_for_gpt1() -> None:
    for row in family({}).iter_rows(named=True):
        short = 2 * row["width"] if row["model"] == "openai-gpt" else 0
        assert row["gap"] == row["layers"] * row["context"] ** 2 - short


def test_shares_of_embeddings() -> None:
    shares = [row["share"] for row in family({}).iter_rows(named=True)][1:]
    assert shares == pytest.approx([0.3165, 0.1480, 0.0848, 0.0527], abs=1e-4)


def test_both_gelus_are_torchs() -> None:
    x = np.linspace(-6, 6, 10_001)
    tensor = torch.from_numpy(x)
    assert np.allclose(gelu(x), F.gelu(tensor).numpy(), atol=1e-12)
    assert np.allclose(gelu_tanh(x), F.gelu(tensor, approximate="tanh").numpy(), atol=1e-12)
    gap, place = gelu_gap()
    assert gap == pytest.approx(4.7324e-4, abs=1e-8)
    assert place == pytest.approx(2.70, abs=0.01)


def test_attention_by_hand_is_the_fused_one() -> None:
    gaps = attention_gaps(50)
    assert float(gaps.max()) <= 1e-6
    assert float(gaps.max()) > 0


def test_fresh_weights_have_the_spreads_of_the_card() -> None:
    most, output = spreads()
    assert most == pytest.approx(0.02, rel=0.01)
    assert output == pytest.approx(0.02 / math.sqrt(16), rel=0.01)


def test_the_first_loss_lies_near_the_alphabets() -> None:
    """The tied output favours repeating the input: a little above ln 32 = 3.466."""
    model = GPT2(GPT2Config(**article.CHESS._replace(context=64)._asdict()))
    initialise(model, 42)
    from remeasure.studies.gpt.chess_text import encode
    from remeasure.studies.gpt.training import next_character_loss

    text = encode(";1.e4 e5 2.Nf3 Nc6 3.Bb5 a6 4.Ba4 Nf6 5.O-O Be7 6.Re1 b5")
    with torch.inference_mode():
        loss = next_character_loss(model, torch.from_numpy(text.astype(np.int64))[None])
    assert 3.4 < float(loss) < 4.3


def test_only_seed_nine_gives_blacks_replies() -> None:
    assert seeds_of(article.SHORTEST_WIN) == [9]


def test_work_is_counted_as_added_up_token_by_token() -> None:
    """The cached steps of a text and its first pass make the uncached step, pair by pair."""
    sizes = article.FAMILY["gpt2"]._replace(vocabulary=0)
    for length in (1, 2, 7, 40):
        each = sum(multiply_adds(sizes, place, cached=True) for place in range(1, length + 1))
        assert multiply_adds(sizes, length, cached=False) == each
    table = counted(10)
    assert table.height == 20
    assert table["length"].max() == 28


def test_growth_is_told_from_flatness() -> None:
    noise = np.random.default_rng(1).normal(5, 0.2, 100)
    assert growth(noise) == "flat"
    assert growth(noise + np.linspace(0, 20, 100)) == "rising"


# --- sizes from the hub ---------------------------------------------------------------------


def hub_folder(root: Path) -> Manifest:
    """Configurations and pages as the hub gives them, with the printed numbers stored."""
    entries = []
    wanted = list(
        family_files(tuple(HubModel(id=f"openai-community/{name}") for name in article.FAMILY))
    )
    for place, name in enumerate(article.FAMILY):
        sizes = article.FAMILY[name]
        key = ("tab_gpt_family", "numbers stored")
        stored = next(
            int(row.published)
            for row in rows().values()
            if row.key[:2] == key and row.condition.startswith(f"{name};")
        )
        bodies = (
            {
                "n_layer": sizes.layers,
                "n_embd": sizes.width,
                "n_head": sizes.heads,
                "n_positions": sizes.context,
                "vocab_size": sizes.vocabulary,
            },
            {"id": name, "safetensors": {"parameters": {"F32": stored}, "total": stored}},
        )
        for each, body in zip(wanted[2 * place : 2 * place + 2], bodies, strict=True):
            path = root / each.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(body), "utf-8")
            entries.append(RawFile(each.path, *digest(path)))
    return Manifest.of("gpt_family", "public", root, entries)


def test_sizes_read_from_the_hub_answer_the_table(tmp_path: Path) -> None:
    manifest = hub_folder(tmp_path / "raw")
    manifest.write(tmp_path / "manifest.json")
    measured = closed_forms.measure_closed_forms(
        checkpoints=[tmp_path / "manifest.json"],
        family_table=tmp_path / "family.parquet",
        summary=tmp_path / "summary.json",
    )
    own = [each for each in measured if each.output_id == "tab_gpt_family"]
    assert len(own) == 30
    for each in own:
        key = (each.output_id, each.quantity, each.condition)
        assert str(each.value) == rows()[key].published


def test_numbers_stored_follow_from_the_formula() -> None:
    """The printed numbers stored are learned numbers and masks, for all five."""
    for name in article.FAMILY:
        printed = next(
            int(row.published)
            for row in rows().values()
            if row.quantity == "numbers stored" and row.condition.startswith(f"{name};")
        )
        assert closed_forms.stored_formula(name) == printed


def test_a_page_of_another_form_is_refused(tmp_path: Path) -> None:
    manifest = hub_folder(tmp_path / "raw")
    entry = manifest.files[0]
    path = tmp_path / "raw" / entry.path
    path.write_text("{}", "utf-8")
    other = Manifest.of(
        "gpt_family", "public", tmp_path / "raw", [RawFile(entry.path, *digest(path))]
    )
    with pytest.raises(DataError, match="no configuration"):
        closed_forms.read_family(other)
