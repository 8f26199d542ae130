"""The decoder out of a package: random weights in its file's form, its label, and no row."""

from __future__ import annotations

import math
import typing
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from matplotlib.figure import Figure

from nn_parity import moved
from remeasure.draw.save import check_axes
from remeasure.draw.style import THEMES
from remeasure.errors import SourceError
from remeasure.fetch.manifest import Manifest, RawFile, digest
from remeasure.nn.layers.cache import KeyValueCache
from remeasure.nn.layers.stretch import Rope
from remeasure.nn.models.llama import SMOLLM2_135M, Llama, LlamaConfig
from remeasure.plan import Plan
from remeasure.store.frames import read_frame
from remeasure.studies.gpt import article, decoder, drawn
from remeasure.studies.gpt.chart_decoder import decoder_lens
from remeasure.studies.gpt.decoder import EXPECTED, DecoderStep, Opened, layer_chances, read_decoder
from remeasure.studies.gpt.decoder_tables import CACHES, FACE, LABEL, LAYERS, NEXT, PROMPTS
from remeasure.studies.gpt.outputs import STUDY
from remeasure.studies.gpt.published import rows
from remeasure.studies.gpt.read_tables import TOKENS
from remeasure.studies.gpt.table_decoder import tab_decoder

PROJECT = Path(__file__).parents[3]
DEFAULT, OVERLAY = PROJECT / "config/config.yaml", PROJECT / "config/gpt_decoder.yaml"
TINY = LlamaConfig(
    vocabulary=40, width=24, layers=3, heads=6, groups=2, hidden=32, rope=Rope(theta=500.0)
)
IDS = (3, 17, 5, 5, 39, 0, 8)


def tiny(config: LlamaConfig = TINY) -> Llama:
    model = moved(Llama(config), seed=2, spread=0.5)
    assert isinstance(model, Llama)
    return model


def test_the_last_layers_lens_is_what_the_model_says() -> None:
    model = tiny()
    chances = layer_chances(model, IDS, "cpu")
    with torch.inference_mode():
        said = model(torch.tensor([IDS]))[0, -1].double().softmax(-1)
    assert chances.shape == (TINY.layers + 1, TINY.vocabulary)
    torch.testing.assert_close(chances[-1], said)
    torch.testing.assert_close(chances.sum(-1), torch.ones(4, dtype=torch.float64))


def test_the_lens_of_a_layer_is_a_model_that_ends_there() -> None:
    model = tiny()
    chances = layer_chances(model, IDS, "cpu")
    for layer in (0, 1, 2):
        shorter = tiny()
        shorter.blocks = shorter.blocks[:layer]
        shorter.windows = shorter.windows[:layer]
        with torch.inference_mode():
            said = shorter(torch.tensor([IDS]))[0, -1].double().softmax(-1)
        torch.testing.assert_close(chances[layer], said)
        assert (chances[layer] - chances[-1]).abs().max() > 1e-3


def test_ranks_count_from_the_likeliest() -> None:
    chances = torch.tensor([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], dtype=torch.float64)
    assert decoder.ranks(chances, 2).tolist() == [2, 2]
    assert decoder.ranks(chances, 0).tolist() == [3, 1]


def test_bytes_of_a_cache_are_those_of_its_numbers() -> None:
    """Against the storage of the tensors themselves, and the shipped model's sizes by hand."""
    model = tiny()
    cache = model.cache(1, len(IDS))
    model.hidden(torch.tensor([IDS]), None, cache)
    assert isinstance(cache, KeyValueCache)
    held = sum(part.untyped_storage().nbytes() for part in (cache._keys, cache._values))
    assert decoder.counted_bytes(model, IDS, "cpu") == held
    assert decoder.cache_bytes(TINY, len(IDS), 4) == held
    # 30 layers, 3 of 9 heads, 64 channels: keys and values of a token in 16 bits.
    assert decoder.cache_bytes(SMOLLM2_135M, 1, 2) == 2 * 30 * 3 * 64 * 2


# --- the step -------------------------------------------------------------------------------


def gguf_file(path: Path) -> None:
    """Random weights as the package stores its own, with a token for every byte."""
    gguf = pytest.importorskip("gguf", reason="the gguf package writes these files")
    letters = pytest.importorskip("tokenizers").pre_tokenizers.ByteLevel.alphabet()
    tokens = ["<|end|>", *sorted(letters), "ĠK", "Ga"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(2)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_rope_freq_base(500.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_merges(["Ġ K", "G a"])
    writer.add_token_types([3, *[1] * (len(tokens) - 1)])
    writer.add_eos_token_id(0)
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (len(tokens), 32), "output_norm": (32,)}
    for block in ("blk.0", "blk.1"):
        shapes |= {f"{block}.attn_norm": (32,), f"{block}.ffn_norm": (32,)}
        shapes |= {f"{block}.attn_q": (32, 32), f"{block}.attn_output": (32, 32)}
        shapes |= {f"{block}.attn_k": (16, 32), f"{block}.attn_v": (16, 32)}
        shapes |= {f"{block}.ffn_gate": (64, 32), f"{block}.ffn_up": (64, 32)}
        shapes |= {f"{block}.ffn_down": (32, 64)}
    rng = np.random.default_rng(0)
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", rng.normal(0, 0.4, shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read(at: Path) -> dict[str, Path]:
    outputs = {
        name: at / f"decoder_{file}.parquet"
        for name, file in (
            ("tokens", "tokens"),
            ("prompts", "prompts"),
            ("following", "next"),
            ("layers", "layers"),
            ("caches", "caches"),
        )
    }
    manifest = at / "gpt_decoder.manifest.json"
    # No row: the step gives no measurement.
    given = read_decoder(
        checkpoint=manifest, **outputs, settings=DecoderStep(device="cpu", threads=1)
    )
    assert given is None
    return outputs


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("decoder")
    gguf_file(at / "tiny.gguf")
    files = [RawFile("tiny.gguf", *digest(at / "tiny.gguf"))]
    Manifest.of("gpt_decoder", "package", at, files).write(at / "gpt_decoder.manifest.json")
    return at


@pytest.fixture(scope="module")
def found(shipped: Path) -> dict[str, pl.DataFrame]:
    schemas = (TOKENS, PROMPTS, NEXT, LAYERS, CACHES)
    return {
        name: read_frame(path, schema)
        for (name, path), schema in zip(read(shipped).items(), schemas, strict=True)
    }


@pytest.fixture(scope="module")
def own(shipped: Path) -> Opened:
    return decoder.opened(shipped / "gpt_decoder.manifest.json", torch.device("cpu"))


def test_every_row_carries_the_label(found: dict[str, pl.DataFrame]) -> None:
    assert LABEL == "SmolLM2-135M out of a package, not the study's GPT-2"
    for name, frame in found.items():
        assert set(frame["model"]) == {LABEL}, name
    for name in ("prompts", "following", "layers", "caches"):
        prompts = found[name]["prompt"].unique(maintain_order=True).to_list()
        assert prompts == [*article.LENS_PROMPTS.values(), article.RUY_LOPEZ]


def test_probabilities_are_those_of_the_model(found: dict[str, pl.DataFrame], own: Opened) -> None:
    """Each by a pass of its own over the text so far."""

    def after(ids: list[int]) -> torch.Tensor:
        with torch.inference_mode():
            return own.model(torch.tensor([ids]))[0, -1].double().softmax(-1)

    for row in found["prompts"].iter_rows(named=True):
        ids, word = own.ids(row["prompt"]), own.ids(EXPECTED[row["prompt"]])
        each = [float(after([*ids, *word[:place]])[token]) for place, token in enumerate(word)]
        assert row["tokens"] == len(ids)
        assert row["probability"] == pytest.approx(each[0], rel=1e-4)
        assert row["word_probability"] == pytest.approx(math.prod(each), rel=1e-3)
        top = found["following"].filter(pl.col("prompt") == row["prompt"])
        order = after(ids).sort(descending=True)
        assert top["rank"].to_list() == [1, 2, 3, 4, 5]
        assert top["probability"].to_list() == pytest.approx(order.values[:5].tolist(), rel=1e-4)
        assert top["token"].to_list() == [own.shown(token) for token in order.indices[:5].tolist()]
        assert row["rank"] == 1 + order.indices.tolist().index(word[0])
    assert found["prompts"]["first"].to_list() == ["␣K", "␣", "␣"]
    sentence = own.ids(article.ALPHAGO_TEXT)
    said = found["tokens"]["probability"]
    assert len(said) == len(sentence) - 1
    assert said[6] == pytest.approx(float(after(sentence[:7])[sentence[7]]), rel=1e-4)


def test_layers_end_at_the_guess(found: dict[str, pl.DataFrame]) -> None:
    for prompt in EXPECTED:
        layers = found["layers"].filter(pl.col("prompt") == prompt)
        assert layers["layer"].to_list() == [0, 1, 2]
        last = layers.row(-1, named=True)
        first = found["following"].filter(pl.col("prompt") == prompt).row(0, named=True)
        assert (last["token"], last["final"]) == (first["token"], first["token"])
        assert (last["final_rank"], last["final_probability"]) == (1, last["probability"])
        for row in layers.iter_rows(named=True):
            assert (row["final_rank"] == 1) == (row["final_probability"] == row["probability"])
        settled = found["prompts"].filter(pl.col("prompt") == prompt)["settled"].item()
        leads = [rank == 1 for rank in layers["final_rank"]]
        assert all(leads[settled:])
        assert not settled or not leads[settled - 1]


def test_caches_are_counted_to_the_formula(found: dict[str, pl.DataFrame]) -> None:
    for row in found["caches"].iter_rows(named=True):
        assert row["counted"] == row["formula"] == 2 * 2 * 2 * 8 * row["tokens"] * 4
        assert (row["half"], row["ungrouped"]) == (row["formula"] // 2, 2 * row["formula"])
        assert row["weights"] == "F32"


def test_spaces_line_ends_and_marks_show(own: Opened) -> None:
    assert own.shown(own.ids(" K")[0]) == "␣K"
    assert own.shown(own.ids("\n")[0]) == "⏎"
    assert own.shown(own.ids("\x18")[0]) == "\N{REPLACEMENT CHARACTER}"
    assert own.shown(0) == "<|end|>"


def test_the_same_bytes_again_and_no_other_file(shipped: Path, tmp_path: Path) -> None:
    first = {name: path.read_bytes() for name, path in read(shipped).items()}
    assert {name: path.read_bytes() for name, path in read(shipped).items()} == first
    (tmp_path / "tiny.gguf").write_bytes((shipped / "tiny.gguf").read_bytes()[:-1] + b"x")
    known = Manifest.read(shipped / "gpt_decoder.manifest.json")
    other = tmp_path / "other.manifest.json"
    Manifest.of("gpt_decoder", "package", tmp_path, known.files).write(other)
    with pytest.raises(SourceError, match="SHA-256"):
        decoder.opened(other, torch.device("cpu"))


# --- what is shown, and what is not ---------------------------------------------------------


def test_the_label_stands_on_table_and_figure(shipped: Path, tmp_path: Path) -> None:
    read(shipped)
    given = {parameter: shipped / file for parameter, file in drawn.TABLES["tab_decoder"]}
    tab_decoder(**given, table=tmp_path / "tab_decoder.html", origin="package")
    text = (tmp_path / "tab_decoder.html").read_text("utf-8").replace("&#39;", "'")
    assert text.count(f"<caption>Next tokens said by {LABEL}</caption>") == 1
    assert text.count(f"<caption>Keys and values kept by {LABEL}</caption>") == 1
    assert text.count(f"<caption>Tokens of a sentence, read by {LABEL}</caption>") == 1
    assert "No published number is answered here." in text
    chart = decoder_lens(read_frame(shipped / drawn.FIGURES["fig_decoder_lens"][0][1]))
    assert chart.coverage == FACE == LABEL.replace(" out of a package", "")
    assert f"read by {LABEL}: after 'In 1997" in chart.alt_text
    with THEMES[0].context():
        figure = Figure(figsize=chart.size, layout="constrained")
        chart.draw(figure, THEMES[0])
        check_axes(figure)
        assert len(figure.get_axes()) == 2
        figure.draw_without_rendering()
        for ax in figure.get_axes():
            assert ax.title.get_window_extent().x1 <= figure.bbox.x1


def test_it_answers_no_published_row() -> None:
    assert {output.id for output in STUDY.outputs if output.optional} == set(drawn.DECODER)
    assert not {row.output_id for row in rows().values()} & set(drawn.DECODER)
    wanted = typing.get_type_hints(read_decoder)
    assert wanted["return"] is type(None)
    assert "measurements" not in wanted


def test_the_rest_of_a_run_does_not_see_it() -> None:
    """Every other step is called with the same words, so that it writes the same rows."""
    core = {"studies": ["gpt"], "run": "default"}
    without = Plan.from_files([DEFAULT], core)
    with_it = Plan.from_files([DEFAULT, OVERLAY], core)
    before, after = without._settings, with_it._settings
    new = {"fetching:list_decoder", "decoder:read_decoder"}
    new |= {f"{drawn.module_of(name)}:{name}" for name in drawn.DECODER}
    assert set(after) - set(before) == {f"studies.gpt.{name}" for name in new}
    assert {name: after[name] for name in before} == before
    for function in ("fig_logit_lens", "fig_decoder_lens"):
        assert (function in drawn.shown(drawn.FIGURES, decoder=False)) == ("logit" in function)
