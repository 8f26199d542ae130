"""One plain training loop for every network: AdamW, a schedule, and a stop that costs nothing.

A run that is killed and started again goes on from its checkpoint, and on the CPU ends with
the same bytes of weights as one that was never stopped: batches are functions of their number,
and weights, moments, the gradient scaler and torch's generators are all kept.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from remeasure.errors import ConfigError, DataError
from remeasure.nn.train.saved import read_saved, write_saved
from remeasure.nn.train.schedules import OneCycle, Schedule

Precision = Literal["auto", "float32", "bfloat16", "float16"]
Loss = Callable[[Any, Any], Tensor]
Observe = Callable[[int, Any], dict[str, float]]

_TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}
#: Losses stay on the device for so many steps before one look at them all.
_LOOK = 50


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How to train, apart from the learning rate.

    Attributes
    ----------
    steps
        Updates of the weights.
    weight_decay, betas, eps
        Of AdamW (Loshchilov and Hutter 2019, algorithm 2).
    clip
        Largest norm of the whole gradient; None: not clipped.
    accumulate
        Batches whose mean loss makes one update.
    decay
        Which parameters decay: all, or only those of two axes and more.
    precision
        Of the forward pass. *auto* is float16 with a gradient scaler on CUDA, float32 elsewhere.
    save_every
        Updates between two checkpoints; 0: only the last.
    seed
        Of torch's generators (dropout and the like).
    """

    steps: int
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    clip: float | None = None
    accumulate: int = 1
    decay: Literal["all", "matrices"] = "all"
    precision: Precision = "auto"
    save_every: int = 0
    seed: int = 42

    def __post_init__(self) -> None:
        if self.steps < 0 or self.accumulate < 1 or self.save_every < 0:
            raise ConfigError(
                "a training needs steps >= 0, accumulate >= 1 and save_every >= 0",
                where=self,
                remedy="correct the plan",
            )


def parameter_groups(model: nn.Module, plan: Plan) -> list[dict[str, Any]]:
    """What AdamW learns, each parameter once: those that decay, then those that do not."""
    learned = [each for each in model.parameters() if each.requires_grad]
    decaying = [each for each in learned if plan.decay == "all" or each.ndim >= 2]
    rest = [each for each in learned if plan.decay != "all" and each.ndim < 2]
    groups = [(decaying, plan.weight_decay), (rest, 0.0)]
    return [{"params": part, "weight_decay": decay} for part, decay in groups if part]


def train(
    model: nn.Module,
    loss: Loss,
    batch: Callable[[int], Any],
    *,
    plan: Plan,
    schedule: Schedule,
    device: str | torch.device = "cpu",
    checkpoint: Path | None = None,
    observe: Observe | None = None,
    observe_every: int = 0,
    progress: str | None = None,
) -> pl.DataFrame:
    """Train a model in place, from its own weights or from where the checkpoint stands.

    Parameters
    ----------
    model
        Moved to ``device`` and set to training; its modes are given back at the end.
    loss
        ``loss(model, batch)``, a scalar; the only chance it may use is torch's generators.
    batch
        ``batch(number)`` with numbers from 0, ``plan.accumulate`` of them a step: a function of
        its number alone, so that a run that goes on draws what it would have drawn. It may
        return tensors on any device that ``loss`` can deal with.
    schedule
        The learning rate of a step. An `OneCycle` moves the first beta as well.
    device
        Where to compute.
    checkpoint
        Written every ``plan.save_every`` steps and at the end, read at the start; None: none.
    observe
        Measures the model after a step's update, in evaluation mode and without gradients; it
        changes neither the modes nor the generators, so that looking changes no training.
    observe_every
        After steps ``n - 1, 2 n - 1, ...`` and the last; 0: only after the last.
    progress
        What a bar on standard error says, where that is a terminal; None: no bar.

    Returns
    -------
    polars.DataFrame
        One row a step: ``step`` (from 0), ``rate``, ``loss`` (mean over the accumulated
        batches, before the update), ``gradient_norm`` (before clipping), and what ``observe``
        measured, null where it did not look.

    Raises
    ------
    DataError
        When the checkpoint is damaged or belongs to another plan, schedule or model, or when
        a loss is not finite.
    """
    place = torch.device(device)
    cuda = [place] if place.type == "cuda" else []
    with _modes_kept(model), torch.random.fork_rng(cuda):
        torch.manual_seed(plan.seed)
        run = _Run(model.to(place).train(), plan, schedule, place)
        if checkpoint is not None and checkpoint.exists():
            run.resume(checkpoint)
        with _bar(progress, run.done, plan.steps) as advance:
            while run.done < plan.steps:
                run.update(loss, batch)
                last = run.done == plan.steps
                if observe and (last or (observe_every and run.done % observe_every == 0)):
                    run.look()
                    run.observe(observe)
                due = last or (plan.save_every > 0 and run.done % plan.save_every == 0)
                if checkpoint is not None and due:
                    run.look()
                    write_saved(checkpoint, run.state())
                advance()
        run.look()
    return run.table()


class _Run:
    """A training under way."""

    def __init__(
        self, model: nn.Module, plan: Plan, schedule: Schedule, device: torch.device
    ) -> None:
        self.model, self.plan, self.device = model, plan, device
        self.rates = [float(schedule(step)) for step in range(plan.steps)]
        moving = [
            schedule.beta(step) if isinstance(schedule, OneCycle) else None
            for step in range(plan.steps)
        ]
        self.betas = [plan.betas[0] if each is None else each for each in moving]
        self.optimizer = torch.optim.AdamW(
            parameter_groups(model, plan),
            lr=0.0,
            betas=plan.betas,
            eps=plan.eps,
            fused=device.type in ("cpu", "cuda"),
        )
        self.learned = [each for group in self.optimizer.param_groups for each in group["params"]]
        precision = plan.precision
        if precision == "auto":
            precision = "float16" if device.type == "cuda" else "float32"
        self.type = _TYPES.get(precision)
        self.scaler = torch.amp.GradScaler(device.type, enabled=precision == "float16")
        self.optimizer.zero_grad(set_to_none=True)
        self.done = 0
        self.losses: list[Tensor] = []
        self.norms: list[Tensor] = []
        self.observed: list[tuple[int, dict[str, float]]] = []
        self.seen = 0

    def update(self, loss: Loss, batch: Callable[[int], Any]) -> None:
        """One step: gradients of the accumulated batches, then AdamW."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.rates[self.done]
            group["betas"] = (self.betas[self.done], self.plan.betas[1])
        parts = self.plan.accumulate
        total = torch.zeros((), device=self.device)
        for part in range(parts):
            taken = batch(self.done * parts + part)
            mixed = torch.autocast(self.device.type, self.type, enabled=self.type is not None)
            with mixed:
                value = loss(self.model, taken) / parts
            self.scaler.scale(value).backward()  # type: ignore[no-untyped-call]
            total += value.detach().float()
        self.scaler.unscale_(self.optimizer)
        limit = float("inf") if self.plan.clip is None else self.plan.clip
        self.norms.append(nn.utils.clip_grad_norm_(self.learned, limit).detach())
        self.losses.append(total)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        self.done += 1
        if self.done - self.seen >= _LOOK:
            self.look()

    def look(self) -> None:
        """Bring losses to the CPU and refuse to go on from one that is not finite."""
        fresh = slice(self.seen, self.done)
        for kept in (self.losses, self.norms):
            if kept[fresh]:
                kept[fresh] = torch.stack(kept[fresh]).cpu().unbind()
        for step in range(self.seen, self.done):
            if not torch.isfinite(self.losses[step]):
                raise DataError(
                    f"the loss is {self.losses[step].item()}: the training has diverged",
                    where=f"step {step} of {self.plan.steps}",
                    remedy="lower the learning rate, warm up for longer or clip the gradient",
                )
        self.seen = self.done

    def observe(self, measure: Observe) -> None:
        """Measure without leaving a trace in modes or generators."""
        cuda = [self.device] if self.device.type == "cuda" else []
        with _modes_kept(self.model), torch.random.fork_rng(cuda), torch.no_grad():
            self.model.eval()
            self.observed.append((self.done - 1, measure(self.done - 1, self.model)))

    def identity(self) -> dict[str, Any]:
        """What must agree for a checkpoint to be of this training."""
        plan = dataclasses.asdict(self.plan)
        del plan["save_every"]
        return {
            "plan": plan,
            "schedule": torch.tensor([self.rates, self.betas], dtype=torch.float64),
            "model": {
                name: [str(each.dtype), *each.shape]
                for name, each in self.model.state_dict().items()
            },
            "learned": [name for name, each in self.model.named_parameters() if each.requires_grad],
        }

    def state(self) -> dict[str, Any]:
        """All that a process needs to go on."""
        cuda = self.device.type == "cuda"
        return {
            "identity": self.identity(),
            "done": self.done,
            "weights": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "generators": [
                torch.get_rng_state(),
                *([torch.cuda.get_rng_state(self.device)] if cuda else []),
            ],
            "losses": torch.stack(self.losses) if self.losses else torch.empty(0),
            "norms": torch.stack(self.norms) if self.norms else torch.empty(0),
            "observed": self.observed,
        }

    def resume(self, path: Path) -> None:
        """Take up the state of a checkpoint; DataError when it is another training's."""
        state = read_saved(path)
        kept, own = state.get("identity", {}), self.identity()
        for part, value in own.items():
            other = kept.get(part)
            equal = torch.equal(other, value) if isinstance(other, Tensor) else other == value
            if not equal:
                raise DataError(
                    "this checkpoint belongs to another training: "
                    + _difference(part, other, value),
                    where=path,
                    remedy="delete the file to start again, or restore the settings it came from",
                )
        self.model.load_state_dict(state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        torch.set_rng_state(state["generators"][0])
        if self.device.type == "cuda" and len(state["generators"]) > 1:
            torch.cuda.set_rng_state(state["generators"][1], self.device)
        self.done = self.seen = state["done"]
        self.losses = list(state["losses"].unbind())
        self.norms = list(state["norms"].unbind())
        self.observed = [(step, dict(values)) for step, values in state["observed"]]

    def table(self) -> pl.DataFrame:
        """One row a step."""
        table = pl.DataFrame(
            {
                "step": range(self.done),
                "rate": self.rates[: self.done],
                "loss": [each.item() for each in self.losses],
                "gradient_norm": [each.item() for each in self.norms],
            },
            schema={
                "step": pl.Int64,
                "rate": pl.Float64,
                "loss": pl.Float64,
                "gradient_norm": pl.Float64,
            },
        )
        columns = list(dict.fromkeys(name for _, values in self.observed for name in values))
        for column in columns:
            found = {step: values.get(column) for step, values in self.observed}
            table = table.with_columns(
                pl.Series(column, [found.get(step) for step in range(self.done)], pl.Float64)
            )
        return table


def _difference(part: str, kept: Any, own: Any) -> str:
    """In words: the first thing in which two identities differ."""
    if isinstance(kept, dict) and isinstance(own, dict):
        for key in sorted(kept.keys() | own.keys()):
            if kept.get(key) != own.get(key):
                return f"its {part} has {key} = {kept.get(key)}, this one {own.get(key)}"
    return f"its {part} is not this one's"


@contextlib.contextmanager
def _modes_kept(model: nn.Module) -> Iterator[None]:
    """Give every module its mode (training or evaluation) back at the end."""
    modes = {module: module.training for module in model.modules()}
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


@contextlib.contextmanager
def _bar(title: str | None, done: int, total: int) -> Iterator[Callable[[], None]]:
    """A progress bar on standard error, invisible where that is no terminal."""
    if title is None:
        yield lambda: None
        return
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    ) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda: bar.advance(task)
