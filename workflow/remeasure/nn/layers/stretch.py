"""Rotary frequencies for texts longer than the training length, without training.

A pair of channels that turns by θ radians a position makes ``r = L θ / 2π`` turns over a
training length L. Every rule here slows pairs down, some more than others, so that a stretched
text stays among angles that the model has seen. `Rope` is what a model's configuration says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from remeasure.nn.layers.rotary import frequencies

Kind = Literal["default", "linear", "ntk", "dynamic", "yarn", "llama3", "factors"]


def turns_made(turns: Tensor, trained: int) -> Tensor:
    """Full turns of each pair over the training length, the shape of ``turns``."""
    return turns * (trained / (2 * math.pi))


def linear(turns: Tensor, factor: float) -> Tensor:
    """Every pair slower by the factor (position interpolation, Chen et al. 2023, eq. 4)."""
    return turns / factor


def ntk_base(width: int, theta: float, factor: float) -> float:
    """The base with which the slowest pair is slower by the factor and the fastest as before."""
    base: float = theta * factor ** (width / (width - 2))
    return base


def ntk(width: int, theta: float, factor: float) -> Tensor:
    """Frequencies with the larger base of `ntk_base` (Peng et al. 2023, section 3.1)."""
    return frequencies(width, ntk_base(width, theta, factor))


def dynamic_ntk(width: int, theta: float, factor: float, trained: int, length: int) -> Tensor:
    """`ntk` with a factor that grows with the text (Peng et al. 2023, section 3.3).

    The factor is ``factor * length / trained - (factor - 1)``, and 1 up to the training
    length. Keys in a cache are rotated already: the length must not change while one text
    is read.
    """
    stretch = factor * max(length, trained) / trained - (factor - 1)
    return ntk(width, theta, stretch)


def yarn_scale(factor: float, weight: float = 1.0) -> float:
    """What YaRN multiplies queries and keys by (Peng et al. 2023, eq. 22)."""
    return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0


def yarn_pair(width: int, theta: float, trained: int, made: float) -> float:
    """The (real) number of the pair that makes ``made`` turns over the training length."""
    return width * math.log(trained / (made * 2 * math.pi)) / (2 * math.log(theta))


def yarn_ramp(
    width: int, theta: float, trained: int, *, fast: float = 32.0, slow: float = 1.0
) -> tuple[int, int]:
    """Numbers of the last pair that YaRN keeps and the first that it stretches fully.

    As deployed: rounded outwards, and clamped to ``width - 1`` (not to the number of pairs).
    """
    first, last = (yarn_pair(width, theta, trained, made) for made in (fast, slow))
    return max(math.floor(first), 0), min(math.ceil(last), width - 1)


def yarn(
    width: int,
    theta: float,
    factor: float,
    trained: int,
    *,
    fast: float = 32.0,
    slow: float = 1.0,
) -> Tensor:
    """YaRN as deployed: a blend whose weight is linear in the number of the pair.

    Pairs up to the first of `yarn_ramp` stay, those from the last are slower by the factor.
    """
    first, last = yarn_ramp(width, theta, trained, fast=fast, slow=slow)
    place = torch.arange(width // 2, dtype=torch.float32)
    weight = ((place - first) / max(last - first, 0.001)).clamp(0, 1)
    turns = frequencies(width, theta)
    return turns * (1 - weight) + turns / factor * weight


def yarn_by_turns(
    turns: Tensor, factor: float, trained: int, *, fast: float = 32.0, slow: float = 1.0
) -> Tensor:
    """YaRN as the paper writes it (Peng et al. 2023, eqs. 17 and 18).

    The weight of the blend is linear in the turns that a pair makes over the training length.
    """
    keep = ((turns_made(turns, trained) - slow) / (fast - slow)).clamp(0, 1)
    return turns * keep + turns / factor * (1 - keep)


def llama3(
    turns: Tensor, factor: float, trained: int, *, low: float = 1.0, high: float = 4.0
) -> Tensor:
    """The rule of Llama 3.1.

    Pairs with more than ``high`` turns stay, those with fewer than ``low`` are slower by the
    factor, and those between are blended linearly in their turns: in exact arithmetic
    `yarn_by_turns` with these two bounds.
    """
    wave = 2 * math.pi / turns
    keep = ((trained / wave - low) / (high - low)).clamp(0, 1)
    return keep * turns + (1 - keep) * turns / factor


@dataclass(frozen=True, kw_only=True)
class Rope:
    """Rotary positions as a configuration describes them.

    Attributes
    ----------
    theta
        Base of the frequencies.
    kind
        The rule; ``factors`` divides each pair by a number of its own.
    factor, trained
        How much longer, and than what.
    fast, slow
        Turns between which YaRN blends, likewise ``low`` and ``high`` of Llama 3.1.
    scale
        Factor of queries and keys; None: what the rule says.
    factors
        One divisor a pair.
    """

    theta: float = 10_000.0
    kind: Kind = "default"
    factor: float = 1.0
    trained: int = 0
    fast: float = 32.0
    slow: float = 1.0
    low: float = 1.0
    high: float = 4.0
    scale: float | None = None
    factors: tuple[float, ...] = ()

    @classmethod
    def from_json(cls, config: dict[str, Any], default: float = 10_000.0) -> Rope:
        """From a published ``config.json``, whichever of the two layouts it has.

        Raises
        ------
        ValueError
            When the rule is none of these.
        """
        rule = {**(config.get("rope_scaling") or {}), **(config.get("rope_parameters") or {})}
        theta = rule.get("rope_theta", config.get("rope_theta")) or default
        kind: Any = rule.get("rope_type", rule.get("type")) or "default"
        longest = config.get("max_position_embeddings", 0)
        trained = (
            rule.get("original_max_position_embeddings")
            or config.get("original_max_position_embeddings")
            or longest
        )
        if kind == "default":
            return cls(theta=theta)
        if kind == "longrope":
            # Long texts would take the long factors; the card reads none.
            if longest > trained:
                raise ValueError("longrope beyond the training length is not part of this model")
            return cls(theta=theta, kind="factors", factors=tuple(rule["short_factor"]))
        if kind not in ("linear", "dynamic", "yarn", "llama3"):
            raise ValueError(f"{kind} is no rule of rotary positions that is known here")
        if kind == "yarn" and (rule.get("mscale") or rule.get("mscale_all_dim")):
            raise ValueError("mscale of yarn is not part of this model")
        return cls(
            theta=theta,
            kind=kind,
            factor=rule["factor"],
            trained=trained,
            fast=rule.get("beta_fast") or 32.0,
            slow=rule.get("beta_slow") or 1.0,
            low=rule.get("low_freq_factor", 1.0),
            high=rule.get("high_freq_factor", 4.0),
            scale=rule.get("attention_factor"),
        )

    def turns(self, width: int, length: int = 0) -> Tensor:
        """Radians a position of each pair, float32, shape ``(width / 2,)``.

        ``length`` is that of the text, for ``dynamic`` alone.
        """
        turns = frequencies(width, self.theta)
        match self.kind:
            case "default":
                return turns
            case "linear":
                return linear(turns, self.factor)
            case "ntk":
                return ntk(width, self.theta, self.factor)
            case "dynamic":
                return dynamic_ntk(width, self.theta, self.factor, self.trained, length)
            case "yarn":
                return yarn(
                    width, self.theta, self.factor, self.trained, fast=self.fast, slow=self.slow
                )
            case "llama3":
                return llama3(turns, self.factor, self.trained, low=self.low, high=self.high)
            case "factors":
                return turns / torch.tensor(self.factors, dtype=torch.float32)

    def temperature(self) -> float:
        """What cosines and sines, and so queries and keys, are multiplied by."""
        if self.scale is not None:
            return self.scale
        return yarn_scale(self.factor) if self.kind == "yarn" else 1.0
