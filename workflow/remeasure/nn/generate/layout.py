"""How matrices lie in memory when tokens are written one by one."""

from __future__ import annotations

from torch import nn


def lay_for_decoding(model: nn.Module) -> None:
    """Store the tall matrices of a model by columns: the same numbers, read faster for one token.

    A map of one token reads its matrix once and does little else. Where it has many more
    outputs than inputs, above all in the output map over a vocabulary, a CPU reads at nearly
    twice the speed when the outputs of one input lie side by side; the other maps stay. Names,
    shapes and values are those of before. Files of weights want rows again: `contiguous`.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            rows, columns = module.weight.shape
            if rows >= 2 * columns:
                module.weight.data = module.weight.data.t().contiguous().t()
