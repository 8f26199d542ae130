"""Every file that the study would fetch under the origin public; see `remeasure.fetch.remote`."""

from __future__ import annotations

from remeasure.config import Config
from remeasure.fetch.hugging_face import planned_files
from remeasure.fetch.remote import CACHE, RemoteFile
from remeasure.studies.gpt.checkpoint_list import (
    family_files,
    gpt2_checkpoint,
    karvonen_file,
    lichess_file,
)
from remeasure.studies.gpt.settings import Settings


def remote(settings: Settings, config: Config) -> list[RemoteFile]:
    """The files of a configuration: games, then checkpoints; only those that are public."""
    found = []
    if settings.origin == "public":
        found.append(RemoteFile("lichess_games", lichess_file(settings.lichess)))
    if settings.checkpoints == "public":
        checkpoint = gpt2_checkpoint(settings.gpt2)
        found += [
            *(
                RemoteFile("gpt2", wanted, checkpoint.id)
                for wanted in planned_files(CACHE, checkpoint)
            ),
            RemoteFile("karvonen_chess", karvonen_file(settings.karvonen)),
            *(RemoteFile("gpt_family", wanted) for wanted in family_files(settings.family)),
        ]
    return found
