"""Tables that every learner of the race writes, and what learners are called."""

from __future__ import annotations

import dataframely as dy

from remeasure.store.schema import declare

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
RUNS = declare(
    "trainings",
    {
        "learner": dy.String(),
        "budget": dy.Int64(min=1),
        "seed": dy.Int64(min=0),
        "tiles": dy.Int64(min=1),
        "steps": dy.Int64(min=1),
        "parameters": dy.Int64(min=1),
        "loss": dy.Float64(),
        "correct": dy.Int64(min=0),
        "tested": dy.Int64(min=1),
    },
    unique=_KEY,
)
"""One row a training: real training tiles, steps, parameters, last loss, and test tiles right."""

GUESSES = declare(
    "guesses",
    {
        "learner": dy.String(),
        "budget": dy.Int64(min=1),
        "seed": dy.Int64(min=0),
        "tile": dy.Int64(min=0),
        "guess": dy.Int64(min=0),
    },
    unique=[*_KEY, "tile"],
)
"""One row a training and test tile: its row in the test split, and the class guessed."""

ACCURACY = declare(
    "accuracy",
    {
        "learner": dy.String(),
        "name": dy.String(),
        "budget": dy.Int64(),
        "tiles": dy.Int64(),
        "steps": dy.Int64(),
        "parameters": dy.Int64(),
        "seeds": dy.Int64(),
        "tested": dy.Int64(),
        "value": dy.Float64(min=0, max=1),
        "low": dy.Float64(),
        "high": dy.Float64(),
        "least": dy.Float64(),
        "most": dy.Float64(),
    },
    unique=["learner", "budget"],
)
"""One row a learner and budget: mean over seeds, its interval, the worst and the best training."""

CONFUSION = declare(
    "confusion",
    {
        "truth": dy.String(),
        "guess": dy.String(),
        "share": dy.Float64(min=0, max=1),
        "tiles": dy.Int64(),
    },
    unique=["truth", "guess"],
)
"""One row a pair of classes: share of the tiles of the first that were taken for the second."""
