"""What every test of a model against its reference does."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from remeasure.nn.checkpoints.loading import Names


def moved(model: nn.Module, seed: int = 0, spread: float = 0.2) -> nn.Module:
    """The model with every parameter away from where it starts, biases and norms included.

    Weights of norms lie around one, all else around zero, the same for one seed.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            norm = parameter.dim() == 1 and bool((parameter == 1).all())
            noise = torch.randn(parameter.shape, generator=generator) * spread
            parameter.copy_(noise + float(norm))
    return model.eval()


def tokens(vocabulary: int, batch: int, length: int, seed: int = 1) -> Tensor:
    """Random token ids, shape ``(batch, length)``."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, vocabulary, (batch, length), generator=generator)


def gap(left: Tensor, right: Tensor) -> float:
    """Largest difference, as a share of the largest value on the right."""
    left, right = left.detach(), right.detach()
    return float((left - right).abs().max() / right.abs().max())


def gradient_gaps(
    model: nn.Module, theirs: Mapping[str, Tensor | nn.Parameter], names: Names
) -> dict[str, float]:
    """Of each parameter, how far the two gradients lie apart, as a share of the largest entry.

    A gradient that is zero but for rounding (a bias of keys moves all scores alike) has no such
    share: no entry counts as smaller than a ten-thousandth of the largest of the whole model.
    """
    pairs: dict[str, tuple[Tensor, Tensor]] = {}
    for name, parameter in model.named_parameters():
        hit = names.theirs(name)
        assert hit is not None, f"{name} has no published name"
        expected = theirs[hit[0]].grad
        assert expected is not None, f"{hit[0]} has no gradient"
        assert parameter.grad is not None, f"{name} has no gradient"
        pairs[name] = (parameter.grad, expected.T if hit[1] else expected)
    least = 1e-4 * max(float(right.abs().max()) for _, right in pairs.values())
    return {
        name: float((left - right).abs().max()) / max(float(right.abs().max()), least)
        for name, (left, right) in pairs.items()
    }


def counted(model: nn.Module) -> int:
    """How many numbers a model learns."""
    return sum(parameter.numel() for parameter in model.parameters())
