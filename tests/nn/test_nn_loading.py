"""Weights enter by name, strictly: whatever does not fit is refused and nothing is written."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from remeasure.errors import DataError
from remeasure.nn.checkpoints.loading import Name, Names, load, published_names, read_safetensors
from remeasure.nn.checkpoints.torch_file import read_torch


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.blocks = nn.ModuleList(nn.Linear(4, 6) for _ in range(2))


NAMES = Names(
    [
        Name("embed.weight", "wte.weight"),
        Name("embed.weight", "tok.weight"),
        Name("blocks.{i}.weight", "h.{i}.mlp.w", transpose=True),
        Name("blocks.{i}.bias", "h.{i}.mlp.b"),
    ],
    ignored=["lm_head.weight", "h.{i}.attn.mask"],
)


def _published(seed: int = 0) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = {"wte.weight": (5, 4)}
    for block in range(2):
        shapes |= {f"h.{block}.mlp.w": (4, 6), f"h.{block}.mlp.b": (6,)}
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def test_there_and_back() -> None:
    model, tensors = Small(), _published()
    extra = {"lm_head.weight": torch.zeros(5, 4), "h.1.attn.mask": torch.zeros(2)}
    report = load(model, tensors | extra, NAMES, where="here")
    assert report.loaded == tuple(sorted(tensors))
    assert report.ignored == ("h.1.attn.mask", "lm_head.weight")
    assert report.parameters == 20 + 2 * 30
    assert torch.equal(model.blocks[1].weight, tensors["h.1.mlp.w"].T)
    back = published_names(model, NAMES)
    assert back.keys() == tensors.keys()
    assert all(torch.equal(back[name], tensors[name]) for name in tensors)


def test_buffers_with_a_published_name_are_filled() -> None:
    model = nn.BatchNorm1d(3)
    names = Names([Name("{part}", "norm.{part}")], ignored=["norm.num_batches_tracked"])
    filled = {f"norm.{name}": torch.rand(3) for name in ("weight", "bias", "running_mean")}
    load(model, filled, names, where="here")
    assert torch.equal(model.running_mean, filled["norm.running_mean"])
    assert torch.equal(published_names(model, names)["norm.running_mean"], model.running_mean)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("h.1.mlp.w"), "h.1.mlp.w: missing"),
        (lambda t: t.update({"h.2.mlp.b": torch.zeros(6)}), "h.2.mlp.b: the model has no place"),
        (lambda t: t.update({"other": torch.zeros(6)}), "other: the model has no place"),
        (
            lambda t: t.update({"h.0.mlp.w": torch.zeros(6, 4)}),
            r"h.0.mlp.w: shape \(4, 6\), the model needs \(6, 4\)",
        ),
        (lambda t: t["h.0.mlp.b"][3].fill_(float("nan")), "h.0.mlp.b: holds numbers that are not"),
        (lambda t: t.update({"tok.weight": t["wte.weight"]}), "tok.weight fills the same"),
        (
            lambda t: t.update({"lm_head.weight_scale": torch.ones(1)}),
            "lm_head.weight_scale: the model has no place",
        ),
        (
            lambda t: t.update({"h.0.more.attn.mask": torch.ones(1)}),
            "h.0.more.attn.mask: the model has no place",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name_and_nothing_is_written(change, message) -> None:  # type: ignore[no-untyped-def]
    model, tensors = Small(), _published()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    change(tensors)
    with pytest.raises(DataError, match=message) as caught:
        load(model, tensors, NAMES, where="weights/of/it")
    assert "weights/of/it" in str(caught.value)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_files(tmp_path: Path) -> None:
    tensors = _published()
    names = sorted(tensors)
    for place, part in enumerate((names[:2], names[2:])):
        save_file({name: tensors[name] for name in part}, tmp_path / f"{place}.safetensors")
    paths = [tmp_path / "0.safetensors", tmp_path / "1.safetensors"]
    found = read_safetensors(paths)
    assert all(torch.equal(found[name], tensors[name]) for name in names)
    with pytest.raises(DataError, match="stands in two files"):
        read_safetensors([paths[0], paths[0]])
    with pytest.raises(DataError, match="does not exist"):
        read_safetensors([tmp_path / "none.safetensors"])
    paths[0].write_bytes(paths[0].read_bytes()[:-7])
    with pytest.raises(DataError, match="no whole safetensors file"):
        read_safetensors(paths)


class Code:
    """A pickle of it touches a file when it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("zipped", [True, False])
def test_files_of_torch(tmp_path: Path, zipped: bool) -> None:
    path, tensors = tmp_path / "weights.bin", _published()
    torch.save(tensors, path, _use_new_zipfile_serialization=zipped)
    found = read_torch(path)
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    load(Small(), found, NAMES, where=str(path))
    whole = path.read_bytes()
    for length in (0, 3, 20, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match="no whole file") as caught:
            read_torch(path)
        assert str(path) in str(caught.value)
    with pytest.raises(DataError, match="does not exist"):
        read_torch(tmp_path / "none.bin")


def test_a_pickle_with_code_is_refused_and_does_not_run(tmp_path: Path) -> None:
    path, ran = tmp_path / "weights.bin", tmp_path / "ran"
    tensors: dict[str, object] = {**_published(), "extra": Code(ran)}
    torch.save(tensors, path)
    with pytest.raises(DataError, match=r"GLOBAL posix\.system") as caught:
        read_torch(path)
    assert str(path) in str(caught.value)
    path.write_bytes(pickle.dumps(tensors, protocol=2))
    with pytest.raises(DataError, match="holds more than tensors"):
        read_torch(path)
    assert not ran.exists()


@pytest.mark.parametrize("content", [[torch.ones(2)], {"step": 3}, {"model": {"w": torch.ones(2)}}])
def test_what_is_no_table_of_tensors_is_refused(tmp_path: Path, content: object) -> None:
    torch.save(content, tmp_path / "training.bin")
    with pytest.raises(DataError, match="something else than tensors by name"):
        read_torch(tmp_path / "training.bin")
