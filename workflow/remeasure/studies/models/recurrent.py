"""Models that remember in a state of fixed size, alone or among layers of attention."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import cast

import torch
from torch import Tensor, nn

from remeasure.nn.checkpoints.loading import published_names
from remeasure.nn.layers.gated_delta import gated_delta_loop
from remeasure.nn.layers.state_cache import StateCache
from remeasure.nn.models.hybrid import QWEN3_NEXT_80B
from remeasure.nn.models.mamba import MAMBA_130M, NAMES, Mamba, Mixer
from remeasure.nn.models.mamba2 import MAMBA2_130M
from remeasure.nn.models.recall import LAYOUTS, RecallConfig
from remeasure.studies.models.caches import HALF, MIB, SINGLE, SIZES
from remeasure.studies.models.catalogue import counted, model
from remeasure.studies.models.places import whole_numbers
from remeasure.studies.models.published import Answer, Rule, Rules

#: How the card calls the tensors of one block.
_MIXER = "backbone.layers.0.mixer."

#: Tokens of the card's sentence.
WALKED = 37


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as the card prints it.

    >>> shape_text((1536, 1, 4))
    '1536 x 1 x 4'
    """
    return " x ".join(map(str, shape))


@cache
def mixer_shapes() -> dict[str, tuple[int, ...]]:
    """Shapes of the tensors of one mixer of mamba-130m, by their published names."""
    tensors = published_names(model("Mamba 130M"), NAMES)
    return {
        name.removeprefix(_MIXER): tuple(tensor.shape)
        for name, tensor in tensors.items()
        if name.startswith(_MIXER)
    }


@cache
def walked() -> dict[str, tuple[int, ...]]:
    """Shapes on the way through one block of mamba-130m, seen while it runs; channels first."""
    with torch.no_grad():
        network = Mamba(replace(MAMBA_130M, vocabulary=2, layers=1)).eval()
        block = network.get_submodule("blocks.0")
        seen: dict[str, Tensor] = {}

        def keep(name: str) -> None:
            def hook(_: nn.Module, given: tuple[Tensor, ...], out: Tensor | tuple[Tensor]) -> None:
                seen[name] = out[0] if isinstance(out, tuple) else out
                seen[f"before {name}"] = given[0]

            block.get_submodule(name).register_forward_hook(hook)

        for name in ("norm", "mixer.into", "mixer.conv", "mixer.select", "mixer.out"):
            keep(name)
        network(torch.zeros(1, WALKED, dtype=torch.long))
        mixer = cast("Mixer", block.get_submodule("mixer"))
        stream, gate = seen["mixer.into"].chunk(2, dim=-1)
        seed, write, read = torch.split(
            seen["mixer.select"], [mixer.rank, mixer.states, mixer.states], dim=-1
        )
        step = mixer.steps(seed)
        # One number of state a channel: how much of it stays at each token.
        decay = torch.exp(-step.unsqueeze(-1) * mixer.rate_log.exp())
    return {
        "tokens in, normalised": tuple(seen["norm"].shape),
        "in_proj, channels first": tuple(seen["mixer.into"].mT.shape),
        "stream": tuple(stream.mT.shape),
        "gate": tuple(gate.mT.shape),
        "after convolution and SiLU": tuple(seen["mixer.conv"].mT.shape),
        "step seed": tuple(seed.shape),
        "B": tuple(write.shape),
        "C": tuple(read.shape),
        "step": tuple(step.mT.shape),
        "A": tuple(mixer.rate_log.shape),
        "decay and write": tuple(decay.transpose(1, 2).shape),
        "scan output": tuple(seen["before mixer.out"].mT.shape),
        "block output": tuple(seen["mixer.out"].shape),
    }


def remembered() -> int:
    """Numbers that mamba-130m keeps of any text, counted in its cache."""
    network = model("Mamba 130M")
    kept: StateCache = cast("Mamba", network).cache(1)
    return kept.numbers()


def delta_state(heads: int, keys: int, values: int) -> int:
    """Numbers that a layer of the gated delta rule keeps, counted in the state it gives."""
    one = torch.zeros(1, 1, heads, keys)
    rate = torch.zeros(1, 1, heads)
    _, state = gated_delta_loop(one, one, torch.zeros(1, 1, heads, values), rate, rate)
    return state.numel()


# --- patterns of layers ---------------------------------------------------------------------

#: Marks of a layer: attention, a mixer with a state, a feed-forward network alone.
ATTENTION, STATE, PLAIN = "*", "M", "-"


def every(layers: int, period: int, first: int | None = None, *, top: bool = False) -> str:
    """Layers of which each ``period``-th attends, from ``first`` on (the period's last if None).

    ``top``: the last layer attends too.

    >>> every(8, 4), every(9, 4, 0), every(6, 4, top=True)
    ('MMM*MMM*', '*MMM*MMM*', 'MMM*M*')
    """
    first = period - 1 if first is None else first
    marks = [
        ATTENTION if layer >= first and (layer - first) % period == 0 else STATE
        for layer in range(layers)
    ]
    if top:
        marks[-1] = ATTENTION
    return "".join(marks)


def _at(layers: int, places: set[int]) -> str:
    return "".join(ATTENTION if layer in places else STATE for layer in range(layers))


#: Layers of hybrids as their public configurations give them, by the cards' names; those that
#: are not built in the model room are inputs of this page.
PATTERNS = {
    "Mamba-2 + attention": _at(64, {9, 18, 27, 36, 45, 56}),
    "Jamba": every(32, 8, 4),
    "Zamba2": every(38, 6, 5),
    "Nemotron-H": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-",
    "Granite 4.0 H": _at(40, {5, 15, 25, 35}),
    "Qwen3-Next": "".join(
        ATTENTION if kind == "attention" else STATE for kind in QWEN3_NEXT_80B.kinds
    ),
    "Kimi Linear": every(27, 4, top=True),
    "MiniMax-Text-01": every(80, 8),
    "Qwen3.5-397B-A17B": every(60, 4),
    "Kimi K3": every(93, 4, top=True),
    "gpt-oss-20b": ATTENTION * 24,
    "Gemma 4 31B": ATTENTION * 60,
    "MiniMax-M2": ATTENTION * 62,
}


def pattern(condition: str) -> str:
    """The layers of the model that a condition begins with; KeyError when none does."""
    for name in sorted(PATTERNS, key=len, reverse=True):
        if condition.startswith(name):
            return PATTERNS[name]
    raise KeyError(condition)


def _mixing(condition: str) -> int:
    return sum(mark != PLAIN for mark in pattern(condition))


def _attending(condition: str) -> int:
    return pattern(condition).count(ATTENTION)


def _share(condition: str) -> Answer:
    share = _attending(condition) / _mixing(condition)
    halfway = math.isclose(share * 1000 % 10, 5)
    note = f"{share:g} lies halfway and is printed with ties to even" if halfway else ""
    return Answer(round(share, 2) if halfway else share, note)


# --- rows -----------------------------------------------------------------------------------


def _block_table() -> Rules:
    shapes = mixer_shapes()
    sizes = {name: math.prod(shape) for name, shape in shapes.items()}
    whole = sum(sizes.values())
    return {
        "shape": lambda name: shape_text(shapes[name]),
        "parameters": sizes.__getitem__,
        "share": lambda name: sizes[name] / whole,
        "parameters of one mixer": whole,
        "parameters of the model": counted("Mamba 130M"),
    }


def _mamba() -> dict[str, Rules]:
    config, shapes, steps = MAMBA_130M, mixer_shapes(), walked()
    state, token = HALF * remembered(), SIZES["Pythia-160m"].bytes(1)
    inner, _, reach = shapes["conv1d.weight"]
    block: dict[str, Rule] = {
        "input width": shapes["in_proj.weight"][1],
        "in_proj output width": shapes["in_proj.weight"][0],
        "stream width": steps["stream"][1],
        "gate width": steps["gate"][1],
        "convolution width": reach,
        "step seed": steps["step seed"][-1],
        "B numbers": steps["B"][-1],
        "C numbers": steps["C"][-1],
        "steps per token": steps["step"][1],
        "A rows": shapes["A_log"][0],
        "A columns": shapes["A_log"][1],
        "output width": shapes["out_proj.weight"][0],
    }
    return {
        "mamba_fig_hero": {
            "channels per layer": shapes["A_log"][0],
            "state numbers per channel": shapes["A_log"][1],
        },
        "mamba_fig_block": block,
        "mamba_stat_config": {
            "hidden_size": config.width,
            "intermediate_size": config.inner,
            "state_size": config.states,
            "time_step_rank": config.rank,
            "conv_kernel": config.reach,
            "num_hidden_layers": config.layers,
            "vocab_size": config.vocabulary,
        },
        "mamba_tab_block_parameters": _block_table(),
        "mamba_stat_block_walk": {"shape": lambda stage: shape_text(steps[stage])},
        "mamba_fig_horizons": {"values": config.layers * inner * config.states},
        "mamba_stat_step_parity": {
            "state size": lambda at: state if "bytes" in at else state / 1e6
        },
        "mamba_tab_memory": {
            "Pythia-160m cache": lambda at: SIZES["Pythia-160m"].bytes(whole_numbers(at)[0]) / 1e6,
            "mamba-130m state": state / 1e6,
            "Pythia-160m cache per token": token,
            "tokens at which cache equals state": state / token,
        },
        "mamba_stat_mamba2_parity": {
            "num_heads": MAMBA2_130M.heads,
            "head_dim": MAMBA2_130M.head,
            "state_size": MAMBA2_130M.states,
            "chunk_size": MAMBA2_130M.chunk,
        },
        "mamba_stat_selective_copying": {
            "parameters": lambda which: counted(
                "copying Mamba-2" + (", fixed" if which.startswith("fixed") else "")
            )
        },
        "mamba_fig_hybrids": {"cells of the Nemotron-H row": len(PATTERNS["Nemotron-H"])},
        "mamba_tab_hybrids": {
            "layers that mix tokens": _mixing,
            "attention layers": _attending,
            "share of attention": _share,
        },
    }


def _hybrid() -> dict[str, Rules]:
    kimi = PATTERNS["Kimi Linear"]
    nemotron = PATTERNS["Nemotron-H"]
    recall = RecallConfig(vocabulary=1, kinds=LAYOUTS["hybrid_second"])
    return {
        "hybrid_attention_stat_mqar_setup": {
            "models": len(LAYOUTS),
            "layers": len(recall.kinds),
            "width": recall.width,
            "heads": recall.heads,
            "key size of a head": recall.head,
            "positions of the short convolution": recall.reach,
        },
        "hybrid_attention_fig_patterns": {
            "recurrent layers": lambda name: pattern(name).count(STATE),
            "layers of a model with 27 layers at 3:1 (full attention, recurrent)": (
                f"{kimi.count(ATTENTION)}, {kimi.count(STATE)}"
            ),
        },
        "hybrid_attention_stat_patterns": {
            "full-attention share of all 52 layers": (
                100 * nemotron.count(ATTENTION) / len(nemotron)
            ),
            "full-attention layers with a 3:1 rule plus one at the top": _attending,
        },
        "hybrid_attention_stat_kv": {
            "recurrent state of Qwen3-Next": (QWEN3_NEXT_80B.state_numbers() * HALF / MIB)
        },
        "hybrid_attention_fig_decode": {
            "recurrent state": delta_state(16, 128, 128) * SINGLE / MIB
        },
        "hybrid_attention_fig_associativity": {
            "numbers in the key-value product": lambda at: delta_state(1, *(2 * whole_numbers(at)))
        },
    }


def rules() -> dict[str, Rules]:
    """Answers to rows of the cards `mamba` and `hybrid_attention`."""
    return {**_mamba(), **_hybrid()}
