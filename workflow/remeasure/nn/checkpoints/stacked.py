"""Mixtures of experts: checkpoints with one tensor an expert, and models with stacked ones."""

from __future__ import annotations

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from remeasure.errors import DataError

_SINGLE = re.compile(r"(.+\.experts)\.(\d+)\.(gate|up|down)_proj\.weight")


def stack_experts(tensors: Mapping[str, Tensor], experts: int, *, where: str) -> dict[str, Tensor]:
    """A checkpoint with one tensor an expert as one with stacked experts; others as they are.

    ``….experts.N.gate_proj.weight``, ``up_proj`` and ``down_proj`` become
    ``….experts.gate_up_proj``, of each expert the rows of the gate before the others, and
    ``….experts.down_proj``.

    Parameters
    ----------
    tensors
        By their published names.
    experts
        How many stand in each block that has any.
    where
        The file or folder, for messages.

    Raises
    ------
    DataError
        Naming a tensor of an expert that is missing, or that is one too many.
    """
    out = dict(tensors)
    rooms = {hit[1]: None for name in tensors if (hit := _SINGLE.fullmatch(name))}
    for room in rooms:
        parts: dict[str, list[Tensor]] = {"gate": [], "up": [], "down": []}
        for expert in range(experts):
            for kind, found in parts.items():
                name = f"{room}.{expert}.{kind}_proj.weight"
                if name not in out:
                    raise DataError(
                        f"{name}: missing",
                        where=where,
                        remedy="fetch the checkpoint again, all of its files",
                    )
                found.append(out.pop(name))
        both = [torch.cat(pair) for pair in zip(parts["gate"], parts["up"], strict=True)]
        out[f"{room}.gate_up_proj"] = torch.stack(both)
        out[f"{room}.down_proj"] = torch.stack(parts["down"])
    if left := sorted(name for name in out if _SINGLE.fullmatch(name)):
        raise DataError(
            f"{left[0]}: the configuration has {experts} experts",
            where=where,
            remedy="take configuration and weights of one revision",
        )
    return out


def unstack_experts(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The way back from `stack_experts`: one tensor a map of each expert."""
    out: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        room, _, kind = name.rpartition(".")
        if room.endswith(".experts") and kind == "gate_up_proj":
            for expert, both in enumerate(tensor):
                gate, up = both.chunk(2)
                out[f"{room}.{expert}.gate_proj.weight"] = gate
                out[f"{room}.{expert}.up_proj.weight"] = up
        elif room.endswith(".experts") and kind == "down_proj":
            for expert, down in enumerate(tensor):
                out[f"{room}.{expert}.down_proj.weight"] = down
        else:
            out[name] = tensor
    return out
