"""Tables of how many moves of each model are legal, and what models are called in them."""

from __future__ import annotations

from typing import Final

import dataframely as dy

from remeasure.store.schema import declare

#: Names in tables of models that the article does not have.
UNTRAINED: Final = "untrained"
COUNTS: Final = "n-gram"
TRAINED: Final = "ours"

SHARES = declare(
    "shares of verdicts",
    {
        "model": dy.String(),
        "what": dy.String(),
        "count": dy.Int64(),
        "n": dy.Int64(),
        "share": dy.Float64(min=0, max=1),
        "low": dy.Float64(),
        "high": dy.Float64(),
    },
)
GAPS = declare(
    "differences of legal shares",
    {
        "model": dy.String(),
        "less": dy.String(),
        "gap": dy.Float64(),
        "low": dy.Float64(),
        "high": dy.Float64(),
    },
)
