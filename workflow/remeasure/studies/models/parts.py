"""Which part of a model a parameter belongs to, by its name in our models."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

#: Parts in the order in which they are drawn.
PARTS = ("embeddings and output", "attention", "MLP", "experts", "state space", "rest")

#: Words of a name, in the order in which they decide.
_WORDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("experts", frozenset({"experts"})),
    ("rest", frozenset({"router", "pooler", "follows", "classes", "map", "fake", "linear"})),
    ("state space", frozenset({"mixer", "rule"})),
    ("attention", frozenset({"attention", "cross", "time", "group", "dependency", "table"})),
    ("MLP", frozenset({"mlp", "up", "down", "mlp_in", "mlp_out"})),
    (
        "embeddings and output",
        frozenset(
            {"embed", "embedding", "words", "positions", "segments", "place", "distances", "widen"}
            | {"cls", "mask", "special", "head", "coarse_head", "fine_head"}
        ),
    ),
)


def part_of(name: str) -> str:
    """The part of one parameter; norms, pooling and small heads are the rest.

    >>> part_of("blocks.3.attention.q.weight"), part_of("blocks.3.attention.q_norm.weight")
    ('attention', 'rest')
    >>> part_of("encoder.words.weight"), part_of("words.map.weight")
    ('embeddings and output', 'rest')
    """
    words = name.split(".")
    if any("norm" in word for word in words):
        return "rest"
    for part, known in _WORDS:
        if known.intersection(words):
            return part
    return "rest"


def counts(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Numbers learned in each part; all parts are there, in the order of `PARTS`."""
    found: Counter[str] = Counter()
    for name, shape in shapes.items():
        found[part_of(name)] += math.prod(shape)
    return {part: found[part] for part in PARTS}
