"""Which checkpoints of the hub, and which learners, a configuration asks for.

The one list of rules and plans.
"""

from __future__ import annotations

from remeasure.fetch.settings import Checkpoint
from remeasure.studies.vit.settings import Settings


def checkpoints_of(settings: Settings) -> dict[str, Checkpoint]:
    """The checkpoints by short name; none unless ``vit.checkpoints`` says where from."""
    if settings.checkpoints == "none":
        return {}
    hub = settings.hub
    wanted = {"vit": hub.vit, "body": hub.body, "dino": hub.dino, "dinov2": hub.dinov2}
    return {name: each for name, each in wanted.items() if each is not None}


def learners_of(settings: Settings) -> tuple[str, ...]:
    """The learners that race, by short name: a pretrained one only where its weights are."""
    there = checkpoints_of(settings)
    return (
        *(["tuned"] if "body" in there else []),
        "vit",
        "cnn",
        *(["probe"] if "dinov2" in there else []),
        *(["shipped"] if settings.backbone.use else []),
    )
