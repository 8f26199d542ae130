"""Published weights into a model of ours: by name, strictly, or not at all.

A model declares its `Names`: pairs of patterns, ours and theirs. Every tensor of the
checkpoint must be placed and every parameter of the model filled, with equal shapes and
finite numbers; anything else is refused by name before the model is touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from remeasure.errors import DataError

_MARK = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Name:
    """One rule of the mapping.

    Attributes
    ----------
    ours, theirs
        Patterns of parameter names; ``{i}`` stands for a part between dots and keeps
        its value, as in ``blocks.{i}.norm.weight`` and ``encoder.block.{i}.ln.weight``.
    transpose
        Theirs is stored with its two axes exchanged (GPT-2's Conv1D).
    """

    ours: str
    theirs: str
    transpose: bool = False


def _pattern(text: str) -> re.Pattern[str]:
    parts = _MARK.split(text)
    return re.compile(
        "".join(
            f"(?P<{part}>[^.]+)" if place % 2 else re.escape(part)
            for place, part in enumerate(parts)
        )
    )


class Names:
    """How the parameters of a model are called in its published checkpoint, both ways.

    Parameters
    ----------
    rules
        The first one that fits a name counts.
    ignored
        Patterns of tensors in the checkpoint that carry nothing that is learned (masks,
        inverse frequencies) or that repeat another (a tied head).
    """

    def __init__(self, rules: Iterable[Name], ignored: Iterable[str] = ()) -> None:
        self.rules = tuple(rules)
        self._ours = [_pattern(rule.ours) for rule in self.rules]
        self._theirs = [_pattern(rule.theirs) for rule in self.rules]
        self._ignored = [_pattern(each) for each in ignored]

    def ours(self, name: str) -> tuple[str, bool] | None:
        """Our name of one of their tensors, and whether to transpose; None when none fits."""
        for rule, pattern in zip(self.rules, self._theirs, strict=True):
            if hit := pattern.fullmatch(name):
                return _MARK.sub(lambda mark: hit[mark[1]], rule.ours), rule.transpose
        return None

    def theirs(self, name: str) -> tuple[str, bool] | None:
        """Their name of one of our parameters, likewise."""
        for rule, pattern in zip(self.rules, self._ours, strict=True):
            if hit := pattern.fullmatch(name):
                return _MARK.sub(lambda mark: hit[mark[1]], rule.theirs), rule.transpose
        return None

    def ignores(self, name: str) -> bool:
        """Whether a tensor of the checkpoint is left out on purpose."""
        return any(pattern.fullmatch(name) for pattern in self._ignored)


@dataclass(frozen=True)
class Report:
    """What of a checkpoint went where: all three lists sorted."""

    loaded: tuple[str, ...]
    ignored: tuple[str, ...]
    parameters: int


def _own(model: nn.Module, names: Names) -> dict[str, Tensor]:
    """What a checkpoint may fill: every parameter, and the buffers that have a published name."""
    buffers = {name: each for name, each in model.named_buffers() if names.theirs(name)}
    return {**dict(model.named_parameters()), **buffers}


def load(model: nn.Module, tensors: Mapping[str, Tensor], names: Names, *, where: str) -> Report:
    """Fill a model from the tensors of a checkpoint; nothing is written unless all fits.

    Buffers that have a published name are filled too, where the checkpoint has them.

    Parameters
    ----------
    model
        On any device and of any type: tensors are converted to its own.
    tensors
        By their published names.
    where
        The file or folder, for messages.

    Raises
    ------
    DataError
        Naming every tensor that is unknown, missing, of another shape or not finite.
    """
    own = _own(model, names)
    learned = dict(model.named_parameters())
    problems: list[str] = []
    placed: dict[str, Tensor] = {}
    source: dict[str, str] = {}
    ignored: list[str] = []
    for name in sorted(tensors):
        hit = names.ours(name)
        if hit is None or hit[0] not in own:
            if names.ignores(name):
                ignored.append(name)
            else:
                problems.append(f"{name}: the model has no place for it")
            continue
        place, transpose = hit
        tensor = tensors[name].T if transpose else tensors[name]
        if tensor.shape != own[place].shape:
            problems.append(
                f"{name}: shape {tuple(tensor.shape)}, the model needs {tuple(own[place].shape)}"
            )
        elif not bool(torch.isfinite(tensor).all()):
            problems.append(f"{name}: holds numbers that are not finite")
        if place in placed:
            problems.append(f"{name}: {source[place]} fills the same parameter")
        placed[place], source[place] = tensor, name
    for place in sorted(learned.keys() - placed.keys()):
        wanted = names.theirs(place)
        problems.append(f"{wanted[0] if wanted else place}: missing")
    if problems:
        raise DataError(
            "these weights are not those of the model:\n"
            + "\n".join(f"  - {problem}" for problem in problems),
            where=where,
            remedy="fetch the checkpoint again, at the revision that the configuration names",
        )
    with torch.no_grad():
        for place, tensor in placed.items():
            own[place].copy_(tensor)
    return Report(
        loaded=tuple(sorted(source.values())),
        ignored=tuple(ignored),
        parameters=sum(parameter.numel() for parameter in learned.values()),
    )


def published_names(model: nn.Module, names: Names) -> dict[str, Tensor]:
    """The model's parameters, and the buffers that have one, by published name: the way back.

    Raises
    ------
    KeyError
        When a parameter has no published name.
    """
    out: dict[str, Tensor] = {}
    for place, parameter in _own(model, names).items():
        hit = names.theirs(place)
        if hit is None:
            raise KeyError(f"{place} has no published name")
        name, transpose = hit
        tensor = parameter.detach().clone()
        out[name] = tensor.T.contiguous() if transpose else tensor
    return out


def read_safetensors(paths: Iterable[Path]) -> dict[str, Tensor]:
    """All tensors of one or more safetensors files.

    Raises
    ------
    DataError
        Naming a file that is missing, truncated or malformed, or a tensor that two files hold.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    tensors: dict[str, Tensor] = {}
    for path in paths:
        try:
            found = load_file(path)
        except FileNotFoundError as error:
            raise DataError(
                "this file of weights does not exist", where=path, remedy="fetch the checkpoint"
            ) from error
        except SafetensorError as error:
            raise DataError(
                f"this is no whole safetensors file: {error}",
                where=path,
                remedy="delete the file and fetch it again",
            ) from error
        if twice := sorted(found.keys() & tensors.keys()):
            raise DataError(
                f"the tensor {twice[0]} stands in two files",
                where=path,
                remedy="keep the files of one checkpoint in a folder of their own",
            )
        tensors |= found
    return tensors
