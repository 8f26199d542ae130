"""Every file that the study would fetch under the origin public; see `remeasure.fetch.remote`."""

from __future__ import annotations

from remeasure.config import Config
from remeasure.fetch.hugging_face import planned_data, planned_files
from remeasure.fetch.remote import CACHE, RemoteFile
from remeasure.studies.vit.checkpoint_list import checkpoints_of
from remeasure.studies.vit.fetching import wanted_photos
from remeasure.studies.vit.settings import Settings


def remote(settings: Settings, config: Config) -> list[RemoteFile]:
    """The files of a configuration, in the order of its settings; only those that are public."""
    found: list[RemoteFile] = []
    if settings.tiles.origin == "public":
        found += [
            RemoteFile("hugging_face_data", wanted, wanted.name.partition("-")[0])
            for wanted in planned_data(CACHE, settings.tiles.dataset)
        ]
    if settings.photos.origin == "public":
        found += [RemoteFile("vit_photos", wanted) for wanted in wanted_photos()]
    if settings.checkpoints == "public":
        found += [
            RemoteFile("hugging_face", wanted, checkpoint.id)
            for checkpoint in checkpoints_of(settings).values()
            for wanted in planned_files(CACHE, checkpoint)
        ]
    return found
