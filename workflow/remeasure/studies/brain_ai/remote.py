"""Every file that the study would fetch under the origin public; see `remeasure.fetch.remote`."""

from __future__ import annotations

from remeasure.config import Config
from remeasure.fetch.catalogue import Catalogue
from remeasure.fetch.remote import RemoteFile
from remeasure.studies.brain_ai.atlas import SOURCE, wanted
from remeasure.studies.brain_ai.settings import Settings


def remote(settings: Settings, config: Config) -> list[RemoteFile]:
    """The archive of the language atlas, where the configuration asks for it."""
    if settings.atlas != "public":
        return []
    return [RemoteFile(SOURCE, wanted(Catalogue.read()))]
