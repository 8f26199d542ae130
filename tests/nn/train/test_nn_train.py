"""The training loop against one written out by hand, and against being killed."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from remeasure.errors import ConfigError, DataError
from remeasure.nn.train.loop import Plan, parameter_groups, train
from remeasure.nn.train.schedules import constant, one_cycle, warmup_cosine

PLAN = Plan(steps=12, weight_decay=0.1, betas=(0.9, 0.95), clip=0.5, seed=3)
RATE = warmup_cosine(3e-2, 12, warm=3)


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 16), nn.LayerNorm(16), nn.Dropout(0.2), nn.Linear(16, 3))


def data(number: int, rows: int = 8) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(number + 100)
    x = torch.randn(rows, 6, generator=generator)
    return x, x[:, :3].argmax(-1)


def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    return F.cross_entropy(model(batch[0]), batch[1])


def weights(model: nn.Module) -> str:
    tensors = (each.detach().numpy().tobytes() for each in model.state_dict().values())
    return hashlib.sha256(b"".join(tensors)).hexdigest()


def by_hand(model: nn.Module, plan: Plan) -> list[tuple[float, float]]:
    """The loop as a textbook has it."""
    matrices = [each for each in model.parameters() if each.ndim >= 2]
    vectors = [each for each in model.parameters() if each.ndim < 2]
    optimizer = torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": plan.weight_decay},
            {"params": vectors, "weight_decay": 0.0 if plan.decay == "matrices" else 0.1},
        ],
        betas=plan.betas,
        eps=plan.eps,
    )
    torch.manual_seed(plan.seed)
    model.train()
    rows = []
    for step in range(plan.steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE(step)
        optimizer.zero_grad()
        value = loss(model, data(step))
        value.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), plan.clip or float("inf"))
        optimizer.step()
        rows.append((value.item(), norm.item()))
    return rows


@pytest.mark.parametrize("decay", ["all", "matrices"])
@pytest.mark.parametrize("clip", [None, 0.5])
def test_it_is_the_loop_written_out(decay: str, clip: float | None) -> None:
    plan = dataclasses.replace(PLAN, decay=decay, clip=clip)
    ours, other = network(), network()
    table = train(ours, loss, data, plan=plan, schedule=RATE)
    rows = by_hand(other, plan)
    torch.testing.assert_close(dict(ours.state_dict()), dict(other.state_dict()))
    assert table["loss"].to_list() == pytest.approx([value for value, _ in rows], rel=1e-5)
    assert table["gradient_norm"].to_list() == pytest.approx([norm for _, norm in rows], rel=1e-5)
    assert table["rate"].to_list() == [RATE(step) for step in range(12)]
    assert table["step"].to_list() == list(range(12))


def test_momentum_moves_with_one_cycle() -> None:
    schedule = one_cycle(3e-2, 12)
    ours, other = network(), network()
    train(ours, loss, data, plan=dataclasses.replace(PLAN, clip=None), schedule=schedule)
    optimizer = torch.optim.AdamW(other.parameters(), betas=(0.9, 0.95), weight_decay=0.1)
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-2, total_steps=12)
    torch.manual_seed(PLAN.seed)
    for step in range(12):
        optimizer.zero_grad()
        loss(other, data(step)).backward()
        optimizer.step()
        if step < 11:
            cycle.step()
    torch.testing.assert_close(dict(ours.state_dict()), dict(other.state_dict()))


def test_parts_equal_one_large_batch() -> None:
    def whole(number: int) -> tuple[Tensor, Tensor]:
        parts = [data(4 * number + part) for part in range(4)]
        return torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts])

    # Sums of different order: eps keeps AdamW from blowing rounding up where a gradient is 0.
    plan = dataclasses.replace(PLAN, eps=1e-3)
    ours, other = (nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3)) for _ in "ab")
    other.load_state_dict(ours.state_dict())
    left = train(
        ours, loss, data, plan=dataclasses.replace(plan, accumulate=4), schedule=constant(1e-2)
    )
    right = train(other, loss, whole, plan=plan, schedule=constant(1e-2))
    torch.testing.assert_close(dict(ours.state_dict()), dict(other.state_dict()))
    assert left["loss"].to_list() == pytest.approx(right["loss"].to_list(), rel=1e-5)


def test_the_gradient_is_clipped() -> None:
    """Without decay and with huge eps, AdamW's first step is the clipped gradient, scaled."""
    model = nn.Linear(6, 3)
    before = [each.detach().clone() for each in model.parameters()]
    plan = Plan(steps=1, weight_decay=0.0, eps=1e6, clip=1e-3)
    table = train(model, loss, data, plan=plan, schedule=constant(1e6))
    moved = torch.cat(
        [(a - b).flatten() for a, b in zip(model.parameters(), before, strict=True)]
    ).norm()
    assert table["gradient_norm"][0] > 0.1
    assert moved.item() == pytest.approx(1e-3, rel=1e-3)


def test_each_parameter_is_learned_once() -> None:
    tied = nn.ModuleDict({"a": nn.Embedding(5, 4), "b": nn.Linear(4, 5), "norm": nn.LayerNorm(4)})
    tied["b"].weight = tied["a"].weight
    tied["norm"].bias.requires_grad_(False)
    groups = parameter_groups(tied, dataclasses.replace(PLAN, decay="matrices"))
    assert [len(group["params"]) for group in groups] == [1, 2]
    assert [group["weight_decay"] for group in groups] == [0.1, 0.0]


def test_looking_changes_nothing() -> None:
    def look(step: int, model: nn.Module) -> dict[str, float]:
        assert not model.training
        assert not torch.is_grad_enabled()
        return {"drawn": torch.rand(()).item(), "at": float(step)}

    outside = torch.get_rng_state()
    ours, other = network(), network()
    ours.eval()
    table = train(ours, loss, data, plan=PLAN, schedule=RATE, observe=look, observe_every=5)
    train(other, loss, data, plan=PLAN, schedule=RATE)
    assert weights(ours) == weights(other)
    assert not ours.training
    assert not torch.equal(outside, torch.get_rng_state())  # network() seeds; train does not
    assert table["at"].to_list() == [
        4.0 if s == 4 else 9.0 if s == 9 else None for s in range(11)
    ] + [11.0]


def test_the_callers_generator_is_left_alone() -> None:
    model = network()
    before = torch.get_rng_state()
    train(model, loss, data, plan=PLAN, schedule=RATE)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize(("precision", "tolerance"), [("bfloat16", 0.1), ("float16", 0.02)])
def test_mixed_precision_follows_the_full_one(precision: str, tolerance: float) -> None:
    """The gradient scaler runs on the CPU too: scaled, unscaled, clipped, stepped."""

    def plain(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        out = model(batch[0])
        assert out.dtype == (torch.float32 if full else getattr(torch, precision))
        return F.cross_entropy(out.float(), batch[1])

    ours, other = (nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3)) for _ in "ab")
    other.load_state_dict(ours.state_dict())
    full = False
    left = train(
        ours, plain, data, plan=dataclasses.replace(PLAN, precision=precision), schedule=RATE
    )
    full = True
    right = train(other, plain, data, plan=PLAN, schedule=RATE)
    assert left["loss"].to_list() == pytest.approx(right["loss"].to_list(), rel=tolerance)
    assert left["gradient_norm"].to_list() == pytest.approx(
        right["gradient_norm"].to_list(), rel=5 * tolerance
    )


def test_a_diverged_training_stops() -> None:
    def broken(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        return loss(model, batch) * float("nan")

    with pytest.raises(DataError, match="diverged"):
        train(network(), broken, data, plan=PLAN, schedule=RATE)
    with pytest.raises(ConfigError):
        Plan(steps=3, accumulate=0)


# A training of its own process, slow enough to be hit in the middle.
SCRIPT = """
import sys, time
from pathlib import Path
import test_nn_train as here
def slow(number):
    if number == 7 and sys.argv[2] == "wait":
        Path(sys.argv[1] + ".seventh").touch()
        time.sleep(60)
    return here.data(number)
model = here.network()
here.train(model, here.loss, slow, plan=here.SAVING, schedule=here.RATE,
           checkpoint=Path(sys.argv[1]))
print(here.weights(model))
"""
SAVING = dataclasses.replace(PLAN, save_every=3)


def _process(checkpoint: Path, how: str) -> subprocess.Popen[str]:
    here = Path(__file__).resolve()
    folders = [here.parents[3] / "workflow", here.parents[2], here.parent]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    environment["OMP_NUM_THREADS"] = "1"
    command = [sys.executable, "-c", SCRIPT, str(checkpoint), how]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_a_killed_training_ends_with_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    first = _process(path, "wait")
    deadline = time.monotonic() + 120
    while not (tmp_path / "run.pt.seventh").exists():
        assert first.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    assert torch.load(path, weights_only=True)["done"] == 6

    second = _process(path, "go")
    answer = second.communicate()[0].strip()
    assert second.returncode == 0
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        never = network()
        table = train(never, loss, data, plan=SAVING, schedule=RATE)
    finally:
        torch.set_num_threads(threads)
    assert answer == weights(never)
    # What is finished is not trained further: weights and table come from the checkpoint.
    again = network(seed=9)
    assert train(again, loss, data, plan=SAVING, schedule=RATE, checkpoint=path).equals(table)
    assert weights(again) == weights(never)


def _half(path: Path) -> None:
    def stop(number: int) -> tuple[Tensor, Tensor]:
        if number == 7:
            raise KeyboardInterrupt
        return data(number)

    with pytest.raises(KeyboardInterrupt):
        train(network(), loss, stop, plan=SAVING, schedule=RATE, checkpoint=path)


@pytest.mark.parametrize("harm", ["cut", "flipped", "empty", "text"])
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "run.pt"
    _half(path)
    whole = bytearray(path.read_bytes())
    if harm == "flipped":
        tensors = torch.load(path, weights_only=True)["weights"]
        place = whole.find(tensors["0.weight"].numpy().tobytes())
        assert place > 0
        whole[place + 5] ^= 1
    path.write_bytes(
        {"cut": whole[: len(whole) // 2], "flipped": whole, "empty": b"", "text": b"weights"}[harm]
    )
    with pytest.raises(DataError, match=r"damaged[\s\S]*run\.pt"):
        train(network(), loss, data, plan=SAVING, schedule=RATE, checkpoint=path)


def test_the_checkpoint_of_another_training_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    _half(path)

    def again(model: nn.Module, **changed: object) -> pl.DataFrame:
        options = {"plan": SAVING, "schedule": RATE} | changed
        return train(model, loss, data, checkpoint=path, **options)

    wider = nn.Sequential(nn.Linear(6, 17), nn.LayerNorm(17), nn.Dropout(), nn.Linear(17, 3))
    with pytest.raises(DataError, match=r"its model has 0\.bias[\s\S]*run\.pt"):
        again(wider)
    with pytest.raises(DataError, match=r"its plan has clip = 0\.5, this one 0\.6"):
        again(network(), plan=dataclasses.replace(SAVING, clip=0.6))
    with pytest.raises(DataError, match="schedule"):
        again(network(), schedule=constant(1e-3))
    torch.save({"something": 1}, path)
    with pytest.raises(DataError, match="another training"):
        again(network())


def test_how_often_it_is_saved_may_change(tmp_path: Path) -> None:
    path = tmp_path / "run.pt"
    _half(path)
    model, never = network(), network()
    train(model, loss, data, plan=PLAN, schedule=RATE, checkpoint=path)
    train(never, loss, data, plan=PLAN, schedule=RATE)
    assert weights(model) == weights(never)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run.pt"]
