"""Which checkpoints of the hub a configuration asks for: the one list of rules and plans."""

from __future__ import annotations

from remeasure.fetch.settings import Checkpoint
from remeasure.studies.crypto.settings import Settings


def checkpoints_of(settings: Settings) -> dict[str, Checkpoint]:
    """The checkpoints by short name; none unless ``crypto.checkpoints`` says where from."""
    if settings.checkpoints == "none":
        return {}
    own = settings.foundation
    wanted: dict[str, Checkpoint | None] = {
        "chronos2": own.chronos.checkpoint,
        "kronos": own.kronos.model,
        "kronos_tokenizer": own.kronos.tokenizer,
    }
    if settings.memory.answerer == "networks":
        wanted |= {
            f"memory_{model.slug}": Checkpoint(id=model.hub, revision=model.revision)
            for model in settings.memory.models
        }
    return {name: each for name, each in wanted.items() if each is not None}
