"""Tables that every learner of the race writes, and what learners are called."""

from __future__ import annotations

import pandera.polars as pa
import polars as pl

#: Names in the publication, by short name, in its order.
LEARNERS = {
    "tuned": "ViT-B/16 pretrained",
    "vit": "small ViT",
    "cnn": "small CNN",
    "probe": "DINOv2 + linear probe",
}

#: A learner that is none of the publication's, and answers none of its rows.
OTHERS = {"shipped": "EfficientNet-Lite0 + linear probe"}
NAMES = LEARNERS | OTHERS
#: Learners that begin with the weights of another training, and those that do not.
PRETRAINED, SCRATCH = ("tuned", "probe", "shipped"), ("cnn", "vit")

_KEY = ["learner", "budget", "seed"]
RUNS = pa.DataFrameSchema(
    {
        "learner": pa.Column(pl.String),
        "budget": pa.Column(pl.Int64, pa.Check.ge(1)),
        "seed": pa.Column(pl.Int64, pa.Check.ge(0)),
        "tiles": pa.Column(pl.Int64, pa.Check.ge(1)),
        "steps": pa.Column(pl.Int64, pa.Check.ge(1)),
        "parameters": pa.Column(pl.Int64, pa.Check.ge(1)),
        "loss": pa.Column(pl.Float64),
        "correct": pa.Column(pl.Int64, pa.Check.ge(0)),
        "tested": pa.Column(pl.Int64, pa.Check.ge(1)),
    },
    unique=_KEY,
    name="trainings",
)
"""One row a training: real training tiles, steps, parameters, last loss, and test tiles right."""

GUESSES = pa.DataFrameSchema(
    {
        "learner": pa.Column(pl.String),
        "budget": pa.Column(pl.Int64, pa.Check.ge(1)),
        "seed": pa.Column(pl.Int64, pa.Check.ge(0)),
        "tile": pa.Column(pl.Int64, pa.Check.ge(0)),
        "guess": pa.Column(pl.Int64, pa.Check.ge(0)),
    },
    unique=[*_KEY, "tile"],
    name="guesses",
)
"""One row a training and test tile: its row in the test split, and the class guessed."""

ACCURACY = pa.DataFrameSchema(
    {
        "learner": pa.Column(pl.String),
        "name": pa.Column(pl.String),
        "budget": pa.Column(pl.Int64),
        "tiles": pa.Column(pl.Int64),
        "steps": pa.Column(pl.Int64),
        "parameters": pa.Column(pl.Int64),
        "seeds": pa.Column(pl.Int64),
        "tested": pa.Column(pl.Int64),
        "value": pa.Column(pl.Float64, pa.Check.in_range(0, 1)),
        "low": pa.Column(pl.Float64),
        "high": pa.Column(pl.Float64),
        "least": pa.Column(pl.Float64),
        "most": pa.Column(pl.Float64),
    },
    unique=["learner", "budget"],
    name="accuracy",
)
"""One row a learner and budget: mean over seeds, its interval, the worst and the best training."""

CONFUSION = pa.DataFrameSchema(
    {
        "truth": pa.Column(pl.String),
        "guess": pa.Column(pl.String),
        "share": pa.Column(pl.Float64, pa.Check.in_range(0, 1)),
        "tiles": pa.Column(pl.Int64),
    },
    unique=["truth", "guess"],
    name="confusion",
)
"""One row a pair of classes: share of the tiles of the first that were taken for the second."""
