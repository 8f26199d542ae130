"""Our models beside the reference library on random weights, and our rotary rules beside its own.

What is written is whether a gap stays within the tolerance: the gap itself is rounding, and
differs between machines.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path

import dataframely as dy
import polars as pl
from torch import Tensor

from remeasure.ledger.measurement import Measurement
from remeasure.nn.layers.rotary import frequencies
from remeasure.nn.layers.stretch import linear, llama3, ntk, yarn, yarn_scale
from remeasure.store.frames import write_frame
from remeasure.store.schema import declare
from remeasure.studies.models.places import numbers
from remeasure.studies.models.published import Answer, Rules, answer
from remeasure.studies.models.referees import CASES, compare

#: Largest gap of outputs, and of gradients, that counts as equal in single precision.
OUTPUTS, GRADIENTS = 1e-5, 1e-4

ABSENT = "transformers, the reference, is not installed: pip install 'remeasure[networks]'"

PARITY = declare(
    "parity with the reference",
    {
        "model": dy.String(unique=True),
        "reference": dy.String(),
        "parameters": dy.Int64(nullable=True),
        "outputs": dy.Bool(nullable=True),
        "gradients": dy.Bool(nullable=True),
    },
)


def there() -> bool:
    """Whether the reference library is installed."""
    return importlib.util.find_spec("transformers") is not None


def parities() -> pl.DataFrame:
    """One row a model: whether outputs and gradients equal the reference's."""
    rows: list[tuple[str, str, int | None, bool | None, bool | None]] = []
    for case in CASES:
        if not there():
            rows.append((case.name, case.theirs, None, None, None))
            continue
        gap = compare(case)
        within = gap.outputs <= OUTPUTS, gap.gradients <= GRADIENTS
        rows.append((case.name, case.theirs, gap.parameters, *within))
    return pl.DataFrame(
        rows,
        schema=PARITY.types,
        orient="row",
    )


# --- rotary rules ---------------------------------------------------------------------------


def _ours(rule: str, width: int, theta: float, trained: int, factor: float) -> Tensor:
    match rule:
        case "PI":
            return linear(frequencies(width, theta), factor)
        case "NTK":
            return ntk(width, theta, factor)
        case "YaRN":
            return yarn(width, theta, factor, trained)
        case _:
            return llama3(frequencies(width, theta), factor, trained)


@cache
def _theirs(
    rule: str, width: int, theta: float, trained: int, factor: float
) -> tuple[Tensor, float]:
    """Frequencies and scale of the library."""
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    original = {"original_max_position_embeddings": trained}
    kind, told = {
        "PI": ("linear", {"factor": factor}),
        # With a factor of 1 its dynamic rule stretches by length over training length.
        "NTK": ("dynamic", {"factor": 1.0}),
        "YaRN": ("yarn", {"factor": factor, **original}),
        "Llama 3.1": (
            "llama3",
            {"factor": factor, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **original},
        ),
    }[rule]
    config = LlamaConfig(
        hidden_size=2 * width,
        num_attention_heads=2,
        head_dim=width,
        max_position_embeddings=trained,
        rope_parameters={"rope_type": kind, "rope_theta": theta, **told},
    )
    length = int(factor * trained)
    turns, scale = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=length)
    return turns, float(scale)


def _read(condition: str) -> tuple[str, int, float, int, float]:
    """Rule, width of a head, base, training length and stretch that a condition names."""
    sizes, _, rule = condition.rpartition(", ")
    width, theta, trained, factor = numbers(sizes)
    return rule, int(width), theta, int(trained), factor


def _gap(condition: str) -> float:
    told = _read(condition)
    gap = (_ours(*told) / _theirs(*told)[0] - 1).abs().max()
    # Beyond the printed digits there is only rounding.
    return round(float(gap), 3)


def _scale(condition: str) -> float:
    rule, *_, factor = _read(condition)
    return yarn_scale(factor) if rule == "YaRN" else 1.0


def _where_installed(rule: Callable[[str], float]) -> Callable[[str], float | Answer]:
    return lambda condition: rule(condition) if there() else Answer(None, ABSENT)


def rules() -> dict[str, Rules]:
    """Answers to the rows that compare with the library."""
    return {
        "longcontext_tab_library_parity": {
            "max relative difference": _where_installed(_gap),
            "scale, ours": _scale,
            "scale, library": _where_installed(lambda condition: _theirs(*_read(condition))[1]),
        }
    }


def measure_parity(*, parity_table: Path) -> list[Measurement]:
    """Step: every model against the reference library, if it is installed.

    Parameters
    ----------
    parity_table
        Output, Parquet: see `PARITY`.
    """
    write_frame(parities(), parity_table, PARITY)
    return answer(rules())
